"""What is refused before a row is read, and what a sheet says beside its values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judging.specs.spreadsheets import SharedStringScan, WorkbookRefused, read_sheet_facts

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def chunks(text: str) -> Iterator[bytes]:
    """Yield the text in pieces as an archive unpacks it."""
    data = text.encode()
    for start in range(0, len(data), 1 << 18):
        yield data[start : start + (1 << 18)]


def sheet(rows: str, before: str = "", after: str = "") -> Iterator[bytes]:
    return chunks(f"<worksheet {MAIN}>{before}<sheetData>{rows}</sheetData>{after}</worksheet>")


def test_read_sheet_facts_finds_what_is_merged_hidden_or_computed() -> None:
    facts = read_sheet_facts(
        sheet(
            '<row r="2" hidden="1"><c r="B2"><f>1</f></c><c r="C2" t="str"><f>A1</f><v/></c></row><row r="9"/>',
            before='<cols><col min="2" max="3" hidden="true"/><col min="4" max="4"/></cols>',
            after='<mergeCells count="1"><mergeCell ref="A2:B4"/></mergeCells>',
        ),
        "sheet1.xml",
    )

    assert (facts.row_count, facts.hidden_rows, facts.hidden_columns) == (2, [2], [(2, 3)])
    assert facts.merged == [((2, 1), (4, 2))]
    assert [list(facts.formulas_in(row)) for row in (1, 2, 9)] == [
        [],
        [(2, False), (3, True)],
        [],
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("<row>" + "<x/>" * 400_001 + "</row>", "an entry that is too large"),
        ('<row><c t="str"><v>' + "x" * 17_000_000 + "</v></c></row>", "an entry that is too large"),
        ('<row r="1048577"/>', "which is not valid"),
        ('<row r="1"><c r="XFE1"/></row>', "which is not valid"),
        ("<row/>" * 1_048_577, "more than 1,048,576 entries"),
        ("<row><c></row>", "is damaged (line 1)"),
    ],
    ids=["elements", "bytes", "row", "column", "rows", "damaged"],
)
def test_read_sheet_facts_refuses_what_no_reader_should_hold(rows: str, message: str) -> None:
    with pytest.raises(WorkbookRefused) as refusal:
        read_sheet_facts(sheet(rows), "sheet1.xml")

    assert message in str(refusal.value)


def test_shared_string_scan_refuses_one_beyond_all_measure() -> None:
    with pytest.raises(WorkbookRefused, match="an entry that is too large"):
        SharedStringScan().parse(chunks(f"<sst {MAIN}><si><t>{'x' * 5_000_000}</t></si></sst>"))
