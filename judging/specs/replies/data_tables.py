"""Tables of responses or questions, one per row: which columns, and the rows by name.

CSV files and workbooks whose columns have the names that readers know, and any table, JSON included, for whose columns
the bundle says what they are.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from evalsite.base.json_types import JsonDict
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line, error_rule, warning_rule
from judging.specs.files.jsonl_reading import ROW_LIMIT, JsonLine, RowLimits
from judging.specs.files.text_reading import normalise_newlines
from judging.specs.replies.column_guesses import guess_fields
from judging.specs.replies.json_records import (
    JSON_ENDINGS,
    first_records,
    prompt_of,
    read_records,
    record_columns,
    text_of,
    value_at,
)
from judging.specs.replies.response_rows import CASE_FIELDS, SYSTEM_FIELDS, TEXT_FIELDS, question_hash
from judging.specs.replies.table_columns import (
    FILE_COLUMN,
    OF_CASES,
    ColumnField,
    column_names,
    distinct_names,
    mapped_columns,
    named_columns,
)
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import MAX_COLUMNS, Grid, bundle_grids, is_blank, text_cell
from judging.specs.spreadsheets.table_texts import CSV_ENDINGS, header_of, open_table
from judging.specs.suites.questions_jsonl import ANSWER_FIELDS, QUESTION_FIELDS

BAD_CSV = error_rule("bad-csv", "Save the table again as CSV, with a header and fields in double quotes.")
BAD_HEADER = error_rule(
    "csv-header", "Name the columns case_id, system, attempt, response; or filename and completion."
)

OTHER_SHEET = warning_rule("other-sheet", "Save each sheet as a file of its own.")

SHEET_ENDINGS = (".xlsx", ".xlsm")
TABLE_ENDINGS = (*CSV_ENDINGS, *SHEET_ENDINGS)

_ASKING = frozenset({*QUESTION_FIELDS, "instruction"})
_OF_RUBRICS = re.compile(r"\d{1,3}(\.0)?%?|__expected\d*|criteri(on|a)|requirement|rubric|points")

if TYPE_CHECKING:
    from _csv import Reader

Score = Callable[[Sequence[Cell]], int]  # how likely a row is a header; 0: it is none


def holds_responses(names: Collection[str]) -> bool:
    """Return whether columns are those of responses: which case, or which question, and what was answered."""
    columns = set(names)
    if any(map(_OF_RUBRICS.fullmatch, columns)):
        return False
    # `answer` beside a question is the reference, unless the row says who answered.
    texts = set(TEXT_FIELDS) - ({"answer"} if columns & _ASKING and not columns & set(SYSTEM_FIELDS) else set())
    return bool(columns & texts and columns & {FILE_COLUMN, *CASE_FIELDS, *QUESTION_FIELDS})


def holds_questions(names: Sequence[str]) -> bool:
    """Return whether columns are those of questions with references."""
    columns = set(names)
    return bool(columns & _ASKING and columns & set(ANSWER_FIELDS)) and not any(map(_OF_RUBRICS.fullmatch, columns))


def _is_known(names: Sequence[str]) -> bool:
    return holds_responses(names) or holds_questions(names)


def header_names(bundle: Bundle, path: str) -> list[str]:
    """Return the columns of a file of responses or questions; empty where it has no such header."""
    if path.lower().endswith(CSV_ENDINGS):
        names = column_names(header_of(bundle.read(path)))
        return names if _is_known(names) else []
    table = _open_sheet(bundle, path, Findings(path), _known_score)
    return column_names(table.header) if table is not None else []


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row with what it says by column; `number` is its line or row."""

    number: int
    location: str
    fields: JsonDict


def case_rows(bundle: Bundle, paths: Sequence[str], findings: Findings) -> list[JsonLine]:
    """Return what rows of responses say of their cases, once for each id and question."""
    by_case: dict[tuple[str, str], JsonLine] = {}
    for path in paths:
        for row in question_rows(bundle, path, findings):
            fields = {name: row.fields[name] for name in OF_CASES if name in row.fields}
            identity = str(fields.get("case_id", "")), question_hash(str(fields.get("question", "")))
            by_case.setdefault(identity, JsonLine(row.line if len(paths) == 1 else len(by_case) + 1, fields))
    return list(by_case.values())


