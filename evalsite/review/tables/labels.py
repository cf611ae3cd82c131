"""Reads labels that people gave elsewhere: one row per answer (item, rater, label), or one column per rater."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from evalsite.review.tables.rows import CellRow, Rows, problem, read_rows, remark
from judging.specs.files.problems import Parsed, Problem, Severity

ITEM_NAMES = ("item", "item_id", "idx", "id", "index", "case", "key", "unit", "example")
RATER_NAMES = ("rater", "annotator", "person", "coder", "judge", "observer", "user", "worker")
LABEL_NAMES = ("label", "rating", "answer", "score", "value", "category", "verdict", "code")
SYSTEM_NAMES = ("system", "model")
ATTEMPT_NAMES = ("attempt",)
RESPONSE_NAMES = ("response_id",)
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
    system: str = ""  # this one and the next two only where the labels are about responses of this site
    attempt: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True)
class AboutResponses:
    """What is known of labels that are about responses of this site."""

    criterion: str  # rows that name another one are left out
    rater: str  # who gave the labels of a table that does not say it


@dataclass(frozen=True, slots=True)
class RaterLabel:
    """What one rater said of one item."""

    rater: str
    label: str
    given_at: datetime | None
    location: str  # of its cell


@dataclass(frozen=True, slots=True)
class NamedResponse:
    """The response that a row is about: by its id, or by case, system and attempt."""

    location: str  # of the cell that names it
    response_id: str
    case: str
    system: str
    attempt: str  # empty: the only one


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One item with its labels in the order of the file."""

    key: str
    labels: tuple[RaterLabel, ...]
    response: NamedResponse | None = None
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

    @property
    def n_labels(self) -> int:
        """How many answers the table holds."""
        return sum(len(item.labels) for item in self.items)


def read_labels(
    data: bytes,
    name: str,
    *,
    columns: LabelColumns | None = None,
    labels: Sequence[str] = (),
    about: AboutResponses | None = None,
) -> Parsed[LabelFile]:
    """Return the labels of a file, its columns recognised by their names where they are not given.

    Declare the scale (`labels`) where a label may never have been used: chance-corrected figures depend on it. With
    `about`, an item is a response of this site, named by its id or by case, system and attempt.
    """
    parsed = read_rows(data, name)
    if parsed.value is None:
        return Parsed(None, parsed.problems)
    recognised = recognise(parsed.value, columns or LabelColumns(), about)
    if isinstance(recognised, str):
        hint = "Name the columns in the form, or rename them to item, rater and label."
        return Parsed(None, (*parsed.problems, problem(name, "line 1", recognised, hint=hint, code="label-columns")))
    reader = _LabelReader(name, recognised, tuple(labels), parsed.value, about)
    items = reader.wide() if recognised.raters else reader.long()
    raters = tuple(dict.fromkeys([*recognised.raters, *(label.rater for item in items for label in item.labels)]))
    problems = [*parsed.problems, *reader.problems]
    scale = tuple(labels) or in_order({label.label for item in items for label in item.labels})
    problems += _about_scale(name, scale, is_declared=bool(labels) or about is not None)
    if any(row.severity is Severity.ERROR for row in problems):
        return Parsed(None, tuple(problems))
    return Parsed(LabelFile(recognised, scale, raters, tuple(items)), tuple(problems))


