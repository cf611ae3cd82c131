"""Cells of workbooks and CSV files behind one `Grid`."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
import struct
import warnings
import zipfile
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

from judging.specs.files.bundles import Bundle, source_of
from judging.specs.files.encodings import Text, fault_in, foreign_format, text_of
from judging.specs.files.findings import Findings, at_line, error_rule, warning_rule

Cell = str | int | float | bool | dt.date | dt.time | dt.datetime | dt.timedelta


class ErrorValue(str):
    """A cell that shows an error such as #REF!. It reads as blank text."""

    __slots__ = ()


class FormulaText(str):
    """A text, or nothing at all, that a formula gave when the workbook was last saved."""

    __slots__ = ()


class FormulaNumber(float):
    """A number that a formula gave when the workbook was last saved."""

    __slots__ = ()


class Percentage(float):
    """A number that the spreadsheet shows as a percentage: 0.25 is seen as 25%."""

    __slots__ = ()


class PaddedNumber(float):
    """A whole number that the spreadsheet shows with zeros before it: 7 is seen as 007."""

    __slots__ = ("width",)

    def __new__(cls, value: float, width: int) -> PaddedNumber:
        """Keep how many digits are shown."""
        number = super().__new__(cls, value)
        number.width = width
        return number

    width: int


class ShareText(str):
    """A number that the spreadsheet shows as a percentage, as the share that it is: 0.25 for 25%."""

    __slots__ = ()


class LongNumber(str):
    """A number of more than 15 digits, the last ones of which a spreadsheet does not keep."""

    __slots__ = ()


MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_SMALL_PART_BYTES = 16 * 1024 * 1024
MAX_MEMBERS = 2000
CHUNK_BYTES = 1 << 18

SHARED_STRINGS = "xl/sharedStrings.xml"
WORKBOOK = "xl/workbook.xml"
WORKBOOK_LINKS = "xl/_rels/workbook.xml.rels"
CONTENT_TYPES = "[Content_Types].xml"
# Parts that are read whole. Rows and shared strings are read one after the other; drawings and the like never.
_SMALL = ("xl/workbook.xml", "xl/styles.xml", "xl/theme/theme1.xml", CONTENT_TYPES)


class WorkbookRefused(ValueError):
    """The file is not a workbook that can safely be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A measured workbook."""

    data: bytes
    members: Mapping[str, zipfile.ZipInfo]

    def unpacked(self, path: str) -> Iterator[bytes]:
        """Yield a part in pieces; nothing where there is no such part."""
        return _unpacked(self.data, self.members[path]) if path in self.members else iter(())


