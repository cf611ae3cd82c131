"""The table of a queue's answers: its columns, and how a CSV, XLSX or JSONL file becomes items and acts again. Pure.

Annotations that Label Studio exports, of tasks that a queue exported, are read as such rows. There a control is called
as the question that it answers; marks are its labels with where they begin and end, in code points.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from evalsite.base.tables import unescape_cell
from evalsite.base.types import JsonDict, JsonObject, as_text
from evalsite.review.questions.forms import (
    ANSWER_LIMIT,
    MOST_RESPONSES,
    NOTHING,
    SEPARATOR,
    Answer,
    FormQuestion,
    Kind,
    OwnForm,
    PartsMissing,
    value_text,
)
from evalsite.review.questions.scales import label_on
from evalsite.review.states import QueueMode
from judging.specs.files.findings import Findings, Parsed, Problem, Severity, said_once
from judging.specs.records.file_records import problem
from judging.specs.records.files.csv_parts import REPAIRED_TEXT
from judging.specs.records.files.json_parts import json_rows
from judging.specs.records.parts import Row
from judging.specs.records.values import object_of
from judging.specs.spreadsheets import Grid, column_letters, is_blank, plain_text, read_grids

SKIP_REASON = "Skipped in Label Studio"
MATERIAL = "material"  # what items of queues with questions of their own are about
NOTE, LABEL = "note", "label"  # controls of exports that answer no question; behind _ where a question is called so
ONLY_FORMS = "Label Studio's annotations are read into queues with questions of their own."
TO_LABELS = "Import the file as labels, or create a queue with a form from it."
OTHER_TASK = "The task names no item. Export the queue for Label Studio, and annotate these tasks."


class BadResult(ValueError):
    """An annotation that is no answer to the questions of a queue; the message says why."""


def is_task(row: JsonObject) -> bool:
    """Return whether a row of a file is a task of Label Studio."""
    return (
        isinstance(row.get("data"), dict)
        and isinstance(row.get("annotations"), list)
        and all(isinstance(annotation, dict) for annotation in row["annotations"])
    )


def said_in(task: JsonObject, annotation: JsonDict, form: OwnForm) -> tuple[str, dict[str, Answer]]:
    """Return what an annotation says of a task: its note, and the answers by question; none where it was skipped.

    Raises:
        BadResult: it does not answer the questions.
    """
    data, note, texts = task["data"], "", dict[str, list[str]]()
    results = annotation.get("result")
    shown = {"": data.get("response"), **{key.removeprefix("response_"): text for key, text in data.items()}}
    shown = {place: text for place, text in shown.items() if isinstance(text, str)}
    parts = {part.key: part for part in form.parts}
    for result in map(object_of, results if isinstance(results, list) else ()):
        control, kind, value = str(result.get("from_name")), str(result.get("type")), object_of(result.get("value"))
        part = parts.get(control) or parts.get(f"{control}.{str(result.get('to_name')).removeprefix('response_')}")
        given = value.get("text" if kind == "textarea" else kind)
        words = [value_text(word) for word in (given if isinstance(given, list) else [given]) if word is not None]
        if part is not None:
            chosen = (label_on(part.options, word) or word for word in words)
            said = _mark(part, value, words, shown) if part.kind is Kind.SPANS else chosen
            texts.setdefault(part.key, []).extend(said)
        elif control.removeprefix("_") == NOTE:
            note = "\n".join(words)
        elif control.removeprefix("_") != LABEL:
            raise BadResult(f"No question is called {control}. There are: {', '.join(parts)}.")
    for part in form.parts:
        if part.kind is Kind.SPANS:
            texts[part.key] = texts.get(part.key) or [NOTHING]
    try:
        values = form.with_texts(shown).read({key: SEPARATOR.join(words) for key, words in texts.items()})
    except PartsMissing as error:
        raise BadResult(f"{error} Marks must not overlap.") from error
    return note, dict(values)


def facts_of(task: JsonObject, annotation: JsonDict) -> JsonDict:
    """Return about which item an annotation is, whose and when. Raises: BadResult."""
    meta, data, person = object_of(task.get("meta")), object_of(task.get("data")), annotation.get("completed_by")
    if not isinstance(meta.get("item"), int) or not isinstance(meta.get("item_hash"), str):
        raise BadResult(OTHER_TASK)
    names = (person.get(name) for name in ("username", "email", "id")) if isinstance(person, dict) else (person,)
    try:
        at = datetime.fromisoformat(str(annotation.get("created_at")))
        seconds = float(annotation.get("lead_time") or 0)
        begun_at = at - timedelta(seconds=seconds)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadResult("created_at or lead_time of the annotation cannot be read.") from error
    at, begun_at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in (at, begun_at))
    return {
        **{name: as_text(data.get(name)) for name in ("case", "criterion", "scenario", "language", "system_b")},
        "system_a": as_text(data.get("system_a", data.get("system"))),
        "subject": MATERIAL,
        "item": meta["item"],
        "item_hash": meta["item_hash"],
        "annotator": next((str(name) for name in names if name), "")[:150],
        "saw_swapped": False,
        "claimed_at": begun_at,
        "answered_at": at,
        "seconds": seconds or None,
    }


def _mark(part: FormQuestion, value: JsonObject, labels: list[str], shown: Mapping[str, str]) -> Iterator[str]:
    """Yield a mark as the fields of pages hold it. Raises: BadResult: it marks something else than the text says."""
    place = part.side if part.marked_in == "response" else part.marked_in
    start, end, text = value.get("start"), value.get("end"), shown.get(place, "")
    if not isinstance(start, int) or not isinstance(end, int) or len(labels) != 1 or labels[0] not in part.scale.labels:
        known = ", ".join(map(str, part.scale.labels))
        raise BadResult(f"{part.key} takes one label each ({known}) from a start to an end in plain text.")
    marked = text[start:end]
    if marked != value.get("text", marked):
        raise BadResult(f"{part.key} marks “{value['text']}”, but at {start} to {end} the text says “{marked}”.")
    yield f"{start}-{end}:{labels[0]}"


ANSWERED, SKIPPED, FLAGGED, UNABLE = "answered", "skipped", "flagged", "cannot judge"
MODES = ("", *map(str, QueueMode))
ACTS = (ANSWERED, UNABLE, SKIPPED, FLAGGED)  # flagged: neither answered nor skipped
NOTE_LIMIT, REASON_LIMIT, NAME_LIMIT, LABEL_LIMIT, WORD_LIMIT = 20_000, 300, 200, 20, 100
USER_LIMIT = 150
PARTS_LIMIT = 6 * ANSWER_LIMIT  # JSON writes one character with six at most
MOST_ROWS = 600_000


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """What an item is and what became of it; the same in each of its rows."""

    queue: str = ""
    item: int = 0
    item_hash: str = ""
    subject: str = ""  # pair, response or material; in files of earlier versions debate, verdict or score
    subject_id: int | None = None
    case: str = ""  # key of the case, or of the material
    system_a: str = ""
    system_b: str = ""
    criterion: str = ""
    scenario: str = ""
    language: str = ""
    reason: str = ""
    reason_text: str = ""
    arm: str = ""
    inclusion_probability: float | None = None
    retest_of: int | None = None
    only_for: str = ""
    quorum: int | None = None
    status: str = ""
    final_label: str = ""
    settled_at: datetime | None = None
    adjudicated_label: str = ""
    adjudicated_parts: str = ""
    adjudicator: str = ""
    adjudication_reason: str = ""
    adjudication_adopted: str = ""  # whose answer the adjudicator took over
    adjudicated_at: datetime | None = None
    adjudication_is_blind: bool | None = None  # None in files of earlier versions: it was not

    @property
    def name(self) -> str:
        """How messages call the item."""
        return f"Item {self.item} ({self.case})" if self.case else f"Item {self.item}"


@dataclass(frozen=True, slots=True)
class Act:
    """What one person did with an item. Labels are in system space: 1 = system A is better, whatever side it was on."""

    act: str = ""
    annotator: str = ""
    slot: int | None = None
    saw_swapped: bool | None = None
    blind_label: str = ""
    blind_parts: str = ""  # of the criterion's form: JSON of key -> value; empty in files of earlier versions
    note: str = ""
    claimed_at: datetime | None = None
    answered_at: datetime | None = None
    seconds: float | None = None
    active_seconds: float | None = None
    edited_at: datetime | None = None
    revealed_at: datetime | None = None
    revised_label: str = ""
    revised_parts: str = ""
    revision_note: str = ""
    revised_at: datetime | None = None
    skip_reason: str = ""
    cannot_judge: str = ""  # why they cannot judge the item
    flag: str = ""
    mode: str = ""  # of the queue when it was given; empty in files of earlier versions, as the two below
    guidelines_version: int | None = None
    seen_before: bool | None = None  # the person had looked at the item as an owner: not blind
    shown_order: str = ""  # in which they saw three responses or more; empty in files of earlier versions
    prefilled: str = ""  # what a model answers, shown to them if the mode is prefilled: JSON of key -> value
    prefilled_by: str = ""  # the judge or the column that it is from

    @property
    def is_answer(self) -> bool:
        """Whether the person gave a label."""
        return self.act == ANSWERED

    @property
    def is_unable(self) -> bool:
        """Whether the person cannot judge the item."""
        return self.act == UNABLE


ITEM_COLUMNS = tuple(column.name for column in fields(ItemRecord))
ACT_COLUMNS = tuple(column.name for column in fields(Act))
COLUMNS = (*ITEM_COLUMNS, *ACT_COLUMNS)
_KINDS = {column.name: str(column.type).partition(" |")[0] for column in (*fields(ItemRecord), *fields(Act))}
_NEEDED = ("item", "item_hash", "act", "annotator")
_OF_ANY_ACT = ("claimed_at", "saw_swapped")
_OF_ACTS = {ANSWERED: ("slot", "blind_label", "answered_at"), UNABLE: ("cannot_judge", "answered_at")}
_LIMITS = {
    "note": NOTE_LIMIT, "revision_note": NOTE_LIMIT, "adjudication_reason": NOTE_LIMIT,
    "blind_parts": PARTS_LIMIT, "revised_parts": PARTS_LIMIT, "adjudicated_parts": PARTS_LIMIT,
    "prefilled": PARTS_LIMIT, "prefilled_by": NAME_LIMIT,
    "skip_reason": REASON_LIMIT, "cannot_judge": REASON_LIMIT, "flag": REASON_LIMIT,
    "reason_text": REASON_LIMIT, "shown_order": MOST_RESPONSES,
    "blind_label": LABEL_LIMIT, "revised_label": LABEL_LIMIT, "final_label": LABEL_LIMIT,
    "adjudicated_label": LABEL_LIMIT, "language": 40, "criterion": WORD_LIMIT, "scenario": WORD_LIMIT,
    "annotator": USER_LIMIT, "adjudicator": USER_LIMIT, "adjudication_adopted": USER_LIMIT, "only_for": USER_LIMIT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocatedAct:
    """An act and where it stands in its file."""

    location: str
    act: Act


@dataclass(frozen=True, slots=True)
class ActsOfItem:
    """An item with everything that people did with it."""

    location: str  # of the item's first row
    facts: ItemRecord
    acts: tuple[LocatedAct, ...]

    @property
    def answers(self) -> dict[str, Act]:
        """The answers by person."""
        return {located.act.annotator: located.act for located in self.acts if located.act.is_answer}


@dataclass(frozen=True, slots=True)
class AnnotationFile:
    """The items of a file, in its order."""

    name: str
    items: tuple[ActsOfItem, ...]
    tells_all: bool = True  # else only what people said: the export of another tool

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(len(item.acts) for item in self.items)


def parts_text(parts: JsonObject | None) -> str:
    """Return the values of a form's parts as files hold them, "" where there are none."""
    return json.dumps(parts, ensure_ascii=False, sort_keys=True) if parts else ""


