"""A document with several lists: each of them is read, those of like rows as one table, and none is lost unseen."""

from __future__ import annotations

import json

import pytest
from openpyxl.worksheet.worksheet import Worksheet

from judging.specs.files.bundles import Bundle
from judging.specs.records.parts import RecordOptions
from judging.specs.records.recognition import read_records
from tests.judging.specs.records.test_tables import case, read, reading, refused, response
from tests.judging.specs.records.uploads import source, workbook

FRANCE = {"question": "Capital of France?", "answer": "Paris"}
SPAIN = {"question": "Capital of Spain?", "answer": "Madrid"}


def test_reads_takes_lists_of_like_rows_for_one_table_with_their_names() -> None:
    document = read(json.dumps({"north": [FRANCE], "south": [SPAIN]}), "t.json")

    assert document == {
        "cases": [
            case("1", "Capital of France?", "Paris", split="north"),
            case("2", "Capital of Spain?", "Madrid", split="south"),
        ],
        "warnings": {"ids-made": 2},
    }


@pytest.mark.parametrize("folder", ["", "results"])
def test_reads_takes_the_names_of_models_for_the_systems_of_their_lists(folder: str) -> None:
    lists = {"gpt-4.1": [FRANCE], "llama-3": [FRANCE | {"answer": "Lyon"}, SPAIN]}

    document = read(json.dumps({folder: lists} if folder else lists), "t.json")

    assert document == {
        "cases": [case("1", "Capital of France?"), case("2", "Capital of Spain?")],
        "systems": ["gpt-4.1", "llama-3"],
        "responses": [
            response("gpt-4.1", "Paris"),
            response("llama-3", "Lyon"),
            response("llama-3", "Madrid", case="2"),
        ],
        "warnings": {"ids-made": 2, "no-reference": 2},
    }


def test_reads_takes_the_names_of_lists_for_cases_where_their_rows_name_none() -> None:
    responses = {"q7": [{"model": "oak", "response": "Paris"}], "q8": [{"model": "oak", "response": "Madrid"}]}
    questions = [{"id": "q7", "question": "Capital of France?"}, {"id": "q8", "question": "Capital of Spain?"}]

    collected = reading({"r.json": json.dumps(responses), "q.json": json.dumps(questions)}).collected

    assert collected is not None
    assert collected.document()["responses"] == [
        response("oak", "Paris", case="q7"),
        response("oak", "Madrid", case="q8"),
    ]


def test_reads_takes_lists_of_other_rows_for_tables_of_their_own() -> None:
    questions = [{"id": 1, "question": "Capital of France?"}]
    responses = [{"id": 1, "model": "oak", "response": "Paris"}, {"id": 1, "model": "elm", "response": "Lyon"}]

    document = read(json.dumps({"responses_of": responses, "questions": questions}), "t.json")

    assert document == {
        "cases": [case("1", "Capital of France?")],
        "systems": ["elm", "oak"],
        "responses": [response("oak", "Paris"), response("elm", "Lyon")],
        "warnings": {"no-reference": 1},
    }


def test_reads_names_a_list_of_which_nothing_is_known() -> None:
    collected = reading({"t.json": json.dumps({"items": [FRANCE, SPAIN], "annotators": [{"name": "ann"}]})}).collected

    assert collected is not None
    assert (len(collected.document()["cases"]), collected.left_out()) == (
        2,
        [("list", "annotators: nothing says what its entries are", 1)],
    )


def test_reads_takes_an_object_of_rows_inside_a_document_for_its_table() -> None:
    document = read(json.dumps({"version": 1, "data": {"q1": FRANCE, "q2": SPAIN}}), "t.json")

    assert document == {
        "cases": [case("q1", "Capital of France?", "Paris"), case("q2", "Capital of Spain?", "Madrid")],
        "warnings": {},
    }


def test_reads_names_systems_after_sheets_of_the_same_columns() -> None:
    def fill(sheet: Worksheet) -> None:
        assert sheet.parent is not None
        for name in ("elk", "wolf"):
            rows = sheet.parent.create_sheet(name)
            rows.append(["id", "question", "output"])
            rows.append(["1", "Who?", f"{name}!"])

    result = read_records([source("answers.xlsx", workbook(fill))], Bundle({}), RecordOptions())

    assert result.collected is not None
    assert result.collected.document()["responses"] == [response("elk", "elk!"), response("wolf", "wolf!")]
    assert {group.kind: group.count for group in result.collected.warnings()}["system-from-sheet"] == 2


def test_reads_names_a_sheet_with_the_figures_of_the_others() -> None:
    def fill(sheet: Worksheet) -> None:
        assert sheet.parent is not None
        sheet.append(["Model", "Questions", "Accuracy"])
        sheet.append(["gpt-4", 2, 0.5])
        sheet.append(["claude-3", 2, 1])
        rows = sheet.parent.create_sheet("Answers")
        rows.append(["Question#", "Question text", "Model", "Response"])
        rows.append(["Q1", "Who came?", "gpt-4", "Ann did."])
        rows.append(["Q2", "Who left?", "gpt-4", "Ben did."])

    result = read_records([source("answers.xlsx", workbook(fill))], Bundle({}), RecordOptions())

    assert result.collected is not None
    assert [row["id"] for row in result.collected.document()["cases"]] == ["Q1", "Q2"]
    assert result.collected.left_out() == [("sheet", "Data: it has figures of systems", 1)]


