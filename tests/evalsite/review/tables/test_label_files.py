"""Tables of labels: read by the names of the one table, with one spelling for each label."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsite.review.tables.label_files import LabelFile, LabelSheet, read_labels
from judging.specs.records.file_records import ParsedFile
from judging.specs.records.parts import RecordOptions


def sheet_of(parsed: ParsedFile[LabelFile]) -> LabelSheet:
    assert parsed.value is not None, parsed.problems
    [sheet] = parsed.value.sheets
    return sheet


def labels_of(parsed: ParsedFile[LabelFile]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(item.key, [(row.rater, row.label) for row in item.labels]) for item in sheet_of(parsed).items]


def test_read_labels_folds_what_pandas_makes_of_numbers() -> None:
    data = b"item,ann_1,ann_2\nx1,1.0,1\nx2,2.0,2\nx3,,3\n"

    parsed = read_labels(data, "ratings.csv")

    assert labels_of(parsed) == [
        ("x1", [("ann_1", "1"), ("ann_2", "1")]),
        ("x2", [("ann_1", "2"), ("ann_2", "2")]),
        ("x3", [("ann_2", "3")]),
    ]
    assert [label.value for label in sheet_of(parsed).labels] == ["1", "2", "3"]
    assert [row.code for row in parsed.warnings] == ["labels-folded", "scale-from-use"]


def test_read_labels_gives_an_ordered_scale_its_worth() -> None:
    data = b"item,rater,label\n1,ann,Good\n1,ben,ok\n2,ann,bad\n"

    sheet = sheet_of(read_labels(data, "l.csv", scale=("bad", "ok", "good")))

    assert [(label.value, label.share) for label in sheet.labels] == [("bad", 0.0), ("ok", 0.5), ("good", 1.0)]
    assert [row.label for item in sheet.items for row in item.labels] == ["good", "ok", "bad"]


def test_read_labels_keeps_columns_groups_times_and_reasons() -> None:
    data = b"case,annotator,rating,criterion,scenario,lang,at,reason,hint\nc1,ann,4,tone,code,de,2026-01-05,so,h\n"

    [item] = sheet_of(read_labels(data, "l.csv")).items

    assert (item.criterion, item.scenario, item.language, item.details) == ("tone", "code", "de", {"hint": "h"})
    [label] = item.labels
    assert (label.reason, str(label.given_at)) == ("so", "2026-01-05 00:00:00+00:00")


def test_read_labels_asks_for_columns_that_nothing_names_and_takes_the_answer() -> None:
    data = b"x1,x2,x3\nc1,ann,good\nc2,ann,bad\n"
    options = RecordOptions(columns={"x1": "case", "x2": "rater", "x3": "label"})

    refused, parsed = read_labels(data, "l.csv"), read_labels(data, "l.csv", options=options)

    [asked] = refused.errors
    assert (asked.message, asked.hint) == (
        "which column holds the labels, and which the id of the item? It has: x1, x2, x3.",
        "Say --map label=COLUMN --map case=COLUMN --map rater=COLUMN, or --map 'labels of=RATER'.",
    )
    assert labels_of(parsed) == [("c1", [("ann", "good")]), ("c2", [("ann", "bad")])]


def test_read_labels_asks_what_labels_are_of_where_a_column_has_them() -> None:
    data = b"response,label,annotator\nIt is Ann.,good,ann\nIt is Bo.,bad,ann\n"

    [asked] = read_labels(data, "l.csv").errors

    assert asked.message == ("which column holds the prompt or the id of the case? It has: response, label, annotator.")


def test_read_labels_takes_labels_that_no_person_gave() -> None:
    data = b"case,system,label\nc1,oak,right\nc1,elm,wrong\n"

    parsed = read_labels(data, "gold.csv")

    assert labels_of(parsed) == [("c1 · oak", [("", "right")]), ("c1 · elm", [("", "wrong")])]
    assert [(label.value, label.share) for label in sheet_of(parsed).labels] == [("wrong", 0.0), ("right", 1.0)]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"response_id,label\n12,right\n", ("12", "12", "", "")),
        (b"case,system,attempt,rater,label\nc1,oak,2,ann,right\n", ("", "c1", "oak", "2")),
        (b"case,system,rater,label\nc1,oak,ann,right\n", ("", "c1", "oak", "")),
    ],
)
def test_read_labels_names_responses_of_this_site(data: bytes, named: tuple[str, ...]) -> None:
    [item] = sheet_of(read_labels(data, "l.csv", about="")).items

    response = item.response
    assert response is not None
    assert (response.response_id, response.case, response.system, response.attempt) == named


def test_read_labels_makes_a_sheet_of_each_question_of_a_tool() -> None:
    records: list[Any] = [
        {
            "id": "r1",
            "fields": {"prompt": "Why?", "response": "So."},
            "responses": [
                {"user_id": "u1", "status": "submitted", "values": {"tone": {"value": 3}, "ok": {"value": "no"}}}
            ],
        }
    ]

    parsed = read_labels(json.dumps(records).encode(), "records.json")

    assert parsed.value is not None
    assert [
        (sheet.criterion, [row.label for item in sheet.items for row in item.labels]) for sheet in parsed.value.sheets
    ] == [("tone", ["3"]), ("ok", ["no"])]


def test_read_labels_keeps_preferences_about_turns_apart_and_who_is_compared() -> None:
    row = {"question_id": 81, "model_a": "elm", "model_b": "oak", "rater": "ann", "winner": "model_a"}
    turned = {"model_a": "oak", "model_b": "elm", "winner": "model_b", "rater": "ben"}
    rows = [row | {"turn": 1}, row | {"turn": 2, "winner": "tie"}, row | turned | {"turn": 1}]

    parsed = read_labels(json.dumps(rows).encode(), "human.json")

    assert labels_of(parsed) == [
        ("81 · elm · oak · turn 1", [("ann", "1"), ("ben", "1")]),
        ("81 · elm · oak · turn 2", [("ann", "0")]),
    ]
    assert [item.about for item in sheet_of(parsed).items] == [{"case": "81", "a": "elm", "b": "oak"}] * 2


def test_read_labels_takes_preferences_whichever_way_round() -> None:
    header = "id,question,system_a,system_b,response_a,response_b,rater,preference"
    lines = ["q,Why?,oak,elm,By oak.,By elm.,u0,A", "q,Why?,elm,oak,By elm.,By oak.,u1,A"]

    parsed = read_labels("\n".join([header, *lines, ""]).encode(), "votes.csv")

    assert labels_of(parsed) == [("q · oak · elm", [("u0", "1"), ("u1", "-1")])]


def test_read_labels_tells_responses_of_one_question_apart() -> None:
    data = b"question,response,rater,label\nWhy?,So.,ann,good\nWhy?,Thus.,ann,bad\nWhy?,So.,ben,good\n"

    assert labels_of(read_labels(data, "l.csv")) == [
        ("1", [("ann", "good"), ("ben", "good")]),
        ("1 · l (2)", [("ann", "bad")]),
    ]


def test_read_labels_takes_the_column_of_one_rater() -> None:
    assert labels_of(read_labels(b"item,rater 1\n1,good\n2,bad\n", "l.csv")) == [
        ("1", [("rater 1", "good")]),
        ("2", [("rater 1", "bad")]),
    ]


def test_read_labels_takes_ratings_by_id_alone_for_labels() -> None:
    parsed = read_labels(b"ID,Rating\n1,3\n2,4\n", "ann.csv")

    assert labels_of(parsed) == [("1", [("", "3")]), ("2", [("", "4")])]
