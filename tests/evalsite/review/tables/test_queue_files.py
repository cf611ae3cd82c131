"""Questions with responses for people: usual headers of any tool, and nothing of a file is lost or given away."""

from __future__ import annotations

import io
import json
from datetime import date
from typing import Any

import openpyxl
import pytest

from evalsite.review.tables.queue_files import MaterialFile, MaterialRow, read_materials
from judging.specs.records.file_records import ParsedFile
from judging.specs.records.parts import RecordOptions


def rows_of(parsed: ParsedFile[MaterialFile]) -> tuple[MaterialRow, ...]:
    assert parsed.value is not None, parsed.problems
    return parsed.value.rows


def table(header: str, *lines: str) -> bytes:
    return "\n".join([header, *lines, ""]).encode()


@pytest.mark.parametrize(
    "header",
    [
        "Question text,Response A,Response B",
        "prompt,chosen,rejected",
        "input,output_1,output_2",
        "instruction,output_a,output_b",
        "Question,Answer 1,Answer 2",
        "user_input,model_a_response,model_b_response",
        "query,completion_a,completion_b",
        "question,response 1,response 2",
        "Frage,Response A,Response B",
        "question,gpt-4o,claude-3",
    ],
)
def test_read_materials_knows_the_headers_of_pairs(header: str) -> None:
    options = RecordOptions(columns={"model_a_response": "response-a", "model_b_response": "response-b"})
    options = options if "model_a_response" in header else RecordOptions()

    parsed = read_materials(table(header, "Why is it so?,Because it is.,Nobody knows."), "f.csv", options=options)

    assert [(row.question, row.response_a, row.response_b) for row in rows_of(parsed)] == [
        ("Why is it so?", "Because it is.", "Nobody knows.")
    ]


@pytest.mark.parametrize("header", ["query,completion", "question,answer", "prompt,LLM output", "Aufgabe,Antwort"])
def test_read_materials_knows_the_headers_of_single_responses(header: str) -> None:
    parsed = read_materials(table(header, "Why is it so?,Because it is."), "f.csv")

    assert [(row.key, row.question, row.response_a, row.response_b, row.system_a) for row in rows_of(parsed)] == [
        ("1", "Why is it so?", "Because it is.", None, "")
    ]


def test_read_materials_keeps_what_nothing_reads() -> None:
    parsed = read_materials(
        table("question,response_a,response_b,my_meta,Domain,gold,Reference answer", "Why?,a b,c d,x,law,It is A,So."),
        "pairs.csv",
    )

    [row] = rows_of(parsed)
    assert (row.details, row.reference) == ({"my_meta": "x", "Domain": "law", "gold": "It is A"}, "So.")
    assert [str(problem) for problem in parsed.warnings] == [
        "pairs.csv: The column 'gold' is shown to leads only. Choose it for the reference to show it to annotators."
    ]


def test_read_materials_takes_the_criterion_that_people_are_to_judge_by() -> None:
    data = table("id,question,response_a,response_b,criterion,metric", "1,q,x,y,helpfulness,0.5", "2,r,x,z,safety,1")

    rows = rows_of(read_materials(data, "pairs.csv", options=RecordOptions(columns={"metric": "detail"})))

    assert [(row.criterion, row.details) for row in rows] == [
        ("helpfulness", {"metric": "0.5"}),
        ("safety", {"metric": "1"}),
    ]


def test_read_materials_takes_what_somebody_says_of_columns() -> None:
    data = table("foo,bar,gold", "Why is it so?,Because it is.,So.")
    options = RecordOptions(columns={"foo": "prompt", "bar": "response", "gold": "reference"})

    refused, parsed = read_materials(data, "f.csv"), read_materials(data, "f.csv", options=options)

    assert (refused.value, [use.name for use in refused.columns]) == (None, ["foo", "bar", "gold"])
    assert [(row.question, row.response_a, row.reference) for row in rows_of(parsed)] == [
        ("Why is it so?", "Because it is.", "So.")
    ]
    assert {use.name: use.role for use in parsed.columns} == options.columns


def test_read_materials_warns_of_labels_that_pairs_do_not_use() -> None:
    pairs = b"question,response_a,response_b\nWhy?,a,b\n"

    assert [problem.code for problem in read_materials(pairs, "p.csv", has_scale=True).problems] == ["unused-labels"]
    assert read_materials(pairs, "p.csv").problems == ()
    assert read_materials(b"question,response\nWhy?,a\n", "p.csv", has_scale=True).problems == ()


def test_read_materials_keeps_chats_as_turns() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    row = {"id": "c1", "question": chat, "response": "Because.", "tags": ["x"]}

    [item] = rows_of(read_materials(json.dumps(row).encode(), "chats.jsonl"))

    turns = [{"role": "system", "parts": [{"text": "Be brief."}]}, {"role": "user", "parts": [{"text": "Why?"}]}]
    assert (item.question, item.turns) == ("System:\nBe brief.\n\nUser:\nWhy?", {"question": turns})
    assert (item.response_a, item.details) == ("Because.", {"tags": ["x"]})


