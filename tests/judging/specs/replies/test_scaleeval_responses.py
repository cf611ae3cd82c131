"""ScaleEval's response files make a suite and every model's responses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Parsed
from judging.specs.records.neutral import CaseRecord, Place, ResponseRecord, SuiteSpec
from judging.specs.replies import Responses, parse_scaleeval_responses


def rows(*pairs: tuple[str, str], category: str = "math") -> bytes:
    lines = [json.dumps({"prompt": prompt, "category": category, "response": text}) for prompt, text in pairs]
    return "\n".join(lines).encode()


def short(parsed: Parsed[tuple[SuiteSpec, Responses]]) -> list[tuple[str, str, str]]:
    return [(problem.code, problem.file, problem.place) for problem in parsed.problems]


@pytest.mark.parametrize("top", ["responses/", "scaleeval/responses/"])
def test_parse_scaleeval_responses_keys_cases_by_line(top: str) -> None:
    files = {
        f"{top}m1/math.jsonl": rows(("same", " a"), ("same", "b")),
        f"{top}m2/math.jsonl": rows(("same", "c"), ("same", "d\r\n")),
    }

    parsed = parse_scaleeval_responses(Bundle(files))

    assert parsed.problems == ()
    assert parsed.value is not None
    suite, responses = parsed.value
    first, second = f"{top}m1/math.jsonl", f"{top}m2/math.jsonl"
    assert suite.cases == (
        CaseRecord("math-1", "same", scenario="math", source_path=f"{first}, line 1"),
        CaseRecord("math-2", "same", scenario="math", source_path=f"{first}, line 2"),
    )
    assert responses == (
        ResponseRecord("m1", " a", attempt=0, case_key="math-1", place=Place(first, "line 1")),
        ResponseRecord("m1", "b", attempt=0, case_key="math-2", place=Place(first, "line 2")),
        ResponseRecord("m2", "c", attempt=0, case_key="math-1", place=Place(second, "line 1")),
        ResponseRecord("m2", "d\r\n", attempt=0, case_key="math-2", place=Place(second, "line 2")),
    )


def test_parse_scaleeval_responses_names_both_places_of_different_prompts() -> None:
    files = {"responses/a/x.jsonl": rows(("p", "1"), ("q", "2")), "responses/b/x.jsonl": rows(("p", "1"), ("r", "2"))}

    parsed = parse_scaleeval_responses(Bundle(files))

    assert parsed.value is None
    assert short(parsed) == [("prompt-mismatch", "responses/b/x.jsonl", "line 2")]
    assert "responses/a/x.jsonl, line 2" in parsed.errors[0].message


def test_parse_scaleeval_responses_warns_of_a_shorter_file() -> None:
    files = {"responses/a/x.jsonl": rows(("p", "1")), "responses/b/x.jsonl": rows(("p", "1"), ("q", "2"))}

    parsed = parse_scaleeval_responses(Bundle(files))

    assert short(parsed) == [("fewer-responses", "responses/a/x.jsonl", "")]
    assert parsed.value is not None
    suite, _ = parsed.value
    assert [case.key for case in suite.cases] == ["x-1", "x-2"]


def test_parse_scaleeval_responses_orders_lines_as_numbers() -> None:
    parsed = parse_scaleeval_responses(Bundle({"responses/a/x.jsonl": rows(*[(str(n), "r") for n in range(1, 12)])}))

    assert parsed.value is not None
    suite, _ = parsed.value
    assert [case.key for case in suite.cases] == [f"x-{n}" for n in range(1, 12)]


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (b'{"prompt": "p"}', "scaleeval-row", "line 1"),
        (b'{"prompt": "p", "response": null}', "scaleeval-row", "line 1"),
        (b"{", "bad-json", "line 1, column 2"),
    ],
)
def test_parse_scaleeval_responses_names_what_is_wrong(data: bytes, code: str, place: str) -> None:
    parsed = parse_scaleeval_responses(Bundle({"responses/a/x.jsonl": data}))

    assert (parsed.value, short(parsed)) == (None, [(code, "responses/a/x.jsonl", place)])


def test_parse_scaleeval_responses_says_how_to_name_files() -> None:
    assert short(parse_scaleeval_responses(Bundle({"x.jsonl": b"{}"}))) == [("no-scaleeval-files", "", "")]


@given(st.binary(max_size=200))
def test_parse_scaleeval_responses_never_raises(data: bytes) -> None:
    parsed = parse_scaleeval_responses(Bundle({"responses/a/x.jsonl": data, "responses/b/x.jsonl": data}))

    assert (parsed.value is None) == bool(parsed.errors)


@pytest.mark.shared_data
def test_parse_scaleeval_responses_reads_the_shared_files(shared_data: Path) -> None:
    top = shared_data / "debate" / "original"
    files = Bundle({p.relative_to(top).as_posix(): p.read_bytes() for p in top.rglob("*.jsonl")})

    parsed = parse_scaleeval_responses(files)

    # 3 scenarios of 40 prompts, each answered by the two models of its recorded debate
    assert parsed.problems == ()
    assert parsed.value is not None
    suite, responses = parsed.value
    assert (len(suite.cases), len(responses)) == (120, 240)
    assert {case.scenario for case in suite.cases} == {"brainstorming", "math", "write"}
    assert {response.system for response in responses} == {"gpt3.5", "claude-instant", "gemini"}
    texts = {(r.system, r.case_key): r.text for r in responses}
    debates = top / "scaleeval/results/gpt3.5_vs_claude/reasoning/multiagent_score/math.jsonl"
    for item in json.loads(debates.read_text(encoding="utf-8")):
        pair = {texts["gpt3.5", f"math-{item['id']}"], texts["claude-instant", f"math-{item['id']}"]}
        assert pair == {item["Submission 1"], item["Submission 2"]}
