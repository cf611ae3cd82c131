"""A small ledger whose every figure can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.contrib.auth.models import User

from judging.models import EvaluatorKind, ModelEndpoint, PastVerdict, Run, RunEvaluator, RunKind
from tests import factories
from tests.factories import NOON

NEXT_DAY = NOON + timedelta(days=1)


@dataclass(frozen=True)
class Ledger:
    """Nine calls, of which seven finished.

    5 Jan: run 1 of ada. Strict makes calls of 0.03 and 0.01, the latter superseded by a retry of 0.02; Mild makes one
    without a price, and has Strict's first reply a second time. One call of the run failed and has no verdict.
    6 Jan: run 2 of nobody. Strict uses the reply of 0.03 again and makes a call of 0.05. A debate costs 0.04, and one
    of its statements uses its reply again. A call outside of runs costs 0.001.
    """

    endpoint: ModelEndpoint
    other: ModelEndpoint
    ada: User
    first: Run
    second: Run
    debates: Run
    strict: RunEvaluator
    mild: RunEvaluator


def ledger() -> Ledger:
    endpoint, other = factories.endpoint(name="Main", model="big-1"), factories.endpoint(name="Spare", model="small-1")
    ada = factories.user("ada")
    strict_judge, mild_judge = factories.judge(name="Strict", endpoint=endpoint), factories.judge(endpoint=endpoint)
    first = factories.run(name="First", created_by=ada)
    second = factories.run(name="Second", suite=first.suite)
    strict, mild = (
        factories.evaluator(run=first, kind=EvaluatorKind.JUDGE, name=name, judge=judge, options={"model": "big-1"})
        for name, judge in (("Strict", strict_judge), ("Mild", mild_judge))
    )
    later = factories.evaluator(
        run=second, kind=EvaluatorKind.JUDGE, name="Strict", judge=strict_judge, options={"model": "big-1"}
    )
    _first_day(endpoint, first, strict, mild)
    shared = first.calls.get(cost=Decimal("0.03"))
    factories.verdict(evaluator=later, call_ids=[shared.pk], created_at=NEXT_DAY)
    paid = factories.call(endpoint=endpoint, run=second, cost=Decimal("0.05"), finished_at=NEXT_DAY)
    factories.verdict(evaluator=later, call_ids=[paid.pk], created_at=NEXT_DAY)
    debates = factories.run(name="Debates", kind=RunKind.DEBATE, suite=first.suite)
    debate_call = factories.call(endpoint=other, run=debates, cost=Decimal("0.04"), finished_at=NEXT_DAY)
    debate = factories.debate(debate_set=factories.debate_set(run=debates))
    factories.statement(debate=debate, agent_number=1, call_ids=[debate_call.pk], created_at=NEXT_DAY)
    factories.statement(
        debate=debate, agent_number=2, call_ids=[], mirrored_call_ids=[debate_call.pk], created_at=NEXT_DAY
    )
    factories.call(endpoint=other, cost=Decimal("0.001"), finished_at=NEXT_DAY)
    return Ledger(endpoint, other, ada, first, second, debates, strict, mild)


def _first_day(endpoint: ModelEndpoint, run: Run, strict: RunEvaluator, mild: RunEvaluator) -> None:
    def paid(cost: str | None) -> int:
        amount = None if cost is None else Decimal(cost)
        return factories.call(endpoint=endpoint, run=run, cost=amount).pk

    shared, earlier, retried, unpriced = paid("0.03"), paid("0.01"), paid("0.02"), paid(None)
    factories.verdict(evaluator=strict, call_ids=[shared])
    tried = factories.verdict(evaluator=strict, call_ids=[retried])
    PastVerdict.objects.create(
        verdict=tried, status="unparsed", call_ids=[earlier], created_at=NOON, superseded_at=NOON
    )
    factories.verdict(evaluator=mild, call_ids=[unpriced])
    factories.verdict(evaluator=mild, call_ids=[shared])
    failed = {"status": "failed", "prompt_tokens": None, "completion_tokens": None, "cost": Decimal(0)}
    factories.call(endpoint=endpoint, run=run, **failed)