def recognise(table: Rows, named: LabelColumns, about: AboutResponses | None = None) -> LabelColumns | str:
    """Return which column means what, or the sentence that says why it cannot be told."""
    names = {name.lower(): name for name in table.columns}
    unknown = [name for name in (named.item, named.rater, named.label, named.at, *named.raters) if name]
    unknown = [name for name in unknown if name not in table.columns]
    if unknown:
        return f"There is no column {unknown[0]!r}. The columns are: {', '.join(table.columns)}."
    columns = LabelColumns(
        item=named.item or _first(names, ITEM_NAMES),
        rater=named.rater or _first(names, RATER_NAMES),
        label=named.label or _first(names, LABEL_NAMES),
        at=named.at or _first(names, TIME_NAMES),
    )
    if about is not None:
        response, system = _first(names, RESPONSE_NAMES), _first(names, SYSTEM_NAMES)
        columns = replace(columns, response=response, system=system, attempt=_first(names, ATTEMPT_NAMES))
        if not response and not (columns.item and system):
            return "No columns name the responses: use response_id, or case and system."
    if named.raters:
        return replace(columns, rater="", label="", at="", raters=named.raters)
    names_item = bool(columns.item or columns.response)
    if names_item and columns.rater and columns.label:
        return columns
    wide = tuple(name for name in table.columns if RATER_COLUMN.match(name) and name != columns.item)
    if len(wide) >= (2 if about is None else 1):
        return replace(columns, rater="", label="", at="", raters=wide)
    if names_item and columns.label and about is not None and about.rater:
        return columns
    return "No columns for item, rater and label were recognised."


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Return labels as numbers where all are numbers, else by the alphabet."""
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))


def _first(names: Mapping[str, str], aliases: Sequence[str]) -> str:
    return next((names[name] for name in aliases if name in names), "")


def _about_scale(name: str, scale: Sequence[str], *, is_declared: bool) -> list[Problem]:
    if not scale:
        return [problem(name, "", "There is no label in this table.", code="no-labels")]
    if len(scale) > MOST_LABELS:
        text = f"There are {len(scale)} different labels; a scale has at most {MOST_LABELS}."
        return [problem(name, "", text, hint="Check that the label column is the right one.", code="too-many-labels")]
    if not is_declared:
        text = f"The scale is taken from the labels used: {', '.join(scale)}."
        hint = "Declare the scale if a possible label was never given: AC1 and Brennan-Prediger depend on it."
        return [Problem(Severity.WARNING, name, "", text, "", hint, "scale-from-use")]
    return []


@dataclass(slots=True)
class _LabelReader:
    file: str
    columns: LabelColumns
    declared: tuple[str, ...]
    table: Rows
    about: AboutResponses | None
    problems: list[Problem] = field(default_factory=list)
    others: int = 0  # rows about another criterion

    def error(self, location: str, message: str, *, offending: str = "", code: str = "") -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem(self.file, location, message, offending=offending, code=code))

    def rows(self) -> Iterator[tuple[CellRow, str, NamedResponse | None]]:
        """Yield the rows that are about the criterion, with the key of their item."""
        criterion = _first({name.lower(): name for name in self.table.columns}, GROUPS["criterion"])
        for number, row in enumerate(self.table.rows, start=1):
            named = row.cells.get(criterion, "")
            if self.about is not None and self.about.criterion and named not in ("", self.about.criterion):
                self.others += 1
                continue
            response = self._response(row)
            key = row.cells.get(self.columns.item, "") if self.columns.item else str(number)
            if response is not None:
                key = response.response_id or " · ".join(
                    filter(None, (response.case, response.system, response.attempt))
                )
            if self._fits(row, self.columns.item or self.columns.response, key, "item", KEY_LIMIT):
                yield row, key, response
        if self.others and self.about is not None:
            text = f"{self.others:,} rows are about other criteria than {self.about.criterion!r} and are left out."
            self.problems.append(remark(self.file, "", text, code="other-criterion"))

    def _response(self, row: CellRow) -> NamedResponse | None:
        if self.about is None:
            return None
        columns = self.columns
        texts = {name: row.cells.get(getattr(columns, name), "") for name in ("response", "item", "system", "attempt")}
        location = self.table.location_of(
            row, columns.response if texts["response"] else columns.system or columns.item
        )
        return NamedResponse(location, texts["response"], texts["item"], texts["system"], texts["attempt"])

    def wide(self) -> list[LabelledRow]:
        """Return one item per row."""
        items: list[LabelledRow] = []
        counts: Counter[str] = Counter()
        for row, key, response in self.rows():
            counts[key] += 1
            if counts[key] == 2:
                location = self.table.location_of(row, self.columns.item)
                self.error(location, f"The item {key!r} occurs twice.", offending=key, code="twin-item")
            cells = [(rater, self._label(row, rater)) for rater in self.columns.raters]
            labels = [
                RaterLabel(rater, label, None, self.table.location_of(row, rater)) for rater, label in cells if label
            ]
            items.append(self._item(key, labels, row.cells, response))
        return items

    def long(self) -> list[LabelledRow]:
        """Return the items in the order in which they first appear."""
        groups: dict[str, dict[str, RaterLabel]] = {}
        first: dict[str, tuple[CellRow, NamedResponse | None]] = {}
        columns = self.columns
        for row, key, response in self.rows():
            rater = (
                row.cells.get(columns.rater, "")
                if columns.rater
                else self.about.rater
                if self.about is not None
                else ""
            )
            if not self._fits(row, columns.rater, rater, "rater", RATER_LIMIT):
                continue
            first.setdefault(key, (row, response))
            by_rater = groups.setdefault(key, {})
            label, location = self._label(row, columns.label), self.table.location_of(row, columns.label)
            if rater in by_rater:
                text = f"{rater!r} labelled the item {key!r} twice; the other is at {by_rater[rater].location}."
                self.error(location, text, offending=label, code="twin-label")
            elif label:
                by_rater[rater] = RaterLabel(rater, label, self._moment(row), location)
        return [
            self._item(key, list(by_rater.values()), first[key][0].cells, first[key][1])
            for key, by_rater in groups.items()
        ]

    def _item(
        self, key: str, labels: Sequence[RaterLabel], cells: Mapping[str, str], response: NamedResponse | None
    ) -> LabelledRow:
        names = {name.lower(): name for name in cells}
        groups = {group: _first(names, aliases) for group, aliases in GROUPS.items()}
        columns = self.columns
        used = {columns.item, columns.rater, columns.label, columns.at, *columns.raters, *groups.values()}
        used |= {columns.response, columns.system, columns.attempt}
        return LabelledRow(
            key=key,
            labels=tuple(labels),
            response=response,
            details={name: text[:2000] for name, text in cells.items() if name not in used},
            **{group: cells[name][:GROUP_LIMIT] for group, name in groups.items() if name},
        )

    def _fits(self, row: CellRow, column: str, text: str, what: str, limit: int) -> bool:
        location = self.table.location_of(row, column)
        if not text:
            self.error(location, f"The row does not name the {what}.", code=f"no-{what}")
        elif len(text) > limit:
            self.error(location, f"The {what} has more than {limit} characters.", offending=text, code=f"long-{what}")
        return 0 < len(text) <= limit

    def _label(self, row: CellRow, column: str) -> str:
        label, location = row.cells.get(column, "").strip(), self.table.location_of(row, column)
        if label.lower() in MISSING_WORDS and label not in self.declared:
            return ""
        if self.declared and label not in self.declared:
            self.error(
                location, f"The label {label!r} is not on the declared scale.", offending=label, code="off-scale"
            )
            return ""
        if len(label) > LABEL_LIMIT:
            text = f"A label has at most {LABEL_LIMIT} characters."
            self.error(location, text, offending=label, code="long-label")
            return ""
        return label

    def _moment(self, row: CellRow) -> datetime | None:
        text = row.cells.get(self.columns.at, "") if self.columns.at else ""
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            words = "The time is not in the form 2026-01-31 or 2026-01-31T12:00."
            self.error(self.table.location_of(row, self.columns.at), words, offending=text, code="time")
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
