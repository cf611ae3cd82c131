"""Questions with reference answers become a suite."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.files.jsonl_reading import RowLimits
from judging.specs.suites.questions_jsonl import parse_questions_jsonl
from judging.specs.types import CaseSpec, ImageSpec, SuiteSpec
from tests import image_files


def jsonl(*rows: object) -> Bundle:
    return Bundle({"QA.jsonl": "\n".join(json.dumps(row) for row in rows).encode()})


def test_parse_questions_jsonl_reads_question_answer_rows() -> None:
    row = {"id": 3, "question": "Why?", "image": "3.png", "answer": "a\\nb", "reference": ["c1", "c2"], "type": "GUI"}

    picture = image_files.image()
    parsed = parse_questions_jsonl(Bundle({**jsonl(row).files, "3.png": picture}), "QA.jsonl")

    case = CaseSpec(
        key="3",
        prompt="Why?",
        reference="a\\nb",  # a literal backslash-n is the author's
        question_type="GUI",
        source_path="QA.jsonl, line 1",
        metadata={"image": "3.png", "reference": ["c1", "c2"]},
        images=(ImageSpec(sha256(picture).hexdigest(), "image/png", 40, 20, name="3.png"),),
    )
    assert parsed.problems == ()
    assert parsed.value == SuiteSpec(name="QA", version="", cases=(case,))


def test_parse_questions_jsonl_joins_instruction_and_contexts() -> None:
    row = {
        "instruction": "Read.",
        "question": "Why?",
        "reference": "r",
        "context": ["c1", "c2"],
        "scenario_code": "2.4",
    }

    parsed = parse_questions_jsonl(jsonl(row), "QA.jsonl", name="Moon")

    case = CaseSpec(
        key="1",
        prompt="Read.\n\nWhy?",
        reference="r",
        context="c1\n\nc2",
        scenario="2.4",
        source_path="QA.jsonl, line 1",
        metadata={"instruction": "Read.", "question": "Why?"},
    )
    assert parsed.value == SuiteSpec(name="Moon", version="", cases=(case,))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"id": 1, "answer": "a"}], [("row-without-question", "line 1")]),
        ([{"id": 1, "question": " "}], [("row-without-question", "line 1")]),
        ([{"id": 1, "question": "q"}], [("row-without-answer", "line 1")]),
        ([{"id": 1, "question": "q", "answer": "a"}] * 2, [("duplicate-case", "line 2")]),
        ([{"id": 1, "question": "q", "answer": "a", "context_role": "x"}], [("context-role", "line 1")]),
    ],
)
def test_parse_questions_jsonl_names_what_is_wrong(rows: list[object], expected: list[tuple[str, str]]) -> None:
    parsed = parse_questions_jsonl(jsonl(*rows), "QA.jsonl")

    assert [(problem.code, problem.place) for problem in parsed.problems] == expected


@pytest.mark.parametrize(("limits", "code"), [(RowLimits(max_rows=2), "row-limit"), (RowLimits(9), "file-too-large")])
def test_parse_questions_jsonl_keeps_to_its_limits(limits: RowLimits, code: str) -> None:
    rows = [{"id": number, "question": "q", "answer": "a"} for number in range(3)]

    parsed = parse_questions_jsonl(jsonl(*rows), "QA.jsonl", limits=limits)

    assert (parsed.value, [problem.code for problem in parsed.errors]) == (None, [code])


def test_parse_questions_jsonl_refuses_an_empty_file() -> None:
    parsed = parse_questions_jsonl(Bundle({"QA.jsonl": b"\n\n"}), "QA.jsonl")

    assert (parsed.value, [problem.code for problem in parsed.errors]) == (None, ["no-rows"])


@given(st.binary(max_size=200))
def test_parse_questions_jsonl_never_raises(data: bytes) -> None:
    parsed = parse_questions_jsonl(Bundle({"QA.jsonl": data}), "QA.jsonl")

    assert (parsed.value is None) == bool(parsed.errors)


@pytest.mark.shared_data
@pytest.mark.parametrize("level", [1, 2, 3])
def test_parse_questions_jsonl_reads_the_shared_samples(shared_data: Path, level: int) -> None:
    file = shared_data / "judges" / f"lunar_L{level}_sample.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    parsed = parse_questions_jsonl(Bundle({file.name: file.read_bytes()}), file.name)

    assert parsed.problems == ()
    assert parsed.value is not None
    read = [(case.key, case.prompt, case.reference, case.scenario) for case in parsed.value.cases]
    expected = []
    for row in rows:
        # two questions of level 1 are blank: then the instruction asks alone
        prompt = f"{row['instruction']}\n\n{row['question']}" if row["question"].strip() else row["instruction"]
        expected.append((str(row["id"]), prompt, row["answer"], row["scenario_code"]))
    assert read == expected
