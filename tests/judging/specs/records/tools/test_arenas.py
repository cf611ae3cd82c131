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
        ("a1", "Name a bird.", {"scenario": "c", "cluster": "Birds"})
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
    row = {"reviewer_id": "r", "question_id": 1, "answer_ids": ["a", "b"], "text": "The first is better."}
    assert "name answers by the ids of another file" in str(read({"review.jsonl": [row]}).findings.as_tuple()[0])


QUESTION: list[Fields] = [{"question_id": "a1", "category": "c", "turns": [{"content": "Name a bird."}]}]


def _answer_arena(model: str, text: str) -> Fields:
    return {
        "question_id": "a1",
        "answer_id": "x",
        "model_id": model,
        "choices": [{"index": 0, "turns": [{"content": text}]}],
    }


def _judged_arena(*games: Fields, **more: str) -> dict[str, list[Fields]]:
    row: Fields = {"question_id": "a1", "model": "owl", "judge": "gpt-4", "games": list(games)} | more
    return {
        "question.jsonl": QUESTION,
        "a.jsonl": [_answer_arena("owl", 'Jay "x".'), _answer_arena("elk", "Tit.")],
        "j.jsonl": [row],
    }


def test_judgments_of_0_1_find_the_baseline_in_the_judges_prompt() -> None:
    prompt = 'A: Tit.\nB: Jay "x".'
    games = [
        {"user_prompt": prompt, "judgment": "…", "score": "A>>B"},
        {"user_prompt": "", "judgment": "…", "score": "B>A"},
    ]
    files = _judged_arena(*games)
    files["a.jsonl"].append(_answer_arena("yak", "Owl."))

    assert told(stored(files)["preferences"], "a", "b", "choice") == [("elk", "owl", "A")]


def test_judgments_of_0_1_without_prompts_take_the_one_other_system() -> None:
    assert told(stored(_judged_arena({"score": "B>A"}))["preferences"], "a", "b", "choice") == [("elk", "owl", "B")]


def test_judgments_without_a_baseline_are_left_out() -> None:
    files = _judged_arena({"score": "B>A"})
    files["a.jsonl"].append(_answer_arena("yak", "Owl."))

    assert stored(files)["preferences"] == []
    assert warned(files) == {"row-left-out": 1}


@pytest.mark.parametrize(
    ("scores", "choice", "flips"),
    [
        (("A>B", "B>>A"), "A", 0),
        (("A>B", "A=B"), "A", 0),
        (("A>B", "A>B"), "tie", 1),
        (("A=B", "B=A"), "tie", 0),
        ((None, "A>B"), "B", 0),
    ],
)
def test_judgments_turn_the_second_game_round(scores: tuple[str | None, str], choice: str, flips: int) -> None:
    files = _judged_arena(*({"score": score} for score in scores), baseline="elk")

    assert told(stored(files)["preferences"], "choice", "by", "kind") == [(choice, "gpt-4", "judge")]
    assert warned(files).get("order-flip", 0) == flips


def test_judgments_without_a_score_are_counted() -> None:
    files = _judged_arena({"score": None}, {"score": "?"}, baseline="elk")

    assert stored(files)["preferences"] == []
    assert warned(files) == {"unparsed-verdict": 1}


def test_answers_alone_bring_their_questions() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a bird."}]
    row: Fields = {"uid": "u1", "ans_id": "x", "model": "owl", "metadata": {"token_len": 3}}
    row |= {"messages": [*messages, {"role": "assistant", "content": {"answer": "Jay.", "thought": "Hm."}}]}

    document = stored({"owl.jsonl": [row]})

    assert told(document["cases"], "id", "prompt") == [("u1", "Name a bird.")]
    assert told(document["responses"], "system", "text") == [("owl", "Jay.")]
    details = {"ans_id": "x", "thought": "Hm.", "system_prompt": "Be brief.", "completion_tokens": 3}
    assert document["responses"][0]["metadata"] == details


def _conversation(*texts: object) -> list[Fields]:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def test_votes_of_newer_releases_have_parts_and_no_voter() -> None:
    asked = [{"type": "text", "text": "Name a bird.", "image": None, "mimeType": None}]
    row: Fields = {"id": "v1", "model_a": "owl", "model_b": "elk", "winner": "both_bad", "timestamp": "2025-06-01"}
    row |= {"conversation_a": _conversation(asked, [{"type": "text", "text": "Jay."}])}
    row |= {"conversation_b": _conversation(asked, [{"type": "text", "text": "Tit."}])}

    document = stored({"votes.jsonl": [row]})

    assert told(document["cases"], "id", "prompt") == [("v1", "Name a bird.")]
    assert told(document["responses"], "system", "text") == [("owl", "Jay."), ("elk", "Tit.")]
    assert told(document["preferences"], "choice", "by", "reason", "kind") == [("tie", "", "both bad", "person")]


def test_votes_of_the_arena_have_no_judged_turn() -> None:
    turns = _conversation("Hi.", "Hello.", "Bye.", "Ciao.")
    row: Fields = {
        "question_id": "v1",
        "model_a": "owl",
        "model_b": "elk",
        "winner": "model_a",
        "turn": 2,
        "tstamp": 1.0,
    }

    rows = stored({"votes.json": [row | {"conversation_a": turns, "conversation_b": turns}]})["preferences"]

    assert told(rows, "choice", "turn") == [("A", None)]


