"""Writes tables for people and programs: CSV, XLSX, JSONL, Parquet, Arrow, LaTeX, Markdown and ZIP; facts as lines.

Cells that a spreadsheet would run are escaped here. Rows are dicts of plain values; the columns are given, so that an
empty table still has its header.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from importlib.util import find_spec
from itertools import groupby, islice
from typing import Any

from evalsite.base.types import ByName, JsonObject, Refused

Row = JsonObject

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/jsonl; charset=utf-8",
}
ZIP = "application/zip"
DATA_TYPES = {  # of files that programs read
    "jsonl.gz": "application/gzip",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}
COLUMNAR = ("parquet", "arrow")  # which need pyarrow
PAPER_TYPES = {"tex": "application/x-tex; charset=utf-8", "md": "text/markdown; charset=utf-8"}
PIECE = 65_536  # bytes of an archive that are held back
GROUP = 2_000  # rows of a Parquet or Arrow file that are written together
MOST_LATEX_COLUMNS = 8  # of one table on a page
EXACT = 4  # digits of a number that is printed among words
INDENT = "  "  # of facts within facts
CELL_LIMIT = 32_767  # characters that a spreadsheet's cell can hold
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_NO_TITLE = str.maketrans(dict.fromkeys("[]:*?/\\", " "))  # what a sheet's name must not hold
_NOT_IN_XML = "\x00-\x08\x0b-\x1f"  # control characters, and the carriage return, which XML turns into a line feed
_TO_ESCAPE = re.compile(f"_(?=x[0-9A-Fa-f]{{4}}[_{_NOT_IN_XML}])|[{_NOT_IN_XML}]")
_BLANK = re.compile("[ \t\n]")
_MARKDOWN = re.compile(r"[\\|`*_<]|(?<=])(?=\()")  # what would be markup in a cell
_NO_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
_BOOK_TIMES = re.compile(rb"<dcterms:(created|modified)[^>]*>[^<]*</dcterms:(created|modified)>")
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the zero of ZIP archives


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the columns in their order; the rows may be a generator. The other fields are for LaTeX."""

    name: str
    columns: tuple[str, ...]
    rows: Iterable[Row]
    caption: str = ""
    panel: str = ""  # a column: the rows of each of its values make a table of their own


def table_bytes(table: Table, format_name: str) -> Iterable[bytes]:
    """Return the table as pieces of a file.

    Raises:
        KeyError: there is no such format.
        ExtraMissing: the format needs a library that is not installed.
    """
    if format_name == "xlsx":
        return [write_xlsx(table.rows, columns=table.columns, title=table.name)]
    if format_name == "tex":
        return write_latex(table)
    if format_name == "md":
        return write_markdown(table)
    check_format(format_name)
    if format_name in COLUMNAR:
        return write_columns(table.rows, columns=table.columns, format_name=format_name)
    writers = {"csv": write_csv, "jsonl": write_jsonl, "jsonl.gz": write_jsonl_gz}
    return writers[format_name](table.rows, columns=table.columns)


def escape_cell(text: str) -> str:
    """Return the text with an apostrophe before it where a spreadsheet would read it as a formula, not a number.

    A text that starts like an escaped one gets an apostrophe more, so that no two texts are written alike.
    """
    return f"'{text}" if _is_risky(text) else text


def unescape_cell(text: str) -> str:
    """Return the text that `escape_cell` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_RISKY) else text


def _is_risky(text: str) -> bool:
    """Whether a spreadsheet could read a text as a formula; a plain number such as -1 is none."""
    return text.lstrip("'").startswith(_RISKY) and not _NUMBER.fullmatch(text)


def escape_xml(text: str) -> str:
    """Return the text for a workbook's cell: what XML would lose is written `_x000D_`, as spreadsheets do and read.

    U+FFFE and U+FFFF are no characters; no spelling of them survives a workbook, so U+FFFD takes their place.
    """
    text = text.translate(_NO_CHARACTERS)
    escaped = _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
    if text and not text.strip():  # readers drop cells that hold nothing but white space
        return _BLANK.sub(lambda match: f"_x{ord(match[0]):04X}_", escaped, count=1)
    return escaped


def write_csv(rows: Iterable[Row], *, columns: Sequence[str]) -> Iterator[bytes]:
    """Yield UTF-8 lines of a CSV file with a header; a byte order mark tells spreadsheets the encoding."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    yield "\ufeff".encode()
    for values in _lines(rows, columns):
        writer.writerow([_plain(value) for value in values])
        yield buffer.getvalue().encode("utf-8", "replace")
        buffer.seek(0)
        buffer.truncate()


