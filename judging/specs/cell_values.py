"""What a cell of a workbook holds, from its type, its style and what is written in it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from judging.specs.shared_strings import SharedStrings
from judging.specs.workbook_archive import STYLES, Archive, local_name, read_part
from judging.specs.workbook_xml import plain_xml_text

Cell = str | int | float | bool | dt.date | dt.time | dt.datetime | dt.timedelta

# Number formats that spreadsheets know without a declaration: dates and times, and spans of time.
_BUILTIN_DATES = frozenset({*range(14, 23), *range(27, 37), *range(50, 59)})
_BUILTIN_SPANS = frozenset({45, 46, 47})
_NOT_PATTERN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]', re.IGNORECASE)
_SPAN = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_WRITTEN_OUT = frozenset({"str", "inlineStr"})
_LAST_SERIAL = 2_958_466  # the first day of the year 10,000


class ErrorValue(str):
    """A cell that shows an error such as #REF!. It reads as blank text."""

    __slots__ = ()


class FormulaText(str):
    """A text, or nothing at all, that a formula gave when the workbook was last saved."""

    __slots__ = ()


class FormulaNumber(float):
    """A number that a formula gave when the workbook was last saved."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CellKind:
    """How the content of a cell is read: its type `t` and what its number format makes of a number."""

    type: str = "n"
    is_date: bool = False
    is_span: bool = False
    is_text: bool = False  # what is written is what it says


@dataclass(slots=True)
class CellReader:
    """Reads the cells of one workbook."""

    strings: SharedStrings
    dates: frozenset[int]  # styles that show a number as a date or a time
    spans: frozenset[int]
    starts_1904: bool = False
    kinds: dict[str, CellKind] = field(default_factory=dict)  # by the attributes of the cell, as written

    def kind_of(self, attributes: str) -> CellKind:
        """Return the kind of a cell from its attributes as written: ` s="1" t="s"`."""
        kind = self.kinds.get(attributes)
        if kind is None:
            found = {name: double or single for name, double, single in _ATTRIBUTE.findall(attributes)}
            kind = self.kind(found)
            if len(self.kinds) < 10_000:
                self.kinds[attributes] = kind
        return kind

    def kind(self, attributes: Mapping[str, str]) -> CellKind:
        """Return the kind of a cell from its attributes."""
        written = attributes.get("s", "")
        style = int(written) if written.isdecimal() and len(written) < 9 else 0
        kind = attributes.get("t", "n")
        return CellKind(kind, style in self.dates, style in self.spans, kind in _WRITTEN_OUT)

    def value(self, kind: CellKind, written: str, *, has_formula: bool) -> Cell:
        """Return what a cell says; `written` is the text between its tags with XML's escapes resolved.

        Raises:
            WorkbookRefused: it names a shared string that there is not.
        """
        if kind.type == "e":
            return ErrorValue()
        if kind.type == "s":
            value: Cell = self.strings[int(written)] if written.isdecimal() else ""
        elif kind.type == "b":
            value = written.strip() == "1"
        elif kind.is_text:
            value = written
        else:
            value = self._number(kind, written.strip())
        if not has_formula:
            return value
        if isinstance(value, bool):
            return FormulaText(str(value).upper())
        if isinstance(value, str):
            return FormulaText(value)
        return FormulaNumber(value) if isinstance(value, float) else value

    def _number(self, kind: CellKind, written: str) -> Cell:
        if kind.type == "d":
            return _iso(written)
        try:
            number = float(written)
        except ValueError:
            return written
        if kind.is_span and abs(number) < _LAST_SERIAL:
            return dt.timedelta(days=number)
        return self._moment(number) if kind.is_date and 0 <= number < _LAST_SERIAL else number

    def _moment(self, serial: float) -> Cell:
        """Return the date, the time of day or both that a serial number of days stands for."""
        if self.starts_1904:
            start = dt.datetime(1904, 1, 1)  # noqa: DTZ001 a spreadsheet's dates have no zone
        else:  # the format counts a 29 February 1900 that never was
            start = dt.datetime(1899, 12, 30 if serial >= 60 else 31)  # noqa: DTZ001 as above
        moment = start + dt.timedelta(milliseconds=round(serial * 86_400_000))
        if serial < 1 and not self.starts_1904:
            return moment.time()
        return moment.date() if moment.time() == dt.time() else moment


def _iso(written: str) -> Cell:
    try:
        moment = dt.datetime.fromisoformat(written.removesuffix("Z"))
    except ValueError:
        return written
    return moment.date() if moment.time() == dt.time() else moment


def cell_reader(archive: Archive, strings: SharedStrings) -> CellReader:
    """Return what reads the cells of a workbook, with its date formats."""
    dates: set[int] = set()
    spans: set[int] = set()
    if STYLES in archive.small:
        styles = read_part(archive.small[STYLES], "list of formats")
        own = {
            element.get("numFmtId", ""): plain_xml_text(element.get("formatCode", ""))
            for element in styles.iter()
            if local_name(element) == "numFmt"
        }
        formats = next((element for element in styles if local_name(element) == "cellXfs"), None)
        for index, element in enumerate(formats if formats is not None else ()):
            shows = _shows(element.get("numFmtId", "0"), own)
            if shows:
                (spans if shows == "span" else dates).add(index)
    return CellReader(strings, frozenset(dates), frozenset(spans), _starts_1904(archive))


def _shows(number: str, own: Mapping[str, str]) -> str:
    """Return "date", "span" or nothing for a number format."""
    code = own.get(number)
    if code is None:
        known = int(number) if number.isdecimal() and len(number) < 9 else 0
        return "span" if known in _BUILTIN_SPANS else ("date" if known in _BUILTIN_DATES else "")
    pattern = _NOT_PATTERN.sub("", code.partition(";")[0])
    if _SPAN.search(pattern):
        return "span"
    return "date" if re.search(r"[dmyhs]", pattern, re.IGNORECASE) and pattern.lower() != "general" else ""


def _starts_1904(archive: Archive) -> bool:
    book = read_part(archive.small["xl/workbook.xml"], "list of sheets")
    written = next((element.get("date1904", "") for element in book.iter() if local_name(element) == "workbookPr"), "")
    return written in ("1", "true")
