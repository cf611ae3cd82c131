"""What an .xlsx archive holds, measured before any spreadsheet library opens it.

A workbook is a zip of XML. A few kilobytes can unpack to gigabytes, and one cell at XFD1048576 makes a reader reserve
seventeen billion cells. Both are refused here, from the bytes that really come out of the archive, not from the sizes
that it claims.
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from defusedxml import ElementTree

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_PART_RATIO = 2000  # deflate cannot exceed 1032; a larger one means overlapping members
MAX_MEMBERS = 2000
MAX_CELLS = 8_000_000  # rows x columns of the used range of one sheet
MAX_TAG_BYTES = 65536
CHUNK_BYTES = 1 << 20

_TAG = re.compile(rb"<(?:\w+:)?(row|c)((?:\s[^<>]*)?)>(\s*<(?:\w+:)?f[\s>/])?")
_PLAIN_REFERENCE = re.compile(rb'\A\s+r="([A-Z]{0,3})(\d{1,7})"[^"\']*(?:"[^"\'=<>]*"[^"\']*)*\Z')
_ATTRIBUTE = re.compile(rb"""\s+([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(rb"\A([A-Z]{0,3})(\d{0,7})\Z")
_LOOKAHEAD = 64  # bytes that must follow a tag before it is known whether a formula follows


class WorkbookRefused(ValueError):
    """The file is not a workbook that can safely be opened; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class SheetFacts:
    """Extent and formulas of one worksheet part; rows and columns count from 1."""

    last_row: int = 0
    last_column: int = 0
    formulas: frozenset[tuple[int, int]] = frozenset()
    error_cells: frozenset[tuple[int, int]] = frozenset()  # #REF!, #N/A...: readers hand these on as blank


@dataclass(slots=True)
class _Scan:
    row: int = 0
    column: int = 0
    last_row: int = 0
    last_column: int = 0
    formulas: set[tuple[int, int]] = field(default_factory=set)
    error_cells: set[tuple[int, int]] = field(default_factory=set)

    def facts(self) -> SheetFacts:
        return SheetFacts(self.last_row, self.last_column, frozenset(self.formulas), frozenset(self.error_cells))


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


def inspect_archive(data: bytes) -> Mapping[str, SheetFacts]:
    """Return the facts of every worksheet by sheet name, having unpacked the whole archive once in small pieces.

    Raises:
        WorkbookRefused: not an .xlsx file, too large unpacked, or a sheet whose used range is too large.
    """
    if data[:4] == b"\xd0\xcf\x11\xe0":
        raise WorkbookRefused("This is an old .xls file or a workbook with a password; save it as .xlsx without one.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as problem:
        raise WorkbookRefused("This is not an .xlsx workbook, or it is damaged; save it again as .xlsx.") from problem
    _check_members(members)
    parts = _scan_members(data, members)
    if "xl/workbook.xml" not in parts.small:
        raise WorkbookRefused("The archive holds no xl/workbook.xml, so it is not an .xlsx workbook.")
    facts = {name: parts.sheets.get(path, SheetFacts()) for name, path in _sheet_paths(parts.small).items()}
    for name, sheet in facts.items():
        _check_extent(name, sheet)
    return facts


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS:
        raise WorkbookRefused(f"The archive holds {len(members)} files; a workbook holds at most {MAX_MEMBERS}.")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise WorkbookRefused(f"The part {member.filename[:80]!r} is encrypted or packed in an unusual way.")


def _check_extent(name: str, sheet: SheetFacts) -> None:
    if sheet.last_row * sheet.last_column > MAX_CELLS:
        far = f"{name}!{column_letters(sheet.last_column)}{sheet.last_row}"
        raise WorkbookRefused(
            f"The used range of the sheet reaches {far}, more than {MAX_CELLS:,} cells; "
            "delete the empty rows and columns behind the data and save again."
        )


@dataclass(slots=True)
class _Parts:
    sheets: dict[str, SheetFacts] = field(default_factory=dict)
    small: dict[str, bytes] = field(default_factory=dict)


def _scan_members(data: bytes, members: list[zipfile.ZipInfo]) -> _Parts:
    parts, left = _Parts(), MAX_UNPACKED_BYTES
    for member in members:
        scan, kept, carry, first = _Scan(), bytearray(), b"", True
        is_sheet = member.filename.startswith("xl/worksheets/") and member.filename.endswith(".xml")
        for chunk in _unpacked(data, member):
            left -= len(chunk)
            if left < 0:
                raise WorkbookRefused(
                    f"The workbook unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB "
                    f"(in {member.filename[:80]!r}); it is refused as a zip bomb."
                )
            if first and is_sheet:
                _check_encoding(chunk)
            first = False
            if is_sheet:
                carry = _scan_chunk(scan, carry + chunk, final=False)
            elif _is_index(member.filename):
                kept += chunk
        if is_sheet:
            _scan_chunk(scan, carry, final=True)
            parts.sheets[member.filename] = scan.facts()
        parts.small[member.filename] = bytes(kept)
    return parts


def _is_index(name: str) -> bool:
    return name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels")


def _check_encoding(start: bytes) -> None:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start[:64]:
        raise WorkbookRefused("A sheet of this workbook is not written in UTF-8; save it again as .xlsx.")


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
        chunk = inflate.decompress(packed, CHUNK_BYTES)
        while chunk:
            yield chunk
            chunk = inflate.decompress(inflate.unconsumed_tail, CHUNK_BYTES)
    except zlib.error as problem:
        raise WorkbookRefused(f"The part {member.filename[:80]!r} is damaged; save the workbook again.") from problem


def _scan_chunk(scan: _Scan, text: bytes, *, final: bool) -> bytes:
    """Record the cells in `text`; return the rest that the next chunk must begin with."""
    end = 0
    limit = len(text) if final else len(text) - _LOOKAHEAD
    for tag in _TAG.finditer(text):
        if tag.end() > limit:
            break
        end = tag.end()
        _record_tag(scan, is_row=tag[1] == b"row", attributes=tag[2], has_formula=bool(tag[3]))
    opened = text.rfind(b"<")
    if opened > text.rfind(b">") and len(text) - opened > MAX_TAG_BYTES:
        raise WorkbookRefused("A sheet holds a tag longer than any workbook needs; save the workbook again.")
    return text[max(end, len(text) - MAX_TAG_BYTES - _LOOKAHEAD) :]


def _record_tag(scan: _Scan, *, is_row: bool, attributes: bytes, has_formula: bool) -> None:
    letters, digits = _reference(attributes)
    if is_row:
        scan.row, scan.column = (int(digits) if digits else scan.row + 1), 0
        return
    scan.row = int(digits) if digits else scan.row
    scan.column = column_number(letters.decode()) if letters else scan.column + 1
    scan.last_row, scan.last_column = max(scan.last_row, scan.row), max(scan.last_column, scan.column)
    if has_formula:
        scan.formulas.add((scan.row, scan.column))
    if b't="e"' in attributes:
        scan.error_cells.add((scan.row, scan.column))


def _reference(attributes: bytes) -> tuple[bytes, bytes]:
    """Return column letters and row digits of an `r` attribute, empty where there is none."""
    plain = _PLAIN_REFERENCE.match(attributes)
    if plain:
        return plain[1], plain[2]
    if attributes.count(b'"') % 2 or attributes.count(b"'") % 2:
        raise WorkbookRefused("A sheet holds a cell that cannot be read safely; save the workbook again.")
    for name, double, single in _ATTRIBUTE.findall(attributes):
        found = _REFERENCE.match(double or single) if name == b"r" else None
        if found:
            return found[1], found[2]
    return b"", b""


def _sheet_paths(small: Mapping[str, bytes]) -> dict[str, str]:
    """Return sheet name -> part path, in workbook order."""
    try:
        book = ElementTree.fromstring(small["xl/workbook.xml"], forbid_dtd=True)
        links = ElementTree.fromstring(small.get("xl/_rels/workbook.xml.rels", b"<none/>"), forbid_dtd=True)
    except (ElementTree.ParseError, ValueError) as problem:
        raise WorkbookRefused("The workbook's list of sheets is damaged; save it again as .xlsx.") from problem
    targets = {link.get("Id", ""): link.get("Target", "") for link in links.iter() if link.get("Target")}
    paths: dict[str, str] = {}
    for element in book.iter():
        if element.tag.rpartition("}")[2] == "sheet":
            key = next((value for name, value in element.attrib.items() if name.endswith("}id")), "")
            target = targets.get(key, "")
            paths[element.get("name", "")] = target[1:] if target[:1] == "/" else posixpath.join("xl", target)
    return paths
