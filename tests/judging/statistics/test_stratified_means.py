"""Small and degenerate samples: an interval of some width, or the plain statement that there are too few cases."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.estimates import (
    Bounds,
    Estimate,
    Inference,
    TooFew,
    look_multiplier,
    make_stratum,
    nonresponse_bounds,
    people_only,
    shown_mean,
    stratified_mean,
)
from judging.statistics.estimators.boards import paired_difference


def test_shown_mean_needs_twenty_labelled_cases() -> None:
    inference = shown_mean([people_only([1.0] * 12, others=100)])

    assert inference == TooFew(12, 20)
    assert inference.estimate == Estimate(None, None, None, 12, "Too few: 12 of 20.")


def test_shown_mean_of_equal_labels_has_width() -> None:
    inference = shown_mean([people_only([1.0] * 20)])

    assert isinstance(inference, Inference)
    # estimators.md, section 1: 20 of 20 right, all drawn: [.855, 1]
    assert (inference.point, round(inference.low, 3), inference.high) == (1.0, 0.855, 1.0)


def test_shown_mean_counts_labels_of_the_sampled_strata_only() -> None:
    labelled = make_stratum([0.0] * 50, [0.0] * 50)

    assert shown_mean([people_only([1.0] * 19, others=10), labelled]) == TooFew(19, 20)


def test_shown_mean_joins_a_stratum_with_one_label_to_the_largest() -> None:
    lone = make_stratum([1.0], [1.0], [0.0])
    large = make_stratum([1.0, 0.0] * 10, [1.0, 0.0] * 10, [1.0] * 40)

    inference = shown_mean([lone, large])

    assert inference == stratified_mean(
        [make_stratum([1.0, 0.0] * 10 + [1.0], [1.0, 0.0] * 10 + [1.0], [1.0] * 40 + [0.0])]
    )


def test_a_corrected_mean_never_leaves_the_scale() -> None:
    # 30 drawn, judge and people alike; of the others nearly all pass: the plain formula says 1.128 [1.007, 1.250].
    inference = stratified_mean([make_stratum([1.0] * 29 + [0.0], [1.0] * 25 + [0.0] * 5, [1.0] * 1990 + [0.0] * 10)])

    assert inference.unbounded > 1
    assert (inference.point, inference.high) == (1.0, 1.0)


def test_stratified_mean_refuses_a_sample_of_one() -> None:
    with pytest.raises(ValueError, match="merge it with another"):
        stratified_mean([people_only([1.0], others=5)])
    with pytest.raises(ValueError, match="at least two cases"):
        stratified_mean([people_only([1.0])])


def test_make_stratum_refuses_what_cannot_be_counted() -> None:
    with pytest.raises(ValueError, match="2 labels for 1 judged cases"):
        make_stratum([1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="not a finite number"):
        make_stratum([np.nan], [1.0])


def test_nonresponse_bounds_are_the_worst_and_the_best() -> None:
    decided = make_stratum([1.0] * 22, [1.0] * 22, [1.0] * 170)

    bounds = nonresponse_bounds([(decided, [0.0] * 8)])

    worst = stratified_mean([make_stratum([1.0] * 22 + [0.0] * 8, [1.0] * 22 + [0.0] * 8, [1.0] * 170)])
    best = stratified_mean([make_stratum([1.0] * 30, [1.0] * 22 + [0.0] * 8, [1.0] * 170)])
    assert bounds == Bounds(worst.low, best.high, 22, 30)


def test_paired_difference_needs_thirty_cases() -> None:
    assert paired_difference([people_only([1.0] * 29)]) == TooFew(29, 30)


def test_look_multiplier_refuses_an_audit_without_a_plan() -> None:
    with pytest.raises(ValueError, match="a planned size"):
        look_multiplier(20, 0)


def test_stratified_mean_with_its_own_spread_is_least_squares() -> None:
    # Labels 1, 1, 1, 0 of scores 1, 1, 0, 0: covariance .125, variance .25, slope .5; the mean score of all ten is .7,
    # of the labelled ones .5, so .75 + .5 (.7 - .5). The slope times 6 of 10 unlabelled is the tuning.
    stratum = make_stratum([1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1, 1, 0])

    inference = stratified_mean([stratum], own_spread=True)

    assert (inference.point, *inference.tuning) == pytest.approx((0.85, 0.3))


def test_stratified_mean_with_its_own_spread_takes_unseen_scores_for_the_middle() -> None:
    # Labels 1, 1, 1, 0 of scores 1: nothing is known of the score 0, which one of the six others has. Their mean is
    # taken to be .5, the slope (.75 - .5) / (1 - 0); the mean score of all ten is .9, so .75 + .25 (.9 - 1).
    stratum = make_stratum([1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1, 1, 0])

    inference = stratified_mean([stratum], own_spread=True)

    assert (inference.point, *inference.tuning) == pytest.approx((0.725, 0.15))


def test_stratified_mean_with_its_own_spread_leaves_scores_on_both_sides_alone() -> None:
    stratum = make_stratum([1, 1, 1, 0], [0.5, 0.5, 0.5, 0.5], [0, 1, 0.5])

    inference = stratified_mean([stratum], own_spread=True)

    assert (inference.point, *inference.tuning) == (0.75, 0.0)


def test_stratified_mean_with_its_own_spread_is_not_drawn_to_a_skewed_judge() -> None:
    # 80% are right, and the judge passes 70% of the wrong ones. By the slope over all cases 20 labels give 1.6 points
    # too much (4,000 draws), by their own 0.7; the standard deviation of the mean of these 400 draws is 0.4 points.
    random = np.random.default_rng(8)
    errors = []
    for _ in range(400):
        labels = (random.random(150) < 0.8).astype(float)
        judge = np.where(random.random(150) < np.where(labels == 1, 0.98, 0.7), 1.0, 0.0)
        stratum = make_stratum(labels[:20], judge[:20], judge[20:])
        errors.append([stratified_mean([stratum], own_spread=flag).unbounded - 0.8 for flag in (False, True)])

    pooled, labelled = np.mean(errors, axis=0)

    assert pooled - labelled > 0.005
    assert abs(labelled) < 0.015


def test_nonresponse_bounds_fill_every_stratum() -> None:
    old = make_stratum([1.0] * 15 + [0.0] * 5, [0.0] * 20, [0.0] * 20)
    new = make_stratum([1.0] * 9, [0.0] * 9, [0.0] * 10)

    bounds = nonresponse_bounds([(old, []), (new, [0.0])])

    ends = [stratified_mean([old, make_stratum([1.0] * 9 + [label], [0.0] * 10, [0.0] * 10)]) for label in (0.0, 1.0)]
    assert bounds == Bounds(ends[0].low, ends[1].high, 29, 30)
