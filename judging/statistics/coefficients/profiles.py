"""Equal rows of labels counted once, so that 100,000 items take as long as their distinct rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.statistics.coefficients.item_intervals import ItemSums, pair_rows
from judging.statistics.coefficients.ratings import RatingTable
from judging.statistics.estimates import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """The distinct rows of a matrix, shape (distinct, columns), how often each occurs, and which one each row is."""

    rows: Ints
    multiplicity: Ints
    which: Ints


def distinct_rows(matrix: Ints) -> Profiles:
    """Return the distinct rows in ascending order. Small integers are packed into one number per row to sort fast."""
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        rows = matrix[: min(1, matrix.shape[0])]
        return Profiles(rows, np.full(len(rows), len(matrix)), np.zeros(len(matrix), dtype=np.int64))
    low = matrix.min()
    base = int(matrix.max() - low) + 1
    if base ** matrix.shape[1] >= 2**62:
        rows, which, multiplicity = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)
        return Profiles(rows, multiplicity, which.reshape(-1))
    powers = base ** np.arange(matrix.shape[1] - 1, -1, -1, dtype=np.int64)
    _, first, which, multiplicity = np.unique(
        (matrix - low) @ powers, return_index=True, return_inverse=True, return_counts=True
    )
    return Profiles(matrix[first], multiplicity, which)


def count_profiles(table: RatingTable) -> Profiles:
    """Return the distinct rows of label counts among the items that somebody answered."""
    counts = table.counts()
    return distinct_rows(counts[counts.sum(axis=1) > 0])


@dataclass(frozen=True, slots=True, eq=False)
class ItemFeatures:
    """What each distinct item adds to the sums behind percent agreement, Fleiss, AC1 and Brennan-Prediger.

    Columns of `features`: agreeing share of the item's pairs (0 when it has no pair); 1 when it has a pair; 1 when it
    is rated at all; then for each label the share of the item's raters who chose it.
    """

    sums: ItemSums

    @property
    def totals(self) -> Floats:
        """The sums over all items, shape (1, columns)."""
        return self.sums.totals

    @property
    def n_pairable(self) -> int:
        """How many items have two answers or more."""
        return int(self.totals[0, 1])


def item_features(profiles: Profiles) -> ItemFeatures:
    """Return the additive features of each distinct row of label counts (every row has an answer)."""
    pseudo = pair_rows(profiles.rows.shape[1])
    features = _features(profiles.rows)
    return ItemFeatures(ItemSums(features, profiles.multiplicity, _features(pseudo.rows), pseudo.weights))


def _features(rows: Ints) -> Floats:
    counts = rows.astype(np.float64)
    raters = counts.sum(axis=1)
    pairable = raters >= 2
    pairs = np.where(pairable, raters * (raters - 1), 1.0)
    agreeing = np.where(pairable, (counts * (counts - 1)).sum(axis=1) / pairs, 0.0)
    leading = [agreeing, pairable.astype(np.float64), np.ones(len(counts))]
    return np.column_stack([*leading, counts / raters[:, None]])


def observed_agreement(sums: Floats) -> Floats:
    """Return the mean agreeing share over items with two answers or more, shape (rows of sums,), NaN for none."""
    return divide(sums[:, 0], sums[:, 1])


def label_shares(sums: Floats) -> Floats:
    """Return the mean share of each label over rated items, shape (rows of sums, labels)."""
    return divide(sums[:, 3:], sums[:, 2:3])


def chance_corrected(observed: Floats, expected: Floats) -> Floats:
    """Return (observed - expected) / (1 - expected), NaN where chance alone would agree always (0/0)."""
    room = 1 - expected
    return divide(observed - expected, np.where(room > 1e-12, room, 0.0))


def divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, NaN where the denominator is 0."""
    quotient: Floats = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
