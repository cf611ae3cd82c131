"""CSV files as spreadsheets write them: which encoding, which separator."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from judging.specs.files.findings import Findings, at_line, error_rule, warning_rule

CSV_ENDINGS = (".csv", ".tsv", ".tab")
SAVE_TABLE = 'Save the table again as "CSV UTF-8".'
NOT_TEXT_FILE = error_rule("not-text", SAVE_TABLE)
NUL_CHARACTER = error_rule("nul-byte", SAVE_TABLE)
OLD_ENCODING = warning_rule("windows-1252", f"Check the letters with accents. {SAVE_TABLE}")
MAX_CELL = 16 * 1024 * 1024
SEPARATORS = (",", ";", "\t")

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD = 1 << 16
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True, slots=True)
class TableText:
    """A CSV file whose encoding and separator are known."""

    data: bytes
    encoding: str
    delimiter: str

    def lines(self) -> Iterator[str]:
        """Return the lines with their ends, as `csv.reader` takes them."""
        if csv.field_size_limit() < MAX_CELL:
            csv.field_size_limit(MAX_CELL)
        return iter(io.TextIOWrapper(io.BytesIO(self.data), encoding=self.encoding, newline=""))


def open_table(data: bytes, file: str, findings: Findings) -> TableText | None:
    """Return a CSV file ready to be read: UTF-8, UTF-16 with its mark, else Windows-1252, which is warned of.

    None, with an error, where it is none of them.
    """
    encoding = encoding_of(data)
    if not encoding:
        findings.add(NOT_TEXT_FILE, file, at_line(_bad_line(data)), "This is neither UTF-8 nor UTF-16 text.")
        return None
    table = TableText(data, encoding, delimiter_of(_head(data, encoding)))
    nul = next((number for number, line in enumerate(table.lines(), 1) if "\0" in line), 0)
    if nul:
        findings.add(NUL_CHARACTER, file, at_line(nul), "The file contains a NUL character, which text files never do.")
        return None
    if encoding == "cp1252":
        line = _bad_line(data)
        offending = data.split(b"\n")[line - 1].decode("cp1252").strip()
        findings.add(
            OLD_ENCODING, file, at_line(line), "The file is not UTF-8; it was read as Windows-1252.", offending
        )
    return table


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text, as Python names it; empty where it is none of the three that are read."""
    if data.startswith(_UTF16):
        return "utf-16" if _decodes(data, "utf-16") else ""
    return next((name for name in ("utf-8-sig", "cp1252") if _decodes(data, name)), "")


def _decodes(data: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(data), _HEAD):
            decoder.decode(data[start : start + _HEAD])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _head(data: bytes, encoding: str) -> str:
    return codecs.getincrementaldecoder(encoding)().decode(data[:_HEAD])


def _bad_line(data: bytes) -> int:
    """Return the line on which a text stops being UTF-8."""
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return data.count(b"\n", 0, problem.start) + 1
    return 1


def delimiter_of(head: str) -> str:
    """Return what separates the cells of the header: a comma, a semicolon or a tab."""
    header = re.split(r"[\r\n]", _QUOTED.sub("", head.lstrip("\r\n")), maxsplit=1)[0]
    return max(SEPARATORS, key=lambda mark: (header.count(mark), mark == ","))


def header_of(data: bytes) -> list[str]:
    """Return the names in the first row of a CSV file; none where it cannot be read."""
    encoding = encoding_of(data)
    if not encoding:
        return []
    head = _head(data, encoding)
    try:
        return [name.strip() for name in next(csv.reader(io.StringIO(head), delimiter=delimiter_of(head)), [])]
    except csv.Error:
        return []
