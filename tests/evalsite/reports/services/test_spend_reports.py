"""What the calls of a small ledger cost, worked out by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from evalsite.reports.services import spend_reports
from evalsite.reports.services.spend_reports import NOBODY, SpendGroup, SpendShown, compute_spend
from evalsite.views import spend_by_day
from judging.judges.reply_rows import UNPRICED
from judging.models import Call, EsiItem, EvaluatorKind, PastVerdict, RunKind
from judging.services.ledger import add_to_hour
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from tests import factories
from tests.evalsite.reports.spent import NEXT_DAY, ledger
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.run_rows import judged_run, work

pytestmark = pytest.mark.django_db
Short = list[tuple[Any, ...]]
DAY = NOON.toordinal()


def short_rows(group: SpendGroup, first: date | None = None, last: date | None = None) -> Short:
    """Return name, calls, failed, without a price, cost, reused and saved of each row."""
    names = ("calls", "failed", "unpriced", "cost", "reused", "saved")
    lines = SpendShown(compute_spend(0, {}), (first, last)).lines(group)
    return [(line.about.name, *(getattr(line.total, name) for name in names)) for line in lines]


def test_compute_spend_gives_each_call_to_the_judge_that_paid_for_it() -> None:
    ledger()

    # Strict paid 0.03, 0.01, 0.02 and 0.05, and had the reply of 0.03 once more; Mild had it too, and paid an unknown
    # price; two judges of the first run ask the same endpoint, so that the failed call belongs to neither
    assert short_rows(SpendGroup.JUDGE) == [
        ("Strict", 4, 0, 0, 0.11, 1, 0.03),
        ("Agents in debates", 1, 0, 0, 0.04, 1, 0.04),
        ("Tests, trials and deleted runs", 1, 0, 0, 0.001, 0, 0.0),
        ("Calls without a verdict", 1, 1, 0, 0.0, 0, 0.0),
        ("Mild", 1, 0, 1, None, 1, 0.03),
    ]


def test_compute_spend_by_day_run_endpoint_and_person_adds_up_to_the_same() -> None:
    ledger()

    assert short_rows(SpendGroup.DAY) == [
        ("6 Jan 2026", 3, 0, 0, 0.091, 2, 0.07),
        ("5 Jan 2026", 5, 1, 1, 0.06, 1, 0.03),
    ]
    assert short_rows(SpendGroup.RUN) == [
        ("First", 5, 1, 1, 0.06, 1, 0.03),
        ("Second", 1, 0, 0, 0.05, 1, 0.03),
        ("Debates", 1, 0, 0, 0.04, 1, 0.04),
        ("No run", 1, 0, 0, 0.001, 0, 0.0),
    ]
    assert short_rows(SpendGroup.ENDPOINT) == [
        ("Main", 6, 1, 1, 0.11, 2, 0.06),
        ("Spare", 2, 0, 0, 0.041, 1, 0.04),
    ]
    assert short_rows(SpendGroup.PERSON) == [
        ("Nobody", 3, 0, 0, 0.091, 2, 0.07),
        ("ada", 5, 1, 1, 0.06, 1, 0.03),
    ]


def test_lines_count_a_period_alone() -> None:
    ledger()

    second_day = date(2026, 1, 6)

    assert short_rows(SpendGroup.RUN, second_day, second_day) == short_rows(SpendGroup.RUN)[1:]
    assert short_rows(SpendGroup.RUN, date(2026, 1, 7)) == []


def test_compute_spend_gives_the_only_judge_of_an_endpoint_its_calls_without_a_verdict() -> None:
    judge = factories.judge(name="Alone")
    alone = factories.evaluator(kind=EvaluatorKind.JUDGE, name="Alone", judge=judge)
    factories.call(endpoint=judge.endpoint, run=alone.run, status="failed")

    assert short_rows(SpendGroup.JUDGE) == [("Alone", 1, 1, 0, 0.01, 0, 0.0)]


def test_compute_spend_tells_responses_of_esi_runs_from_their_judges() -> None:
    judge = factories.judge(name="Integrity")
    run = factories.run(kind=RunKind.ESI)
    row = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Integrity", judge=judge)
    answered, judged = (factories.call(endpoint=judge.endpoint, run=run) for _ in range(2))
    for position in (1, 2):  # the second item has the same prompt, and so the same reply
        case, system = factories.case(), factories.system()
        EsiItem.objects.create(run=run, system=system, case=case, position=position, call_ids=[answered.pk])
    factories.verdict(evaluator=row, call_ids=[judged.pk])

    assert short_rows(SpendGroup.JUDGE) == [
        ("Responses of ESI runs", 1, 0, 0, 0.01, 1, 0.01),
        ("Integrity", 1, 0, 0, 0.01, 0, 0.0),
    ]


def test_compute_spend_of_an_empty_ledger_has_no_rows() -> None:
    assert [short_rows(group) for group in SpendGroup] == [[], [], [], [], []]


def test_compute_spend_separates_versions_of_a_judge_of_one_name() -> None:
    for prompt_hash in ("a", "b"):
        judge = factories.judge()
        options = {"model": "big-1", "prompt_hash": prompt_hash}
        row = factories.evaluator(kind=EvaluatorKind.JUDGE, name="Strict", judge=judge, options=options)
        call = factories.call(endpoint=judge.endpoint, run=row.run)
        factories.verdict(evaluator=row, call_ids=[call.pk])

    assert short_rows(SpendGroup.JUDGE) == [("Strict", 1, 0, 0, 0.01, 0, 0.0)] * 2


def test_the_days_cost_what_the_home_page_says() -> None:
    ledger()
    for call in Call.objects.order_by("pk"):
        add_to_hour([call], call.finished_at)
    endpoints = {call.endpoint for call in Call.objects.select_related("endpoint")}
    for endpoint in endpoints:
        endpoint.input_price = endpoint.output_price = Decimal(1)
        endpoint.save()

    shown = [(row.day, row.calls, float(row.cost)) for row in spend_by_day(at=NEXT_DAY)]

    assert shown == [(date(2026, 1, 6), 3, 0.091), (date(2026, 1, 5), 5, 0.06)]


@pytest.mark.django_db(transaction=True)
def test_compute_spend_agrees_with_the_counters_of_runs_worked_through(fake_llm: FakeLLM) -> None:
    run = judged_run(cases=5, url=fake_llm.url, input_price=Decimal(1), output_price=Decimal(2))
    work(run)
    choice = run.evaluators.get()
    plan = RunPlan(
        suite=run.suite,
        systems=list(run.systems.all()),
        evaluators=[EvaluatorChoice(judge=choice.judge, rubric=choice.rubric)],
    )
    again = create_run(plan=plan, actor=None, at=NOON)
    work(again)

    sums = [line.total for line in SpendShown(compute_spend(0, {})).lines(SpendGroup.RUN)]

    counted = [(total.calls, total.reused, total.cost) for total in sums]
    assert counted == [
        (worked_run.calls_made, worked_run.calls_reused, float(worked_run.spent)) for worked_run in (run, again)
    ]
    assert counted == [(5, 0, sums[0].cost), (0, 5, 0.0)]
    assert (sums[1].saved, bool(sums[0].cost)) == (sums[0].cost, True)


def test_read_called_returns_every_call_by_its_key() -> None:
    run = factories.run()
    paid = factories.call(run=run, cost=Decimal("0.000123"), cached_tokens=60, reasoning_tokens=4)
    failed = factories.call(status="failed", cost=None, prompt_tokens=None, completion_tokens=None)

    # the last column says whether it failed
    assert spend_reports.read_called().tolist() == [
        (paid.pk, run.pk, paid.endpoint_id, DAY, 100, 10, 60, 4, 123, False),
        (failed.pk, NOBODY, failed.endpoint_id, DAY, 0, 0, 0, 0, UNPRICED, True),
    ]


def test_read_used_returns_the_calls_of_verdicts_and_of_their_earlier_tries() -> None:
    verdict = factories.verdict(call_ids=[7, 8])
    PastVerdict.objects.create(verdict=verdict, status="unparsed", call_ids=[5], created_at=NOON, superseded_at=NOON)

    of_verdict = (4 * verdict.pk, verdict.evaluator_id, verdict.run_id, DAY)

    assert sorted(spend_reports.read_used().tolist()) == [(key, *of_verdict) for key in (5, 7, 8)]


def test_read_used_leaves_out_debates_without_a_run() -> None:
    factories.statement(call_ids=[7])

    assert spend_reports.read_used().tolist() == []


def test_day_of_is_the_day_of_the_sites_zone(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Kathmandu"  # 5:45 ahead: 18:15 is midnight there
    spend_reports.day_of.cache_clear()
    for minute in (14, 15):
        factories.call(finished_at=datetime(2026, 1, 5, 18, minute, 59, tzinfo=UTC))

    days = spend_reports.read_called()["days"].tolist()
    spend_reports.day_of.cache_clear()

    assert [date.fromordinal(day) for day in days] == [date(2026, 1, 5), date(2026, 1, 6)]


def test_spend_version_differs_once_a_call_was_made_or_reused() -> None:
    versions = [spend_reports.spend_version()]
    factories.call(finished_at=NOON)
    versions.append(spend_reports.spend_version())
    run = factories.run()
    versions.append(spend_reports.spend_version())
    run.calls_reused = 1
    run.save()
    versions.append(spend_reports.spend_version())

    assert len(set(versions)) == 4
