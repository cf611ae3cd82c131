from __future__ import annotations

import pytest

from tests.judging.specs.records.tools.uploads import Fields, Uploads, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free

QUESTIONS: list[Fields] = [{"question_id": 1, "category": "writing", "turns": ["Name a bird.", "And a fish."]}]
RENAMED: list[Fields] = [{"turns": ["Name a bird.", "And a fish."], "question_id": "q-1"}]


def _answer(model: str, *choices: list[object], **more: object) -> Fields:
    numbered = [{"index": number, "turns": turns} for number, turns in enumerate(choices)]
    return {"question_id": 1, "answer_id": "x", "model_id": model, "choices": numbered, "tstamp": 1.5} | more


def test_questions_without_category_keep_their_turns() -> None:
    assert stored({"q.jsonl": RENAMED})["cases"] == [
        {
            "id": "q-1",
            "messages": [{"role": "user", "text": "Name a bird."}, {"role": "user", "text": "And a fish."}],
            "references": [],
            "metadata": {},
        }
    ]


def test_answers_with_several_choices_are_attempts() -> None:
    files: Uploads = {"question.jsonl": QUESTIONS, "m.jsonl": [_answer("owl", ["Jay.", "Cod."], ["Tit.", "Eel."])]}

    rows = stored(files)["responses"]

    assert told(rows, "system", "attempt") == [("owl", 0), ("owl", 1)]
    assert [turn["text"] for turn in rows[1]["messages"]] == ["Name a bird.", "Tit.", "And a fish.", "Eel."]


def test_answers_of_failed_calls_are_no_responses() -> None:
    files: Uploads = {"question.jsonl": QUESTIONS, "m.jsonl": [_answer("owl", ["Jay.", "$ERROR$"])]}

    assert stored(files)["responses"] == []
    assert warned(files) == {"failed-sample": 1}


def test_answers_without_a_model_are_named_after_their_file() -> None:
    files: Uploads = {"question.jsonl": QUESTIONS, "owl.jsonl": [_answer("", ["Jay.", "Cod."])]}

    assert stored(files)["systems"] == ["owl"]
    assert warned(files) == {"system-from-file": 1}


def test_answers_of_arena_hard_0_1_have_turns_as_objects() -> None:
    questions = [{"question_id": "a1", "category": "c", "cluster": "Birds", "turns": [{"content": "Name a bird."}]}]
    answers = [_answer("owl", [{"content": "Jay.", "token_len": 2}], question_id="a1")]

    document = stored({"question.jsonl": questions, "model_answer/owl.jsonl": answers})

    assert told(document["cases"], "id", "prompt", "metadata") == [
        ("a1", "Name a bird.", {"category": "c", "cluster": "Birds"})
    ]
    assert told(document["responses"], "case", "system", "text") == [("a1", "owl", "Jay.")]


def test_answers_below_reference_answer_are_references() -> None:
    files: Uploads = {
        "question.jsonl": QUESTIONS,
        "data/reference_answer/gpt-4.jsonl": [_answer("gpt-4", ["Jay.", "Cod."])],
    }

    document = stored(files)

    assert (document["systems"], document["cases"][0]["references"]) == ([], ["Jay.", "Cod."])


def test_single_judgments_with_a_judge_as_text() -> None:
    judgment: Fields = {
        "question_id": 1,
        "model": "owl",
        "judge": "gpt-4",
        "judgment": "Good.",
        "score": 8.5,
        "turn": 2,
    }
    files: Uploads = {"q.jsonl": QUESTIONS, "a.jsonl": [_answer("owl", ["Jay.", "Cod."])], "j.jsonl": [judgment]}

    assert told(stored(files)["verdicts"], "judge", "value", "turn", "scale") == [("gpt-4", 8.5, 2, [1.0, 10.0])]


def test_judge_tables_of_others_are_not_taken_for_single_judgments() -> None:
    rows = [{"question_id": 1, "model": "owl", "judge": "j", "score": 0.5}]

    assert kinds({"scores.jsonl": rows}) != ["mt-bench-single"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("model_1", "model_1", ("A", 0)),
        ("owl", "owl", ("A", 0)),  # a winner by name
        ("tie", "model_2", ("tie", 1)),
        ("error", "model_2", ("B", 0)),
    ],
)
def test_pair_judgments_are_one_preference(first: str, second: str, expected: tuple[str, int]) -> None:
    pair: Fields = {"question_id": 1, "model_1": "owl", "model_2": "elk", "g1_winner": first, "g2_winner": second}
    pair |= {"judge": ["gpt-4", "pair-v2"], "turn": 1}
    answers = [_answer("owl", ["Jay.", "Cod."]), _answer("elk", ["Tit.", "Eel."])]
    files: Uploads = {"q.jsonl": QUESTIONS, "a.jsonl": answers, "j.jsonl": [pair]}

    assert told(stored(files)["preferences"], "choice", "by") == [(expected[0], "gpt-4 pair-v2")]
    assert warned(files).get("order-flip", 0) == expected[1]


def test_pair_judgments_that_could_not_be_read_are_counted() -> None:
    pair: Fields = {"question_id": 1, "model_1": "owl", "model_2": "elk", "g1_winner": "error", "g2_winner": "error"}
    files: Uploads = {"q.jsonl": QUESTIONS, "j.jsonl": [pair | {"judge": "j"}]}

    assert stored(files)["preferences"] == []
    assert warned(files) == {"unparsed-verdict": 1}


def test_answers_without_questions_name_an_unknown_case() -> None:
    reading = read({"a.jsonl": [_answer("owl", ["Jay.", "Cod."])]})

    assert reading.collected is not None
    assert [case.key for _, case in reading.collected.unknown_cases] == ["1"]


def _judged(**more: object) -> Fields:
    judgment = "It is short, unlike [[2]] others. Rating: [[6.5]]"
    return {"question_id": 1, "judge": ["gpt-4", "single-v1"], "user_prompt": "Rate.", "judgment": judgment} | more


def test_a_judgment_without_a_score_has_the_last_one_that_it_writes() -> None:
    files: Uploads = {
        "question.jsonl": QUESTIONS,
        "m.jsonl": [_answer("owl", ["Jay.", "Cod."])],
        "judged.jsonl": [_judged(model="owl", turn=1), _judged(model="owl", turn=2, judgment="No rating.")],
    }

    assert told(stored(files)["verdicts"], "system", "judge", "value", "turn") == [("owl", "gpt-4 single-v1", 6.5, 1)]
    assert warned(files) == {"unparsed-verdict": 1}


def test_a_judgment_that_names_no_system_is_refused_unless_the_person_names_it() -> None:
    files: Uploads = {"judged.jsonl": [_judged()]}

    problems = read(files).findings.as_tuple()

    assert [problem.message for problem in problems] == [
        "The row does not say which system's answer was judged. Name it as the system of the file."
    ]
    assert told(stored(files, system="owl")["verdicts"], "system", "value") == [("owl", 6.5)]


def test_reviews_of_pairs_by_the_ids_of_answers_are_refused_by_their_name() -> None:
    row = {"review_id": "r", "question_id": 1, "answer1_id": "a", "answer2_id": "b", "text": "8 7", "score": [8, 7]}

    assert "name answers by the ids of another file" in str(read({"review.jsonl": [row]}).findings.as_tuple()[0])
