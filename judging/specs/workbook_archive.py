"""What an .xlsx archive holds, measured before any of it is read as a spreadsheet.

A workbook is a zip of XML. A few kilobytes can unpack to gigabytes; that is refused here, from the bytes that really
come out of the archive, not from the sizes that it claims. Nothing is kept but the small parts: rows are unpacked again
when they are read, piece by piece.
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
from functools import lru_cache
from xml.etree.ElementTree import Element

from defusedxml import ElementTree

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_SMALL_PART_BYTES = 16 * 1024 * 1024
MAX_MEMBERS = 2000
MAX_TAG_BYTES = 65536
CHUNK_BYTES = 1 << 18

SHARED_STRINGS = "xl/sharedStrings.xml"
STYLES = "xl/styles.xml"
_INDEX = ("xl/workbook.xml", "xl/_rels/workbook.xml.rels", STYLES)
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^<>]*?ref\s*=\s*["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})""")

Range = tuple[tuple[int, int], tuple[int, int]]


class WorkbookRefused(ValueError):
    """The file is not a workbook that can safely be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class SheetFacts:
    """One worksheet before its cells are read; rows and columns count from 1."""

    name: str
    path: str  # of its part in the archive
    visible: bool = True
    row_count: int = 0
    merged: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class Archive:
    """A measured workbook: its worksheets in order, its small parts, and a way to unpack the rest."""

    data: bytes
    members: Mapping[str, zipfile.ZipInfo]
    small: Mapping[str, bytes]
    sheets: tuple[SheetFacts, ...]

    def unpacked(self, path: str) -> Iterator[bytes]:
        """Yield a part in pieces; nothing where there is no such part."""
        return unpacked(self.data, self.members[path]) if path in self.members else iter(())


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
    if data[:4] == b"\xd0\xcf\x11\xe0":
        raise WorkbookRefused("This is an old .xls file or a workbook with a password; save it as .xlsx without one.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as problem:
        raise WorkbookRefused("This is not an .xlsx workbook, or it is damaged; save it again as .xlsx.") from problem
    _check_members(members)
    parts = _measure(data, members)
    if "xl/workbook.xml" not in parts.small:
        raise WorkbookRefused("The archive holds no xl/workbook.xml, so it is not an .xlsx workbook.")
    named = {member.filename: member for member in members}
    return Archive(data, named, parts.small, tuple(_sheets(parts)))


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS:
        raise WorkbookRefused(f"The archive holds {len(members)} files; a workbook holds at most {MAX_MEMBERS}.")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise WorkbookRefused(f"The part {member.filename[:80]!r} is encrypted or packed in an unusual way.")


@dataclass(slots=True)
class _Scan:
    """What is counted in one worksheet while it is unpacked."""

    row_count: int = 0
    merged: list[Range] = field(default_factory=list)
    carry: bytes = b""

    def take(self, chunk: bytes) -> None:
        """Count the tags that are whole by now; `<` never stands in a text, so it always begins one."""
        text = self.carry + chunk
        cut = text.rfind(b"<")
        self._count(text[:cut] if cut >= 0 else b"")
        self.carry = text[cut:][-MAX_TAG_BYTES:]

    def finish(self) -> None:
        self._count(self.carry)

    def _count(self, text: bytes) -> None:
        self.row_count += len(_ROW.findall(text))
        for left, top, right, bottom in _MERGED.findall(text):
            first = (int(top), column_number(left.decode()))
            self.merged.append((first, (int(bottom), column_number(right.decode()))))


@dataclass(slots=True)
class _Parts:
    scans: dict[str, _Scan] = field(default_factory=dict)
    small: dict[str, bytes] = field(default_factory=dict)


def _measure(data: bytes, members: list[zipfile.ZipInfo]) -> _Parts:
    parts, left = _Parts(), MAX_UNPACKED_BYTES
    for member in members:
        scan = _Scan() if member.filename.startswith("xl/worksheets/") and member.filename.endswith(".xml") else None
        kept = bytearray()
        for chunk in unpacked(data, member):
            left -= len(chunk)
            if left < 0:
                raise WorkbookRefused(
                    f"The workbook unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB "
                    f"(in {member.filename[:80]!r}); it is refused as a zip bomb."
                )
            if scan is not None:
                scan.take(chunk)
            elif member.filename in _INDEX:
                kept += chunk
                _check_small(member.filename, kept)
        if scan is not None:
            scan.finish()
            parts.scans[member.filename] = scan
        elif member.filename in _INDEX:
            parts.small[member.filename] = bytes(kept)
    return parts


def _check_small(name: str, kept: bytearray) -> None:
    if len(kept) > MAX_SMALL_PART_BYTES:
        raise WorkbookRefused(f"The part {name!r} is larger than any workbook needs; save the workbook again.")


def unpacked(data: bytes, member: zipfile.ZipInfo) -> Iterator[bytes]:
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


def read_part(data: bytes, said: str) -> Element:
    """Return the root of a small part.

    Raises:
        WorkbookRefused: it is not XML, or it declares entities.
    """
    try:
        root: Element = ElementTree.fromstring(data, forbid_dtd=True)
    except (ElementTree.ParseError, ValueError) as problem:
        raise WorkbookRefused(f"The workbook's {said} is damaged; save it again as .xlsx.") from problem
    return root


def local_name(element: Element) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def _sheets(parts: _Parts) -> Iterator[SheetFacts]:
    """Yield the worksheets in the workbook's order; sheets of charts and macros are none."""
    book = read_part(parts.small["xl/workbook.xml"], "list of sheets")
    links = read_part(parts.small.get("xl/_rels/workbook.xml.rels", b"<none/>"), "list of sheets")
    targets = {link.get("Id", ""): link for link in links.iter() if link.get("Target")}
    for element in book.iter():
        if local_name(element) != "sheet":
            continue
        key = next((value for name, value in element.attrib.items() if name.endswith("}id")), "")
        link = targets.get(key)
        if link is None or not link.get("Type", "/worksheet").endswith("/worksheet"):
            continue
        target = link.get("Target", "")
        path = target[1:] if target[:1] == "/" else posixpath.normpath(posixpath.join("xl", target))
        scan = parts.scans.get(path, _Scan())
        visible = element.get("state", "visible") == "visible"
        yield SheetFacts(element.get("name", ""), path, visible, scan.row_count, tuple(scan.merged))