def write_jsonl(rows: Iterable[Row], *, columns: Sequence[str]) -> Iterator[bytes]:
    """Yield one JSON object per line, values as they are."""
    for row in rows:
        plain = {column: row.get(column) for column in columns}
        yield (json.dumps(plain, ensure_ascii=False, default=_as_text) + "\n").encode("utf-8", "replace")


def write_xlsx(rows: Iterable[Row], *, columns: Sequence[str], title: str = "Sheet1") -> bytes:
    """Return a workbook of one sheet whose texts are never formulas; the same rows give the same bytes."""
    from openpyxl import Workbook  # takes half as long to load as everything else that a command needs
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet(title.translate(_NO_TITLE)[:31])
    sheet.freeze_panes = "A2"
    for values in _lines(rows, columns):
        cells = []
        for value in values:
            plain = _plain(value)
            if isinstance(plain, str):
                plain = escape_xml(plain[:CELL_LIMIT])
            is_float = isinstance(plain, float)
            cell = WriteOnlyCell(sheet, value=repr(plain) if is_float else plain)  # openpyxl rounds to 16 digits
            if isinstance(plain, str | float):
                cell.data_type = "n" if is_float else "s"
            cells.append(cell)
        sheet.append(cells)
    out = io.BytesIO()
    book.save(out)
    return _without_times(out.getvalue())


def _without_times(book: bytes) -> bytes:
    """Return a workbook without the moment of its making."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            part = source.read(name)
            if name == "docProps/core.xml":
                part = _BOOK_TIMES.sub(b"", part)
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, part)
    return out.getvalue()


class _Pieces(io.RawIOBase):
    """What the writer of a file has written since it was last taken; it cannot be gone back in."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self.size = self._taken = 0

    def tell(self) -> int:
        return self._taken + self.size

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        self.size += len(part)
        return len(part)

    def take(self) -> bytes:
        data = b"".join(self._parts)
        self._taken += self.size
        self._parts, self.size = [], 0
        return data


def write_jsonl_gz(rows: Iterable[Row], *, columns: Sequence[str]) -> Iterator[bytes]:
    """Yield JSON Lines packed with gzip; the same rows give the same bytes."""
    out = _Pieces()
    with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
        for line in write_jsonl(rows, columns=columns):
            packed.write(line)
            if out.size >= PIECE:
                yield out.take()
    yield out.take()


class ExtraMissing(Refused):
    """A format needs a library that is not installed."""

    def __init__(self, format_name: str) -> None:
        words = 'needs the extra: pip install "evalsite[parquet]". JSON Lines (jsonl, jsonl.gz) need nothing.'
        super().__init__(f"{format_name.capitalize()} {words}", field="format")


def has_columnar_files() -> bool:
    """Return whether Parquet and Arrow can be written here."""
    try:
        return find_spec("pyarrow") is not None
    except ValueError:  # it was taken out of the modules
        return False


def check_format(format_name: str) -> None:
    """Raises: ExtraMissing: the format needs a library that is not installed."""
    if format_name in COLUMNAR and not has_columnar_files():
        raise ExtraMissing(format_name)


def write_columns(rows: Iterable[Row], *, columns: Sequence[str], format_name: str) -> Iterator[bytes]:
    """Yield a Parquet or Arrow file, some rows at a time.

    What a column holds is only known after its last row, so that the rows are put on disk before. A column has
    truths, whole numbers, numbers or lists of texts where nothing else stands in it, and texts otherwise.
    """
    import pyarrow
    from pyarrow import parquet

    types = {"truth": pyarrow.bool_(), "whole": pyarrow.int64(), "number": pyarrow.float64()}
    types |= {"texts": pyarrow.list_(pyarrow.string()), "text": pyarrow.string()}
    out, kinds = _Pieces(), [set[str]() for _ in columns]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        for row in rows:
            values = [_data_value(row.get(column)) for column in columns]
            for kind, value in zip(kinds, values, strict=True):
                kind.add(_kind_of(value))
            spool.write(json.dumps(values) + "\n")
        spool.seek(0)
        whole = [_kind_of_all(kind) for kind in kinds]
        schema = pyarrow.schema([(column, types[kind]) for column, kind in zip(columns, whole, strict=True)])
        opened = parquet.ParquetWriter if format_name == "parquet" else pyarrow.ipc.new_file
        with opened(pyarrow.PythonFile(out, mode="w"), schema) as writer:
            while lines := list(islice(spool, GROUP)):
                cells = zip(*map(json.loads, lines), strict=True)
                read = [[_as_kind(cell, kind) for cell in column] for column, kind in zip(cells, whole, strict=True)]
                arrays = [pyarrow.array(column, field.type) for column, field in zip(read, schema, strict=True)]
                writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
                yield out.take()
    yield out.take()


