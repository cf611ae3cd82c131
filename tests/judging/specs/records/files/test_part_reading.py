"""Files are told by what they hold; what is no data is passed over beside data."""

from __future__ import annotations

import json

from judging.specs.records.parts import Form
from tests.judging.specs.records.uploads import upload

CSV = "q,a\n1,2\n"


def test_read_parts_passes_over_what_is_no_data() -> None:
    about: dict[str, bytes | str] = {"README.md": "#", "LICENSE": "MIT", "picture.png": b"\x89PNG\0"}

    read = upload({"a.csv": CSV, **about, "notes.txt": "a note", "d.bin": b"\0"})

    assert [part.file for part in read.parts] == ["a.csv"]
    assert read.said == [
        "notes.txt: This is no table and no file of records. It was passed over.",
        "d.bin: This is a kind of file that is not read. It was passed over.",
    ]


def test_read_parts_refuses_an_upload_without_data() -> None:
    bring = "Bring a table (CSV, XLSX), JSON, JSON Lines, or the file of a tool."
    for name, data, words in (
        ("README.md", "#", "This is no table and no file of records."),
        ("a.bin", b"\0\1", "This is a kind of file that is not read."),
        ("a.json", "", "The file is empty."),
    ):
        assert upload({name: data}).said == [f"{name}: {words} {bring}"]


def test_read_parts_refuses_tables_of_other_programs_even_beside_data() -> None:
    read = upload(
        {"a.csv": CSV, "b.xls": b"\xd0\xcf\x11\xe0" + bytes(100), "c.json": "<html>", "d.db": b"SQLite format 3\0"}
    )

    assert [problem.message for problem in read.findings.as_tuple()] == [
        "This is an old Excel workbook (.xls), which is not read. Save it as an Excel workbook (.xlsx) or as CSV and "
        "upload that.",
        "The file begins with '<', but JSON begins with a brace or a bracket.",
        "This is an SQLite database, which is not read. Save its table as CSV and upload that.",
    ]


def test_read_parts_tells_tables_without_an_ending() -> None:
    read = upload({"results": "q\ta\n1\t2\n", "rows": '[{"q": 1}]', "config.yaml": "tests:\n- {q: 1}\n"})

    assert [(part.form, part.name, part.columns) for part in read.parts] == [
        (Form.CSV, "", ("q", "a")),
        (Form.ROWS, "", ("q",)),
        (Form.DOCUMENT, "tests", ("q",)),
    ]


def test_read_parts_refuses_more_columns_than_anybody_names() -> None:
    names = [f"c{number}" for number in range(2_001)]
    header, row = ",".join(names), json.dumps(dict.fromkeys(names, "a text"))
    files: dict[str, bytes | str] = {"a.csv": f"{header}\n{header}\n", "b.jsonl": row, "c.json": f"[{row}]"}

    read = upload(files)

    words = "There are 2,001 columns; at most 2,000 are read. Remove those not needed."
    assert (read.parts, read.said) == ([], [f"{name}: {words}" for name in files])
