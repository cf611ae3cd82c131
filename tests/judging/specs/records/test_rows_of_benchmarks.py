"""Rows as published benchmarks and their outputs have them."""

from __future__ import annotations

from tests.judging.specs.records.test_tables import case, lines, read, reading, refused, response


def test_reads_takes_a_label_that_counts_answers_for_the_reference() -> None:
    row = {"question": "Who heals?", "context": "Ann is a nurse.", "ans0": "Ann", "ans1": "Bo", "ans2": "Both"}

    document = read(lines(row | {"label": 1}), "t.jsonl")

    assert document == {
        "cases": [case("1", "Who heals?", "Bo", choices=["Ann", "Bo", "Both"]) | {"context": ["Ann is a nurse."]}],
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


def test_reads_takes_the_label_for_the_reference_where_the_answer_is_empty() -> None:
    row = {"question": "Which is a bird?", "options": ["(A)elk", "(B)heron"], "label": "B", "answer": None}

    document = read(lines(row), "t.jsonl")

    assert document == {
        "cases": [case("1", "Which is a bird?", "(B)heron", options=["(A)elk", "(B)heron"])],
        "warnings": {"answer-index": 1, "ids-made": 1},
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

    collected = reading({"t.jsonl": lines(row)}, columns={"score": "score"}).collected

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
        "t.jsonl: small, large hold objects with the same entries. Which one is the response of a system? Say it with "
        '--map "responses of=small.solution" --map "responses of=large.solution"; if none is, say --map detail=small.'
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
