"""Which label one side gave when the other gave another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from judging.statistics.coefficients.answer_rows import disagreement
from judging.statistics.coefficients.ratings import RatingTable


def confusion_counts(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable]
) -> list[list[int]]:
    """Return how often one side gave each label (rows) where the other gave each (columns).

    Raises:
        KeyError: a label is off the scale.
    """
    position = {label: index for index, label in enumerate(labels)}
    counts = [[0] * len(labels) for _ in labels]
    for row_label, column_label in zip(first, second, strict=True):
        counts[position[row_label]][position[column_label]] += 1
    return counts


def disagreeing_items(table: RatingTable) -> tuple[tuple[str, float], ...]:
    """Return (item, share of its answer pairs that differ), the most disputed first, unanimous items left out."""
    differing = disagreement(table.counts())
    order = np.argsort(-differing, kind="stable")
    return tuple((table.items[i], float(differing[i])) for i in order if differing[i] > 0)
