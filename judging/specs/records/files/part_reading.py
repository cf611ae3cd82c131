"""Turns the files of an upload into parts: containers opened, encodings found, each file read by what it holds."""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, BinaryIO

from judging.specs.files.bundles import SourceFile
from judging.specs.files.encodings import Text, foreign_format, is_marked, text_of
from judging.specs.files.findings import Findings, error_rule, warning_rule
from judging.specs.files.yaml_files import YamlLimits, read_yaml
from judging.specs.pictures import is_picture_name
from judging.specs.records import names
from judging.specs.records.files.containers import (
    ARROW_START,
    ARROW_STREAM_START,
    PARQUET_START,
    ZIP_START,
    BadContainer,
    Expansion,
    head_of,
    is_noise,
    plain_path,
)
from judging.specs.records.files.csv_parts import (
    HALF,
    Sample,
    csv_part,
    dialect_of,
    is_index,
    lists_of,
    unique_names,
    whole_header,
)
from judging.specs.records.files.json_parts import LINE_ENDINGS, Budget, document_part, held_part, json_part
from judging.specs.records.files.otlp import MOST_BYTES, OTLP_ENDINGS, BadOtlp, read_otlp
from judging.specs.records.names import Holds
from judging.specs.records.parts import MOST_COLUMNS, Form, Part, PartRemark, Row
from judging.specs.spreadsheets import (
    CSV_ENDINGS,
    Cell,
    ErrorValue,
    FormulaText,
    Grid,
    LongNumber,
    PaddedNumber,
    Percentage,
    ShareText,
    column_letters,
    is_blank,
    is_date,
    read_grids,
)

SECOND_TABLE = error_rule("second-table", "Put it on a sheet of its own, or remove it.")
NO_TABLE = error_rule("no-table", "Write the names of the columns into the first row.")
TOO_LARGE = error_rule("workbook-too-large", "Save the table as CSV.")

_DATA = (  # of a sheet of one or two columns one has such a name
    *(Holds.PROMPT, Holds.TURNS, Holds.RESPONSE, Holds.RESPONSE_TURNS, Holds.RESPONSE_A, Holds.REFERENCE, Holds.ANSWER),
    *(Holds.LABEL, Holds.SCORE, Holds.PREFERENCE, Holds.RATER),
)
_MOST_BYTES = 256 * 1024 * 1024
_MOST_SAMPLED = 5_000  # rows of a sheet of which all are looked at; workbooks are slow to read
_KEPT_DIGITS = 15


def sheet_parts(file: SourceFile, findings: Findings) -> list[Part]:
    """Return the sheets that have tables; none, with an error, where the workbook has none."""
    if file.size > _MOST_BYTES:
        message = f"The workbook has {file.size:,} bytes; at most {_MOST_BYTES:,} are read."
        findings.add(TOO_LARGE, file.path, "", message)
        return []
    with file.open() as stream:
        data = stream.read()
    findings.file = file.path
    grids = read_grids(data, file.path, findings)
    tables = [_TableRows(grid) for grid in grids]
    wide = [table for table in tables if table.is_table(2)] or [table for table in tables if table.is_table(1)]
    wide = [table for table in wide if table.is_data()] or wide
    if not wide:
        if not findings.has_errors:
            findings.add(NO_TABLE, file.path, "", "No sheet of the workbook has a table.")
        return []
    parts = [table.part() for table in wide]
    for table in wide:
        if table.second:
            message = f"A second table seems to begin here ({', '.join(table.second[1])})."
            findings.add(SECOND_TABLE, file.path, f"{table.grid.sheet}!{table.second[0]}", message)
    left_out = [grid.sheet for grid in grids if all(table.grid is not grid for table in wide)]
    parts[0].remarks += [PartRemark("sheet-left-out", name, "it has no table") for name in left_out]
    for part in parts[1:]:  # a workbook speaks of its dates once
        part.remarks = [remark for remark in part.remarks if remark.kind != _DATES]
    return parts


_DATES = "date-as-text"


