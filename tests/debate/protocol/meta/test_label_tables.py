"""Tables of people's labels: CSV and workbooks, every row placed or refused by cell."""

from __future__ import annotations

import io

import pytest
from openpyxl import Workbook

from debate.protocol.meta.label_tables import LabelRow, parse_labels

HEADER = "item,rater,label\n"


def csv(*rows: str) -> bytes:
    return (HEADER + "\n".join(rows)).encode()


def test_parse_labels_reads_systems_by_letter_number_or_word() -> None:
    found = parse_labels(csv("1,ada,A", "2,ada,b", "3,ada,Tie", "4,ada,2", "5,ada,-1", "6,ada,0", ",,"), "t.csv")

    assert found.problems == ()
    assert found.value is not None
    assert [(row.item, row.verdict) for row in found.value] == [
        ("1", 1), ("2", -1), ("3", 0), ("4", -1), ("5", -1), ("6", 0),
    ]  # fmt: skip


def test_parse_labels_reads_a_workbook_with_other_names_and_a_set() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Labels of May"], ["set", "Item ID", "Annotator", "Verdict"], [7, 3, "bob", 1], [7, 4, "bob", "tie"]):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)

    assert parse_labels(out.getvalue(), "labels.xlsx").value == (
        LabelRow("Sheet!D3", "3", "bob", 1, "7"),
        LabelRow("Sheet!D4", "4", "bob", 0, "7"),
    )


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (csv("1,ada,better"), "unknown-label", "line 2, column C"),
        (csv("1,,A"), "label-without-owner", "line 2, column C"),
        (csv("1,ada,A", "1,ada,B"), "label-twice", "line 3, column C"),
        (csv(), "no-labels", ""),
        (b"question,answer\n1,2\n", "no-label-header", ""),
        (b"", "no-label-header", ""),
    ],
)
def test_parse_labels_refuses_a_table_by_cell(data: bytes, code: str, place: str) -> None:
    found = parse_labels(data, "t.csv")

    assert found.value is None
    assert [(problem.code, problem.place) for problem in found.problems] == [(code, place)]
