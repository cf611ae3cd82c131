"""Intervals in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.estimates import Estimate
from judging.statistics.intervals import clustered_mean, effective_size, of_share, wilson, wilson_of_cases


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


def test_wilson_of_cases_counts_a_case_once() -> None:
    # 16 of 20 over 10 cases: the share is .8, the interval that of 8 of 10.
    values = [place % 5 > 0 for place in range(20)]

    found = wilson_of_cases(values, [place // 2 for place in range(20)])

    few = wilson(8, 10)
    assert (found.value, found.n) == (0.8, 20)
    assert [found.low, found.high] == pytest.approx([few.low, few.high])
    assert wilson_of_cases(values, range(20)) == wilson(16, 20)
    assert wilson_of_cases([True] * 4, "aabb") == Estimate(1.0, wilson(2, 2).low, 1.0, 4)
    assert wilson_of_cases([], []).value is None


def test_clustered_mean_of_equal_clusters_has_no_interval() -> None:
    reason = "All 5 are equal, so their spread says nothing about how far the mean may be off."

    assert clustered_mean([0.0, 1.0] * 5, "aabbccddee") == Estimate(0.5, None, None, 5, reason)


def test_clustered_mean_of_single_attempts_uses_students_t() -> None:
    # 1, 2, 3: mean 2, s = 1, error 1/sqrt(3) = .577350, t(.975, 2) = 4.302653 -> 2 +- 2.484138
    found = clustered_mean([1.0, 2.0, 3.0], "abc")

    assert [found.value, found.low, found.high] == pytest.approx([2.0, -0.484138, 4.484138], abs=1e-6)


def test_clustered_mean_is_not_fooled_by_copies() -> None:
    # Ten copies of each case carry no more information than one.
    once, copied = clustered_mean([0.0, 1.0, 1.0], "abc"), clustered_mean([0.0, 1.0, 1.0] * 10, "abc" * 10)

    assert [copied.value, copied.low, copied.high] == pytest.approx([once.value, once.low, once.high])
    assert copied.n == 3


def test_of_share_cuts_an_interval_where_no_share_lies() -> None:
    assert of_share(Estimate(0.95, 0.85, 1.05, 20)) == Estimate(0.95, 0.85, 1.0, 20)
    assert of_share(Estimate(0.04, -0.02, 0.1, 20)) == Estimate(0.04, 0.0, 0.1, 20)
    assert of_share(Estimate(1.0, None, None, 1, "One score.")) == Estimate(1.0, None, None, 1, "One score.")


def test_effective_size_counts_items_that_go_together_once() -> None:
    # Ten cases of two items that go together, 8 of them hits: robust variance 10/9 (8 .4² + 2 1.6²) / 20² = .0177778,
    # binomial .16 / 20 = .008, so 20 items are worth 20 * .008 / .0177778 = 9. All equal: as many as cases.
    cases = [case for case in range(10) for _ in range(2)]
    hits = np.array([float(case < 8) for case in cases])

    assert effective_size(hits, cases) == pytest.approx(9.0)
    assert effective_size(np.ones(20), cases) == 10.0
    assert effective_size(hits, range(20)) == 20.0


def test_effective_size_refuses_another_number_of_cases() -> None:
    with pytest.raises(ValueError, match="2 values in 1 clusters"):
        effective_size(np.ones(2), "a")