@dataclass(slots=True)
class _TableRows:
    """The rows of a sheet below its header; they may be gone through more than once."""

    grid: Grid
    head: list[Cell] = field(default_factory=list)
    header: list[str] = field(default_factory=list)  # its unique names
    header_row: int = 0
    skipped: frozenset[int] = frozenset()  # columns, from 0
    remarks: list[PartRemark] = field(default_factory=list)
    second: tuple[int, list[str]] | None = None  # where a header stands below empty rows, and its names

    def is_table(self, width: int) -> bool:
        """Return whether there is a header at least so wide with rows below it, and keep where."""
        rows = [(number, cells) for number, cells in self.grid.head() if _filled(cells) >= width]
        self.header_row, self.head = rows[0] if rows else (0, [])
        for number, cells in rows[1:]:
            if not (all(map(_is_made, self.head)) or cell_text(self.head[0]).strip().endswith(":")):  # "Project:"
                break
            if _are_names(cells):
                self.header_row, self.head = number, cells
        self._take_names_below()
        self.header = unique_names([cell_text(cell) for cell in self.head])
        return bool(self.head) and next(self._records(), None) is not None

    def _take_names_below(self) -> None:
        """Take the names that stand in rows below the first one of the header, too."""
        rows = dict(self.grid.head())
        following = [[*map(cell_text, rows.get(self.header_row + n, []))] for n in (1, 2)]
        merged = [
            place
            for (top, first), (bottom, last) in self.grid.merged
            if top == bottom == self.header_row
            for place in range(first - 1, last)
        ]
        names, count = whole_header([*map(cell_text, self.head)], following, merged)
        if count:
            self.header_row, self.head = self.header_row + count, [*names]

    def is_data(self) -> bool:
        """Return whether the sheet is more than a list of keys and what they mean, such as a legend."""
        return len(self.header) > 2 or any(
            names.rank(name, role) or names.is_score(name) or names.is_model(name)
            for name in self.header
            for role in _DATA
        )

    def part(self) -> Part:
        """Return the sheet as a part."""
        grid = self.grid
        head = self.head
        following = list(islice(self._records(), HALF))
        filled = {place for _, cells in following for place, cell in enumerate(cells) if not is_blank(cell)}
        nameless = {place for place, cell in enumerate(head) if is_blank(cell)}
        self.skipped = frozenset(nameless - filled)
        if len(head) > 1 and is_index(cell_text(head[0]), [cell_text(cells[0]) for _, cells in following]):
            self.skipped |= {0}
            self.remarks.append(PartRemark("index-column", grid.sheet))
        for first, column, last in self._merged():
            letters = column_letters(column)
            self.remarks.append(PartRemark("merged-cells", f"{grid.sheet}!{letters}{first}:{letters}{last}"))
        sample = Sample()
        for row in islice(self(), None if grid.row_count <= _MOST_SAMPLED else 2 * HALF):
            sample.add(row, sum(map(len, row.fields.values())))
        columns = tuple(name for place, name in enumerate(self.header) if place not in self.skipped)
        return Part(
            *(grid.file, Form.SHEET, grid.sheet, columns, sample.rows),
            rows=self,
            remarks=self.remarks,
            column_numbers={name: place for place, name in enumerate(self.header, 1)},
        )

    def __call__(self) -> Iterator[Row]:
        kept = [(place, name) for place, name in enumerate(self.header) if place not in self.skipped]
        has_dates = any(remark.kind == _DATES for remark in self.remarks)
        for number, cells in self._records():
            if not has_dates and any(map(is_date, cells)):
                has_dates = True
                self.remarks.append(PartRemark(_DATES, f"{self.grid.sheet}!{number}"))
            texts = {name: cell_text(cells[place]) if place < len(cells) else "" for place, name in kept}
            yield Row(f"{self.grid.sheet}!{number}", texts)

    def _records(self) -> Iterator[tuple[int, list[Cell]]]:
        """Yield the rows below the header that hold something; a merged cell holds for all its rows."""
        starts: dict[int, list[tuple[int, int]]] = {}
        for first, column, last in self._merged():
            starts.setdefault(first, []).append((column - 1, last))
        held: dict[int, tuple[int, Cell]] = {}  # column -> up to which row, and what
        last, above, heading = self.header_row, self.head, 0
        for number, cells in self.grid.rows:
            if number > self.header_row and _filled(cells):
                is_apart = number > last + 1 > self.header_row + 1
                if self.second is None and is_apart and self._is_header(cells, above):
                    self.second = number, [cell_text(cell) for cell in cells if not is_blank(cell)]
                if self.second is None and heading and last + 1 == number and _filled(cells) * 2 <= _filled(self.head):
                    self.second = heading, [cell_text(cell) for cell in above if not is_blank(cell)]
                heading = number if is_apart and _filled(cells) == 1 else 0
                last, above = number, cells
                held = {place: cell for place, cell in held.items() if number <= cell[0] and place < len(cells)}
                for place, (_, value) in held.items():
                    cells[place] = value
                held |= {place: (end, cells[place]) for place, end in starts.get(number, ()) if place < len(cells)}
                yield number, cells

    def _is_header(self, cells: Sequence[Cell], above: Sequence[Cell]) -> bool:
        """Return whether a row has nothing but short names, one of them known, below a number or a long text."""
        is_other = any(not isinstance(cell, str) or len(cell.split()) > 4 for cell in above if not is_blank(cell))
        return _are_names(cells) and is_other and not set(map(cell_text, cells)) - {""} <= set(self.header)

    def _merged(self) -> Iterator[tuple[int, int, int]]:
        """Yield the merged cells over several rows below the header: first row, column, last row."""
        for (first, column), (last, _) in self.grid.merged:
            if self.header_row < first < last:
                yield first, column, last


