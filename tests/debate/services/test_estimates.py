"""What sets of debates take, and what of it was paid for before."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from debate.services.estimates import DebateEstimate, estimate_all
from debate.services.set_plans import create_debate_set
from judging.models import Call, ModelEndpoint
from judging.services.runs import run_worker
from tests import factories
from tests.debate import rows
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db


def priced(name: str, **fields: object) -> ModelEndpoint:
    return factories.endpoint(name=name, input_price=Decimal(1), output_price=Decimal(2), **fields)


def test_estimate_all_counts_calls_and_dollars_at_both_ends() -> None:
    wish = rows.wish("One?", "Two?", endpoints=[priced("a"), priced("b")], max_tokens=500)

    estimate = estimate_all([wish], at=NOON)

    # At least: 2 debates x 2 seats x 1 opening. At most: x (1 opening + 2 rounds), each asked twice.
    assert (estimate.debates, estimate.calls_least, estimate.calls_most) == (2, 4, 24)
    assert estimate.cost_least is not None
    assert estimate.cost_most is not None
    # 24 calls of 500 tokens at 2 USD per million are 0.024 USD; prompts come on top.
    assert Decimal("0.024") < estimate.cost_most < Decimal("0.24")
    # 4 calls of 200 tokens: 0.0016 USD and prompts.
    assert Decimal("0.0016") < estimate.cost_least < Decimal("0.016")


def test_estimate_all_gives_no_cost_where_a_price_is_unknown() -> None:
    wish = rows.wish("One?", endpoints=[priced("a"), factories.endpoint(name="unknown")])

    assert estimate_all([wish], at=NOON) == DebateEstimate(
        debates=1,
        calls_least=2,
        calls_most=12,
        made=0,
        cost_least=None,
        cost_most=None,
        unpriced=("unknown",),
        baselines=(),
    )


def test_estimate_all_takes_baselines_as_free() -> None:
    lexical = [factories.endpoint(name=name, kind="lexical", model="coverage", base_url="") for name in ("x", "y")]

    estimate = estimate_all([rows.wish("One?", endpoints=lexical)], at=NOON)

    assert (estimate.cost_least, estimate.cost_most) == (Decimal(0), Decimal(0))
    assert estimate.baselines == ("x", "y")


def test_estimate_all_counts_what_was_paid_for_and_what_is_asked_next(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="The first.\n\n1", latency=1)
    speakers = [priced(name, model=name, base_url=fake_llm.url) for name in ("a", "b")]
    wish = rows.wish("One?", "Two?", endpoints=speakers, max_rounds=1)
    before = estimate_all([wish], at=NOON)
    run = create_debate_set(wish=wish, actor=None, at=NOON).run
    assert run is not None
    run_worker.work_through(run_id=run.pk, threads=2, now=lambda: NOON)
    agreed = estimate_all([wish], at=NOON)
    Call.objects.filter(endpoint=speakers[0]).delete()
    half = estimate_all([wish], at=NOON)
    other = estimate_all([replace(wish, fresh=True)], at=NOON)

    # 2 debates of 2 openings, which agree at once; nothing is left to ask then, or one opening of each debate is.
    assert [(one.calls_least, one.calls_most, one.made) for one in (before, agreed, half, other)] == [
        (4, 16, 0),
        (4, 16, 4),
        (4, 16, 2),
        (4, 16, 0),
    ]
    assert (agreed.cost_least, agreed.cost_most) == (Decimal(0), Decimal(0))
    assert other.cost_least == before.cost_least
    assert before.cost_least is not None
    assert before.cost_most is not None
    assert (half.cost_least, half.cost_most) == (before.cost_least / 2, before.cost_most * 7 / 8)


@pytest.mark.parametrize("sets", [1, 6])
def test_estimate_all_takes_few_queries_however_many_cases_there_are(
    sets: int, django_assert_max_num_queries: object
) -> None:
    wish = rows.wish(*(f"Question {number}?" for number in range(40)), endpoints=[priced("a"), priced("b")])

    with django_assert_max_num_queries(10 + 2 * sets):  # type: ignore[operator]
        found = estimate_all([wish] * sets, at=NOON)

    assert found.debates == 40 * sets