@dataclass(frozen=True, slots=True)
class TableHead:
    """The names of a table's columns as they are written, and its first rows as text."""

    names: tuple[str, ...]
    samples: tuple[tuple[str, ...], ...]


def table_head(bundle: Bundle, path: str, most: int) -> TableHead | None:
    """Return the head of any table; None where the file has none. Its header is the row with the most known names."""
    if path.lower().endswith(JSON_ENDINGS):
        records = [record.fields for record in first_records(bundle, path)]
        names = record_columns(records)
        samples = [tuple(text_of(value_at(record, name)) or "" for name in names) for record in records[:most]]
        return TableHead(tuple(names), tuple(samples)) if names else None
    findings = Findings(path)
    table = _open_any(bundle, path, findings, _guess_score)
    if table is None:
        return None
    names = list(distinct_names(table.header))
    rows = zip(table.cells(frozenset(range(len(names))), Findings(path)), range(most), strict=False)
    return TableHead(tuple(names), tuple(cells for (_, _, cells), _ in rows))


def table_rows(bundle: Bundle, path: str, findings: Findings, limits: RowLimits) -> list[TableRow]:
    """Return the rows of a table. An empty cell is an empty text, and numbers of a CSV stay as written."""
    rows: list[TableRow] = []
    for row in _rows(bundle, path, findings):
        rows.append(row)
        if len(rows) > limits.max_rows:
            findings.add(ROW_LIMIT, path, row.location, f"The table has more than {limits.max_rows:,} rows.")
            return []
    return rows


def question_rows(bundle: Bundle, path: str, findings: Findings) -> list[JsonLine]:
    """Return the rows of a table of questions, without their empty cells."""
    rows = table_rows(bundle, path, findings, RowLimits())
    return [
        JsonLine(row.number, {name: text for name, text in row.fields.items() if _has_content(text)}) for row in rows
    ]


def _has_content(value: object) -> bool:
    return value is not None and (not isinstance(value, str) or bool(value.strip()))


def _rows(bundle: Bundle, path: str, findings: Findings) -> Iterator[TableRow]:
    chosen = bundle.columns.get(path)
    if path.lower().endswith(JSON_ENDINGS):
        yield from _json_rows(bundle, path, chosen or {}, findings)
        return
    of_file = Findings(path)
    try:
        table = _open_any(bundle, path, of_file, _known_score if chosen is None else partial(_chosen_score, chosen))
        if table is None:
            return
        columns = named_columns(table.header)
        if chosen is not None:
            columns = mapped_columns(distinct_names(table.header), chosen)
        elif not _check_names(columns.names, path, table.location, of_file):
            return
        for number, location, cells in table.cells(columns.read_positions, of_file):
            for fields in columns.rows(cells):
                yield TableRow(number, location, fields)
    finally:
        findings.extend(of_file.as_tuple())


def _json_rows(bundle: Bundle, path: str, chosen: Mapping[str, str], findings: Findings) -> Iterator[TableRow]:
    names = list(chosen)
    columns = mapped_columns(names, chosen)
    as_text = {ColumnField.DETAIL: _as_it_is, ColumnField.PROMPT: prompt_of}
    readers = [as_text.get(ColumnField(chosen[name]), text_of) for name in names]
    for record in read_records(bundle, path, findings):
        cells = [read(value_at(record.fields, name)) for name, read in zip(names, readers, strict=True)]
        for fields in columns.rows(cells):
            yield TableRow(record.number, record.location, fields)