def _are_names(cells: Sequence[Cell]) -> bool:
    """Return whether a row has nothing but several short names, one of them known."""
    words = [cell.strip() for cell in cells if isinstance(cell, str) and not is_blank(cell)]
    is_short = all(re.fullmatch(r"[^\W\d][\w ()%/-]{0,30}", word) for word in words)
    return (
        len(words) == _filled(cells) > 1
        and is_short
        and any(names.rank(word, role) for word in words for role in Holds)
    )


def _is_made(cell: Cell) -> bool:
    """Return whether a header is one that a spreadsheet program gives to a column without a name: Column1."""
    return is_blank(cell) or re.fullmatch(r"(?:Column|Spalte|Colonne|Columna|列|열) ?\d+", str(cell)) is not None


def _filled(cells: Sequence[Cell]) -> int:
    return sum(isinstance(cell, ErrorValue) or not is_blank(cell) for cell in cells)


def cell_text(cell: Cell) -> str:
    """Return a cell as text; an error value, a formula without a result and an over-long number keep their class."""
    if isinstance(cell, str):
        is_marked = isinstance(cell, ErrorValue) or (isinstance(cell, FormulaText) and not cell)
        return cell if is_marked else str(cell).replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, PaddedNumber):
        return f"{int(cell):0{cell.width}d}"
    if isinstance(cell, float):
        return ShareText(_number_text(cell)) if isinstance(cell, Percentage) else _number_text(cell)
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


def _number_text(number: float) -> str:
    """Return a number with the 15 digits that a spreadsheet keeps."""
    if not number.is_integer():
        return f"{number:.{_KEPT_DIGITS}g}"
    text = str(int(number))
    return text if len(text.lstrip("-")) <= _KEPT_DIGITS else LongNumber(text)


NEEDS_EXTRA = error_rule("parquet-extra")
BAD_PARQUET = error_rule("bad-parquet", "Save the table as JSON Lines.")

_AT_ONCE = 200  # rows
_MEDIA_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def column_part(file: SourceFile, findings: Findings) -> Part | None:
    """Return a Parquet or Arrow file as a part; None, with an error, without the extra or where it cannot be read."""
    try:
        import pyarrow  # noqa: F401  # only whether it is there
    except ImportError:
        message = "Parquet and Arrow need the extra: pip install evalsite[parquet]; or save the table as JSON Lines."
        findings.add(NEEDS_EXTRA, file.path, "", message)
        return None
    sample = Sample()
    try:
        for row in islice(_column_rows(file), 2 * HALF):
            sample.add(row, sum(len(value) if isinstance(value, str) else 8 for value in row.fields.values()))
    except (OSError, ValueError, NotImplementedError) as failure:  # pyarrow's own errors are of these classes
        findings.add(
            BAD_PARQUET, file.path, "", f"This Parquet or Arrow file cannot be read: {str(failure).rstrip('.')}."
        )
        return None
    if not sample.count:
        findings.add(BAD_PARQUET, file.path, "", "The table has no rows.")
        return None
    indices = [name for name in sample.columns if is_index(name, [row.fields.get(name) for row in sample.rows])]
    columns = tuple(name for name in sample.columns if name not in indices)
    remarks = [PartRemark("index-column", "", name) for name in indices]
    kept = tuple(Row(row.at, {name: row.fields[name] for name in columns}) for row in sample.rows)
    rows = partial(_column_rows, file, frozenset(indices))
    return Part(file.path, Form.COLUMNS, columns=columns, sample=kept, rows=rows, remarks=remarks)


