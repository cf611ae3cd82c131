"""What stands inside a row: objects whose entries are columns, lists of responses, options side by side, turns."""

from __future__ import annotations

import json

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import Document, case, lines, read, reading, refused, response

UNKNOWN = [None, None]


def score(system: str, grader: str, value: float, case: str = "1") -> Document:
    return {"case": case, "system": system, "attempt": 0, "grader": grader, "value": value, "scale": UNKNOWN}


def test_reads_takes_each_entry_of_a_list_of_responses_as_a_row() -> None:
    answers = [{"answer": "Elbe.", "model": "oak", "via": "web"}, {"answer": "Oder.", "model": "ash", "via": "api"}]

    document = read(lines({"prompt": "Which river?", "answers": answers, "turns": 1}), "t.jsonl")

    assert document["cases"] == [case("1", "Which river?")]
    assert document["responses"] == [
        response("oak", "Elbe.", metadata={"via": "web", "turns": 1}),
        response("ash", "Oder.", metadata={"via": "api", "turns": 1}),
    ]


def test_reads_keeps_a_field_of_the_row_that_its_responses_have_too() -> None:
    responses = [{"model": "oak", "response": "Elbe.", "score": 7}]

    document = read(lines({"id": 4, "prompt": "Which river?", "model": "judge-9", "responses": responses}), "t.jsonl")

    assert document["responses"] == [response("oak", "Elbe.", "4", metadata={"model of the row": "judge-9"})]
    assert document["scores"] == [score("oak", "score", 7.0, "4")]


def test_reads_takes_an_object_of_texts_as_the_responses_of_systems() -> None:
    document = read(lines({"prompt": "Which?", "responses": {"ours-7b": "Elbe.", "gpt-3.5": "Oder."}}), "t.jsonl")

    assert document["responses"] == [response("ours-7b", "Elbe."), response("gpt-3.5", "Oder.")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", lines({"input": "Q", "output": "A", "scores": {"Aptness": 0.5, "Closeness": 1}})),
        ("t.csv", "input,output,scores.Aptness,scores.Closeness\nQ,A,0.5,1\n"),
    ],
)
def test_reads_takes_an_object_of_numbers_as_scores_by_their_names(name: str, text: str) -> None:
    assert read(text, name)["scores"] == [score("t", "Aptness", 0.5), score("t", "Closeness", 1.0)]


def test_reads_takes_the_parts_of_an_object_that_asks() -> None:
    choices = [{"text": "fire", "label": "A"}, {"text": "ice", "label": "B"}]
    question = {"stem": "Which is cold?", "choices": choices}

    document = read(lines({"id": "m1", "question": question, "answerKey": "B"}), "t.jsonl")

    assert document["cases"] == [case("m1", "Which is cold?", "ice", **{"question.choices": choices})]


def test_reads_takes_the_answers_of_a_question_by_their_numbers() -> None:
    text = lines({"question": {"id": "q7", "full_text": "Why?"}, "answer_0": "So.", "answer_1": "Thus."})

    document = read(text, "t.jsonl")

    assert document["cases"] == [case("q7", "Why?")]
    assert document["responses"] == [response("answer_0", "So.", "q7"), response("answer_1", "Thus.", "q7")]


def test_reads_takes_three_or_more_numbered_columns_as_choices() -> None:
    numbered = read("question,answer_0,answer_1,answer_2,label\nWhich?,x,y,z,1\n")
    lettered = read("question,option_a,option_b,option_c,answer\nWhich?,x,y,z,b\n")

    assert (numbered["cases"], numbered.get("responses")) == ([case("1", "Which?", "y", choices=["x", "y", "z"])], None)
    assert (lettered["cases"], lettered.get("responses")) == ([case("1", "Which?", "y", choices=["x", "y", "z"])], None)


def test_reads_takes_the_prefix_of_a_form_for_people_off() -> None:
    header = "HITId,annotator,Input.question,Input.response_a,Input.response_b,Answer.preference"

    document = read(f"{header}\nh1,w1,Why?,So.,Thus.,B\n")

    assert document["preferences"] == [
        {"case": "1", "a": "response_a", "b": "response_b", "choice": "B", "by": "w1", "kind": "person"}
    ]


def test_reads_takes_the_best_of_scored_targets_as_the_reference() -> None:
    document = read(lines({"input": "1 + 1?", "target_scores": {"2": 1, "3": 0}}), "t.jsonl")

    assert document["cases"] == [case("1", "1 + 1?", "2", choices=["2", "3"])]


