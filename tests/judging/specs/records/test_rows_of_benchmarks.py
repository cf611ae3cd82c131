"""Rows as published benchmarks and their outputs have them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.judging.specs.records.test_tables import case, lines, read, reading, refused, response, said


def test_reads_takes_a_label_that_counts_answers_for_the_reference() -> None:
    row = {"question": "Who heals?", "context": "Ann is a nurse.", "ans0": "Ann", "ans1": "Bo", "ans2": "Both"}

    document = read(lines(row | {"label": 1}), "t.jsonl")

    assert document == {
        "cases": [case("1", "Who heals?", "Bo", choices=["Ann", "Bo", "Both"]) | {"context": ["Ann is a nurse."]}],
        "warnings": {"answer-index": 1, "ids-made": 1},
    }


def test_reads_takes_a_letter_in_a_column_correct_for_the_reference() -> None:
    row = {"question": "Who heals?", "options": ["A) Ann", "B) Bo"], "correct": "B"}

    assert read(lines(row), "t.jsonl") == {
        "cases": [case("1", "Who heals?", "B) Bo", options=["A) Ann", "B) Bo"])],
        "warnings": {"answer-index": 1, "ids-made": 1},
    }


def test_reads_says_which_passages_of_a_prompt_are_left_out() -> None:
    first = {"question": "Who?", "context": "p", "model": "oak", "response": "It was Ann."}
    rows = lines(first, first | {"context": "q", "model": "elm"})

    collected = reading({"t.jsonl": rows}).collected

    assert collected is not None
    assert collected.left_out() == [("detail", "context: another row of the case has another one", 1)]


def test_reads_leaves_out_marks_in_a_text() -> None:
    rows = lines({"text": "Bern is in Switzerland.", "label": [[0, 4, "PLACE"]]}, {"text": "Yes.", "label": []})

    collected = reading({"t.jsonl": rows}).collected

    assert collected is not None
    assert (len(collected.labels), collected.left_out()) == (
        0,
        [("label", "marks in a text are no label of all of it", 1)],
    )


def test_reads_takes_the_columns_of_tasks_in_code() -> None:
    first = {"task_id": "t/0", "prompt": "def size():", "entry_point": "size", "canonical_solution": "return 1"}
    second = {"task_id": "t/1", "prompt": "def name():", "entry_point": "name", "canonical_solution": "return 2"}

    document = read(lines(first | {"test": "assert size() == 1"}, second | {"test": "assert name()"}), "t.jsonl")

    assert document["cases"] == [
        case("t/0", "def size():", "return 1", entry_point="size", test="assert size() == 1"),
        case("t/1", "def name():", "return 2", entry_point="name", test="assert name()"),
    ]


def test_reads_takes_questions_about_other_passages_for_other_cases() -> None:
    first = {"question": "Who?", "passage": "Ann wrote it.", "answer": "Ann"}
    second = {"question": "Who?", "passage": "Bo drew it.", "answer": "Bo"}

    document = read(lines(first, second, first), "t.jsonl")

    assert document["cases"] == [
        case("1", "Who?", "Ann") | {"context": ["Ann wrote it."]},
        case("2", "Who?", "Bo") | {"context": ["Bo drew it."]},
    ]


@pytest.mark.parametrize(
    "shown",
    [("video", "a.mp4", "b.mp4"), ("image_url", "http://x.org/1", "http://x.org/2"), ("Audio ID", 1, 2)],
)
def test_reads_takes_one_question_about_other_media_for_other_cases(shown: tuple[str, object, object]) -> None:
    name, *media = shown
    rows = [{name: medium, "question": "What is it?", "answer": text} for medium, text in zip(media, "AB", strict=True)]
    answered = [
        {name: row[name], "question": row["question"], "response": row["answer"], "model": "oak"} for row in rows
    ]

    assert read(lines(*rows), "t.jsonl")["cases"] == [
        case(str(number), "What is it?", text, **{name: medium})
        for number, (medium, text) in enumerate(zip(media, "AB", strict=True), start=1)
    ]
    document = read(lines(*answered), "t.jsonl")
    assert [row["metadata"] for row in document["cases"]] == [{name: medium} for medium in media]
    assert document["responses"] == [response("oak", "A"), response("oak", "B", "2")]


def test_reads_takes_one_question_to_a_system_about_other_passages_for_other_cases() -> None:
    first = {"question": "Who?", "passage": "Ann wrote it.", "response": "It was Ann.", "model": "oak"}
    rows = [first, first | {"passage": "Bo drew it.", "response": "It was Bo."}, first | {"model": "elm"}]

    document = read(lines(*rows), "t.jsonl")
    retrieved = [{name.replace("passage", "retrieved_contexts"): value for name, value in row.items()} for row in rows]

    assert [(row["case"], row["system"]) for row in document["responses"]] == [("1", "oak"), ("2", "oak"), ("1", "elm")]
    assert len(read(lines(*retrieved), "t.jsonl")["cases"]) == 1


def test_reads_takes_the_label_for_the_reference_where_the_answer_is_empty() -> None:
    row = {"question": "Which is a bird?", "options": ["(A)elk", "(B)heron"], "label": "B", "answer": None}

    document = read(lines(row), "t.jsonl")

    assert document == {
        "cases": [case("1", "Which is a bird?", "(B)heron", options=["(A)elk", "(B)heron"])],
        "warnings": {"answer-index": 1, "ids-made": 1},
    }


def test_reads_takes_several_labels_of_choices_for_the_references() -> None:
    options = ["(A)elk", "(B)heron", "(C)wren"]
    one = {"question": "Which is a bird that wades?", "options": options, "label": "B", "answer": None}
    several = {"question": "Which are birds?", "options": options, "label": ["B", "C"], "answer": None}

    document = read(lines(one, several), "t.jsonl")

    assert document == {
        "cases": [
            case("1", "Which is a bird that wades?", "(B)heron", options=options),
            case("2", "Which are birds?", "(B)heron", "(C)wren", options=options),
        ],
        "warnings": {"answer-index": 2, "ids-made": 2},
    }


def test_reads_takes_no_digits_of_several_people_for_a_response() -> None:
    first = {"uid": 7, "question": "Who runs?", "ans0": "Ann", "ans1": "Bo", "ans2": "Cy", "label": 1}

    document = read(lines(first | {"resps": "1,1,2"}), "t.jsonl")

    assert document["cases"] == [case("7", "Who runs?", "Bo", choices=["Ann", "Bo", "Cy"], resps="1,1,2")]
    assert "responses" not in document


def test_reads_takes_a_column_that_tells_rows_apart_for_the_prompt_and_not_a_template() -> None:
    rows = [
        {"query": "Is it red?", "prompt": "Read {} and answer {}", "gt": "yes", "gpt-4o_pred": "no"},
        {"query": "Is it old?", "prompt": "Read {} and answer {}", "gt": "no", "gpt-4o_pred": "no"},
    ]

    document = read(lines(*rows), "t.jsonl")

    assert document["cases"] == [
        case("1", "Is it red?", "yes") | {"metadata": {"prompt": "Read {} and answer {}"}},
        case("2", "Is it old?", "no") | {"metadata": {"prompt": "Read {} and answer {}"}},
    ]
    assert document["responses"] == [response("gpt-4o", "no"), response("gpt-4o", "no", "2")]


def test_reads_puts_a_text_that_is_the_same_for_all_rows_above_the_prompts() -> None:
    rows = [{"prompt": "Answer briefly.", "input": "Is it red?"}, {"prompt": "Answer briefly.", "input": "Is it old?"}]

    document = read(lines(*rows), "t.jsonl")

    assert [row["prompt"] for row in document["cases"]] == [
        "Answer briefly.\n\nIs it red?",
        "Answer briefly.\n\nIs it old?",
    ]


def test_reads_takes_columns_named_after_a_system_for_scores_of_its_responses() -> None:
    row = {"prompt": "What is 2 + 2?", "acme/gpt-4o": True, "gemma-2": False}
    row |= {"acme/gpt-4o_response": "It is 4.", "gemma-2_response": "It is 5.", "gemma-2_accuracy": 0.5}

    document = read(lines(row), "t.jsonl")

    assert document["responses"] == [response("acme/gpt-4o", "It is 4."), response("gemma-2", "It is 5.")]
    assert [(row["system"], row["grader"], row["value"]) for row in document["scores"]] == [
        ("acme/gpt-4o", "score", 1.0),
        ("gemma-2", "score", 0.0),
        ("gemma-2", "accuracy", 0.5),
    ]


def test_reads_counts_scores_and_keeps_labels_beside_several_responses() -> None:
    row = {"prompt": "Say hello.", "gpt-4o": "Hello there.", "gemma-2": "Good day.", "score": 3, "label": "short"}

    collected = reading({"t.jsonl": lines(row)}, columns={"score": "score", "label": "label"}).collected

    assert collected is not None
    assert collected.left_out() == [("score", "the row has several responses", 1)]
    assert [(row["label"], row.get("system")) for row in collected.document()["labels"]] == [("short", None)]


def test_reads_puts_the_turns_of_several_lists_in_one_list() -> None:
    rows = [
        {"id": "a", "question": [[{"role": "user", "content": "Add 1 and 2."}]]},
        {
            "id": "b",
            "question": [[{"role": "user", "content": "Open it."}], [{"role": "user", "content": "Close it."}]],
        },
    ]

    document = read(lines(*rows), "t.jsonl")

    assert (document["cases"][0]["prompt"], [turn["text"] for turn in document["cases"][1]["messages"]]) == (
        "Add 1 and 2.",
        ["Open it.", "Close it."],
    )


def test_reads_takes_a_list_of_responses_for_attempts() -> None:
    document = read(lines({"id": "a", "prompt": "Name a bird.", "responses": ["A heron.", "A stork."]}), "t.jsonl")

    assert document["responses"] == [response("t", "A heron.", "a"), response("t", "A stork.", "a", 1)]


def test_reads_takes_numbered_annotations_for_labels_of_people() -> None:
    text = "id,prompt,completion,annotation_1,annotation_2\na,Hi?,Hello there.,polite,rude\n"

    document = read(text)

    assert [(row["rater"], row["label"]) for row in document["labels"]] == [
        ("annotation_1", "polite"),
        ("annotation_2", "rude"),
    ]


def test_reads_takes_the_list_in_an_object_for_passages() -> None:
    row = {"query": "What flies?", "context": '{"sentences": ["Herons fly.", "Elks walk."]}', "response": "Herons do."}

    document = read(lines(row), "t.jsonl")

    assert document["cases"][0]["context"] == ["Herons fly.", "Elks walk."]


_CALLS = [
    {"role": "system", "content": "You book trips."},
    {"role": "user", "content": "A trip, please."},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "book", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "booked"},
    {"role": "assistant", "content": "It is booked."},
    {"role": "user", "content": "Bye."},
]


def test_reads_asks_which_system_carried_out_conversations() -> None:
    text = lines({"task_id": 1, "traj": _CALLS, "reward": 1.0})

    assert refused(text, "t.jsonl") == [
        "t.jsonl: traj holds conversations that a system carried out. Which system was it? Say it with --system NAME."
    ]


def test_reads_takes_conversations_that_a_system_carried_out_for_its_responses() -> None:
    document = read(lines({"task_id": 1, "traj": _CALLS, "reward": 1.0}), "t.jsonl", system="oak")

    assert [turn["role"] for turn in document["cases"][0]["messages"]] == ["system", "user", "user"]
    assert len(document["responses"][0]["messages"]) == 6
    assert [(row["system"], row["grader"], row["value"]) for row in document["scores"]] == [("oak", "reward", 1.0)]


_ALIKE = {
    "question": "How many legs has a heron?",
    "small": {"is_correct": True, "solution": "A heron has 2 legs."},
    "large": {"is_correct": False, "solution": "A heron has 3 legs."},
}


def test_reads_asks_about_columns_whose_objects_are_alike() -> None:
    assert refused(lines(_ALIKE), "t.jsonl") == [
        "t.jsonl: small, large hold objects with the same entries. Which one is the response of a system? Say "
        '--map "responses of=small.solution" --map "responses of=large.solution"; if none is, '
        "--map detail=small --map detail=large."
    ]


def test_reads_names_systems_after_objects_whose_entries_are_responses() -> None:
    columns = {"small.solution": "responses of", "large.solution": "responses of"}

    document = read(lines(_ALIKE), "t.jsonl", columns=columns)

    assert document["responses"] == [response("small", "A heron has 2 legs."), response("large", "A heron has 3 legs.")]


def test_reads_asks_about_short_predictions_whose_systems_are_not_known() -> None:
    row = {"question": "Who heals?", "ans0": "Ann Lee", "ans1": "Bo Roe", "ans2": "Both", "label": 1}

    (sentence,) = refused(lines(*[row | {"oak_pred": "Ann Lee", "elm_pred": "Both"}] * 3), "t.jsonl")

    assert sentence.startswith("t.jsonl: which columns hold responses? It has: question, ans0, ans1, ans2, label, oak")


def test_reads_asks_about_one_column_of_predictions_whose_system_is_not_known() -> None:
    text = lines({"query": "Sum up.", "gt": "It rains.", "oak-16k_pred": "It rained a lot."})

    (sentence,) = refused(text, "t.jsonl")

    assert sentence.startswith("t.jsonl: which columns hold responses? It has: query, gt, oak-16k_pred.")


def test_reads_takes_a_column_whose_values_name_a_side_for_the_preference() -> None:
    header = "task_id,worker_id,prompt,completion_1,completion_2,Which is better?,Explanation\n"

    document = read(header + "a,w1,Name a bird.,A heron.,An elk.,Completion 1,An elk is none\n")

    assert [(row["choice"], row["by"], row["reason"]) for row in document["preferences"]] == [
        ("A", "w1", "An elk is none")
    ]


def test_reads_takes_the_question_in_a_printed_object_for_the_prompt() -> None:
    document = read('id,input,output,model\na,"{""question"": ""What flies?""}",Herons do.,oak\n')

    assert [row["prompt"] for row in document["cases"]] == ["What flies?"]


def test_reads_takes_calls_of_functions_for_turns_of_the_assistant() -> None:
    said = [("human", "Is it wet?"), ("function_call", "{}"), ("observation", "rain"), ("gpt", "It is.")]

    document = read(lines({"conversations": [{"from": role, "value": text} for role, text in said]}), "t.jsonl")

    assert [turn["role"] for turn in document["cases"][0]["messages"]] == ["user", "assistant", "tool"]
    assert document["cases"][0]["references"] == ["It is."]


def test_reads_takes_no_answer_of_another_form_for_that_of_a_system() -> None:
    document = read(lines({"question": "What is 2 + 2?", "answer": "4", "raw_answer": "It is 2 + 2 = 4."}), "t.jsonl")

    assert document["cases"] == [case("1", "What is 2 + 2?", "4", raw_answer="It is 2 + 2 = 4.")]


def test_reads_takes_the_label_of_endings_for_the_reference() -> None:
    document = read(
        lines({"ctx": "A heron spreads its wings. It", "endings": ["reads.", "flies."], "label": "1"}), "t.jsonl"
    )

    assert document["cases"] == [case("1", "A heron spreads its wings. It", "flies.", endings=["reads.", "flies."])]


def test_reads_takes_what_user_and_bot_said_for_turns() -> None:
    history = [{"user": "Who is taller?", "bot": "Ann."}, {"user": "And who is the tallest?", "bot": "Bo."}]

    document = read(lines({"id": 1, "history": history}), "t.jsonl")

    turns = [
        {"role": "user", "text": "Who is taller?"},
        {"role": "assistant", "text": "Ann."},
        {"role": "user", "text": "And who is the tallest?"},
    ]
    assert document == {
        "cases": [{"id": "1", "messages": turns, "references": ["Bo."], "metadata": {}}],
        "warnings": {"last-turn-as-reference": 1},
    }


def test_reads_takes_the_body_of_a_word_problem_for_the_context_of_its_question() -> None:
    row = {"ID": "w1", "Body": "A pack costs 7. It is 2 cheaper today.", "Question": "What does it cost?", "Answer": 5}

    document = read(lines(row), "t.jsonl")

    assert document == {
        "cases": [case("w1", "What does it cost?", "5") | {"context": ["A pack costs 7. It is 2 cheaper today."]}],
        "warnings": {},
    }


ASKED = {"id": 4, "question": "Is it rude?", "options": ["yes", "no"]}, {"id": 5, "question": "Is it kind?"}


def test_reads_takes_a_table_of_ids_and_references_for_the_key_of_another() -> None:
    key = lines({"id": 4, "ground_truth": 1}, {"id": 5, "ground_truth": "Very."})

    collected = reading({"a_key.jsonl": key, "b_questions.jsonl": lines(*ASKED)}).collected

    assert collected is not None
    assert (collected.document()["cases"], {group.kind: group.count for group in collected.warnings()}) == (
        [case("4", "Is it rude?", "no", options=["yes", "no"]), case("5", "Is it kind?", "Very.")],
        {"answer-index": 1},
    )


def test_reads_asks_whose_answers_are_that_count_choices() -> None:
    files = {"answers.json": '{"4": {"answer": 1}, "5": {"answer": 0}}', "questions.jsonl": lines(*ASKED)}

    assert said(reading(files)) == [
        "answers.json: answer may be what a system chose, or the right choice of the case. Say which: --system NAME, "
        "or --map reference=answer."
    ]


def test_reads_takes_an_empty_object_for_no_reference() -> None:
    document = read(lines({"question": "Who?", "answers": {}}), "t.jsonl")

    assert document == {"cases": [case("1", "Who?")], "warnings": {"ids-made": 1, "no-reference": 1}}


PAIRS = (
    "question,response_a,response_b,{header}\nWho?,It was Ann.,It was Bo.,{first}\nWhen?,In May.,In June.,{second}\n"
)


@pytest.mark.parametrize(("first", "second"), [("[[A>>B]]", "[[A=B]]"), ("[[A]]", "tie")])
def test_reads_takes_what_judges_write_of_pairs_for_preferences(first: str, second: str) -> None:
    document = read(PAIRS.format(header="judgment", first=first, second=second))

    found = [(row["case"], row["choice"]) for row in document["preferences"]]
    assert found == [("1", "A"), ("2", "tie")]


def test_reads_takes_the_name_of_a_system_for_the_winner_of_a_table_of_votes() -> None:
    header = "question,model_a,response_a,model_b,response_b,winner"

    document = read(f"{header}\nWho?,oak,It was Ann.,elm,It was Bo.,elm\nWhen?,oak,In May.,elm,In June.,tie\n")

    assert [row["prompt"] for row in document["cases"]] == ["Who?", "When?"]
    found = [(row["case"], row["a"], row["b"], row["choice"]) for row in document["preferences"]]
    assert found == [("1", "oak", "elm", "B"), ("2", "oak", "elm", "tie")]


SCORED = "question,model,response,score\nWho?,oak,Ann.,{}\nWhen?,oak,In May.,{}\n"


def test_reads_takes_the_scale_that_scores_say() -> None:
    document = read(SCORED.format("4/5", "5 out of 5"))

    found = [(row["case"], row["grader"], row["value"], row["scale"]) for row in document["scores"]]
    assert found == [("1", "score", 4.0, [0.0, 5.0]), ("2", "score", 5.0, [0.0, 5.0])]


@pytest.mark.parametrize(("first", "second"), [("4/5", "6/5"), ("4/5", "7")])
def test_reads_refuses_a_score_above_the_scale_of_its_column(first: str, second: str) -> None:
    assert refused(SCORED.format(first, second)) == [
        f"t.csv, line 3, column 4: score: {second} is not on the scale of its column. "
        "Other rows come in with --leave-out-bad-rows."
    ]


def test_reads_takes_scores_on_several_scales_for_no_scores() -> None:
    table = SCORED.format("4/5", "7/10")

    document = read(table, columns={"score": "detail"})

    assert refused(table)[0].startswith("t.csv: score may be labels of people or scores, ")
    assert "scores" not in document
    assert [row["metadata"] for row in document["responses"]] == [{"score": "4/5"}, {"score": "7/10"}]


def test_reads_takes_fractions_for_labels_where_no_score_is_meant() -> None:
    document = read("question,response,rater,label\nWho?,Ann.,r1,3/4\nWhen?,In May.,r1,5/8\n")

    assert [(row["case"], row["label"]) for row in document["labels"]] == [("1", "3/4"), ("2", "5/8")]


def test_reads_keeps_the_details_of_a_row_without_a_label_with_its_response() -> None:
    document = read("question,model,response,rater,rating,lamp\nWho?,oak,Ann.,r1,good,on\nWhen?,oak,In May.,r1,,off\n")

    assert [row.get("metadata") for row in document["responses"]] == [None, {"lamp": "off"}]
    assert [(row["case"], row["label"]) for row in document["labels"]] == [("1", "good")]


def test_reads_asks_which_of_two_columns_with_one_header_is_meant() -> None:
    text = "id,question,answer,answer\n1,Who?,Ann,Bo\n"

    assert refused(text) == [
        "t.csv: two columns have the header answer, and their cells differ. Say --map "
        'reference=answer or --map "reference=answer (2)".'
    ]
    chosen = {"answer (2)": "reference", "answer": "ignore"}
    assert read(text, columns=chosen)["cases"] == [case("1", "Who?", "Bo")]
    assert read(text.replace("Ann,Bo", "Ann,Ann"))["cases"] == [case("1", "Who?", "Ann", **{"answer (2)": "Ann"})]


def test_reads_leaves_out_a_row_that_repeats_the_header() -> None:
    collected = reading({"t.csv": "id,question\n1,Who?\nid,question\n2,When?\n"}).collected

    assert collected is not None
    assert collected.document()["cases"] == [case("1", "Who?"), case("2", "When?")]
    assert collected.left_out() == [("row", "it repeats the header", 1)]


def test_reads_asks_about_ratings_below_the_header_of_responses() -> None:
    text = "question,GPT-4,Llama,GPT-4,Llama\nWho wrote it?,It was Ann.,It was Bo.,5,1\n"
    text += "Who sold it?,It was Cy.,It was Di.,4,2\n"
    chosen = {"GPT-4": "responses of", "Llama": "responses of"}

    asked, rated = refused(text), refused(text, columns=chosen)
    document = read(text, columns=chosen | {"GPT-4 (2)": "detail", "Llama (2)": "detail"})

    assert [line.partition(". Say")[0] for line in asked] == [
        f"t.csv: two columns have the header {name}, and their cells differ" for name in ("GPT-4", "Llama")
    ]
    assert rated[0].startswith("t.csv: GPT-4 (2), Llama (2) may be labels of people or scores")
    assert document["responses"][:2] == [response("GPT-4", "It was Ann."), response("Llama", "It was Bo.")]


QUESTIONS = ("Which river is it?", "Which town is it?", "Which hill is it?")


def test_reads_takes_answers_with_ids_of_their_own_by_their_prompts() -> None:
    questions = lines(*({"id": number, "prompt": text} for number, text in enumerate(QUESTIONS, 1)))
    answers = lines(
        *({"id": f"v2-{number}", "prompt": text, "output": "Ur."} for number, text in enumerate(QUESTIONS, 1))
    )

    collected = reading({"q.jsonl": questions, "oak.jsonl": answers}).collected

    assert collected is not None
    document = collected.document()
    assert document["cases"] == [case(str(number), text) for number, text in enumerate(QUESTIONS, 1)]
    assert document["responses"] == [
        response("oak", "Ur.", str(number), metadata={"id": f"v2-{number}"}) for number in (1, 2, 3)
    ]


def test_reads_takes_the_texts_of_a_file_of_answers_for_no_questions() -> None:
    asked, answered = (
        lines(*({"question_id": number, "text": text, "kind": "map"} for number, text in enumerate(texts, 1)))
        for texts in (QUESTIONS, ("It is the Elbe.", "It is Ur.", "It is Rip."))
    )

    alone = reading({"answers_oak.jsonl": answered}).collected
    together = reading({"q.jsonl": asked, "answers_oak.jsonl": answered}, system="oak").collected

    assert alone is not None
    assert together is not None
    assert alone.document()["cases"] == []
    assert together.document()["cases"] == [case(str(n), text, kind="map") for n, text in enumerate(QUESTIONS, 1)]
    assert [row["text"] for row in together.document()["responses"]] == ["It is the Elbe.", "It is Ur.", "It is Rip."]


def test_reads_takes_the_word_ref_for_a_reference() -> None:
    document = read("prompt,ref_answer,model,answer\nIs it?,yes,oak,It is.\n")

    assert document["cases"] == [case("1", "Is it?", "yes")]
    assert document["responses"] == [response("oak", "It is.")]


def test_reads_takes_left_and_right_for_the_sides_of_a_pair() -> None:
    row = {"result": "right", "prompt": "Which?", "left_answer": "Ur.", "right_answer": "The Elbe."}

    document = read(lines(row | {"left_model": "oak", "right_model": "elm"}), "t.jsonl")

    assert document["responses"] == [response("oak", "Ur."), response("elm", "The Elbe.")]
    assert document["preferences"] == [{"case": "1", "a": "oak", "b": "elm", "choice": "B", "by": "", "kind": "gold"}]


def test_reads_takes_the_metrics_of_each_evaluator_for_scores() -> None:
    row = {
        "inputs.query": "Which?",
        "inputs.response": "Ur.",
        "inputs.ground_truth": "The Elbe.",
        "outputs.relevance.relevance": 4,
        "outputs.relevance.relevance_threshold": 3,
        "outputs.f1.f1_score": 0.5,
        "outputs.f1.f1_score_score": 0.5,  # the same once more, and whether it is above the threshold
        "outputs.f1.f1_score_passed": True,
        "outputs.f1.f1_score_properties": {"precision_score": 0.25},
    }

    document = read(lines(row), "oak.jsonl")

    assert document["cases"] == [case("1", "Which?", "The Elbe.")]
    assert [(score["grader"], score["value"]) for score in document["scores"]] == [
        ("relevance", 4.0),
        ("f1_score", 0.5),
    ]


@pytest.mark.parametrize("grade", ["CORRECT", "5 - Excellent", "2 (poor)"])
def test_reads_takes_a_grade_in_words_for_a_label(grade: str) -> None:
    document = read(f"prompt,answer,response,model,grade\nWhich?,Elbe,The Elbe.,oak,{grade}\n")

    assert document["labels"] == [
        {"case": "1", "rater": "", "label": grade, "criterion": "", "system": "oak", "attempt": 0}
    ]


def test_reads_takes_letters_under_models_beside_choices_for_responses() -> None:
    document = read("id,question,A,B,C,answer,gpt-4,llama-3\n1,Which?,Elbe,Oder,Ems,A,A,C\n2,Where?,Ur,Po,Om,B,B,B\n")

    assert [(row["case"], row["system"], row["text"]) for row in document["responses"]] == [
        ("1", "gpt-4", "A"),
        ("1", "llama-3", "C"),
        ("2", "gpt-4", "B"),
        ("2", "llama-3", "B"),
    ]


def test_reads_leaves_out_the_score_of_several_responses() -> None:
    collected = reading(
        {"oak.jsonl": lines({"id": 1, "prompt": "Which?", "output_list": ["Ur.", "Elbe."], "pass@1": 0.5})}
    )

    assert collected.collected is not None
    assert [row["text"] for row in collected.collected.document()["responses"]] == ["Ur.", "Elbe."]
    assert collected.collected.document()["scores"] == []
    assert collected.collected.left_out() == [("score", "pass@1: the row has several responses", 1)]


def test_reads_asks_whose_responses_are_where_metadata_names_several_systems() -> None:
    rows = [{"input": "Which?", "output": f"{name}.", "metadata": {"model": name}} for name in ("oak", "elm")]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: metadata names several systems: elm, oak. If they responded, say --map system=metadata.model; if "
        "not, --map detail=metadata."
    ]
    document = read(lines(*rows), "t.jsonl", columns={"metadata.model": "system"})
    assert [row["system"] for row in document["responses"]] == ["oak", "elm"]


def test_reads_asks_whose_the_choices_in_several_columns_are() -> None:
    table = "id,prompt,response_a,response_b,Anna,Chen\n1,Which?,Ur.,The Elbe.,A,tie\n2,Who?,Ann.,Bo.,B,A\n"

    assert refused(table) == [
        "t.csv: which columns hold labels? It has: id, prompt, response_a, response_b, Anna, Chen. Say it with --map "
        'preference=COLUMN, or --map "labels of=Anna" --map "labels of=Chen". If none does, say '
        "--map detail=Anna --map detail=Chen."
    ]
    said_of_each = read(table, columns={"Anna": "labels of", "Chen": "labels of"})["preferences"]
    assert [(row["case"], row["by"], row["choice"]) for row in said_of_each] == [
        ("1", "Anna", "A"),
        ("1", "Chen", "tie"),
        ("2", "Anna", "B"),
        ("2", "Chen", "A"),
    ]


def test_reads_takes_a_model_that_evaluates_for_the_judge_and_asks_about_other_names() -> None:
    text = "question,GPT-4 answer,GPT-4 accuracy (1-5),Evaluator\nWhich?,The Elbe.,4,{}\n"

    document = read(text.format("gpt-4o"))

    assert [(row["judge"], row["value"], row["scale"]) for row in document["verdicts"]] == [("gpt-4o", 4.0, [1.0, 5.0])]
    assert "scores" not in document
    assert refused(text.format("Ann")) == [
        "t.csv: Evaluator may be who labelled or what judged. Say --map rater=Evaluator or --map judge=Evaluator."
    ]


def test_reads_takes_two_models_beside_what_is_better_for_a_pair() -> None:
    document = read("prompt,GPT-4,Llama,better\nWhich?,The Elbe.,It is Ur.,Llama\nWho?,It is Ann.,It is Bo.,tie\n")

    assert [(row["a"], row["b"], row["choice"]) for row in document["preferences"]] == [
        ("GPT-4", "Llama", "B"),
        ("GPT-4", "Llama", "tie"),
    ]


def test_reads_asks_what_an_answer_is_of_which_a_column_says_whether_it_is_correct() -> None:
    assert refused("question,answer,correct?\nWhich?,The Elbe.,yes\n") == [
        "t.csv: answer could be the response or the reference, beside correct?. Say --map response=answer or "
        "--map reference=answer or --map ignore=answer."
    ]


RATED = "id,question,response,rating\n1,Which?,The Elbe.,{}\n2,Who?,It is Ann.,5\n"


def test_reads_takes_files_with_the_same_responses_for_those_of_people() -> None:
    files = {"ann.csv": RATED.format(4), "bo.csv": RATED.format(3)}

    assert said(reading(files)) == [
        "ann.csv: bo.csv has the same responses: the files seem to be of people, and name no system. Say it with "
        "--system NAME.",
        "bo.csv: ann.csv has the same responses: the files seem to be of people, and name no system. Say it with "
        "--system NAME.",
    ]
    collected = reading(files, system="oak").collected
    assert collected is not None
    labels = [(row["system"], row["case"], row["rater"], row["label"]) for row in collected.document()["labels"]]
    assert labels == [
        ("oak", "1", "ann", "4"),
        ("oak", "2", "ann", "5"),
        ("oak", "1", "bo", "3"),
        ("oak", "2", "bo", "5"),
    ]
    assert {group.kind: group.count for group in collected.warnings()}["rater-from-file"] == 2


def test_reads_takes_the_question_and_not_the_judges_prompt_that_quotes_it() -> None:
    row = {"input": "Which river is it?", "output_cand": "The Elbe it is.", "generator_cand": "oak"}
    other = {"input": "Which town is it?", "output_cand": "It is Ur.", "generator_cand": "oak"}
    rows = [each | {"prompt": f"Judge. Query: {each['input']} Output: {each['output_cand']}"} for each in (row, other)]

    document = read(lines(*rows), "t.jsonl")

    assert [kept["prompt"] for kept in document["cases"]] == ["Which river is it?", "Which town is it?"]
    assert [(kept["system"], kept["text"]) for kept in document["responses"]] == [
        ("oak", "The Elbe it is."),
        ("oak", "It is Ur."),
    ]


def test_reads_asks_about_a_column_with_a_model_in_its_name() -> None:
    assert refused("prompt,qa_vicuna_7b,flag\nWhich?,The Elbe it is.,Good\nWho?,It is Ann.,Good\n") == [
        "t.csv: which columns hold responses? It has: prompt, qa_vicuna_7b, flag. Say it with --map response=COLUMN, "
        'or --map "responses of=qa_vicuna_7b" --map "responses of=flag". If none does, say '
        "--map detail=qa_vicuna_7b --map detail=flag."
    ]


def test_reads_takes_lists_as_numpy_and_pandas_print_them() -> None:
    printed = "{'text': array(['Elbe', 'the Elbe'], dtype=object), 'answer_start': array([3, 5])}"
    table = f"""question,contexts,answers\nWhich river?,"['one passage' ""it's another""]","{printed}"\n"""
    turns = "[{'role': 'user', 'content': 'Who (if any)?'}\n {'role': 'assistant', 'content': 'Ann.'}]"

    assert read(table)["cases"] == [
        case("1", "Which river?", "Elbe", "the Elbe") | {"context": ["one passage", "it's another"]}
    ]
    assert read(f'id,messages\n7,"{turns}"\n')["cases"] == [case("7", "Who (if any)?", "Ann.")]


def test_reads_takes_turns_and_replies_as_gemini_keeps_them() -> None:
    request = {"contents": [{"role": "user", "parts": [{"text": "Which river?"}]}]}
    reply = {"candidates": [{"content": {"role": "model", "parts": [{"text": "The Elbe."}]}}]}

    document = read(lines({"key": "k1", "request": request, "response": reply}), "oak.jsonl")

    assert document["cases"] == [case("k1", "Which river?")]
    assert document["responses"] == [response("oak", "The Elbe.", "k1")]


@pytest.mark.parametrize(
    ("asked", "right", "said"),
    [
        ("ques", "final_answer", "prediction"),
        ("questions", "true_answers", "predicted_answers"),
        ("pergunta", "esperado", "resposta"),
        ("question", "golden_text", "generated_text"),
    ],
)
def test_reads_knows_other_names_of_question_reference_and_response(asked: str, right: str, said: str) -> None:
    document = read(lines({asked: "Which river is it?", right: "The Elbe.", said: "It is the Oder."}), "oak.jsonl")

    assert document["cases"] == [case("1", "Which river is it?", "The Elbe.")]
    assert document["responses"] == [response("oak", "It is the Oder.")]


def test_reads_takes_two_entries_of_an_object_of_responses_for_a_pair() -> None:
    row = {"id": "1", "prompt": "Which?", "responses": {"A": "The Elbe it is.", "B": "The Oder it is."}, "winner": "A"}

    document = read(lines(row), "t.jsonl")

    assert [(row["a"], row["choice"]) for row in document["preferences"]] == [("A", "A")]
    named = {"gold_label" if name == "winner" else name: value for name, value in row.items()}
    assert '"labels of=gold_label"' in refused(lines(named), "t.jsonl")[0]


def test_reads_takes_no_word_that_all_rows_have_for_a_reference() -> None:
    rows = [{"query": f"Which river is {n}?", "gold_kind": "anchor"} for n in (1, 2)]

    assert [row["references"] for row in read(lines(*rows), "t.jsonl")["cases"]] == [[], []]


def test_reads_takes_the_prompt_of_a_test_case_for_that_of_the_system() -> None:
    rows = [{"user_input": "Tell it.", "test_case_prompt": f"The key is {word}."} for word in ("elm", "oak")]

    assert [row["messages"][0]["text"] for row in read(lines(*rows), "t.jsonl")["cases"]] == [
        *("The key is elm.", "The key is oak.")
    ]


def test_reads_takes_none_of_several_expected_things_for_the_reference() -> None:
    rows = [{"query": f"Is {n} even?", "expected_thinking": n, "expected_category": "maths"} for n in ("one", "two")]

    assert [row["references"] for row in read(lines(*rows), "t.jsonl")["cases"]] == [[], []]


@pytest.mark.parametrize(
    ("row", "prompt", "reference"),
    [
        ({"src": "It rained all day long.", "tgt": "Rain."}, "It rained all day long.", "Rain."),
        ({"id": 1, "article": "It rained all day long.", "reference": "Rain."}, "It rained all day long.", "Rain."),
        ({"inputs": "Sum it up.", "targets": "Rain."}, "Sum it up.", "Rain."),
        ({"problemid": 1, "unit": "m", "problem_text": "How far?", "solution": "9"}, "How far?", "9"),
        ({"question": "Which?", "answer": 2, "a0": "elk", "a1": "tern", "a2": "oak"}, "Which?", "oak"),
        ({"id": 1, "question": "Which?", "label": "B", "alternatives": ["elk", "tern"]}, "Which?", "tern"),
        ({"question": "Which?", "answer": "b", "a": "elk", "b": "tern", "c": "oak"}, "Which?", "tern"),
    ],
)
def test_reads_knows_the_names_of_published_sets(row: Mapping[str, object], prompt: str, reference: str) -> None:
    assert [(case["id"], case["prompt"], case["references"]) for case in read(lines(row), "t.jsonl")["cases"]] == [
        ("1", prompt, [reference])
    ]
