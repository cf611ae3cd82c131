from __future__ import annotations

import json

import pytest

from tests.judging.specs.records.tools.uploads import Fields, Uploads, stored, told, warned

pytestmark = pytest.mark.backend_free

ASKED: list[Fields] = [{"role": "user", "content": "I have a cold."}]


def test_healthbench_without_an_ideal_completion() -> None:
    row: Fields = {"prompt": ASKED, "prompt_id": "h1", "ideal_completions_data": None, "example_tags": ["theme:x"]}
    row |= {"rubrics": [{"criterion": "Advises rest", "points": 5, "tags": []}, {"points": -2, "criterion": "Sells"}]}

    document = stored({"hard.jsonl": [row]})

    assert told(document["cases"], "id", "prompt", "references", "metadata") == [
        ("h1", "I have a cold.", [], {"tags": ["theme:x"]})
    ]
    assert document["rubrics"][0]["criteria"] == [
        {"text": "Advises rest", "points": 5.0},
        {"text": "Sells", "points": -2.0},
    ]


def test_a_reply_beside_a_rubric_is_a_response() -> None:
    row: Fields = {"prompt": ASKED, "prompt_id": "h1", "rubrics": [{"criterion": "Advises rest", "points": 5}]}
    row["prompt_response"] = [{"role": "assistant", "content": "Rest."}]

    document = stored({"oak.jsonl": [row]})

    assert told(document["responses"], "case", "system", "text") == [("h1", "oak", "Rest.")]


def test_healthbench_meta_has_labels_of_physicians() -> None:
    row: Fields = {
        "prompt": ASKED,
        "prompt_id": "h1",
        "completion": "Rest.",
        "completion_id": "c",
        "rubric": "Advises rest",
    }
    row |= {"binary_labels": [True, False], "anonymized_physician_ids": ["p1", "p2"], "category": "k"}
    files: Uploads = {"meta.jsonl": [row, row | {"rubric": "Is kind"}]}

    document = stored(files)

    assert len(document["responses"]) == 1
    assert told(document["labels"], "rater", "label", "criterion") == [
        ("p1", "true", "Advises rest"),
        ("p2", "false", "Advises rest"),
        ("p1", "true", "Is kind"),
        ("p2", "false", "Is kind"),
    ]
    assert warned(files) == {"system-from-file": 1}


TASK: Fields = {"session_id": "s1", "conversation_input": ASKED, "checklist": ["Is it kind?"], "references": {}}


def test_wildbench_outputs_alone_bring_their_conversation() -> None:
    row: Fields = {
        "session_id": "s1",
        "chat_history": ["Hi.", "Hello.", "Bye."],
        "output": ["Ciao.", "Bye."],
        "generator": "owl",
    }

    document = stored({"owl.json": [row]})

    assert [turn["role"] for turn in document["cases"][0]["messages"]] == ["user", "assistant", "user"]
    assert told(document["responses"], "attempt", "text") == [(0, "Ciao."), (1, "Bye.")]


def test_wildbench_scores_name_the_judge_by_the_folder() -> None:
    row: Fields = {"session_id": "s1", "parsed_result": {"strengths": "Kind.", "score": "7"}, "model_test": "lab/owl"}
    bad: Fields = {
        "session_id": "s1",
        "parsed_result": {"choice": "N/A"},
        "model_test": "lab/elk",
        "model_output": "Sleep.",
    }
    files: Uploads = {"t.jsonl": [TASK], "score.v2/eval=gpt-4o/owl.json": [row | {"model_output": "Rest."}, bad]}

    document = stored(files)

    assert told(document["responses"], "system", "text") == [("lab/owl", "Rest."), ("lab/elk", "Sleep.")]
    assert told(document["verdicts"], "judge", "value", "reason") == [("gpt-4o", 7.0, "Kind.")]
    assert warned(files) == {"judge-from-file": 1, "unparsed-verdict": 1}


@pytest.mark.parametrize(("choice", "expected"), [("A++", "A"), ("B+", "B"), ("A=B", "tie"), ("tie", "tie")])
def test_wildbench_pairs_follow_their_assignment(choice: str, expected: str) -> None:
    row: Fields = {
        "session_id": "s1",
        "model_output": "Rest.",
        "ref_output": "Sleep.",
        "generator": "owl",
        "ref_generator": "elk",
    }
    row |= {"assignment": {"A": "elk", "B": "owl"}, "parsed_result": {"reason": "So.", "choice": choice}}
    files: Uploads = {"t.jsonl": [TASK], "pairwise.v2/eval=gpt-4o/ref=elk/owl.json": [row]}

    document = stored(files)

    assert told(document["responses"], "system", "text") == [("elk", "Sleep."), ("owl", "Rest.")]
    assert told(document["preferences"], "a", "b", "choice", "by") == [("elk", "owl", expected, "gpt-4o")]


LEVELS: Fields = {f"score{n}_description": f"Level {n}." for n in range(1, 6)}
BIGGEN: Fields = {"id": "plan_0", "capability": "planning", "input": "Plan.", "reference_answer": "Bread."}


