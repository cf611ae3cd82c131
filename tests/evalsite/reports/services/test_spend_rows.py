"""What calls cost, added up by hand."""

from __future__ import annotations

import numpy as np

from evalsite.reports.services.spend_reports import (
    CALLED,
    NOBODY,
    USED,
    SpendSum,
    attribute,
    cells_from_json,
    cells_of,
    cells_to_json,
)
from judging.judges.reply_rows import UNPRICED

# key, run, endpoint, day, tokens in and out, of these cached and reasoning, cost in millionths, failed
CALLS = np.array(
    [
        (11, 1, 5, 100, 10, 1, 4, 0, 30_000, False),
        (12, 1, 5, 100, 20, 2, 5, 1, 10_000, False),
        (13, 2, 6, 101, 30, 3, 0, 2, UNPRICED, False),
        (14, 2, 6, 101, 0, 0, 0, 0, UNPRICED, True),
    ],
    CALLED,
)
# call, owner, evaluator, run, day
USES = np.array(
    [
        (11, 70, 1, 1, 100),
        (11, 70, 1, 1, 100),  # the same result, tried again
        (11, 71, 2, 1, 100),  # another result of the run that paid
        (11, 90, 3, 2, 101),  # a later run
        (13, 80, 3, 2, 101),
        (99, 80, 3, 2, 101),  # a call that is not there
    ],
    USED,
)


def test_attribute_gives_a_call_to_the_first_result_of_the_run_that_paid() -> None:
    evaluators, reuses, reused_calls = attribute(CALLS, USES[::-1])

    assert evaluators.tolist() == [1, NOBODY, 3, NOBODY]
    assert reuses[["calls", "evaluators", "runs"]].tolist() == [(11, 2, 1), (11, 3, 2)]
    assert reused_calls.tolist() == CALLS[[0, 0]].tolist()


def test_attribute_without_uses_or_calls_finds_nobody() -> None:
    none, no_reuses, _ = attribute(CALLS, np.empty(0, USED))
    empty, empty_reuses, _ = attribute(np.empty(0, CALLED), USES)

    assert (none.tolist(), len(no_reuses)) == ([NOBODY] * 4, 0)
    assert (empty.tolist(), len(empty_reuses)) == ([], 0)


def test_cells_of_adds_up_calls_and_reuses_by_day_run_endpoint_and_judge() -> None:
    _, reuses, reused_calls = attribute(CALLS, USES)

    cells = cells_of(CALLS, reuses, reused_calls, judges=np.array([0, 0, 1, 2]), reuse_judges=np.array([0, 1]))

    stored = cells_to_json(cells)
    assert stored == {
        # run 1 of judge 0; run 2 of judge 1 on endpoint 5, where it only used a reply, and on 6; who got a refusal
        "days": [100, 101, 101, 101],
        "runs": [1, 2, 2, 2],
        "endpoints": [5, 5, 6, 6],
        "judges": [0, 1, 1, 2],
        "calls": [2, 0, 1, 1],
        "failed": [0, 0, 0, 1],
        "unpriced": [0, 0, 1, 1],
        "prompt_tokens": [30, 0, 30, 0],
        "completion_tokens": [3, 0, 3, 0],
        "costs": [40_000, 0, 0, 0],
        "cached_tokens": [9, 0, 0, 0],
        "reasoning_tokens": [1, 0, 2, 0],
        "reused": [1, 1, 0, 0],
        "reused_unpriced": [0, 0, 0, 0],
        "saved": [30_000, 30_000, 0, 0],
    }
    again = cells_from_json(stored)
    assert again.total() == SpendSum(4, 1, 2, 60, 6, 0.04, 2, 0.06, 9, 3)
    assert again.sums_by(again.columns["judges"]) == {
        0: SpendSum(2, 0, 0, 30, 3, 0.04, 1, 0.03, 9, 1),
        1: SpendSum(1, 0, 1, 30, 3, None, 1, 0.03, 0, 2),  # its only call has no known price
        2: SpendSum(1, 1, 1, 0, 0, None, 0, 0.0),  # nor has a refusal without tokens
    }


def test_cells_within_takes_both_ends_of_a_period() -> None:
    cells = cells_of(CALLS, *attribute(CALLS, USES)[1:], judges=np.array([0, 0, 1, 2]), reuse_judges=np.array([0, 1]))

    totals = [cells.within(*period).total().calls for period in ((None, None), (101, None), (None, 100), (102, 103))]

    assert totals == [4, 2, 2, 0]
    assert cells.within(102, None).sums_by(cells.within(102, None).columns["runs"]) == {}


def test_reuse_share_is_the_part_of_the_replies_without_a_new_call() -> None:
    assert SpendSum(3, 0, 0, 0, 0, 0.0, 1, 0.0).reuse_share == 0.25
    assert SpendSum(0, 0, 0, 0, 0, 0.0, 0, 0.0).reuse_share is None
