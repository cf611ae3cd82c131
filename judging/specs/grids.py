"""Rows of cells from a workbook or a CSV file, each cell with the name under which its author finds it."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import python_calamine as calamine

from judging.specs.problems import Problem, Severity
from judging.specs.workbook_archive import SheetFacts, WorkbookRefused, column_letters, inspect_archive

Cell = str | int | float | bool | dt.date | dt.time | dt.datetime | dt.timedelta
Range = tuple[tuple[int, int], tuple[int, int]]

MAX_COLUMNS = 256
MAX_KEPT_PER_CODE = 200


@dataclass(frozen=True, slots=True)
class Grid:
    """One sheet. Rows and columns count from 1 and start at the sheet's first cell, A1."""

    file: str
    sheet: str  # empty for CSV
    rows: Iterable[tuple[int, list[Cell]]]  # (row number, cells from column A on)
    columns: int
    formulas: frozenset[tuple[int, int]] = frozenset()
    error_cells: frozenset[tuple[int, int]] = frozenset()
    merged: tuple[Range, ...] = ()

    def place(self, row: int, column: int) -> str:
        """Return `Sheet1!C14`, or `line 14, column C` for CSV."""
        letters = column_letters(column)
        return f"{self.sheet}!{letters}{row}" if self.sheet else f"line {row}, column {letters}"


@dataclass(slots=True)
class Findings:
    """Problems gathered while reading one file; a code repeated too often is counted, not listed."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)

    def add(
        self, severity: Severity, place: str, code: str, message: str, *, offending: str = "", hint: str = ""
    ) -> None:
        """Record one problem."""
        self.seen[code] = self.seen.get(code, 0) + 1
        if self.seen[code] <= MAX_KEPT_PER_CODE:
            self.problems.append(Problem(severity, self.file, place, message, offending[:120], hint, code))

    def error(self, place: str, code: str, message: str, *, offending: str = "", hint: str = "") -> None:
        """Record what prevents the import."""
        self.add(Severity.ERROR, place, code, message, offending=offending, hint=hint)

    def warning(self, place: str, code: str, message: str, *, offending: str = "", hint: str = "") -> None:
        """Record what the author should look at."""
        self.add(Severity.WARNING, place, code, message, offending=offending, hint=hint)

    @property
    def failed(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    def listed(self) -> tuple[Problem, ...]:
        """Return the problems, with one line for each code that was cut short."""
        hidden = [
            Problem(Severity.WARNING, self.file, "", f"{count - MAX_KEPT_PER_CODE} more of {code!r} are not listed.")
            for code, count in sorted(self.seen.items())
            if count > MAX_KEPT_PER_CODE
        ]
        return (*self.problems, *hidden)


def read_grids(data: bytes, file: str, findings: Findings) -> list[Grid]:
    """Return the visible sheets of a workbook, or the one grid of a CSV file; empty where it cannot be opened."""
    if file.lower().endswith(".csv"):
        return _csv_grids(data, file, findings)
    try:
        facts = inspect_archive(data)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except WorkbookRefused as refusal:
        findings.error("", "workbook-refused", str(refusal))
        return []
    except (calamine.CalamineError, OSError, ValueError) as problem:
        findings.error("", "workbook-unreadable", "The workbook cannot be read.", offending=str(problem))
        return []
    grids = []
    for meta in book.sheets_metadata:
        if meta.typ != calamine.SheetTypeEnum.WorkSheet:
            continue
        if meta.visible != calamine.SheetVisibleEnum.Visible:
            findings.warning(
                meta.name,
                "hidden-sheet",
                f"The sheet {meta.name!r} is hidden and was not read.",
                hint="Unhide it to use it.",
            )
            continue
        grid = _sheet_grid(book, meta.name, file, facts.get(meta.name, SheetFacts()), findings)
        if grid is not None:
            grids.append(grid)
    return grids


def _sheet_grid(
    book: calamine.CalamineWorkbook, name: str, file: str, facts: SheetFacts, findings: Findings
) -> Grid | None:
    try:
        sheet = book.get_sheet_by_name(name)
        merged = tuple(
            ((top + 1, left + 1), (bottom + 1, right + 1))
            for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
        )
    except calamine.CalamineError as problem:
        findings.error(name, "sheet-unreadable", f"The sheet {name!r} cannot be read.", offending=str(problem))
        return None
    start, end = sheet.start, sheet.end
    if start is None or end is None:
        return Grid(file, name, (), 0, facts.formulas, facts.error_cells, merged)
    return Grid(file, name, _Rows(sheet, start), end[1] + 1, facts.formulas, facts.error_cells, merged)


@dataclass(frozen=True, slots=True)
class _Rows:
    sheet: calamine.CalamineSheet
    start: tuple[int, int]

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        # calamine's rows begin at the sheet's first row, but at its first used column.
        left: list[Cell] = [""] * self.start[1]
        for number, row in enumerate(self.sheet.iter_rows(), start=1):
            yield number, left + row if left else row


def _csv_grids(data: bytes, file: str, findings: Findings) -> list[Grid]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        findings.error(f"line {line}", "not-utf-8", "The file is not UTF-8 text.", hint='Save it as "CSV UTF-8".')
        return []
    delimiter = _delimiter(text)
    rows: list[tuple[int, list[Cell]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            rows.append((line, list(record)))
            line = reader.line_num + 1
    except csv.Error as problem:
        findings.error(f"line {line}", "bad-csv", f"The CSV cannot be read: {problem}.")
        return []
    return [Grid(file, "", rows, max((len(row) for _, row in rows), default=0))]


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return max((",", ";", "\t"), key=lambda mark: (header.count(mark), mark == ","))


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
    place = grid.place(row, column)
    if is_date(value):
        findings.error(
            place,
            "date-in-text",
            "The cell holds a date, not text.",
            offending=plain_text(value),
            hint="Format it as text.",
        )
        return ""
    if (row, column) in grid.error_cells:
        findings.error(place, "error-value", "The cell holds an error value such as #REF! or #N/A.", hint="Mend it.")
        return ""
    if (row, column) in grid.formulas:
        _judge_formula(place, value, findings)
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
