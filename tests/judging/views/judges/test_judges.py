"""Pages of judges: what each is, what it sent in which version, a try on a response, and its changes."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.roles import Role
from judging.judges.judge_kinds import starting_points
from judging.judges.registry import KINDS, judge_kind
from judging.judges.subjects import JudgeSubject, load_prompt
from judging.models import Call, Judge, Rubric, Run, RunKind
from judging.services.judges import save_judge
from tests import factories
from tests.judging.services.run_rows import judged_run
from tests.judging.views.sent_forms import filled

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_baselines")]

SHELL_QUERIES = 4  # session, person with permissions, groups, what waits for review


def _tab(judge: Judge, name: str = "update") -> str:
    return reverse(f"judging:judge-{name}", args=[judge.pk])


def _judge_of(run: Run) -> Judge:
    judge = run.evaluators.get().judge
    assert judge is not None
    return judge


@pytest.mark.parametrize("rows", [1, 3])
def test_judge_list_needs_the_same_queries_for_any_number(
    client: Client, admin: User, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(rows):
        factories.judge()

    with django_assert_num_queries(SHELL_QUERIES + 2):  # judges with endpoints and runs; what runs call them
        answer = client.get(reverse("judging:judge-list"))

    assert len(answer.context["judges"]) == rows


def test_judge_list_shows_own_prompts_first_with_their_runs_and_newest_figures(client: Client, admin: User) -> None:
    endpoint, strict = factories.endpoint(), factories.judge(name="Strict", kind="accuracy")
    mine = factories.judge(name="Zeal", kind="custom", endpoint=endpoint)
    factories.judge(name="Base", kind="custom", endpoint=factories.endpoint(kind="lexical"))
    factories.judge(name="Gone", kind="custom", is_active=False)
    frozen = {"judge_kind": "custom", "endpoint": endpoint.name}
    for price in ("0.02", "0.01"):  # the newest run's version is another: its prompt is
        judge = factories.evaluator(
            kind="judge", name="Zeal 2", judge=mine, options=frozen | {"prompt_hash": price}, run=factories.run()
        )
        call = Call.objects.create(
            key=price.ljust(64, "0"),
            endpoint=endpoint,
            status="finished",
            request={},
            prompt_tokens=1,
            completion_tokens=1,
            seconds=1.0,
            cost=price,
            finished_at=factories.NOON,
        )
        factories.verdict(evaluator=judge, share=0.5, call_ids=[call.pk])

    answer = client.get(reverse("judging:judge-list"))

    page = " ".join(answer.content.decode().split())
    assert [judge.name for judge, _, _ in answer.context["judges"]] == ["Zeal", "Strict", "Base", "Gone"]
    assert [judge.run_count for judge, _, _ in answer.context["judges"]] == [2, 0, 0, 0]
    row = page[page.index(f'href="{mine.get_absolute_url()}"') : page.index(f'href="{strict.get_absolute_url()}"')]
    assert "$0.01" in row
    assert "$0.02" not in row


def test_judge_create_offers_kinds_then_stores(client: Client, admin: User) -> None:
    endpoint = factories.endpoint()
    kinds = client.get(reverse("judging:judge-create")).content.decode()
    url = f"{reverse('judging:judge-create')}?kind=accuracy"
    fields = {"name": "strict", "endpoint": endpoint.pk, "option_strictness": '"L3"', "option_max_tokens": "500"}

    answer = client.post(url, filled(client, url, **fields))

    judge = Judge.objects.get()
    assert "?kind=accuracy" in kinds
    assert answer.headers["Location"] == _tab(judge, "try")
    assert (judge.options["strictness"], judge.options["max_tokens"], judge.options["top_p"]) == ("L3", 500, None)


def test_judge_create_refuses_a_prompt_without_its_placeholders(client: Client, admin: User) -> None:
    url = f"{reverse('judging:judge-create')}?kind=accuracy"
    fields = {"name": "edited", "endpoint": factories.endpoint().pk, "option_prompt_text": "Is it right?"}

    answer = client.post(url, filled(client, url, **fields))

    assert answer.status_code == 400
    assert "exactly the placeholders" in answer.content.decode()
    assert not Judge.objects.exists()


def test_judge_detail_shows_what_it_is_and_the_runs_that_used_it(client: Client, admin: User) -> None:
    run = judged_run()
    judge = _judge_of(run)

    answer = client.get(judge.get_absolute_url())

    assert [(evaluator.run, evaluator.judge) for evaluator in answer.context["page_obj"]] == [(run, judge)]
    assert ("Mode", "holistic") in answer.context["facts"]
    assert ("Prompt text", "as shipped") in answer.context["facts"]
    assert "Lexical baseline" in answer.text


@pytest.mark.parametrize("runs", [1, 3])
def test_judge_detail_needs_the_same_queries_for_any_number_of_runs(
    client: Client, admin: User, runs: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    judge = factories.judge(kind="relevance")
    for _ in range(runs):
        factories.evaluator(kind="judge", judge=judge, name="Fit")
    client.get(judge.get_absolute_url())  # computes the figures

    # the judge, whether it is used, names and evaluators of versions to compare, their rubrics and labels, the report,
    # the count of runs and the runs
    with django_assert_num_queries(SHELL_QUERIES + 18):
        client.get(judge.get_absolute_url())


def test_judge_prompts_shows_where_two_versions_differ(client: Client, admin: User) -> None:
    judge = factories.judge(kind="relevance", endpoint=factories.endpoint())
    kind, shipped = judge_kind("relevance"), judge_kind("relevance").prompts_sent()[0]
    edited = {**judge.options, "prompt_text": shipped.text + "\nBe brief."}
    for options in (judge.options, judge.options, edited):
        frozen = {"judge_kind": "relevance", "judge_options": options, "prompt_hash": kind.prompt_hash(options)}
        factories.evaluator(kind="judge", judge=judge, name="Fit", options=frozen)

    page = client.get(_tab(judge, "prompts"))
    turned = client.get(_tab(judge, "prompts"), {"before": kind.prompt_hash(edited), "after": kind.prompt_hash()})
    wrong = client.get(_tab(judge, "prompts"), {"before": "x", "after": "y"})

    versions = [(version.prompt_hash, version.runs, version.is_current) for version in page.context["versions"]]
    assert versions == [(kind.prompt_hash(edited), 1, False), (kind.prompt_hash(), 2, True)]
    (text,) = page.context["differences"]
    marks = [[piece.text.strip() for piece in side if piece.change] for side in (text["marked"].a, text["marked"].b)]
    assert (text["name"], marks) == (shipped.name, [[], ["Be brief."]])
    assert [text["after"] for text in turned.context["differences"]] == [shipped.text]
    assert wrong.context["differences"] == page.context["differences"]


def test_judge_prompts_offers_the_current_version_before_any_run_used_it(client: Client, admin: User) -> None:
    run = judged_run(url="http://127.0.0.1:9/v1")
    judge = _judge_of(run)
    before = judge_kind(judge.kind).prompt_hash(judge.options)
    save_judge(
        judge=judge, actor=None,
        options={**judge_kind(judge.kind).complete_options(judge.options), "mode": "itemised"},
    )  # fmt: skip

    page = client.get(_tab(judge, "prompts"))

    assert [(version.prompt_hash == before, version.runs) for version in page.context["versions"]] == [
        (False, 0),
        (True, 1),
    ]
    assert {text["name"] for text in page.context["differences"]} >= {"level_cascade_holistic"}


def test_judge_try_asks_about_the_chosen_response(client: Client, admin: User) -> None:
    run = judged_run()
    judge = _judge_of(run)
    judged_run()  # of a newer suite, by another judge

    opened = client.get(_tab(judge, "try"))
    chosen = client.get(_tab(judge, "try"), {"suite": run.suite_id})
    response = chosen.context["form"].fields["response"].queryset.order_by("-pk").first()
    launched = client.post(
        f"{_tab(judge, 'try')}?suite={run.suite_id}",
        filled(client, f"{_tab(judge, 'try')}?suite={run.suite_id}", response=response.pk),
    )

    trial = Run.objects.get(kind=RunKind.SINGLE)
    assert (opened.context["suite"], chosen.context["suite"]) == (run.suite, run.suite)
    assert len(chosen.context["form"].fields["response"].choices) == 3
    assert launched["Location"] == reverse("judging:trial-detail", args=[response.pk, trial.pk])
    assert trial.evaluators.get().judge == judge
    assert client.get(_tab(judge, "try")).context["trials"] == [(trial, response.pk)]


def test_judge_try_opens_a_suite_with_a_rubric_for_a_judge_that_judged_nothing(client: Client, admin: User) -> None:
    levels = judged_run()
    Rubric.objects.update(benchmark=levels.suite.benchmark)
    level_judge, plain_judge = factories.judge(kind=_judge_of(levels).kind), factories.judge(kind="accuracy")
    newest = factories.suite()
    factories.response(prompt=newest.cases.get().prompt)

    opened = [client.get(_tab(judge, "try")).context["suite"] for judge in (level_judge, plain_judge)]

    assert opened == [levels.suite, newest]


def test_judge_try_says_what_is_missing(client: Client, admin: User) -> None:
    retired, comparing = factories.judge(is_active=False), factories.judge(kind="pairwise")
    ready = factories.judge()

    pages = [client.get(_tab(judge, "try")).text for judge in (ready, retired, comparing)]
    factories.suite()
    empty = client.get(_tab(ready, "try")).text

    assert "No responses yet" in pages[0]
    assert "No responses yet" in empty
    assert ["This judge cannot be tried" in page for page in pages] == [False, True, True]


def test_judge_update_changes_options_and_keeps_runs_as_they_were(client: Client, admin: User) -> None:
    run = judged_run()
    evaluator = run.evaluators.get()
    judge = _judge_of(run)
    url = _tab(judge)

    answer = client.post(url, filled(client, url, name="renamed", option_mode='"itemised"'))

    judge.refresh_from_db()
    evaluator.refresh_from_db()
    assert answer.status_code == 302
    assert (judge.name, judge.options["mode"], evaluator.options["judge_options"]) == ("renamed", "itemised", {})


def test_judge_update_keeps_an_endpoint_that_is_no_longer_active(client: Client, admin: User) -> None:
    judge = factories.judge(endpoint=factories.endpoint(name="gone", is_active=False))
    other = factories.endpoint(name="also gone", is_active=False)
    url = _tab(judge)

    saved = client.post(url, filled(client, url, name="renamed"))
    refused = client.post(url, filled(client, url, endpoint=other.pk))

    judge.refresh_from_db()
    assert (saved.status_code, refused.status_code) == (302, 400)
    assert (judge.name, judge.endpoint and judge.endpoint.name) == ("renamed", "gone")


def test_judge_update_is_refused_to_readers(client: Client) -> None:
    judge = factories.judge()
    client.force_login(factories.user("eve", Role.VIEWER))

    assert (client.get(_tab(judge)).status_code, client.post(_tab(judge)).status_code) == (403, 403)
    assert (client.get(judge.get_absolute_url()).status_code, client.post(judge.get_absolute_url()).status_code) == (
        200,
        405,
    )


@pytest.mark.usefixtures("admin")
def test_judge_update_folds_what_becomes_of_odd_scores(client: Client) -> None:
    page = client.get(_tab(factories.judge(kind="level_cascade")))

    html = page.content.decode()
    opened, folded = html.index("Prompt text"), html.index("<summary>Unusual scores</summary>")
    assert opened < folded < html.index("An impossible score")
    assert "Leave the response without a score" in html
    assert "Unusual scores" not in client.get(_tab(factories.judge(kind="relevance"))).content.decode()


def test_judge_retire_takes_a_judge_out_of_new_runs_and_restore_brings_it_back(client: Client, admin: User) -> None:
    run = judged_run()
    judge = run.evaluators.get().judge
    assert judge is not None
    new_run = f"{reverse('judging:run-create')}?suite={run.suite_id}"

    def offered() -> list[Judge]:
        return list(client.get(new_run).context["form"].fields["judges"].queryset)

    before = offered()
    retired = client.post(reverse("judging:judge-retire", args=[judge.pk]), follow=True)
    without = offered()
    listed = client.get(reverse("judging:judge-list")).text
    old = client.get(run.get_absolute_url())
    restored = client.post(reverse("judging:judge-restore", args=[judge.pk]), follow=True)

    assert (before, without, offered()) == ([judge], [], [judge])
    assert f"{judge} is retired. Its verdicts are kept." in retired.text
    assert reverse("judging:judge-restore", args=[judge.pk]) in retired.text
    assert reverse("judging:judge-retire", args=[judge.pk]) not in retired.text
    assert "Retired" in listed
    assert (old.status_code, judge.name in old.text) == (200, True)
    assert f"{judge} is restored." in restored.text


def test_judge_delete_removes_an_unused_judge_only(client: Client, admin: User) -> None:
    used, unused = judged_run().evaluators.get().judge, factories.judge()
    assert used is not None

    refused = client.post(reverse("judging:judge-delete", args=[used.pk]), follow=True)
    deleted = client.post(reverse("judging:judge-delete", args=[unused.pk]), follow=True)

    assert f"{used} is used by 1 run and cannot be deleted. Retire it instead." in refused.text
    assert reverse("judging:judge-delete", args=[used.pk]) not in refused.text
    assert f"{unused.name} is deleted." in deleted.text
    assert list(Judge.objects.all()) == [used]


@pytest.mark.parametrize("name", ["retire", "restore", "delete"])
def test_judge_states_are_changed_by_researchers_only(client: Client, name: str) -> None:
    client.force_login(factories.user("bo", Role.ANNOTATOR))
    judge = factories.judge()

    assert client.post(reverse(f"judging:judge-{name}", args=[judge.pk])).status_code == 403
    assert Judge.objects.get() == judge


def test_judge_create_keeps_the_newlines_of_a_prompt_that_a_browser_sends(client: Client, admin: User) -> None:
    text = load_prompt("integrity").text + "\n\nBe stern."
    url = f"{reverse('judging:judge-create')}?kind=integrity"
    sent = filled(
        client, url, name="stern", endpoint=factories.endpoint().pk, option_prompt_text=text.replace("\n", "\r\n")
    )

    client.post(url, sent)

    assert Judge.objects.get().options["prompt_text"] == text


def test_judge_update_offers_a_copy_of_its_prompt_to_edit(client: Client, admin: User) -> None:
    judge = factories.judge(kind="relevance")
    shipped = judge_kind("relevance").prompts_sent()[0]

    page, copy = client.get(_tab(judge)), client.get(_tab(judge), {"copy": "1"})

    assert "?copy=1#id_option_prompt_text" in page.text
    assert [name for name in shipped.placeholders if f"<code>{{{{{name}}}}}</code>" not in page.text] == []
    assert (page.context["form"]["option_prompt_text"].value(), copy.context["form"]["option_prompt_text"].value()) == (
        "",
        shipped.text,
    )


def test_a_judge_is_exported_and_opened_again_as_a_new_one(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(name="local")
    options = KINDS["custom"].new_options() | {"prompt_text": "Rate {{ response }}.", "reply": "last_line"}
    judge = factories.judge(name="Helpful", description="It helps.", kind="custom", endpoint=endpoint, options=options)

    exported = client.get(reverse("judging:judge-export", args=[judge.pk]))
    judge.delete()
    file = SimpleUploadedFile("helpful.yaml", exported.getvalue())
    opened = client.post(reverse("judging:judge-create"), {"file": file})
    form = opened.context["form"]
    sent = {field.html_name: field.value() for field in form if field.value() not in (None, False)}
    sent["endpoint"] = endpoint.pk
    saved = client.post(f"{reverse('judging:judge-create')}?kind=custom", sent)

    assert exported["Content-Disposition"] == 'attachment; filename="helpful.yaml"'
    assert saved.status_code == 302, saved.context["form"].errors if saved.context else ""
    again = Judge.objects.get()
    assert (again.name, again.description, again.endpoint, again.options) == ("Helpful", "It helps.", endpoint, options)
    assert 'action="/judges/new/?kind=custom"' in opened.text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: X", "A judge has a name, and a kind that is one of"),
        ("name: X\nkind: accuracy\nendpoint: elsewhere", "This site has no active endpoint &#x27;elsewhere&#x27;."),
    ],
)
def test_a_file_that_cannot_be_opened_says_why_on_the_page(client: Client, admin: User, text: str, says: str) -> None:
    page = client.post(
        reverse("judging:judge-create"), {"file": SimpleUploadedFile("judge.yaml", text.encode())}, follow=True
    )

    assert says in page.text
    assert not Judge.objects.exists()


def test_the_form_of_ones_own_prompt_refuses_an_unknown_variable_with_its_line(client: Client, admin: User) -> None:
    endpoint = factories.endpoint()
    form = client.get(reverse("judging:judge-create"), {"kind": "custom"}).context["form"]
    sent = {field.html_name: field.value() for field in form if field.value() not in (None, False)}
    sent |= {"name": "Mine", "endpoint": endpoint.pk, "option_prompt_text": "Rate\n{{ answer | trim }}"}

    page = client.post(f"{reverse('judging:judge-create')}?kind=custom", sent)

    assert page.status_code == 400
    assert "Line 2 of the prompt: There is no variable" in page.text


def test_a_panel_is_set_up_on_the_page_from_rows_and_changed_there(client: Client, admin: User) -> None:
    for name in ("ada", "bea", "cyd"):
        factories.judge(name=name, kind="accuracy")
    factories.judge(name="pair", kind="pairwise")
    url = f"{reverse('judging:judge-create')}?kind=panel"
    rows = {"option_members_judge": ["ada", "", "bea"], "option_members_weight": ["2", "1", ""]}
    sent = {"name": "Board", "option_rule": '"median"', "option_margin": "0.5", **rows}

    form = client.get(url)
    created = client.post(url, sent)
    panel = Judge.objects.get(name="Board")
    page, edit = client.get(panel.get_absolute_url()), client.get(_tab(panel))
    none = client.post(url, sent | {"name": "Empty", "option_members_judge": [""]})

    assert form.text.count('<option value="ada">') == 3
    assert "pair" not in form.context["form"]["option_members"].as_widget()
    assert created.status_code == 302
    assert [(member["judge"], member["weight"]) for member in panel.options["members"]] == [("ada", 2), ("bea", 1)]
    assert (panel.options["rule"], panel.options["margin"], panel.options["minimum"]) == ("median", 0.5, None)
    assert "ada = 2; bea" in page.text
    assert '<option value="ada" selected>ada</option>' in edit.text
    assert none.status_code == 400
    assert "A panel has at least 2 members." in none.text


def test_a_panels_file_opens_as_its_form(client: Client, admin: User) -> None:
    text = "name: Board\nkind: panel\noptions:\n  members:\n  - judge: elsewhere\n    weight: 2\n"

    opened = client.post(reverse("judging:judge-create"), {"file": SimpleUploadedFile("board.yaml", text.encode())})

    assert '<option value="elsewhere" selected>elsewhere</option>' in opened.text  # saving it says that there is none


PUBLISHED = "[Question]\n{question}\n[Answer]\n{answer}\n{style}"


def _sent(client: Client, **fields: str) -> dict[str, Any]:
    form = client.get(reverse("judging:judge-create"), {"kind": "custom"}).context["form"]
    sent = {field.html_name: field.value() for field in form if field.value() not in (None, False)}
    return sent | {"name": "Mine", "endpoint": factories.endpoint().pk} | fields


def test_the_form_asks_what_placeholders_are_and_writes_the_variables_in_their_place(
    client: Client, admin: User
) -> None:
    url = f"{reverse('judging:judge-create')}?kind=custom"
    prompt = f"<|im_start|>system\nBe brief.<|im_end|><|im_start|>user\n{PUBLISHED}<|im_end|>"

    asked = client.post(url, _sent(client, option_prompt_text=prompt))
    chosen = {field.html_name: field.value() for field in asked.context["form"] if field.value() not in (None, False)}
    refused = client.post(url, chosen)
    saved = client.post(url, chosen | {"placeholder_style": "="})

    assert (asked.status_code, refused.status_code, saved.status_code) == (400, 400, 302)
    assert "Check what each will be" in asked.text
    assert "{answer} will be {{ response }}" in asked.text
    assert (chosen["placeholder_question"], chosen["placeholder_answer"]) == ("question", "response")
    assert "Say what {style} is." in refused.text
    options = Judge.objects.get().options
    assert (options["system_text"], options["prompt_text"]) == (
        "Be brief.",
        "[Question]\n{{ question }}\n[Answer]\n{{ response }}\n{style}",
    )
    again = client.post(
        reverse("judging:judge-update", args=[Judge.objects.get().pk]), _sent(client, **_texts(options))
    )
    assert again.status_code == 302


def _texts(options: dict[str, Any]) -> dict[str, str]:
    return {f"option_{name}": options[name] for name in ("prompt_text", "system_text")}


def test_the_form_refuses_a_prompt_that_does_not_show_the_response(client: Client, admin: User) -> None:
    url = f"{reverse('judging:judge-create')}?kind=custom"

    page = client.post(url, _sent(client, option_prompt_text="Rate the answer to {{ question }}."))

    assert page.status_code == 400
    assert "The prompt does not name {{ response }}" in page.text
    assert not Judge.objects.exists()


def test_judge_create_offers_own_prompts_first_with_their_starting_points(client: Client, admin: User) -> None:
    page = client.get(reverse("judging:judge-create"))
    started = client.get(reverse("judging:judge-create"), {"kind": "custom", "template": "rating-1-10"})

    text = page.content.decode()
    starts = starting_points()
    links = re.findall(r'href="\?kind=([\w&;=-]+)"', text)
    assert links == [
        "custom",
        *(f"custom&amp;template={name}" for name in starts),
        *(name for name in KINDS if name != "custom"),
    ]  # one link for one act
    assert "a rubric with levels</span><span" not in text
    shown = started.context["form"]
    assert shown["name"].value() == starts["rating-1-10"].title
    assert shown["option_prompt_text"].value() == starts["rating-1-10"].options["prompt_text"]


@pytest.mark.parametrize(("kind", "name"), [("custom", "What is sent"), ("accuracy", "What is sent")])
def test_a_preview_shows_what_is_sent_about_the_chosen_response(
    client: Client, admin: User, kind: str, name: str
) -> None:
    case = factories.case(reference="Forty-two.")
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="It is <b>42</b>.")
    url = reverse("judging:judge-preview") + f"?kind={kind}"

    entered = _entered(client, kind=kind, preview_response=response.pk)
    page = client.post(url, entered)
    fragment = client.post(url, entered, headers={"HX-Request": "true"})

    sent = (
        KINDS[kind]
        .build(KINDS[kind].new_options())
        .request(JudgeSubject(case.prompt.text, response.text, reference="Forty-two."))
    )
    for answer in (page, fragment):
        assert [message["text"] for message in answer.context["preview"].messages] == [
            message.content for message in sent.messages
        ]
        assert "It is &lt;b&gt;42&lt;/b&gt;." in answer.content.decode()
    assert (name in page.content.decode(), "<html" in fragment.content.decode()) == (True, False)
    assert not Judge.objects.exists()


def test_a_preview_says_what_placeholders_will_be_and_asks_where_it_does_not_know(client: Client, admin: User) -> None:
    case = factories.case()
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="Use chmod.")
    prompt = "Question: {question}\nAnswer: {answer}\nTone: {tone}\nRate [[n]]."

    answer = client.post(
        reverse("judging:judge-preview") + "?kind=custom",
        _entered(client, preview_response=response.pk, option_prompt_text=prompt),
    )

    text = html.unescape(answer.content.decode())
    assert "{answer} will be {{ response }}: the response to judge." in text
    assert "{tone} is not known here. Say what it is." in text
    assert answer.context["preview"].messages[-1]["text"] == (
        f"Question: {case.prompt.text}\nAnswer: Use chmod.\nTone: {{tone}}\nRate [[n]]."
    )


def test_a_preview_compares_with_another_system_and_refuses_what_could_not_be_saved(
    client: Client, admin: User
) -> None:
    case = factories.case()
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="First.")
    url = reverse("judging:judge-preview") + "?kind=custom"
    start = starting_points()["pair-with-tie"].options
    texts = {f"option_{name}": value for name, value in start.items()} | {"option_reply": '"pattern"'}
    pair = _entered(client, preview_response=response.pk, **texts)

    alone = client.post(url, pair)
    other = factories.response(prompt=case.prompt, text="Second.")
    compared = client.post(url, pair)
    blind = client.post(url, pair | {"option_prompt_text": "Rate {{ question }}."})
    broken = client.post(url, pair | {"option_prompt_text": "{{ nothing }}"})
    unknown = client.post(reverse("judging:judge-preview") + "?kind=panel")

    assert alone.context["preview"].problem == "This judge needs a second response for the case."
    assert (compared.context["preview"].other_system, compared.context["preview"].asks_twice) == (
        other.system.name,
        True,
    )
    assert "Second." in compared.context["preview"].messages[-1]["text"]
    assert blind.context["preview"].problem.startswith("The prompt does not name {{ response }}")
    assert "There is no variable 'nothing'" in broken.context["preview"].problem
    assert unknown.status_code == 404


def test_a_preview_cuts_long_messages_and_says_by_how_much(client: Client, admin: User) -> None:
    case = factories.case()
    factories.suite(cases=[case])
    response = factories.response(prompt=case.prompt, text="x" * 30_000)
    url = reverse("judging:judge-preview") + "?kind=custom"

    answer = client.post(
        url,
        _entered(client, preview_response=response.pk, option_prompt_text="{{ response }}", option_system_text=""),
    )

    (message,) = answer.context["preview"].messages
    assert (len(message["text"]), message["left_out"], answer.context["preview"].characters) == (20_000, 10_000, 30_000)
    assert "10,000 more characters" in answer.content.decode()


def _entered(client: Client, *, kind: str = "custom", **fields: Any) -> dict[str, Any]:
    """Return what the form of a new judge sends with these fields."""
    return filled(client, f"{reverse('judging:judge-create')}?kind={kind}", **fields)
