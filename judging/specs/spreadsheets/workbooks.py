"""The sheets of an .xlsx workbook, read row by row with openpyxl."""

from __future__ import annotations

import datetime as dt
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any
from xml.etree.ElementTree import ParseError

from openpyxl.cell.read_only import EmptyCell, ReadOnlyCell
from openpyxl.packaging.relationship import get_dependents
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.escape import unescape
from openpyxl.utils.exceptions import InvalidFileException

from judging.specs.spreadsheets.cell_values import Cell, ErrorValue, FormulaNumber, FormulaText, Percentage
from judging.specs.spreadsheets.sheet_facts import FormulaCell, SheetFacts, check_shared_strings, read_sheet_facts
from judging.specs.spreadsheets.workbook_archive import (
    SHARED_STRINGS,
    WORKBOOK_LINKS,
    WorkbookRefused,
    column_letters,
    inspect_archive,
)

MAX_CELLS = 8_000_000  # rows x columns of the used range of one sheet
_ROWS_AT_ONCE = 200
_DAMAGED = "This workbook cannot be read; open it in a spreadsheet program and save it again as .xlsx."
_FAILURES = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, OSError, EOFError, ParseError),
    *(zipfile.BadZipFile, zlib.error, InvalidFileException, NotImplementedError, RecursionError),
)

SourceCell = ReadOnlyCell | EmptyCell


@dataclass(frozen=True, slots=True)
class Sheet:
    """One worksheet."""

    name: str
    visible: bool
    facts: SheetFacts
    source: Any  # openpyxl's ReadOnlyWorksheet, of whose methods the stubs know nothing

    def rows(self) -> Iterator[tuple[int, list[Cell]]]:
        """Yield the rows that hold something, with their numbers, each as wide as the widest so far.

        Blank cells are empty texts.

        Raises:
            WorkbookRefused: the sheet is damaged, or its used range is too large.
        """
        width, rows = 0, self._source_rows()
        for number, cells in enumerate(rows, 1):
            if not cells:
                continue
            width = max(width, len(cells))
            if number * width > MAX_CELLS:
                raise WorkbookRefused(
                    f"The used range of the sheet reaches {self.name}!{column_letters(width)}{number}, more than "
                    f"{MAX_CELLS:,} cells; delete the empty rows and columns after the data and save again."
                )
            row = [_value(cell) for cell in cells]
            for formula in self.facts.formulas_in(number) if self.facts.formulas else ():
                row[formula.column - 1] = _result(row[formula.column - 1], formula)
            yield number, row + [""] * (width - len(row))

    def _source_rows(self) -> Iterator[Sequence[SourceCell]]:
        rows = self.source.iter_rows()
        while True:
            with _openpyxl(f"The sheet {self.name!r} of this workbook cannot be read; save the workbook again."):
                batch = list(islice(rows, _ROWS_AT_ONCE))
            if not batch:
                return
            yield from batch


def open_workbook(data: bytes) -> list[Sheet]:
    """Return the worksheets of a workbook, in its order; sheets of charts and macros are none.

    Raises:
        WorkbookRefused: it cannot safely be read.
    """
    archive = inspect_archive(data)
    check_shared_strings(archive.unpacked(SHARED_STRINGS))
    with _openpyxl(_DAMAGED):
        reader = ExcelReader(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        links = get_dependents(reader.archive, WORKBOOK_LINKS)
        paths = [link.target for link in links if link.Type.endswith("/worksheet")]
    # Before openpyxl opens them: it looks into each sheet for its size.
    facts = {path: read_sheet_facts(archive.unpacked(path), path) for path in paths}
    with _openpyxl(_DAMAGED):
        reader.read()
        places = {sheet.name: link.target for sheet, link in reader.parser.find_sheets()}
    return [_sheet(source, facts[path]) for source in reader.wb if (path := places[source.title]) in facts]


def _sheet(source: Any, facts: SheetFacts) -> Sheet:
    source.reset_dimensions()  # a sheet claims any size
    return Sheet(source.title, source.sheet_state == "visible", facts, source)


@contextmanager
def _openpyxl(refusal: str) -> Iterator[None]:
    """Turn what openpyxl raises into a refusal; what it leaves out of a workbook (styles, charts) needs no warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except _FAILURES as failure:
        raise WorkbookRefused(refusal) from failure


def _value(cell: SourceCell) -> Cell:
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        return ErrorValue()
    if isinstance(value, str):
        return unescape(value) if "_x" in value else value
    if isinstance(value, bool):
        return value
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() else value
    if isinstance(value, int | float):
        shows_percent = isinstance(cell, ReadOnlyCell) and cell.has_style and "%" in cell.number_format
        return Percentage(value) if shows_percent else float(value)
    return value if isinstance(value, dt.date | dt.time | dt.timedelta) else str(value)


def _result(value: Cell, formula: FormulaCell) -> Cell:
    """Return the stored result of a formula, marked as one."""
    if value == "" and formula.is_text and not isinstance(value, ErrorValue):
        return ""
    if isinstance(value, bool):
        return FormulaText(str(value).upper())
    if isinstance(value, ErrorValue):
        return value
    if isinstance(value, str):
        return FormulaText(value)
    return FormulaNumber(value) if isinstance(value, float) else value
