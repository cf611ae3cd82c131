"""The page of spending, its downloads, and the command that prints the same figures."""

from __future__ import annotations

import csv
import json
import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.reports.services import snapshots
from evalsite.reports.services.spend_reports import SPEND
from judging.models import CallHour, EvaluatorKind, Lease
from judging.models.runs import RunStatus
from judging.services.day_budgets import hold_outside_runs, set_day_budget
from tests import factories
from tests.evalsite.reports.spent import NEXT_DAY, ledger
from tests.factories import NOON

pytestmark = pytest.mark.django_db
PAGE = "/reports/spend/"
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)
WORDS = re.compile(r'<div class="progress-words">(.*?)</div>', re.DOTALL)  # above a bar


def rows_of(page: str, heading: str) -> list[list[str]]:
    """Return the texts of the table below a heading, without its head."""
    body = page.split(f">{heading}</h2>", 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    rows = [CELL.findall(row) for row in body.split("<tr>")[1:]]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in rows]


def shown(client: Client, query: str = "") -> str:
    answer = client.get(f"{PAGE}{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def download(client: Client, table: str, query: str = "", format_name: str = "csv") -> list[dict[str, str]]:
    answer = client.get(reverse("reports:spend-export", args=[table, format_name]) + query)
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(StringIO(text)))


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("report", "spend", *arguments, stdout=out)
    return out.getvalue()


def test_page_opens_with_the_cost_by_judge(researcher: Client) -> None:
    ledger()

    rows = rows_of(shown(researcher), "By judge")

    assert [row[1:] for row in rows] == [
        ["$0.11", "4", "0", "400", "40", "20.0% 1", "$0.03"],
        ["$0.04", "1", "0", "100", "10", "50.0% 1", "$0.04"],
        ["$0.0010", "1", "0", "100", "10", "0.0%", "$0.00"],
        ["$0.00", "1", "1", "0", "0", "0.0%", "$0.00"],
        ["– no call has a known price 1 without a price", "1", "0", "100", "10", "50.0% 1", "$0.03"],
    ]
    assert [re.sub(r"· [0-9a-f]{8}$", "· HASH", row[0]) for row in rows] == [
        "Strict big-1 · HASH",
        "Agents in debates small-1 · Spare",
        "Tests, trials and deleted runs small-1 · Spare",
        "Calls without a verdict big-1 · Main",
        "Mild big-1 · HASH",
    ]


def test_page_shows_totals_and_a_chart_of_the_days(researcher: Client) -> None:
    ledger()

    page = shown(researcher)

    stats = re.findall(r'stat-value">(.*?)</span>\s*(?:<span class="stat-hint">(.*?)</span>)?', page, re.DOTALL)
    # 0.11 + 0.04 + 0.001 dollars of eight calls; three more replies were reused: 3 of 11, saving 0.03 + 0.03 + 0.04
    assert stats == [
        ("$0.15", "1 call without a price"),
        ("8", "1 failed"),
        ("700", ""),
        ("70", ""),
        ("27.3%", "3 replies"),
        ("$0.10", "not paid again"),
    ]
    assert re.findall(r"<circle[^>]*><title>(.*?)</title>", page) == [
        "05 Jan 2026: $0.06, 5 calls",
        "06 Jan 2026: $0.09, 3 calls",
    ]


@pytest.mark.parametrize(
    ("query", "heading", "names"),
    [
        ("?group=day", "By day", ["6 Jan 2026 Tuesday", "5 Jan 2026 Monday"]),
        ("?group=day&sort=name", "By day", ["5 Jan 2026 Monday", "6 Jan 2026 Tuesday"]),
        ("?group=endpoint&sort=name", "By endpoint", ["Main big-1", "Spare small-1"]),
        (
            "?group=person&sort=-calls",
            "By person",
            ["ada", "Nobody started by a command, outside of runs, or in deleted ones"],
        ),
        ("?group=endpoint&to=2026-01-05", "By endpoint", ["Main big-1"]),
        (
            "?group=person&from=2026-01-06",
            "By person",
            ["Nobody started by a command, outside of runs, or in deleted ones"],
        ),
        ("?group=endpoint&sort=nothing", "By endpoint", ["Main big-1", "Spare small-1"]),
    ],
)
def test_page_groups_filters_and_sorts(researcher: Client, query: str, heading: str, names: list[str]) -> None:
    ledger()

    assert [row[0] for row in rows_of(shown(researcher, query), heading)] == names


def test_page_sorts_rows_without_a_figure_last(researcher: Client) -> None:
    ledger()

    names = [row[0].split(" ")[0] for row in rows_of(shown(researcher, "?sort=cost"), "By judge")]

    assert names == ["Calls", "Tests,", "Agents", "Strict", "Mild"]


