"""Percentile intervals by resampling whole items, vectorised over items that look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalsite.reports.statistics.estimates import Floats, Interval, Ints
from evalsite.reports.statistics.intervals import LEVEL

Features = Any  # a dense or a sparse (scipy, untyped) matrix of shape (distinct items, sums)

RESAMPLES = 1000
WEIGHTS_AT_ONCE = 4_000_000  # bounds memory: 32 MB of weights
DRAWS_PER_CELL = 10  # one binomial draw costs about as much as ten drawn items
DEFINED_SHARE_NEEDED = 0.95  # of the resamples, before an interval is shown


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How an interval over items is drawn; the seed makes a report repeatable. No resamples: no interval."""

    resamples: int = RESAMPLES
    seed: int = 0
    level: float = LEVEL


def bootstrap_interval(
    statistic: Callable[[Floats], Floats], features: Features, multiplicity: Ints, *, plan: Bootstrap
) -> Interval:
    """Return the percentile interval of a figure when whole items are resampled.

    `features` has one row per distinct item and `multiplicity` says how often each occurs. `statistic` maps sums of
    features, shape (resamples, sums), to figures, shape (resamples,), NaN where a resample is undefined.
    """
    n = int(multiplicity.sum())
    if n < 2:
        return Interval(None, None, "One item has no interval.")
    if plan.resamples < 1:
        return Interval(None, None, "No resamples were asked for.")
    return percentile_interval(statistic(resampled_sums([features], multiplicity, plan=plan)[0]), n=n, level=plan.level)


def percentile_interval(figures: Floats, *, n: int, level: float = LEVEL) -> Interval:
    """Return the middle `level` of resampled figures; NaN marks a resample in which the figure was undefined."""
    defined = figures[~np.isnan(figures)]
    if defined.size < DEFINED_SHARE_NEEDED * figures.size:
        lost = 1 - defined.size / figures.size
        return Interval(None, None, f"No interval: too few or too uniform items ({lost:.0%} of resamples undefined).")
    low, high = np.quantile(defined, [0.5 - level / 2, 0.5 + level / 2])
    if high - low < 1e-12:
        return Interval(None, None, f"No interval: every resample of these {n} items gives the same figure.")
    return Interval(float(low), float(high))


def resampled_sums(blocks: Sequence[Features], multiplicity: Ints, *, plan: Bootstrap) -> list[Floats]:
    """Return, for each block of features, its sums in every resample, shape (resamples, sums); all share the draws."""
    random = np.random.default_rng(plan.seed)
    at_once = max(1, WEIGHTS_AT_ONCE // len(multiplicity))
    parts: list[list[Floats]] = [[] for _ in blocks]
    for start in range(0, plan.resamples, at_once):
        weights = _weights(random, multiplicity, min(at_once, plan.resamples - start))
        for part, block in zip(parts, blocks, strict=True):
            part.append(np.asarray(weights @ block))
    return [np.concatenate(part) for part in parts]


def _weights(random: np.random.Generator, multiplicity: Ints, resamples: int) -> Floats:
    """Return how often each distinct item is drawn, shape (resamples, distinct): one multinomial draw per row."""
    n, distinct = int(multiplicity.sum()), len(multiplicity)
    if distinct * DRAWS_PER_CELL < n:
        return random.multinomial(n, multiplicity / n, size=resamples).astype(np.float64)
    which = np.repeat(np.arange(distinct), multiplicity)
    draws = (np.bincount(which[random.integers(n, size=n)], minlength=distinct) for _ in range(resamples))
    return np.stack(list(draws)).astype(np.float64)
