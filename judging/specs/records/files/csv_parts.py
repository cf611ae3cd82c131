"""CSV files as parts: separator, header, quoted cells with line breaks, index columns.

Names of columns are unique and in the order of the file: the second `Status` is `Status (2)`, a nameless column with
cells is `column 3` by its place.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile, zip_longest
from typing import TextIO

from judging.specs.files.encodings import Text
from judging.specs.files.findings import Findings, Rule, at_line, error_rule, shorten, warning_rule
from judging.specs.records.names import is_known
from judging.specs.records.parts import Form, Part, PartRemark, Row
from judging.specs.records.values import as_number, is_question

NOT_AN_OBJECT = error_rule("not-an-object", 'Write an object in braces, such as {"id": "1"}.')
NO_ROWS = error_rule("no-rows", "Is this the right file?")
REPAIRED_TEXT = warning_rule("unstorable-character", "No action is needed unless every character of the text matters.")
REPAIRED = "NUL characters or broken Unicode were replaced by U+FFFD."


@dataclass(slots=True)
class Reports:
    """The problems of one file, each at its place in the order of reading."""

    file: str
    findings: Findings
    told: int = 0  # up to where problems are known
    is_open: bool = False  # the last line that was read has no end

    def tell(self, number: int, rule: Rule, at: str, message: str, offending: object = "") -> None:
        """Note a problem of the nth line or entry, counted from 1, unless it was noted in an earlier reading."""
        if number > self.told:
            self.told = number
            self.findings.add(rule, self.file, at, message, offending)


HALF = 100  # of the rows of a sample
DEEPEST = 4  # objects in objects that are looked into
_MOST_CHARACTERS = 4_000_000  # of each half


@dataclass(slots=True)
class Sample:
    """The first hundred rows, and up to a hundred of those that follow, evenly spread; fewer where rows are large. Rows
    with a key that none had before are among them, so that a rare column is not missed."""

    count: int = 0  # of all rows that came by
    _keys: dict[str, None] = field(default_factory=dict)  # of all rows that came by, as they first appear
    _first: list[Row] = field(default_factory=list)
    _rare: list[Row] = field(default_factory=list)
    _later: list[tuple[Row, int]] = field(default_factory=list)
    _room: int = _MOST_CHARACTERS
    _later_size: int = 0
    _step: int = 1

    def add(self, row: Row, size: int) -> None:
        """Take or pass over the next row, which is written in so many characters."""
        self.count += 1
        has_new = not row.fields.keys() <= self._keys.keys()
        if len(self._first) < HALF and self._room > 0 and not self._later:
            self._first.append(row)
            self._room -= size
        elif len(self._rare) < HALF and has_new:
            self._rare.append(row)
        elif self.count % self._step == 0:
            self._later.append((row, size))
            self._later_size += size
            while len(self._later) > HALF or (self._later_size > _MOST_CHARACTERS and len(self._later) > 1):
                self._later = self._later[1::2]
                self._later_size = sum(size for _, size in self._later)
                self._step *= 2
        if has_new:
            self._keys.update(dict.fromkeys(row.fields))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The first rows in their order, then those that brought a new key, then the others in their order."""
        return (*self._first, *self._rare, *(row for row, _ in self._later))

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys of all rows in the order in which they first appear."""
        return tuple(self._keys)


def lists_of(value: object, path: str = "", depth: int = 0) -> dict[str, Sample]:
    """Return the lists of objects in a document that is held, by path."""
    found: dict[str, Sample] = {}
    if isinstance(value, dict) and depth < DEEPEST:
        for key, child in value.items():
            found |= lists_of(child, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list):
        sample = Sample()
        for number, entry in enumerate(value):
            if isinstance(entry, dict):
                sample.add(Row(f"{path}[{number}]", entry), 0)
        found |= {path: sample} if sample.count else {}
    return found


BAD_CSV = error_rule("bad-csv", "")
NO_NAMES = error_rule("no-header", "Write a line with the names of the columns above it.")
NO_HEADER = error_rule("no-header", "Remove the lines above the header.")

SEPARATORS = (",", ";", "\t", "|")
_MAX_CELL = 64 * 1024 * 1024
_MOST_SAMPLED = 64 * 1024 * 1024  # bytes of a file of which all rows are looked at
_HEAD = 1 << 16  # characters
_CUT = "file-cut"
_LONG_NAME, _MANY_WORDS = 30, 6  # characters; words of a name that stands alone
_LOOKED_AT = 20  # rows by which the separator is told
_ALIKE = 0.9  # share of the first rows
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_INDEX_NAMES = re.compile(r"(Unnamed: \d+(\.\d+)?|__index_level_\d+__)?")
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060\ufeff]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    separator: str
    lines_before: int = 0  # the `sep=` line, or remarks that begin with #
    is_table: bool = True  # the first rows have several cells, and equally many
    remarks: int = 0  # how many lines before are such


def unique_names(cells: Sequence[str]) -> list[str]:
    """Return the names of columns from their header cells: trimmed, doubled ones counted, nameless ones by place."""
    names: dict[str, None] = {}
    for place, cell in enumerate(cells, 1):
        name = base = _INVISIBLE.sub("", cell).strip() or f"column {place}"
        number = 1
        while name in names:
            number += 1
            name = f"{base} ({number})"
        names[name] = None
    return list(names)


def joined_header(head: Sequence[str], below: Sequence[str], merged: Collection[int] = ()) -> list[str] | None:
    """Return the names of columns in two rows: those below a cell that is wider than one column, after its own where
    they stand below several such cells, as in "GPT-4o Score". None where the second row is none of names.

    It is one where it has cells below wide cells alone, which are `merged` or have all the same names below them; then
    others may stand before the first of these. A cell is as wide as the empty and the equal ones that follow it.
    """
    groups: list[tuple[str, list[int]]] = []
    for place, cell in enumerate(head):
        if groups and cell.strip() in ("", groups[-1][0]):
            groups[-1][1].append(place)
        elif cell.strip():
            groups.append((cell.strip(), [place]))
    named = [place for place, cell in enumerate(below[: len(head)]) if cell.strip()]
    wide = [(title, [n for n in places if n in named]) for title, places in groups if len(places) > 1]
    names = [[below[place].strip() for place in places] for _, places in wide if places]
    is_alike = len(names) > 1 and len(names[0]) > 1 and all(some == names[0] for some in names)
    before = [place for place in named if is_alike and place < groups[0][1][0]]
    if not named or before + sorted(place for _, places in wide for place in places) != named:
        return None
    if not is_alike and sorted(merged) != named:
        return None
    is_doubled = len({*chain(*names)}) + len(before) < len(named)
    header = [*(below[place] for place in before), *head[len(before) :]]
    for title, places in wide:
        for place in places:
            header[place] = f"{title} {below[place].strip()}" if is_doubled else below[place]
    return header


def whole_header(
    head: Sequence[str], following: Sequence[Sequence[str]], merged: Collection[int] = ()
) -> tuple[list[str], int]:
    """Return the names of columns, and how many of the rows that follow the first one of the header belong to it.

    A second one is as `joined_header` says. A third one has names for the columns without one and for no other, as
    pandas writes those of an index.
    """
    joined = joined_header(head, following[0], merged) if following else None
    if joined is None:
        return list(head), 0
    third = following[1] if len(following) > 1 else ()
    both = [(name.strip(), cell.strip()) for name, cell in zip_longest(joined, third, fillvalue="")]
    has_third = all(bool(name) != bool(cell) for name, cell in both) and any(cell for _, cell in both)
    return ([name or cell for name, cell in both], 2) if has_third else (joined, 1)


def is_index(header: str, cells: Sequence[object]) -> bool:
    """Return whether a nameless first column only counts the rows, from 0 or 1."""
    if not cells or _INDEX_NAMES.fullmatch(_INVISIBLE.sub("", header).strip()) is None:
        return False
    first = str(cells[0])
    return first in ("0", "1") and all(str(cell) == str(int(first) + n) for n, cell in enumerate(cells))


def dialect_of(text: Text) -> Dialect:
    """Return how a CSV file is written, by its first rows."""
    with text.open(newline="") as stream:
        head = stream.read(_HEAD)
    said = _SEP_LINE.match(head)
    if said is not None and said.end() < len(head):
        return Dialect(said[1], 1)
    lines = head.splitlines(keepends=True)
    lines = lines[:-1] if len(head) == _HEAD and len(lines) > 1 else lines  # the last one may be cut
    remarks = list(takewhile(lambda line: line.startswith("#"), lines))
    lines = lines[len(remarks) :]
    best, best_worth, rows_seen = ",", (False, 0.0, 0), 0
    is_tsv = text.file.path.lower().endswith((".tsv", ".tab"))
    for mark in ("\t", *SEPARATORS) if is_tsv else SEPARATORS:
        rows = [row for row in islice(csv.reader(lines, delimiter=mark), _LOOKED_AT) if any(row)]
        widths = [*map(len, rows)] or [0]
        is_header = widths[0] > 1  # else a title may stand above it
        width = widths[0] if is_header else Counter(widths).most_common(1)[0][0]
        worth = (is_header, widths.count(width) / len(widths), width)
        if width > 1 and worth > best_worth:
            best, best_worth, rows_seen = mark, worth, len(rows)
    named = [n for n, line in enumerate(remarks) if len(line.split(best)) == best_worth[2]]  # a header may begin with #
    count = named[0] if named else len(remarks)
    return Dialect(best, count, rows_seen > 1 and best_worth[1] > _ALIKE, count)


class _Lines:
    """The lines of a stream for `csv.reader`, with what it does not say: quotes since the last row."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.quotes = self.count = 0
        self.has_nul = self.is_open = False

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.count += 1
            self.quotes += line.count('"')
            self.is_open = not line.endswith(("\n", "\r"))
            if "\0" in line:
                self.has_nul, line = True, line.replace("\0", "\ufffd")
            yield line


