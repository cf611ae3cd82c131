"""Rows of cells from a workbook or a CSV file, each cell with the name under which its author finds it."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from judging.specs.cell_values import Cell, CellReader, ErrorValue, FormulaNumber, FormulaText, cell_reader
from judging.specs.findings import Findings
from judging.specs.shared_strings import read_shared_strings
from judging.specs.sheet_rows import SheetReader
from judging.specs.workbook_archive import (
    Archive,
    Range,
    SheetFacts,
    WorkbookRefused,
    column_letters,
    inspect_archive,
)

MAX_COLUMNS = 256
HEAD_ROWS = 10  # a header is looked for in this many rows


@dataclass(frozen=True, slots=True)
class Grid:
    """One sheet. Rows and columns count from 1 and start at the sheet's first cell, A1.

    `rows` may be gone through more than once; every time they are read anew, so that no more than a few are in memory.
    What is found wrong on the way goes to the findings, and the rows end there.
    """

    file: str
    sheet: str  # empty for CSV
    rows: Iterable[tuple[int, list[Cell]]]  # (row number, cells from column A on)
    row_count: int = 0  # about; known before they are read
    merged: tuple[Range, ...] = ()

    def place(self, row: int, column: int) -> str:
        """Return `Sheet1!C14`, or `line 14, column C` for CSV."""
        letters = column_letters(column)
        return f"{self.sheet}!{letters}{row}" if self.sheet else f"line {row}, column {letters}"

    def head(self) -> list[tuple[int, list[Cell]]]:
        """Return the rows among which the header is, all equally wide."""
        top: list[tuple[int, list[Cell]]] = []
        for number, row in self.rows:
            if number > HEAD_ROWS:
                break
            top.append((number, row))
        width = max((len(row) for _, row in top), default=0)
        return [(number, row + [""] * (width - len(row))) for number, row in top]

    def is_too_wide(self, number: int, row: list[Cell], findings: Findings) -> bool:
        """Return whether a row has more columns than are read, which is an error."""
        if len(row) <= MAX_COLUMNS:
            return False
        findings.error(
            self.place(number, MAX_COLUMNS + 1),
            "too-many-columns",
            f"The row reaches column {column_letters(len(row))}; at most {MAX_COLUMNS} columns are read.",
            hint="Delete the unused ones.",
        )
        return True


def read_grids(data: bytes, file: str, findings: Findings) -> list[Grid]:
    """Return the visible sheets of a workbook, or the one grid of a CSV file; empty where it cannot be opened."""
    if file.lower().endswith(".csv"):
        return [Grid(file, "", _CsvRows(data, findings), data.count(b"\n") + 1)]
    try:
        archive = inspect_archive(data)
        cells = cell_reader(archive, read_shared_strings(archive))
    except WorkbookRefused as refusal:
        findings.error("", "workbook-refused", str(refusal))
        return []
    grids = []
    for sheet in archive.sheets:
        if sheet.visible:
            rows = _SheetRows(archive, sheet, cells, findings)
            grids.append(Grid(file, sheet.name, rows, sheet.row_count, sheet.merged))
            continue
        message = f"The sheet {sheet.name!r} is hidden and was not read."
        findings.warning(sheet.name, "hidden-sheet", message, hint="Unhide it to use it.")
    return grids


@dataclass(frozen=True, slots=True)
class _SheetRows:
    archive: Archive
    sheet: SheetFacts
    cells: CellReader
    findings: Findings

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        try:
            yield from SheetReader(self.archive, self.sheet, self.cells).rows()
        except WorkbookRefused as refusal:
            if all(problem.message != str(refusal) for problem in self.findings.listed):  # the rows are read twice
                self.findings.error("", "workbook-refused", str(refusal))


@dataclass(frozen=True, slots=True)
class _CsvRows:
    data: bytes
    findings: Findings

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        nul = self.data.find(b"\0")
        if nul >= 0:
            line = self.data.count(b"\n", 0, nul) + 1
            self.findings.error(f"line {line}", "nul-byte", "The file holds a NUL character, which text never does.")
            return
        text = io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8-sig", newline="")
        line, width = 1, 0
        try:
            reader = csv.reader(text, delimiter=_delimiter(self.data), strict=True)
            for record in reader:
                width = max(width, len(record))
                yield line, [*record, *[""] * (width - len(record))]
                line = reader.line_num + 1
        except UnicodeDecodeError:
            self.findings.error(
                f"line {_undecodable_line(self.data)}",
                "not-utf-8",
                "The file is not UTF-8 text.",
                hint='Save it as "CSV UTF-8".',
            )
        except csv.Error as problem:
            self.findings.error(f"line {line}", "bad-csv", f"The CSV cannot be read: {problem}.")


def _undecodable_line(data: bytes) -> int:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return data.count(b"\n", 0, problem.start) + 1
    return 1


def _delimiter(data: bytes) -> str:
    header = data[: 1 << 16].partition(b"\n")[0]
    return max((",", ";", "\t"), key=lambda mark: (header.count(mark.encode()), mark == ","))


def is_blank(value: Cell) -> bool:
    """Return whether a cell holds nothing but white space."""
    return isinstance(value, str) and not value.strip()


def plain_text(value: Cell) -> str:
    """Return the cell as its author reads it: 3.0 -> 3, True -> TRUE, a date as ISO."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (dt.date, dt.time, dt.datetime)):
        return value.isoformat()
    return str(value)


def is_date(value: Cell) -> bool:
    """Return whether the spreadsheet holds the cell as a date, a time or a duration."""
    return isinstance(value, (dt.date, dt.time, dt.datetime, dt.timedelta))


def text_cell(grid: Grid, row: int, column: int, value: Cell, findings: Findings) -> str:
    """Return a cell that must be text, with line ends as `\\n`; dates and error values are refused by cell."""
    if type(value) is str:
        return value if "\r" not in value else value.replace("\r\n", "\n").replace("\r", "\n")
    if is_date(value):
        findings.error(
            grid.place(row, column),
            "date-in-text",
            "The cell holds a date, not text.",
            offending=plain_text(value),
            hint="Format it as text.",
        )
        return ""
    if isinstance(value, ErrorValue):
        message = "The cell holds an error value such as #REF! or #N/A."
        findings.error(grid.place(row, column), "error-value", message, hint="Mend it.")
        return ""
    if isinstance(value, FormulaText | FormulaNumber):
        _judge_formula(grid.place(row, column), value, findings)
    return plain_text(value).replace("\r\n", "\n").replace("\r", "\n")


def _judge_formula(place: str, value: Cell, findings: Findings) -> None:
    if is_blank(value):
        findings.error(
            place,
            "formula-without-value",
            "The cell holds a formula without a stored result.",
            hint="Paste its value instead.",
        )
    else:
        findings.warning(
            place, "formula", "The cell holds a formula; its last stored result was read.", offending=plain_text(value)
        )