def read_annotations(data: bytes, name: str, form: OwnForm | None = None) -> Parsed[AnnotationFile]:
    """Return what people did, item by item; every error names the line or the cell.

    Tasks of Label Studio are read as answers to a form.
    """
    reader = _AnnotationReader(name, form)
    if name.lower().endswith((".jsonl", ".json", ".ndjson")):
        rows = list(reader.json_rows(data))
    else:
        rows = list(reader.grid_rows(data))
    if not rows and not reader.problems:
        reader.say(
            "", "There are no annotations in this file.", hint="Check that this is the right file.", code="no-rows"
        )
    items = tuple(reader.grouped(rows))
    if any(finding.severity is Severity.ERROR for finding in reader.problems):
        return Parsed(None, tuple(said_once(reader.problems)))
    return Parsed(AnnotationFile(name, items, tells_all=not reader.has_tasks), tuple(reader.problems))


def group(rows: Iterable[tuple[str, JsonObject]]) -> Iterator[ActsOfItem]:
    """Yield the items of typed rows, each row with its location; rows of one item follow each other or not."""
    by_item: dict[int, tuple[str, ItemRecord, list[LocatedAct]]] = {}
    for location, row in rows:
        if row["item"] not in by_item:
            by_item[row["item"]] = (location, ItemRecord(**{name: row[name] for name in ITEM_COLUMNS}), [])
        by_item[row["item"]][2].append(LocatedAct(location, Act(**{name: row[name] for name in ACT_COLUMNS})))
    for location, facts, acts in by_item.values():
        yield ActsOfItem(location, facts, tuple(acts))