def test_reads_takes_turns_whatever_their_tool_calls_the_text() -> None:
    document = read(lines({"origin_prompt": [{"role": "HUMAN", "prompt": "Which?"}], "prediction": "A"}), "t.jsonl")

    assert [row["prompt"] for row in document["cases"]] == ["Which?"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            lines({"prompt": {"de": "Welcher?", "fr": "Lequel?"}, "response": "Elbe."}),
            [
                "t.jsonl: prompt holds objects. Which entry is the prompt? They have: de, fr. Say --map "
                "prompt=prompt.de."
            ],
        ),
        (
            lines(
                {"text": "Hi there", "role": "prompter", "parent_id": None},
                {"text": "Hello you", "role": "assistant", "parent_id": "m1"},
            ),
            [
                "t.jsonl: each row is one turn of a conversation (role), not a case. Bring one row for a conversation, "
                "with its turns as a list in a column messages."
            ],
        ),
    ],
)
def test_reads_asks_where_a_row_is_no_case_or_its_prompt_no_text(text: str, sentences: list[str]) -> None:
    assert refused(text, "t.jsonl") == sentences


@pytest.mark.parametrize(
    "reply",
    [
        [{"text": "Elbe.", "finish_reason": "stop"}],
        {"answer": "Elbe."},
    ],
)
def test_reads_takes_the_text_of_a_reply_that_is_an_object(reply: object) -> None:
    request = {"model": "oak", "messages": [{"role": "user", "content": "Which?"}]}

    document = read(lines({"request": request, "response": reply}), "t.jsonl")

    assert (document["cases"], document["responses"]) == ([case("1", "Which?")], [response("oak", "Elbe.")])


def test_reads_takes_all_that_the_system_of_a_record_answered() -> None:
    results = [{"question": "Which?", "answer": "Elbe."}, {"question": "Where?", "answer": "North."}]

    document = read(lines({"model": "oak", "temperature": 0, "results": results}), "t.jsonl")

    assert (document["cases"], document["responses"]) == (
        [case("1", "Which?"), case("2", "Where?")],
        [
            response("oak", "Elbe.", metadata={"temperature": 0}),
            response("oak", "North.", "2", metadata={"temperature": 0}),
        ],
    )


def test_reads_takes_answers_and_scores_by_the_name_of_the_model() -> None:
    row = {"id": "1", "prompt": "Which?"}
    by_model = {
        "gpt-4o": {"answer": "Elbe.", "scores": {"acc": 1}},
        "claude-3": {"answer": "Oder.", "scores": {"acc": 0}},
    }

    document = read(lines(row | {"results": by_model}), "t.jsonl")

    assert document["responses"] == [response("gpt-4o", "Elbe."), response("claude-3", "Oder.")]
    assert [(score["system"], score["grader"], score["value"]) for score in document["scores"]] == [
        ("gpt-4o", "acc", 1.0),
        ("claude-3", "acc", 0.0),
    ]
    by_name = {"ours": by_model["gpt-4o"], "theirs": by_model["claude-3"]}
    assert refused(lines(row | {"results": by_name}), "t.jsonl") == [
        "t.jsonl: results has answer in objects, which may be responses. Bring a row for each of them. To keep them as "
        "a detail, say --map detail=results."
    ]


def test_reads_takes_each_of_several_replies_as_an_attempt() -> None:
    document = read(lines({"prompt": "Which?", "outputs": [{"text": "Elbe."}, {"text": "Oder."}]}), "t.jsonl")

    assert document["responses"] == [response("t", "Elbe."), response("t", "Oder.", attempt=1)]


def test_reads_takes_a_list_of_named_values_as_scores() -> None:
    scores = [{"name": "quality", "value": 0.8, "source": "API"}]

    document = read(lines({"input": "Q", "output": "A", "scores": scores}), "t.jsonl")

    assert (document["scores"], document.get("labels")) == ([score("t", "quality", 0.8)], None)


def test_reads_takes_who_gave_a_label_from_its_object_and_none_that_was_discarded() -> None:
    given = [
        {"user_id": "u1", "value": 4, "status": "submitted"},
        {"user_id": "u2", "value": 2, "status": "discarded"},
    ]

    document = read(lines({"prompt": "Q", "response": "A", "quality": given}), "t.jsonl")

    assert [(row["rater"], row["label"]) for row in document["labels"]] == [("u1", "4")]


