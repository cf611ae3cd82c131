"""Differences between systems on the same cases, corrected for the number of pairs, and the ranks they allow."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judging.statistics.estimates import Floats
from judging.statistics.estimators.strata import (
    DIFFERENCE,
    FEWEST_FOR_CLAIMS,
    Inference,
    Scale,
    Stratum,
    TooFew,
    shown_mean,
)
from judging.statistics.intervals import LEVEL

PSEUDO = 0.5  # of differences: one at each end would halve the power
SIGNIFICANT = 1 - LEVEL


def paired_difference(strata: Sequence[Stratum], *, scale: Scale = DIFFERENCE, planned: int = 0) -> Inference | TooFew:
    """Return the mean of differences by case, or that there are too few labelled cases to tell its sign.

    The scale is that of a difference: from (low - high) to (high - low). `planned` is that of `shown_mean`. Source:
    Agresti and Min 2005.
    """
    return shown_mean(strata, scale=scale, pseudo=PSEUDO, needed=FEWEST_FOR_CLAIMS, planned=planned)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted step-down, in the order given: the running maximum of (m - rank) p (Holm 1979)."""
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate((len(raw) - np.arange(len(raw))) * raw[order]))
    return tuple(float(value) for value in adjusted)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """First minus second. `adjusted_p` is Holm's over all pairs of the board; None where there are too few cases."""

    first: int
    second: int
    difference: Inference | TooFew
    adjusted_p: float | None

    @property
    def better(self) -> int | None:
        """The one shown to be better once all pairs are taken into account; None where they cannot be told apart."""
        if not isinstance(self.difference, Inference) or self.adjusted_p is None or self.adjusted_p > SIGNIFICANT:
            return None
        return self.first if self.difference.centre > 0 else self.second


def compared_pairs(differences: Mapping[tuple[int, int], Inference | TooFew]) -> tuple[ComparedPair, ...]:
    """Return the pairs of a board with p-values corrected for their number."""
    tested = [difference.p_value for difference in differences.values() if isinstance(difference, Inference)]
    adjusted = iter(holm(tested))
    return tuple(
        ComparedPair(first, second, difference, next(adjusted) if isinstance(difference, Inference) else None)
        for (first, second), difference in differences.items()
    )


@dataclass(frozen=True, slots=True)
class RankSet:
    """The ranks that a system may have: all of them hold at once with 95% certainty. Source: Mogstad et al. 2024."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_sets(systems: Iterable[int], pairs: Iterable[ComparedPair]) -> dict[int, RankSet]:
    """Return the ranks of each system: behind those shown to be better, before those shown to be worse."""
    shown = [(pair.better, pair.second if pair.better == pair.first else pair.first) for pair in pairs]
    return ranks_of(systems, [(better, worse) for better, worse in shown if better is not None])


def ranks_of(systems: Iterable[int], shown: Iterable[tuple[int, int]]) -> dict[int, RankSet]:
    """Return the ranks of each system from the pairs (better, worse) that were told apart."""
    numbers = list(systems)
    above, below = dict.fromkeys(numbers, 0), dict.fromkeys(numbers, 0)
    for better, worse in shown:
        below[better] += 1
        above[worse] += 1
    return {system: RankSet(1 + above[system], len(numbers) - below[system]) for system in numbers}


def case_means(values: Sequence[float] | Floats, cases: Sequence[Hashable]) -> dict[Hashable, float]:
    """Return the mean of the values of each case, cases in the order of first appearance.

    Attempts, responses and criteria of one case are no independent observations.

    Raises:
        ValueError: values and cases differ in number.
    """
    sums: dict[Hashable, list[float]] = {}
    for value, case in zip(values, cases, strict=True):
        sums.setdefault(case, []).append(float(value))
    return {case: sum(case_values) / len(case_values) for case, case_values in sums.items()}
