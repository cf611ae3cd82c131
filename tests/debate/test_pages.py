"""Every page of the debate app, rendered through the whole site."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from debate.models import DebateSet, DebateStatus, Statement
from debate.services.set_plans import create_debate_set
from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from judging.models import ModelEndpoint, Run
from judging.models.runs import RunStatus
from judging.services.runs import run_worker
from tests import factories
from tests.debate import rows
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user(role=Role.RESEARCHER))
    return client


def text_of(response: Any, status: int = 200) -> str:
    assert response.status_code == status, response.status_code
    return str(response.content.decode())


def test_pages_are_closed_to_annotators(client: Client) -> None:
    client.force_login(factories.user(role=Role.ANNOTATOR))
    debate = rows.debate()

    addresses = [
        reverse("debate:set-list"),
        reverse("debate:set-create"),
        reverse("debate:set-estimate"),
        reverse("debate:record-create"),
        debate.debate_set.get_absolute_url(),
        reverse("debate:set-progress", args=[debate.debate_set_id]),
        debate.get_absolute_url(),
        reverse("debate:debate-live", args=[debate.pk]),
        reverse("debate:set-export", args=[debate.debate_set_id, "votes", "csv"]),
        reverse("debate:set-archive", args=[debate.debate_set_id]),
    ]

    assert [client.get(address).status_code for address in addresses] == [403] * 10


def test_set_list_invites_where_there_is_nothing(researcher: Client) -> None:
    assert "No debates yet" in text_of(researcher.get(reverse("debate:set-list")))


def test_set_list_takes_the_same_queries_for_three_sets_as_for_one(
    researcher: Client, django_assert_num_queries: Any
) -> None:
    address = reverse("debate:set-list")
    counts = []
    for more in (1, 2):
        for _ in range(more):
            rows.debate()
        with django_assert_num_queries(LIST_QUERIES):
            page = text_of(researcher.get(address))
        counts.append(page.count('<th scope="row">'))
    assert counts == [1, 3]


def test_set_list_filters_and_sorts_on_the_server(researcher: Client) -> None:
    rows.debate_set(name="Beta")
    rows.debate_set(name="Alpha")

    page = text_of(researcher.get(reverse("debate:set-list"), {"sort": "name"}))
    found = text_of(researcher.get(reverse("debate:set-list"), {"q": "alp"}))
    none = text_of(researcher.get(reverse("debate:set-list"), {"source": "run"}))

    assert page.index("Alpha") < page.index("Beta")
    assert "Beta" not in found
    assert "No set matches" in none


def test_set_detail_takes_the_same_queries_for_three_debates_as_for_one(
    researcher: Client, django_assert_num_queries: Any
) -> None:
    owner = rows.debate_set()
    for votes in (((1, 1),), ((1, -1), (0, 1)), ((None, 1),)):
        rows.debate(owner=owner, votes=votes)
        with django_assert_num_queries(DETAIL_QUERIES):
            page = text_of(researcher.get(owner.get_absolute_url()))
    assert page.count('<th scope="row" class="nowrap">') == 3


def test_set_detail_filters_by_status(researcher: Client) -> None:
    owner = rows.debate_set()
    agreed, open_one = rows.debate(owner=owner), rows.debate(owner=owner, votes=((1, 0),))

    page = text_of(researcher.get(owner.get_absolute_url(), {"status": "unresolved"}))

    assert open_one.case.key in page
    assert agreed.case.key not in page


def test_debate_detail_says_in_words_why_an_agent_did_not_reply(researcher: Client) -> None:
    debate = rows.debate(votes=((1, None),))
    Statement.objects.filter(agent__debate=debate, verdict=None).update(error_kind="endpoint-not-in-use", text="")

    page = text_of(researcher.get(debate.get_absolute_url()))

    assert "no reply: endpoint inactive" in page


def test_pages_say_of_no_debate_that_it_was_sent_to_review(researcher: Client) -> None:
    owner = rows.debate_set()
    unresolved, running = (rows.debate(owner=owner, votes=((1, 0),)) for _ in range(2))
    running.status = DebateStatus.RUNNING
    running.save()

    of_set, of_debate = (text_of(researcher.get(shown.get_absolute_url())) for shown in (owner, unresolved))

    assert ("sent to review" in of_set, "sent to review" in of_debate) == (False, False)
    assert of_debate.count("no agreement after the last round") == 1
    assert 'title="Running"' in of_set


def test_set_detail_shows_who_moved_toward_whom(researcher: Client) -> None:
    owner = rows.debate_set()
    rows.debate(owner=owner, votes=((1, -1), (1, 1)))

    page = text_of(researcher.get(owner.get_absolute_url(), {"tab": "agents"}))

    assert "Over 1 debate." in page
    assert "judge-2" in page


def test_set_progress_polls_only_while_the_run_is_active(researcher: Client) -> None:
    made = create_debate_set(
        wish=rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()]), actor=None, at=NOON
    )
    address = reverse("debate:set-progress", args=[made.pk])

    moving = text_of(researcher.get(address))
    Run.objects.update(status=RunStatus.FINISHED)
    still = text_of(researcher.get(address))

    assert 'hx-trigger="every 2s"' in moving
    assert "hx-trigger" not in still
    assert 'id="set-debates" hx-swap-oob="true"' in still


def test_debate_detail_marks_changes_of_mind(researcher: Client, django_assert_num_queries: Any) -> None:
    debate = rows.debate(votes=((1, 1, -1), (1, 1, 1)))

    with django_assert_num_queries(DEBATE_QUERIES):
        page = text_of(researcher.get(debate.get_absolute_url()))

    assert page.count("data-change") == 1
    assert "first change: B to A, toward judge-1, judge-2" in page
    assert page.count("followed by judge-3") == 2
    assert page.count("data-statement") == 6
    # Open: both that judge-3 followed, the dissenter, and its change; folded: the two that agreed and changed nothing.
    assert page.count("\n         open>") == 4


def test_debate_detail_compares_answers_on_demand(researcher: Client) -> None:
    debate = rows.debate()
    debate.response_a.text, debate.response_b.text = "The red fox", "The blue fox"
    debate.response_a.save()
    debate.response_b.save()

    page = text_of(researcher.get(debate.get_absolute_url(), {"diff": "1"}))

    assert ">The <del>red </del>fox\n</div>" in page
    assert ">The <ins>blue </ins>fox\n</div>" in page


def test_debate_detail_escapes_what_models_wrote(researcher: Client) -> None:
    debate = rows.debate()
    Statement.objects.update(text="<script>alert(1)</script><img src=x onerror=alert(2)>\n\n1")

    page = text_of(researcher.get(debate.get_absolute_url()))

    assert "alert(1)</script>" not in page
    assert "<img" not in page.partition('id="debate-transcript"')[2]


def test_debate_detail_is_not_found_where_there_is_none(researcher: Client) -> None:
    assert researcher.get(reverse("debate:debate-detail", args=[99])).status_code == 404


def test_debate_live_shows_what_the_ledger_holds(researcher: Client, fake_llm: FakeLLM) -> None:
    """The opening is answered and stored as calls; the debate itself is not over."""
    fake_llm.config(reply="Neither.\n\n0")
    agents = [factories.endpoint(name=name, model=name, base_url=fake_llm.url) for name in ("x", "y")]
    made = create_debate_set(
        wish=rows.wish("One?", endpoints=agents, stop_on_consensus=False, max_rounds=1), actor=None, at=NOON
    )
    assert made.run is not None
    run_worker.work_through(run_id=made.run.pk, threads=2, now=lambda: NOON)
    debate = made.debates.get()
    Statement.objects.all().delete()
    made.debates.update(status=DebateStatus.RUNNING, verdict=None)
    Run.objects.update(status=RunStatus.RUNNING)
    discussion = [call.pk for call in made.run.calls.all() if ", opening:" in call.messages[1]["content"]]
    assert len(discussion) == 2
    made.run.calls.filter(pk__in=discussion).delete()

    page = text_of(researcher.get(reverse("debate:debate-live", args=[debate.pk])))

    assert page.count("data-statement") == 2
    assert "Waiting for " in page
    assert 'hx-trigger="every 2s"' in page


def test_set_create_starts_debates(researcher: Client, django_capture_on_commit_callbacks: Any) -> None:
    wish = rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()])

    answer = researcher.post(reverse("debate:set-create"), _entered(wish))

    made = DebateSet.objects.get()
    assert answer["Location"] == made.get_absolute_url()
    assert made.debates.count() == 1
    assert made.run is not None
    assert made.run.created_by is not None


def test_set_create_says_why_it_refuses(researcher: Client) -> None:
    wish = rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()])

    page = text_of(researcher.post(reverse("debate:set-create"), {**_entered(wish), "system_b": wish.system_a.pk}), 400)

    assert "Choose two different systems" in page
    assert not DebateSet.objects.exists()


def test_set_estimate_counts_calls(researcher: Client) -> None:
    wish = rows.wish("One?", "Two?", endpoints=[factories.endpoint(), factories.endpoint()])

    page = text_of(researcher.get(reverse("debate:set-estimate"), _entered(wish)))

    ModelEndpoint.objects.update(last_test={"works": True, "seconds": 2.0}, requests_per_minute=1)
    timed = text_of(researcher.get(reverse("debate:set-estimate"), _entered(wish)))

    assert "4 if all agents agree in the independent round, at most 24" in page
    assert "have no price" in page
    assert "Test each on its page" in page
    # each agent makes 2 statements at least, one a minute, and at most 2 x 3 asked for twice
    assert "about 1 min 00 s to 11 min 00 s, at the latency of the endpoints" in timed


def _entered(wish: Any) -> dict[str, Any]:
    return {
        "suite": wish.suite.pk,
        "system_a": wish.system_a.pk,
        "system_b": wish.system_b.pk,
        "criterion": f"{wish.rubric.pk}:{wish.criterion}",
        "endpoints": [endpoint.pk for endpoint in wish.endpoints],
        "max_rounds": 2,
        "mode": "simultaneous",
        "visibility": "previous",
        "agent_order": "permutations",
        "stop_on_consensus": "on",
        "seed": 0,
        "temperature": 0,
        "max_tokens": 512,
    }


LIST_QUERIES = 7  # four of them for session, person, rights and the rail
DETAIL_QUERIES = 12
DEBATE_QUERIES = 9


def test_set_detail_offers_downloads_that_stream(researcher: Client) -> None:
    one = rows.debate()
    address = one.debate_set.get_absolute_url()

    page = text_of(researcher.get(address))
    table = researcher.get(reverse("debate:set-export", args=[one.debate_set_id, "votes", "jsonl"]))
    archive = researcher.get(reverse("debate:set-archive", args=[one.debate_set_id]))

    assert (f"{address}exports/votes.jsonl" in page, f"{address}exports/replication.zip" in page) == (True, True)
    assert (table.streaming, archive.streaming) == (True, True)
    assert table["Content-Disposition"] == 'attachment; filename="a-vs-b-helpfulness-votes.jsonl"'
    lines = [json.loads(line) for line in table.getvalue().decode().splitlines()]
    assert [(row["debate_id"], row["agent_number"], row["verdict"]) for row in lines] == [
        (one.pk, 1, 1),
        (one.pk, 2, 1),
    ]
    with zipfile.ZipFile(io.BytesIO(archive.getvalue())) as found:
        assert found.testzip() is None
    entries = AuditEntry.objects.filter(action="report.exported").order_by("pk").values_list("detail", flat=True)
    assert list(entries) == [{"table": "votes", "format": "jsonl"}, {"table": "all", "format": "zip"}]


def test_set_export_knows_its_tables_formats_and_sets_only(researcher: Client) -> None:
    one = rows.debate()
    wrong = [(one.debate_set_id, "votes", "xlsx"), (one.debate_set_id, "secrets", "csv"), (999, "votes", "csv")]

    statuses = [researcher.get(reverse("debate:set-export", args=found)).status_code for found in wrong]

    assert [*statuses, researcher.get(reverse("debate:set-archive", args=[999])).status_code] == [404] * 4


def test_set_create_takes_a_part_of_the_suite_and_the_page_says_so(researcher: Client) -> None:
    wish = rows.wish("One?", "Two?", "Three?", endpoints=[factories.endpoint(), factories.endpoint()])
    part = {**_entered(wish), "limit": "2", "scenarios": "write", "seed": "9"}

    estimated = researcher.get(reverse("debate:set-estimate"), part)
    made = researcher.post(reverse("debate:set-create"), part, follow=True)
    refused = researcher.post(reverse("debate:set-create"), {**part, "cases": "Four?"})

    assert estimated.context["estimate"].debates == 2
    assert DebateSet.objects.get().debates.count() == 2
    assert "Part of the suite: 2 of 3 cases, drawn with seed 9, scenario write. The figures on this page" in text_of(
        made
    )
    assert "has no case Four?" in text_of(refused, 400)


def test_set_detail_filters_by_outcome_and_words_and_names_the_better_system(researcher: Client) -> None:
    owner = rows.debate_set()
    better, worse = rows.debate(owner=owner), rows.debate(owner=owner, votes=((-1, -1),))
    address = owner.get_absolute_url()

    a_better = text_of(researcher.get(address, {"outcome": "a"}))
    found = text_of(researcher.get(address, {"q": worse.case.key}))

    assert (better.case.key in a_better, worse.case.key in a_better) == (True, False)
    assert f"</span> {owner.system_a}" in " ".join(a_better.split())
    assert f"{owner.system_b} better" in a_better
    assert (f">{better.case.key}</a>" in found, f">{worse.case.key}</a>" in found) == (False, True)


def test_set_detail_pauses_and_cancels_and_shows_how_it_ended(researcher: Client) -> None:
    made = create_debate_set(
        wish=rows.wish("One?", "Two?", endpoints=[factories.endpoint(), factories.endpoint()]), actor=None, at=NOON
    )
    assert made.run is not None
    address, pause = made.get_absolute_url(), reverse("judging:run-pause", args=[made.run.pk])

    running = text_of(researcher.get(address))
    paused = text_of(researcher.post(pause, follow=True))
    cancelled = text_of(researcher.post(reverse("judging:run-cancel", args=[made.run.pk]), follow=True))

    assert f'action="{pause}"' in running
    assert f'action="{reverse("judging:run-resume", args=[made.run.pk])}"' in paused
    assert list(made.debates.values_list("status", flat=True)) == ["cancelled"] * 2
    assert ("2 waiting" in paused, "2 waiting" in cancelled) == (True, False)
    assert ("Waiting" in cancelled, cancelled.count("Cancelled") >= 3) == (False, True)  # the run and two debates


def test_set_create_offers_what_has_to_do_with_the_chosen_suite_or_the_newest(researcher: Client) -> None:
    agents = [factories.endpoint(), factories.endpoint()]
    wish, newest = (rows.wish(question, endpoints=agents) for question in ("One?", "Two?"))
    theirs = factories.rubric(trees={"": rows.TREE}, benchmark=factories.benchmark())
    address = reverse("debate:set-create")

    opened = researcher.get(address).context["form"]
    narrowed = researcher.get(address, {**_entered(wish), "max_rounds": 1}).context["form"]

    assert opened["suite"].value() == newest.suite.pk
    assert set(opened.fields["system_a"].queryset) == {newest.system_a, newest.system_b}
    assert set(narrowed.fields["system_a"].queryset) == {wish.system_a, wish.system_b}
    offered = [key for _, group in narrowed.fields["criterion"].choices[1:] for key, _ in group]
    assert (f"{wish.rubric.pk}:helpfulness" in offered, f"{theirs.pk}:helpfulness" in offered) == (True, False)
    assert [chosen for _, chosen in narrowed.agents][:2] == [str(one.pk) for one in wish.endpoints]
    assert (narrowed["independent_both_orders"].value(), narrowed["max_rounds"].value()) == (False, "1")


def test_set_estimate_says_why_nothing_can_start(researcher: Client) -> None:
    wish = rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()])
    address = reverse("debate:set-estimate")
    alone = {**_entered(wish), "endpoints": [wish.endpoints[0].pk]}

    ready, obstructed = text_of(researcher.get(address, _entered(wish))), text_of(researcher.get(address, alone))
    refused = text_of(researcher.post(reverse("debate:set-create"), alone), 400)

    why = "A debate needs 2 to 5 agents; 1 were chosen."
    assert (why in ready, why in obstructed, why in refused) == (False, True, True)
    assert not DebateSet.objects.exists()


def test_a_new_estimate_leaves_the_start_where_it_is(researcher: Client) -> None:
    wish = rows.wish("One?", endpoints=[factories.endpoint(), factories.endpoint()])

    page = text_of(researcher.get(reverse("debate:set-create")))
    estimate = text_of(researcher.get(reverse("debate:set-estimate"), _entered(wish)))

    assert 0 < page.index("Start the debates</button>") < page.index('id="set-estimate"')
    assert "Start the debates</button>" not in estimate


def test_debate_detail_names_who_moved_and_says_what_a_bare_number_means(researcher: Client) -> None:
    debate = rows.debate(votes=((1, -1), (1, 1)))
    Statement.objects.filter(agent__debate=debate, agent__number=1).update(text="1")

    page = text_of(researcher.get(debate.get_absolute_url()))

    assert "followed by judge-2" in page
    assert ("toward judge-1" in page, "toward agent" in page) == (True, False)
    assert "Only “1”, which means: A is better" in page
    assert ("shown first" in page, ">Submission 1</span>" in page) == (True, False)


def test_statement_detail_shows_the_prompt_and_the_raw_reply(researcher: Client, fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="Neither.\n\n0")
    agents = [factories.endpoint(name=name, model=name, base_url=fake_llm.url) for name in ("x", "y")]
    made = create_debate_set(wish=rows.wish("One?", endpoints=agents, max_rounds=0), actor=None, at=NOON)
    assert made.run is not None
    run_worker.work_through(run_id=made.run.pk, threads=2, now=lambda: NOON)
    statement = Statement.objects.order_by("pk")[0]
    address = reverse("debate:statement-detail", args=[statement.pk])

    transcript = text_of(researcher.get(made.debates.get().get_absolute_url()))
    page = text_of(researcher.get(address))

    assert f'href="{address}"' in transcript
    assert ("Neither." in page, "Messages sent" in page, "reused, not paid" in page) == (True, True, False)