@pytest.mark.parametrize(
    ("header", "scale"),
    [("Score (0-10)", [0, 10]), ("Score [1 to 20]", [1, 20]), ("Score / 15", [0, 15]), ("Score (sur 20)", [0, 20])],
)
def test_reads_takes_the_scale_that_a_header_says(header: str, scale: list[float]) -> None:
    document = read(f"id;question;response;{header}\n1;Q;A;7,5\n")

    assert document["scores"] == [score("t", "Score", 7.5) | {"scale": scale}]


def test_reads_refuses_a_value_that_is_not_on_the_scale_of_its_header() -> None:
    assert refused("id,question,response,annotator,Rating (1-5)\n1,Q,A,ann,7\n") == [
        "t.csv, line 2, column 5: Rating (1-5): 7 is not on the scale of the header. "
        "Other rows come in with --leave-out-bad-rows."
    ]


def test_reads_takes_a_numbered_response_of_numbers_beside_written_ones() -> None:
    document = read("prompt,response_1,response_2,response_3\nTwo and one?,3.,It is four.,I do not know.\n")

    assert [(row["system"], row["text"]) for row in document["responses"]] == [
        ("response_1", "3."),
        ("response_2", "It is four."),
        ("response_3", "I do not know."),
    ]


def test_reads_takes_three_numbered_responses_as_those_of_three_systems() -> None:
    text = "prompt,response_1,response_2,response_3,best\nQ,Elbe.,Oder.,Rhine.,2\nR,Po.,Don.,Ob.,1\n"
    document = read(text, columns={"best": "detail"})

    assert refused(text)[0].startswith("t.csv: best may say which of the responses is the best or the worst.")
    assert [(row["system"], row["text"]) for row in document["responses"]] == [
        ("response_1", "Elbe."),
        ("response_2", "Oder."),
        ("response_3", "Rhine."),
        ("response_1", "Po."),
        ("response_2", "Don."),
        ("response_3", "Ob."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"question": {"0": "Q", "1": "R"}, "response": {"0": "A", "1": "B"}}',
        '{"schema": {"fields": [{"name": "index"}, {"name": "question"}, {"name": "response"}]},'
        ' "data": [{"question": "Q", "response": "A"}, {"question": "R", "response": "B"}]}',
    ],
)
def test_reads_takes_tables_of_pandas_by_column_and_with_a_schema(text: str) -> None:
    assert read(text, "t.json")["responses"] == [response("t", "A"), response("t", "B", "2")]


@pytest.mark.parametrize(
    ("name", "text", "sentences"),
    [
        (
            "t.jsonl",
            lines({"question": "Which?", "answer": 1, "zq7": ["x", "y"]}),
            [
                "t.jsonl: answer is a number. Does it count the entries of zq7? If so, say --map choices=zq7; if not, "
                "--map ignore=zq7."
            ],
        ),
        (
            "t.csv",
            "question_id,model_a,winner,judge\n81,oak,model_b,author_2\n82,oak,tie,author_2\n",
            [
                "t.csv: the values of winner name two responses, which the table does not have. Bring them beside "
                "it. If columns hold them, say --map response-a=COLUMN --map response-b=COLUMN."
            ],
        ),
        (
            "t.jsonl",
            lines({"messages": [{"role": "user", "zq7": "Which?"}, {"role": "assistant", "zq7": "That."}]}),
            [
                "t.jsonl, line 1: The case: message 1 has no content. Write a list of messages, each as "
                '{"role": "user", "content": "…"} with a text or a list of parts.'
            ],
        ),
    ],
)
def test_reads_asks_where_a_renamed_column_leaves_something_open(name: str, text: str, sentences: list[str]) -> None:
    assert refused(text, name) == sentences


def test_reads_takes_what_a_person_did_with_a_label_for_no_reference() -> None:
    document = read(
        lines({"text": "Kind reply.", "answer": "accept"}, {"text": "Late.", "answer": "ignore"}), "t.jsonl"
    )

    assert [row["references"] for row in document["cases"]] == [[], []]


