"""Rows of cells from a workbook or a CSV file, each cell with the name under which its author finds it."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.spreadsheets.cell_values import Cell, ErrorValue, FormulaNumber, FormulaText, Percentage
from judging.specs.spreadsheets.sheet_facts import Range
from judging.specs.spreadsheets.table_texts import CSV_ENDINGS, SAVE_TABLE, TableText, open_table
from judging.specs.spreadsheets.workbook_archive import WorkbookRefused, column_letters
from judging.specs.spreadsheets.workbooks import Sheet, open_workbook

MAX_COLUMNS = 256
HEAD_ROWS = 10  # a header is looked for in this many rows
LISTED = 12
HIDDEN = "Delete content that should not count, or unhide it to see what was read."


@dataclass(frozen=True, slots=True)
class Grid:
    """One sheet. Rows and columns count from 1 and start at the sheet's first cell, A1.

    `rows` may be gone through more than once; every time they are read again, so that no more than a few are in memory.
    What is found wrong on the way goes to the findings, and the rows end there.
    """

    file: str
    sheet: str  # empty for CSV
    rows: Iterable[tuple[int, list[Cell]]]  # (row number, cells from column A on)
    row_count: int = 0  # about; known before they are read
    merged: tuple[Range, ...] = ()

    def location(self, row: int, column: int) -> str:
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
            self.location(number, MAX_COLUMNS + 1),
            "too-many-columns",
            f"The row reaches column {column_letters(len(row))}; at most {MAX_COLUMNS} columns are read.",
            hint="Delete the unused ones.",
        )
        return True


def bundle_grids(bundle: Bundle, path: str, findings: Findings) -> list[Grid]:
    """Return the grids of a file of a bundle; its workbook is opened once, however often they are asked for."""
    return read_grids(bundle.read(path), path, findings, lambda _: bundle.once(path, open_workbook))


def read_grids(
    data: bytes, file: str, findings: Findings, opener: Callable[[bytes], list[Sheet]] = open_workbook
) -> list[Grid]:
    """Return the visible sheets of a workbook, or the one grid of a CSV file; empty where it cannot be opened."""
    if file.lower().endswith(CSV_ENDINGS):
        table = open_table(data, file, findings)
        return [Grid(file, "", _CsvRows(table, findings), data.count(b"\n") + 1)] if table is not None else []
    try:
        sheets = opener(data)
    except WorkbookRefused as refusal:
        findings.error("", "workbook-refused", str(refusal))
        return []
    grids = []
    for sheet in sheets:
        if sheet.visible:
            _report_hidden(sheet, findings)
            grids.append(
                Grid(file, sheet.name, _SheetRows(sheet, findings), sheet.facts.row_count, tuple(sheet.facts.merged))
            )
            continue
        message = f"The sheet {sheet.name!r} is hidden and was not read."
        findings.warning(sheet.name, "hidden-sheet", message, hint="Unhide it to import it.")
    return grids


def _report_hidden(sheet: Sheet, findings: Findings) -> None:
    """Warn of rows and columns that were read although nobody sees them in the spreadsheet."""
    rows, columns = sheet.facts.hidden_rows, sheet.facts.hidden_columns
    if rows:
        message = f"{_counted(len(rows), 'hidden row')} of the sheet {sheet.name!r} were read like the others."
        shown = ", ".join(str(row) for row in rows[:LISTED]) + (" …" if len(rows) > LISTED else "")
        findings.warning(f"{sheet.name}!{rows[0]}", "hidden-rows", message, offending=shown, hint=HIDDEN)
    if columns:
        names = [
            column_letters(first) if first == last else f"{column_letters(first)}-{column_letters(last)}"
            for first, last in columns[:LISTED]
        ]
        message = f"Hidden columns of the sheet {sheet.name!r} were read like the others: {', '.join(names)}."
        findings.warning(f"{sheet.name}!{names[0]}", "hidden-columns", message, offending=", ".join(names), hint=HIDDEN)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


@dataclass(frozen=True, slots=True)
class _SheetRows:
    sheet: Sheet
    findings: Findings

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        try:
            yield from self.sheet.rows()
        except WorkbookRefused as refusal:
            _error_once(self.findings, "", "workbook-refused", str(refusal))


def _error_once(findings: Findings, location: str, code: str, message: str, hint: str = "") -> None:
    """Note an error that going through the same rows again would note again."""
    if all((problem.place, problem.message) != (location, message) for problem in findings.listed):
        findings.error(location, code, message, hint=hint)


@dataclass(frozen=True, slots=True)
class _CsvRows:
    table: TableText
    findings: Findings

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        line, width = 1, 0
        reader = csv.reader(self.table.lines(), delimiter=self.table.delimiter, strict=True)
        try:
            for record in reader:
                width = max(width, len(record))
                yield line, [*record, *[""] * (width - len(record))]
                line = reader.line_num + 1
        except csv.Error as problem:
            _error_once(self.findings, f"line {line}", "bad-csv", f"The CSV cannot be read: {problem}.", SAVE_TABLE)


def is_blank(value: Cell) -> bool:
    """Return whether a cell holds nothing but white space."""
    return isinstance(value, str) and not value.strip()


def plain_text(value: Cell) -> str:
    """Return the cell as its author reads it: 3.0 -> 3, 0.25 shown in percent -> 25%, True -> TRUE, a date as ISO."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, Percentage):
        return f"{value * 100:.10g}%"
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
            grid.location(row, column),
            "date-in-text",
            "The cell contains a date, not text.",
            offending=plain_text(value),
            hint="Format it as text.",
        )
        return ""
    if isinstance(value, ErrorValue):
        message = "The cell contains an error value such as #REF! or #N/A."
        findings.error(grid.location(row, column), "error-value", message, hint="Correct it.")
        return ""
    if isinstance(value, FormulaText | FormulaNumber):
        _judge_formula(grid.location(row, column), value, findings)
    return plain_text(value).replace("\r\n", "\n").replace("\r", "\n")


def _judge_formula(location: str, value: Cell, findings: Findings) -> None:
    if is_blank(value):
        findings.error(
            location,
            "formula-without-value",
            "The cell contains a formula without a stored result.",
            hint="Paste its value instead.",
        )
    else:
        findings.warning(
            location,
            "formula",
            "The cell contains a formula; its last stored result was read.",
            offending=plain_text(value),
        )