def _as_it_is(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class _OpenTable:
    """A table at its header. `cells` yields what is below, once: number, place, and the cells at the given positions
    as text, the others empty."""

    header: Sequence[Cell]
    location: str  # of the header
    cells: Callable[[frozenset[int], Findings], Iterator[tuple[int, str, tuple[str, ...]]]]


def _open_any(bundle: Bundle, path: str, findings: Findings, score: Score) -> _OpenTable | None:
    if path.lower().endswith(CSV_ENDINGS):
        return _open_csv(bundle, path, findings)
    return _open_sheet(bundle, path, findings, score)


def _known_score(cells: Sequence[Cell]) -> int:
    return int(_is_known(column_names(cells)))


def _chosen_score(chosen: Mapping[str, str], cells: Sequence[Cell]) -> int:
    return len(set(distinct_names(cells)) & set(chosen))


def _guess_score(cells: Sequence[Cell]) -> int:
    """Return more for more fields that a row names, else for more names."""
    names = distinct_names(cells)
    fields = set(guess_fields(names).values()) - {ColumnField.DETAIL, ColumnField.IGNORE}
    return MAX_COLUMNS * (2 * _known_score(cells) * len(ColumnField) + len(fields)) + len(list(filter(None, names)))


def _open_csv(bundle: Bundle, path: str, findings: Findings) -> _OpenTable | None:
    table = open_table(bundle.read(path), path, findings)
    if table is None:
        return None
    reader = csv.reader(table.lines(), delimiter=table.delimiter, strict=True)
    line, header = 1, list[str]()
    try:
        while not any(map(str.strip, header)):
            line, header = reader.line_num + 1, next(reader)
    except StopIteration:
        line = 1
    except csv.Error as failure:
        _add_unreadable(findings, path, reader.line_num, failure)
        return None

    def cells(_: frozenset[int], row_findings: Findings) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        return _csv_cells(reader, path, len(header), row_findings)

    return _OpenTable(header, at_line(line), cells)


def _add_unreadable(findings: Findings, path: str, line: int, failure: csv.Error) -> None:
    findings.add(BAD_CSV, path, at_line(line), f"The table cannot be read: {failure}.")


def _csv_cells(reader: Reader, path: str, width: int, findings: Findings) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    start = reader.line_num + 1
    try:
        for row in reader:
            while len(row) > width and not row[-1].strip():
                row.pop()
            if len(row) != width and row:
                message = f"The row has {len(row)} cells, the header {width}."
                findings.add(BAD_CSV, path, at_line(start), message, ", ".join(row))
            elif any(map(str.strip, row)):
                yield start, at_line(start), tuple(map(normalise_newlines, row))
            start = reader.line_num + 1
    except csv.Error as failure:
        _add_unreadable(findings, path, reader.line_num, failure)


def _check_names(names: Sequence[str], path: str, location: str, findings: Findings) -> bool:
    given_names = [name for name in names if name]
    message = ""
    if not _is_known(names):
        message = "There are no columns for case and response."
    elif len(set(given_names)) < len(given_names):
        message = "Two columns have the same name."
    if message:
        findings.add(BAD_HEADER, path, location, message, ", ".join(names))
    return not message


def _open_sheet(bundle: Bundle, path: str, findings: Findings, score: Score) -> _OpenTable | None:
    """Return the sheet and row of a workbook that score best as a header, the first of equals."""
    grids = bundle_grids(bundle, path, findings)
    rows = [(grid, number, row) for grid in grids for number, row in _headers(grid)]
    best = max(rows, key=lambda candidate: score(candidate[2]), default=None)
    if best is None or not score(best[2]):
        if not findings.has_errors:
            findings.add(BAD_HEADER, path, "", "No visible sheet has columns for case and response.")
        return None
    grid, header, names = best
    for other in dict.fromkeys(other.sheet for other, _, row in rows if other.sheet != grid.sheet and score(row)):
        message = f"The sheet {other!r} was not read; one sheet of a workbook is."
        findings.add(OTHER_SHEET, path, other, message)

    def cells(read: frozenset[int], row_findings: Findings) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        for number, row in grid.rows:
            if number <= header or all(map(is_blank, row)):
                continue
            if grid.is_too_wide(number, row, row_findings):
                return
            texts = (
                text_cell(grid, number, position + 1, value, row_findings) if position in read else ""
                for position, value in enumerate(row[: len(names)])
            )
            yield number, grid.location(number, 1), tuple(texts)

    return _OpenTable(names, grid.location(header, 1), cells)


def _headers(grid: Grid) -> Iterator[tuple[int, list[Cell]]]:
    """Yield the rows that may be a header, by the last of their numbers; below merged cells stand their parts."""
    head = grid.head()
    below = dict(head)
    for number, row in head:
        wide = [
            (first, last) for (top, first), (bottom, last) in grid.merged if top == bottom == number and last > first
        ]
        parts = {
            column: below.get(number + 1, [])[column - 1 : column]
            for first, last in wide
            for column in range(first, last + 1)
        }
        if parts and all(cells and not is_blank(cells[0]) for cells in parts.values()):
            yield number + 1, [parts.get(column, [cell])[0] for column, cell in enumerate(row, 1)]
        else:
            yield number, row