@lru_cache(maxsize=1024)  # every row of a table names its first column
def column_letters(column: int) -> str:
    """Return the spreadsheet name of a column counted from 1: 1 -> A, 27 -> AA."""
    letters = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Return the number of a column from its name: A -> 1, AA -> 27."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def inspect_archive(data: bytes) -> Archive:
    """Return what a workbook holds, having unpacked the whole archive once in small pieces.

    Raises:
        WorkbookRefused: not an .xlsx file, damaged, or too large unpacked.
    """
    foreign = foreign_format(data)
    if foreign:
        raise WorkbookRefused(foreign)
    if data.startswith((b"PAR1", b"ARROW1")):  # read elsewhere, as records
        raise WorkbookRefused(
            "This is a Parquet or Arrow file, which is not read here. Save it as .xlsx or JSON Lines."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as problem:
        raise WorkbookRefused("This is not an .xlsx workbook, or it is damaged; save it again as .xlsx.") from problem
    _check_members(members)
    _measure(data, members)
    members_by_name = {member.filename: member for member in members}
    if not members_by_name.keys() >= {CONTENT_TYPES, WORKBOOK, WORKBOOK_LINKS}:
        raise WorkbookRefused("The archive contains no xl/workbook.xml, so it is not an .xlsx workbook.")
    return Archive(data, members_by_name)


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS:
        raise WorkbookRefused(f"The archive contains {len(members)} files; a workbook has at most {MAX_MEMBERS}.")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise WorkbookRefused(f"The part {member.filename[:80]!r} is encrypted or packed in an unusual way.")


def _measure(data: bytes, members: list[zipfile.ZipInfo]) -> None:
    bytes_allowed = MAX_UNPACKED_BYTES
    for member in members:
        size = 0
        is_small = member.filename in _SMALL or member.filename.endswith(".rels") or "docProps/" in member.filename
        for chunk in _unpacked(data, member):
            size += len(chunk)
            bytes_allowed -= len(chunk)
            if bytes_allowed < 0:
                raise WorkbookRefused(
                    f"The workbook extracts to more than {MAX_UNPACKED_BYTES >> 20} MB "
                    f"(in {member.filename[:80]!r}); it is refused as a zip bomb."
                )
            if is_small and size > MAX_SMALL_PART_BYTES:
                raise WorkbookRefused(
                    f"The part {member.filename[:80]!r} is larger than any workbook needs; save the workbook again."
                )


def _unpacked(data: bytes, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the member's real content, whatever size its header claims."""
    header = data[member.header_offset : member.header_offset + 30]
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise WorkbookRefused("The archive's index does not match its content; save the workbook again.")
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = member.header_offset + 30 + name_length + extra_length
    packed = memoryview(data)[start : start + member.compress_size]
    if member.compress_type == zipfile.ZIP_STORED:
        for offset in range(0, len(packed), CHUNK_BYTES):
            yield bytes(packed[offset : offset + CHUNK_BYTES])
        return
    inflate = zlib.decompressobj(-15)
    try:
        for offset in range(0, len(packed), CHUNK_BYTES):  # whole, the rest would be copied at every step
            chunk = inflate.decompress(packed[offset : offset + CHUNK_BYTES], CHUNK_BYTES)
            while chunk:
                yield chunk
                chunk = inflate.decompress(inflate.unconsumed_tail, CHUNK_BYTES)
    except zlib.error as problem:
        raise WorkbookRefused(f"The part {member.filename[:80]!r} is damaged; save the workbook again.") from problem


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


@dataclass(slots=True)
class SheetFacts:
    """One worksheet before its cells are read; rows and columns count from 1."""

    row_count: int = 0
    merged: list[Range] = field(default_factory=list)
    hidden_rows: list[int] = field(default_factory=list)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)  # first and last
    formulas: array[int] = field(default_factory=lambda: array("Q"))  # cell and kind in one number, ascending

    def formulas_in(self, row: int) -> Iterator[tuple[int, bool]]:
        """Yield the columns of a row that hold formulas, and whether the result is a text, which may be empty."""
        index = bisect_left(self.formulas, _code(row, 0, is_text=False))
        end = _code(row + 1, 0, is_text=False)
        while index < len(self.formulas) and self.formulas[index] < end:
            code = self.formulas[index]
            yield code // 2 % (2 * MAX_SHEET_COLUMNS), bool(code % 2)
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
        """Go through the whole part. Raises: WorkbookRefused."""
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


class SharedStringScan(_Scan):
    """Goes through the texts that cells share, which may be damaged, too many, or one beyond all measure."""

    unit_bytes = MAX_SHARED_STRING_BYTES
    max_units = MAX_SHARED_STRINGS

    def __init__(self) -> None:
        super().__init__("The list of texts")
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


MAX_CELLS = 8_000_000  # rows x columns of the used range of one sheet
_ROWS_AT_ONCE = 200
_DAMAGED = "This workbook cannot be read; open it in a spreadsheet program and save it again as .xlsx."
_FAILURES = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, OSError, EOFError, ParseError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RecursionError),
)

if TYPE_CHECKING:  # it takes as long to load as all else that reads files, and few files are workbooks
    from openpyxl.cell.read_only import EmptyCell, ReadOnlyCell

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
            for column, is_text in self.facts.formulas_in(number) if self.facts.formulas else ():
                row[column - 1] = _result(row[column - 1], is_text=is_text)
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
    from openpyxl.packaging.relationship import get_dependents
    from openpyxl.reader.excel import ExcelReader

    archive = inspect_archive(data)
    SharedStringScan().parse(archive.unpacked(SHARED_STRINGS))
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
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (*_FAILURES, InvalidFileException) as failure:
        raise WorkbookRefused(refusal) from failure


