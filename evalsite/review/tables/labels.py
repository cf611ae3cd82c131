"""Reads labels that people gave elsewhere: one row per answer (item, rater, label), or one column per rater."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from evalsite.review.tables.rows import Row, Rows, problem, read_rows
from judging.specs.problems import Parsed, Problem, Severity

ITEM_NAMES = ("item", "item_id", "idx", "id", "index", "case", "key", "unit", "example")
RATER_NAMES = ("rater", "annotator", "person", "coder", "judge", "observer", "user", "worker")
LABEL_NAMES = ("label", "rating", "answer", "score", "value", "category", "verdict", "code")
TIME_NAMES = ("at", "given_at", "answered_at", "created_at", "time", "timestamp", "date")
GROUPS = {"criterion": ("criterion",), "scenario": ("scenario", "task", "domain"), "language": ("language", "lang")}
RATER_COLUMN = re.compile(r"^(annotator|rater|coder|judge|person|observer|human)[ _-]?\w{0,40}$", re.IGNORECASE)
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "*", ".", "?", "-"})
MOST_LABELS = 50
LABEL_LIMIT, RATER_LIMIT, KEY_LIMIT, GROUP_LIMIT = 20, 150, 200, 100
MOST_PROBLEMS = 200


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Which column means what. `raters` makes a wide table; without them `rater` and `label` make a long one."""

    item: str = ""
    rater: str = ""
    label: str = ""
    at: str = ""
    raters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One item; `labels` are (rater, label, when) in the order of the file."""

    key: str
    labels: tuple[tuple[str, str, datetime | None], ...]
    criterion: str = ""
    scenario: str = ""
    language: str = ""
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """A table of labels as read. `labels` is the declared scale, or the labels used where none was declared."""

    columns: LabelColumns
    labels: tuple[str, ...]
    raters: tuple[str, ...]
    items: tuple[LabelledRow, ...]
    is_declared: bool

    @property
    def n_labels(self) -> int:
        """How many answers the table holds."""
        return sum(len(item.labels) for item in self.items)


def read_labels(
    data: bytes, name: str, *, columns: LabelColumns | None = None, labels: Sequence[str] = ()
) -> Parsed[LabelFile]:
    """Return the labels of a file, its columns recognised by their names where they are not given.

    Declare the scale (`labels`) where a label may never have been used: chance-corrected figures depend on it.
    """
    parsed = read_rows(data, name)
    if parsed.value is None:
        return Parsed(None, parsed.problems)
    found = recognise(parsed.value, columns or LabelColumns())
    if isinstance(found, str):
        hint = "Name the columns yourself, or rename them to item, rater and label."
        return Parsed(None, (*parsed.problems, problem(name, "line 1", found, hint=hint, code="label-columns")))
    reader = _Reader(name, found, tuple(labels))
    items = reader.wide(parsed.value) if found.raters else reader.long(parsed.value)
    raters = tuple(dict.fromkeys([*found.raters, *(rater for item in items for rater, _, _ in item.labels)]))
    problems = [*parsed.problems, *reader.problems]
    scale = tuple(labels) or in_order({label for item in items for _, label, _ in item.labels})
    problems += _about_scale(name, scale, is_declared=bool(labels))
    if any(one.severity is Severity.ERROR for one in problems):
        return Parsed(None, tuple(problems))
    return Parsed(LabelFile(found, scale, raters, tuple(items), bool(labels)), tuple(problems))


def recognise(table: Rows, given: LabelColumns) -> LabelColumns | str:
    """Return which column means what, or the sentence that says why it cannot be told."""
    names = {name.lower(): name for name in table.columns}
    unknown = [name for name in (given.item, given.rater, given.label, given.at, *given.raters) if name]
    unknown = [name for name in unknown if name not in table.columns]
    if unknown:
        return f"There is no column {unknown[0]!r}. The columns are: {', '.join(table.columns)}."
    item = given.item or _first(names, ITEM_NAMES)
    rater = given.rater or _first(names, RATER_NAMES)
    label = given.label or _first(names, LABEL_NAMES)
    at = given.at or _first(names, TIME_NAMES)
    if given.raters:
        return LabelColumns(item=item, raters=given.raters)
    if item and rater and label:
        return LabelColumns(item, rater, label, at)
    wide = tuple(name for name in table.columns if RATER_COLUMN.match(name) and name != item)
    if len(wide) >= 2:
        return LabelColumns(item=item, raters=wide)
    return "The columns do not say who gave which label to what."


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Return labels as numbers where all are numbers, else by the alphabet."""
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))