@dataclass(slots=True)
class _AnnotationReader:
    file: str
    form: OwnForm | None = None
    has_tasks: bool = False  # of Label Studio
    problems: list[Problem] = field(default_factory=list)

    def say(
        self, location: str, message: str, *, offending: str = "", hint: str = "", code: str = "annotation"
    ) -> None:
        self.problems.append(problem(self.file, location, message, offending=offending, hint=hint, code=code))

    def json_rows(self, data: bytes) -> Iterator[tuple[str, JsonDict]]:
        findings = Findings(self.file)
        rows = json_rows(data, self.file, findings)
        for finding in findings.as_tuple():
            if finding.code == REPAIRED_TEXT.code:  # repaired elsewhere; here a text must come back as it was
                self.say(finding.place, "A text contains a NUL character or invalid Unicode.", hint="Remove it.")
            else:
                self.problems.append(finding)
        if rows and all(is_task(row.fields) for row in rows):
            self.has_tasks = True
            if self.form is None:
                self.say("", ONLY_FORMS, hint=TO_LABELS, code="label-studio")
                return
            for row in rows:
                yield from self._task(row)
            return
        if rows and not self._knows_columns({name for row in rows[:100] for name in row.fields}, "line 1"):
            return
        for row in rows:
            yield row.at, {name: self._value(name, row.fields.get(name), f"{row.at}, {name}") for name in COLUMNS}

    def _task(self, row: Row) -> Iterator[tuple[str, JsonDict]]:
        slot = 0
        for number, annotation in enumerate(row.fields["annotations"]):
            at = f"{row.at}, annotation {number + 1}"
            try:
                said = self._said(row.fields, annotation)
            except BadResult as error:
                self.say(at, str(error), hint="Nothing of the file is stored.", code="label-studio")
                continue
            nothing = {name: "" if kind == "str" else None for name, kind in _KINDS.items()}
            yield at, nothing | said | ({"slot": slot} if said["act"] == ANSWERED else {})
            slot += said["act"] == ANSWERED

    def _said(self, task: JsonDict, annotation: JsonDict) -> JsonDict:
        facts = facts_of(task, annotation)
        if annotation.get("was_cancelled"):
            return facts | {"act": SKIPPED, "skip_reason": SKIP_REASON, "answered_at": None}
        assert self.form is not None  # else nothing is read
        note, values = said_in(task, annotation, self.form)
        label, parts = self.form.label(values), parts_text(self.form.stored(values))
        return facts | {"act": ANSWERED, "note": note[:NOTE_LIMIT], "blind_label": label, "blind_parts": parts}

    def grid_rows(self, data: bytes) -> Iterator[tuple[str, JsonDict]]:
        findings = Findings(self.file)
        grids = read_grids(data, self.file, findings)
        if grids:
            yield from self._grid(grids[0])
        self.problems.extend(findings.as_tuple())  # only now, since a sheet may turn out to be damaged at its end

    def _grid(self, grid: Grid) -> Iterator[tuple[str, JsonDict]]:
        columns: dict[str, int] | None = None
        for number, (row, cells) in enumerate(grid.rows):
            if number > MOST_ROWS:
                self.say(
                    "", f"The table has more than {MOST_ROWS:,} rows.", hint="Split the file.", code="too-many-rows"
                )
                return
            if all(is_blank(cell) for cell in cells):
                continue
            if columns is None:
                columns = {plain_text(cell).strip(): index for index, cell in enumerate(cells)}
                if not self._knows_columns(set(columns), grid.location(row, 1)):
                    return
                continue
            values = {}
            for name in COLUMNS:
                index = columns.get(name, len(cells))
                cell = cells[index] if index < len(cells) else ""
                if isinstance(cell, str):
                    cell = unescape_cell(cell)
                location = f"{grid.sheet}!{column_letters(index + 1)}{row}" if grid.sheet else f"line {row}, {name}"
                values[name] = self._value(name, None if cell == "" else cell, location)
            yield (f"{grid.sheet}!{row}" if grid.sheet else f"line {row}"), values

    def _knows_columns(self, columns: set[str], location: str) -> bool:
        missing = [name for name in _NEEDED if name not in columns]
        if missing:
            text = f"The table has no column {', '.join(missing)}."
            self.say(location, text, hint="Import a file that a queue exported.", code="annotation-columns")
        return not missing

    def _value(self, name: str, value: Any, location: str) -> Any:
        kind = _KINDS[name]
        if kind == "str":
            return self._text(name, value, location)
        if value is None or value == "":
            return 0 if name == "item" else None
        try:
            return _READERS[kind](value)
        except (TypeError, ValueError):
            self.say(location, f"{name} must be {_WORDS[kind]}.", offending=str(value), code="annotation-value")
            return 0 if name == "item" else None

    def _text(self, name: str, value: Any, location: str) -> str:
        if value is None:
            return ""
        text = value if isinstance(value, str) else plain_text(value)
        limit = _LIMITS.get(name, NAME_LIMIT)
        if "\0" in text:
            self.say(location, f"{name} contains a NUL character.", hint="Remove it.", code="nul")
        elif len(text) > limit:
            self.say(location, f"{name} has {len(text):,} characters; the maximum is {limit:,}.", code="too-long")
        return text[:limit]

    def grouped(self, rows: Iterable[tuple[str, JsonDict]]) -> Iterator[ActsOfItem]:
        """Yield the items, having looked for rows that contradict each other."""
        whole_rows = [(location, row) for location, row in rows if self._is_whole(location, row)]
        first: dict[int, tuple[str, JsonDict]] = {}
        people: dict[tuple[int, str], str] = {}
        for location, row in whole_rows:
            start, first_row = first.setdefault(row["item"], (location, row))
            other = next((name for name in ITEM_COLUMNS if row[name] != first_row[name]), "")
            if other:
                text = f"{other} of item {row['item']} differs from the value at {start}."
                self.say(
                    location, text, offending=str(row[other]), hint="All rows of one item must have the same value."
                )
            twin = people.setdefault((row["item"], row["annotator"]), location)
            if twin != location:
                text = f"{row['annotator']} has two rows for item {row['item']}; the other is at {twin}."
                self.say(location, text, hint="Keep one of them.", code="twin-row")
        yield from group(whole_rows)

    def _is_whole(self, location: str, row: JsonObject) -> bool:
        wrong = [f"{name} is missing" for name in _NEEDED if not row[name]]
        if row["act"] and row["act"] not in ACTS:
            wrong.append(f"act is {row['act']!r}; it must be {', '.join(ACTS[:-1])} or {ACTS[-1]}")
        if row["mode"] not in MODES:
            wrong.append(f"mode is {row['mode']!r}; it must be {' or '.join(MODES[1:])}")
        must = [*_OF_ANY_ACT, *_OF_ACTS.get(row["act"], ())]
        wrong += [f"{name} is missing" for name in must if row[name] is None or row[name] == ""]
        if row["act"] == UNABLE and (row["blind_label"] or row["revised_label"] or row["blind_parts"]):
            wrong.append("a row with cannot_judge must not have a label")
        if row["act"] == ANSWERED and row["cannot_judge"]:
            wrong.append("cannot_judge replaces the label")
        if bool(row["revised_label"]) != (row["revised_at"] is not None):
            wrong.append("a revision needs both revised_label and revised_at")
        if bool(row["adjudicated_label"]) != bool(row["adjudicator"] and row["adjudicated_at"]):
            wrong.append("an adjudication needs adjudicated_label, adjudicator and adjudicated_at")
        if wrong:
            self.say(location, f"{wrong[0]}.", code="annotation-row")
        return not wrong


def _whole(value: Any) -> int:
    number = float(value) if not isinstance(value, int) else value
    if isinstance(value, bool) or number != int(number) or not 0 <= number < 2**63:
        raise ValueError(value)
    return int(value) if isinstance(value, str | int) else int(number)


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number) or number < 0:
        raise ValueError(value)
    return number


def _truth(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in {"true", "false"}:
        raise ValueError(value)
    return word == "true"


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("without time zone")
    return moment.astimezone(UTC)


_READERS = {"int": _whole, "float": _number, "bool": _truth, "datetime": _moment}
_WORDS = {
    "int": "a whole number",
    "float": "a number that is not negative",
    "bool": "true or false",
    "datetime": "a time with its zone, such as 2026-01-31T12:00:00+00:00",
}
