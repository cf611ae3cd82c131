"""The rows of a worksheet, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from judging.specs.cell_values import Cell, CellReader
from judging.specs.workbook_archive import (
    Archive,
    SheetFacts,
    WorkbookRefused,
    column_letters,
    column_number,
    local_name,
)
from judging.specs.workbook_xml import Piece, list_pieces, plain_xml_text, text_of

MAX_CELLS = 8_000_000  # rows x columns of the used range of one sheet
MAX_SHEET_COLUMNS = 16_384

_ROW_NUMBER = re.compile(r'<row[^<>]*?\sr="(\d{1,7})"')
_CELL = re.compile(
    r'<c r="([A-Z]{1,3})(\d{1,7})"([^<>]*)>(?:(?<=/>)|(<f[^<>]*?(?:/>|>[^<]*</f>))?'
    r"(?:<v[^<>/]*>([^<]*)</v>|<is><t[^<>/]*>([^<]*)</t></is>|<v/>)?</c>)"
)
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")


@dataclass(slots=True)
class SheetReader:
    """Reads the rows of one sheet from its first cell on, each as wide as the widest so far."""

    archive: Archive
    sheet: SheetFacts
    cells: CellReader
    width: int = 0
    row: int = 0
    columns: dict[str, int] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[int, list[Cell]]]:
        """Yield the rows that the sheet holds, with their numbers; blank cells are empty texts.

        Raises:
            WorkbookRefused: the sheet is damaged, or its used range is too large.
        """
        for piece in list_pieces(self.archive.unpacked(self.sheet.path), container=b"sheetData", element=b"row"):
            if piece.is_plain and _is_cut_whole(piece.text):
                yield from self._plain_rows(piece)
            else:
                yield from self._parsed_rows(piece)

    def _plain_rows(self, piece: Piece) -> Iterator[tuple[int, list[Cell]]]:
        for part in piece.text.split("</row>")[:-1]:
            start = part.rfind("<row")
            found = _CELL.findall(part, start)
            number = _ROW_NUMBER.match(part, max(start, 0))
            if number is None or len(found) != part.count("<c", start):
                yield from self._parsed_rows(Piece(f"{part}</row>", False, piece.head, piece.prefix, piece.container))
                continue
            self._begin(int(number[1]))
            yield self.row, self._plain_row(number[1], found)

    def _plain_row(self, digits: str, found: list[tuple[str, str, str, str, str, str]]) -> list[Cell]:
        row: list[Cell] = [""] * self.width
        columns, kinds, cells = self.columns, self.cells.kinds, self.cells
        for letters, own_digits, attributes, formula, written, inline in found:
            if own_digits != digits:
                raise self._astray(letters + own_digits)
            text = written or inline
            if "&" in text or "_x" in text:
                text = plain_xml_text(text)
            if not (text or formula):
                continue
            kind = kinds.get(attributes) or cells.kind_of(attributes)
            value = text if kind.is_text and not formula else cells.value(kind, text, has_formula=formula != "")
            column = columns.get(letters, MAX_SHEET_COLUMNS)
            if column <= len(row):
                row[column - 1] = value
            else:
                self._put(row, letters, value)
        return row

    def _parsed_rows(self, piece: Piece) -> Iterator[tuple[int, list[Cell]]]:
        for element in piece.parsed():
            if local_name(element) != "row":
                continue
            written = element.get("r", "")
            self._begin(int(written) if written.isdecimal() and len(written) < 8 else self.row + 1)
            row: list[Cell] = [""] * self.width
            column = 0
            for cell in element:
                if local_name(cell) == "c":
                    letters = self._letters(cell, column)
                    column = self._column(letters)
                    value = self._parsed_cell(cell)
                    if value != "" or type(value) is not str:
                        self._put(row, letters, value)
            yield self.row, row

    def _letters(self, cell: Element, column: int) -> str:
        reference = cell.get("r")
        if reference is None:
            return column_letters(column + 1)
        found = _REFERENCE.fullmatch(reference.strip())
        if found is None or int(found[2]) != self.row:
            raise self._astray(reference)
        return found[1]

    def _parsed_cell(self, cell: Element) -> Cell:
        kind, written, has_formula = self.cells.kind(cell.attrib), "", False
        for child in cell:
            name = local_name(child)
            if name == "v":
                written = child.text or ""
            elif name == "is":
                written = text_of(child)
            elif name == "f":
                has_formula = True
        return self.cells.value(kind, written, has_formula=has_formula)

    def _begin(self, number: int) -> None:
        if number <= self.row:
            raise WorkbookRefused(
                f"The row {number} of the sheet {self.sheet.name!r} stands behind the row {self.row}; "
                "save the workbook again."
            )
        self.row = number
        self._check_extent()

    def _put(self, row: list[Cell], letters: str, value: Cell) -> None:
        column = self._column(letters)
        if column > len(row):
            row.extend([""] * (column - len(row)))
            self.width = column
            self._check_extent()
        row[column - 1] = value

    def _column(self, letters: str) -> int:
        column = self.columns.get(letters)
        if column is None:
            column = column_number(letters)
            if column > MAX_SHEET_COLUMNS:
                raise self._astray(f"{letters}{self.row}")
            self.columns[letters] = column
        return column

    def _check_extent(self) -> None:
        if self.row * self.width > MAX_CELLS:
            far = f"{self.sheet.name}!{column_letters(self.width)}{self.row}"
            raise WorkbookRefused(
                f"The used range of the sheet reaches {far}, more than {MAX_CELLS:,} cells; "
                "delete the empty rows and columns behind the data and save again."
            )

    def _astray(self, reference: str) -> WorkbookRefused:
        return WorkbookRefused(
            f"The cell {self.sheet.name}!{reference[:20]} stands in row {self.row}, where it cannot be; "
            "save the workbook again."
        )


def _is_cut_whole(text: str) -> bool:
    """Return whether nothing but empty rows follows the last whole row."""
    return "<c" not in text[text.rfind("</row>") + 1 :]
