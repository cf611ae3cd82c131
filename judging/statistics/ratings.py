"""A table of labels: items in rows, raters in columns, gaps allowed, the label scale declared beforehand."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from judging.statistics.estimates import ONE_UNIT, Estimate, Floats, Interval, Ints, t_quantile, with_interval

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
        items = tuple(compress(self.items, mask.tolist()))
        return RatingTable(items, self.raters, self.labels, self.codes[mask], self.values, self.raters_known)

    def of_raters(self, columns: Sequence[int]) -> RatingTable:
        """Return the same table with the chosen columns only."""
        raters = tuple(self.raters[column] for column in columns)
        codes = self.codes[:, list(columns)]
        return RatingTable(self.items, raters, self.labels, codes, self.values, self.raters_known)

    def on_scale(self, labels: Sequence[str], values: Sequence[float] | None) -> RatingTable:
        """Return the same answers on another scale; those that it does not have are missing."""
        position = {label: code for code, label in enumerate(labels)}
        codes = np.array([*(position.get(label, MISSING) for label in self.labels), MISSING])[self.codes]
        new_values = None if values is None else tuple(values)
        return RatingTable(self.items, self.raters, tuple(labels), codes, new_values, self.raters_known)

    def nameless(self) -> RatingTable:
        """Return the same answers without their raters' names, of which no pairs are compared."""
        return RatingTable(self.items, self.raters, self.labels, self.codes, self.values, raters_known=False)

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


