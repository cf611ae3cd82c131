from __future__ import annotations

import math

import numpy as np
import pytest

from evalsite.reports.statistics.bootstrap import Bootstrap
from evalsite.reports.statistics.bradley_terry import BradleyTerry, Comparison, bradley_terry, win_rate
from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.intervals import clustered_mean, mean_interval, of_share, wilson
from evalsite.reports.statistics.ranking import (
    difference_p_value,
    holm,
    interval_ranks,
    overlapping,
)


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


def test_holm_reproduces_a_hand_computed_example() -> None:
    # Sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, running maximum .04 .06 .06 .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx((0.06, 0.04, 0.06, 0.06))


def test_holm_never_exceeds_one() -> None:
    assert holm([0.9, 0.8]) == (1.0, 1.0)


def test_difference_p_value_matches_the_t_test() -> None:
    # 1, 2, 3 against 0: t = 2 / .577350 = 3.464102, 2 degrees of freedom: p = 1 - t / sqrt(2 + t²) = .074180
    assert difference_p_value(np.array([1.0, 2.0, 3.0])) == pytest.approx(0.0741799, abs=1e-6)


def test_difference_p_value_falls_back_to_signs() -> None:
    assert difference_p_value(np.ones(5)) == 2 * 0.5**5
    assert difference_p_value(np.zeros(5)) == 1.0


def test_interval_ranks_counts_intervals_that_lie_above() -> None:
    means = {
        "a": Estimate(0.9, 0.85, 0.95, 50),
        "b": Estimate(0.8, 0.7, 0.9, 50),
        "c": Estimate(0.5, 0.4, 0.6, 50),
        "d": Estimate(None, None, None, 0, "No scores yet."),
    }

    assert interval_ranks(means) == {"a": 1, "b": 1, "c": 3, "d": None}


def test_overlapping_names_the_systems_whose_intervals_meet() -> None:
    means = {
        "a": Estimate(0.9, 0.85, 0.95, 50),
        "b": Estimate(0.8, 0.7, 0.9, 50),
        "c": Estimate(0.5, 0.4, 0.6, 50),
        "d": Estimate(0.1, None, None, 1),
    }

    assert overlapping(means) == {"a": ("b", "d"), "b": ("a", "d"), "c": ("d",), "d": ("a", "b", "c")}


def games(first: str, second: str, wins: int, ties: int, losses: int) -> list[Comparison]:
    outcomes = [1] * wins + [0] * ties + [-1] * losses
    return [Comparison(f"{first}{second}{i}", first, second, outcome) for i, outcome in enumerate(outcomes)]


def values(found: BradleyTerry) -> dict[str, float | None]:
    return {row.system: row.estimate.value for row in found.strengths}


def test_bradley_terry_of_two_systems_is_the_log_odds() -> None:
    # 28 wins, 4 ties, 8 losses = 30 to 10 with ties half: log odds ln 3, centred at 0.
    found = bradley_terry(games("a", "b", 28, 4, 8))

    assert values(found) == pytest.approx({"a": math.log(3) / 2, "b": -math.log(3) / 2}, abs=1e-6)
    low, high = found.strengths[0].estimate.low, found.strengths[0].estimate.high
    assert low is not None
    assert high is not None
    assert 0 < low < math.log(3) / 2 < high
    assert found.strengths[0].estimate.n == 40


def test_bradley_terry_links_systems_through_a_chain() -> None:
    # a beats b 3:1 and b beats c 3:1, so the maximum likelihood is reached at steps of ln 3.
    found = bradley_terry(games("a", "b", 30, 0, 10) + games("b", "c", 30, 0, 10))

    assert values(found) == pytest.approx({"a": math.log(3), "b": 0.0, "c": -math.log(3)}, abs=1e-6)


def test_bradley_terry_does_not_depend_on_who_is_named_first() -> None:
    forward = games("a", "b", 12, 3, 9)
    backward = [Comparison(c.case, c.second, c.first, -c.preference) for c in forward]

    assert values(bradley_terry(forward)) == pytest.approx(values(bradley_terry(backward)), abs=1e-9)


def test_bradley_terry_counts_two_orders_of_a_case_once() -> None:
    forward = games("a", "b", 25, 0, 15)
    doubled = forward + [Comparison(c.case, c.second, c.first, -c.preference) for c in forward]

    single, double = (bradley_terry(c).strengths[0].estimate for c in (forward, doubled))

    assert [double.low, double.high] == pytest.approx([single.low, single.high], abs=1e-6)


def test_bradley_terry_says_which_groups_cannot_be_compared() -> None:
    found = bradley_terry(games("a", "b", 2, 0, 2) + games("c", "d", 2, 0, 2))

    assert found == BradleyTerry(
        (), (("a", "b"), ("c", "d")), "No comparison links these groups, so they have no common ranking: a, b; c, d."
    )


def test_bradley_terry_says_when_one_side_won_everything() -> None:
    found = bradley_terry(games("a", "b", 5, 0, 0))

    assert (found.strengths, found.groups) == ((), (("a",), ("b",)))
    assert found.reason.startswith("Between these groups one side won every comparison")


def test_bradley_terry_has_no_interval_when_resamples_are_one_sided() -> None:
    # One win and one loss: half of the resamples are 2:0 or 0:2.
    found = bradley_terry(games("a", "b", 1, 0, 1), bootstrap=Bootstrap(resamples=400))

    assert found.strengths[0].estimate.value == pytest.approx(0.0)
    assert found.strengths[0].estimate.low is None
    assert found.strengths[0].estimate.reason.startswith("No interval: too few or too uniform items")


def test_bradley_terry_refuses_a_system_against_itself() -> None:
    with pytest.raises(ValueError, match="not a comparison of two systems"):
        bradley_terry([Comparison("c", "a", "a", 1)])


def test_win_rate_counts_ties_half_from_either_side() -> None:
    comparisons = games("a", "b", 2, 1, 1)

    # a: (2 + .5) / 4, b: (1 + .5) / 4
    assert [win_rate(comparisons, name).value for name in "abz"] == [0.625, 0.375, None]


def test_of_share_cuts_an_interval_where_no_share_lies() -> None:
    assert of_share(Estimate(0.95, 0.85, 1.05, 20)) == Estimate(0.95, 0.85, 1.0, 20)
    assert of_share(Estimate(0.04, -0.02, 0.1, 20)) == Estimate(0.04, 0.0, 0.1, 20)
    assert of_share(Estimate(1.0, None, None, 1, "One score.")) == Estimate(1.0, None, None, 1, "One score.")


def test_win_rate_of_a_winner_does_not_pass_one() -> None:
    # 1, 1, 1, 0 over four cases: the mean 0.75 with a t interval would reach beyond 1
    comparisons = [Comparison(str(case), "a", "b", 1 if case else -1) for case in range(4)]

    found = win_rate(comparisons, "a")

    assert (found.value, found.high) == (0.75, 1.0)
