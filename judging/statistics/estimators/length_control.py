"""A win rate at equal length: descriptive only, since people too may prefer the longer answer for good reasons."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats, undefined
from judging.statistics.estimators.differences import case_means
from judging.statistics.estimators.strata import FEWEST_FOR_CLAIMS, TooFew, census_mean
from judging.statistics.intervals import LEVEL, cluster_codes, t_quantile

LARGEST_EFFECT = 15.0  # beyond it length alone decides, and the fit runs off
SAME_LENGTHS = "The differences in length are all the same."
ALL_LENGTH = "Length alone decides every comparison, so nothing is known about responses of equal length."


@dataclass(frozen=True, slots=True)
class LengthControlled:
    """The win rate of two answers of equal length, and how the log odds of winning grow with length."""

    point: float
    low: float
    high: float
    length_effect: float  # of tanh(difference in length / its standard deviation)
    length_error: float
    raw: float  # win rate as it is


@dataclass(frozen=True, slots=True)
class LengthControl:
    """A win rate as it is and at equal length, as reports show them; n = cases."""

    raw: Estimate
    equal_length: Estimate
    effect: Estimate  # on the log odds of winning, of being longer; above 0 the longer answer wins more often


def length_control(
    wins: Sequence[float] | Floats, length_differences: Sequence[float] | Floats, cases: Sequence[Hashable]
) -> LengthControl:
    """Return the raw and the length-controlled win rate; the second from 30 cases on, and where it can be told."""
    raw = census_mean(list(case_means(wins, cases).values()))
    if raw.n < FEWEST_FOR_CLAIMS:
        few = TooFew(raw.n, FEWEST_FOR_CLAIMS).estimate
        return LengthControl(raw, few, few)
    if not np.ptp(np.asarray(length_differences, dtype=np.float64)):
        alike = undefined(SAME_LENGTHS, n=raw.n)
        return LengthControl(raw, alike, alike)
    controlled = length_controlled_win_rate(wins, length_differences, cases)
    if abs(controlled.length_effect) > LARGEST_EFFECT:
        decided = undefined(ALL_LENGTH, n=raw.n)
        return LengthControl(raw, decided, decided)
    reach = t_quantile(raw.n - 1) * controlled.length_error
    effect = Estimate(
        controlled.length_effect, controlled.length_effect - reach, controlled.length_effect + reach, raw.n
    )
    return LengthControl(raw, Estimate(controlled.point, controlled.low, controlled.high, raw.n), effect)


def length_controlled_win_rate(
    wins: Sequence[float] | Floats,
    length_differences: Sequence[float] | Floats,
    cases: Sequence[Hashable],
    *,
    level: float = LEVEL,
) -> LengthControlled:
    """Return the win rate (1, 0.5, 0 per comparison) at equal length by logistic regression, clustered by case.

    A win and a loss at equal length are added, which keeps the figures finite. Descriptive: where people too like the
    longer answer it takes quality away. Source: Dubois et al. 2024.

    Raises:
        ValueError: fewer than two cases.
    """
    clusters = cluster_codes(cases)
    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count < 2:
        raise ValueError("a length-controlled win rate needs two cases or more")
    points = np.asarray(wins, dtype=np.float64)
    longer = np.asarray(length_differences, dtype=np.float64)
    spread = float(longer.std())
    design = np.column_stack([np.ones(len(points)), np.tanh(longer / spread) if spread > 0 else np.zeros(len(points))])
    weights, expected, curvature = _fit(design, points)
    equal = float(scipy.special.expit(weights[0]))
    scores = np.zeros((count, 2))
    np.add.at(scores, clusters, (points - expected)[:, None] * design)
    meat = scores.T @ scores
    meat[0, 0] += (1 - equal) ** 2 + equal**2
    bread = np.linalg.inv(curvature)
    covariance = bread @ (count / (count - 1) * meat) @ bread
    reach = t_quantile(count - 1, level) * float(np.sqrt(covariance[0, 0]))
    ends = scipy.special.expit([weights[0] - reach, weights[0] + reach])
    return LengthControlled(
        equal, float(ends[0]), float(ends[1]), float(weights[1]), float(np.sqrt(covariance[1, 1])), float(points.mean())
    )


def _fit(design: Floats, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Return intercept and slope, the expected points and the curvature, by Newton steps of at most 2."""
    weights = np.zeros(2)
    for _ in range(200):
        expected = scipy.special.expit(design @ weights)
        equal = float(scipy.special.expit(weights[0]))
        curvature = (design * (expected * (1 - expected))[:, None]).T @ design + 1e-12 * np.eye(2)
        curvature[0, 0] += 2 * equal * (1 - equal)
        slope = design.T @ (points - expected)
        slope[0] += 1 - 2 * equal
        step = np.linalg.solve(curvature, slope)
        weights = weights + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-13:
            break
    return weights, expected, curvature