def test_reads_counts_choices_by_lists_of_places_and_tells_equal_prompts_by_their_choices() -> None:
    text = lines(
        {"prompt": "Which one?", "options": ["ice", "fire"], "target": [1], "response": "B"},
        {"prompt": "Which one?", "options": ["oak", "elm", "ash"], "target": ["A", "C"], "response": "A"},
        {"prompt": "Which one?", "options": ["fire", "ice"], "target": ["fire"], "response": "A"},
    )

    document = read(text, "t.jsonl")

    assert document["cases"] == [
        case("1", "Which one?", "fire", options=["ice", "fire"]),
        case("2", "Which one?", "oak", "ash", options=["oak", "elm", "ash"]),
    ]
    assert document["responses"] == [
        response("t", "B"),
        response("t", "A", "2"),
        response("t", "A", attempt=1),
    ]


def test_reads_keeps_what_stands_beside_the_text_of_a_prompt() -> None:
    document = read(lines({"id": 1, "input": {"text": "Why?", "lang": "en", "note": None}, "output": "So."}), "t.jsonl")

    assert document["cases"] == [case("1", "Why?", input={"lang": "en"})]


def test_reads_takes_what_responses_are_made_from_as_the_prompt() -> None:
    article, other = (
        "The mill at the river was sold today to a friend.",
        "A boat sank near the old bridge today.",
    )
    text = lines(
        {"source": article, "system_id": "oak", "system_output": "A mill was sold.", "scores": {"fluency": 4}},
        {"source": article, "system_id": "elm", "system_output": "A friend.", "scores": {"fluency": 2}},
        {"source": other, "system_id": "oak", "system_output": "A boat sank.", "scores": {"fluency": 5}},
    )

    document = read(text, "t.jsonl")

    assert document["cases"] == [case("1", article), case("2", other)]
    assert document["responses"] == [
        response("oak", "A mill was sold."),
        response("elm", "A friend."),
        response("oak", "A boat sank.", "2"),
    ]
    assert document["scores"] == [
        score("oak", "fluency", 4.0),
        score("elm", "fluency", 2.0),
        score("oak", "fluency", 5.0, "2"),
    ]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"prompt": "Why?", "outputs": [["So.", "0.3"], ["Thus.", "0.1"]]},
            "t.jsonl: outputs holds lists in lists, which are no responses. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=outputs.",
        ),
        (
            {"prompt": "Why?", "results": [{"config": "k50", "outputs": ["So."]}]},
            "t.jsonl: results has outputs in objects, which may be responses. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=results.",
        ),
        (
            {"prompt": "Why?", "gen": {"oak": {"text": "So it goes."}, "elm": {"text": "It is so.", "score": 2}}},
            "t.jsonl: gen has text in objects, which may be responses. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=gen.",
        ),
        (
            {"prompt": "Why?", "response": "So.", "model": "oak", "ratings": [4, 5]},
            "t.jsonl: ratings holds several values for each response. "
            "If they are of people, say --map label=ratings; if not, --map detail=ratings.",
        ),
        (
            {"prompt": "Why?", "response": ["So.", "Thus."], "model": "oak", "graded_list": [True, False]},
            "t.jsonl: graded_list holds a value for each of the responses. "
            "If they are scores, say --map score=graded_list; if not, --map detail=graded_list.",
        ),
        (
            {
                "prompt": "Why?",
                "response": "So.",
                "model": "oak",
                "annotations": [{"fact": "It is so.", "holds": True}],
            },
            "t.jsonl: annotations holds objects that seem to say something of each response. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=annotations.",
        ),
        (
            {"prompt": "Why?", "best": {"llm_name": "oak", "answer": "So."}},
            "t.jsonl: best has answer in objects, which may be responses. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=best.",
        ),
        (
            {"prompt": "Why?", "response": "So.", "model": "elm", "best": {"llm_name": "oak", "answer": "So."}},
            "t.jsonl: best holds responses of other systems. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=best.",
        ),
        (
            {"prompt": "Why?", "response": "So.", "model": "oak", "judgments": [{"judge": "elm", "score": 4}]},
            "t.jsonl: judgments holds what several judges said of each response. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=judgments.",
        ),
        (
            {"prompt": "Why?", "completions": ["So.", "Thus."], "models": ["oak", "elm"]},
            "t.jsonl: models names the systems of the lists in completions. "
            "Bring a row for each of them. To keep them as a detail, say --map detail=models.",
        ),
        (
            {"id": 1, "text": ["One is here.", "Two is there."]},
            "t.jsonl: which columns hold responses? It has: id, text. Say it with --map response=COLUMN. If one holds "
            "what is asked, say --map prompt=COLUMN.",
        ),
    ],
)
def test_reads_asks_about_lists_that_no_rule_reads(row: Document, sentence: str) -> None:
    assert refused(lines(row), "t.jsonl") == [sentence]


