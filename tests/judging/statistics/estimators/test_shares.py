"""Shares with mid-p intervals, and changes between yes and no with score intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy

from judging.statistics.estimates import (
    DIFFERENCE,
    Estimate,
    Inference,
    TooFew,
    make_stratum,
    mid_p_interval,
    people_only,
    share_of,
    shown_mean,
    stratified_mean,
)
from judging.statistics.estimators.boards import census_change, counted_share, mean_change, score_interval, shown_share


def test_shown_share_of_a_plain_sample_is_that_of_a_count() -> None:
    share = shown_share([people_only([1.0] * 27 + [0.0] * 3)])

    assert [share.estimate.value, share.estimate.low, share.estimate.high] == pytest.approx(
        [0.9, *mid_p_interval(0.9, 30)]
    )


def test_shown_share_of_cases_with_several_values_counts_what_their_spread_is_worth() -> None:
    values = [0.5] * 20 + [1.0] * 10 + [0.0] * 10

    share, plain = shown_share([people_only(values)]), stratified_mean([people_only(values)])

    # centre 1/2, squares of 40 cases and two pseudo-cases 20 / 4 + 2 / 4: variance (5.5 / 41) / 40 of the mean
    n = 0.25 * 41 * 40 / 5.5 * (1 + 2 / 40) - 1
    low, high = mid_p_interval(0.5, n)
    assert isinstance(share, Inference)
    assert [share.low, share.high] == pytest.approx([low, high])
    assert share == replace(plain, low=share.low, high=share.high)


def test_shown_share_weighs_strata() -> None:
    strata = [make_stratum([0.0] * 3 + [1.0] * 27, [0.0] * 30, [0.0] * 60), make_stratum([0.0] * 10, [0.0] * 10)]

    share = shown_share(strata)

    assert isinstance(share, Inference)
    assert share.point == pytest.approx(0.81)
    assert 0.6 < share.low < 0.81 < share.high < 0.91


def test_shown_share_at_every_look_is_the_mean_at_every_look() -> None:
    strata = [people_only([1.0] * 27 + [0.0] * 3)]

    assert shown_share(strata, planned=50) == shown_mean(strata, planned=50)
    assert shown_share([people_only([1.0] * 19)]) == TooFew(19, 20)


def test_counted_share_of_few_things_has_no_interval() -> None:
    assert counted_share(3, 3) == Estimate(1.0, None, None, 3, "Too few cases for an interval: 3 of 20.")
    assert counted_share(15, 21) == share_of(15, 21)
    assert counted_share(0, 0).value is None


def test_score_interval_equals_the_published_one() -> None:
    # Bentur et al. 2009, 1 and 7 discordant of 21 pairs; in Fagerland, Lydersen and Laake 2014: -.517 to -.026
    low, high = score_interval(1, 7, 21)

    assert [low, high] == pytest.approx([-0.517, -0.026], abs=5e-4)


def test_score_interval_turns_with_its_counts() -> None:
    assert [-end for end in reversed(score_interval(3, 9, 40))] == pytest.approx(score_interval(9, 3, 40))
    assert score_interval(20, 0, 20)[1] == 1.0
    assert score_interval(0, 20, 20)[0] == -1.0


@pytest.mark.parametrize("n", [20, 30, 50])
def test_mean_change_holds_the_truth_where_few_or_many_change_one_way_or_both(n: int) -> None:
    rates = [(0.15, 0.05), (0.1, 0.0), (0.05, 0.05), (0.02, 0.02), (0.2, 0.1), (0.05, 0.15), (0.4, 0.0), (0.45, 0.05)]

    coverages = [_coverage(n, up, down) for up, down in rates]

    assert min(coverages) > 0.925
    assert 0.94 < np.mean(coverages) < 0.98


def _coverage(n: int, up: float, down: float) -> float:
    covered = 0.0
    for risen in range(n + 1):
        for fallen in range(n + 1 - risen):
            chance = scipy.stats.multinomial.pmf([risen, fallen, n - risen - fallen], n, [up, down, 1 - up - down])
            if chance > 1e-6:
                change = mean_change([1.0] * risen + [-1.0] * fallen + [0.0] * (n - risen - fallen))
                covered += chance * (change.low <= up - down <= change.high)
    return covered


def test_mean_change_of_few_pairs_of_none_that_changed_and_of_parts_has_pseudo_cases() -> None:
    for values in ([1.0] * 5, [0.0] * 30, [0.5] * 30):
        assert mean_change(values) == stratified_mean([people_only(values)], scale=DIFFERENCE)


def test_census_change_lies_between_0_and_1() -> None:
    change = census_change([1.0] * 12 + [0.0] * 2 + [0.5] * 16)

    low, high = score_interval(12, 2, 30)
    assert [change.value, change.low, change.high] == pytest.approx([20 / 30, (1 + low) / 2, (1 + high) / 2])
    assert census_change([]).value is None
    assert census_change([1.0]).low is None
