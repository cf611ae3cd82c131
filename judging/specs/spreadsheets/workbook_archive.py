"""What an .xlsx archive holds, measured before any of it is read as a spreadsheet.

A workbook is a zip of XML. A few kilobytes can unpack to gigabytes; that is refused here, from the bytes that really
come out of the archive, not from the sizes that it claims.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from judging.specs.files.file_formats import foreign_format

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