@pytest.mark.parametrize(
    ("beside", "system"),
    [
        ({"parameters": {"model": "oak-7b", "method": "plain text"}}, "oak-7b"),
        ({"model": "oak-7b", "config": {"model": "elm"}}, "oak-7b"),
        ({"config": {"model": "oak-7b", "generator": "elm"}}, "t"),
        ({"judge": {"model": "oak-7b"}}, "t"),
    ],
)
def test_reads_takes_the_system_that_stands_beside_the_rows(beside: Document, system: str) -> None:
    document = read(json.dumps(beside | {"rows": [{"prompt": "Why?", "response": "So."}] * 2}), "t.json")

    assert document["systems"] == [system]
    assert ("system-from-file" in document["warnings"]) is (system == "t")


def test_reads_keeps_empty_lists_of_ratings_as_a_detail() -> None:
    document = read(lines({"prompt": "Why?", "response": "So.", "model": "oak", "ratings": []}), "t.jsonl")

    assert document["responses"] == [response("oak", "So.", metadata={"ratings": []})]


def test_reads_takes_what_each_annotator_of_a_list_says() -> None:
    given = [
        {"annotator": "ann", "helpfulness": 4, "safety": 5, "reason": "Clear."},
        {"annotator": "bo", "helpfulness": 3, "safety": 5},
    ]

    document = read(lines({"prompt": "Why?", "response": "So.", "model": "oak", "annotations": given}), "t.jsonl")

    said = [(row["rater"], row["criterion"], row["label"], row.get("reason", "")) for row in document["labels"]]
    assert said == [
        ("ann", "helpfulness", "4", "Clear."),
        ("ann", "safety", "5", "Clear."),
        ("bo", "helpfulness", "3", ""),
        ("bo", "safety", "5", ""),
    ]


def test_reads_takes_an_object_of_scores_by_system_for_their_scores() -> None:
    row = {"prompt": "Why?", "responses": {"oak": "So.", "elm": "Thus."}, "scores": {"oak": 4, "elm": 5}}

    assert read(lines(row), "t.jsonl")["scores"] == [score("oak", "score", 4.0), score("elm", "score", 5.0)]


def test_reads_takes_a_human_score_for_a_label() -> None:
    document = read("prompt,response,model,human_score,gpt4_score\nWhy?,So.,oak,2,4\n")

    assert [(row["rater"], row["label"]) for row in document["labels"]] == [("", "2")]
    assert document["scores"] == [score("oak", "gpt4_score", 4.0)]


def test_reads_names_objects_by_key_beside_the_list_that_it_reads() -> None:
    said_of = {"c1": {"ann": {"clear": 4}}, "c2": {"ann": {"clear": 2}}}
    document = {"cases": [{"id": "c1", "prompt": "Why?"}], "human": {"by": ["ann"], "labels": said_of}}

    collected = reading({"t.json": json.dumps(document)}).collected

    assert collected is not None
    assert collected.left_out() == [("list", "human.labels: objects by key beside a list are not read", 1)]


def test_reads_names_the_systems_of_a_pair_that_its_objects_name() -> None:
    row = {
        "prompt": "Why?",
        "response_a": {"model": "oak", "text": "So."},
        "response_b": {"model": "elm", "text": "Thus."},
    }

    assert read(lines(row), "t.jsonl")["responses"] == [response("oak", "So."), response("elm", "Thus.")]


def test_reads_takes_a_range_of_expected_scores_for_no_reference() -> None:
    row = {"prompt": "Why is it so?", "expected_marks": {"tone": 10, "depth": 9}}

    assert read(lines(row), "t.jsonl")["cases"] == [case("1", "Why is it so?", expected_marks={"tone": 10, "depth": 9})]


def test_reads_takes_the_messages_that_a_conversation_has_alone() -> None:
    turns = [{"role": "customer", "content": "Why?"}, {"role": "chatbot", "content": "So."}]

    assert read(lines({"conversation": {"messages": turns}}), "t.jsonl")["cases"] == [case("1", "Why?", "So.")]