def test_votes_of_a_model_are_those_of_a_judge() -> None:
    turns = _conversation("Hi.", "Hello.", "Bye.", "Ciao.")
    row: Fields = {
        "question_id": 81,
        "model_a": "owl",
        "model_b": "elk",
        "winner": "tie (inconsistent)",
        "judge": "gpt4_pair",
    }
    files: Uploads = {"gpt4_pair.json": [row | {"turn": 1, "conversation_a": turns, "conversation_b": turns}]}

    assert told(stored(files)["preferences"], "choice", "by", "kind", "turn") == [("tie", "gpt4_pair", "judge", 1)]
    assert warned(files) == {"order-flip": 1}


def test_vote_tables_with_one_winner_column() -> None:
    header = "id,prompt,response_a,response_b,winner,model_a,model_b,language"
    text = f"{header}\n7,Say hi.,Hi!,Hello.,model_b,owl,elk,English\n"

    document = stored({"train.csv": text})

    assert told(document["cases"], "id", "prompt") == [("7", "Say hi.")]
    assert told(document["preferences"], "a", "b", "choice", "kind") == [("owl", "elk", "B", "person")]


def test_vote_tables_with_numbered_models_and_scores() -> None:
    row: Fields = {"question_id": "p", "prompt": "Say hi.", "response_1": "Hi!", "response_2": "Hey.", "model_1": "owl"}
    row |= {"model_2": "elk", "winner": "model_1", "score_1": 7, "score_2": 5}

    document = stored({"ppe.jsonl": [row]})

    assert told(document["preferences"], "a", "b", "choice") == [("owl", "elk", "A")]
    assert told(document["scores"], "system", "grader", "value") == [("owl", "score", 7.0), ("elk", "score", 5.0)]


def test_votes_without_a_winner_are_left_out() -> None:
    turns = _conversation("Hi.", "Hello.")
    row: Fields = {
        "question_id": "v",
        "model_a": "owl",
        "model_b": "elk",
        "conversation_a": turns,
        "conversation_b": turns,
    }

    files: Uploads = {"votes.jsonl": [row | {"winner": "model_a"}, row | {"question_id": "w", "winner": "?"}]}

    assert told(stored(files)["cases"], "id") == [("v",)]
    assert warned(files) == {"row-left-out": 1}


def test_questions_are_not_taken_for_answers() -> None:
    assert kinds({"q.jsonl": [{"prompt": "Hi.", "uid": "u", "category": "c"}]}) == ["arena-hard-questions"]


def test_judgments_without_a_judge_are_of_the_folders() -> None:
    files = _judged_arena({"score": "A>B"}, baseline="elk", judge="")
    files["model_judgment/gpt-4.1/owl.jsonl"] = files.pop("j.jsonl")

    assert told(stored(files)["preferences"], "by") == [("gpt-4.1",)]
    assert warned(files) == {"judge-from-file": 1}


def test_vote_tables_without_models_name_the_columns() -> None:
    text = 'id,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n7,["Hi."],["Hi!"],["Yo."],0,1,0\n'

    assert told(stored({"t.csv": text})["preferences"], "a", "b", "choice") == [("response_a", "response_b", "B")]


PAIR: Fields = {
    "instruction": "Name a bird.",
    "output_1": "Jay.",
    "output_2": "Tit.",
    "generator_1": "owl",
    "generator_2": "elk",
}


@pytest.mark.parametrize(
    ("preference", "choice", "strength"),
    [(2.0, "B", 1.0), (1, "A", 0.0), (1.5, "tie", 0.5), (0, "tie", 0.5), ("1.25", "A", 0.25)],
)
def test_annotations_weigh_the_second_output(preference: object, choice: str, strength: float) -> None:
    document = stored({"annotations.json": [PAIR | {"annotator": "j", "preference": preference}]})

    assert told(document["preferences"], "choice", "strength", "kind", "by") == [(choice, strength, "judge", "j")]


def test_annotations_without_a_preference_are_counted() -> None:
    files: Uploads = {"annotations.json": [PAIR | {"annotator": "j", "preference": None}, PAIR | {"preference": 2}]}

    assert len(stored(files)["preferences"]) == 1
    assert warned(files) == {"unparsed-verdict": 1}


def test_annotations_of_people_without_generators_name_the_columns() -> None:
    row: Fields = {
        "instruction": "Add.",
        "input": "1, 2",
        "output_1": "3",
        "output_2": "4",
        "preference": 1,
        "annotator_index": 3,
    }

    document = stored({"human.json": [row]})

    assert told(document["cases"], "prompt") == [("Add.\n\n1, 2",)]
    assert told(document["preferences"], "a", "b", "by", "kind") == [("output_1", "output_2", "3", "person")]
    assert warned({"human.json": [row]}) == {"systems-from-header": 2}


def test_annotations_beside_outputs_store_a_response_once() -> None:
    outputs = [{"instruction": "Name a bird.", "output": "Tit.", "generator": "elk", "datasplit": "eval"}]
    annotations = [PAIR | {"annotator": name, "preference": 2} for name in ("j", "k")]

    document = stored({"annotations.json": annotations, "model_outputs.json": outputs})

    assert told(document["responses"], "system", "text") == [("elk", "Tit."), ("owl", "Jay.")]
    assert told(document["preferences"], "by") == [("j",), ("k",)]


def test_outputs_that_are_null_are_no_responses() -> None:
    files: Uploads = {"o.json": [{"instruction": "Name a bird.", "output": None, "generator": "elk"}]}

    assert stored(files)["responses"] == []
    assert warned(files) == {"null-response": 1}
