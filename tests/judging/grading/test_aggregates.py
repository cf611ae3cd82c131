"""Attempts, cases and suites put together."""

from __future__ import annotations

import math
from typing import Any

import pytest

from judging.grading.grades import ResponseGrade
from judging.grading.reports import UnknownReduceMode, check_reduce_mode, reduce_scores, score_case
from judging.grading.rubric_tree import ScoreStatus

SCORES = [0.5, 1.0, 0.0, 1.0, 0.25]


def attempt(score: float | None, status: ScoreStatus = ScoreStatus.COMPLETE) -> ResponseGrade:
    return ResponseGrade(score, 1.0, score, 1.0, status)


def near(value: float) -> Any:
    """Return what compares equal to `value` but for rounding; untyped, so it fits into a dataclass."""
    return pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("mode", "score", "std"),
    [
        ("avg", 0.55, 0.0),
        ("max", 1.0, 0.0),
        ("min", 0.0, 0.0),
        # groups (0.5, 1) (0, 1) (0.25): bests 1, 1, 0.25; mean 0.75; deviations .25 .25 -.5: sqrt(.375 / 2)
        ("avg_max_2", 0.75, math.sqrt(0.1875)),
        ("avg_max_10", 1.0, 0.0),
    ],
)
def test_reduce_scores_gives_mean_and_deviation(mode: str, score: float, std: float) -> None:
    assert reduce_scores(SCORES, mode) == (near(score), near(std))


@pytest.mark.parametrize("mode", ["mean", "avg_max_", "avg_max_0", "avg_max_-1", "avg_max_x", "avg_max_2 "])
def test_check_reduce_mode_refuses_unknown_modes(mode: str) -> None:
    with pytest.raises(UnknownReduceMode, match="avg_max_<k>"):
        check_reduce_mode(mode)


def test_reduce_scores_needs_scores() -> None:
    with pytest.raises(ValueError, match="no scores"):
        reduce_scores([], "avg")


def test_score_case_without_responses_gives_the_null_score_as_it_stands() -> None:
    scored = score_case("c", [], mode="avg", full_score=4.0, null_score=0.5)

    assert (scored.score, scored.full_score, scored.attempts, scored.notes[0].code) == (0.5, 4.0, 0, "13.05")


def test_score_case_is_unknown_where_an_attempt_is() -> None:
    grades = [attempt(1.0), attempt(None, ScoreStatus.INCOMPLETE)]

    scored = score_case("c", grades, mode="max", full_score=1.0, null_score=0.0)

    assert (scored.score, scored.status, scored.notes[0].text) == (
        None,
        ScoreStatus.INCOMPLETE,
        "1 of 2 attempts have no score, so the case is left out of the sums.",
    )


def test_score_case_is_void_where_an_attempt_is() -> None:
    scored = score_case("c", [attempt(None, ScoreStatus.ERROR)], mode="avg", full_score=1.0, null_score=0.0)

    assert (scored.score, scored.status) == (None, ScoreStatus.ERROR)


def test_score_case_counts_a_zero_for_a_fault_and_says_so() -> None:
    grades = [attempt(1.0), attempt(0.0, ScoreStatus.ERROR)]

    scored = score_case("c", grades, mode="avg", full_score=1.0, null_score=0.0)

    assert (scored.score, scored.status) == (0.5, ScoreStatus.ERROR)
