"""The answers behind an agreement report as a few columns, small enough to be kept beside it.

Half a million answers take about a megabyte, so every figure's items can be found again without asking the database.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from judging.statistics.coefficients.ratings import MISSING, RatingTable
from judging.statistics.estimates import Floats, Ints


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
