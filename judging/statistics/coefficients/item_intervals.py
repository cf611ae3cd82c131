"""Intervals of figures of agreement, from what each item adds to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from judging.statistics.estimates import Estimate, Floats, Interval, Ints, with_interval
from judging.statistics.intervals import ONE_UNIT, t_quantile

Features = Any  # a dense or a sparse (scipy, untyped) matrix of shape (distinct items, sums)
Figure = Callable[[Floats], Floats]  # of sums, shape (any, sums), to figures, shape (any,)

PSEUDO_ITEMS = 2  # spread evenly over all pairs of labels
STEP = 1e-4  # of a sum, to differentiate a figure by it
SUMS_AT_ONCE = 4_000_000  # bounds memory: 32 MB


@dataclass(frozen=True, slots=True, eq=False)
class PairRows:
    """Every unordered pair of labels as a row of label counts, and how many of PSEUDO_ITEMS have it."""

    rows: Ints
    weights: Floats


def pair_rows(n_labels: int) -> PairRows:
    """Return the pseudo-items of a scale: two answers each, every label as likely as any other."""
    first, second = np.triu_indices(n_labels)
    rows = np.zeros((len(first), n_labels), dtype=np.int64)
    np.add.at(rows, (np.arange(len(first)), first), 1)
    np.add.at(rows, (np.arange(len(first)), second), 1)
    return PairRows(rows, np.where(first == second, 1.0, 2.0) * PSEUDO_ITEMS / n_labels**2)


@dataclass(frozen=True, slots=True, eq=False)
class ItemSums:
    """What items and pseudo-items add to the sums behind a figure: a row for each distinct one, and how often it is."""

    features: Features
    multiplicity: Ints
    pseudo_features: Features
    pseudo_weights: Floats

    @property
    def totals(self) -> Floats:
        """The sums over all items, without pseudo-items, shape (1, sums)."""
        totals: Floats = np.asarray(self.multiplicity @ self.features)[None, :]
        return totals

    def estimate(self, figure: Figure, *, n: int, lowest: float = -1.0) -> Estimate:
        """Return a figure that is defined with its interval, which ends at `lowest` and 1; n = items compared."""
        return with_interval(float(figure(self.totals)[0]), self.interval(figure, n=n, lowest=lowest), n=n)

    def interval(self, figure: Figure, *, n: int, lowest: float) -> Interval:
        """Return the linearised interval over items, with pseudo-items in centre and error, by Student's t.

        An item's influence is the derivative of the figure along what it adds (the infinitesimal jackknife: Efron
        1982, ch. 6). Pseudo-items keep the error honest while few items or none disagree, as in `weighted_kappa`.
        """
        if n < 2:
            return Interval(None, None, ONE_UNIT)
        sums = self.totals[0] + self.pseudo_weights @ self.pseudo_features
        slopes = _slopes(figure, sums)
        squares = self.multiplicity @ (self.features @ slopes) ** 2
        squares += self.pseudo_weights @ (self.pseudo_features @ slopes) ** 2
        size = n + PSEUDO_ITEMS
        reach = t_quantile(n - 1) * math.sqrt(float(squares) * size / (size - 1))
        centre = float(figure(sums[None, :])[0])
        return Interval(max(lowest, centre - reach), min(1.0, centre + reach))


def _slopes(figure: Figure, sums: Floats) -> Floats:
    """Return the derivative of a figure by each sum, by central differences."""
    slopes = np.empty(len(sums))
    at_once = max(1, SUMS_AT_ONCE // len(sums))
    for start in range(0, len(sums), at_once):
        places = np.arange(start, min(start + at_once, len(sums)))
        moved = np.repeat(sums[None, :], len(places), axis=0)
        rows = np.arange(len(places))
        moved[rows, places] += STEP
        above = figure(moved)
        moved[rows, places] -= 2 * STEP
        slopes[places] = (above - figure(moved)) / (2 * STEP)
    return slopes