def _column_rows(file: SourceFile, skipped: Collection[str] = ()) -> Iterator[Row]:
    number = 0
    with file.open() as stream:
        for batch in _batches(stream, head_of(file)):
            for fields in batch.to_pylist():
                number += 1
                yield Row(f"row {number}", {key: _plain(fields[key]) for key in fields if key not in skipped})


def _batches(stream: BinaryIO, head: bytes) -> Iterator[Any]:
    """Yield rows some at a time; Arrow trusts its files, so that what stands in one is checked before it is read."""
    import pyarrow
    from pyarrow import parquet

    if head.startswith(PARQUET_START):
        yield from parquet.ParquetFile(stream).iter_batches(_AT_ONCE)
        return
    if head.startswith(ARROW_START):
        file = pyarrow.ipc.open_file(stream)
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
    else:
        batches = iter(pyarrow.ipc.open_stream(stream))
    for batch in batches:
        batch.validate(full=True)
        yield from (batch.slice(start, _AT_ONCE) for start in range(0, batch.num_rows, _AT_ONCE))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times as ISO texts, pictures as data URIs, other bytes not at all."""
    if isinstance(value, dict):
        picture = _picture(value["bytes"]) if value.keys() == {"bytes", "path"} else None
        return picture or {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, bytes):
        return _picture(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _picture(data: object) -> str | None:
    if not isinstance(data, bytes):
        return None
    kind = next((kind for start, kind in _MEDIA_TYPES.items() if data.startswith(start)), "")
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}" if kind else None


NO_DATA = error_rule("no-data", "Bring a table (CSV, XLSX), JSON, JSON Lines, or the file of a tool.")
PASSED_OVER = warning_rule("not-read")
TOO_WIDE = error_rule("too-many-columns", "Remove those not needed.")
UNREADABLE = error_rule("unreadable", "Save or export it again.")
FOREIGN_FORMAT = error_rule("foreign-format", "")  # what is said of the format says what to do

OLE_START = b"\xd0\xcf\x11\xe0"  # of old Office documents

_YAML = (".yaml", ".yml")
_ABOUT = frozenset(  # what lies beside data and tells of it, with any ending
    {"readme", "license", "licence", "citation", "changelog", "notice", "dataset_info", "dataset_infos"}
    | {"dataset_dict", "annotation_history", "device_visits"}  # the last two: what people did in Potato, click by click
)
_STATE = "state.json"  # of a data set that the library `datasets` wrote
_TABLES_OF_OTHERS = (".xls", ".xlsb", ".ods", ".numbers", ".arrow", ".feather", ".pkl", ".sqlite", ".db")
_NOT_DATA = (  # written for people, browsers or programs
    *(".md", ".rst", ".html", ".htm", ".pdf", ".rtf", ".tex", ".py", ".ipynb", ".js", ".css", ".sh", ".svg", ".xml"),
    *(".mp3", ".wav", ".flac", ".ogg", ".mp4", ".webm", ".toml", ".cfg", ".ini", ".lock", ".gitattributes"),
)
_MOST_LOOKED_AT = 256 * 1024 * 1024


def read_parts(files: Sequence[SourceFile], encoding: str, findings: Findings) -> list[Part]:
    """Return the tables, lists of records, documents and archives of an upload, in the order of its files.

    What is no data and lies beside data is passed over; it is an error where there is nothing else.
    """
    return _PartReader(encoding, findings).read(files)


class _NoData(Exception):
    """A file holds no rows, which matters only where it is alone; the message says what it is."""


class _Foreign(_NoData):
    """A document of a format that nothing reads; the message says what to do about it."""


@dataclass(slots=True)
class _PartReader:
    encoding: str
    findings: Findings
    budget: Budget = field(default_factory=Budget)

    def read(self, files: Sequence[SourceFile]) -> list[Part]:
        expansion = Expansion(self.findings)
        for file in files:
            expansion.add(file)
        parts: list[Part] = []
        passed: dict[str, _NoData] = {}  # by path
        for file in expansion.files.values():
            try:
                parts += filter(self._is_narrow, self._parts_of(file, expansion.archives.get(file.path)))
            except _NoData as no_data:
                passed[file.path] = no_data
            except (BadContainer, OSError) as failure:
                self.findings.add(UNREADABLE, file.path, "", str(failure))
        for path, refusal in passed.items() if not self.findings.has_errors else ():
            what = str(refusal)
            if not parts:
                rule = FOREIGN_FORMAT if isinstance(refusal, _Foreign) else NO_DATA
                self.findings.add(rule, path, "", what or "This is no table and no file of records.")
            elif what:
                self.findings.add(PASSED_OVER, path, "", f"{what} It was passed over.")
        return parts

    def _is_narrow(self, part: Part) -> bool:
        """Return whether a part has no more columns than anybody names; more are an error."""
        if len(part.columns) <= MOST_COLUMNS:
            return True
        message = f"There are {len(part.columns):,} columns; at most {MOST_COLUMNS:,} are read."
        self.findings.add(TOO_WIDE, part.file, part.name, message)
        return False

    def _parts_of(self, file: SourceFile, members: Mapping[str, SourceFile] | None) -> list[Part]:
        if members is not None:
            return [Part(file.path, Form.ARCHIVE, members=members)]
        name = plain_path(file.path).rpartition("/")[2]
        if (
            name in (*_ABOUT, _STATE)
            or name.partition(".")[0] in _ABOUT
            or is_picture_name(name)
            or is_noise(file.path)
        ):
            raise _NoData
        head = head_of(file)
        if head.startswith((PARQUET_START, ARROW_START, ARROW_STREAM_START)):
            return _one(column_part(file, self.findings))
        if name.endswith(OTLP_ENDINGS):
            return _one(self._otlp_part(file))
        is_binary = b"\0" in head and not is_marked(head)
        if head.startswith(ZIP_START) or foreign_format(head) or is_binary or name.endswith(_NOT_DATA):
            return self._workbook(file, name)
        if name.endswith(_YAML):
            return _one(self._yaml_part(file))
        text = text_of(file, self.encoding, self.findings)
        part = self._text_part(text, name) if text is not None else None
        if part is not None and text is not None and text.is_guessed:
            part.remarks.append(PartRemark("encoding-guessed", "", text.shown_encoding))
        return _one(part)

    def _otlp_part(self, file: SourceFile) -> Part | None:
        with file.open() as stream:
            data = stream.read(MOST_BYTES + 1)
        try:
            if len(data) > MOST_BYTES:
                raise BadOtlp(f"it has more than {MOST_BYTES:,} bytes; export it in parts")
            requests = list(read_otlp(data))
        except BadOtlp as failure:
            message = f"This file cannot be read as traces: {failure}."
            self.findings.add(UNREADABLE, file.path, "", message)
            return None
        return held_part(file.path, [Row(f"request {number}", row) for number, row in enumerate(requests, start=1)])

    def _workbook(self, file: SourceFile, name: str) -> list[Part]:
        """Return the sheets of a workbook; other binary files are refused if they are tables, else passed over."""
        with file.open() as stream:
            data = stream.read(_MOST_LOOKED_AT)
        foreign = foreign_format(data)
        if not foreign and data.startswith(ZIP_START):
            return sheet_parts(file, self.findings)
        words = foreign or "This is a kind of file that is not read."
        if not data.startswith(OLE_START) and not name.endswith(_TABLES_OF_OTHERS):
            raise _Foreign(words) if foreign else _NoData(words)
        self.findings.add(FOREIGN_FORMAT if foreign else UNREADABLE, file.path, "", words)
        return []

    def _text_part(self, text: Text, name: str) -> Part | None:
        with text.open() as stream:
            begins = stream.read(1 << 16).lstrip()[:1]
        if not begins:
            raise _NoData("The file is empty.")
        if begins in "[{" and not name.endswith(CSV_ENDINGS):
            return json_part(text, self.findings, self.budget)
        if name.endswith((".json", *LINE_ENDINGS)):
            message = f"The file begins with {begins!r}, but JSON begins with a brace or a bracket."
            self.findings.add(UNREADABLE, text.file.path, "line 1", message)
            return None
        if name.endswith(CSV_ENDINGS) or dialect_of(text).is_table:
            return csv_part(text, self.findings)
        raise _NoData("This is no table and no file of records.")

    def _yaml_part(self, file: SourceFile) -> Part | None:
        with file.open() as stream:
            data = stream.read(YamlLimits().max_bytes + 1)
        if not data.strip():
            raise _NoData("The file is empty.")
        parsed = read_yaml(data, file.path)
        self.findings.extend(parsed.problems)
        if parsed.value is None:
            return None
        content: Any = parsed.value.plain()
        if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
            return held_part(file.path, [Row(f"[{number}]", row) for number, row in enumerate(content)])
        if not isinstance(content, dict) or not content:
            raise _NoData("This YAML file has neither names with values nor a list of rows.")
        return document_part(file.path, content, lists_of(content))


def _one(part: Part | None) -> list[Part]:
    return [] if part is None else [part]