def _first(names: Mapping[str, str], wanted: Sequence[str]) -> str:
    return next((names[name] for name in wanted if name in names), "")


def _about_scale(name: str, scale: Sequence[str], *, is_declared: bool) -> list[Problem]:
    if not scale:
        return [problem(name, "", "There is no label in this table.", code="no-labels")]
    if len(scale) > MOST_LABELS:
        text = f"There are {len(scale)} different labels; at most {MOST_LABELS} make a scale."
        return [problem(name, "", text, hint="Is the label column the right one?", code="too-many-labels")]
    if not is_declared:
        text = f"The scale is taken from the labels used: {', '.join(scale)}."
        hint = "Declare the scale if a label was possible but never given: AC1 and Brennan-Prediger depend on it."
        return [Problem(Severity.WARNING, name, "", text, "", hint, "scale-from-use")]
    return []


@dataclass(slots=True)
class _Reader:
    file: str
    columns: LabelColumns
    declared: tuple[str, ...]
    problems: list[Problem] = field(default_factory=list)

    def error(self, row: Row, message: str, *, offending: str = "", code: str = "") -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem(self.file, row.place, message, offending=offending, code=code))

    def wide(self, table: Rows) -> list[LabelledRow]:
        """Return one item per row."""
        items: list[LabelledRow] = []
        seen: Counter[str] = Counter()
        for number, row in enumerate(table.rows, start=1):
            key = row.cells.get(self.columns.item, "") if self.columns.item else str(number)
            if not self._fits(row, key, "item", KEY_LIMIT):
                continue
            seen[key] += 1
            if seen[key] == 2:
                self.error(row, f"The item {key!r} occurs twice.", offending=key, code="twin-item")
            given = [(rater, self._label(row, row.cells.get(rater, ""))) for rater in self.columns.raters]
            labels = tuple((rater, label, None) for rater, label in given if label)
            items.append(self._item(key, labels, row.cells))
        return items

    def long(self, table: Rows) -> list[LabelledRow]:
        """Return the items in the order in which they first appear."""
        groups: dict[str, dict[str, tuple[str, datetime | None]]] = {}
        first: dict[str, Row] = {}
        for row in table.rows:
            key, rater = row.cells.get(self.columns.item, ""), row.cells.get(self.columns.rater, "")
            if not (self._fits(row, key, "item", KEY_LIMIT) and self._fits(row, rater, "rater", RATER_LIMIT)):
                continue
            first.setdefault(key, row)
            given = groups.setdefault(key, {})
            label = self._label(row, row.cells.get(self.columns.label, ""))
            if rater in given:
                text = f"{rater!r} labelled the item {key!r} twice; keep one."
                self.error(row, text, offending=key, code="twin-label")
            elif label:
                given[rater] = (label, self._moment(row))
        return [
            self._item(key, tuple((rater, *answer) for rater, answer in given.items()), first[key].cells)
            for key, given in groups.items()
        ]

    def _item(
        self, key: str, labels: tuple[tuple[str, str, datetime | None], ...], cells: Mapping[str, str]
    ) -> LabelledRow:
        names = {name.lower(): name for name in cells}
        groups = {group: _first(names, wanted) for group, wanted in GROUPS.items()}
        own = self.columns
        used = {own.item, own.rater, own.label, own.at, *own.raters, *groups.values()}
        return LabelledRow(
            key=key,
            labels=labels,
            details={name: text[:2000] for name, text in cells.items() if name not in used},
            **{group: cells[name][:GROUP_LIMIT] for group, name in groups.items() if name},
        )

    def _fits(self, row: Row, text: str, what: str, limit: int) -> bool:
        if not text:
            self.error(row, f"The row does not name the {what}.", code=f"no-{what}")
        elif len(text) > limit:
            self.error(row, f"The {what} has more than {limit} characters.", offending=text, code=f"long-{what}")
        return 0 < len(text) <= limit

    def _label(self, row: Row, text: str) -> str:
        label = text.strip()
        if label.lower() in MISSING_WORDS and label not in self.declared:
            return ""
        if self.declared and label not in self.declared:
            self.error(row, f"The label {label!r} is not on the declared scale.", offending=label, code="off-scale")
            return ""
        if len(label) > LABEL_LIMIT:
            text = f"A label has at most {LABEL_LIMIT} characters."
            self.error(row, text, offending=label, code="long-label")
            return ""
        return label

    def _moment(self, row: Row) -> datetime | None:
        text = row.cells.get(self.columns.at, "") if self.columns.at else ""
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.error(row, "The time is not in the form 2026-01-31 or 2026-01-31T12:00.", offending=text, code="time")
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