def test_read_materials_refuses_no_workbook_for_a_column_that_nothing_reads() -> None:
    book, data = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("Sheet")
    for line in (["question", "response", "Due", "Notes", "Notes"], ["Why?", "So.", date(2026, 12, 1), "n", "m"]):
        sheet.append(line)
    book.save(data)

    [row] = rows_of(read_materials(data.getvalue(), "due.xlsx"))

    assert (row.question, row.response_a, row.details["Due"]) == ("Why?", "So.", "2026-12-01")


def test_read_materials_makes_an_item_of_each_response_and_of_each_pair_once() -> None:
    responses = table("question,system,response", "Why?,oak,Because it is.", "Why?,elm,Of course it is.")
    header = "question,system_a,system_b,response_a,response_b,rater,preference"
    votes = table(header, "Why?,oak,elm,By oak.,By elm.,u1,A", "Why?,elm,oak,By elm.,By oak.,u2,A")

    singles = rows_of(read_materials(responses, "r.csv"))
    pairs = rows_of(read_materials(votes, "votes.csv"))

    assert [(row.key, row.system_a) for row in singles] == [("1 · oak", "oak"), ("1 · elm", "elm")]
    assert [(row.system_a, row.system_b) for row in pairs] == [("oak", "elm")]


LABEL_STUDIO: list[Any] = [
    {
        "id": 7,
        "data": {"question": "Where is Narvik?", "response": "In Norway.", "model": "wolf"},
        "annotations": [
            {
                "id": 1,
                "completed_by": 3,
                "was_cancelled": False,
                "result": [
                    {"type": "choices", "from_name": "quality", "to_name": "r", "value": {"choices": ["Good"]}},
                    {"type": "rating", "from_name": "stars", "to_name": "r", "value": {"rating": 4}},
                ],
            }
        ],
    }
]


def test_read_materials_takes_the_labels_of_an_annotation_tool_along() -> None:
    parsed = read_materials(json.dumps(LABEL_STUDIO).encode(), "project.json")

    [row] = rows_of(parsed)
    assert (row.key, row.question, row.response_a, row.system_a) == ("7", "Where is Narvik?", "In Norway.", "wolf")
    assert parsed.value is not None
    assert parsed.value.labels is not None
    assert [
        (sheet.criterion, sheet.raters, [label.label for item in sheet.items for label in item.labels])
        for sheet in parsed.value.labels.sheets
    ] == [("quality", ("3",), ["Good"]), ("stars", ("3",), ["4"])]


def test_read_materials_reviews_texts_that_have_no_response() -> None:
    data = table("id,text,label", "31,Parcel came late.,complaint", "32,Thanks!,praise")

    parsed = read_materials(data, "all.csv")

    assert [(row.key, row.question, row.response_a) for row in rows_of(parsed)] == [
        ("31", "", "Parcel came late."),
        ("32", "", "Thanks!"),
    ]


def test_read_materials_takes_the_last_reply_of_conversations_that_name_no_system() -> None:
    turns = [{"role": "user", "content": "Why is it so?"}, {"role": "assistant", "content": "Because it is."}]
    asked = [*turns, {"role": "user", "content": "Who says so?"}]

    (row,) = rows_of(read_materials(json.dumps({"messages": turns}).encode(), "f.jsonl"))
    refused = read_materials(json.dumps({"messages": asked}).encode(), "f.jsonl")

    assert (row.question, row.response_a, row.system_a) == ("Why is it so?", "Because it is.", "")
    assert [problem.message for problem in refused.errors] == ["The file has no responses."]


def test_read_materials_asks_which_column_beside_an_id_holds_what_is_asked() -> None:
    data = b"uid,customer_message,reply,topic\na,Where is my parcel?,It is on its way.,post\n"
    data += b"b,Who took it?,Ann took it.,post\n"

    refused = read_materials(data, "f.csv")
    rows = rows_of(read_materials(data, "f.csv", options=RecordOptions(columns={"customer_message": "prompt"})))
    alone = rows_of(read_materials(data, "f.csv", options=RecordOptions(columns={"customer_message": "detail"})))

    assert [str(problem) for problem in refused.errors] == [
        "f.csv: customer_message may hold what is asked, which no column is known to hold. If so, say "
        "--map prompt=customer_message; if not, --map detail=customer_message."
    ]
    assert [(row.question, row.response_a) for row in rows] == [
        ("Where is my parcel?", "It is on its way."),
        ("Who took it?", "Ann took it."),
    ]
    assert [row.question for row in alone] == ["", ""]
