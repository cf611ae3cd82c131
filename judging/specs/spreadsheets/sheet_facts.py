"""What a worksheet says beside its values: how many rows, what is merged or hidden, where formulas stand.

The sheet's XML is gone through once, element by element, before its values are read. What could fill the memory of a
reader that holds one row at a time is refused on the way, as is what such a reader would lose without a word.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from judging.specs.spreadsheets.workbook_archive import WorkbookRefused, column_number

MAX_ROWS = 1_048_576
MAX_SHEET_COLUMNS = 16_384
MAX_ROW_BYTES = 16 * 1024 * 1024  # 256 cells of the longest text take half of it
MAX_ROW_ELEMENTS = 400_000
MAX_SHARED_STRINGS = 4_000_000
MAX_SHARED_STRING_BYTES = 4 * 1024 * 1024

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")
_DIGITS = "0123456789"

Range = tuple[tuple[int, int], tuple[int, int]]
Attributes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FormulaCell:
    """A cell with a formula; `is_text` where its result is a text, which may be empty."""

    column: int
    is_text: bool


@dataclass(slots=True)
class SheetFacts:
    """One worksheet before its cells are read; rows and columns count from 1."""

    row_count: int = 0
    merged: list[Range] = field(default_factory=list)
    hidden_rows: list[int] = field(default_factory=list)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)  # first and last
    formulas: array[int] = field(default_factory=lambda: array("Q"))  # cell and kind in one number, ascending

    def formulas_in(self, row: int) -> Iterator[FormulaCell]:
        """Yield the cells of a row that hold formulas."""
        index = bisect_left(self.formulas, _code(row, 0, is_text=False))
        end = _code(row + 1, 0, is_text=False)
        while index < len(self.formulas) and self.formulas[index] < end:
            code = self.formulas[index]
            yield FormulaCell(code // 2 % (2 * MAX_SHEET_COLUMNS), bool(code % 2))
            index += 1


def _code(row: int, column: int, *, is_text: bool) -> int:
    return (row * 2 * MAX_SHEET_COLUMNS + column) * 2 + is_text


def read_sheet_facts(chunks: Iterable[bytes], path: str) -> SheetFacts:
    """Return the facts of one worksheet from its XML.

    Raises:
        WorkbookRefused: damaged, out of order, of another dialect, or with a row beyond all measure.
    """
    scan = _SheetScan(f"The part {path!r}")
    scan.parse(chunks)
    return scan.facts


def check_shared_strings(chunks: Iterable[bytes]) -> None:
    """Go through the texts that cells share.

    Raises:
        WorkbookRefused: damaged, too many, or one beyond all measure.
    """
    _StringScan("The list of texts").parse(chunks)


class _Scan:
    """Goes through one part of a workbook; `unit` is the element of which a reader holds one at a time."""

    unit_bytes = MAX_ROW_BYTES
    max_units = MAX_ROWS

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.units = 0
        self.elements = 0
        self.unit_start = 0  # byte
        self.unit_elements = 0
        self.handlers: dict[str, Callable[[Attributes], None]] = {}
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start_root
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype

    def parse(self, chunks: Iterable[bytes]) -> None:
        """Go through the whole part."""
        is_empty = True
        try:
            for chunk in chunks:
                is_empty = False
                self.parser.Parse(chunk, False)
                self.check_unit()
            if not is_empty:
                self.parser.Parse(b"", True)
        except expat.ExpatError as problem:
            message = f"{self.subject} of this workbook is damaged (line {problem.lineno}); save the workbook again."
            raise WorkbookRefused(message) from problem
        finally:
            self.handlers = {}  # they hold this object, and the parser does

    def start_root(self, name: str, _attributes: Attributes) -> None:
        """Check the dialect once, then count."""
        namespace = name.partition(" ")[0]
        if namespace == _STRICT:
            raise WorkbookRefused(
                'The workbook is saved as "Strict Open XML", which is not read; save it as an ordinary '
                '"Excel Workbook (.xlsx)".'
            )
        if namespace != _MAIN:
            raise WorkbookRefused(f"{self.subject} is not a readable worksheet; save the workbook again as .xlsx.")
        self.parser.StartElementHandler = self.start

    def start(self, name: str, attributes: Attributes) -> None:
        self.elements += 1
        handler = self.handlers.get(name)
        if handler is not None:
            handler(attributes)

    def refuse_doctype(self, *_declared: object) -> None:
        raise WorkbookRefused(f"{self.subject} of this workbook declares a document type; save it again as .xlsx.")

    def begin_unit(self) -> None:
        self.check_unit()
        self.units += 1
        self.unit_start, self.unit_elements = self.parser.CurrentByteIndex, self.elements
        if self.units > self.max_units:
            raise WorkbookRefused(f"{self.subject} of this workbook has more than {self.max_units:,} entries.")

    def check_unit(self) -> None:
        too_long = self.parser.CurrentByteIndex - self.unit_start > self.unit_bytes
        if too_long or self.elements - self.unit_elements > MAX_ROW_ELEMENTS:
            message = f"{self.subject} of this workbook has an entry that is too large; save the workbook again."
            raise WorkbookRefused(message)


class _StringScan(_Scan):
    unit_bytes = MAX_SHARED_STRING_BYTES
    max_units = MAX_SHARED_STRINGS

    def __init__(self, subject: str) -> None:
        super().__init__(subject)
        self.handlers = {f"{_MAIN} si": lambda _: self.begin_unit()}


class _SheetScan(_Scan):
    def __init__(self, subject: str) -> None:
        super().__init__(subject)
        self.facts = SheetFacts()
        self.row = self.column = 0
        self.digits = ""  # the row's number as written in its cells
        self.is_text = False
        self.columns: dict[str, int] = {}
        self.handlers = {
            f"{_MAIN} row": self.begin_row,
            f"{_MAIN} c": self.begin_cell,
            f"{_MAIN} f": self.note_formula,
            f"{_MAIN} mergeCell": self.note_merged,
            f"{_MAIN} col": self.note_column,
        }

    def begin_row(self, attributes: Attributes) -> None:
        self.begin_unit()
        row_reference = attributes.get("r")
        number = (
            self.row + 1
            if row_reference is None
            else int(row_reference)
            if row_reference.isdecimal() and len(row_reference) < 8
            else 0
        )
        if not self.row < number <= MAX_ROWS:
            raise WorkbookRefused(
                f"{self.subject} has the row {row_reference} after the row {self.row}, which is not valid; "
                "save the workbook again."
            )
        self.row, self.column, self.digits = number, 0, str(number)
        self.facts.row_count += 1
        if _is_on(attributes.get("hidden")):
            self.facts.hidden_rows.append(number)

    def begin_cell(self, attributes: Attributes) -> None:
        reference = attributes.get("r")
        column = self.column + 1 if reference is None else self._column(reference)
        if not self.column < column <= MAX_SHEET_COLUMNS:
            raise WorkbookRefused(
                f"{self.subject} has the cell {(reference or '')[:20]} in row {self.row}, which is not valid; "
                "save the workbook again."
            )
        self.column = column
        self.is_text = attributes.get("t") == "str"

    def _column(self, reference: str) -> int:
        """Return the column of a cell of this row; 0 where the reference is of another row, or none."""
        letters = reference.rstrip(_DIGITS)
        column = self.columns.get(letters, -1)
        if column < 0:
            column = column_number(letters) if re.fullmatch("[A-Z]{1,3}", letters) else 0
            self.columns[letters] = column
        return column if reference[len(letters) :] == self.digits else 0

    def note_formula(self, _attributes: Attributes) -> None:
        if self.column:
            self.facts.formulas.append(_code(self.row, self.column, is_text=self.is_text))

    def note_merged(self, attributes: Attributes) -> None:
        match = _RANGE.fullmatch(attributes.get("ref", ""))
        if match:
            first = (int(match[2]), column_number(match[1]))
            self.facts.merged.append((first, (int(match[4]), column_number(match[3]))))

    def note_column(self, attributes: Attributes) -> None:
        first, last = attributes.get("min", ""), attributes.get("max", "")
        if _is_on(attributes.get("hidden")) and first.isdecimal() and last.isdecimal():
            self.facts.hidden_columns.append((int(first), int(last)))


def _is_on(written: str | None) -> bool:
    return written in ("1", "true")