def test_reads_takes_texts_of_json_in_records_for_what_systems_wrote() -> None:
    wrote = ['{"city": "Bern"}', '{"city": "Riga", "model": "T"}']
    pair = {"prompt": "Which city?", "response_a": wrote[0], "response_b": wrote[1], "model_a": "oak", "model_b": "elm"}

    single = read(lines({"prompt": "Which city?", "model": "oak", "response": wrote[0]}), "t.jsonl")

    assert single["responses"] == [response("oak", wrote[0])]
    assert read(lines(pair), "t.jsonl")["responses"] == [response("oak", wrote[0]), response("elm", wrote[1])]


def test_reads_takes_an_object_that_asks_and_answers_for_a_row() -> None:
    document = {"prompt": "Why?", "response": "So.", "model": "oak", "details": {"seed": 1}}

    assert read(json.dumps(document), "t.json")["responses"] == [
        response("oak", "So.", metadata={"details": {"seed": 1}})
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"response": {"gpt-4": "Elbe.", "vicuna-7b": "Oder."}},
        {"answer_gpt-4": "Elbe.", "answer_vicuna-7b": "Oder.", "answer_gpt-4_reason": "It flows."},
    ],
)
def test_reads_takes_the_names_of_models_behind_that_of_responses_for_systems(row: JsonDict) -> None:
    document = read(lines({"prompt": "Which?"} | row), "t.jsonl")

    assert document["responses"] == [response("gpt-4", "Elbe."), response("vicuna-7b", "Oder.")]


def test_reads_takes_lists_of_questions_without_a_document_for_turns() -> None:
    row = {"id": 7, "questions": ["Which river?", "And then?"], "outputs": ["Elbe.", "Oder."], "references": ["E", "O"]}

    document = read(lines(row), "t.jsonl")

    asked = [{"role": "user", "text": "Which river?"}, {"role": "user", "text": "And then?"}]
    assert [(row["messages"], row["references"]) for row in document["cases"]] == [(asked, ["E", "O"])]
    assert [turn["text"] for turn in document["responses"][0]["messages"]] == [
        *("Which river?", "Elbe.", "And then?", "Oder.")
    ]


def test_reads_takes_a_list_of_printed_sets_for_text() -> None:
    assert read(lines({"prompt": "Which sets?", "answer": "[{1, 2}, {3}]"}), "t.jsonl")["cases"] == [
        case("1", "Which sets?", "[{1, 2}, {3}]")
    ]


@pytest.mark.parametrize("asked", ["Which river is the longest?", "Which river {} is the longest?"])
def test_reads_takes_a_prompt_with_a_document_of_each_row_before_its_question(asked: str) -> None:
    rule = "Read the text with care, then answer the question below it in one word and in no more than one. "
    rows = [{"query": asked, "prompt": f"{rule * 2}{text} {asked}", "pred": text} for text in ("Elbe", "Oder")]

    assert [row["prompt"] for row in read(lines(*rows), "t.jsonl")["cases"]] == [row["prompt"] for row in rows]


@pytest.mark.parametrize("rows", [("None", "None"), ("null", None)])
def test_reads_takes_words_for_nothing_in_all_rows_for_no_responses(rows: list[str | None]) -> None:
    document = read(lines(*({"input": f"P{n}?", "output": text} for n, text in enumerate(rows))), "t.jsonl")

    assert ("responses" in document, document["warnings"]["null-response"]) == (False, 2)
    assert read(lines({"input": "P?", "output": "None"}, {"input": "Q?", "output": "Elbe."}), "t.jsonl")[
        "responses"
    ] == [response("t", "None"), response("t", "Elbe.", case="2")]


def test_reads_takes_a_conversation_beside_its_system_for_the_response_also_where_the_user_ends_it() -> None:
    turns = [("user", "Hi."), ("assistant", "Hello."), ("user", "Bye.")]
    row = {"id": "1", "transcript": [{"role": role, "content": text} for role, text in turns], "evaluated_model": "oak"}

    document = read(lines(row), "t.jsonl")

    assert [(row["system"], len(row["messages"])) for row in document["responses"]] == [("oak", 3)]
    assert "responses" not in read(lines({"id": "1", "transcript": row["transcript"]}), "t.jsonl")


def test_reads_refuses_turns_in_lists_that_do_not_say_who_speaks() -> None:
    row = {"instance_id": "i1", "instruction": "Mend it.", "history": [[{"source": "agent", "action": "edit"}]]}

    assert refused(lines(row), "t.jsonl") == [
        "t.jsonl, line 1: The turns in history do not say who speaks. Other rows come in with --leave-out-bad-rows."
    ]