def _value(cell: SourceCell) -> Cell:
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        return ErrorValue()
    if isinstance(value, str):
        if "_x" not in value:
            return value
        from openpyxl.utils.escape import unescape

        return unescape(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() else value
    if isinstance(value, int | float):
        return _number(value, cell.number_format if getattr(cell, "has_style", False) else "")
    return value if isinstance(value, dt.date | dt.time | dt.timedelta) else str(value)


def _number(value: float, shown_as: str) -> float:
    """Return a number as a spreadsheet shows it by a format: `0%`, `000`."""
    if "%" in shown_as:
        return Percentage(value)
    if len(shown_as) > 1 and not shown_as.strip("0") and value >= 0 and float(value).is_integer():
        return PaddedNumber(value, len(shown_as))
    return float(value)


def _result(value: Cell, *, is_text: bool) -> Cell:
    """Return the stored result of a formula, marked as one."""
    if value == "" and is_text and not isinstance(value, ErrorValue):
        return ""
    if isinstance(value, bool):
        return FormulaText(str(value).upper())
    if isinstance(value, ErrorValue):
        return value
    if isinstance(value, str):
        return FormulaText(value)
    return FormulaNumber(value) if isinstance(value, float) and not isinstance(value, PaddedNumber) else value


MAX_COLUMNS = 256
HEAD_ROWS = 10  # a header is looked for in this many rows
LISTED = 12
CSV_ENDINGS = (".csv", ".tsv", ".tab")
SAVE_TABLE = 'Save the table again as "CSV UTF-8".'
NUL_CHARACTER = error_rule("nul-byte", SAVE_TABLE)
OLD_ENCODING = warning_rule("windows-1252", f"Check the letters with accents. {SAVE_TABLE}")
MAX_CELL = 16 * 1024 * 1024
_HEAD = 1 << 16
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
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
        text = _table_text(data, file, findings)
        return [Grid(file, "", _CsvRows(text, findings), data.count(b"\n") + 1)] if text is not None else []
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


def _table_text(data: bytes, file: str, findings: Findings) -> Text | None:
    """Return a CSV file as text, with a warning if its encoding was guessed; None, with an error, where it is none."""
    text = text_of(source_of(file, data), "", findings)
    if text is None:
        return None
    with text.open() as stream:
        numbers = [number for number, line in enumerate(stream, 1) if "\0" in line] if b"\0" in data else []
    if numbers:
        message = "The file contains a NUL character, which text files never do."
        findings.add(NUL_CHARACTER, file, at_line(numbers[0]), message)
        return None
    if text.is_guessed:
        message = f"The file is not UTF-8; it was read as {text.shown_encoding}."
        findings.add(OLD_ENCODING, file, fault_in(text.file, "utf-8"), message)
    return text


def _report_hidden(sheet: Sheet, findings: Findings) -> None:
    """Warn of rows and columns that were read although nobody sees them in the spreadsheet."""
    rows, columns = sheet.facts.hidden_rows, sheet.facts.hidden_columns
    if rows:
        message = (
            f"{len(rows):,} hidden row{'s' * (len(rows) > 1)} of the sheet {sheet.name!r} were read like the others."
        )
        shown = ", ".join(str(row) for row in rows[:LISTED]) + (" …" if len(rows) > LISTED else "")
        findings.warning(f"{sheet.name}!{rows[0]}", "hidden-rows", message, offending=shown, hint=HIDDEN)
    if columns:
        names = [
            column_letters(first) if first == last else f"{column_letters(first)}-{column_letters(last)}"
            for first, last in columns[:LISTED]
        ]
        message = f"Hidden columns of the sheet {sheet.name!r} were read like the others: {', '.join(names)}."
        findings.warning(f"{sheet.name}!{names[0]}", "hidden-columns", message, offending=", ".join(names), hint=HIDDEN)


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
    text: Text
    findings: Findings

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        if csv.field_size_limit() < MAX_CELL:
            csv.field_size_limit(MAX_CELL)
        line, width = 1, 0
        with self.text.open(newline="") as stream:
            delimiter = _delimiter_of(stream.read(_HEAD))
            stream.seek(0)
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            try:
                for record in reader:
                    width = max(width, len(record))
                    yield line, [*record, *[""] * (width - len(record))]
                    line = reader.line_num + 1
            except csv.Error as problem:
                _error_once(self.findings, f"line {line}", "bad-csv", f"The CSV cannot be read: {problem}.", SAVE_TABLE)


def _delimiter_of(head: str) -> str:
    """Return what separates the cells of the header: a comma, a semicolon or a tab."""
    header = re.split(r"[\r\n]", _QUOTED.sub("", head.lstrip("\r\n")), maxsplit=1)[0]
    return max(",;\t", key=lambda mark: (header.count(mark), mark == ","))


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
