"""Importing recorded debates: hand-made folders in every state, and the shipped ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.protocol.recorded import ORIGINAL_JUDGES, read_recorded_debates, read_rows, recover_agents
from debate.protocol.transcripts import RecordedItem, RecordedTurn, SingleScore
from judging.specs.files.bundles import Bundle

DEBATES = "results/x_vs_y/reasoning/multiagent_score/math.jsonl"
PROMPTS = ("Add one and one.", "Name a prime.", "Add one and one.")  # the first and last are the same on purpose


def responses(system: str) -> str:
    lines = [{"prompt": prompt, "response": f" {system} on line {n}"} for n, prompt in enumerate(PROMPTS, start=1)]
    return "\n".join(json.dumps(line) for line in lines)


def debate_row(item_id: int, *, swapped: bool, scores: list[list[Any]], agents: str = "abc") -> dict[str, Any]:
    """A row as filed; the text of a statement names its judge, round and score."""
    first, second = ("y-model", "x") if swapped else ("x", "y-model")
    row: dict[str, Any] = {
        "id": item_id,
        "Question": PROMPTS[item_id - 1],
        "Submission 1": f" {first} on line {item_id}",
        "Submission 2": f" {second} on line {item_id}",
    }
    for stage, given_scores in enumerate(scores):
        for number, (judge, score) in enumerate(zip(agents, given_scores, strict=True), start=1):
            name = "Initial Evaluation" if stage == 0 else f"Discussion Round {stage}"
            row[f"Speaker {number} - {name}"] = {"reasoning": text_of(judge, item_id, stage, score), "score": score}
    return row


def text_of(judge: str, item_id: int, stage: int, score: object) -> str:
    return f"{judge} on {item_id} in {stage}\n\n{score}"


def single(judge: str, scores: dict[int, str]) -> str:
    return json.dumps(
        [{"ID": n, "Score": score, "Reasoning": text_of(judge, n, 0, score)} for n, score in scores.items()], indent=4
    )


ROWS = [
    debate_row(1, swapped=False, scores=[["1", "1", "1"]]),
    debate_row(2, swapped=True, scores=[["1", "2", "0"], ["1", "1", "1"]], agents="bca"),
    debate_row(3, swapped=True, scores=[["2", "2", "2"]], agents="cab"),
]
SINGLES = {"a": {1: "1", 2: "0", 3: "2"}, "b": {1: "1", 2: "1", 3: "2"}, "c": {1: "1", 2: "2", 3: "2"}}


def bundle(debates: str | bytes | None = None, **changes: str | None) -> Bundle:
    """A complete folder; `changes` replace files by path with / written as __, None removes one."""
    files: dict[str, str | bytes | None] = {
        "responses/x/math.jsonl": responses("x"),
        "responses/y-model/math.jsonl": responses("y-model"),
        DEBATES: debates if debates is not None else json.dumps(ROWS, indent=4),
        **{f"results/x_vs_y/reasoning/{j}_score/math.jsonl": single(j, scores) for j, scores in SINGLES.items()},
        "criteria/metaeval_reasoning.yaml": 'criteria:\n  math_reasoning:\n    "1": bad\n    "5": good\n',
        **{path.replace("__", "/"): text for path, text in changes.items()},
    }
    return Bundle(
        {
            f"top/{path}": text if isinstance(text, bytes) else text.encode()
            for path, text in files.items()
            if text is not None
        }
    )


def codes(found: Any) -> list[tuple[str, str]]:
    return [(problem.code, problem.place) for problem in found.problems]


def test_read_recorded_debates_recovers_both_orders_from_texts() -> None:
    found = read_recorded_debates(bundle(), judges=("a", "b", "c"))

    assert found.value is not None
    (cell,) = found.value
    assert (cell.key, cell.system_a, cell.system_b, cell.judges) == (
        "x_vs_y/reasoning/math",
        "x",
        "y-model",
        ("a", "b", "c"),
    )
    assert cell.criterion_key == "math_reasoning"
    assert [(item.id, item.response_order, item.agents) for item in cell.items] == [
        (1, 0, ("a", "b", "c")),
        (2, 1, ("b", "c", "a")),
        (3, 1, ("c", "a", "b")),
    ]
    assert cell.items[1] == RecordedItem(
        id=2,
        question="Name a prime.",
        response_a=" x on line 2",
        response_b=" y-model on line 2",
        response_order=1,
        stages=(
            (
                RecordedTurn(1, "b", "b on 2 in 0\n\n1", "1"),
                RecordedTurn(2, "c", "c on 2 in 0\n\n2", "2"),
                RecordedTurn(3, "a", "a on 2 in 0\n\n0", "0"),
            ),
            (
                RecordedTurn(1, "b", "b on 2 in 1\n\n1", "1"),
                RecordedTurn(2, "c", "c on 2 in 1\n\n1", "1"),
                RecordedTurn(3, "a", "a on 2 in 1\n\n1", "1"),
            ),
        ),
    )
    assert cell.singles["a"][0] == SingleScore(1, "1", "a on 1 in 0\n\n1")
    assert codes(found) == [("duplicate-prompt", "line 3"), ("duplicate-prompt", "line 3")]


def test_read_recorded_debates_reads_concatenated_objects_and_a_cut_off_end() -> None:
    whole = "".join(json.dumps(row, indent=4) + "\n" for row in ROWS)

    concatenated = read_recorded_debates(bundle(whole))
    cut = read_recorded_debates(bundle(json.dumps(ROWS, indent=4)[:-200]))

    assert [len(found.value[0].items) if found.value else 0 for found in (concatenated, cut)] == [3, 2]
    assert [problem.code for problem in concatenated.problems if problem.file.endswith(DEBATES)] == ["concatenated"]
    assert [problem.code for problem in cut.problems if problem.file.endswith(DEBATES)] == ["cut-off", "partial"]


def test_read_recorded_debates_keeps_ids_of_a_partial_file() -> None:
    found = read_recorded_debates(bundle(json.dumps(ROWS[1:])))

    assert found.value is not None
    assert [item.id for item in found.value[0].items] == [2, 3]
    assert ("partial", "") in codes(found)


def test_read_recorded_debates_moves_a_misfiled_single_file_home() -> None:
    wrong, right = "results/x_vs_y/creativity/c_score/math.jsonl", "results/x_vs_y/reasoning/c_score/math.jsonl"

    found = read_recorded_debates(bundle(**{wrong: single("c", SINGLES["c"]), right: None}), judges=("a", "b", "c"))

    assert found.value is not None
    assert (found.value[0].judges, found.value[0].items[2].agents) == (("a", "b", "c"), ("c", "a", "b"))
    assert [(p.code, p.file) for p in found.problems if p.code == "misfiled"] == [("misfiled", f"top/{wrong}")]


def test_read_recorded_debates_names_judges_by_agent_without_their_files() -> None:
    changes = {f"results/x_vs_y/reasoning/{judge}_score/math.jsonl": None for judge in "abc"}

    found = read_recorded_debates(bundle(**changes))

    assert found.value is not None
    assert found.value[0].items[0].agents == ("seat-1", "seat-2", "seat-3")
    assert ("judges-unknown", "") in codes(found)


def test_read_recorded_debates_reports_odd_scores_by_item_round_and_agent() -> None:
    rows = [debate_row(1, swapped=False, scores=[["4", 0, None], ["1", "1", "1"]])]
    rows[0]["Speaker 1 - Discussion Round 1"]["reasoning"] = "2\n</function1>"
    rows[0]["Speaker 2 - Discussion Round 1"]["reasoning"] = None
    singles = {
        f"results/x_vs_y/reasoning/{judge}_score/math.jsonl": json.dumps(
            [{"ID": 1, "Score": score, "Reasoning": text_of(judge, 1, 0, raw)}]
        )
        for judge, score, raw in (("a", "1", "4"), ("b", 0, 0), ("c", None, None))
    }

    found = read_recorded_debates(bundle(json.dumps(rows), **singles), judges=("a", "b", "c"))

    assert [entry for entry in codes(found) if entry[1].startswith("item")] == [
        ("odd-score", "item 1, independent round, agent 1"),
        ("odd-score", "item 1, independent round, agent 2"),
        ("reading-differs", "item 1, independent round, agent 2"),  # integer 0 recorded, the text ends in 0
        ("odd-score", "item 1, independent round, agent 3"),
        ("reading-differs", "item 1, round 1, agent 1"),
        ("no-text", "item 1, round 1, agent 2"),
        ("single-score-differs", "item 1, independent round, agent 1"),
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Submission 1": "nobody's text"}, "order-unknown"),
        ({"Question": None}, "record-left-out"),
        ({"id": "1"}, "record-left-out"),
        ({"Speaker 2 - Initial Evaluation": None}, "record-left-out"),
        ({"Speaker 1 - Initial Evaluation": {"reasoning": "?", "score": "1"}, "Speaker 2 - Initial Evaluation":
          {"reasoning": "?", "score": "1"}}, "agents-unknown"),
    ],
)  # fmt: skip
def test_read_recorded_debates_leaves_out_and_reports_what_cannot_be_placed(change: dict[str, Any], code: str) -> None:
    found = read_recorded_debates(bundle(json.dumps([{**ROWS[0], **change}, *ROWS[1:]])))

    assert found.value is not None
    assert [item.id for item in found.value[0].items] == [2, 3]
    assert code in [problem.code for problem in found.problems]


def test_read_recorded_debates_drops_an_incomplete_round() -> None:
    row = {**ROWS[1]}
    del row["Speaker 3 - Discussion Round 1"]

    found = read_recorded_debates(bundle(json.dumps([ROWS[0], row, ROWS[2]])))

    assert found.value is not None
    assert len(found.value[0].items[1].stages) == 1
    assert ("round-incomplete", "item 2") in codes(found)


def test_read_recorded_debates_takes_the_first_of_two_items_with_one_id() -> None:
    found = read_recorded_debates(bundle(json.dumps([*ROWS, {**ROWS[0], "Question": "Another?"}])))

    assert found.value is not None
    assert len(found.value[0].items) == 3
    assert ("record-left-out", "record 4") in codes(found)


def test_read_recorded_debates_reports_files_it_does_not_use() -> None:
    stray = "results/x_vs_y/reasoning/d_score/math.jsonl"

    found = read_recorded_debates(bundle(**{stray: single("d", {1: "1"}), "figs__plot.pdf": "x"}))

    assert [(p.code, p.file) for p in found.problems if p.code in ("single-unmatched", "not-read")] == [
        ("not-read", "top/figs/plot.pdf"),
        ("single-unmatched", f"top/{stray}"),
    ]


def test_read_recorded_debates_finds_responses_on_another_line_and_says_so() -> None:
    moved = {**ROWS[0], "id": 3}  # asks the same as item 3, shows the responses of line 1

    found = read_recorded_debates(bundle(json.dumps([moved, ROWS[1]]), **{
        f"results/x_vs_y/reasoning/{judge}_score/math.jsonl": None for judge in "abc"
    }))  # fmt: skip

    assert found.value is not None
    assert found.value[0].items[-1].response_a == " x on line 1"
    assert ("other-line", "item 3") in codes(found)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"\xff\xfe", "not-utf8"), (b"", "no-records"), (b"[]", "no-records"), (b"nonsense", "no-records")],
)
def test_read_recorded_debates_says_why_a_file_cannot_be_read(content: bytes, code: str) -> None:
    found = read_recorded_debates(bundle(content))

    assert found.value is None
    assert code in [problem.code for problem in found.errors]


@pytest.mark.parametrize(("text", "code"), [("criteria: [", "not-yaml"), ("levels: {}", "no-criteria")])
def test_read_recorded_debates_goes_on_without_readable_criteria(text: str, code: str) -> None:
    found = read_recorded_debates(bundle(**{"criteria/metaeval_reasoning.yaml": text}))

    assert found.value is not None
    assert found.value[0].criterion_key == ""
    assert code in [problem.code for problem in found.problems]


def test_read_recorded_debates_needs_the_responses_and_says_so() -> None:
    found = read_recorded_debates(bundle(**{"responses/x/math.jsonl": None}))

    assert found.value is None
    assert [problem.code for problem in found.errors] == ["responses-missing", "no-debates"]


def test_recover_agents_lets_the_last_agent_follow_from_the_others() -> None:
    own: dict[str, str | None] = {"a": "A", "b": "B", "c": "edited"}

    assert recover_agents(["B", "C", "A"], own) == ("b", "c", "a")
    assert recover_agents(["B", "C", "other"], own) is None


def test_recover_agents_prefers_the_only_rotation_among_equals() -> None:
    own: dict[str, str | None] = {"a": "same", "b": "same", "c": "C"}

    assert recover_agents(["same", "same", "C"], own) == ("a", "b", "c")


def test_recover_agents_never_matches_missing_texts() -> None:
    assert recover_agents([None, None, "C"], {"a": None, "b": None, "c": "C"}) is None


@given(st.binary(max_size=200))
def test_read_rows_survives_any_bytes(content: bytes) -> None:
    parsed = read_rows("file.jsonl", content)

    assert (parsed.value is None) == bool(parsed.errors)


@pytest.fixture(scope="module")
def original(shared_data: Path) -> Bundle:
    top = shared_data / "debate/original"
    return Bundle({path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()})


@pytest.mark.shared_data
def test_read_recorded_debates_recovers_every_shipped_order(shared_data: Path, original: Bundle) -> None:
    with (shared_data / "debate/items.csv").open(encoding="utf-8", newline="") as file:
        expected = {
            (f"{row['pair']}/{row['criterion']}/{row['scenario']}", int(row["id"])): (
                int(row["submission_order"]),
                (*ORIGINAL_JUDGES[int(row["speaker_order"]) :], *ORIGINAL_JUDGES[: int(row["speaker_order"])]),
            )
            for row in csv.DictReader(file)
        }

    found = read_recorded_debates(original)

    assert expected == {
        (cell.key, item.id): (item.response_order, item.agents) for cell in found.value or () for item in cell.items
    }


@pytest.mark.shared_data
def test_read_recorded_debates_reports_the_shipped_oddities(original: Bundle) -> None:
    found = read_recorded_debates(original)

    differing = [(p.file.split("/")[2], p.place) for p in found.problems if p.code == "reading-differs"]

    assert not found.errors
    assert differing == [
        ("claude_vs_gemini", "item 8, independent round, agent 2"),
        ("claude_vs_gemini", "item 10, round 2, agent 2"),
        ("claude_vs_gemini", "item 11, round 1, agent 2"),
        ("claude_vs_gemini", "item 17, independent round, agent 3"),
        ("claude_vs_gemini", "item 30, independent round, agent 1"),
        ("gpt3.5_vs_claude", "item 24, independent round, agent 2"),
        ("gpt3.5_vs_claude", "item 4, round 2, agent 2"),
    ]
