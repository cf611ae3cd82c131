"""The table by language, type and metric."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evalsite.base.types import JsonDict
from judging.grading.reports import CaseAttempts, ReportRow, metric_points, suite_report


def near(value: float) -> Any:
    """Return what compares equal to `value` but for rounding; untyped, so it fits into a dataclass."""
    return pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("compat", [False, True])
def test_suite_report_by_hand(compat: bool) -> None:
    cases = [
        # groups of 2: bests 2 of 3 points (the last on a tie: all by tests), then 3 of 3, capped at max_score 2
        CaseAttempts(
            "a",
            "python",
            "code completion",
            [
                {"keywords": (2.0, 2.0), "unit_test": (0.0, 1.0)},
                {"keywords": (1.0, 2.0), "unit_test": (1.0, 1.0)},
                {"keywords": (2.0, 2.0), "unit_test": (1.0, 1.0)},
                {"keywords": (0.0, 2.0), "unit_test": (0.0, 1.0)},
            ],
            full_score=1.0,
            max_score=2.0,
        ),
        # no max_score: -1 of 2 is raised to min_score 0; then 2 of 2; the full score is 4
        CaseAttempts(
            "b",
            "r",
            "code completion",
            [{"keywords": (-1.0, 2.0)}, {"keywords": (-2.0, 2.0)}, {"keywords": (2.0, 2.0)}],
            full_score=4.0,
            min_score=0.0,
        ),
        CaseAttempts("c", "r", "knowledge", [{"keywords": (0.0, 0.0)}]),
    ]

    report = suite_report(cases, group_size=2, compat=compat)

    # points of b by group: 0/2 and 2/2 of 4, in compat mode of 1; those of a: 2/2 and 2/2. The deviation of 0 and x is
    # x sqrt(.5)
    best = 1.0 if compat else 4.0
    deviation = near(best * math.sqrt(0.5))
    assert report.left_out == ("c",)
    assert report.rows == (
        ReportRow("overall", "", 1 + best / 2, deviation, 5.0, 2),
        ReportRow("language", "r", best / 2, deviation, 4.0, 1),
        ReportRow("language", "python", 1.0, 0.0, 1.0, 1),
        ReportRow("type", "code completion", 1 + best / 2, deviation, 5.0, 2),
        # keywords: a scales by 1/2: .5 then 1; b by 4/2: nothing (below the lowest best) then 4; full 2/2 + 2 * 2
        ReportRow("metric", "keywords", near((0.5 + 5.0) / 2), near(4.5 / math.sqrt(2)), 5.0, 2),
        # unit_test: 1/2 in both groups
        ReportRow("metric", "unit_test", 0.5, 0.0, 0.5, 1),
    )
    assert report.row("language", "python") == report.rows[2]
    assert report.rows[0].share == (0.3 if compat else 0.6)


@pytest.mark.parametrize(("compat", "points"), [(False, 0.5), (True, 0.0)])
def test_suite_report_counts_the_null_score_of_a_case_without_attempts(compat: bool, points: float) -> None:
    report = suite_report([CaseAttempts("a", "r", "t", [], null_score=0.5)], compat=compat)

    assert report.rows[0] == ReportRow("overall", "", points, 0.0, 1.0, 1)


@pytest.mark.parametrize(("compat", "mean", "std"), [(False, 1.75, math.sqrt(0.125)), (True, 1.25, math.sqrt(1.125))])
def test_suite_report_takes_a_group_that_a_case_lacks_for_its_mean_and_in_compat_mode_for_nothing(
    compat: bool, mean: float, std: float
) -> None:
    once = CaseAttempts("a", "r", "t", [{"keywords": (2.0, 2.0)}])
    twice = CaseAttempts("b", "r", "t", [{"keywords": (2.0, 2.0)}, {"keywords": (1.0, 2.0)}])

    report = suite_report([once, twice], group_size=1, compat=compat)

    # by group 1 + 1 and 1 + .5, in compat mode 1 + 1 and 0 + .5
    assert report.rows[0] == ReportRow("overall", "", mean, near(std), 2.0, 2)
    assert report.row("metric", "keywords") == ReportRow("metric", "keywords", mean, near(std), 2.0, 2)


def test_suite_report_of_nothing_has_no_rows() -> None:
    assert suite_report([]).rows == ()


def test_metric_points_books_a_custom_metric_under_its_real_type() -> None:
    criteria: list[JsonDict] = [
        {"name": "unit_test", "got": 1.0, "total": 2.0},
        {"name": "customized", "got": 0.5, "total": 1.0, "detail": {"real_metric_type": "keywords"}},
    ]

    assert metric_points(criteria) == {"unit_test": (1.0, 2.0), "keywords": (0.5, 1.0)}
