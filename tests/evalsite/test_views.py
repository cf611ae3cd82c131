"""Home: to each their own, in few queries."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.roles import Role
from evalsite.views import live_runs, newest_board, researcher_home, spend_by_day
from judging.llm.endpoints import EndpointKind
from judging.models import Call, Run, RunEvaluator, RunTask, TaskStatus
from judging.models.runs import RunStatus
from judging.selectors.runs import FailureCount
from judging.services.ledger import add_to_hour
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_kept_sums() -> None:
    cache.clear()


def _failed_run(*kinds: str) -> Run:
    run = factories.run(failed=len(kinds), total=len(kinds), status=RunStatus.FINISHED, finished_at=NOON)
    evaluator = factories.evaluator(run=run)
    for kind in kinds:
        RunTask.objects.create(
            run=run,
            evaluator=evaluator,
            response=factories.response(),
            status=TaskStatus.FAILED,
            failure_kind=kind,
        )
    return run


def _call(cost: str, *, days_ago: int = 0, kind: str = EndpointKind.OPENAI) -> Call:
    call = Call.objects.create(
        key=f"{Call.objects.count():064x}",
        endpoint=factories.endpoint(kind=kind),
        status="finished",
        request={},
        cost=Decimal(cost),
        finished_at=NOON - timedelta(days=days_ago),
    )
    add_to_hour([call], call.finished_at)
    return call


@pytest.mark.parametrize(
    ("role", "parts"),
    [
        (None, ("annotator", False, False)),
        (Role.VIEWER, ("viewer", False, False)),
        (Role.ANNOTATOR, ("annotator", False, False)),
        (Role.RESEARCHER, ("researcher", True, False)),
        (Role.ADMIN, ("admin", True, True)),
    ],
)
def test_home_gives_each_role_its_own_parts(client: Client, role: Role | None, parts: tuple[str, bool, bool]) -> None:
    client.force_login(factories.user(role=role) if role is not None else factories.user())

    answer = client.get(reverse("home"))

    page, audience = answer.context["page"], parts[0]
    assert (page["work"] is not None, page["site"] is not None) == parts[1:]
    assert f"evalsite/home_{audience}.html" in [template.name for template in answer.templates]


def test_live_runs_lists_what_is_on_its_way_with_its_pace() -> None:
    start = NOON.timestamp()
    running = factories.run(status=RunStatus.RUNNING, total=100, done=40, pace=[[start - 30, 10], [start, 40]])
    paused = factories.run(status=RunStatus.PAUSED, total=10, done=5, pace=[[start - 30, 0], [start, 5]])
    factories.run(status=RunStatus.FINISHED)

    rows = live_runs(at=NOON)

    # 30 tasks in 30 seconds are 60 a minute, so the 60 that are left take 60 seconds
    assert [(row.run, row.rate_per_minute, row.eta_seconds) for row in rows] == [
        (running, 60.0, 60.0),
        (paused, None, None),
    ]


def test_researcher_home_names_why_tasks_failed_the_commonest_reason_first() -> None:
    run = _failed_run("timeout", "tried-too-often", "timeout")

    counts = [FailureCount("timeout", 2), FailureCount("tried-too-often", 1)]
    assert researcher_home(at=NOON).failed == [(run, counts)]
    assert [failed.words for failed in counts] == ["timeout", "its workers failed too often"]


def test_researcher_home_forgets_failures_after_a_week_and_ends_after_a_day() -> None:
    _failed_run("timeout")

    later = researcher_home(at=NOON + timedelta(days=8))

    assert (later.failed, later.finished) == ([], [])
    assert len(researcher_home(at=NOON).finished) == 1


def test_spend_by_day_sums_priced_endpoints_only() -> None:
    _call("1.50")
    _call("0.50")
    _call("1.00", days_ago=1)
    _call("9.00", days_ago=40)
    _call("7.00", kind=EndpointKind.LEXICAL)

    rows = spend_by_day(at=NOON)

    assert [(str(row.day), row.calls, row.cost, row.width) for row in rows] == [
        ("2026-01-05", 2, Decimal("2.00"), 1000),
        ("2026-01-04", 1, Decimal("1.00"), 500),
    ]


def test_home_offers_three_ways_to_start_on_an_empty_site(client: Client) -> None:
    client.force_login(factories.user(role=Role.ADMIN))

    page = client.get(reverse("home")).content.decode()

    for name in ("judging:import-create", "demo-load", "judging:endpoint-create"):
        assert reverse(name) in page


def test_home_lets_one_click_retry_what_failed(client: Client) -> None:
    client.force_login(factories.user(role=Role.RESEARCHER))
    run = _failed_run("timeout")
    Run.objects.update(finished_at=None)

    page = client.get(reverse("home")).content.decode()

    assert f'action="{reverse("judging:run-retry", args=[run.pk])}"' in page


def test_home_running_drops_its_trigger_when_nothing_moves(client: Client) -> None:
    client.force_login(factories.user(role=Role.RESEARCHER))
    run = factories.run(status=RunStatus.RUNNING, total=2, done=1)
    moving = client.get(reverse("home-running")).content.decode()
    Run.objects.filter(pk=run.pk).update(status=RunStatus.PAUSED)

    still = client.get(reverse("home-running")).content.decode()

    assert ("hx-trigger" in moving, "hx-trigger" in still) == (True, False)
    assert run.name in still


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("role", "queries"), [(Role.ANNOTATOR, 8), (Role.RESEARCHER, 19), (Role.ADMIN, 23)])
def test_home_takes_as_many_queries_for_much_as_for_little(
    client: Client, role: Role, queries: int, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(factories.user(role=role))
    for _ in range(rows):
        factories.run(status=RunStatus.RUNNING)
        _failed_run("timeout", "refused")
        _call("1.00")
        factories.user(role=Role.ANNOTATOR)
    Run.objects.filter(status=RunStatus.FINISHED).update(finished_at=None)

    with django_assert_num_queries(queries):
        assert client.get(reverse("home")).status_code == 200


def test_home_page_is_for_those_who_signed_in(client: Client) -> None:
    assert client.get(reverse("home"))["Location"] == f"{reverse('login')}?next={reverse('home')}"


def test_home_asks_before_it_retries_as_the_run_page_does(client: Client) -> None:
    run = _failed_run("timeout")
    Run.objects.update(finished_at=timezone.now())
    client.force_login(factories.user("rita", Role.RESEARCHER))

    pages = [client.get(url).text for url in (reverse("home"), run.get_absolute_url())]

    assert [page.count('data-confirm="Retry the failed tasks?"') for page in pages] == [1, 1]


def test_home_says_what_the_site_is_for(client: Client) -> None:
    client.force_login(factories.user("rita", Role.RESEARCHER))

    text = client.get(reverse("home")).text

    assert "Evalsite evaluates language models" in text
    assert reverse("help-topic", args=["start"]) in text


@pytest.mark.parametrize(
    "name",
    [
        *("judging:run-list", "judging:benchmark-list", "judging:run-create", "judging:import-list", "help"),
        *("debate:set-list", "review:queue-list", "review:adjudication-list", "reports:judge-list", "password_change"),
    ],
)
def test_breadcrumbs_start_with_home_once(client: Client, name: str) -> None:
    client.force_login(factories.user("rita", Role.RESEARCHER))
    crumb = '<li class="breadcrumb-item"><a href="/">Home</a></li>'

    page, home = client.get(reverse(name)).text, client.get("/").text

    crumbs = page.partition('<ol class="breadcrumb">')[2].partition("</ol>")[0]
    assert crumbs.strip().startswith(crumb)
    assert (page.count(crumb), home.count(crumb)) == (1, 0)


def _scored_run(shares: dict[str, float], *, finished_at: datetime) -> RunEvaluator:
    suite = factories.suite()
    run = factories.run(suite=suite, status=RunStatus.FINISHED, done=len(shares), finished_at=finished_at)
    evaluator, case = factories.evaluator(run=run, done=len(shares)), suite.cases.get()
    for name, share in shares.items():
        system = factories.system(name=name)
        run.systems.add(system)
        factories.score(
            evaluator=evaluator, response=factories.response(prompt=case.prompt, system=system), share=share
        )
    return evaluator


def test_newest_board_has_the_first_rows_of_the_suite_that_was_scored_last() -> None:
    assert newest_board(at=NOON) is None
    evaluator = _scored_run({"orion": 0.2, "corvus": 0.9, "lyra": 0.5, "vela": 0.7}, finished_at=NOON)
    _scored_run({"other": 1.0}, finished_at=NOON - timedelta(days=1))

    board = newest_board(at=NOON)

    assert board is not None
    assert (board.suite, board.evaluator, board.system_count) == (evaluator.run.suite, evaluator, 4)
    assert [(row["system"], row["ranks"]) for row in board.rows] == [
        ("corvus", [1, 4]),  # one case tells nothing apart
        ("vela", [1, 4]),
        ("lyra", [1, 4]),
    ]


def test_home_opens_with_the_newest_leaderboard_and_the_spending(client: Client) -> None:
    evaluator = _scored_run({"orion": 0.2, "corvus": 0.9}, finished_at=timezone.now())
    _call("1.50", days_ago=-(timezone.now() - NOON).days)
    client.force_login(factories.user("rita", Role.RESEARCHER))

    text = client.get(reverse("home")).text

    parts = ("Newest leaderboard", "-2</span>", "corvus", "orion", "Spent in 30 days", "$1.50", "Annotations needed")
    assert sorted(parts, key=text.index) == list(parts)
    assert reverse("reports:leaderboard-detail", args=[evaluator.run.suite_id]) in text