def from_long(triples: Iterable[tuple[str, str, Hashable]], labels: Sequence[Hashable]) -> RatingTable:
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
    return RatingTable(tuple(rows), tuple(columns), scale, codes, numeric_values(scale))


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


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Which of `names` each item belongs to: a criterion, a scenario, a period; -1 where it is not known."""

    names: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, names: Sequence[str]) -> Grouping:
        """Return the grouping of items by their names."""
        group_names = tuple(sorted(set(names)))
        code_of = {name: code for code, name in enumerate(group_names)}
        return cls(group_names, np.array([code_of[name] for name in names], dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Acts of people on items that are no blind answers: a skip, a revision, an answer given again."""

    items: Ints  # keys of items
    people: tuple[str, ...]  # who, one for each

    @classmethod
    def of(cls, rows: Iterable[tuple[int, str]]) -> Events:
        """Return events from (item, person)."""
        pairs = list(rows)
        return cls(np.array([item for item, _ in pairs], dtype=np.int64), tuple(name for _, name in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRows:
    """The answered cells of a rating table in the order of its rows, and what else a report counts."""

    items: Ints  # keys of items, ascending; shape (items,)
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    rows: Ints  # place of the answer's item; shape (answers,)
    columns: Ints  # place of the answer's rater
    codes: Ints  # place of the answer's label
    order: Ints  # places of the items, the most disputed first
    groups: Mapping[str, Grouping] = field(default_factory=dict)
    events: Mapping[str, Events] = field(default_factory=dict)

    def given(self) -> Ints:
        """Return how many raters answered each item, shape (items,)."""
        return np.bincount(self.rows, minlength=len(self.items)).astype(np.int64)

    def counts(self) -> Ints:
        """Return how many raters gave each label to each item, shape (items, labels)."""
        n_items, n_labels = len(self.items), len(self.labels)
        cells = np.bincount(self.rows * n_labels + self.codes, minlength=n_items * n_labels)
        return cells.reshape(n_items, n_labels).astype(np.int64)

    def column(self, rater: str) -> Ints:
        """Return one rater's codes, -1 where they gave no answer. Raises: KeyError for a rater without answers."""
        if rater not in self.raters:
            raise KeyError(rater)
        by_rater = self.columns == self.raters.index(rater)
        codes = np.full(len(self.items), MISSING, dtype=np.int64)
        codes[self.rows[by_rater]] = self.codes[by_rater]
        return codes

    def answers_of(self, keys: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
        """Return (rater, label) of every answer to each of these items, by key."""
        by_item: dict[int, list[tuple[str, str]]] = {}
        for key in keys:
            index = int(np.searchsorted(self.items, key))
            if index == len(self.items) or self.items[index] != key:
                by_item[key] = []
                continue
            start, end = np.searchsorted(self.rows, (index, index + 1))
            cells = zip(self.columns[start:end].tolist(), self.codes[start:end].tolist(), strict=True)
            by_item[key] = [(self.raters[column], self.labels[code]) for column, code in cells]
        return by_item


def rows_of_table(table: RatingTable, *, groups: Mapping[str, Grouping], events: Mapping[str, Events]) -> AnswerRows:
    """Return the answered cells of a table whose items are named by ascending keys."""
    rows, columns = np.nonzero(table.codes != MISSING)
    return AnswerRows(
        items=np.array([int(item) for item in table.items], dtype=np.int64),
        raters=table.raters,
        labels=table.labels,
        rows=rows,
        columns=columns,
        codes=table.codes[rows, columns],
        order=np.argsort(-disagreement(table.counts()), kind="stable"),
        groups=groups,
        events=events,
    )


def disagreement(counts: Ints) -> Floats:
    """Return the share of each item's answer pairs that differ, 0 where there is no pair; counts by (item, label)."""
    per_item = counts.sum(axis=1)
    pairs = np.maximum(per_item * (per_item - 1), 1)
    differing: Floats = np.where(per_item >= 2, 1 - (counts * (counts - 1)).sum(axis=1) / pairs, 0.0)
    return differing


def pack(rows: AnswerRows) -> bytes:
    """Return the rows as bytes for `unpack`: ascending columns as steps, each in the narrowest type that holds it."""
    columns = {
        "items": _narrow(np.diff(rows.items, prepend=0)),
        "raters": _texts(rows.raters),
        "labels": _texts(rows.labels),
        "rows": _narrow(np.diff(rows.rows, prepend=0)),
        "columns": _narrow(rows.columns),
        "codes": _narrow(rows.codes),
        "order": _narrow(rows.order),
    }
    for name, group in rows.groups.items():
        columns |= {f"groups.{name}.names": _texts(group.names), f"groups.{name}.codes": _narrow(group.codes + 1)}
    for name, event in rows.events.items():
        columns |= {f"events.{name}.items": event.items, f"events.{name}.people": _texts(event.people)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **columns)
    return buffer.getvalue()


def unpack(data: bytes) -> AnswerRows:
    """Return the rows that `pack` made these bytes of."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        columns = {name: archive[name] for name in archive.files}
    groups = {
        name: Grouping(_words(columns[f"groups.{name}.names"]), columns[f"groups.{name}.codes"].astype(np.int64) - 1)
        for name in _named(columns, "groups")
    }
    events = {
        name: Events(columns[f"events.{name}.items"], _words(columns[f"events.{name}.people"]))
        for name in _named(columns, "events")
    }
    return AnswerRows(
        items=np.cumsum(columns["items"], dtype=np.int64),
        raters=_words(columns["raters"]),
        labels=_words(columns["labels"]),
        rows=np.cumsum(columns["rows"], dtype=np.int64),
        columns=columns["columns"].astype(np.int64),
        codes=columns["codes"].astype(np.int64),
        order=columns["order"].astype(np.int64),
        groups=groups,
        events=events,
    )


def _named(columns: Iterable[str], kind: str) -> list[str]:
    return sorted({name.split(".")[1] for name in columns if name.startswith(f"{kind}.")})


def _narrow(values: Ints) -> Ints:
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _texts(words: Sequence[str]) -> np.typing.NDArray[np.str_]:
    return np.array(words, dtype=np.str_) if words else np.zeros(0, dtype="U1")


def _words(texts: np.typing.NDArray[np.str_]) -> tuple[str, ...]:
    return tuple(str(text) for text in texts.tolist())


class NoSuchCell(LookupError):
    """The report has no figure of this name, person, group or label; the message says which."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a report: what it counts, and of which group, people and labels."""

    show: str
    by: str = ""  # a grouping: criterion, scenario, language or period
    name: str = ""  # the group
    first: str = ""  # a person
    second: str = ""
    one: str = ""  # a label; of the first person where there are two
    other: str = ""


def items_of_cell(rows: AnswerRows, cell: Cell) -> tuple[Ints, Ints]:
    """Return the items behind a cell, the most disputed first, with what each adds to its figure, which is the sum.

    Raises:
        NoSuchCell: the report has none of this kind, or not of this person or group.
    """
    if cell.show in rows.events:
        return _acts(rows, cell)
    if cell.show not in COUNTED:
        raise NoSuchCell(f"This report has no figure “{cell.show}”.")
    weights = (COUNTED[cell.show](rows, cell) * _in_group(rows, cell)).astype(np.int64)[rows.order]
    is_counted = weights > 0
    return rows.items[rows.order[is_counted]], weights[is_counted]


def pair_counts(rows: AnswerRows, first: str, second: str) -> Ints:
    """Return how many items carry each label of the first person and each of the second, shape (labels, labels).

    Raises: NoSuchCell for somebody without answers.
    """
    first_codes, second_codes = _column(rows, first), _column(rows, second)
    both = (first_codes != MISSING) & (second_codes != MISSING)
    n = len(rows.labels)
    return np.bincount(first_codes[both] * n + second_codes[both], minlength=n * n).reshape(n, n).astype(np.int64)


def _acts(rows: AnswerRows, cell: Cell) -> tuple[Ints, Ints]:
    event = rows.events[cell.show]
    is_by_person = np.array([not cell.first or person == cell.first for person in event.people], dtype=bool)
    items, weights = np.unique(event.items[is_by_person], return_counts=True)
    ranks = {int(item): rank for rank, item in enumerate(rows.items[rows.order].tolist())}
    order = np.argsort([ranks.get(item, len(ranks)) for item in items.tolist()], kind="stable")
    return items[order], weights[order].astype(np.int64)


def _in_group(rows: AnswerRows, cell: Cell) -> Ints:
    if not cell.by:
        return np.ones(len(rows.items), dtype=np.int64)
    group = rows.groups.get(cell.by)
    if group is None or cell.name not in group.names:
        raise NoSuchCell(f"No item belongs to {cell.by} “{cell.name}”.")
    return _whole(np.equal(group.codes, group.names.index(cell.name)))


def _column(rows: AnswerRows, person: str) -> Ints:
    try:
        return rows.column(person)
    except KeyError as unknown:
        raise NoSuchCell(f"“{person}” has no annotations here.") from unknown


def _label(rows: AnswerRows, label: str) -> int:
    if label not in rows.labels:
        raise NoSuchCell(f"“{label}” is not on the scale.")
    return rows.labels.index(label)


def _whole(amounts: ArrayLike) -> Ints:
    """Return how much each item adds to a figure: 1 for True."""
    return np.asarray(amounts, dtype=np.int64)


def _answers(rows: AnswerRows, cell: Cell) -> Ints:
    return rows.given()


def _single(rows: AnswerRows, cell: Cell) -> Ints:
    return _whole(np.equal(rows.given(), 1))


def _pairable(rows: AnswerRows, cell: Cell) -> Ints:
    return _whole(np.greater_equal(rows.given(), 2))


def _unanimous(rows: AnswerRows, cell: Cell) -> Ints:
    per_item = rows.given()
    return _whole(np.logical_and(per_item >= 2, rows.counts().max(axis=1, initial=0) == per_item))


def _no_majority(rows: AnswerRows, cell: Cell) -> Ints:
    per_item = rows.given()
    return _whole(np.logical_and(per_item >= 2, 2 * rows.counts().max(axis=1, initial=0) <= per_item))


def _disputed(rows: AnswerRows, cell: Cell) -> Ints:
    return _whole(np.less(rows.counts().max(axis=1, initial=0), rows.given()))


def _person(rows: AnswerRows, cell: Cell) -> Ints:
    return _whole(np.not_equal(_column(rows, cell.first), MISSING))


def _pair(rows: AnswerRows, cell: Cell) -> Ints:
    """Items that two people answered; with labels, those on which the first said `one` and the second `other`."""
    first_codes, second_codes = _column(rows, cell.first), _column(rows, cell.second)
    both = np.logical_and(first_codes != MISSING, second_codes != MISSING)
    if cell.one:
        both = np.logical_and(both, first_codes == _label(rows, cell.one))
    if cell.other:
        both = np.logical_and(both, second_codes == _label(rows, cell.other))
    return _whole(both)


def _pair_differs(rows: AnswerRows, cell: Cell) -> Ints:
    return _whole(np.logical_and(_pair(rows, cell), _column(rows, cell.first) != _column(rows, cell.second)))


def _together(rows: AnswerRows, cell: Cell) -> Ints:
    """Ordered pairs of answers on an item that carry the two labels."""
    label, other_label = _label(rows, cell.one), _label(rows, cell.other)
    counts = rows.counts()
    return _whole(np.multiply(counts[:, label], counts[:, other_label] - (label == other_label)))


def _rest(rows: AnswerRows, cell: Cell) -> Ints:
    """Items that a person answered and on which more than half of the others gave one label."""
    codes, counts = _column(rows, cell.first), _others(rows, cell)
    return _whole(np.logical_and(codes != MISSING, 2 * counts.max(axis=1, initial=0) > counts.sum(axis=1)))


def _rest_differs(rows: AnswerRows, cell: Cell) -> Ints:
    return _whole(np.logical_and(_rest(rows, cell), _others(rows, cell).argmax(axis=1) != _column(rows, cell.first)))


def _others(rows: AnswerRows, cell: Cell) -> Ints:
    """Return how many others gave each label to each item, shape (items, labels)."""
    codes, counts = _column(rows, cell.first), rows.counts()
    answered = np.flatnonzero(codes != MISSING)
    counts[answered, codes[answered]] -= 1
    return counts


COUNTED: dict[str, Callable[[AnswerRows, Cell], Ints]] = {
    "answers": _answers,
    "single": _single,
    "pairable": _pairable,
    "unanimous": _unanimous,
    "no-majority": _no_majority,
    "disputed": _disputed,
    "person": _person,
    "pair": _pair,
    "pair-differs": _pair_differs,
    "together": _together,
    "rest": _rest,
    "rest-differs": _rest_differs,
}


Features = Any  # a dense or a sparse (scipy, untyped) matrix of shape (distinct items, sums)
Figure = Callable[[Floats], Floats]  # of sums, shape (any, sums), to figures, shape (any,)

PSEUDO_ITEMS = 2  # spread evenly over all pairs of labels
STEP = 1e-4  # of a sum, to differentiate a figure by it
ROUNDING = 1e-12  # by so much sums of halves and thirds leave the ends of a range
SUMS_AT_ONCE = 4_000_000  # bounds memory: 32 MB


def pair_rows(n_labels: int) -> tuple[Ints, Floats]:
    """Return the pseudo-items of a scale: two answers each, every label as likely as any other.

    Every unordered pair of labels is a row of label counts, with how many of PSEUDO_ITEMS have it.
    """
    first, second = np.triu_indices(n_labels)
    rows = np.zeros((len(first), n_labels), dtype=np.int64)
    np.add.at(rows, (np.arange(len(first)), first), 1)
    np.add.at(rows, (np.arange(len(first)), second), 1)
    return rows, np.where(first == second, 1.0, 2.0) * PSEUDO_ITEMS / n_labels**2


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
        value = float(figure(self.totals)[0])
        value = next((end for end in (lowest, 1.0) if abs(value - end) < ROUNDING), value)
        return with_interval(value, self.interval(figure, n=n, lowest=lowest), n=n)

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
        small = (matrix - low).astype(np.min_scalar_type(base))  # rows of few bytes are compared fast
        rows, which, multiplicity = np.unique(small, axis=0, return_inverse=True, return_counts=True)
        return Profiles(rows.astype(np.int64) + low, multiplicity, which.reshape(-1))
    powers = base ** np.arange(matrix.shape[1] - 1, -1, -1, dtype=np.int64)
    _, first, which, multiplicity = np.unique(
        (matrix - low) @ powers, return_index=True, return_inverse=True, return_counts=True
    )
    return Profiles(matrix[first], multiplicity, which)


def count_profiles(table: RatingTable) -> Profiles:
    """Return the distinct rows of label counts among the items that somebody answered."""
    counts = table.counts()
    return distinct_rows(counts[counts.sum(axis=1) > 0])


def item_features(profiles: Profiles) -> ItemSums:
    """Return what each distinct row of label counts (every row has an answer) adds to the sums behind percent
    agreement, Fleiss, AC1 and Brennan-Prediger.

    Columns of `features`: agreeing share of the item's pairs (0 when it has no pair); 1 when it has a pair; 1 when it
    is rated at all; then for each label the share of the item's raters who chose it.
    """
    pseudo, weights = pair_rows(profiles.rows.shape[1])
    features = _features(profiles.rows)
    return ItemSums(features, profiles.multiplicity, _features(pseudo), weights)


def pairable_items(items: ItemSums) -> int:
    """Return how many items of `item_features` have two answers or more."""
    return int(items.totals[0, 1])


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
