"""Records inside JSON files, and the paths to what they hold."""

from __future__ import annotations

import json

import pytest

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.replies.json_records import first_records, prompt_of, read_records, record_columns, text_of, value_at
from tests.judging import column_files


def places(file: column_files.File) -> list[tuple[int, str]]:
    return [(record.number, record.location) for record in read_records(Bundle(dict([file])), file[0], Findings())]


def test_read_records_finds_the_records_of_a_document_beside_other_lists() -> None:
    assert places(column_files.promptfoo_json()) == [(1, "results.results[0]"), (2, "results.results[1]")]
    assert places(column_files.inspect_log()) == [(1, "samples[0]"), (2, "samples[1]")]
    assert places(("a.json", b'[{"id": 1},\n{"id": 2}]')) == [(1, "line 1"), (2, "line 2")]
    assert places(("a.json", b'{"id": 1}\n{"id": 2}')) == [(1, "line 1"), (2, "line 2")]


def test_read_records_keeps_what_can_be_read_beside_what_cannot() -> None:
    findings = Findings()

    records = read_records(Bundle({"a.jsonl": b'{"id": 1}\n{"id": \n7\n{"id": 4}'}), "a.jsonl", findings)

    assert [record.number for record in records] == [1, 4]
    assert [(problem.place, problem.code) for problem in findings.listed] == [
        ("line 2", "bad-json"),
        ("line 3", "not-an-object"),
    ]


def test_first_records_reads_the_head_alone_where_that_is_enough() -> None:
    row = json.dumps({"id": 1, "text": "x" * 99_000})
    whole, cut = "\n".join([row] * 30), json.dumps([json.loads(row)] * 30)
    shut = whole.encode() + b"\n{"  # broken where only a reader of the whole file comes

    assert len(first_records(Bundle({"a.jsonl": shut}), "a.jsonl")) == 10  # 1 MiB has ten whole lines
    assert len(first_records(Bundle({"a.json": cut.encode()}), "a.json")) == 10
    assert len(first_records(Bundle({"a.jsonl": whole.encode("utf-16")}), "a.jsonl")) == 20  # not to be cut by bytes
    assert len(first_records(Bundle({"a.jsonl": b'{"id": 1}'}), "a.jsonl")) == 1


def test_record_columns_are_paths_to_texts_and_numbers() -> None:
    record = {"a": 1, "b": {"c": "x", "d": [{"e": 2}, {"e": 3}, {"e": 4}]}, "f": ["x", "y"], "g": [["x"], ["y"]]}

    assert record_columns([record, {"h": None}]) == ["a", "f", "h", "b.c", "g.0", "g.1", "b.d.0.e", "b.d.1.e"]


def test_value_at_follows_a_path_also_through_names_with_dots() -> None:
    record = {"a.b": {"c": 1}, "a": {"d": [{"e": 2}]}}

    assert [value_at(record, path) for path in ("a.b.c", "a.d.0.e", "a.d.7.e", "a.x", "a.d.-1")] == [
        1,
        2,
        None,
        None,
        None,
    ]


def test_text_of_writes_values_as_their_author_sees_them() -> None:
    values = ["x", 3, 0.5, True, None, ["a", "b"], {"ä": 1}]

    assert [text_of(value) for value in values] == ["x", "3", "0.5", "true", None, "a\n\nb", '{"ä": 1}']


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Why?", "Why?"),
        (["Why?"], "Why?"),
        (['[{"role": "user", "content": "Why?"}]'], "Why?"),
        (
            '[{"role": "system", "content": "Be short."}, {"role": "user", "content": "Why?"}]',
            "system: Be short.\n\nuser: Why?",
        ),
        ([{"role": "user", "content": "Why?"}], "Why?"),
        ("[{not JSON", "[{not JSON"),
        ('[{"name": "x"}]', '[{"name": "x"}]'),
        (None, None),
        (7, "7"),
    ],
)
def test_prompt_of_reads_conversations(value: object, text: str | None) -> None:
    assert prompt_of(value) == text
