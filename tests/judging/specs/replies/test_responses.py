"""Responses get in from JSON Lines, CSV and folders; doubles and gaps are named."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.files.problems import Parsed
from judging.specs.replies.response_rows import KnownCases
from judging.specs.replies.responses import (
    Responses,
    parse_responses_folder,
    parse_responses_jsonl,
    parse_responses_table,
)
from judging.specs.suites.suites_yaml import parse_suite
from judging.specs.types import ResponseSpec

KNOWN = KnownCases(frozenset({"0-0-4", "b"}), {"cases/eval_0-0-4.yaml": "0-0-4"})


def jsonl(*rows: object) -> Bundle:
    return Bundle({"r.jsonl": "\n".join(json.dumps(row) for row in rows).encode()})


def short(parsed: Parsed[Responses]) -> list[tuple[str, str]]:
    return [(problem.code, problem.place) for problem in parsed.problems]


def test_parse_responses_jsonl_reads_rows_with_other_fields_as_metadata() -> None:
    row = {"case_id": "a", "system": "m", "attempt": 2, "response": "x\r\ny", "prompt": "p", "tokens": 5}

    parsed = parse_responses_jsonl(jsonl(row), "r.jsonl")

    assert parsed.problems == ()
    assert parsed.value == (ResponseSpec("a", "m", 2, "x\r\ny", "r.jsonl, line 1", {"tokens": 5}),)


@pytest.mark.parametrize("case_field", ["case_id", "case_key", "case", "key", "id", "question_id"])
@pytest.mark.parametrize("text_field", ["response", "text", "answer", "completion", "model_answer", "output"])
@pytest.mark.parametrize("system_field", ["system", "model", "model_name"])
def test_parse_responses_jsonl_knows_the_usual_names(case_field: str, text_field: str, system_field: str) -> None:
    parsed = parse_responses_jsonl(jsonl({case_field: 7, text_field: "x", system_field: "m"}), "r.jsonl")

    assert parsed.value == (ResponseSpec("7", "m", 0, "x", "r.jsonl, line 1"),)


def test_parse_responses_jsonl_counts_attempts_and_names_the_system_by_its_file() -> None:
    bundle = Bundle(
        {"responses_gpt-4.jsonl": b'{"id": "a", "text": "1"}\n\n{"id": "a", "text": "2"}\n{"id": "b", "text": ""}'}
    )

    parsed = parse_responses_jsonl(bundle, "responses_gpt-4.jsonl")

    assert parsed.value is not None
    assert [(r.case_key, r.system, r.attempt, r.text, r.source[-6:]) for r in parsed.value] == [
        ("a", "gpt-4", 0, "1", "line 1"),
        ("a", "gpt-4", 1, "2", "line 3"),
        ("b", "gpt-4", 0, "", "line 4"),
    ]


def test_parse_responses_jsonl_takes_the_system_it_is_told() -> None:
    rows = jsonl({"id": "a", "text": "1"}, {"id": "a", "text": "1", "model": "other"})

    parsed = parse_responses_jsonl(rows, "r.jsonl", system="mine")

    assert parsed.value is not None
    assert [response.system for response in parsed.value] == ["mine", "other"]


def test_parse_responses_jsonl_keys_rows_without_id_by_category_and_row() -> None:
    row = {"prompt": "same", "category": "math", "response": "x"}

    parsed = parse_responses_jsonl(jsonl(row, row, {"prompt": "same", "response": "y"}), "r.jsonl")

    assert parsed.value is not None
    assert [response.case_key for response in parsed.value] == ["math-1", "math-2", "3"]


def test_parse_responses_jsonl_reads_an_array_with_lines() -> None:
    bundle = Bundle({"r.json": b'[\n {"id": "a", "text": "1"},\n {"id": "b",\n  "text": "2"}, {"id": 3}\n]'})

    parsed = parse_responses_jsonl(bundle, "r.json")

    assert short(parsed) == [("response-without-text", "line 4")]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"id": "a", "text": "1", "attempt": 0}] * 2, [("duplicate-response", "line 2")]),
        ([{"id": "a", "text": None}, {"id": "b", "text": ""}], [("null-response", "line 1")]),
        ([{"id": "a", "text": 5}], [("response-without-text", "line 1")]),
        ([{"id": "a"}], [("response-without-text", "line 1")]),
        ([{"text": "x"}], [("response-without-case", "line 1")]),
        ([{"id": " ", "text": "x"}], [("response-without-case", "line 1")]),
        ([{"id": "a", "text": "x", "attempt": -1}], [("bad-attempt", "line 1")]),
        ([{"id": "a", "text": "x", "attempt": "one"}], [("bad-attempt", "line 1")]),
        ([{"id": "a", "text": "x", "attempt": 1.5}], [("bad-attempt", "line 1")]),
        ([{"id": "a", "text": "x", "model": " "}], [("response-without-system", "line 1")]),
        ([{"id": "a", "text": "x"}, "a"], [("not-an-object", "line 2")]),
        ([{"id": "a", "text": "\x00 \ud800"}], [("unstorable-character", "line 1")]),
    ],
)
def test_parse_responses_jsonl_names_what_is_wrong(rows: list[object], expected: list[tuple[str, str]]) -> None:
    parsed = parse_responses_jsonl(jsonl(*rows), "r.jsonl")

    assert short(parsed) == expected


def test_parse_responses_jsonl_replaces_what_no_database_stores() -> None:
    parsed = parse_responses_jsonl(jsonl({"id": "a", "text": "x\x00y\ud800", "m": "s"}), "r.jsonl", system="m")

    assert parsed.value is not None
    assert parsed.value[0].text == "x\ufffdy\ufffd"


def test_parse_responses_names_both_places_of_a_double() -> None:
    parsed = parse_responses_jsonl(jsonl(*[{"id": "a", "text": "1", "attempt": 0}] * 2), "r.jsonl")

    assert parsed.value is None
    assert "r.jsonl, line 1" in parsed.errors[0].message


@pytest.mark.parametrize(
    "line",
    [b"{", b"NaN", b'{"a": NaN}', b'{"a": 1} x', b"[" * 100_000, b"{" + b"1" * 9000, b'{"id":' * 90 + b"1" + b"}" * 90],
)
def test_parse_responses_jsonl_refuses_what_is_not_json(line: bytes) -> None:
    bundle = Bundle({"r.jsonl": b'{"id": "a", "text": "1"}\n' + line})

    parsed = parse_responses_jsonl(bundle, "r.jsonl")

    assert parsed.value is None
    assert parsed.errors[0].place == "line 2"


def test_parse_responses_jsonl_refuses_rows_for_unknown_cases() -> None:
    parsed = parse_responses_jsonl(
        jsonl({"id": "b", "text": "1"}, {"id": "zz", "text": "1"}), "r.jsonl", known_cases=KNOWN
    )

    assert short(parsed) == [("unknown-case", "line 2")]


def test_parse_responses_table_reads_the_batched_form_and_keeps_texts_as_written() -> None:
    text = 'filename,completion\ncases/eval_0-0-4.yaml,"two\nlines, ""quoted"""\ncases/eval_0-0-4.yaml,\n'
    text += "cases/eval_0-0-4.yaml,NA\ncases/eval_b.yaml,007\n"

    parsed = parse_responses_table(Bundle({"gpt.csv": text.encode()}), "gpt.csv", known_cases=KNOWN)

    assert parsed.problems == ()
    assert parsed.value == (
        ResponseSpec("0-0-4", "gpt", 0, 'two\nlines, "quoted"', "gpt.csv, line 2"),
        ResponseSpec("0-0-4", "gpt", 1, "", "gpt.csv, line 4"),
        ResponseSpec("0-0-4", "gpt", 2, "NA", "gpt.csv, line 5"),
        ResponseSpec("b", "gpt", 0, "007", "gpt.csv, line 6"),
    )