def _data_value(value: object) -> Any:
    """Return a value as JSON has it; halves of characters, which no file holds, become question marks."""
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return [_whole_text(entry) for entry in value]
    return _whole_text(value if isinstance(value, str) else _as_text(value))


def _whole_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _kind_of(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "whole" if -(2**63) <= value < 2**63 else "text"
    return "number" if isinstance(value, float) else "texts" if isinstance(value, list) else "text"


def _kind_of_all(kinds: set[str]) -> str:
    """Return what a column holds whose values are of these kinds; "" is that of nothing."""
    found = kinds - {""}
    if found == {"whole", "number"}:
        return "number"
    return found.pop() if len(found) == 1 else "text"


def _as_kind(value: Any, kind: str) -> Any:
    if value is None or kind != "text" or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def write_zip(members: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield a ZIP archive of files given in pieces, as they come; the same files give the same bytes."""
    out = _Pieces()
    with zipfile.ZipFile(out, "w") as archive:
        for name, pieces in members:
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as member:
                for piece in pieces:
                    member.write(piece)
                    if out.size >= PIECE:
                        yield out.take()
    yield out.take()


def write_markdown(table: Table) -> Iterator[bytes]:
    """Yield the caption and, for each panel, a table of GitHub's Markdown; texts are escaped to read as they are."""
    yield f"{_markdown_cell(table.caption or table.name)}\n".encode("utf-8", "replace")
    columns = tuple(column for column in table.columns if column != table.panel)
    panels = groupby(table.rows, key=lambda row: row[table.panel]) if table.panel else [("", table.rows)]
    for panel, rows in panels:
        lines = [[_markdown_cell(value) for value in line] for line in _lines(rows, columns)]
        lines.insert(1, ["---"] * len(columns))
        yield (f"\n{_markdown_cell(panel)}\n\n" if panel else "\n").encode("utf-8", "replace")
        yield "".join(f"| {' | '.join(line)} |\n" for line in lines).encode("utf-8", "replace")


def _markdown_cell(value: object) -> str:
    text = _paper_words(value)
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))


def _paper_words(value: object) -> str:
    """Return a value as papers print it: numbers with three decimals, or two digits of what would print as 0."""
    if value is None:
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{3 if not 0 < abs(value) < 0.0005 else 1 - math.floor(math.log10(abs(value)))}f}"
    return value if isinstance(value, str) else _as_text(value)


def write_latex(table: Table) -> Iterator[bytes]:
    """Yield one `table` for each panel, with booktabs rules and texts escaped, so that they print as they are.

    What has more columns than fit on a page is divided into several tables. Each has the first columns in front
    that tell the rows apart.
    """
    caption = table.caption or table.name
    yield b"% needs \\usepackage{booktabs}\n"
    if not table.panel:
        yield from _latex_parts(list(table.rows), table.columns, caption)
        return
    columns = tuple(column for column in table.columns if column != table.panel)
    for panel, rows in groupby(table.rows, key=lambda row: row[table.panel]):
        yield from _latex_parts(list(rows), columns, f"{caption} {panel}.")


def _latex_parts(rows: Sequence[Row], columns: Sequence[str], caption: str) -> Iterator[bytes]:
    fronts, apart = tuple[str, ...](), 0
    for column in columns if len(columns) > MOST_LATEX_COLUMNS else ():
        told = len({str([row.get(name) for name in (*fronts, column)]) for row in rows})
        if told > apart and len(fronts) < MOST_LATEX_COLUMNS - 1:
            fronts, apart = (*fronts, column), told
    others = tuple(column for column in columns if column not in fronts)
    room = MOST_LATEX_COLUMNS - len(fronts)
    parts = [others[start : start + room] for start in range(0, len(others), room)] or [others]
    for number, part in enumerate(parts, start=1):
        divided = f" (part {number} of {len(parts)})" if len(parts) > 1 else ""
        yield from _latex_table(rows, (*fronts, *part), caption + divided)