def test_page_links_judges_runs_and_endpoints(researcher: Client) -> None:
    spent = ledger()
    factories.score(evaluator=spent.strict, share=1.0)

    by_judge, by_run, by_endpoint = (shown(researcher, f"?group={group}") for group in ("judge", "run", "endpoint"))

    judge = re.search(r'href="(/reports/judges/detail/\?name=Strict[^"]*)"', by_judge)
    assert judge is not None
    assert researcher.get(judge[1].replace("&amp;", "&")).status_code == 200
    assert f'href="{spent.first.get_absolute_url()}"' in by_run
    assert f'href="/endpoints/{spent.endpoint.pk}/"' in by_endpoint


def test_page_shows_what_is_left_of_the_budgets_of_runs_that_have_not_ended(researcher: Client) -> None:
    ledger()
    amounts = {"budget": Decimal(2), "spent": Decimal("0.5"), "unheard": Decimal("0.25")}
    paused = factories.run(name="Paused one", status=RunStatus.PAUSED, **amounts)
    factories.run(name="Over", status=RunStatus.FINISHED, **amounts)
    factories.run(name="No limit", status=RunStatus.RUNNING)
    for reserved in ("0.125", "0.125"):
        Lease.objects.create(
            run=paused, token=uuid4(), worker="w", reserved=Decimal(reserved), expires_at=NOON + timedelta(days=9)
        )

    # 2 - 0.5 spent - 0.25 unanswered - 2 * 0.125 in flight
    assert rows_of(shown(researcher), "Budgets") == [["Paused one Paused", "$2.00", "$0.50", "$0.25", "$0.25", "$1.00"]]
    assert download(researcher, "budgets") == [
        {
            "run_id": str(paused.pk),
            "name": "Paused one",
            "status": "paused",
            "budget": "2.0",
            "spent": "0.5",
            "in_flight": "0.25",
            "unheard": "0.25",
            "left": "1.0",
        }
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?from=2026-02-31", "“2026-02-31” is not a day. Write it as 2026-01-31."),
        ("?to=yesterday", "“yesterday” is not a day. Write it as 2026-01-31."),
        ("?from=2026-01-06&to=2026-01-05", "The period ends before it begins."),
        ("?group=planet", "There is no group “planet”. Choose one of the list."),
    ],
)
def test_page_says_what_is_wrong_with_a_choice(researcher: Client, query: str, message: str) -> None:
    ledger()

    page = shown(researcher, query)

    assert (message in page, "<tbody>" in page) == (True, False)


def test_page_says_that_there_are_no_calls(researcher: Client) -> None:
    before = shown(researcher)
    ledger()
    outside = shown(researcher, "?from=2027-01-01")

    assert ("No calls yet" in before, "No calls in this period" in before) == (True, False)
    assert ("No calls yet" in outside, "No calls in this period" in outside) == (False, True)


@pytest.mark.parametrize(("role", "status"), [(Role.ANNOTATOR, 403), (Role.RESEARCHER, 200), (Role.ADMIN, 200)])
def test_page_is_for_those_who_may_see_runs(client: Client, role: Role, status: int) -> None:
    client.force_login(factories.user(role=role))

    statuses = [client.get(url).status_code for url in (PAGE, reverse("reports:spend-export", args=["judge", "csv"]))]

    assert statuses == [status, status]
    assert (f'href="{PAGE}"' in client.get("/").content.decode()) == (status == 200)


def test_page_shows_what_today_has_used_of_its_budgets(researcher: Client) -> None:
    figures = ledger()
    without, at = shown(researcher), timezone.now()
    hour = at.replace(minute=0, second=0, microsecond=0)
    spent: dict[str, Any] = {"calls": 1, "errors": 0, "seconds": 1, "cost": Decimal(3), "unheard": Decimal(1)}
    CallHour.objects.create(endpoint=figures.endpoint, hour=hour, **spent)
    for endpoint, amount in ((None, 20), (figures.endpoint, 5)):
        set_day_budget(endpoint=endpoint, amount=Decimal(amount), actor=None, at=at)
    hold_outside_runs(endpoint_id=figures.endpoint.pk, amount=Decimal(1), at=at)

    page = shown(researcher)

    assert "Budgets of today" not in without
    # 3 spent, 1 unanswered and 1 in flight: 5 of 20, and all of 5
    assert [" ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in WORDS.findall(page)] == [
        "The whole site · 25.0% of $20.00, $1.00 of it in flight $15.00 left",
        "Main · 100.0% of $5.00, $1.00 of it in flight $0.00 left",
    ]
    assert re.findall(r'<rect class="(\w+)" x="0" y="0" width="(\d+)"', page) == [("done", "250"), ("failed", "1000")]


