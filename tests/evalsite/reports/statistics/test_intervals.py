"""Intervals in closed form."""

from __future__ import annotations

import pytest

from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.intervals import clustered_mean, mean_interval, of_share, wilson


def test_wilson_reproduces_a_textbook_interval() -> None:
    # p = .8, n = 10, z = 1.959964: (.8 + .192073 +- 1.959964 sqrt(.016 + .009604)) / 1.384146 -> [.490162, .943318]
    found = wilson(8, 10)

    assert [found.value, found.low, found.high, found.n] == pytest.approx([0.8, 0.490162, 0.943318, 10], abs=1e-6)


def test_wilson_stays_within_bounds_and_keeps_its_width_at_the_ends() -> None:
    none, every = wilson(0, 10), wilson(10, 10)

    # High end for no success: z² / (n + z²) = 3.841459 / 13.841459
    assert [none.low, none.high] == pytest.approx([0.0, 0.277533], abs=1e-6)
    assert [every.low, every.high] == pytest.approx([1 - 0.277533, 1.0], abs=1e-6)
    assert (none.low, every.high) == (0.0, 1.0)


def test_wilson_of_nothing_is_undefined() -> None:
    assert wilson(0, 0) == Estimate(None, None, None, 0, "Nothing to count yet.")


def test_wilson_refuses_more_successes_than_trials() -> None:
    with pytest.raises(ValueError, match="11 successes of 10"):
        wilson(11, 10)


def test_mean_interval_uses_students_t() -> None:
    # 1, 2, 3: mean 2, s = 1, error 1/sqrt(3) = .577350, t(.975, 2) = 4.302653 -> 2 +- 2.484138
    found = mean_interval([1.0, 2.0, 3.0])

    assert [found.value, found.low, found.high] == pytest.approx([2.0, -0.484138, 4.484138], abs=1e-6)


def test_mean_interval_of_one_score_has_no_interval() -> None:
    assert mean_interval([0.5]) == Estimate(0.5, None, None, 1, "One score has no interval.")


def test_mean_interval_of_equal_scores_has_no_interval() -> None:
    reason = "All 5 are equal, so their spread says nothing about how far the mean may be off."

    assert mean_interval([1.0] * 5) == Estimate(1.0, None, None, 5, reason)
    assert clustered_mean([0.0, 1.0] * 5, "aabbccddee") == Estimate(0.5, None, None, 5, reason)


def test_clustered_mean_of_single_attempts_is_the_plain_mean() -> None:
    values = [0.0, 1.0, 1.0, 0.5]

    clustered, plain = clustered_mean(values, ["a", "b", "c", "d"]), mean_interval(values)

    assert [clustered.value, clustered.low, clustered.high] == pytest.approx([plain.value, plain.low, plain.high])


def test_clustered_mean_is_not_fooled_by_copies() -> None:
    # Ten copies of each case carry no more information than one.
    once, copied = clustered_mean([0.0, 1.0, 1.0], "abc"), clustered_mean([0.0, 1.0, 1.0] * 10, "abc" * 10)

    assert [copied.value, copied.low, copied.high] == pytest.approx([once.value, once.low, once.high])
    assert copied.n == 3


def test_of_share_cuts_an_interval_where_no_share_lies() -> None:
    assert of_share(Estimate(0.95, 0.85, 1.05, 20)) == Estimate(0.95, 0.85, 1.0, 20)
    assert of_share(Estimate(0.04, -0.02, 0.1, 20)) == Estimate(0.04, 0.0, 0.1, 20)
    assert of_share(Estimate(1.0, None, None, 1, "One score.")) == Estimate(1.0, None, None, 1, "One score.")
