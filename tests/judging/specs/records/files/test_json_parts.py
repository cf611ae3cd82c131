"""JSON files are rows where they hold rows, else documents whose lists are read from the file."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import Any

import pytest

from judging.specs.files.encodings import Text
from judging.specs.files.findings import Findings
from judging.specs.records.files.json_parts import Budget, Cursor, json_part
from judging.specs.records.parts import Form, Part, PartRemark
from tests.judging.specs.records.uploads import source, upload

TWO = [{"q": "1", "a": "2"}, {"q": "3", "a": "4"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"q": "1", "a": "2"}\n\n{"q": "3", "a": "4"}\r\n'),
        ("a.json", '{"q": "1", "a": "2"}\n{"q": "3", "a": "4"}'),
        ("a", json.dumps(TWO, indent=2)),
        ("a.jsonl", "\n".join(json.dumps(row, indent=2) for row in TWO)),
        (".a.json", "\n\n".join(json.dumps(row, indent=1) for row in TWO)),
        ("a.json", '{"q": ["1", "3"], "a": ["2", "4"]}'),
        ("a.json", '{"q": {"0": "1", "1": "3"}, "a": {"0": "2", "1": "4"}}'),
        ("a.json", '{"columns": ["q", "a"], "index": [0, 1], "data": [["1", "2"], ["3", "4"]]}'),
        ("a.json", json.dumps({"meta": {"tags": [{"t": 1}]}, "deep": {"rows": TWO}})),
    ],
)
def test_json_part_finds_the_rows(name: str, text: str) -> None:
    read = upload({name: text})

    assert (read.rows, read.part.columns, read.said) == (TWO, ("q", "a"), [])


def test_json_part_takes_keys_as_ids_unless_they_count_or_rows_have_them() -> None:
    named = upload({"a.json": '{"x": {"q": "1"}, "y": {"q": "2"}}'})
    known = upload({"a.json": '{"x": {"q": "1", "uid": "x"}, "y": {"q": "2", "uid": "y"}}'})
    counted = upload({"a.json": '{"0": {"q": "1"}, "1": {"q": "2"}}'})

    assert named.rows == [{"id": "x", "q": "1"}, {"id": "y", "q": "2"}]
    assert known.rows == [{"q": "1", "uid": "x"}, {"q": "2", "uid": "y"}]
    assert (counted.rows, counted.part.remarks) == ([{"q": "1"}, {"q": "2"}], [PartRemark("index-column", "")])


def test_json_part_keeps_a_line_of_lines_a_row_and_an_object_a_document() -> None:
    assert upload({"a.jsonl": '{"q": {"x": 1}}'}).part.form is Form.ROWS
    assert upload({"a.jsonl": json.dumps({"q": {"x": 1}}, indent=2)}).rows == [{"q": {"x": 1}}]
    assert upload({"a.json": '{"q": {"x": 1}}'}).part.document == {"q": {"x": 1}}


def test_json_part_takes_a_conversation_for_a_row() -> None:
    turns = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    row = {"model": "oak", "messages": turns, "meta": {"tags": [{"t": 1}]}}

    assert upload({"a.json": json.dumps(row)}).rows == [row]
    assert upload({"a.json": json.dumps(row | {"rows": TWO})}).part.form is Form.DOCUMENT


def test_json_part_lists_all_broken_lines() -> None:
    read = upload({"a.jsonl": '{"q": 1}\n{"q": 2,}\n[3]\n' + '{"q": 4}\n' * 200 + "{\n"})

    assert read.said == [
        "a.jsonl, line 2, column 9: a comma stands before the closing }; remove it.",
        'a.jsonl, line 3: The row is not an object. Write an object in braces, such as {"id": "1"}.',
        "a.jsonl, line 204, column 3: the file ends before a bracket or brace is closed.",
    ]


def test_json_part_replaces_what_no_database_stores() -> None:
    read = upload({"a.jsonl": '{"q": "a\\ud800\\u0000b", "e": "\\ud83d\\ude00"}\n'})

    assert read.rows == [{"q": "a\ufffd\ufffdb", "e": "😀"}]
    assert "line 1: NUL characters or broken Unicode" in read.said[0]


def large(value: Any) -> Part:
    """Return a document that may not be held whole."""
    findings = Findings()
    part = json_part(Text(source("a.json", json.dumps(value)), "utf-8"), findings, Budget(0))
    assert part is not None
    assert findings.listed == []
    return part


def test_json_part_streams_the_lists_of_a_large_document() -> None:
    rows = [{"id": str(number), "text": "x" * 1000} for number in range(500)]

    part = large({"v": 2, "skipped": [[1], {"samples": [1]}], "run.1": {"samples": rows, "short": [1]}, "end": "!"})

    skipped: list[Any] = [[1], {"samples": [1]}]
    assert part.document == {"v": 2, "skipped": skipped, "run.1": {"samples": [], "short": [1]}, "end": "!"}
    assert (part.name, part.columns) == ("run.1.samples", ("id", "text"))
    assert [row.fields for row in part.rows()] == rows
    assert list(part.items("run.1.samples"))[-1] == ("run.1.samples[499]", rows[-1])
    assert list(part.items("skipped")) == [("skipped[0]", [1]), ("skipped[1]", {"samples": [1]})]
    assert list(part.items("run.1.none")) == []


def test_json_part_keeps_the_key_of_a_row_beside_its_own_id() -> None:
    rows = {"a": {"id": "x", "q": "1"}, "b": {"id": "", "q": "2"}, "7": {"id": 7, "q": "3"}}

    assert upload({"a.json": json.dumps(rows)}).rows == [
        {"key": "a", "id": "x", "q": "1"},
        {"id": "b", "q": "2"},
        {"id": 7, "q": "3"},
    ]


def test_json_part_streams_a_large_dict_of_rows() -> None:
    part = large({f"k{number}": {"q": str(number), "a": "x"} for number in range(3000)})

    rows = [row.fields for row in part.rows()]
    assert (part.form, len(rows), rows[-1]) == (Form.ROWS, 3000, {"id": "k2999", "q": "2999", "a": "x"})


def test_json_part_holds_small_documents_only() -> None:
    part = upload({"a.json": json.dumps({"list": [{"x": "y" * 100_000}], "b": 1})}).part

    assert (part.document["list"][0]["x"][:1], next(part.items("list"))[0]) == ("y", "list[0]")


def test_json_part_samples_lines_of_the_whole_file() -> None:
    read = upload({"a.jsonl": "".join(f'{{"n": {number}, "t": "{"x" * 200}"}}\n' for number in range(5000))})

    numbers = [row.fields["n"] for row in read.part.sample]
    assert (numbers[:100], len(numbers), numbers[-1] > 4700) == (list(range(100)), 176, True)
    assert {after - before for before, after in pairwise(numbers[100:])} <= set(range(64, 81))  # about evenly spread


def test_json_part_samples_lines_that_bring_a_key_of_their_own() -> None:
    lines = [f'{{"n": {number}}}' for number in range(5000)] + ['{"n": 5000, "error": "timeout"}']

    part = upload({"a.jsonl": "\n".join(lines)}).part

    assert (part.columns, part.sample[100].fields) == (("n", "error"), {"n": 5000, "error": "timeout"})


def test_json_part_takes_texts_by_system_and_case_for_responses() -> None:
    document = {"gpt-4": {"q1": "Elbe.", "q2": "Oder."}, "llama-2": {"q1": "Main."}}

    assert upload({"a.json": json.dumps(document)}).rows == [
        {"system": "gpt-4", "case_id": "q1", "response": "Elbe."},
        {"system": "gpt-4", "case_id": "q2", "response": "Oder."},
        {"system": "llama-2", "case_id": "q1", "response": "Main."},
    ]


def test_json_part_takes_objects_by_number_for_rows_however_unlike_they_are() -> None:
    document = {
        "2": {"latex": "1.2"},
        "3": {},
        "5": None,
        "4": {"program": [{"step": 1}, {"step": 2}]},
        "9": {"ocr": "x"},
    }

    assert upload({"a.json": json.dumps(document)}).rows == [
        {"id": "2", "latex": "1.2"},
        {"id": "4", "program": [{"step": 1}, {"step": 2}]},
        {"id": "9", "ocr": "x"},
    ]


@pytest.mark.parametrize("at_once", range(1, 40))
def test_cursor_reads_values_wherever_the_text_is_cut(at_once: int) -> None:
    document = {"a": 1.5, "b": -2e-7, "c": [3.25, "x"], "d": 12}
    cursor = Cursor(io.StringIO(json.dumps(document)), at_once)

    assert {name: cursor.value() for name in cursor.names()} == document