@dataclass(slots=True)
class CsvRows:
    """The rows of a CSV file; they may be gone through more than once."""

    text: Text
    dialect: Dialect
    reports: Reports
    header: list[str]  # unique names; the cells of columns without one are left out
    first_line: int = 0  # lines up to the header's end
    skipped: frozenset[int] = frozenset()  # columns, from 0
    remarks: list[PartRemark] = field(default_factory=list)

    def __call__(self) -> Iterator[Row]:
        kept = [(place, name) for place, name in enumerate(self.header) if place not in self.skipped]
        width = len(self.header)
        is_plain = not self.skipped
        before = width  # cells of the row before; some programs leave empty ones at the end away in every row
        for at, cells in self.records():
            if len(cells) < before:
                self._note_end(at)
            before = len(cells)
            if len(cells) < width:
                cells += [""] * (width - len(cells))
            elif len(cells) > width and any(cell.strip() for cell in cells[width:]):
                message = (
                    f"The row has {len(cells)} cells, the header {width}. Put quotes around a text that contains "
                    f"{_SHOWN.get(self.dialect.separator, self.dialect.separator)}."
                )
                self.reports.tell(at, BAD_CSV, at_line(at), message, cells[width])
                continue
            yield Row(
                at_line(at),
                dict(zip(self.header, cells, strict=False)) if is_plain else {name: cells[n] for n, name in kept},
            )

    def _note_end(self, line: int) -> None:
        """Note once that the file ends within a row."""
        if self.reports.is_open and not any(remark.kind == _CUT for remark in self.remarks):
            self.remarks.append(PartRemark(_CUT, at_line(line)))

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the records below the header that hold something, each with the line on which it starts."""
        for line, cells in _records(self.text, self.dialect, self.reports):
            if line > self.first_line and any(cells):
                yield line, cells


_SHOWN = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "the sign |"}


def _records(text: Text, dialect: Dialect, reports: Reports) -> Iterator[tuple[int, list[str]]]:
    """Yield all records of a file, each with the line on which it starts."""
    if csv.field_size_limit() < _MAX_CELL:
        csv.field_size_limit(_MAX_CELL)
    with text.open(newline="") as stream:
        for _ in range(dialect.lines_before):
            stream.readline()
        lines = _Lines(stream)
        reader = csv.reader(lines, delimiter=dialect.separator)
        start = dialect.lines_before + 1
        last: tuple[int, list[str]] = (start, [])
        is_open = False
        try:
            for cells in reader:
                if lines.has_nul:
                    reports.tell(start, REPAIRED_TEXT, at_line(start), REPAIRED)
                reports.is_open = lines.is_open
                yield start, cells
                last, is_open = (start, cells), lines.quotes % 2 == 1 and reader.line_num + dialect.lines_before > start
                lines.quotes, lines.has_nul, start = 0, False, dialect.lines_before + reader.line_num + 1
            if is_open:  # of a file that ends within quotes the reader says nothing
                message = "The quote that opens in this row is not closed."
                reports.tell(last[0], BAD_CSV, at_line(last[0]), message, last[1][-1])
        except csv.Error as failure:
            reports.tell(start, BAD_CSV, at_line(start), f"The row cannot be read: {failure}.")


def csv_part(text: Text, findings: Findings) -> Part | None:
    """Return a CSV file as a part; None, with an error, where it has no rows."""
    reports = Reports(text.file.path, findings)
    dialect = dialect_of(text)
    records = _records(text, dialect, reports)
    header, following = _head(records)
    if not header or not following:
        if not findings.has_errors:
            findings.add(BAD_CSV, text.file.path, "", "The table has a header at most, and no rows.")
        return None
    counts = [
        sum(map(bool, map(str.strip, cells))) for cells in (header, *(cells for _, cells in following[:_LOOKED_AT]))
    ]
    below = next((place for place, count in enumerate(counts) if 1 < count == max(counts)), 0)
    if counts[0] == 1 and below and header[0].strip() and not is_known(header[0]):
        line, names = following[below - 1]
        title = (
            f"The table begins with {header[0].strip()!r}; its header seems to be on line {line}: {', '.join(names)}."
        )
        findings.add(NO_HEADER, text.file.path, "", title)
        return None
    if _is_row(header, [cells for _, cells in following]):
        first = f"The first line seems to be a row, and not the names of the columns: {shorten(header[0])}"
        findings.add(NO_NAMES, text.file.path, "line 1", first)
        return None
    rows = CsvRows(text, dialect, reports, unique_names(header), following[0][0] - 1)
    numbers = {name: place for place, name in enumerate(rows.header, 1)}
    part = Part(text.file.path, Form.CSV, rows=rows, column_numbers=numbers, remarks=rows.remarks)
    if len(header) > 1 and is_index(header[0], [cells[0] for _, cells in following if cells]):
        rows.skipped = frozenset([0])
        part.remarks.append(PartRemark("index-column", "", header[0].strip()))
    nameless = {name: place for place, name in enumerate(rows.header) if not header[place].strip()}
    part.remarks += [PartRemark("row-left-out", at_line(n), "it begins with #") for n in range(1, dialect.remarks + 1)]
    part.sample, filled = _sample(text, rows, nameless)
    rows.skipped |= {place for name, place in nameless.items() if name not in filled}
    part.columns = tuple(name for n, name in enumerate(rows.header) if n not in rows.skipped)
    return part


def _head(records: Iterator[tuple[int, list[str]]]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header of records, and the first of those below it."""
    header: list[str] = next((cells for _, cells in records if any(cell.strip() for cell in cells)), [])
    following = list(islice(((line, cells) for line, cells in records if any(cells)), HALF))
    names, count = whole_header(header, [cells for _, cells in following[:-1]][:2])
    return names, following[count:]


