"""Paired differences over cases, corrected for how many pairs are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from evalsite.reports.statistics.estimates import Estimate, Floats, undefined
from evalsite.reports.statistics.intervals import LEVEL, mean_interval

SIGNIFICANT = 1 - LEVEL

CaseScores = Mapping[str, Sequence[float]]  # case key -> the scores of its attempts


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """First minus second over the cases both answered."""

    first: str
    second: str
    difference: Estimate  # n = shared cases; not corrected for the number of pairs
    p_value: float | None
    adjusted_p: float | None  # Holm, over all pairs of the leaderboard

    @property
    def is_separated(self) -> bool:
        """Whether the two differ once all pairs are taken into account."""
        return self.adjusted_p is not None and self.adjusted_p <= SIGNIFICANT


def paired_differences(scores: Mapping[str, CaseScores]) -> tuple[PairedDifference, ...]:
    """Return the difference of every two systems with t interval, p-value and Holm-adjusted p-value."""
    means = {system: case_means(cases) for system, cases in scores.items()}
    found = [(*names, *_difference(means[names[0]], means[names[1]])) for names in combinations(scores, 2)]
    tested = [p for *_, p in found if p is not None]
    adjusted = iter(holm(tested))
    return tuple(
        PairedDifference(first, second, difference, p, None if p is None else next(adjusted))
        for first, second, difference, p in found
    )


def case_means(cases: CaseScores) -> dict[str, float]:
    """Return the mean over attempts of each case that has any."""
    return {case: float(np.mean(attempts)) for case, attempts in cases.items() if attempts}


def _difference(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[Estimate, float | None]:
    differences = np.array([mean - second[case] for case, mean in first.items() if case in second])
    if differences.size < 2:
        return undefined("The two share fewer than two scored cases.", n=differences.size), None
    return mean_interval(differences), difference_p_value(differences)


def difference_p_value(differences: Floats) -> float:
    """Return the two-sided p-value of a zero mean: t-test over cases, or the sign test where all cases are equal.

    The t-test has no spread to work with when every case differs by the same amount; n equal signs then have
    probability 2 * 0.5^n, and no difference at all has probability 1.
    """
    spread = float(differences.std(ddof=1))
    mean = float(differences.mean())
    if spread < 1e-12:
        return 1.0 if abs(mean) < 1e-12 else min(1.0, 2 * 0.5**differences.size)
    statistic = abs(mean) / (spread / np.sqrt(differences.size))
    return float(2 * scipy.special.stdtr(differences.size - 1, -statistic))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted step-down, in the order given: the running maximum of (m - rank) p (Holm 1979)."""
    m = len(p_values)
    adjusted = [0.0] * m
    largest = 0.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (m - rank) * p_values[i]))
        adjusted[i] = largest
    return tuple(adjusted)


def interval_ranks(means: Mapping[str, Estimate]) -> dict[str, int | None]:
    """Return 1 + the number of systems whose whole interval lies above a system's; None without a figure.

    For corrected means, which are not paired case by case. A system without an interval is tied with all.
    """
    ranks: dict[str, int | None] = {}
    for system, mean in means.items():
        above = sum(_lies_above(other, mean) for other in means.values())
        ranks[system] = 1 + above if mean.is_defined else None
    return ranks


def overlapping(means: Mapping[str, Estimate]) -> dict[str, tuple[str, ...]]:
    """Return, for each system, the others that its interval overlaps; one without an interval overlaps all."""
    return {
        system: tuple(
            name
            for name, other in means.items()
            if name != system and not _lies_above(other, mean) and not _lies_above(mean, other)
        )
        for system, mean in means.items()
    }


def _lies_above(other: Estimate, mean: Estimate) -> bool:
    return other.low is not None and mean.high is not None and other.low > mean.high
