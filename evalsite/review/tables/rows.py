"""Rows of a CSV, XLSX or JSONL file as texts by column, each with its location in the file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.files.jsonl_reading import read_rows as read_json_lines
from judging.specs.files.problems import Parsed, Problem, Severity
from judging.specs.replies.json_records import chat_text
from judging.specs.spreadsheets.grids import Grid, is_blank, read_grids, text_cell
from judging.specs.spreadsheets.workbook_archive import column_letters

MOST_ROWS = 600_000
MOST_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class CellRow:
    """One row; blank cells are left out of `cells`."""

    location: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table with its columns in their order, named as in its header."""

    columns: tuple[str, ...]
    rows: tuple[CellRow, ...]
    letters: Mapping[str, str] = field(default_factory=dict)  # of each column; a workbook's only

    def location_of(self, row: CellRow, column: str) -> str:
        """Return where a cell is: `Sheet1!C14` in a workbook, `line 14, label` elsewhere."""
        if not column:
            return row.location
        sheet, mark, number = row.location.rpartition("!")
        return f"{sheet}!{self.letters[column]}{number}" if mark and self.letters else f"{row.location}, {column}"


def read_rows(data: bytes, name: str) -> Parsed[Rows]:
    """Return the first sheet of a workbook, the table of a CSV file, or the objects of a JSONL file."""
    if name.lower().endswith((".jsonl", ".json", ".ndjson")):
        return _from_json(data, name)
    findings = Findings(name)
    grids = read_grids(data, name, findings)
    if findings.has_errors:
        return Parsed(None, findings.as_tuple())
    if not grids:
        findings.error("", "empty-file", "There is no table in this file.")
        return Parsed(None, findings.as_tuple())
    for grid in grids[1:]:
        findings.warning(grid.sheet, "second-sheet", f"The sheet {grid.sheet!r} was not read: one table per file.")
    rows = _from_grid(grids[0], findings)
    return Parsed(None if findings.has_errors else rows, findings.as_tuple())


def _from_grid(grid: Grid, findings: Findings) -> Rows:
    columns: dict[int, str] = {}
    rows: list[CellRow] = []
    for number, cells in grid.rows:
        if all(is_blank(cell) for cell in cells):
            continue
        if not columns:
            columns = _header(grid, number, cells, findings)
            continue
        texts = {
            columns[column]: text_cell(grid, number, column, cell, findings)
            for column, cell in enumerate(cells, start=1)
            if column in columns and not is_blank(cell)
        }
        rows.append(CellRow(f"{grid.sheet}!{number}" if grid.sheet else f"line {number}", texts))
        if len(rows) > MOST_ROWS:
            findings.error("", "too-many-rows", f"The table has more than {MOST_ROWS:,} rows.")
            break
    if not columns:
        findings.error("", "empty-file", "There is no table in this file.")
    letters = {name: column_letters(column) for column, name in columns.items()} if grid.sheet else {}
    return Rows(tuple(columns.values()), tuple(rows), letters)


def _header(grid: Grid, number: int, cells: Sequence[object], findings: Findings) -> dict[int, str]:
    columns: dict[int, str] = {}
    for column, cell in enumerate(cells, start=1):
        name = str(cell).strip()[:100]
        if not name:
            continue
        if name in columns.values():
            findings.error(grid.location(number, column), "twin-column", f"The column {name!r} occurs twice.")
        columns[column] = name
    if len(columns) > MOST_COLUMNS:
        findings.error("", "too-many-columns", f"The table has more than {MOST_COLUMNS} columns.")
    return columns


def _from_json(data: bytes, name: str) -> Parsed[Rows]:
    parsed = read_json_lines(Bundle({name: data}), name)
    if parsed.value is None or any(problem.severity is Severity.ERROR for problem in parsed.problems):
        return Parsed(None, parsed.problems)
    columns: dict[str, None] = {}
    nested: dict[str, str] = {}  # column -> where it first holds more than a text
    rows = []
    for row in parsed.value:
        fields = {str(key)[:100]: value for key, value in row.fields.items() if value is not None}
        cells = {key: _as_text(value) for key, value in fields.items()}
        columns |= dict.fromkeys(cells)
        location = f"line {row.line}"
        nested = {key: location for key, value in fields.items() if isinstance(value, dict | list)} | nested
        rows.append(CellRow(location, {key: text for key, text in cells.items() if text != ""}))
    return Parsed(Rows(tuple(columns), tuple(rows)), (*parsed.problems, *_say_nested(name, nested)))


def _say_nested(name: str, nested: dict[str, str]) -> list[Problem]:
    return [
        remark(
            name,
            location,
            f"{column!r} contains lists or objects. Chats are shown as messages, everything else as JSON.",
            hint="Use plain text to control how it is shown.",
            code="nested-value",
        )
        for column, location in nested.items()
    ]


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return chat_text(value) or json.dumps(value, ensure_ascii=False, indent=2)
    return str(value)


def remark(file: str, location: str, message: str, *, offending: str = "", hint: str = "", code: str = "") -> Problem:
    """Return a warning at one location of a file."""
    return Problem(Severity.WARNING, file, location, message, offending[:120], hint, code)


def problem(file: str, location: str, message: str, *, offending: str = "", hint: str = "", code: str = "") -> Problem:
    """Return an error at one location of a file."""
    return Problem(Severity.ERROR, file, location, message, offending[:120], hint, code)