def test_biggen_tasks_without_responses_have_rubrics() -> None:
    row = BIGGEN | {"score_rubric": {"criteria": "Whole?"} | LEVELS, "system_prompt": ""}

    document = stored({"data.jsonl": [row]})

    assert told(document["cases"], "id", "prompt", "references") == [("plan_0", "Plan.", ["Bread."])]
    assert document["rubrics"][0]["criteria"][0]["levels"] == {str(n): f"Level {n}." for n in range(1, 6)}


def test_biggen_results_have_a_column_for_each_judge() -> None:
    row = BIGGEN | {"score_rubric": {"criteria": "Whole?"} | LEVELS, "response": "Bread.", "model_name": "owl"}
    row |= {"gpt4_score": 4, "gpt4_feedback": "Good.", "claude_score": 3.0, "human_score": 5}

    document = stored({"results.jsonl": [row]})

    assert told(document["verdicts"], "system", "judge", "value", "reason") == [
        ("owl", "gpt4", 4.0, "Good."),
        ("owl", "claude", 3.0, None),
    ]
    assert told(document["labels"], "rater", "label") == [("", "5")]


def _prometheus(**more: object) -> Fields:
    levels = {f"orig_{name}": text for name, text in LEVELS.items()}
    return {"orig_instruction": "Name a spice.", "orig_criteria": "Is it one?", "instruction": "…"} | levels | more


def test_preference_bench_is_a_judges() -> None:
    row = _prometheus(
        orig_response_A="Salt.", orig_response_B="Cumin.", orig_preference="B", orig_feedback="A is none."
    )
    files: Uploads = {"preference_bench.json": [row]}

    assert told(stored(files)["preferences"], "a", "b", "choice", "by", "criterion", "reason") == [
        ("response_A", "response_B", "B", "preference_bench", "Is it one?", "A is none.")
    ]
    assert warned(files) == {"systems-from-header": 2, "judge-from-file": 1}


def test_feedback_without_a_reference_or_score() -> None:
    files: Uploads = {"feedback.jsonl": [_prometheus(orig_response="Salt.")]}

    document = stored(files)

    assert (document["verdicts"], told(document["responses"], "system", "text")) == ([], [("feedback", "Salt.")])


PROMPT = """###Task Description:
Judge it.

###The instruction to evaluate:
Name a spice.

###Response to evaluate:
{response}

###Reference Answer (Score 5):
Cumin.

###Score Rubrics:
[Is it one?]
Score 1: No.
Score 5: Yes.

###Feedback: """


def test_judge_prompts_of_prometheus_are_read_by_their_headings() -> None:
    rows = [
        {"idx": 1, "response_source": name, "instruction": PROMPT.format(response=text), "gpt4_score": [4, 5]}
        for name, text in (("owl", "Salt."), ("elk", "Mace."))
    ]

    document = stored({"vicuna_eval.json": rows})

    assert told(document["cases"], "id", "prompt", "references") == [("1", "Name a spice.", ["Cumin."])]
    assert told(document["responses"], "system", "text") == [("owl", "Salt."), ("elk", "Mace.")]
    assert told(document["verdicts"], "system", "judge", "value")[:2] == [
        ("owl", "gpt4 #1", 4.0),
        ("owl", "gpt4 #2", 5.0),
    ]
    assert document["rubrics"][0]["criteria"] == [{"text": "Is it one?", "levels": {"1": "No.", "5": "Yes."}}]


def test_judge_prompts_whose_idx_is_no_case_are_numbered() -> None:
    rows = [
        {"idx": 1, "response_source": name, "instruction": PROMPT.replace("spice", name).format(response="Salt.")}
        for name in ("owl", "elk")
    ]

    assert told(stored({"e.json": [row | {"gpt4_score": 1} for row in rows]})["cases"], "id", "metadata") == [
        ("1", {"idx": 1}),
        ("2", {"idx": 1}),
    ]


def test_results_of_healthbench_say_which_criteria_a_completion_meets() -> None:
    lines = [
        {"criterion": text, "points": points, "criteria_met": points > 0, "explanation": "so"}
        for text, points in (("Says rest", 5), ("Gives drugs", -7))
    ]
    example = {"score": 0.5, "usage": {"input_tokens": 3}, "prompt_id": "hb1", "rubric_items": lines}
    example |= {"prompt": [{"role": "user", "content": "A cold?"}], "completion": "Rest."}
    results = {"score": 0.5, "metadata": {"example_level_metadata": [example, example | {"prompt_id": "hb2"}]}}

    document = stored({"allresults.json": json.dumps(results)})

    assert told(document["verdicts"], "case", "value", "reason", "criterion") == [
        (case, value, "so", text)
        for case in ("hb1", "hb2")
        for text, value in (("Says rest", 1.0), ("Gives drugs", 0.0))
    ]
    assert told(document["scores"], "case", "grader", "value") == [("hb1", "score", 0.5), ("hb2", "score", 0.5)]
    assert told(document["rubrics"], "case") == [("hb1",), ("hb2",)]
    assert told(document["responses"], "text", "metadata") == [("Rest.", {"usage": {"input_tokens": 3}})] * 2