def test_reads_asks_whose_lists_they_are_that_answer_a_question_differently() -> None:
    text = json.dumps({"oak": [FRANCE, SPAIN], "elm": [FRANCE | {"answer": "Lyon"}, SPAIN]})

    assert refused(text, "t.json") == [
        "t.json: answer of one question differs between the lists. Are they of systems? If so, say --map "
        "system=split; if they are what is asked about, --map context=split; if neither, --map detail=split."
    ]
    about = read(text, "t.json", columns={"split": "context"})["cases"]
    assert [(case["context"], case["references"]) for case in about][:2] == [
        (["oak"], ["Paris"]),
        (["oak"], ["Madrid"]),
    ]
    assert [(row["system"], row["text"]) for row in read(text, "t.json", columns={"split": "system"})["responses"]] == [
        *(("oak", "Paris"), ("oak", "Madrid"), ("elm", "Lyon"), ("elm", "Madrid"))
    ]
    assert [row["references"] for row in read(text, "t.json", columns={"split": "detail"})["cases"]] == [
        *(["Paris", "Lyon"], ["Madrid"])
    ]


def test_reads_takes_most_names_of_models_for_systems_with_a_text_or_row_for_each_case() -> None:
    texts = {"gpt-4": {"q1": "Elbe.", "q2": "Oder."}, "llama-2": {"q1": "Main."}, "ours": {"q2": "Spree."}}
    rows = {"gpt-4": {"q1": FRANCE, "q2": SPAIN}, "llama-2": {"q1": FRANCE, "q2": SPAIN}, "made": {"by": None}}
    questions = [{"id": "q1", "question": "Which?"}, {"id": "q2", "question": "And then?"}]

    of_texts = reading({"r.json": json.dumps(texts), "q.json": json.dumps(questions)}).collected
    of_rows = read(json.dumps(rows), "t.json")

    assert of_texts is not None
    assert of_texts.document()["responses"] == [
        *(response("gpt-4", "Elbe.", case="q1"), response("gpt-4", "Oder.", case="q2")),
        *(response("llama-2", "Main.", case="q1"), response("ours", "Spree.", case="q2")),
    ]
    assert of_rows["responses"] == [
        *(response("gpt-4", "Paris", case="q1"), response("gpt-4", "Madrid", case="q2")),
        *(response("llama-2", "Paris", case="q1"), response("llama-2", "Madrid", case="q2")),
    ]


def test_reads_takes_results_of_a_tool_with_like_rows_for_its_companion() -> None:
    results = {"sums": {"acc": 0.5, "acc_stderr": 0.1}, "rivers": {"acc": 0.6, "acc_stderr": 0.1}}
    document = {"results": results, "versions": {"sums": 0, "rivers": 1}, "config": {"model": "hf"}}

    (sentence,) = refused(json.dumps(document), "all.json")

    assert "Alone it stores nothing: lm-evaluation-harness: results." in sentence


def test_reads_asks_whose_responses_differ_between_objects_of_rows() -> None:
    runs = {"a.json": {"q1": FRANCE, "q2": SPAIN}, "b.json": {"q1": FRANCE | {"answer": "Lyon"}, "q2": SPAIN}}
    named = {
        run: {key: {"question": row["question"], "output": row["answer"]} for key, row in rows.items()}
        for run, rows in runs.items()
    }
    text = json.dumps({"capitals": named})

    assert refused(text, "t.json") == [
        "t.json, capitals: output of one question differs between the lists. Are they of systems? If so, say --map "
        "system=split; if they are what is asked about, --map context=split; if neither, --map detail=split."
    ]
    assert read(text, "t.json", columns={"split": "system"})["systems"] == ["a.json", "b.json"]


def test_reads_takes_answers_to_the_same_question_with_other_choices_for_references() -> None:
    asked = {"question": "Which is right?", "A": "elk", "C": "oak"}
    rows = [asked | {"B": "tern", "answer": "B"}, asked | {"B": "wolf", "answer": "C"}]

    collected = reading({"a.json": json.dumps(rows[:1]), "b.json": json.dumps(rows[1:])}).collected

    assert collected is not None
    assert [row["references"] for row in collected.document()["cases"]] == [["tern"], ["oak"]]


def test_reads_asks_about_letters_by_the_id_of_a_case() -> None:
    text = json.dumps({"val_1": "D", "val_2": "A", "val_3": "B"})

    assert refused(text, "oak.json")[0].startswith("oak.json: which columns hold responses? It has: id, content.")
    assert read(text, "oak.json", columns={"content": "response"})["responses"] == [
        response("oak", letter, case=f"val_{number}") for number, letter in enumerate("DAB", 1)
    ]


def test_reads_takes_lists_under_one_name_in_objects_of_models_for_their_responses() -> None:
    models = {"gpt-3.5": {"answers": [FRANCE]}, "llama-3": {"answers": [FRANCE | {"answer": "Lyon"}]}}

    document = read(json.dumps({"date": "May", "models": models}), "t.json")

    assert document == {
        "cases": [case("1", "Capital of France?")],
        "systems": ["gpt-3.5", "llama-3"],
        "responses": [response("gpt-3.5", "Paris"), response("llama-3", "Lyon")],
        "warnings": {"ids-made": 1, "no-reference": 1},
    }


def test_reads_takes_numbers_of_texts_for_ids_of_cases() -> None:
    questions = [{"id": number, "question": f"Is {number} so?"} for number in (0, 1)]
    files = {
        "q.json": json.dumps(questions),
        "oak.json": json.dumps({"0": "It is as you say.", "1": "It is not as you say."}),
    }

    result = reading(files, columns={"content": "response"})

    assert result.collected is not None
    assert result.collected.document()["responses"] == [
        response("oak", "It is as you say.", case="0"),
        response("oak", "It is not as you say.", case="1"),
    ]
