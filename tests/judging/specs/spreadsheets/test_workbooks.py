"""The rows of a workbook: what another reader gives, however the XML is written, in little memory."""

from __future__ import annotations

import datetime as dt
import gc
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import python_calamine

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.spreadsheets import FormulaNumber, FormulaText, plain_text, read_grids, text_cell
from tests.judging.specs.whole_rubrics import parse_rubric

CONTENT: list[list[Any]] = [
    ["id", "text", "number", "day"],
    [1, "a & b <c> \"d\" 'e'", 1.5, dt.date(2025, 3, 1)],
    ["007", "two\nlines \u00e9 \U0001f600", -3, dt.datetime(2025, 3, 1, 12, 30)],  # noqa: DTZ001 a cell has no zone
    [None, "  spaces  ", 1e-7, dt.time(6, 15)],
    [True, "_x000D_ and _x0041_", 0.1 + 0.2, dt.timedelta(hours=30)],
]
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def saved(rows: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def with_part(data: bytes, change: Callable[[str, str], str], **added: str) -> bytes:
    """Return the workbook with its texts changed and parts added."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name).decode()))
        for name, text in added.items():
            target.writestr(f"xl/{name}.xml", text)
    return buffer.getvalue()


def rows_of(data: bytes) -> list[list[Any]]:
    findings = Findings("book.xlsx")
    rows = [row for _, row in read_grids(data, "book.xlsx", findings)[0].rows]
    assert findings.listed == []
    return rows


def sheet(rows: str) -> bytes:
    """Return a workbook whose first sheet has just these rows, as XML."""
    text = f"<?xml version='1.0' encoding='UTF-8'?><worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
    return with_part(saved([[1]]), lambda name, old: text if name.endswith("sheet1.xml") else old)


def test_rows_are_what_another_reader_gives() -> None:
    data = saved(CONTENT)

    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))

    assert rows_of(data) == book.get_sheet_by_index(0).to_python()


def test_rows_with_prefixed_names_are_read_alike() -> None:
    def prefix(name: str, text: str) -> str:
        if not name.endswith("sheet1.xml"):
            return text
        return text.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:").replace("xmlns=", "xmlns:x=")

    data = saved(CONTENT)

    assert rows_of(with_part(data, prefix)) == rows_of(data)


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ('<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>', ["a"]),
        ('<row r="1"><c r="A1" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r><rPh sb="0" eb="1"><t>x</t></rPh></is>'
         "</c></row>", ["ab"]),
        ('<row r="1"><c t="inlineStr" r="B1"><is><t><![CDATA[</row>]]></t></is></c></row>', ["", "</row>"]),
        ("<row><c><v>1</v></c><c><v>2</v></c></row>", [1.0, 2.0]),
        ('<row r="1"><!-- <c r="A1"><v>9</v></c> --><c r="A1"><v>1</v></c></row>', [1.0]),
        ('<row r="1" spans="1:2"><c r="A1" s="0"/><c r="B1" t="b"><v>1</v></c></row>', ["", True]),
        ('<row r="1"><c r="A1"><f>1+1</f><v>2</v></c><c r="B1" t="str"><f/><v>x</v></c></row>', [2.0, "x"]),
        ('<row r="1"><c r="A1" t="d"><v>2025-03-01</v></c></row>', [dt.date(2025, 3, 1)]),
        ('<row r="1"><c r="A1" t="str"><v>&#65;&#x42;&amp;lt;</v></c></row>', ["AB&lt;"]),
    ],
)  # fmt: skip
def test_rows_are_read_however_they_are_written(row: str, cells: list[Any]) -> None:
    assert rows_of(sheet(row)) == [cells]


def test_rows_tell_a_formula_from_a_value() -> None:
    (row,) = rows_of(
        sheet('<row r="1"><c r="A1"><f>A2</f></c><c r="B1"><f>1</f><v>2</v></c><c r="C1"><v>2</v></c></row>')
    )

    assert [type(cell) for cell in row] == [FormulaText, FormulaNumber, float]


def shared(strings: str, count: int) -> bytes:
    """Return a workbook as spreadsheet programs save it: cell A1, A2... is the shared string 0, 1..."""
    cells = "".join(f'<row r="{n + 1}"><c r="A{n + 1}" t="s"><v>{n}</v></c></row>' for n in range(count))
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"

    def declare(name: str, text: str) -> str:
        if name != "[Content_Types].xml":
            return text
        return text.replace("</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>')

    return with_part(sheet(cells), declare, sharedStrings=f"<sst {MAIN}>{strings}</sst>")


@pytest.mark.parametrize(
    ("string", "text"),
    [
        ("<si><t>plain &amp; simple</t></si>", "plain & simple"),
        ("<si><r><t>a </t></r><r><rPr><b/><color rgb=\"FFFF0000\"/></rPr><t>bold</t></r><r><t> word</t></r></si>",
         "a bold word"),
        ('<si><t>\u8ab2\u9898</t><rPh sb="0" eb="2"><t>\u30ab\u30c0\u30a4</t></rPh><phoneticPr fontId="1"/></si>',
         "\u8ab2\u9898"),
        ('<si><r><t>\u8ab2</t></r><rPh sb="0" eb="1"><t>\u30ab</t></rPh><r><rPr><b/></rPr><t>\u9898</t></r></si>',
         "\u8ab2\u9898"),
        ('<si><t xml:space="preserve">  two \n lines </t></si>', "  two \n lines "),
        ("<si><t>line_x000D_\nend</t></si>", "line\r\nend"),
        ("<si/>", ""),
    ],
)  # fmt: skip
def test_rows_take_every_kind_of_shared_string(string: str, text: str) -> None:
    assert rows_of(shared(f"<si><t>first</t></si>{string}", 2)) == [["first"], [text]]


def test_rows_take_shared_strings_by_number() -> None:
    strings = "".join(f"<si><t>s{n}</t></si>" for n in range(1000))

    assert [row[0] for row in rows_of(shared(strings, 1000))] == [f"s{n}" for n in range(1000)]


@pytest.mark.parametrize(
    "name", ["shared_strings.xlsx", "rich_text.xlsx", "phonetic.xlsx", "saved_by_libreoffice.xlsx", "*.csv"]
)
def test_rows_of_workbooks_saved_by_spreadsheet_programs(name: str, shared_data: Path) -> None:
    folder = shared_data / "judges" / "excel"
    expected = json.loads((folder / "expected.json").read_text())["items"]

    for path in folder.glob(name):
        parsed = parse_rubric(Bundle({path.name: path.read_bytes()}), path.name)

        assert parsed.problems == ()
        assert parsed.value is not None
        assert {
            item.case_key: {
                level: [check.text for node in item.root.children if node.key == level for check in node.children]
                for level in ("25", "50", "100")
            }
            for item in parsed.value.items
        } == expected


def test_rows_of_a_workbook_with_macros_are_read_without_them() -> None:
    def with_macros(name: str, text: str) -> str:
        kind = "application/vnd.ms-excel.sheet.macroEnabled.main+xml"
        old = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
        return text.replace(old, kind) if name == "[Content_Types].xml" else text

    data = with_part(saved(CONTENT), with_macros, vbaProject="not read")

    assert rows_of(data) == rows_of(saved(CONTENT))


def test_rows_tell_percentages() -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append([0.25, 1, 0.5])
    for cell in book.active[1][:2]:
        cell.number_format = "0%"
    buffer = io.BytesIO()
    book.save(buffer)

    assert [plain_text(cell) for cell in rows_of(buffer.getvalue())[0]] == ["25%", "100%", "0.5"]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ('<c r="A1"><f>B1</f></c>', "formula-without-value"),
        ('<c r="A1"><f>B1</f><v></v></c>', "formula-without-value"),
        ('<c r="A1"><f>B1</f><v>2</v></c>', "formula"),
        ('<c r="A1" t="str"><f>B1</f><v>x</v></c>', "formula"),
        ('<c r="A1" t="str"><f>IF(B1,"","x")</f><v></v></c>', ""),  # its result is an empty text
    ],
)
def test_rows_tell_a_formula_without_result_from_an_empty_result(cell: str, code: str) -> None:
    findings = Findings("book.xlsx")
    (grid,) = read_grids(sheet(f'<row r="1">{cell}</row>'), "book.xlsx", findings)

    for number, row in grid.rows:
        text_cell(grid, number, 1, row[0], findings)

    assert [problem.code for problem in findings.listed] == ([code] if code else [])


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="2"><c r="A2"><v>1</v></c></row><row r="1"><c r="A1"><v>1</v></c></row>',
        '<row r="1"><c r="A1" t="s"><v>7</v></c></row>',
        '<row r="1"><c r="A1" t="str"><v>&nosuch;</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></row>',
        '<row r="1"><c r="A1" t="str"><v>\x80</v></c>',
        '<row r="1"><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="B2"><v>1</v></c></row>',
    ],
)
def test_rows_of_a_damaged_sheet_are_refused(rows: str) -> None:
    findings = Findings("book.xlsx")

    for grid in read_grids(sheet(rows), "book.xlsx", findings):
        list(grid.rows)
        list(grid.rows)

    assert [problem.code for problem in findings.listed] == ["workbook-refused"]


def test_rows_of_a_sheet_with_a_document_type_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
    data = with_part(sheet(""), lambda name, old: old.replace("<worksheet", f"{bomb}<worksheet"))
    findings = Findings("book.xlsx")

    assert read_grids(data, "book.xlsx", findings) == []

    assert [problem.message[:40] for problem in findings.listed] == ["The part 'xl/worksheets/sheet1.xml' of t"]


def test_rows_take_no_more_memory_for_more_rows() -> None:
    def peak(count: int) -> int:
        row = '<row r="{0}"><c r="A{0}"><v>{0}</v></c><c r="B{0}" t="inlineStr"><is><t>{1}</t></is></c></row>'
        data = sheet("".join(row.format(n, "text " * 40) for n in range(1, count)))
        tracemalloc.start()
        (grid,) = read_grids(data, "book.xlsx", Findings("book.xlsx"))
        read = 0
        for read, _ in enumerate(grid.rows, 1):
            if read % 500 == 0:
                gc.collect()  # what nobody holds counts for nothing, whenever Python would collect it
        assert read == count - 1
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    # Two thousand rows more held in memory would take 2,000 x (200 bytes of text and 150 of objects) = 700 kB more.
    # The parser keeps an emptied element of about 100 bytes for each.
    assert peak(5000) < peak(3000) + 350_000


def test_read_grids_refuses_the_strict_dialect_in_words() -> None:
    strict = "http://purl.oclc.org/ooxml/spreadsheetml/main"
    data = with_part(
        sheet('<row r="1"><c r="A1"><v>1</v></c></row>'),
        lambda name, old: old.replace(MAIN[7:-1], strict) if name.endswith("sheet1.xml") else old,
    )
    findings = Findings("book.xlsx")

    assert read_grids(data, "book.xlsx", findings) == []
    assert [problem.message[:49] for problem in findings.listed] == [
        'The workbook is saved as "Strict Open XML", which'
    ]


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/styles.xml", "xl/_rels/workbook.xml.rels"])
def test_read_grids_refuses_entities_in_any_part(part: str) -> None:
    def declare(name: str, text: str) -> str:
        end = text.index("?>") + 2 if text.startswith("<?xml") else 0
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
        return text[:end] + bomb + text[end:] if name == part else text

    findings = Findings("book.xlsx")

    assert read_grids(with_part(saved(CONTENT), declare), "book.xlsx", findings) == []
    assert [problem.code for problem in findings.listed] == ["workbook-refused"]
