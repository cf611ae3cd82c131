"""Tables leave the site harmless and come back exact."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from openpyxl import load_workbook
from python_calamine import CalamineWorkbook

from evalsite.base.tables import (
    GROUP,
    ExtraMissing,
    Row,
    Table,
    escape_cell,
    table_bytes,
    unescape_cell,
    write_csv,
    write_jsonl,
    write_xlsx,
)

pytestmark = pytest.mark.backend_free
COLUMNS = ["name", "value", "at"]
ROWS: list[dict[str, Any]] = [
    {"name": "=1+1", "value": 0.5, "at": datetime(2026, 1, 5, 12, tzinfo=UTC)},
    {"name": 'plain, with "quotes"', "value": None, "at": None},
    {"name": "\tcmd", "value": -3, "at": None},
]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "plain", "", "'quoted", "'=1", "''=1", "'", "1"]
)
def test_escape_cell_is_undone_by_unescape_cell(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text


def test_write_csv_escapes_texts_and_leaves_numbers() -> None:
    written = b"".join(write_csv(ROWS, columns=COLUMNS)).decode("utf-8-sig")

    assert list(csv.reader(io.StringIO(written, newline=""))) == [
        COLUMNS,
        ["'=1+1", "0.5", "2026-01-05T12:00:00+00:00"],
        ['plain, with "quotes"', "", ""],
        ["'\tcmd", "-3", ""],
    ]


def test_write_csv_of_nothing_has_a_header() -> None:
    assert b"".join(write_csv([], columns=COLUMNS)).decode("utf-8-sig") == "name,value,at\r\n"


def test_write_jsonl_keeps_values_as_they_are() -> None:
    lines = b"".join(write_jsonl(ROWS, columns=COLUMNS)).decode().splitlines()

    assert [json.loads(line) for line in lines] == [
        {"name": "=1+1", "value": 0.5, "at": "2026-01-05T12:00:00+00:00"},
        {"name": 'plain, with "quotes"', "value": None, "at": None},
        {"name": "\tcmd", "value": -3, "at": None},
    ]


def test_write_xlsx_writes_texts_never_formulas() -> None:
    book = load_workbook(io.BytesIO(write_xlsx([*ROWS, {"name": "bell \x07"}], columns=COLUMNS, title="A" * 40)))

    sheet = book["A" * 31]

    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        COLUMNS,
        ["'=1+1", 0.5, "2026-01-05T12:00:00+00:00"],
        ['plain, with "quotes"', None, None],
        ["'\tcmd", -3, None],
        ["bell _x0007_", None, None],  # openpyxl leaves the spelling as it is; spreadsheets show the character
    ]
    assert {cell.data_type for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)} == {"s"}


@pytest.mark.parametrize(
    "text",
    [
        "a\r\nb\rc\nd",
        "\x01\x1f",
        "_x0001_",
        "_x000D\x01",
        "_x005F_x0001_",
        "  ",
        "\n\n",
        " lead and trail ",
        "'=1",
        "]]>&lt;",
    ],
)
def test_write_xlsx_texts_are_read_back_to_the_character(text: str) -> None:
    book = CalamineWorkbook.from_filelike(io.BytesIO(write_xlsx([{"name": text}], columns=COLUMNS)))

    assert unescape_cell(str(book.get_sheet_by_index(0).to_python()[1][0])) == text


def test_write_xlsx_of_the_same_rows_gives_the_same_bytes_and_exact_numbers() -> None:
    rows = [{"name": "x", "value": 0.1 + 0.2}]

    first, second = (write_xlsx(rows, columns=COLUMNS) for _ in range(2))

    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert b"dcterms" not in archive.read("docProps/core.xml").partition(b">")[2].partition(b">")[2]
    cells = CalamineWorkbook.from_filelike(io.BytesIO(first)).get_sheet_by_index(0).to_python()
    assert cells[1][1] == 0.1 + 0.2  # 0.30000000000000004: the seventeenth digit counts


def test_escape_cell_leaves_plain_numbers_alone() -> None:
    texts = ["-1", "+2", "-0.5", "-1e-9", "-1+1", "-", "-A1", "=1", "'-1"]

    written = [escape_cell(text) for text in texts]

    assert written == ["-1", "+2", "-0.5", "-1e-9", "'-1+1", "'-", "'-A1", "'=1", "''-1"]
    assert [unescape_cell(text) for text in written] == texts
    assert unescape_cell("'-1") == "-1"  # as written by earlier versions


def test_write_markdown_escapes_what_would_be_markup_and_divides_by_panel() -> None:
    rows: list[Row] = [
        {"kind": "a", "system": "x|y*z", "mean": 0.5, "n": 3},
        {"kind": "b", "system": "[x](http://evil.example)\n<b>", "mean": None, "n": True},
    ]
    table = Table("means", ("kind", "system", "mean", "n"), rows, caption="Means.", panel="kind")

    assert b"".join(table_bytes(table, "md")).decode() == (
        "Means.\n"
        "\na\n\n| system | mean | n |\n| --- | --- | --- |\n| x\\|y\\*z | 0.500 | 3 |\n"
        "\nb\n\n| system | mean | n |\n| --- | --- | --- |\n| [x]\\(http://evil.example) \\<b> | -- | yes |\n"
    )


def test_write_markdown_of_no_rows_has_a_header() -> None:
    table = Table("means", ("system", "n"), [])

    assert b"".join(table_bytes(table, "md")).decode() == "means\n\n| system | n |\n| --- | --- |\n"


MIXED: list[dict[str, Any]] = [
    {"truth": True, "whole": 2**40, "number": 1, "texts": ["a", "b"], "text": 2**70, "of_all": None, "cost": None},
    {
        "truth": None,
        "whole": -1,
        "number": 0.5,
        "texts": [],
        "text": "=x\ud800",
        "of_all": True,
        "cost": Decimal("0.5"),
    },
    {"truth": False, "whole": None, "number": None, "texts": None, "text": [{"a": 1}], "of_all": 3, "cost": Decimal(2)},
]
READ = {
    "truth": [True, None, False],
    "whole": [2**40, -1, None],
    "number": [1.0, 0.5, None],
    "texts": [["a", "b"], [], None],
    "text": [str(2**70), "=x?", '[{"a": 1}]'],
    "of_all": [None, "true", "3"],
    "cost": [None, 0.5, 2.0],
    "nothing": [None, None, None],
}


def written(rows: list[dict[str, Any]], columns: tuple[str, ...], format_name: str) -> bytes:
    return b"".join(table_bytes(Table("Scores", columns, rows), format_name))


@pytest.mark.parametrize("format_name", ["parquet", "arrow"])
def test_write_columns_gives_each_column_the_type_of_all_its_values(format_name: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def read(data: bytes) -> Any:
        stream = io.BytesIO(data)
        return parquet.read_table(stream) if format_name == "parquet" else pyarrow.ipc.open_file(stream).read_all()

    table, many = read(written(MIXED, tuple(READ), format_name)), [{"n": number} for number in range(GROUP + 1)]

    assert table.to_pydict() == READ
    assert [str(kind) for kind in table.schema.types] == [
        *("bool", "int64", "double", "list<element: string>" if format_name == "parquet" else "list<item: string>"),
        *("string", "string", "double", "string"),
    ]
    assert read(written(many, ("n",), format_name)).to_pylist() == many
    assert read(written([], ("n",), format_name)).to_pydict() == {"n": []}


def test_write_jsonl_gz_is_the_same_rows_packed_and_the_same_bytes() -> None:
    data = written(ROWS, tuple(COLUMNS), "jsonl.gz")

    assert gzip.decompress(data) == b"".join(write_jsonl(ROWS, columns=COLUMNS))
    assert data == written(ROWS, tuple(COLUMNS), "jsonl.gz")


def test_table_bytes_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ExtraMissing) as refusal:
        table_bytes(Table("Scores", ("name",), []), "parquet")

    assert (refusal.value.field, str(refusal.value)) == (
        "format",
        'Parquet needs the extra: pip install "evalsite[parquet]". JSON Lines (jsonl, jsonl.gz) need nothing.',
    )


def test_a_small_number_of_a_paper_is_not_printed_as_none() -> None:
    """A decision that cost 0.0003 dollars was printed at 0.000."""
    rows = [{"cost": cost} for cost in (0.000296, -0.0000042, 0.0, 0.0005, 1.25)]

    printed = b"".join(table_bytes(Table("t", ("cost",), rows), "md")).decode().splitlines()

    assert printed[-5:] == ["| 0.00030 |", "| -0.0000042 |", "| 0.000 |", "| 0.001 |", "| 1.250 |"]
