"""Which label one side gave when the other gave another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.reports.statistics.answer_rows import disagreement
from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.intervals import wilson
from evalsite.reports.statistics.ratings import MISSING, RatingTable


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts and items by (row label, column label) over the items that both sides answered."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    items: tuple[tuple[tuple[str, ...], ...], ...]  # the items behind each count
    n: int
    n_missing: int  # items that one side or both left open

    def recall(self, label: str) -> Estimate:
        """Return the share of items the rows call `label` that the columns call so too."""
        i = self.labels.index(label)
        return wilson(self.counts[i][i], sum(self.counts[i]))

    def precision(self, label: str) -> Estimate:
        """Return the share of items the columns call `label` that the rows call so too."""
        i = self.labels.index(label)
        return wilson(self.counts[i][i], sum(row[i] for row in self.counts))


def confusion(table: RatingTable, first: str, second: str) -> Confusion:
    """Return the confusion of two raters of a table, rows = first. Raises: RatingsRefused for an unknown rater."""
    return _confusion(table.column(first).tolist(), table.column(second).tolist(), table.labels, table.items)


def confusion_of(
    first: Sequence[Hashable | None],
    second: Sequence[Hashable | None],
    labels: Sequence[Hashable],
    items: Sequence[str],
) -> Confusion:
    """Return the confusion of two lists of labels (None = no answer). Raises: KeyError for a label off the scale."""
    position: dict[Hashable | None, int] = {label: i for i, label in enumerate(labels)}
    position[None] = MISSING
    codes = [[position[label] for label in side] for side in (first, second)]
    return _confusion(codes[0], codes[1], tuple(str(label) for label in labels), items)


def _confusion(first: Sequence[int], second: Sequence[int], labels: tuple[str, ...], items: Sequence[str]) -> Confusion:
    cells: list[list[list[str]]] = [[[] for _ in labels] for _ in labels]
    n_missing = 0
    for row, column, item in zip(first, second, items, strict=True):
        if MISSING in (row, column):
            n_missing += 1
        else:
            cells[row][column].append(item)
    return Confusion(
        labels,
        tuple(tuple(len(cell) for cell in row) for row in cells),
        tuple(tuple(tuple(cell) for cell in row) for row in cells),
        len(items) - n_missing,
        n_missing,
    )


def disagreeing_items(table: RatingTable) -> tuple[tuple[str, float], ...]:
    """Return (item, share of its answer pairs that differ), the most disputed first, unanimous items left out."""
    differing = disagreement(table.counts())
    order = np.argsort(-differing, kind="stable")
    return tuple((table.items[i], float(differing[i])) for i in order if differing[i] > 0)
