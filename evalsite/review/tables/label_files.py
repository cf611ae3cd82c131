"""Labels that people gave elsewhere: tables by label or by rater, and the files of annotation tools. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evalsite.base.types import as_text
from evalsite.review.questions.scales import COMPARED, PREFERENCE, Label, label_on, labels_in_order, scale_of_labels
from judging.specs.files.findings import Problem, Severity, said_once, shorten
from judging.specs.records import names
from judging.specs.records.collected import Collected
from judging.specs.records.file_records import (
    FileRecords,
    ParsedFile,
    columns_in,
    problem,
    read_file,
    remark,
    said_of_columns,
)
from judging.specs.records.names import Holds
from judging.specs.records.neutral import (
    PREFERENCE_NUMBERS,
    Giver,
    LabelRecord,
    Place,
    PreferenceRecord,
    ResponseRecord,
)
from judging.specs.records.parts import RecordOptions
from judging.specs.records.values import moment_of
from judging.specs.types import UNKNOWN_SCALE, Scale
from judging.stored_content import turned_label

MOST_LABELS = 50
NO_LABELS = "There is no label in this table."
LABEL_LIMIT, GROUP_LIMIT, DETAIL_LIMIT = 200, 100, 2_000
RESPONSE_ID = "response_id"  # as this site's exports name it
PREFERENCE_VALUES = {choice: str(number) for choice, number in PREFERENCE_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class RaterLabel:
    """What one rater said of one item."""

    rater: str  # empty: the file names nobody
    label: str
    given_at: datetime | None
    location: str  # of its row
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NamedResponse:
    """The response that a row is about: by its id, or by case, system and attempt."""

    location: str  # of the row that names it
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
    about: Mapping[str, str] = field(default_factory=dict)  # case, a and b, of two systems that the file names


@dataclass(frozen=True, slots=True)
class LabelSheet:
    """Labels on one scale: all of a file, or those under one criterion."""

    labels: tuple[Label, ...]  # the scale: declared, as the file says it, or of the labels used
    raters: tuple[str, ...]
    items: tuple[LabelledRow, ...]
    criterion: str = ""  # where the file has a sheet for each

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return sum(len(item.labels) for item in self.items)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """The labels of a file."""

    sheets: tuple[LabelSheet, ...]

    @property
    def n_labels(self) -> int:
        """How many labels the file holds."""
        return sum(sheet.n_labels for sheet in self.sheets)

    @property
    def items(self) -> tuple[LabelledRow, ...]:
        """The items of all sheets."""
        return tuple(item for sheet in self.sheets for item in sheet.items)

    @property
    def raters(self) -> tuple[str, ...]:
        """The raters who are named."""
        return tuple(dict.fromkeys(rater for sheet in self.sheets for rater in sheet.raters if rater))


def read_labels(
    data: bytes,
    name: str,
    *,
    options: RecordOptions | None = None,
    scale: Sequence[str] = (),
    about: str | None = None,
) -> ParsedFile[LabelFile]:
    """Return the labels of a file.

    Declare the scale, the lowest label first, where a label may never have been used: chance-corrected figures depend
    on it. With `about`, a criterion or "" for any, an item is a response of this site, named by its id or by case,
    system and attempt; labels of another criterion are left out.
    """
    options = options or RecordOptions()
    if about is not None:
        options = _with_response_id(data, name, options)
    records = read_file(data, name, options)
    columns = (column for part in records.parts for column in part.columns)
    only = [column for column in columns if names.is_wide_rater(column)]
    if records.is_asking() and len(only) == 1:  # a file of labels may be one person's
        records = read_file(data, name, said_of_columns(options, {only[0]: str(Holds.LABELS_OF)}))
    if records.is_asking():
        return ParsedFile(None, _asked_of(records), records.columns)
    if records.collected is None:
        return ParsedFile(None, tuple(records.problems), records.columns)
    declared = labels_in_order(scale)
    if {label.value for label in declared} == {label.value for label in PREFERENCE}:
        declared = PREFERENCE
    reader = LabelFileReader(records, declared, about)
    found = reader.read()
    problems = (*records.problems, *said_once(reader.problems))
    if any(row.severity is Severity.ERROR for row in problems):
        return ParsedFile(None, problems, records.columns)
    return ParsedFile(found, problems, records.columns)


def _with_response_id(data: bytes, name: str, options: RecordOptions) -> RecordOptions:
    """Take the ids of responses for those of cases where nothing else names a case."""
    columns = columns_in(data, name, options)
    ids = [column for column in columns if names.compared(column) == RESPONSE_ID]
    has_case = any(names.rank(column, Holds.CASE) for column in columns if column not in ids)
    return options if not ids or has_case else said_of_columns(options, {ids[0]: str(Holds.CASE)})


def _asked_of(records: FileRecords) -> tuple[Problem, ...]:
    """Return what must be said of the columns: what the labels are of, where a column by a name of labels has some."""
    named = [part.values(name) for part in records.parts for name in part.columns if names.rank(name, Holds.LABEL)]
    if any(map(any, named)):
        return tuple(records.problems)
    if named:
        return (problem(records.name, "", NO_LABELS, code="no-labels"),)
    columns = ", ".join(dict.fromkeys(column for part in records.parts for column in part.columns))
    text = f"which column holds the labels, and which the id of the item? It has: {shorten(columns)}."
    hints = {
        "hint": "Say --map label=COLUMN --map case=COLUMN --map rater=COLUMN, or --map 'labels of=RATER'.",
        "page_hint": "Choose what each of them is.",
    }
    return (problem(records.name, "", text, **hints, code="label-columns"),)


def item_key(case: str, *responses: ResponseRecord | None) -> str:
    """Return how reports call an item: its case, its systems, and attempts after the first."""
    words = [case]
    for row in responses:
        if row is not None:
            words.append(f"{row.system} ({row.attempt + 1})" if row.attempt else row.system)
    return " · ".join(words)


def made_names(collected: Collected) -> set[str]:
    """Return the names that stand for systems where the file names none: of a column, or its own."""
    kinds = ("systems-from-header", "system-from-file")
    return {detail for kind, _, _, detail in collected.warning_rows() if kind in kinds}


@dataclass(slots=True)
class _FileItem:
    key: str
    case: int
    first: LabelRecord | PreferenceRecord | None = None
    response: NamedResponse | None = None
    labels: list[RaterLabel] = field(default_factory=list)


@dataclass(slots=True)
class LabelFileReader:
    """Reads the labels and preferences of people, and of files themselves, out of records."""

    records: FileRecords
    declared: tuple[Label, ...] = ()
    about: str | None = None  # the criterion of responses of this site
    problems: list[Problem] = field(default_factory=list)
    others: int = 0  # labels of another criterion
    untimed: list[str] = field(default_factory=list)  # times that are none
    scales: dict[str, Scale] = field(default_factory=dict)  # as the file says them, by criterion
    items: dict[object, _FileItem] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)  # names of systems that the file does not name

    @property
    def collected(self) -> Collected:
        assert self.records.collected is not None
        return self.records.collected

    @property
    def has_errors(self) -> bool:
        return any(row.severity is Severity.ERROR for row in self.problems)

    def read(self) -> LabelFile:
        """Return what the file holds; what is wrong is among the problems."""
        self.keys, self.made = self.collected.case_keys(), made_names(self.collected)
        criteria = {row.criterion for _, row in self.collected.labels}
        is_split = len(criteria) > 1 and not self.declared and self.about is None
        for _, label in self.collected.labels:
            self._label(label, with_criterion=len(criteria) > 1 and not is_split)
        if not self.items:
            for _, preference in self.collected.preferences:
                if preference.kind is not Giver.JUDGE:
                    self._preference(preference)
        by_criterion: dict[str, list[_FileItem]] = {}
        for item in self._with_unlabelled():
            criterion = item.first.criterion if is_split and item.first is not None else ""
            by_criterion.setdefault(criterion, []).append(item)
        if is_split:
            by_criterion = {name: items for name, items in by_criterion.items() if any(item.labels for item in items)}
        sheets = tuple(self._sheet(name, items) for name, items in by_criterion.items())
        self._say()
        return LabelFile(sheets)

    def _sheet(self, criterion: str, items: Sequence[_FileItem]) -> LabelSheet:
        scale = self._scale(criterion, items)
        self._say_scale(scale, criterion)
        raters = dict.fromkeys(label.rater for item in items for label in item.labels)
        return LabelSheet(scale, tuple(raters), tuple(map(self._row, items)), criterion)

    def _label(self, row: LabelRecord, *, with_criterion: bool) -> None:
        if self.about and row.criterion not in ("", self.about):
            self.others += 1
            return
        if row.scale != UNKNOWN_SCALE:
            self.scales.setdefault(row.criterion, row.scale)
        label = self._on_scale(row.label, row.place)
        response = self.collected.response(row.response) if row.response is not None else None
        identity = (row.case, row.response, row.criterion)
        if identity not in self.items:
            is_first = response is not None and response.system in self.made and not response.attempt
            named = None if is_first else response
            words = [item_key(self.keys[row.case], named), *([row.criterion] if with_criterion else [])]
            key = " · ".join(filter(None, words))
            about = self._named(row, response) if self.about is not None else None
            self.items[identity] = _FileItem(key, row.case, row, about)
        given_at = moment_of(row.at)
        if row.at and given_at is None:
            self.untimed.append(f"{row.place}: {shorten(row.at)}")
        self.items[identity].labels.append(RaterLabel(row.rater, label, given_at, row.place.at, row.reason))

    def _named(self, row: LabelRecord, response: ResponseRecord | None) -> NamedResponse:
        ids = [as_text(value) for name, value in row.metadata.items() if names.compared(name) == RESPONSE_ID]
        case = self.keys[row.case]
        if names.compared(self.records.column_of(Holds.CASE)) == RESPONSE_ID:
            ids = [case]
        if response is None:
            return NamedResponse(row.place.at, ids[0] if ids else "", case, "", "")
        attempt = str(response.attempt) if self.records.column_of(*names.ATTEMPTS) else ""
        return NamedResponse(row.place.at, ids[0] if ids else "", case, response.system, attempt)

    def _preference(self, row: PreferenceRecord) -> None:
        turn = () if row.turn is None else ("turn", row.turn)
        is_turned = (row.b, row.a, *turn) in self.items
        identity = (row.b, row.a, *turn) if is_turned else (row.a, row.b, *turn)
        if identity not in self.items:
            first, second = self.collected.response(row.a), self.collected.response(row.b)
            key = " · ".join([item_key(self.keys[first.case], first, second), *([f"turn {row.turn}"] if turn else [])])
            self.items[identity] = _FileItem(key, first.case, row)
        label = turned_label(PREFERENCE_VALUES[row.choice], turned=is_turned)
        self.items[identity].labels.append(RaterLabel(row.by, label, None, row.place.at, row.reason))

    def _on_scale(self, label: str, place: Place) -> str:
        if len(label) > LABEL_LIMIT:
            self._error(place, f"A label has at most {LABEL_LIMIT} characters.", label, "long-label")
        if not self.declared:
            return label[:LABEL_LIMIT]
        value = label_on(self.declared, label)
        if value is None:
            self._error(place, f"The label {label!r} is not on the declared scale.", label, "off-scale")
        return value or label[:LABEL_LIMIT]

    def _error(self, place: Place, message: str, offending: str, code: str) -> None:
        self.problems.append(problem(place.file, place.at, message, offending=offending, code=code))

    def _with_unlabelled(self) -> list[_FileItem]:
        """Return the items in the order of the file, also those of cases that nobody labelled."""
        if any(not isinstance(identity, tuple) or len(identity) != 3 or identity[1] for identity in self.items):
            return list(self.items.values())
        labelled = {item.case for item in self.items.values()}
        further = [_FileItem(key, number) for number, key in self.keys.items() if number not in labelled]
        return sorted([*self.items.values(), *further], key=lambda item: item.case)

    def _scale(self, criterion: str, items: Sequence[_FileItem]) -> tuple[Label, ...]:
        if self.declared:
            return self.declared
        if any(isinstance(item.first, PreferenceRecord) for item in items):
            return COMPARED
        used = (label.label for item in items for label in item.labels)
        return scale_of_labels(used, self.scales.get(criterion, ()))

    def _say_scale(self, scale: Sequence[Label], criterion: str) -> None:
        name = self.records.name
        if len(scale) > MOST_LABELS:
            text = f"There are {len(scale)} different labels; a scale has at most {MOST_LABELS}."
            hint = "Check that the label column is the right one."
            self.problems.append(problem(name, "", text, hint=hint, code="too-many-labels"))
        elif scale and not self.declared and self.about is None and criterion not in self.scales and scale != COMPARED:
            of_criterion = f" of {criterion}" if criterion else ""
            words = ", ".join(label.value for label in scale)
            text = f"The scale{of_criterion} is taken from the labels used: {words}."
            hint = "Declare the scale if a possible label was never given: AC1 and Brennan-Prediger depend on it."
            self.problems.append(remark(name, "", text, hint=hint, code="scale-from-use"))

    def _say(self) -> None:
        name = self.records.name
        if not any(item.labels for item in self.items.values()):
            self.problems.append(problem(name, "", NO_LABELS, code="no-labels"))
        if self.others:
            text = f"{self.others:,} labels are about other criteria than {self.about!r} and are left out."
            self.problems.append(remark(name, "", text, code="other-criterion"))
        if self.untimed:
            text = f"{len(self.untimed):,} times are not in the form 2026-01-31 or 2026-01-31T12:00 and are left out."
            self.problems.append(remark(name, "", text, hint="; ".join(self.untimed[:3]), code="time"))

    def _row(self, item: _FileItem) -> LabelledRow:
        case = self.collected.case(item.case)
        metadata: dict[str, object] = dict(item.first.metadata) if item.first is not None else {}
        scenario, language = _take(metadata, Holds.SCENARIO), _take(metadata, Holds.LANGUAGE)
        return LabelledRow(
            key=item.key,
            labels=tuple(item.labels),
            response=item.response,
            criterion=(item.first.criterion if item.first is not None else "")[:GROUP_LIMIT],
            scenario=(scenario or as_text(case.scenario))[:GROUP_LIMIT],
            language=(language or as_text(case.lang))[:GROUP_LIMIT],
            details={
                name: text[:DETAIL_LIMIT]
                for name, value in (case.metadata | metadata).items()
                if (text := as_text(value))
            },
            about=self._systems(item),
        )

    def _systems(self, item: _FileItem) -> dict[str, str]:
        if not isinstance(item.first, PreferenceRecord):
            return {}
        a, b = (self.collected.response(number).system for number in (item.first.a, item.first.b))
        return {} if self.made & {a, b} else {"case": self.keys[item.case], "a": a, "b": b}


def _take(metadata: dict[str, object], role: Holds) -> str:
    """Return and remove the detail whose name says a role."""
    name = next((name for name in metadata if names.rank(name, role) is not None), None)
    return "" if name is None else as_text(metadata.pop(name))
