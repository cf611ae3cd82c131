"""Labels of people from outside, of the items of debates: a table read by the one recogniser of columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from judging.specs.files.bundles import source_of
from judging.specs.files.findings import Findings
from judging.specs.records import names, preferences
from judging.specs.records.collected import Collected
from judging.specs.records.file_records import ParsedFile, read_file, said_of_columns
from judging.specs.records.files.part_reading import read_parts
from judging.specs.records.names import Holds
from judging.specs.records.neutral import PREFERENCE_NUMBERS, Choice, Giver, LabelRecord, PreferenceRecord
from judging.specs.records.parts import RecordOptions
from judging.specs.records.recognition import is_of_a_tool
from judging.specs.records.shapes import ColumnUse
from judging.specs.records.values import as_id

MAP_HINT = "Name the columns item, rater and label, or say what they are: case=COLUMN, rater=COLUMN, label=COLUMN."


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One person's label of one item, as the file has it."""

    place: str  # where it stands in its file
    item: str
    rater: str
    label: str
    set_name: str = ""


def read_outside_labels(data: bytes, file: str, options: RecordOptions) -> ParsedFile[tuple[LabelRow, ...]]:
    """Return the labels of people, and the preferences of people between two responses; nothing where a row is wrong.

    A column that names the set of an item is read as the criterion: an item of two sets is labelled in both.
    """
    records = read_file(data, file, _with_sets(data, file, options))
    findings = Findings(file)
    rows: list[LabelRow] = []
    if records.collected is not None:
        rows = list(_checked(list(_rows(records.collected, records.columns, findings)), findings))
    is_wrong = records.collected is None or findings.has_errors
    return ParsedFile(None if is_wrong else tuple(rows), (*records.problems, *findings.as_tuple()), records.columns)


def verdict_of(label: str, systems: tuple[str, str], meanings: Mapping[str, str]) -> int | None:
    """Return 1 where a label says that system A is better, -1 for B, 0 for a tie; None where it says neither.

    A label names a system, never a place: by its name, as A or B, or by number, unless `meanings` says otherwise.
    """
    folded = [name.casefold() for name in systems]
    if label.casefold() in folded:
        return (1, -1)[folded.index(label.casefold())]
    choice = preferences.meant(label, meanings) or preferences.DEBATE_LABELS.get(label) or preferences.preference(label)
    return PREFERENCE_NUMBERS[choice] if choice is not None else None


def _with_sets(data: bytes, file: str, options: RecordOptions) -> RecordOptions:
    """Take the column that names sets for the criterion, unless the person chose one."""
    parts = read_parts([source_of(file, data)], options.encoding, Findings())
    columns = [name for part in parts if not is_of_a_tool(part) for name in part.columns]
    sets = next((name for name in columns if _names_sets(name)), "")
    is_said = Holds.CRITERION in options.columns.values()
    return said_of_columns(options, {sets: str(Holds.CRITERION)}) if sets and not is_said else options


def _names_sets(column: str) -> bool:
    return names.compared(column) in names.DEBATE_SETS


def _rows(collected: Collected, columns: Sequence[ColumnUse], findings: Findings) -> Iterator[LabelRow]:
    has_sets = any(use.role == Holds.CRITERION and _names_sets(use.name) for use in columns)

    def row_of(record: LabelRecord | PreferenceRecord, case: int, rater: str, label: str) -> LabelRow:
        about = collected.case(case)
        item = "" if about.is_made else about.key
        return LabelRow(record.place.at, item, rater, label, as_id(record.criterion) if has_sets else "")

    for _, label in collected.labels:
        if label.response is not None:
            message = "The label is of one response, not of two that are compared."
            findings.error(label.place.at, "one-response", message)
        yield row_of(label, label.case, label.rater, label.label)
    names_systems = any(use.role == Holds.SYSTEM_A for use in columns)
    for _, row in collected.preferences:
        if row.kind is not Giver.JUDGE:
            better = collected.response(row.b if row.choice is Choice.B else row.a)
            is_named = names_systems and row.choice is not Choice.TIE
            yield row_of(row, better.case, row.by, better.system if is_named else row.choice)


def _checked(rows: Sequence[LabelRow], findings: Findings) -> Iterator[LabelRow]:
    """Yield the rows, having noted those without an item or a rater, and two of one rater for one item."""
    if not rows and not findings.has_errors:
        findings.error("", "no-labels", "There is no label of a person in this file.", hint=MAP_HINT)
    places: dict[tuple[str, str, str], str] = {}
    for row in rows:
        if not row.item or not row.rater:
            findings.error(row.place, "label-without-owner", "The row has no item or no rater.", hint=MAP_HINT)
            continue
        key = (row.set_name, row.item, row.rater)
        if key in places:
            message = f"{row.rater} already has a label for item {row.item} at {places[key]}."
            findings.error(row.place, "label-twice", message)
        places[key] = row.place
        yield row