@pytest.mark.parametrize("group", ["judge", "day", "run", "endpoint", "person"])
@pytest.mark.parametrize("runs", [1, 3])
def test_page_takes_the_same_queries_whatever_its_size(
    researcher: Client, django_assert_num_queries: Any, runs: int, group: str
) -> None:
    for number in range(runs):
        judge = factories.judge(name=f"Judge {number}")
        run = factories.run(created_by=factories.user(), budget=1, status=RunStatus.PAUSED)
        row = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name=judge.name, judge=judge)
        paid = factories.call(endpoint=judge.endpoint, run=run, finished_at=NOON + timedelta(days=number))
        factories.verdict(evaluator=row, call_ids=[paid.pk])
    researcher.get(PAGE)  # the report is stored from here on
    set_day_budget(endpoint=judge.endpoint, amount=Decimal(1), actor=None, at=NOON)
    # session, user, rail and permissions; version and snapshot of the report; budgets; those of today: endpoints,
    # amounts, holds, those of lost processes, hours; names but of judges and days
    queries = 14 if group in ("run", "endpoint", "person") else 13

    with django_assert_num_queries(queries):
        shown(researcher, f"?group={group}")


def test_export_holds_the_figures_of_the_page(researcher: Client) -> None:
    ledger()

    rows = download(researcher, "endpoint", "?from=2026-01-06")

    assert rows == [
        {
            "endpoint": "Main",
            "key": rows[0]["key"],
            "detail": "big-1",
            "calls": "1",
            "failed": "0",
            "unpriced": "0",
            "prompt_tokens": "100",
            "cached_tokens": "0",
            "completion_tokens": "10",
            "reasoning_tokens": "0",
            "cost": "0.05",
            "reused": "1",
            "reuse_share": "0.5",
            "saved": "0.03",
        },
        {
            "endpoint": "Spare",
            "key": rows[1]["key"],
            "detail": "small-1",
            "calls": "2",
            "failed": "0",
            "unpriced": "0",
            "prompt_tokens": "200",
            "cached_tokens": "0",
            "completion_tokens": "20",
            "reasoning_tokens": "0",
            "cost": "0.041",
            "reused": "1",
            "reuse_share": str(1 / 3),
            "saved": "0.04",
        },
    ]
    assert AuditEntry.objects.filter(action="report.exported").count() == 1


@pytest.mark.parametrize("address", ["planet.csv", "judge.pdf", "judge.csv?from=yesterday"])
def test_export_of_something_else_is_not_found(researcher: Client, address: str) -> None:
    assert researcher.get(f"{PAGE}exports/{address}").status_code == 404


def test_command_prints_the_figures_of_the_page(researcher: Client) -> None:
    ledger()

    content = json.loads(printed("--json", "--from", "2026-01-06", "--to", "2026-01-06"))
    table = printed("--csv", "--table", "run")

    assert content["total"] == {
        "calls": 3,
        "failed": 0,
        "unpriced": 0,
        "prompt_tokens": 300,
        "cached_tokens": 0,
        "completion_tokens": 30,
        "reasoning_tokens": 0,
        "cost": 0.091,
        "reused": 2,
        "saved": 0.07,
        "reuse_share": 0.4,
    }
    assert (content["from"], content["to"], content["budgets"]) == ("2026-01-06", "2026-01-06", [])
    names = [[row["name"] for row in content[group]] for group in ("judge", "day", "run", "endpoint", "person")]
    assert names == [
        ["Strict", "Agents in debates", "Tests, trials and deleted runs"],
        ["6 Jan 2026"],
        ["Second", "Debates", "No run"],
        ["Main", "Spare"],
        ["Nobody"],
    ]
    answer = researcher.get(f"{PAGE}exports/run.csv")
    assert table == b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "soon"], "--from: “soon” is not a day. Write it as 2026-01-31."),
        (["--from", "2026-01-06", "--to", "2026-01-05"], "--to: The period ends before it begins."),
        (["--csv", "--table", "planet"], "There is no table “planet” here. Tables: judge, day, run, endpoint, person"),
    ],
)
def test_command_refuses_what_the_page_refuses(arguments: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        printed(*arguments)


def test_page_of_a_long_ledger_shows_the_last_report_with_its_time(
    researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger()
    snapshots.compute(SPEND, subject_id=0, options={}, at=NEXT_DAY)
    monkeypatch.setattr(snapshots, "INLINE_ROWS", 1)
    factories.call()
    monkeypatch.setattr("evalsite.reports.jobs.launch_report", lambda *_, **__: True)

    page = shown(researcher)

    assert ("The data changed after this report was computed." in page, "$0.15" in page) == (True, True)
