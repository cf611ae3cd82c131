from __future__ import annotations

import json

import pytest

from tests.judging.specs.records.tools.uploads import Fields, Uploads, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free


def test_llmbar_results_of_both_orders_are_a_judges_preference() -> None:
    game: Fields = {
        "swap = False": {"winner": "2"},
        "swap = True": {"completion": ["Output (a)", "stop"], "winner": "1"},
    }
    row: Fields = {
        "input": "Name a bird.",
        "output_1": "Jay.",
        "output_2": "Cod.",
        "label": 1,
        "results": [["…", "stop"], game],
    }
    files: Uploads = {"Natural/evaluators/GPT-4/CoT/result.json": [row, row | {"input": "Name a tree.", "results": []}]}

    preferences = stored(files)["preferences"]

    assert told(preferences, "case", "choice", "by", "kind") == [
        ("1", "A", "", "gold"),
        ("1", "tie", "GPT-4 CoT", "judge"),
        ("2", "A", "", "gold"),
    ]
    assert warned(files) == {"systems-from-header": 2, "judge-from-file": 1, "order-flip": 1}


def test_llmbar_comes_as_its_folder_with_subsets_as_scenarios_and_without_what_is_computed_again() -> None:
    def pair(word: str, **more: object) -> Fields:
        return {"input": f"Name a {word}.", "output_1": f"{word} 1", "output_2": f"{word} 2", "label": 1, **more}

    game: Fields = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "1"}}
    statistics = json.dumps({"correct_both": "1 / 1", "correct_average": "100.0%", "kappa_average": 0.26})
    files: Uploads = {
        "LLMBar/Natural/dataset.json": [pair("bird")],
        "LLMBar/Natural/evaluators/GPT-4/CoT/result.json": [pair("bird", results=[game])],
        "LLMBar/Natural/evaluators/GPT-4/CoT/statistics.json": statistics,
        "LLMBar/Adversarial/Manual/dataset.json": [pair("tree")],
    }

    document = stored(files)

    assert [(case["prompt"], case["metadata"]) for case in document["cases"]] == [
        ("Name a bird.", {"scenario": "Natural"}),
        ("Name a tree.", {"scenario": "Manual"}),
    ]
    assert told(document["preferences"], "choice", "by") == [("A", ""), ("A", "GPT-4 CoT"), ("A", "")]


def test_llmbar_is_not_seen_where_labels_have_other_numbers() -> None:
    rows = [{"input": "Name a bird.", "output_1": "Jay.", "output_2": "Cod.", "label": label} for label in (0, 1, 2)]

    assert kinds({"mine.json": rows}) != ["llmbar"]


def test_vertex_pairs_are_preferences_of_a_judge_for_each_metric() -> None:
    row = {"prompt": "Name a bird.", "response": "Jay.", "baseline_model_response": "Cod."}
    said = {"tone/pairwise_choice": "CANDIDATE", "tone/explanation": "A bird.", "form/pairwise_choice": "BASELINE"}

    document = stored({"t.jsonl": [row | said, row | {"prompt": "Name a tree.", "tone/pairwise_choice": "ERROR"}]})

    assert told(document["preferences"], "case", "a", "b", "choice", "by", "kind", "reason") == [
        ("1", "baseline_model_response", "response", "B", "tone", "judge", "A bird."),
        ("1", "baseline_model_response", "response", "A", "form", "judge", None),
    ]


def test_auto_j_counts_from_zero() -> None:
    rows = [{"scenario": "s", "label": n, "prompt": f"Q{n}", "response 1": "x", "response 2": "y"} for n in (0, 1, 2)]

    assert told(stored({"testdata.jsonl": rows})["preferences"], "choice") == [("A",), ("B",), ("tie",)]


def _judged(*prompts: str, decisions: tuple[str | None, ...] = ("A>B", "B>A"), **more: object) -> Fields:
    games = [
        {"judgment": {"judge_model": "m", "prompt": prompt, "response": "…"}, "decision": decision}
        for prompt, decision in zip(prompts, decisions, strict=True)
    ]
    row: Fields = {
        "pair_id": "p",
        "question": "Name a bird.",
        "response_A": "Jay.",
        "response_B": "Cod.",
        "label": "A>B",
    }
    return row | {"response_model": "owl", "judge_name": "vanilla", "judgments": games} | more


