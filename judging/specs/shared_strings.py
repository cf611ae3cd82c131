"""The strings that the cells of a workbook share, kept outside of memory once there are many.

A cell names its text by number, so all of them are needed at any time; a hundred thousand rows have half a million.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections.abc import Iterator
from functools import lru_cache

from judging.specs.workbook_archive import SHARED_STRINGS, Archive, WorkbookRefused
from judging.specs.workbook_xml import Piece, list_pieces, plain_xml_text, text_of

PER_BLOCK = 64
BLOCKS_AT_HAND = 256
BYTES_AT_HAND = 4 * 1024 * 1024  # a smaller list never touches the disk

_PLAIN = re.compile(r"<si><t[^<>]*>([^<]*)</t></si>")


class SharedStrings:
    """The texts by number."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._file = tempfile.SpooledTemporaryFile(BYTES_AT_HAND)  # noqa: SIM115 lives as long as this object
        self._ends = array("Q", [0])
        self._last: list[str] = []
        for text in texts:
            self._last.append(text)
            if len(self._last) == PER_BLOCK:
                self._end_block()
        self._block = lru_cache(maxsize=BLOCKS_AT_HAND)(self._read_block)

    def _end_block(self) -> None:
        # No XML holds the character 0, so it separates them.
        written = self._file.write("\0".join(self._last).encode("utf-8", "surrogatepass"))
        self._ends.append(self._ends[-1] + written)
        self._last = []

    def _read_block(self, number: int) -> list[str]:
        self._file.seek(self._ends[number])
        data = self._file.read(self._ends[number + 1] - self._ends[number])
        return data.decode("utf-8", "surrogatepass").split("\0")

    def __getitem__(self, number: int) -> str:
        block, place = divmod(number, PER_BLOCK)
        if block == len(self._ends) - 1 and place < len(self._last):
            return self._last[place]
        if not 0 <= block < len(self._ends) - 1:
            raise WorkbookRefused("A cell names a text that the workbook does not hold; save the workbook again.")
        return self._block(block)[place]


def read_shared_strings(archive: Archive) -> SharedStrings:
    """Return the shared strings of a workbook; none where it has no such part.

    Raises:
        WorkbookRefused: the part is damaged.
    """
    if SHARED_STRINGS not in archive.members:
        return SharedStrings(iter(()))
    pieces = list_pieces(archive.unpacked(SHARED_STRINGS), container=b"sst", element=b"si")
    return SharedStrings(text for piece in pieces for text in _texts(piece))


def _texts(piece: Piece) -> list[str]:
    if piece.is_plain:
        found = _PLAIN.findall(piece.text)
        if len(found) == piece.text.count("<si"):
            return [plain_xml_text(text) for text in found]
    return [text_of(element) for element in piece.parsed()]
