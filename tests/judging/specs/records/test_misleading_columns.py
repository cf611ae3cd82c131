"""Columns that look like something else: prices like prompts, thresholds like references, groups like ids, figures like
labels."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import case, lines, read, reading, refused, response

ASKED: JsonDict = {"question": "Which river?", "context": "The Elbe runs through Dresden."}


@pytest.mark.parametrize(
    ("row", "reference", "text"),
    [
        (
            {"src": "It rained all day.", "mt": "Es regnete.", "ref": "Es hat geregnet."},
            "Es hat geregnet.",
            "Es regnete.",
        ),
        (
            {"model_input": "It rained all day.", "model_output_text": "Yes.", "target_answer": "No.", "model": "t"},
            "No.",
            "Yes.",
        ),
        (
            {"prompt": "It rained all day.", "response": "Rain.", "reference_summary": "It was wet."},
            "It was wet.",
            "Rain.",
        ),
    ],
)
def test_reads_knows_the_names_of_translations_and_summaries(row: JsonDict, reference: str, text: str) -> None:
    document = read(lines(row), "t.jsonl")

    assert (document["cases"], document["responses"]) == (
        [case("1", "It rained all day.", reference)],
        [response("t", text)],
    )


@pytest.mark.parametrize(("name", "value"), [("score", 0.5), ("rating", 4), ("bleu", 31.2)])
def test_reads_asks_which_text_a_number_is_about(name: str, value: float) -> None:
    rows = [{"prompt": f"It {said} all day.", "gold": "Rain.", "made": f"It {said}.", name: value} for said in "ab"]

    assert refused(lines(*rows), "t.jsonl") == [
        f"t.jsonl: which columns hold responses? It has: prompt, gold, made, {name}. Say it with --map response="
        'COLUMN, or --map "responses of=made". If none does, say --map detail=made.'
    ]
    kept = read(lines(*rows), "t.jsonl", columns={"made": "detail", name: "detail"})
    assert [row["metadata"] for row in kept["cases"]] == [{"made": f"It {said}.", name: value} for said in "ab"]


@pytest.mark.parametrize("name", ["gen_resp", "opus_mt_translation", "bot_summary"])
def test_reads_asks_about_a_text_that_a_system_may_have_made(name: str) -> None:
    row = {"prompt": "It rained all day.", "reference": "Rain.", name: "It was wet."}

    assert refused(lines(row), "t.jsonl") == [
        f"t.jsonl: which columns hold responses? It has: prompt, reference, {name}. Say it with --map response=COLUMN, "
        f'or --map "responses of={name}". If none does, say --map detail={name}.'
    ]
    assert read(lines(row), "t.jsonl", columns={name: "response"})["responses"] == [response("t", "It was wet.")]


def test_reads_takes_mt_for_the_systems_where_it_names_them() -> None:
    rows = [
        {"src": f"It rained all day {n}.", "mt": name, "translation": f"{name}: Regen {n}."}
        for name in "ab"
        for n in (1, 2)
    ]

    document = read(lines(*rows), "t.jsonl")

    assert [(row["system"], row["text"]) for row in document["responses"]] == [
        ("a", "a: Regen 1."),
        ("a", "a: Regen 2."),
        ("b", "b: Regen 1."),
        ("b", "b: Regen 2."),
    ]
    row = {"src": "It rained all day.", "ref": "Es regnete.", "translation": "Regen."}
    assert read(lines(row), "t.jsonl")["responses"] == [response("t", "Regen.")]


def test_reads_takes_no_number_for_the_context_of_a_question() -> None:
    row = {"prompt": "Which river?", "article": 1, "reference": "The Elbe."}

    assert read(lines(row), "t.jsonl")["cases"] == [case("1", "Which river?", "The Elbe.", article=1)]


def test_reads_takes_no_prices_for_what_is_asked() -> None:
    prices = {"oak": {"input": 0.8, "output": 4}, "elm": {"input": 0.8, "output": 2.5}}

    assert "cases" not in read(json.dumps(prices), "t.json")


def test_reads_takes_the_id_of_each_question_before_that_of_a_group() -> None:
    rows = [{"task_id": "t1", "uid": f"u{n}", "question": f"Is {n} even?", "answer": "yes"} for n in (2, 4)]

    assert [row["id"] for row in read(lines(*rows), "t.jsonl")["cases"]] == ["u2", "u4"]


def test_reads_takes_the_id_that_a_database_wrote_as_an_object() -> None:
    row = {"_id": {"$oid": "5f54"}, "question": "Which river?", "answer": "The Elbe."}

    assert read(lines(row), "t.jsonl")["cases"] == [case("5f54", "Which river?", "The Elbe.")]


@pytest.mark.parametrize("letter", ["B", "b)", "(B)", "B."])
def test_reads_takes_a_letter_with_its_bracket_for_that_of_a_choice(letter: str) -> None:
    row = {"question": "Which river?", "choices": ["Oder", "Elbe"], "answer": letter}

    assert [row["references"] for row in read(lines(row), "t.jsonl")["cases"]] == [["Elbe"]]


@pytest.mark.parametrize(
    ("expected", "references"),
    [
        ({"Elbe": 1, "Oder": 0}, ["Elbe"]),
        ({"tone_min": 0.9, "is_off_topic": False}, ['{"tone_min": 0.9, "is_off_topic": false}']),
        ({"score_max": 0.4, "tone_max": 0.3}, ['{"score_max": 0.4, "tone_max": 0.3}']),
    ],
)
def test_reads_takes_choices_with_scores_for_references_and_no_limits(
    expected: JsonDict, references: list[str]
) -> None:
    document = read(lines({"question": "Which river?", "expected": expected}), "t.jsonl")

    assert [row["references"] for row in document["cases"]] == [references]


def test_reads_asks_which_entry_of_objects_side_by_side_is_the_response() -> None:
    said = {"plan": "Say it.", "utterance": "It is the Elbe river."}
    row = ASKED | {"oak": said, "elm": said}

    assert refused(lines(row), "t.jsonl", columns={"oak": "responses of", "elm": "detail"}) == [
        "t.jsonl: oak holds objects. Which entry is the response? They have: plan, utterance. Say --map "
        '"responses of=oak.utterance".'
    ]


def test_reads_says_that_scores_need_ids_to_be_those_of_a_system_elsewhere() -> None:
    rows = [{"question": f"Is {n} even?", "comet_score": n / 10} for n in (2, 4)]
    message = "t.jsonl: comet_score seems to say how good responses are, which the table does not have. Bring them "
    keep = "To keep it as a detail, say --map detail=comet_score."

    assert refused(lines(*rows), "t.jsonl", system="oak") == [f"{message}beside it. {keep}"]
    assert refused(lines(*({"id": n} | row for n, row in enumerate(rows))), "t.jsonl") == [
        f"{message}beside it, or name their system with --system NAME. {keep}"
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"split": "val", "auroc": 0.9, "ci95": 0.1},
        {"model": "oak", "language": "de", "bleu": 30.1},
        {"chrf": 0.5, "ter": 0.2},
        {"dataset": "River bench", "accuracy": 0.5},
    ],
)
def test_reads_says_that_figures_have_no_cases(row: Mapping[str, object]) -> None:
    (said,) = refused(lines(row, row), "t.jsonl")

    assert said.startswith("t.jsonl: it has figures (")
    assert said.endswith(
        "), and neither cases nor texts. Bring the responses and scores of each case, from which these figures were "
        "computed."
    )


@pytest.mark.parametrize("name", ["retrieved_page_1", "rounds_used", "number_of_hops"])
def test_reads_keeps_numbers_that_count(name: str) -> None:
    rows = [ASKED | {"response": f"It is {n}.", name: n} for n in (1, 2)]

    assert [row["metadata"] for row in read(lines(*rows), "t.jsonl")["responses"]] == [{name: 1}, {name: 2}]


def test_reads_takes_a_reciprocal_rank_for_a_score() -> None:
    document = read(lines(ASKED | {"response": "The Elbe.", "reciprocal_rank": 0.5}), "t.jsonl")

    assert [(row["grader"], row["value"], row["scale"]) for row in document["scores"]] == [
        ("reciprocal_rank", 0.5, [0.0, 1.0])
    ]


def test_reads_takes_the_scale_of_a_metric_that_is_named_by_its_path() -> None:
    row = ASKED | {"response": "The Elbe.", "text_metrics": {"bleu": 0.5}}

    document = read(lines(row), "t.jsonl", columns={"text_metrics.bleu": "score"})

    assert [(row["grader"], row["scale"]) for row in document["scores"]] == [("text_metrics.bleu", [0.0, 1.0])]


def test_reads_takes_what_a_user_and_the_assistant_said_for_question_and_answer() -> None:
    row = {"user": "Which river runs there?", "assistant": "The Elbe."}

    assert read(lines(row), "t.jsonl")["cases"] == [case("1", "Which river runs there?", "The Elbe.")]
    assert read(lines(row | {"model": "oak"}), "t.jsonl")["responses"] == [response("oak", "The Elbe.")]


def test_reads_takes_texts_under_a_user_for_no_labels() -> None:
    said = [{"user": "Which river runs through Dresden, and which one through Basel?", "reply": "The Elbe.", "id": 1}]

    assert refused(lines({"id": 1, "said": said}), "t.jsonl") == [
        "t.jsonl: which columns hold responses? It has: id, said. Say it with --map response=COLUMN. If one holds what "
        "is asked, say --map prompt=COLUMN."
    ]


@pytest.mark.parametrize(
    ("asked", "said"), [("Frage", "Antwort"), ("question", "réponse"), ("pregunta", "respuesta"), ("問題", "回答")]
)
def test_reads_asks_whose_the_answer_is_in_other_languages(asked: str, said: str) -> None:
    row = {asked.replace("問題", "質問"): "Which river?", said: "The Elbe."}

    assert refused(lines(row), "t.jsonl") == [
        f"t.jsonl: {said} may be what a system wrote, or the reference. Say --map response={said} or --map "
        f"reference={said}."
    ]
    assert read(lines(row), "t.jsonl", columns={said: "reference"})["cases"] == [case("1", "Which river?", "The Elbe.")]
    assert read(lines(row), "t.jsonl", system="oak")["responses"] == [response("oak", "The Elbe.")]


def test_reads_takes_a_document_that_asks_and_responds_for_a_row() -> None:
    rounds = [{"round": 1, "input_prompt": "Which?", "output_response": "None."}]
    document = {
        "test_id": "a",
        "prompt": "Which river?",
        "response": "The Elbe.",
        "model": "oak",
        "conversation": rounds,
    }

    assert read(json.dumps(document | {"plan": {"original_prompt": "Which?", "rounds": rounds}}), "t.json") == {
        "cases": [case("a", "Which river?")],
        "systems": ["oak"],
        "responses": [
            response(
                *("oak", "The Elbe.", "a"),
                metadata={"conversation": rounds, "plan": {"original_prompt": "Which?", "rounds": rounds}},
            )
        ],
        "warnings": {"no-reference": 1},
    }


def test_reads_takes_lists_of_texts_by_number_for_attempts_at_cases() -> None:
    texts = {"301": ["It is the Elbe.", "The Oder it is."], "302": ["I do not know.", "Nobody can say."]}

    document = read(json.dumps(texts), "oak.json", columns={"content": "response"})

    assert document["responses"] == [
        response("oak", "It is the Elbe.", "301"),
        response("oak", "The Oder it is.", "301", 1),
        response("oak", "I do not know.", "302"),
        response("oak", "Nobody can say.", "302", 1),
    ]


def test_reads_choices_by_letter() -> None:
    row = {"question": "Which river?", "options": {"A": "The Oder.", "B": "The Elbe."}}

    document = read(lines(row | {"answer": "B"}), "t.jsonl")

    assert document["cases"] == [case("1", "Which river?", "The Elbe.", options=row["options"])]
    assert document["warnings"] == {"answer-index": 1, "ids-made": 1}


def test_reads_the_letter_of_the_right_choice_for_no_label_of_a_response() -> None:
    row = {"question": "Which river?", "options": ["The Oder.", "The Elbe."], "response": "B", "correct": "B"}

    document = read(lines(row, row | {"question": "Which one?", "correct": "A"}), "t.jsonl", system="oak")

    assert [case["references"] for case in document["cases"]] == [["The Elbe."], ["The Oder."]]
    assert "labels" not in document


@pytest.mark.parametrize("right", ["gold_label", "true_label", "ground_truth_label"])
def test_reads_right_labels_by_what_stands_beside_them(right: str) -> None:
    rows = [
        {"text": "The Elbe rose over night.", right: "river"},
        {"text": "The wren sang all day.", right: "bird"},
    ]

    asked = read(lines(*rows), "t.jsonl")
    assert [case["references"] for case in asked["cases"]] == [["river"], ["bird"]]
    predicted = read(lines(*(row | {"predicted_label": "bird"} for row in rows)), "t.jsonl")
    assert [response["text"] for response in predicted["responses"]] == ["bird", "bird"]
    assert [case["references"] for case in predicted["cases"]] == [["river"], ["bird"]]
    judged = read(lines(*(row | {"response": "It is of a river."} for row in rows)), "t.jsonl")
    assert [label["label"] for label in judged["labels"]] == ["river", "bird"]


def test_reads_keys_that_are_questions_for_what_is_asked() -> None:
    rows = {"Which river?": {"response": "The Elbe."}, "Which bird?": {"response": "The wren."}}

    document = read(json.dumps(rows), "t.json")

    assert [case["prompt"] for case in document["cases"]] == ["Which river?", "Which bird?"]
    assert [response["text"] for response in document["responses"]] == ["The Elbe.", "The wren."]


@pytest.mark.parametrize(
    ("place", "texts"),
    [
        ("", {"Which river?": "The Elbe.", "Which bird?": "The wren."}),
        (", chat", {"chat": {"Which river?": [{"text": "The Elbe."}], "Which bird?": [{"text": "The wren it is."}]}}),
    ],
)
def test_reads_asks_whose_the_texts_under_questions_are(place: str, texts: object) -> None:
    assert refused(json.dumps(texts), "t.json") == [
        f"t.json{place}: text may be what a system wrote, or the reference. Say --map response=text or --map "
        "reference=text."
    ]
    document = read(json.dumps(texts), "t.json", columns={"text": "response"})
    assert [case["prompt"] for case in document["cases"]] == ["Which river?", "Which bird?"]
    assert document["responses"][0] == response("t", "The Elbe.", "1")


def test_reads_takes_passages_with_their_addresses_for_no_prompts() -> None:
    row = {"docid": "d1", "title": "Elbe", "text": "It runs through Dresden.", "url": "https://example.org/elbe"}

    assert refused(lines(row), "t.jsonl") == [
        "t.jsonl: which columns hold responses? It has: docid, title, text, url. Say it with --map response=COLUMN. If "
        "one holds what is asked, say --map prompt=COLUMN."
    ]
    asked = read(lines(row | {"reference_summary": "A river."}), "t.jsonl")["cases"]
    assert [case["prompt"] for case in asked] == ["It runs through Dresden."]


def test_reads_asks_which_texts_labels_are_of_where_prompts_come_again() -> None:
    rows = [
        {"query": "Sort a list", "snippet": f"sorted(names, key={key})", "label": "0"} for key in ("len", "str", "id")
    ]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: which columns hold responses? It has: query, snippet, label. Say it with --map response=COLUMN, or "
        '--map "responses of=snippet". If none does, say --map detail=snippet.'
    ]
    document = read(lines(*rows), "t.jsonl", columns={"snippet": "response"}, system="oak")
    assert (len(document["responses"]), len(document["labels"])) == (3, 3)


def test_reads_takes_a_conversation_of_exchanges_in_a_document_for_one_case() -> None:
    said = [{"user": "Which river?", "assistant": "The Elbe."}, {"user": "Sure?", "assistant": "Quite."}]

    document = read(json.dumps({"case_id": "a", "conversation": said, "user_message": "Why?"}), "t.json")

    assert [len(case["messages"]) for case in document["cases"]] == [5]


def test_reads_asks_what_lists_of_texts_are() -> None:
    rows = [
        {"id": number, "theme": "rivers", "kind": "b", "prompts": ["Which is it?", "And is it long?"]}
        for number in "ab"
    ]

    assert refused(lines(*rows), "t.jsonl")[0].startswith("t.jsonl: which columns hold responses?")
    document = read(lines(*rows), "t.jsonl", columns={"prompts": "prompt"})
    assert [len(case["messages"]) for case in document["cases"]] == [2, 2]


def test_reads_the_scale_of_a_header_with_words() -> None:
    row = {"id": "1", "prompt": "Which river?", "model": "oak", "response": "The Elbe."}

    document = read(lines(row | {"Final Score (1 - lowest, 5 - highest)": 4}), "t.jsonl")

    assert [(score["grader"], score["scale"]) for score in document["scores"]] == [("Final Score", [1.0, 5.0])]


def test_reads_takes_addresses_for_no_reference() -> None:
    row = {"question": "Which river?", "answer": "The Elbe.", "reference": "https://example.org/elbe"}

    document = read(lines(row), "t.jsonl")

    assert document["cases"] == [case("1", "Which river?", "The Elbe.", reference="https://example.org/elbe")]
    right = read(lines({"question": "Which page?", "expected": "https://example.org/elbe"}), "t.jsonl")["cases"]
    assert right == [case("1", "Which page?", "https://example.org/elbe")]


def test_reads_takes_numbered_columns_beside_a_system_for_its_attempts() -> None:
    text = "question,model,response_1,score_1,response_2,score_2,shade\nQ?,oak,A.,3,B.,4,x\nQ?,elm,C.,1,D.,2,y\n"
    document = read(text)

    assert [(row["system"], row["attempt"], row["text"], row["metadata"]) for row in document["responses"]] == [
        ("oak", 0, "A.", {"shade": "x"}),
        ("oak", 1, "B.", {"shade": "x"}),
        ("elm", 0, "C.", {"shade": "y"}),
        ("elm", 1, "D.", {"shade": "y"}),
    ]
    assert [(row["system"], row["attempt"], row["grader"], row["value"]) for row in document["scores"]] == [
        ("oak", 0, "score", 3.0),
        ("oak", 1, "score", 4.0),
        ("elm", 0, "score", 1.0),
        ("elm", 1, "score", 2.0),
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            "method,response",
            "If they are of different systems, say --map system=method; if not, --map detail=method.",
        ),
        (
            "method,answer",
            "If they are of different systems, say --map system=method; if not, --map detail=method.",
        ),
        (
            "temperature,response,model",
            "If they are of different systems, write it behind their name; if not, say --map detail=temperature.",
        ),
        (
            "setting,response,label",
            "If they are of different systems, say --map system=setting; if by who labels, --map rater=setting; if "
            "not, --map detail=setting.",
        ),
    ],
)
def test_reads_asks_what_tells_the_rows_of_a_case_apart(columns: str, said: str) -> None:
    name, _, more = columns.partition(",")
    beside = ",oak" if more != columns and "," in more else ""
    rows = [f"Q{case}?,{value},A {case} {value}.{beside}" for value in ("base", "ours") for case in range(3)]
    header = f"question,{columns}"

    assert refused("\n".join([header, *rows])) == [
        f"t.csv: {name} tells the rows of one case and system apart, and nothing says what it is. {said}"
    ]
    assert read("\n".join([header.replace(name, "seed"), *rows]))["responses" if "response" in more else "cases"]


def test_reads_takes_two_columns_that_a_third_one_names_for_a_pair() -> None:
    rows = ["P?,It is a.,It is b.,ours,ann", "R?,It is c.,It is d.,tie,ann", "S?,It is e.,It is f.,base,ann"]
    document = read("\n".join(["prompt,base,ours,preferred system,annotator", *rows]))

    assert [(row["a"], row["b"], row["choice"]) for row in document["preferences"]] == [
        ("base", "ours", "B"),
        ("base", "ours", "tie"),
        ("base", "ours", "A"),
    ]


def test_reads_takes_columns_under_addresses_for_raters() -> None:
    document = read("prompt,response,model,ann@oak.org,bo@oak.org\nP?,R.,elm,good,bad\n")

    assert [(row["rater"], row["label"]) for row in document["labels"]] == [
        ("ann@oak.org", "good"),
        ("bo@oak.org", "bad"),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (",It is b.,elm", "The row has no question. If it is that of a row above, write it here, too."),
        ("Rivers,,", "The row has one cell alone, as a heading or a note has."),
    ],
)
def test_reads_refuses_rows_that_stand_in_part_in_others(row: str, said: str) -> None:
    text = f"question,response,model\nWhich?,It is a.,oak\n{row}\nWhere?,,oak\n"

    assert refused(text) == [f"t.csv, line 3: {said} Other rows come in with --leave-out-bad-rows."]


@pytest.mark.parametrize("note", ["Total: 3", "n = 3", "Note: from 1 to 5.", "Quelle: intern"])
def test_reads_refuses_notes_below_a_table(note: str) -> None:
    assert refused(f"question,response,score\nWhich?,It is a.,4\nWhere?,It is b.,2\n{note},,\n") == [
        "t.csv, line 4: The row has one cell alone, as a heading or a note has. Other rows come in with "
        "--leave-out-bad-rows."
    ]


def test_reads_names_the_words_for_no_label() -> None:
    collected = reading(
        {"t.csv": "prompt,response,model,rater,label\nP?,R.,oak,ann,good\nP?,R.,oak,bo,N/A\n"}
    ).collected

    assert collected is not None
    assert [(row["rater"], row["label"]) for row in collected.document()["labels"]] == [("ann", "good")]
    assert collected.left_out() == [("label", "N/A stands for none", 1)]


def test_reads_takes_yes_or_no_behind_a_header_for_its_scale() -> None:
    document = read("prompt,reference,response,correct? (Y/N)\nP?,R.,R.,Y\nQ?,S.,T.,N\n")

    assert [(row["label"], row["criterion"]) for row in document["labels"]] == [("Y", "correct?"), ("N", "correct?")]


def test_reads_asks_what_numbers_under_the_headers_of_responses_say() -> None:
    answers = "question,gpt-4,llama-3\nWho heals?,It is a.,It is b.\nWho cooks?,It is c.,It is d.\n"
    scores = "question,gpt-4,llama-3\nWho heals?,3,4\nWho cooks?,5,1\n"

    assert [str(problem) for problem in reading({"a.csv": answers, "s.csv": scores}).findings.as_tuple()] == [
        "s.csv: gpt-4, llama-3 may say how good the responses under these headers are, which is not read. Bring a row "
        "for each response, with a column for its system and one for its score or label. Else say --map detail=gpt-4."
    ]


def test_reads_asks_whose_scores_of_the_same_responses_two_files_have() -> None:
    files = {
        f"{name}.csv": f"id,question,response,model,score\n1,P?,R.,oak,{score}\n2,Q?,S.,oak,3\n"
        for name, score in (("ann", 4), ("bo", 5))
    }
    without = {
        name: text.replace(",question,response", ",,").replace("P?,R.", ",").replace("Q?,S.", ",")
        for name, text in files.items()
    }
    responses = {"r.csv": "id,question,model,response\n1,P?,oak,R.\n2,Q?,oak,S.\n"}

    asked = reading(files)
    labelled = reading({**responses, **without}, columns={"score": "label"}).collected

    assert [str(problem) for problem in asked.findings.as_tuple()] == [
        "ann.csv: ann.csv, bo.csv have other values of score for the same responses, and no column says whose. If "
        "each is of a person, say --map label=score; if of a judge, add a column judge."
    ]
    assert labelled is not None
    assert [(row["rater"], row["case"], row["label"]) for row in labelled.document()["labels"]] == [
        ("ann", "1", "4"),
        ("ann", "2", "3"),
        ("bo", "1", "5"),
        ("bo", "2", "3"),
    ]


def test_reads_takes_criteria_with_points_for_the_rubric_of_a_case() -> None:
    rubric = [
        {"criterion": "Names the Elbe", "weight": 2},
        {"criterion": "Guesses", "weight": -1},
        {"criterion": "Is polite", "points": 0, "weight": 3},
    ]
    document = read(lines({"question": "Which?", "rubric": rubric, "response": "The Elbe.", "model": "oak"}), "t.jsonl")

    assert [(row["case"], row["criteria"]) for row in document["rubrics"]] == [
        (
            "1",
            [
                {"text": "Names the Elbe", "points": 2.0},
                {"text": "Guesses", "points": -1.0},
                {"text": "Is polite", "points": 0.0},
            ],
        )
    ]


def test_reads_takes_a_turn_that_calls_a_tool_for_a_response() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    row = {
        "question": "Which?",
        "response": {"role": "assistant", "content": None, "tool_calls": [call]},
        "model": "oak",
    }
    (found,) = read(lines(row), "t.jsonl")["responses"]

    assert found["messages"] == [{"role": "assistant", "text": "[calls look({})]"}]


def test_reads_takes_all_of_an_object_for_a_response_where_the_person_says_so() -> None:
    row = {"question": "Which?", "output": {"river": "Elbe", "sure": 1}, "model": "oak"}

    assert refused(lines(row), "t.jsonl") == [
        "t.jsonl: output holds objects. Which entry is the response? They have: river, sure. Say --map "
        "response=output.river, or --map response=output for all of it."
    ]
    (found,) = read(lines(row), "t.jsonl", columns={"output": "response"})["responses"]
    assert json.loads(found["text"]) == row["output"]


def test_reads_asks_where_rows_label_pieces_of_a_text() -> None:
    rows = ["1,It is the Elbe.,ann,0,2,x", "1,It is the Elbe.,ann,10,14,river"]

    assert refused("\n".join(["doc_id,text,annotator,start,end,label", *rows])) == [
        "t.csv: start and end say which piece of a text each row labels, which no label of all of it is. Bring them as "
        "Label Studio or doccano write them. To take them for labels of all of it, say --map detail=start."
    ]


@pytest.mark.parametrize(
    ("header", "systems"),
    [
        ("Model 1 response,Model 2 response", ["Model 1 response", "Model 2 response"]),
        ("answer_model_a,answer_model_b", ["answer_model_a", "answer_model_b"]),
        ("Answer A (GPT-4o),Answer B (Llama-3)", ["GPT-4o", "Llama-3"]),
    ],
)
def test_reads_takes_two_columns_that_differ_by_a_word_for_a_side_for_a_pair(header: str, systems: list[str]) -> None:
    rows = [f"{n},Who is number {n}?,It is {n}.,He is {n}.,{said},Ann" for n, said in enumerate(("A", "B", "Tie"), 1)]
    document = read("\n".join([f"Q#,Question,{header},Preferred (A/B/Tie),Reviewer", *rows]))

    assert document["systems"] == systems
    assert [(row["choice"], row["by"]) for row in document["preferences"]] == [
        ("A", "Ann"),
        ("B", "Ann"),
        ("tie", "Ann"),
    ]


def test_reads_asks_whose_conversations_people_rated() -> None:
    turns = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "The Elbe."}]

    assert refused(lines({"conversation": turns, "rating": 4, "annotator": "ann"}), "t.jsonl") == [
        "t.jsonl: conversation holds conversations that a system carried out. Which system was it? Say it with "
        "--system NAME."
    ]


def test_reads_asks_what_numbered_answers_are_where_nothing_chooses_one() -> None:
    columns = [f"answer_{n}" for n in (1, 2, 3)]
    as_choices, as_references = (
        " ".join(f"--map {role}={name}" for name in columns) for role in ("choices", "reference")
    )
    table = "question,answer_1,answer_2,answer_3,prediction\nWho heals?,Ann,Anna,A. Lee,It was Ann.\n"

    assert refused(table) == [
        f"t.csv: {', '.join(columns)} may be the choices of a question, or answers that are right. Say which: "
        f'{as_choices}, or {as_references}. In place of reference, write "responses of" if systems gave them.'
    ]


def test_reads_asks_what_a_sheet_of_one_question_asks() -> None:
    assert refused("Question,Who heals?\nGPT-4o,It is Ann.\nLlama,It is Bo.\n") == [
        "t.csv: Question seems to name systems. Bring the responses and scores of each case. If the names are what is "
        "asked, say --map prompt=Question."
    ]


def test_reads_takes_texts_by_question_of_each_model_for_responses() -> None:
    texts = {"gpt-4": {"Is it so?": "It is so.", "Is it not?": "It is not."}, "claude-3": {"Is it so?": "No."}}

    assert read(json.dumps(texts | {"claude-3": {"Is it so?": "No.", "Is it not?": "So."}}), "t.json")["responses"] == [
        response("gpt-4", "It is so."),
        response("gpt-4", "It is not.", "2"),
        response("claude-3", "No."),
        response("claude-3", "So.", "2"),
    ]


def test_reads_asks_whose_texts_by_question_are() -> None:
    texts = {name: {"Is it so?": f"{name} says so.", "Is it not?": f"{name} says no."} for name in ("oak", "elm")}
    text = json.dumps(texts)

    assert refused(text, "t.json") == [
        "t.json: text may be what a system wrote, or the reference. Say --map response=text or --map reference=text."
    ]
    assert read(text, "t.json", columns={"text": "response", "split": "system"})["systems"] == ["elm", "oak"]


def test_reads_takes_lists_by_model_beside_the_questions_for_responses() -> None:
    lists = {
        "questions": ["Is it so?", "Is it not?"],
        "answers": {"gpt-4": ["It is.", "No."], "claude-3": ["No.", "So."]},
    }

    document = read(json.dumps(lists), "t.json")

    assert (document["systems"], len(document["responses"])) == (["claude-3", "gpt-4"], 4)


def test_reads_takes_the_text_in_an_object_for_what_the_object_is() -> None:
    table = "input.question,expected_output.answer,output.answer,feedback_scores.tone\nIs it so?,Yes.,It is.,0.5\n"

    document = read(table)

    assert document["cases"] == [case("1", "Is it so?", "Yes.")]
    assert document["responses"] == [response("t", "It is.")]
    assert [(row["grader"], row["value"]) for row in document["scores"]] == [("tone", 0.5)]


def test_reads_takes_the_right_label_for_the_reference_of_labels_that_systems_gave() -> None:
    table = (
        "text,true_label,gpt-4_label,llama_label\nIt is warm here.,warm,warm,cold\nIt is cold here.,cold,warm,warm\n"
    )
    columns = dict.fromkeys(("gpt-4_label", "llama_label"), "responses of")

    document = read(table, columns=columns)

    assert document["cases"] == [case("1", "It is warm here.", "warm"), case("2", "It is cold here.", "cold")]


def test_reads_takes_numbered_references_for_the_references_of_a_case_and_wrong_answers_for_no_responses() -> None:
    beside = {"question": "Is it so?", "response": "It may be.", "model": "oak"}
    document = read(
        lines(beside | {"ref_1": "It is.", "ref_2": "Yes.", "bad_answer_1": "No.", "bad_answer_2": "Na."}), "t.jsonl"
    )

    assert document["cases"] == [case("1", "Is it so?", "It is.", "Yes.")]
    assert document["responses"] == [
        response("oak", "It may be.", metadata={"bad_answer_1": "No.", "bad_answer_2": "Na."})
    ]


def test_reads_asks_what_wrong_answers_are_where_nothing_responds() -> None:
    row = {
        "question": "Is it so?",
        "correct answer": "It is.",
        "wrong answer 1": "It is not.",
        "wrong answer 2": "Never.",
    }

    assert refused(lines(row), "t.jsonl")[0].startswith("t.jsonl: which columns hold responses?")


def test_reads_takes_numbered_contexts_for_those_of_a_case() -> None:
    row = {"question": "Is it so?", "context_1": "It was so.", "context_2": "It will be so.", "answer": "It is."}

    assert read(lines(row), "t.jsonl")["cases"] == [
        case("1", "Is it so?", "It is.") | {"context": ["It was so.", "It will be so."]}
    ]
    assert refused(lines(row | {"faithful": 1}, row | {"question": "Why?", "faithful": 0}), "t.jsonl") == [
        "t.jsonl: answer could be the response or the reference, beside faithful. Say --map response=answer or --map "
        "reference=answer or --map ignore=answer."
    ]


def test_reads_takes_two_summaries_of_an_article_for_a_pair() -> None:
    row = {"article": "It rained all day in Bern.", "summary_a": "Rain.", "summary_b": "Sun.", "better": "A"}

    document = read(lines(row), "t.jsonl")

    assert document["cases"] == [case("1", "It rained all day in Bern.")]
    assert [(each["a"], each["b"], each["choice"]) for each in document["preferences"]] == [
        ("summary_a", "summary_b", "A")
    ]


def test_reads_takes_pred_for_what_was_taken_out_of_a_response_beside_one() -> None:
    row = {"question": "Which?", "response": "It is the Elbe.", "pred": "Elbe", "gold": "Elbe"}

    assert read(lines(row), "t.jsonl")["responses"] == [response("t", "It is the Elbe.", metadata={"pred": "Elbe"})]


@pytest.mark.parametrize("gold", ["refr", "true", "answer"])
def test_reads_takes_pred_for_what_a_system_wrote(gold: str) -> None:
    document = read(lines({"question": "Which river?", gold: "The Elbe.", "pred": "It is the Oder."}), "t.jsonl")

    assert document["cases"] == [case("1", "Which river?", "The Elbe.")]
    assert document["responses"] == [response("t", "It is the Oder.")]


def test_reads_takes_a_text_and_not_the_number_beside_it_for_the_response() -> None:
    row = {"prompt": "Why?", "generated_text": "It is so.", "generation": 2}

    assert read(lines(row), "t.jsonl")["responses"] == [response("t", "It is so.", metadata={"generation": 2})]


def test_reads_takes_what_a_system_really_answered_with_its_time() -> None:
    row = {"question_id": 1, "actual_answer": "The Elbe.", "elapsed_sec": 2.5, "query_run": 2}

    assert read(lines(row, row | {"question_id": 2, "query_run": 1}), "t.jsonl")["responses"] == [
        response("t", "The Elbe.", case=str(n), metadata={"query_run": 3 - n}) for n in (1, 2)
    ]


@pytest.mark.parametrize("values", [(True, False), (0.5, 1.0)])
def test_numbers_under_the_name_of_a_criterion_are_asked_about(values: tuple[object, object]) -> None:
    rows = [{"question": f"Q{n}?", "response": f"R{n}", "metric": value} for n, value in enumerate(values)]

    (message,) = refused(lines(*rows), "rows.jsonl")

    assert message.startswith(
        "rows.jsonl: metric may be labels of people or scores, each by a criterion or by a person."
    )


def test_reads_takes_a_label_that_is_predicted_beside_it_for_the_reference() -> None:
    rows = [{"text": f"It was film {n}.", "label": n % 2, "prediction": (n + 1) % 2} for n in range(4)]

    document = read(lines(*rows), "t.jsonl")

    assert [(case["references"], "labels" in document) for case in document["cases"]] == [
        *((["0"], False), (["1"], False)) * 2
    ]


def test_reads_asks_whose_a_text_is_beside_prompts_in_a_file_named_after_a_model() -> None:
    rows = [
        {"id": n, "prompt": f"Write about river {n}.", "article": f"River {n}: it is long.\nIt ends."} for n in (1, 2)
    ]

    assert refused(lines(*rows), "claude-3-7-sonnet.jsonl") == [
        "claude-3-7-sonnet.jsonl: article may be what claude-3-7-sonnet wrote, after which the file is named, or what "
        "is asked about. Say --map response=article or --map context=article."
    ]
    assert "responses" not in read(lines(*rows), "rivers.jsonl")