@pytest.mark.parametrize(
    ("decisions", "choice", "flips"),
    [
        (("A>B", "B>A"), "A", {}),  # the first response in both orders
        (("A>B", "A>B"), "tie", {"order-flip": 1}),  # the one that was shown first
        (("A=B", "A>B"), "B", {}),
        ((None, "A>B"), "B", {}),  # the first game failed
    ],
)
def test_judgebench_shows_the_responses_the_other_way_round_in_the_second_game(
    decisions: tuple[str | None, ...], choice: str, flips: dict[str, int]
) -> None:
    row = _judged("", "", decisions=decisions)
    judgments = row["judgments"]
    assert isinstance(judgments, list)
    row["judgments"] = [game if game["decision"] else None for game in judgments]

    assert told(stored({"o.jsonl": [row]})["preferences"], "choice", "by") == [("A", ""), (choice, "vanilla (m)")]
    assert warned({"o.jsonl": [row]}) == flips


@pytest.mark.parametrize(("prompts", "choice"), [(("A: Jay.", "A: Jay."), "tie"), (("A: Jay.", "A: Cod."), "A")])
def test_judgebench_with_one_prompt_in_both_games_showed_one_order(prompts: tuple[str, str], choice: str) -> None:
    rows = stored({"o.jsonl": [_judged(*prompts)]})["preferences"]

    assert told(rows, "choice", "by") == [("A", ""), (choice, "vanilla (m)")]


def test_judgebench_takes_a_reply_in_place_of_the_prompt_for_no_order() -> None:
    row = _judged("", "", decisions=("A>B", "A>B"))
    row["judgments"] = [
        {"judgment": {"prompt": "[[A>B]]", "response": "\n[[A>B]]"}, "decision": "A>B"} for _ in range(2)
    ]

    assert told(stored({"o.jsonl": [row]})["preferences"], "choice", "by") == [("A", ""), ("tie", "vanilla")]


def test_judgebench_with_a_column_that_tells_cases_apart_stays_what_it_is() -> None:
    files: Uploads = {"o.jsonl": [_judged("", "", source="livebench-math", decisions=("B>A", "A>B"))]}

    document = stored(files, columns={"source": "scenario"})

    assert [(case["id"], case["metadata"]) for case in document["cases"]] == [("p", {"scenario": "livebench-math"})]
    assert told(document["preferences"], "choice", "by") == [("A", ""), ("B", "vanilla (m)")]


def test_judgebench_with_several_judges_keeps_one_gold_label() -> None:
    files: Uploads = {"a.jsonl": [_judged("", "")], "b.jsonl": [_judged("", "", judge_name="other")]}

    assert told(stored(files)["preferences"], "kind", "by") == [
        ("gold", ""),
        ("judge", "vanilla (m)"),
        ("judge", "other (m)"),
    ]


def test_judgebench_without_judgments_or_model() -> None:
    row = _judged("", "")
    pair: Fields = {name: row[name] for name in ("label", "response_B", "response_A", "question", "pair_id")}

    document = stored({"data.jsonl": [pair]})

    assert told(document["preferences"], "a", "b", "choice") == [("response_A", "response_B", "A")]


def test_judgebench_counts_decisions_that_could_not_be_read() -> None:
    files: Uploads = {"o.jsonl": [_judged("", "", decisions=(None, None))]}

    assert told(stored(files)["preferences"], "kind") == [("gold",)]
    assert warned(files) == {"unparsed-verdict": 1}


PANDA: Fields = {
    "idx": 3,
    "cmp_key": "elk-7b_owl-7b",
    "instruction": "Add.",
    "input": "",
    "response1": "3",
    "response2": "4",
}


def test_pandalm_results_join_the_test_set() -> None:
    results = [{"idx": 3, "gpt_result": "Tie", "gpt_reason": "Same.", "gpt_reference": "3"}]
    files: Uploads = {"gpt.json": results, "testset.json": [PANDA | {"annotator1": 1, "annotator2": 0}]}

    rows = stored(files)["preferences"]

    assert told(rows, "a", "b", "choice", "by", "kind", "reason") == [
        ("elk-7b", "owl-7b", "A", "annotator1", "person", None),
        ("elk-7b", "owl-7b", "tie", "annotator2", "person", None),
        ("elk-7b", "owl-7b", "tie", "gpt", "judge", "Same."),
    ]


def test_pandalm_results_alone_are_refused() -> None:
    reading = read({"gpt.json": [{"idx": 3, "gpt_result": "1", "gpt_reason": "Better."}]})

    assert reading.collected is None


