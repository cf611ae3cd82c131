"""Limits of corrected means of passes and fails, by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from judging.statistics.estimates import (
    SHARE,
    Estimate,
    MeanKind,
    Scale,
    Stratum,
    make_stratum,
    people_only,
    stratified_mean,
)
from judging.statistics.estimators import boards
from judging.statistics.estimators.boards import (
    BoardData,
    is_pass_fail,
    pass_fail_limits,
    system_mean,
    two_class_limits,
)


def agreed(passes: int, fails: int, others: tuple[int, int]) -> Stratum:
    """Return a stratum in which people say what the judge says, and so many others that it passes and fails."""
    labels = [1.0] * passes + [0.0] * fails
    return make_stratum(labels, labels, [1.0] * others[0] + [0.0] * others[1])


def test_two_class_limits_are_those_of_the_beta_of_both_classes() -> None:
    # 1,000 cases of which the judge passes 860: 26 of these and 4 of the 140 others are labelled, all as it says. Lower
    # limit: Beta(26 + .4, .6) and Beta(.4, 4 + .6), so .86 * 26.4/27 + .14 * .4/5 = .852089; variances times weights
    # squared .86² * .021728 / 28 + .14² * .0736 / 6 = .000814, times 1 - 30/1,000, and .126033/1,000 for the cases.
    strata = [agreed(26, 4, (834, 136))]

    low, high = two_class_limits(strata, scale=SHARE)

    share = 0.86 * 26.4 / 27 + 0.14 * 0.4 / 5
    classes = 0.86**2 * (26.4 / 27) * (0.6 / 27) / 28 + 0.14**2 * 0.08 * 0.92 / 6
    cases = share * (1 - share) / (0.97 * classes + share * (1 - share) / 1000) - 1
    assert low == pytest.approx(float(scipy.stats.beta.ppf(0.025, share * cases, (1 - share) * cases)))
    mirrored = two_class_limits([agreed(4, 26, (136, 834))], scale=SHARE)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high))
    wider = Scale(-1.0, 3.0)
    stretched = [Stratum(*(4 * values - 1 for values in (one.labels, one.judge, one.others))) for one in strata]
    assert two_class_limits(stretched, scale=wider) == pytest.approx((4 * low - 1, 4 * high - 1))


def test_pass_fail_limits_keep_what_pseudo_cases_hardly_move() -> None:
    strata = [agreed(15, 15, (485, 485))]
    inference = stratified_mean(strata, own_spread=True)

    assert pass_fail_limits(strata, inference, scale=SHARE) == (inference.low, inference.high)


def test_pass_fail_limits_of_a_rare_label_widen_at_the_near_end() -> None:
    strata = [agreed(30, 0, (830, 140))]
    inference = stratified_mean(strata, own_spread=True)
    outer = two_class_limits(strata, scale=SHARE)

    low, high = pass_fail_limits(strata, inference, scale=SHARE)

    assert outer[0] < inference.low < inference.high < outer[1]
    assert (low, high) == pytest.approx((0.9 * inference.low + 0.1 * outer[0], outer[1]))


def test_only_corrected_means_of_passes_and_fails_are_changed() -> None:
    random = np.random.default_rng(1)
    labels = (random.random((1, 300)) < 0.9).astype(np.float64)
    is_drawn = np.arange(300)[None] < 30

    def figure(judge: object, mode: MeanKind) -> Estimate:
        known = np.where(is_drawn, labels, np.nan)
        return system_mean(BoardData(judge, known, is_drawn, np.zeros_like(is_drawn)), 0, mode).estimate  # type: ignore[arg-type]

    graded = labels * 0.5
    people = stratified_mean([people_only(labels[0, :30], others=270)])
    assert figure(labels, MeanKind.HUMAN) == people.estimate
    strata = [make_stratum(labels[0, :30], graded[0, :30], graded[0, 30:])]
    assert figure(graded, MeanKind.CORRECTED) == stratified_mean(strata, own_spread=True).estimate
    assert not is_pass_fail(strata, SHARE)


@pytest.mark.parametrize(("error", "before", "after"), [(0.05, 0.80, 0.97), (0.1, 0.88, 0.93)])
def test_corrected_means_cover_where_the_judge_is_rarely_wrong(
    error: float, before: float, after: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 30 of 1,000 cases, 90% of which pass; 400 samples, so a standard error of .01 around .93 and .02 around .8.
    random = np.random.default_rng(7)
    is_drawn = np.arange(1000)[None] < 30
    held, widths = np.zeros(2), np.zeros(2)
    for _ in range(400):
        labels = (random.random((1, 1000)) < 0.9).astype(np.float64)
        judge = np.abs(labels - (random.random(labels.shape) < error))
        data = BoardData(judge, np.where(is_drawn, labels, np.nan), is_drawn, np.zeros_like(is_drawn))
        for place, is_old in enumerate((True, False)):
            with monkeypatch.context() as patch:
                if is_old:
                    patch.setattr(boards, "is_pass_fail", lambda *_: False)
                found = system_mean(data, 0, MeanKind.CORRECTED).estimate
            assert found.low is not None
            assert found.high is not None
            held[place] += found.low <= 0.9 <= found.high
            widths[place] += found.high - found.low

    assert held / 400 == pytest.approx((before, after), abs=0.03)
    assert widths[1] <= widths[0]