def test_parse_responses_table_reads_named_columns() -> None:
    text = "Case_ID,System,Attempt,Response,note\na,m,1,x,n\n"

    parsed = parse_responses_table(Bundle({"r.csv": text.encode()}), "r.csv")

    assert parsed.value == (ResponseSpec("a", "m", 1, "x", "r.csv, line 2", {"note": "n"}),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", [("csv-header", "line 1")]),
        ("", [("csv-header", "line 1")]),
        ("filename,completion\nx\n", [("bad-csv", "line 2")]),
        ('filename,completion\na,"x\n', [("bad-csv", "line 2")]),
        ("filename,completion\n,x\n", [("response-without-case", "line 2")]),
    ],
)
def test_parse_responses_table_names_what_is_wrong(text: str, expected: list[tuple[str, str]]) -> None:
    parsed = parse_responses_table(Bundle({"r.csv": text.encode()}), "r.csv")

    assert (parsed.value, short(parsed)) == (None, expected)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("cases/eval_0-0-4.yaml", "0-0-4"),
        ("eval_0-0-4.yaml", "0-0-4"),
        ("eval_0-0-4_17.txt", "0-0-4"),
        ("other/eval_b.yaml", "b"),
        ("eval_c_1.txt", "c"),
        ("eval_c_1.yaml", "c_1"),
    ],
)
def test_key_for_path_reads_file_names(path: str, key: str) -> None:
    assert KNOWN.key_for_path(path) == key


def folder(params: str, **files: bytes) -> Bundle:
    paths = {f"gpt_0.2/{name.replace('__', '.')}": data for name, data in files.items()}
    return Bundle({"gpt_0.2/params.yaml": params.encode()} | paths)