def test_pandalm_without_names_of_systems() -> None:
    row: Fields = {name: PANDA[name] for name in ("instruction", "response1", "response2")} | {"annotator1": 2}

    assert told(stored({"t.json": [row]})["preferences"], "a", "choice") == [("response1", "B")]


def test_helpsteer3_has_people_by_their_place() -> None:
    row: Fields = {"domain": "code", "language": "python", "context": [{"role": "user", "content": "Sort a list."}]}
    row |= {"response1": "sorted(x)", "response2": "x", "overall_preference": -2}
    people = [{"score": -3, "reasoning": "Right.", "feedback1": "f"}, {"score": 0, "reasoning": "Same."}]
    files: Uploads = {"preference.jsonl": [row | {"individual_preference": people}, row | {"overall_preference": None}]}

    document = stored(files)

    assert told(document["cases"], "prompt", "metadata") == [("Sort a list.", {"domain": "code", "lang": "python"})]
    assert told(document["preferences"], "choice", "kind", "by", "strength", "reason") == [
        ("A", "gold", "", 2.0, None),
        ("A", "person", "annotator 1", 3.0, "Right."),
        ("tie", "person", "annotator 2", 0.0, "Same."),
    ]
    assert warned(files) == {"systems-from-header": 2, "raters-by-place": 2, "row-left-out": 1}


def test_helpsteer2_preferences() -> None:
    row: Fields = {"split": "train", "prompt": "Boil an egg?", "response_1": "7 minutes.", "response_2": "No."}
    row |= {"preference_strength": 1, "preference_elaboration": "Shorter.", "preference_statement": "2 is better"}

    assert told(stored({"p.jsonl": [row]})["preferences"], "choice", "strength", "reason", "kind") == [
        ("B", 1.0, "Shorter.", "gold")
    ]


def test_shp_label_one_is_the_first() -> None:
    row: Fields = {
        "post_id": "z",
        "domain": "d",
        "history": "Why?",
        "human_ref_A": "So.",
        "human_ref_B": "No.",
        "labels": 1,
    }
    row |= {"c_root_id_A": "c1", "c_root_id_B": "c2", "score_A": 5, "score_B": 2, "score_ratio": 2.5}

    document = stored({"shp.jsonl": [row]})

    assert told(document["responses"], "text", "metadata") == [
        ("So.", {"c_root_id": "c1", "score": 5}),
        ("No.", {"c_root_id": "c2", "score": 2}),
    ]
    assert told(document["preferences"], "case", "choice", "kind") == [("z", "A", "gold")]


def test_safe_rlhf_has_two_preferences() -> None:
    row: Fields = {"prompt": "How?", "response_0": "So.", "response_1": "No.", "is_response_0_safe": False}
    row |= {"better_response_id": 0, "safer_response_id": 1, "response_0_source": "owl", "response_1_source": "elk"}

    document = stored({"train.jsonl": [row]})

    assert told(document["preferences"], "a", "b", "choice", "criterion") == [
        ("owl", "elk", "A", None),
        ("owl", "elk", "B", "safer"),
    ]
    assert document["responses"][0]["metadata"] == {"is_response_safe": False}


USER: Fields = {"role": "user", "content": "Name a bird."}


def _reply(text: str) -> Fields:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Name a bird.", "chosen": "Jay.", "rejected": "Cod."},
        {"instruction": "Name a bird.", "input": "", "chosen": "Jay.", "rejected": "Cod."},
        {"chosen": [USER, _reply("Jay.")], "rejected": [USER, _reply("Cod.")]},
        {"prompt": [USER], "chosen": [_reply("Jay.")], "rejected": [_reply("Cod.")]},
        {"prompt": "Name a bird.", "chosen": [USER, _reply("Jay.")], "rejected": [USER, _reply("Cod.")]},
        {
            "chosen": "\n\nHuman: Name a bird.\n\nAssistant: Jay.",
            "rejected": "\n\nHuman: Name a bird.\n\nAssistant: Cod.",
        },
        {"prompt": "\n\nHuman: Name a bird.\n\nAssistant:", "chosen": " Jay.", "rejected": " Cod."},
    ],
)
def test_chosen_and_rejected_in_all_forms(row: Fields) -> None:
    document = stored({"pairs.jsonl": [row]})

    assert told(document["cases"], "prompt") == [("Name a bird.",)]
    assert [(side["system"], side["text"].strip()) for side in document["responses"]] == [
        ("chosen", "Jay."),
        ("rejected", "Cod."),
    ]
    assert told(document["preferences"], "choice", "kind") == [("A", "gold")]