def _is_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a header is a row: it is one sentence, or has a decimal above numbers, or a truth value or an
    empty list, or a text and a letter, that stands again and again below it."""
    if len(header) == 1 and len(header[0].split()) > _MANY_WORDS:
        return True
    decimals = [place for place, cell in enumerate(header) if re.fullmatch(r"-?\d+\.\d+", cell.strip())]
    if decimals and all(
        as_number(cells[place]) is not None for place in decimals for cells in rows if place < len(cells)
    ):
        return True
    has_text = any(len(cell) > _LONG_NAME or is_question(cell) for cell in header)
    values = r"[A-H]|True|False|\[\]" if has_text else r"True|False|\[\]"
    letters = [place for place, cell in enumerate(header) if re.fullmatch(values, cell.strip())]
    below = [[cells[place].strip() for cells in rows if place < len(cells)] for place in letters]
    return any(
        header[place].strip() in cells and len(set(cells)) <= 8 for place, cells in zip(letters, below, strict=True)
    )


def _sample(text: Text, rows: CsvRows, nameless: Collection[str]) -> tuple[tuple[Row, ...], set[str]]:
    """Return the sample, and which of the nameless columns have cells."""
    sample, filled = Sample(), set()
    most = None if text.file.size <= _MOST_SAMPLED else 2 * HALF
    for row in islice(rows(), most):
        sample.add(row, sum(map(len, row.fields.values())))
        if nameless:
            filled |= {name for name in nameless if row.fields.get(name)}
    return sample.rows, filled