def test_reads_takes_the_steps_of_an_agent_by_what_it_did_in_each() -> None:
    steps = [("Agent (Thought)", "I look."), ("Agent (Action)", "look()"), ("Environment", "A river.")]
    row: JsonDict = {"id": "1", "task_description": "Find the river.", "agent_name": "oak"}
    row |= {"conversation": [{"speaker": who, "text": text} for who, text in steps]}

    document = read(lines(row), "t.jsonl")

    assert [turn["role"] for turn in document["responses"][0]["messages"]] == ["assistant", "assistant", "tool"]
    assert (document["systems"], document["cases"][0]["prompt"]) == (["oak"], "Find the river.")


def test_reads_takes_turns_of_any_name_beside_a_prompt_and_a_system_for_the_response() -> None:
    turns = [{"role": role, "content": text} for role, text in (("user", "Mend it."), ("assistant", "I look."))]
    row = {
        "id": "1",
        "task": "Mend it.",
        "model": "oak",
        "structured_turns": [*turns, {"role": "user", "content": "?"}],
    }

    (said,) = read(lines(row), "t.jsonl")["responses"]

    assert (said["system"], len(said["messages"])) == ("oak", 3)


@pytest.mark.parametrize(
    "turns",
    [
        [{"rol": "usuario", "mensaje": "Oslo?"}, {"rol": "asistente", "mensaje": "In Norway."}],
        [{"role": "user", "message": "Oslo?"}, {"role": "bot", "message": "In Norway."}],
        [{"user": "Oslo?", "sys": "In Norway."}],
        [{"角色": "用户", "内容": "Oslo?"}, {"角色": "助手", "内容": "In Norway."}],
    ],
)
def test_reads_knows_turns_by_the_words_of_other_languages_and_tools(turns: list[JsonDict]) -> None:
    rows = [{"id": str(number), "conversation": turns, "model": "oak"} for number in (1, 2)]

    document = read(lines(*rows), "t.jsonl")

    assert document["cases"] == [case("1", "Oslo?"), case("2", "Oslo?")]
    assert document["responses"] == [response("oak", "In Norway."), response("oak", "In Norway.", "2")]


def test_reads_takes_passages_of_further_rows_without_a_response_for_those_of_the_case() -> None:
    text = "query_id,query,passage,response\nq1,Holes?,They are big.,Dense.\nq1,Holes?,They are black.,\n"

    document = read(text)

    assert document["cases"] == [case("q1", "Holes?") | {"context": ["They are big.", "They are black."]}]
    assert document["responses"] == [response("t", "Dense.", "q1")]


def test_reads_asks_whose_the_last_turns_are_that_a_score_is_of() -> None:
    turns = [{"role": "user", "content": "Who came?"}, {"role": "assistant", "content": "Ann came."}]
    text = lines({"messages": turns, "score": 4})

    assert refused(text, "t.jsonl") == [
        "t.jsonl: messages holds conversations that a system carried out. Which system was it? Say it with --system "
        "NAME. If the last turns are reference answers, say --map detail=score."
    ]
    assert read(text, "t.jsonl", system="oak")["scores"] == [score("oak", "score", 4.0)]
    assert read(text, "t.jsonl", columns={"score": "detail"})["cases"] == [case("1", "Who came?", "Ann came.", score=4)]


def test_rows_of_sessions_that_ask_several_things_are_asked_about() -> None:
    said = (("s1", "Hi there, who are you?"), ("s1", "And what do you do?"), ("s2", "Where is it?"), ("s2", "How far?"))
    rows = [{"session_id": key, "user_message": text, "bot_response": f"To {text}"} for key, text in said]
    of_two = [
        {"conversation_id": key, "prompt": f"Why {key}?", "response": f"So {name}.", "model": name}
        for key in ("c1", "c2")
        for name in ("oak", "elm")
    ]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: each row seems to be one turn of a conversation (session_id), not a case. Bring one row for a "
        "conversation, with its turns as a list in a column messages. To take each row for a case, say "
        "--map detail=session_id."
    ]
    assert len(read(lines(*rows), "t.jsonl", columns={"session_id": "detail"})["responses"]) == 4
    assert len(read(lines(*of_two), "t.jsonl")["responses"]) == 4  # two systems answer each