def test_chosen_and_rejected_with_scores_and_details_of_each() -> None:
    row: Fields = {
        "source": "s",
        "prompt": "Name a bird.",
        "prompt_id": "p1",
        "score_chosen": 9.0,
        "score_rejected": 2.0,
    }
    row |= {"chosen": [USER, _reply("Jay.")], "rejected": [USER, _reply("Cod.")], "messages": [USER, _reply("Jay.")]}
    row |= {"chosen-model": "owl", "rejected-model": "elk", "chosen_tokens": 3}

    document = stored({"binarized.jsonl": [row]})

    assert told(document["cases"], "id", "metadata") == [("p1", {"source": "s"})]
    assert told(document["responses"], "system", "metadata") == [("owl", {"tokens": 3}), ("elk", None)]
    assert told(document["scores"], "system", "grader", "value", "scale") == [
        ("owl", "score", 9.0, [None, None]),
        ("elk", "score", 2.0, [None, None]),
    ]


def test_rewardbench_2_has_several_rejected_ones() -> None:
    row: Fields = {
        "id": "7",
        "prompt": "Name a bird.",
        "chosen": ["Jay."],
        "rejected": ["Cod.", "Eel.", "Elm."],
        "subset": "Focus",
    }
    row |= {"num_correct": 1, "num_incorrect": 3, "total_completions": 4, "models": ["owl", "elk", "elk", "yak"]}

    document = stored({"rb2.jsonl": [row]})

    assert told(document["responses"], "system", "attempt", "text") == [
        ("owl", 0, "Jay."),
        ("elk", 0, "Cod."),
        ("elk", 1, "Eel."),
        ("yak", 0, "Elm."),
    ]
    assert told(document["preferences"], "a", "b", "choice", "attempts") == [
        ("owl", "elk", "A", None),
        ("owl", "elk", "A", [0, 1]),
        ("owl", "yak", "A", None),
    ]


def test_pairs_with_a_system_text_have_a_system_turn() -> None:
    row: Fields = {"system": "Be brief.", "question": "Name a bird.", "chosen": "Jay.", "rejected": "Cod."}

    assert stored({"orca.jsonl": [row]})["cases"][0]["messages"] == [
        {"role": "system", "text": "Be brief."},
        {"role": "user", "text": "Name a bird."},
    ]


def test_rows_without_one_of_both_are_left_out() -> None:
    row: Fields = {"prompt": "Name a bird.", "chosen": "Jay.", "rejected": "Cod."}
    files: Uploads = {"pairs.jsonl": [row, row | {"chosen": None}, row | {"prompt": ""}]}

    assert len(stored(files)["preferences"]) == 1
    assert warned(files)["row-left-out"] == 2


def test_pairs_that_name_one_system_alone_are_refused() -> None:
    row = {"prompt": "Name a bird.", "chosen": "Jay.", "rejected": "Cod.", "chosen_model": "owl"}

    assert read({"pairs.jsonl": [row]}).collected is None


def test_sets_whose_rows_all_lack_a_response_are_refused() -> None:
    assert read({"dataset.json": [{"input": "Name a bird.", "output_2": "Cod.", "label": 1}]}).collected is None


def test_results_beside_chosen_and_rejected_are_a_reward_models_preferences_by_subset() -> None:
    def row(number: int, result: float) -> Fields:
        texts = {"prompt": f"Q{number}?", "chosen": f"good {number}", "rejected": f"bad {number}"}
        models = {"chosen_model": "elk", "rejected_model": "owl"}
        return {"id": number, "subset": "refusals", "model": "rm", **texts, **models, "results": result}

    document = stored({"rb.jsonl": [row(1, 1), row(2, 0), row(3, 0.5)]})

    assert told(document["preferences"], "case", "choice", "by", "kind") == [
        ("1", "A", "", "gold"),
        ("1", "A", "rm", "judge"),
        ("2", "A", "", "gold"),
        ("2", "B", "rm", "judge"),
        ("3", "A", "", "gold"),
        ("3", "tie", "rm", "judge"),
    ]
    assert [case["metadata"] for case in document["cases"]] == [{"scenario": "refusals"}] * 3
