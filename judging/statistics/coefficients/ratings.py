"""A table of labels: items in rows, raters in columns, gaps allowed, the label scale declared beforehand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from judging.statistics.estimates import Ints

MISSING = -1


class RatingsRefused(ValueError):
    """The table cannot be built; the message is written for whoever brought the data."""


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Labels given by `raters` to `items`, as positions in the declared `labels`.

    `codes` has shape (items, raters) and holds 0..len(labels)-1, or -1 where nobody answered. `values` are the numbers
    that the labels stand for (interval and ratio scales); None when the labels are only names. `raters_known` is False
    for tables built from counts, where a column does not mean a person.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    codes: Ints
    values: tuple[float, ...] | None = None
    raters_known: bool = True

    @property
    def n_labels(self) -> int:
        """The declared number of categories, used or not."""
        return len(self.labels)

    def counts(self) -> Ints:
        """Return how many raters gave each label to each item, shape (items, labels)."""
        n_items, n_labels = len(self.items), self.n_labels
        rows, columns = np.nonzero(self.codes != MISSING)
        cells = rows * n_labels + self.codes[rows, columns]
        return np.bincount(cells, minlength=n_items * n_labels).reshape(n_items, n_labels).astype(np.int64)

    def column(self, rater: str) -> Ints:
        """Return one rater's codes, shape (items,). Raises: RatingsRefused when the rater is not in the table."""
        if rater not in self.raters:
            raise RatingsRefused(f"There is no rater “{rater}” in this table.")
        return self.codes[:, self.raters.index(rater)]

    def subset(self, keep: Sequence[bool]) -> RatingTable:
        """Return the same table with the chosen items only (one criterion, one scenario, one month)."""
        mask = np.asarray(keep, dtype=bool)
        items = tuple(item for item, is_chosen in zip(self.items, mask, strict=True) if is_chosen)
        return RatingTable(items, self.raters, self.labels, self.codes[mask], self.values, self.raters_known)

    def on_scale(self, labels: Sequence[str], values: Sequence[float] | None) -> RatingTable:
        """Return the same answers on another scale; those that it does not have are missing."""
        position = {label: code for code, label in enumerate(labels)}
        codes = np.array([*(position.get(label, MISSING) for label in self.labels), MISSING])[self.codes]
        new_values = None if values is None else tuple(values)
        return RatingTable(self.items, self.raters, tuple(labels), codes, new_values, self.raters_known)

    def with_pairs(self) -> RatingTable:
        """Return the same table with the items that have two answers or more."""
        return self.subset(((self.codes != MISSING).sum(axis=1) > 1).tolist())


def numeric_values(labels: Sequence[str]) -> tuple[float, ...] | None:
    """Return the numbers that the labels spell, or None when one of them is no number."""
    try:
        values = tuple(float(label) for label in labels)
    except ValueError:
        return None
    return values if all(np.isfinite(values)) else None


def from_rows(
    rows: Sequence[Sequence[Hashable | None]],
    labels: Sequence[Hashable],
    *,
    raters: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    values: Sequence[float] | None = None,
) -> RatingTable:
    """Return the table of `rows` (one per item, one cell per rater, None = no answer).

    Raises:
        RatingsRefused: a label is off the declared scale, a row has another length, or a name occurs twice.
    """
    scale = _scale(labels)
    width = len(raters) if raters is not None else max((len(row) for row in rows), default=0)
    names = tuple(raters) if raters is not None else tuple(f"rater {i + 1}" for i in range(width))
    keys = tuple(items) if items is not None else tuple(str(i + 1) for i in range(len(rows)))
    _refuse_duplicates("rater", names)
    _refuse_duplicates("item", keys)
    position = {label: i for i, label in enumerate(scale)}
    codes = np.full((len(rows), width), MISSING, dtype=np.int64)
    for i, (key, row) in enumerate(zip(keys, rows, strict=True)):
        if len(row) != width:
            raise RatingsRefused(f"Item “{key}” has {len(row)} cells; {width} were expected, one per rater.")
        codes[i] = [MISSING if cell is None else _code(cell, position, key) for cell in row]
    return RatingTable(keys, names, scale, codes, _values(scale, values))


def from_long(
    triples: Iterable[tuple[str, str, Hashable]],
    labels: Sequence[Hashable],
    *,
    values: Sequence[float] | None = None,
) -> RatingTable:
    """Return the table of (item, rater, label) triples, items and raters in the order in which they first appear.

    Raises:
        RatingsRefused: a label is off the declared scale, or a rater answered an item twice.
    """
    scale = _scale(labels)
    position = {label: i for i, label in enumerate(scale)}
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    cells: dict[tuple[int, int], int] = {}
    for item, rater, label in triples:
        cell = rows.setdefault(item, len(rows)), columns.setdefault(rater, len(columns))
        if cell in cells:
            raise RatingsRefused(f"Rater “{rater}” labelled item “{item}” twice; keep one label.")
        cells[cell] = _code(label, position, item)
    codes = np.full((len(rows), len(columns)), MISSING, dtype=np.int64)
    if cells:
        positions = np.array(list(cells), dtype=np.int64)
        codes[positions[:, 0], positions[:, 1]] = np.fromiter(cells.values(), dtype=np.int64)
    return RatingTable(tuple(rows), tuple(columns), scale, codes, _values(scale, values))


def _scale(labels: Sequence[Hashable]) -> tuple[str, ...]:
    scale = tuple(str(label) for label in labels)
    if not scale:
        raise RatingsRefused("Declare the labels of the scale; agreement depends on how many there are.")
    _refuse_duplicates("label", scale)
    return scale


def _values(scale: tuple[str, ...], values: Sequence[float] | None) -> tuple[float, ...] | None:
    if values is None:
        return numeric_values(scale)
    if len(values) != len(scale):
        raise RatingsRefused(f"{len(values)} numbers were given for {len(scale)} labels.")
    return tuple(float(value) for value in values)


def _code(label: Hashable, position: dict[str, int], item: str) -> int:
    code = position.get(str(label))
    if code is None:
        raise RatingsRefused(f"Item “{item}” carries “{label}”, which is not on the scale: {', '.join(position)}.")
    return code


def _refuse_duplicates(kind: str, names: Sequence[str]) -> None:
    earlier: set[str] = set()
    for name in names:
        if name in earlier:
            raise RatingsRefused(f"The {kind} “{name}” occurs twice.")
        earlier.add(name)
