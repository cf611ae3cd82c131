"""Pages of runs: lists under fixed query counts, the new-run form with its estimate, controls with and without htmx."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.roles import Role
from judging.llm.limiter import LimiterFactory, connect
from judging.llm.limits import Results
from judging.models import ModelEndpoint, Response, Run, RunTask
from judging.models.runs import RunStatus
from judging.selectors.endpoints import config_of
from judging.services import leases, run_lifecycle
from judging.services.runs import new_runs as archive
from judging.services.runs.new_runs import plan_tasks
from judging.specs.selections import CaseSelection
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.comparison_rows import TIE, comparing_judge, replied_suite
from tests.judging.services.run_rows import answered_suite, judged_run, level_judge, ruled_run, work
from tests.own_redis import OwnRedis

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
SHELL_QUERIES = 4  # session, person with permissions, groups, what waits for review


@pytest.fixture
def ada(client: Client) -> User:
    person = factories.user("ada", Role.RESEARCHER)
    client.force_login(person)
    return person


@pytest.mark.parametrize("runs", [1, 3])
def test_run_list_needs_the_same_queries_for_any_number(
    client: Client, ada: User, runs: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(runs):
        factories.run(created_by=ada)

    with django_assert_num_queries(SHELL_QUERIES + 4):  # count, page and its tags, tags in use
        answer = client.get(reverse("judging:run-list"))

    assert len(answer.context["page_obj"]) == runs


def test_run_list_filters_and_sorts(client: Client, ada: User) -> None:
    factories.run(name="alpha", status=RunStatus.PAUSED, total=5)
    factories.run(name="beta", status=RunStatus.FINISHED, total=9)
    factories.run(name="gamma", status=RunStatus.PAUSED, total=1)

    def names(query: str) -> list[str]:
        return [run.name for run in client.get(f"{reverse('judging:run-list')}?{query}").context["page_obj"]]

    assert names("status=paused&sort=-total") == ["alpha", "gamma"]
    assert names("q=ET") == ["beta"]
    assert names("sort=name") == ["alpha", "beta", "gamma"]


def test_run_list_leaves_archived_runs_out_unless_asked_and_filters_by_tag(client: Client, ada: User) -> None:
    kept, other = factories.run(name="kept"), factories.run(name="other")
    gone = factories.run(name="gone", status=RunStatus.FINISHED, archived_at=NOON)
    for run, tags in ((kept, ["paper"]), (gone, ["paper", "old"])):
        archive.tag_run(run_id=run.pk, tags=tags, actor=ada)

    def names(query: str) -> list[str]:
        return [run.name for run in client.get(f"{reverse('judging:run-list')}?{query}").context["page_obj"]]

    assert names("sort=name") == [kept.name, other.name]
    assert names("archived=1") == [gone.name]
    assert names("tag=paper") == [kept.name]
    assert names("tag=paper&archived=1") == [gone.name]
    assert names("tag=nothing") == []
    offered = [client.get(reverse("judging:run-list") + query).context["tags"] for query in ("", "?archived=1")]
    assert offered == [["paper"], ["old", "paper"]]


def test_run_archive_takes_one_click_and_so_does_its_undoing(client: Client, ada: User) -> None:
    run = factories.run(status=RunStatus.FINISHED)
    archive_url, restore_url = (reverse(f"judging:run-{verb}", args=[run.pk]) for verb in ("archive", "restore"))
    before = client.get(run.get_absolute_url()).text

    archived = client.post(archive_url, follow=True).text
    restored = client.post(restore_url, follow=True).text

    assert [f'action="{archive_url}"' in text for text in (before, archived, restored)] == [True, False, True]
    assert [f'action="{restore_url}"' in text for text in (before, archived, restored)] == [False, True, False]


def test_run_archive_refuses_a_run_at_work_in_words(client: Client, ada: User) -> None:
    run = ruled_run()

    answer = client.post(reverse("judging:run-archive", args=[run.pk]), follow=True)

    run.refresh_from_db()
    assert run.archived_at is None
    assert "still at work" in answer.text


def test_run_rename_saves_tags_and_the_page_shows_them(client: Client, ada: User) -> None:
    run = factories.run(name="Run")
    url = reverse("judging:run-rename", args=[run.pk])

    saved = client.post(url, {"name": "Run", "tags": "paper, final"})
    refused = client.post(url, {"name": "Run", "tags": "x" * 41})

    page = client.get(run.get_absolute_url()).text
    assert (saved.status_code, refused.status_code) == (302, 400)
    assert refused.context["form"].errors["tags"] == ["A tag has at most 40 characters."]
    assert [tag.name for tag in client.get(run.get_absolute_url()).context["tags"]] == ["final", "paper"]
    assert f'href="{reverse("judging:run-list")}?tag=paper"' in page
    assert 'value="final, paper"' in client.get(url).text


def test_run_list_without_runs_says_what_to_do(client: Client, ada: User) -> None:
    assert "No runs yet" in client.get(reverse("judging:run-list")).content.decode()


@pytest.mark.parametrize("cases", [1, 3])
def test_run_detail_needs_the_same_queries_for_any_number(
    client: Client, ada: User, cases: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = judged_run(cases=cases)
    work(run)
    client.get(run.get_absolute_url())  # the results of a small run are computed for whoever asks first

    # run, tags, claims, evaluators, keys, tasks, scores, what the results depend on, the cached results, claims, queue,
    # items, and who else scored the suite: evaluators, systems, rubrics; its owners, and whose of three buttons it is;
    # its gates, and with which evaluator and system a new one starts
    with django_assert_num_queries(SHELL_QUERIES + 22):
        answer = client.get(run.get_absolute_url())

    page = answer.content.decode()
    assert len(answer.context["rows"]) == cases
    assert "Lexical baseline, not a language model" in page
    assert 'hx-trigger="every' not in page  # it has ended, so nothing polls


def test_run_detail_polls_while_live_and_shows_tasks_before_any_is_written(client: Client, ada: User) -> None:
    run = ruled_run(name="Live one")

    page = client.get(run.get_absolute_url()).content.decode()

    assert 'hx-trigger="every 2s"' in page
    assert "Loading tasks" in page


def test_run_progress_says_which_rate_limit_it_waits_for(
    client: Client, ada: User, own_redis: OwnRedis, settings: Any
) -> None:
    settings.REDIS_URL = own_redis.url
    run = judged_run(url=f"http://127.0.0.1:9/{uuid4().hex}/v1")
    plan_tasks(run_id=run.pk, at=NOON)
    ModelEndpoint.objects.update(requests_per_minute=1)
    endpoint = ModelEndpoint.objects.get()
    limiter = LimiterFactory(connect(own_redis.url))(config_of(endpoint))
    limiter.exchange(held=0, want=2, results=Results(), tokens=[1, 1])

    page = client.get(reverse("judging:run-progress", args=[run.pk])).content.decode()

    assert re.search(rf"Waiting .*? for the rate limit of <a .*?>{endpoint.name}</a>: 1 requests per minute", page)


def test_run_detail_filters_tasks_by_failure_status_and_evaluator(client: Client, ada: User) -> None:
    run = ruled_run(cases=4)
    plan_tasks(run_id=run.pk, at=NOON)
    first, second, third, _ = RunTask.objects.order_by("pk")
    RunTask.objects.filter(pk=first.pk).update(status="failed", failure_kind="timeout")
    RunTask.objects.filter(pk=second.pk).update(status="failed", failure_kind="unparsed")
    RunTask.objects.filter(pk=third.pk).update(status="done")
    Run.objects.update(failed=2, done=1)

    def shown(query: str) -> tuple[list[int], int]:
        answer = client.get(f"{run.get_absolute_url()}?{query}")
        return [task.pk for task, _ in answer.context["rows"]], answer.context["page_obj"].paginator.count

    evaluator = run.evaluators.get().pk
    assert shown("failure=timeout") == ([first.pk], 1)
    assert shown("status=failed") == ([first.pk, second.pk], 2)
    assert shown("status=done") == ([third.pk], 1)
    assert len(shown(f"evaluator={evaluator}")[0]) == 4
    assert shown("evaluator=999999") == ([], 0)


def test_run_rename_shows_the_name_and_saves_another(client: Client, ada: User) -> None:
    run = factories.run(name="Before")
    url = reverse("judging:run-rename", args=[run.pk])
    form, page = client.get(url), client.get(run.get_absolute_url())

    empty = [client.post(url, {"name": name}) for name in (" ", "\u200b", "\x07\u202e")]
    saved = client.post(url, {"name": "\u202eAfter\x07 \xa0 Cafe\u0301 👩‍🔬\u202c"})

    run.refresh_from_db()
    assert 'value="Before"' in form.text
    assert f'href="{url}"' in page.text
    required = (400, ["This field is required."])
    assert [(page.status_code, page.context["form"].errors["name"]) for page in empty] == [required] * 3
    assert (saved["Location"], run.name) == (run.get_absolute_url(), "After Café 👩‍🔬")


def test_run_progress_answers_with_the_tasks_of_the_same_moment(client: Client, ada: User) -> None:
    run = ruled_run(cases=4)
    url = reverse("judging:run-progress", args=[run.pk])
    before = client.get(f"{url}?status=done", headers=HTMX)
    work(run)

    after = client.get(f"{url}?status=done", headers=HTMX)

    assert (before.context["rows"], len(after.context["rows"])) == ([], 4)
    assert [text.count('id="run-tasks"') for text in (before.text, after.text)] == [1, 1]
    assert 'hx-swap-oob="true"' in after.text
    assert f'hx-get="{url}?status=done"' in before.text
    assert "every 5s" not in client.get(run.get_absolute_url()).text


def test_run_detail_shows_the_duration_and_the_reused_calls(client: Client, ada: User) -> None:
    run = ruled_run()
    started = {"status": "finished", "started_at": NOON, "finished_at": NOON + timedelta(seconds=6)}
    Run.objects.filter(pk=run.pk).update(calls_made=75, calls_reused=107, **started)

    text = " ".join(client.get(run.get_absolute_url()).text.split())

    assert "<dd>75 new calls, 107 reused</dd>" in text
    assert "<dt>Duration</dt><dd>6.0 s</dd>" in text
    assert "<dt>Workers</dt>" not in text


def test_run_progress_drops_its_trigger_and_tells_the_page_when_the_run_has_ended(client: Client, ada: User) -> None:
    run = ruled_run()
    url = reverse("judging:run-progress", args=[run.pk])
    live = client.get(url, headers=HTMX)
    work(run)

    ended = client.get(url, headers=HTMX)

    assert ("hx-trigger" in live.text, "hx-trigger" in ended.text) == (True, False)
    assert (live.get("HX-Trigger"), ended.get("HX-Trigger")) == (None, "run-ended")  # what the results listen to
    assert "100%" in ended.text


@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.CANCELLED])
def test_run_progress_moves_on_until_the_last_calls_of_a_stopped_run_have_ended(
    client: Client, ada: User, status: RunStatus
) -> None:
    run = ruled_run()
    Run.objects.filter(pk=run.pk).update(status=status)
    lease = leases.open_lease(run=run, worker="one")
    url = reverse("judging:run-progress", args=[run.pk])

    in_flight = client.get(url, headers=HTMX)
    lease.delete()
    ended = client.get(url, headers=HTMX)

    assert ("hx-trigger" in in_flight.text, "hx-trigger" in ended.text) == (True, False)
    assert (in_flight.get("HX-Trigger"), ended.get("HX-Trigger")) == (None, "run-ended")


@pytest.mark.parametrize(("options", "words"), [({}, " and not paid for again."), ({"fresh": True}, ".")])
def test_run_detail_says_what_becomes_of_finished_calls(
    client: Client, ada: User, options: dict[str, bool], words: str
) -> None:
    run = ruled_run()
    Run.objects.filter(pk=run.pk).update(options=run.options | options)

    page = client.get(run.get_absolute_url()).text

    assert f'Waiting tasks are not started; finished calls are kept{words}"' in page


def test_run_resume_keeps_a_refused_budget_in_its_field(client: Client, ada: User) -> None:
    run = ruled_run()
    Run.objects.filter(pk=run.pk).update(status=RunStatus.PAUSED, budget=Decimal("0.0036"), spent=Decimal("0.0035"))

    refused = client.post(reverse("judging:run-resume", args=[run.pk]), {"budget": "0.0030"}, headers=HTMX).text

    assert "A budget of $0.003 is not higher than the $0.0035 that the run has spent." in refused
    assert 'value="0.0030"' in refused
    assert 'placeholder="$0.0036"' in refused


def test_run_create_asks_for_a_suite_first(client: Client, ada: User) -> None:
    suite, _ = answered_suite()

    page = client.get(reverse("judging:run-create")).content.decode()

    assert f"?suite={suite.pk}" in page


def test_run_create_starts_a_run(client: Client, ada: User) -> None:
    suite, (system,) = answered_suite(cases=2, grading={"keywords": ["chmod"]})
    judge, rubric = level_judge()
    form = {
        "suite": suite.pk,
        "systems": [system.pk],
        "rules": "on",
        "judges": [judge.pk],
        "rubrics": [rubric.pk],
        "name": "By browser",
        "budget": "2.50",
    }

    answer = client.post(reverse("judging:run-create"), form)

    run = Run.objects.get()
    assert answer.headers["Location"] == run.get_absolute_url()
    assert (run.name, run.budget, run.total, run.created_by) == ("By browser", Decimal("2.5"), 4, ada)
    assert [evaluator.name for evaluator in run.evaluators.order_by("position")] == [
        "rules",
        f"{judge.name} · {rubric.name}",
    ]


def test_run_create_says_what_is_missing(client: Client, ada: User) -> None:
    suite, (system,) = answered_suite(grading={})
    judge, _ = level_judge()
    url = reverse("judging:run-create")

    nobody = client.post(url, {"suite": suite.pk, "rules": "on"})
    no_rubric = client.post(url, {"suite": suite.pk, "systems": [system.pk], "judges": [judge.pk]})

    assert (nobody.status_code, no_rubric.status_code) == (400, 400)
    assert nobody.context["form"].errors["systems"] == ["Choose at least one system."]
    # the suite's cases hold no rules, so the ticked box does not count
    assert nobody.context["form"].errors["__all__"] == ["Choose the rule graders, a judge, or both."]
    assert no_rubric.context["form"].errors["rubrics"] == [
        f"{judge.name} needs a level rubric; choose one or deselect the judge."
    ]
    assert not Run.objects.exists()


def test_run_create_refuses_a_budget_that_cannot_be_kept(client: Client, ada: User) -> None:
    suite, (system,) = answered_suite()
    judge, rubric = level_judge(url="http://127.0.0.1:9/v1", name="nowhere")
    form = {
        "suite": suite.pk,
        "systems": [system.pk],
        "judges": [judge.pk],
        "rubrics": [rubric.pk],
        "budget": "1",
    }

    answer = client.post(reverse("judging:run-create"), form)

    assert "the price of nowhere is unknown" in answer.content.decode()
    assert not Run.objects.exists()


def test_run_estimate_answers_with_the_fragment_or_the_page(client: Client, ada: User) -> None:
    suite, (system,) = answered_suite(cases=3)
    judge, rubric = level_judge()
    form = {"suite": suite.pk, "systems": [system.pk], "judges": [judge.pk], "rubrics": [rubric.pk]}
    url = reverse("judging:run-estimate")

    fragment, page = client.post(url, form, headers=HTMX), client.post(url, form)

    assert fragment.context["estimate"].calls == page.context["estimate"].calls == 3
    assert ('id="run-estimate"' in fragment.content.decode(), "<html" in fragment.content.decode()) == (True, False)
    assert "<title>New run" in page.content.decode()
    assert f'value="{system.pk}"' in page.content.decode()
    assert not Run.objects.exists()


def test_run_estimate_says_what_the_audit_asks_of_people(client: Client, ada: User, settings: Any) -> None:
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 1
    suite, (system,) = answered_suite(cases=4)
    judge, rubric = level_judge()
    form = {"suite": suite.pk, "systems": [system.pk], "judges": [judge.pk], "rubrics": [rubric.pk]}
    url = reverse("judging:run-estimate")

    costs = [
        client.post(url, form | more, headers=HTMX).context["people_cost"]
        for more in ({}, {"audit_percent": "25"}, {"audit_percent": "0", "people": "audit"}, {"people": "nobody"})
    ]

    # half of four cases, two people each; a quarter; none; nobody is asked anything. All four may stay open
    assert [cost and (cost.cases, cost.population, cost.annotations, cost.work.most) for cost in costs] == [
        (2, 4, 4, 8), (1, 4, 2, 8), (0, 4, 0, 0), None
    ]  # fmt: skip
    text = " ".join(client.post(url, form, headers=HTMX).text.split())
    assert "at most <strong>8</strong>, 8 min 00 s of annotators' time" in text
    assert "4 for the random audit of 2 of 4 cases; the others if every result stays open." in text
    assert "agreed-annotations" not in text


def test_a_run_of_more_than_a_day_for_people_starts_once_somebody_agrees(client: Client, ada: User) -> None:
    suite, systems = answered_suite(cases=61, systems=4)  # 244 responses, two people each, a minute each: 8 h 08 min
    judge, rubric = level_judge()
    form: dict[str, Any] = {"suite": suite.pk, "systems": [system.pk for system in systems], "judges": [judge.pk]}
    form |= {"rubrics": [rubric.pk]}
    url = reverse("judging:run-create")

    refused = client.post(url, form)
    too_few = client.post(url, form | {"agreed": "487"})
    estimated = client.post(reverse("judging:run-estimate"), form | {"agreed": "488"}, headers=HTMX)

    assert (refused.status_code, too_few.status_code, Run.objects.count()) == (400, 400, 0)
    assert "at most 488 annotations (8 h 08 min at 1 min 00 s per annotation, assumed" in refused.text
    assert re.search(r'<input type="checkbox"[^>]*name="agreed"[^>]*value="488"\s*>', refused.text)
    assert re.search(r'value="488"\s*checked>', estimated.text)
    assert client.post(url, form | {"people": "audit"}).status_code == 302
    assert client.post(url, form | {"agreed": "488"}).status_code == 302
    assert [(run.options["asks_people"], run.options["asks_open"]) for run in Run.objects.order_by("pk")] == [
        (True, False),
        (True, True),
    ]


def test_whom_to_ask_stands_beside_the_graders_and_not_among_the_options(client: Client, ada: User) -> None:
    suite, _ = answered_suite()

    page = client.get(reverse("judging:run-create"), {"suite": suite.pk}).text

    options = page[page.index('id="run-options"') :]
    assert 'name="people"' not in options[: options.index("</details>")]
    assert re.findall(r'name="people" value="(\w+)"', page) == ["nobody", "audit", "open"]


def test_a_run_keeps_the_share_of_its_audit(client: Client, ada: User) -> None:
    suite, (system,) = answered_suite(cases=4)
    judge, rubric = level_judge()
    form = {"suite": suite.pk, "systems": [system.pk], "judges": [judge.pk], "rubrics": [rubric.pk]}

    client.post(reverse("judging:run-create"), form | {"audit_percent": "25"})

    run = Run.objects.get()
    assert run.options["audit_share"] == 0.25
    again = client.get(reverse("judging:run-create"), {"suite": suite.pk, "like": run.pk})
    assert again.context["form"]["audit_percent"].value() == 25


def test_run_estimate_says_what_is_already_made(client: Client, ada: User) -> None:
    run = judged_run(cases=3)
    work(run)
    evaluator = run.evaluators.get()
    form = {"suite": run.suite_id, "judges": [evaluator.judge_id], "rubrics": [evaluator.rubric_id]}
    form |= {"systems": [system.pk for system in run.systems.all()]}

    texts = [
        client.post(reverse("judging:run-estimate"), form | more, headers=HTMX).text for more in ({}, {"fresh": "on"})
    ]

    assert ["3 calls already made and not paid for again" in text for text in texts] == [True, False]


def test_run_estimate_lists_what_is_missing(client: Client, ada: User) -> None:
    suite, _ = answered_suite()

    answer = client.post(reverse("judging:run-estimate"), {"suite": suite.pk}, headers=HTMX)

    assert "Choose at least one system." in answer.content.decode()
    assert "Choose the rule graders, a judge, or both." in answer.content.decode()


def _press(client: Client, run: Run, control: str, **data: str) -> str:
    client.post(reverse(f"judging:run-{control}", args=[run.pk]), data)
    run.refresh_from_db()
    return run.status


def test_controls_work_without_htmx(client: Client, ada: User) -> None:
    run = ruled_run()

    statuses = [_press(client, run, control) for control in ("pause", "resume", "cancel")]

    assert statuses == ["paused", "queued", "cancelled"]


def test_controls_answer_htmx_with_the_fragment_and_refusals_inside_it(client: Client, ada: User) -> None:
    run = ruled_run()
    url = reverse("judging:run-pause", args=[run.pk])

    paused = client.post(url, headers=HTMX).content.decode()
    refused = client.post(url, headers=HTMX).content.decode()

    assert ">Resume<" in paused.replace("</svg>", ">")
    assert "The run is paused; it cannot become paused." in refused


def test_a_refused_control_tells_why_on_the_page(client: Client, ada: User) -> None:
    run = ruled_run()

    page = client.post(reverse("judging:run-resume", args=[run.pk]), follow=True).content.decode()

    assert "only a paused run can be resumed" in page


def test_run_resume_raises_the_budget(client: Client, ada: User) -> None:
    run = ruled_run()
    run_lifecycle.pause_run(run_id=run.pk, actor=None, reason="The budget is reached.")
    Run.objects.update(budget=Decimal(1), spent=Decimal(1))

    low = _press(client, run, "resume", budget="0.5")
    words = _press(client, run, "resume", budget="much")
    high = _press(client, run, "resume", budget="3")

    assert (low, words, high) == ("paused", "paused", "queued")
    assert (run.budget, run.status_reason) == (Decimal(3), "")


def test_run_retry_queues_failed_tasks(client: Client, ada: User) -> None:
    run = ruled_run()
    work(run)
    RunTask.objects.filter(pk=RunTask.objects.order_by("pk").values("pk")[:1]).update(
        status="failed", failure_kind="timeout"
    )
    Run.objects.update(done=2, failed=1)
    run.evaluators.update(done=2, failed=1)

    status = _press(client, run, "retry")

    assert (status, run.failed, run.tasks.filter(status="waiting").count()) == ("queued", 0, 1)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, None])
def test_run_pages_are_for_researchers(client: Client, role: Role | None) -> None:
    run = ruled_run()
    if role is not None:
        client.force_login(factories.user("ben", role))
    reads = [
        client.get(reverse(name, args=args))
        for name, args in (
            ("judging:run-list", []),
            ("judging:run-create", []),
            ("judging:run-detail", [run.pk]),
            ("judging:run-progress", [run.pk]),
        )
    ]
    writes = [
        client.post(reverse(f"judging:run-{name}", args=[run.pk])) for name in ("pause", "resume", "cancel", "retry")
    ]

    expected_status = 403 if role else 302  # nobody is sent to sign in
    assert {answer.status_code for answer in [*reads, *writes]} == {expected_status}
    run.refresh_from_db()
    assert run.status == "queued"


def test_controls_take_posts_only(client: Client, ada: User) -> None:
    run = ruled_run()

    answers = {client.get(reverse(f"judging:run-{name}", args=[run.pk])).status_code for name in ("pause", "cancel")}

    assert answers == {405}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [({}, "are reused and cost nothing"), ({"fresh": "on"}, "Every reply is requested and paid for again.")],
)
def test_run_estimate_says_whether_replies_are_reused(
    client: Client, ada: User, fields: dict[str, str], sentence: str
) -> None:
    run = judged_run(cases=1, url="http://127.0.0.1:9/v1")
    evaluator = run.evaluators.get()
    chosen = {"systems": run.systems.get().pk, "judges": evaluator.judge_id, "rubrics": evaluator.rubric_id}

    page = client.post(reverse("judging:run-estimate"), {"suite": run.suite_id, **chosen, **fields}).content.decode()

    assert sentence in page


def test_run_create_takes_a_part_of_the_suite_and_the_page_says_so(client: Client, ada: User) -> None:
    suite, (system,) = answered_suite(cases=4, grading={"keywords": ["chmod"]})
    form = {"suite": suite.pk, "systems": [system.pk], "rules": "on", "limit": 2, "seed": 5}

    estimated = client.post(reverse("judging:run-estimate"), form)
    client.post(reverse("judging:run-create"), form)
    refused = client.post(reverse("judging:run-create"), {**form, "cases": "nope", "scenarios": "none"})

    run = Run.objects.get()
    assert (estimated.context["estimate"].tasks, run.total) == (2, 2)
    page = client.get(run.get_absolute_url()).content.decode()
    assert "Part of the suite: 2 of 4 cases, drawn with seed 5." in page
    assert refused.status_code == 400
    errors = refused.context["form"].errors
    assert [errors[name][0].partition(". ")[0] for name in ("cases", "scenarios")] == [
        f"{suite} has no case nope",
        f"{suite} has no scenario none",
    ]


def test_run_create_ticks_every_system_and_lists_baselines_last(client: Client, ada: User) -> None:
    suite, systems = answered_suite(systems=3)
    baseline, _ = level_judge()
    real, _ = level_judge(url="http://127.0.0.1:9/v1")

    form = client.get(reverse("judging:run-create"), {"suite": suite.pk}).context["form"]

    assert sorted(form["systems"].value()) == sorted(system.pk for system in systems)
    assert [judge.pk for judge in form.fields["judges"].queryset] == [real.pk, baseline.pk]


def test_run_create_starts_from_the_choices_of_an_earlier_run(client: Client, ada: User) -> None:
    run = judged_run(budget=Decimal("1.5"))
    run.options["selection"] = CaseSelection(limit=2, seed=5).to_json()
    run.options |= {"fresh": True, "asks_people": False}
    run.save(update_fields=["options"])
    other = factories.system()
    factories.response(prompt=run.suite.cases.order_by("pk")[0].prompt, system=other)
    evaluator = run.evaluators.get()
    link = f"{reverse('judging:run-create')}?suite={run.suite_id}&like={run.pk}"

    form = client.get(link).context["form"]

    names = ("systems", "judges", "rubrics", "rules", "budget", "limit", "seed", "fresh", "people")
    chosen = {name: form[name].value() for name in names}
    assert chosen == {
        "systems": [run.systems.get().pk],
        "judges": [evaluator.judge_id],
        "rubrics": [evaluator.rubric_id],
        "rules": False,
        "budget": Decimal("1.5"),
        "limit": 2,
        "seed": 5,
        "fresh": True,
        "people": "nobody",
    }
    assert link.replace("&", "&amp;") in client.get(run.get_absolute_url()).text


def test_run_create_names_the_baseline_and_the_pages_say_against_it(
    client: Client, ada: User, fake_llm: FakeLLM
) -> None:
    fake_llm.config(reply=TIE)
    suite, systems = replied_suite(1, base="Plain reply", other="Other reply")
    judge = comparing_judge(url=fake_llm.url)
    form = {"suite": suite.pk, "systems": [one.pk for one in systems.values()], "judges": [judge.pk]}
    url = reverse("judging:run-create")

    lacking = client.post(url, form)
    client.post(url, form | {"baseline": systems["base"].pk})
    run = Run.objects.get()
    work(run)
    verdict = run.verdicts.get()
    pages = [client.get(one.get_absolute_url()).content.decode() for one in (run, verdict)]
    again = client.get(url, {"suite": suite.pk, "like": run.pk}).context["form"]

    assert lacking.status_code == 400
    assert "Choose the baseline." in lacking.content.decode()
    assert all(f"{judge.name} · against base" in page for page in pages)
    other = Response.objects.get(system=systems["base"])
    assert f'<a href="{other.get_absolute_url()}">the response of base</a>' in pages[1]
    assert (run.total, run.scores.get().share, again["baseline"].value()) == (1, 0.5, systems["base"].pk)