def test_parse_responses_folder_follows_the_order_of_its_lists() -> None:
    params = "model_name: gpt-4\ntemp: 0.2\nanswer_paths:\n  cases/eval_0-0-4.yaml: [e_10.txt, e_2.txt]\n"

    parsed = parse_responses_folder(
        folder(params, e_10__txt=b"ten\r\n", e_2__txt=b"", unlisted__txt=b"x"), known_cases=KNOWN
    )

    metadata = {"model_name": "gpt-4", "temp": 0.2}
    assert parsed.problems == ()
    assert parsed.value == (
        ResponseSpec("0-0-4", "gpt-4", 0, "ten\n", "gpt_0.2/e_10.txt", metadata),
        ResponseSpec("0-0-4", "gpt-4", 1, "", "gpt_0.2/e_2.txt", metadata),
    )


def test_parse_responses_folder_names_systems_by_folder_where_the_model_repeats() -> None:
    params = b"model_name: m\nanswer_paths: {c.yaml: [a.txt]}"
    names = ("one", "two")
    files = {f"{name}/{file}": data for name in names for file, data in (("params.yaml", params), ("a.txt", b"x"))}

    parsed = parse_responses_folder(Bundle(files))

    assert parsed.value is not None
    assert [response.system for response in parsed.value] == ["one", "two"]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ("answer_paths:\n  c.yaml: [gone.txt]\n", [("missing-file", "line 2, answer_paths")]),
        ("answer_paths:\n  c.yaml: [../../x]\n", [("unsafe-path", "line 2, answer_paths")]),
        ("answer_paths:\n  c.yaml: [5]\n", [("not-text", "line 2, answer_paths")]),
        ("answer_paths:\n  c.yaml: a.txt\n", [("not-a-list", "line 2, answer_paths.c.yaml")]),
        ("answer_paths: [a]\n", [("not-a-mapping", "line 1, answer_paths")]),
        ("model_name: x\n", [("no-responses-folder", "")]),
        ("answer_paths: {\n", [("bad-yaml", "line 1, column 16")]),
        ("answer_paths:\n  c.yaml: [bad.txt]\n", [("not-utf8", "line 1")]),
    ],
)
def test_parse_responses_folder_names_what_is_wrong(params: str, expected: list[tuple[str, str]]) -> None:
    parsed = parse_responses_folder(folder(params, bad__txt=b"\xff"))

    assert (parsed.value, short(parsed)) == (None, expected)


def test_parse_responses_folder_skips_unknown_cases_and_missing_files_if_asked() -> None:
    params = "answer_paths:\n  zz.yaml: [a.txt]\n  cases/eval_0-0-4.yaml: [gone.txt, a.txt]\n"

    parsed = parse_responses_folder(folder(params, a__txt=b"x"), known_cases=KNOWN, missing_files="warn")

    assert [problem.code for problem in parsed.problems] == ["unknown-case", "missing-file"]
    assert parsed.value is not None
    assert [(response.case_key, response.attempt) for response in parsed.value] == [("0-0-4", 1)]


@given(st.binary(max_size=200))
def test_parse_responses_never_raise(data: bytes) -> None:
    bundle = Bundle(
        {"r.jsonl": data, "r.csv": b"filename,completion\n" + data, "params.yaml": b"answer_paths:\n " + data}
    )

    for parsed in (
        parse_responses_jsonl(bundle, "r.jsonl"),
        parse_responses_table(bundle, "r.csv"),
        parse_responses_folder(bundle),
    ):
        assert (parsed.value is None) == bool(parsed.errors)


@pytest.mark.shared_data
def test_parse_responses_folder_reads_the_shared_answers(shared_data: Path) -> None:
    top = shared_data / "grading" / "v2.0.0_dev"
    files = Bundle({p.relative_to(top).as_posix(): p.read_bytes() for p in top.rglob("*") if p.is_file()})
    suite = parse_suite(files, missing_files="warn").value
    assert suite is not None

    parsed = parse_responses_folder(files, known_cases=KnownCases.of(suite))

    # two models, 44 cases, the first 5 attempts; the hashes are those of the original's records
    assert parsed.problems == ()
    assert parsed.value is not None
    expected = {}
    for line in (shared_data / "grading" / "expected_attempts.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["suite"] == "v2.0.0_dev" and row["attempt"] < 5:
            expected[row["case_id"], row["model"], row["attempt"]] = row["response_sha256"]
    read = {(r.case_key, r.system, r.attempt): hashlib.sha256(r.text.encode()).hexdigest() for r in parsed.value}
    assert len(read) == 440
    assert read == expected


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "count"), [("gpt-4", 1320), ("gpt-3.5-turbo", 1320), ("rater-A", 72), ("rater-B", 72)]
)
def test_parse_responses_jsonl_reads_the_shared_rows(shared_data: Path, name: str, count: int) -> None:
    file = shared_data / "grading" / f"responses_{name}.jsonl"

    parsed = parse_responses_jsonl(Bundle({file.name: file.read_bytes()}), file.name)

    assert parsed.problems == ()
    assert parsed.value is not None
    assert (len(parsed.value), {response.system for response in parsed.value}) == (count, {name})
