"""Which items stand behind a figure of an agreement report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from judging.statistics.coefficients.answer_rows import AnswerRows
from judging.statistics.coefficients.ratings import MISSING
from judging.statistics.estimates import Ints


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


@dataclass(frozen=True, slots=True, eq=False)
class ItemList:
    """Items behind a figure, the most disputed first, with what each adds to it. The weights' sum is the figure."""

    items: Ints
    weights: Ints

    @property
    def total(self) -> int:
        """The figure."""
        return int(self.weights.sum())


def items_of_cell(rows: AnswerRows, cell: Cell) -> ItemList:
    """Return the items behind a cell. Raises: NoSuchCell."""
    if cell.show in rows.events:
        return _acts(rows, cell)
    if cell.show not in COUNTED:
        raise NoSuchCell(f"This report has no figure “{cell.show}”.")
    weights = (COUNTED[cell.show](rows, cell) * _in_group(rows, cell)).astype(np.int64)[rows.order]
    is_counted = weights > 0
    return ItemList(rows.items[rows.order[is_counted]], weights[is_counted])


def pair_counts(rows: AnswerRows, first: str, second: str) -> Ints:
    """Return how many items carry each label of the first person and each of the second, shape (labels, labels).

    Raises: NoSuchCell for somebody without answers.
    """
    first_codes, second_codes = _column(rows, first), _column(rows, second)
    both = (first_codes != MISSING) & (second_codes != MISSING)
    n = len(rows.labels)
    return np.bincount(first_codes[both] * n + second_codes[both], minlength=n * n).reshape(n, n).astype(np.int64)


def _acts(rows: AnswerRows, cell: Cell) -> ItemList:
    event = rows.events[cell.show]
    is_by_person = np.array([not cell.first or person == cell.first for person in event.people], dtype=bool)
    items, weights = np.unique(event.items[is_by_person], return_counts=True)
    ranks = {int(item): rank for rank, item in enumerate(rows.items[rows.order].tolist())}
    order = np.argsort([ranks.get(item, len(ranks)) for item in items.tolist()], kind="stable")
    return ItemList(items[order], weights[order].astype(np.int64))


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