def _latex_table(rows: Sequence[Row], columns: Sequence[str], caption: str) -> Iterator[bytes]:
    lines = list(_lines(rows, columns))
    numeric = [
        len(lines) > 1 and all(line[i] is None or isinstance(line[i], int | float) for line in lines[1:])
        for i in range(len(columns))
    ]
    yield f"\\begin{{table}}\n\\centering\n\\caption{{{escape_latex(caption)}}}\n".encode("utf-8", "replace")
    yield f"\\begin{{tabular}}{{{''.join('r' if is_numeric else 'l' for is_numeric in numeric)}}}\n\\toprule\n".encode()
    for number, line in enumerate(lines):
        row = " & ".join(_latex_cell(value) for value in line)
        guard = "{}" if row.startswith(("[", "*")) else ""  # the end of the row above would take these for its own
        yield f"{guard}{row} \\\\\n".encode("utf-8", "replace")
        if number == 0:
            yield b"\\midrule\n"
    yield b"\\bottomrule\n\\end{tabular}\n\\end{table}\n"


def escape_latex(text: str) -> str:
    """Return the text so that LaTeX prints it: its special characters lose their meaning."""
    return " ".join(text.split()).translate(_LATEX)


def _latex_cell(value: object) -> str:
    text = _paper_words(value)
    return text if value is None or isinstance(value, bool | int | float) else escape_latex(text)


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": r"\textless{}",
       ">": r"\textgreater{}", "|": r"\textbar{}", "–": "--", "—": "---", "×": r"$\times$", "…": r"\ldots{}"}
)  # fmt: skip


def _lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[list[Any]]:
    yield list(columns)
    for row in rows:
        yield [row.get(column) for column in columns]


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, int | float):
        return value
    return escape_cell(value if isinstance(value, str) else _as_text(value))


def _as_text(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def facts_text(facts: JsonObject) -> str:
    """Return facts as lines "Name: value", facts within facts indented below, and lists of rows as tables."""
    return "\n".join(_fact_lines(facts, "")).strip("\n")


def _fact_lines(facts: JsonObject, indent: str) -> Iterator[str]:
    for key, value in facts.items():
        label = key if isinstance(facts, ByName) else label_of(str(key))
        if isinstance(value, Mapping) and value:
            yield f"{indent}{label}:"
            yield from _fact_lines(value, indent + INDENT)
        elif isinstance(value, list | tuple) and value and all(isinstance(row, Mapping) for row in value):
            yield ""
            yield table_text(label, value)
        elif isinstance(value, str) and "\n" in value.strip():
            yield f"{indent}{label}:"
            yield from (f"{indent}{INDENT}{line}" for line in value.strip().splitlines())
        else:
            yield f"{indent}{label}: {words_of_value(value)}"


def table_text(title: str, rows: Sequence[JsonObject]) -> str:
    """Return rows as one table, with a column for everything that a row has."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    plain = [{label_of(name): _cell(row.get(name)) for name in columns} for row in rows]
    table = Table(title, tuple(map(label_of, columns)), plain)
    return b"".join(write_markdown(table)).decode()


def label_of(key: str) -> str:
    """Return the key of a fact as words: "calls_made" is "Calls made"."""
    words = key.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def words_of_value(value: object) -> str:
    """Return a value as people write it."""
    if value is None or value == "" or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) > 9999 else str(value)
    if isinstance(value, float):
        return f"{value:.{EXACT}g}" if abs(value) < 10**EXACT else f"{value:,.0f}"
    if isinstance(value, Mapping):
        names = (
            (key if isinstance(value, ByName) else label_of(str(key)).lower(), part) for key, part in value.items()
        )
        return ", ".join(f"{name} {words_of_value(part)}" for name, part in names)
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(words_of_value(part) for part in value)
    return str(value)


def _cell(value: Any) -> Any:
    """Return a value as a cell of a table takes it: numbers as they are, everything with parts in words."""
    if isinstance(value, Mapping | list | tuple) and value:
        return words_of_value(value)
    return value if value or isinstance(value, bool | int | float) else None
