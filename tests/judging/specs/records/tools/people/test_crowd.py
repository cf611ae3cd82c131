from __future__ import annotations

import csv
import io

import pytest

from tests.judging.specs.records.tools.uploads import Fields, read, stored, told

pytestmark = pytest.mark.backend_free


def _table(*rows: Fields) -> str:
    columns = {"HITId": "", "Title": "", "WorkerId": "", "AssignmentStatus": "", "SubmitTime": ""} | rows[0]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _assignment(worker: str, hit: str = "H1", **answers: str) -> Fields:
    shown = {"Input.question": "What is rain?", "Input.response": "Water that falls."}
    given = {f"Answer.{name}": value for name, value in answers.items()}
    return {"HITId": hit, "WorkerId": worker, "AssignmentStatus": "Approved", **shown, **given}


def test_each_answer_of_a_worker_is_a_label_by_field() -> None:
    rows = [
        _assignment("W1", **{"clear.label": "good", "true.label": "bad", "comment": "It is\nshort."}),
        _assignment("W2", **{"clear.label": "good", "true.label": "", "comment": ""}),
    ]

    document = stored({"Batch_1.csv": _table(*rows)})

    assert told(document["responses"], "case", "system", "text") == [("H1", "Batch_1", "Water that falls.")]
    assert told(document["labels"], "case", "rater", "criterion", "label", "reason") == [
        ("H1", "W1", "clear", "good", "It is\nshort."),
        ("H1", "W1", "true", "bad", None),
        ("H1", "W2", "clear", "good", None),
    ]


def test_boxes_and_answers_in_json_are_labels_too() -> None:
    boxes = {"Answer.kind.fact": "true", "Answer.kind.joke": "false", "Answer.kind.news": "true"}
    said = {"Answer.taskAnswers": '[{"tone": {"label": "calm"}, "size": {"big": false, "small": true}, "n": 3}]'}

    document = stored({"b.csv": _table(_assignment("W1") | boxes | said)})

    assert told(document["labels"], "criterion", "label") == [
        ("tone", "calm"),
        ("size", "small"),
        ("n", "3"),
        ("kind", "fact, news"),
    ]


def test_rejected_assignments_are_left_out() -> None:
    text = _table(_assignment("W1", clear="good"), _assignment("W2", clear="bad") | {"AssignmentStatus": "Rejected"})

    collected = read({"b.csv": text}).collected

    assert collected is not None
    assert told(collected.document()["labels"], "rater", "label") == [("W1", "good")]
    assert collected.left_out() == [
        ("column", "what the platform says of its tasks", 1),
        ("annotation", "the assignment is rejected", 1),
    ]


def test_results_of_toloka_are_labels_and_their_golden_answers_details() -> None:
    header = ["INPUT:id", "INPUT:text", "OUTPUT:tone", "GOLDEN:tone", "ASSIGNMENT:worker_id", "ASSIGNMENT:submitted"]
    row = ["7", "It rains again.", "calm", "calm", "w1", "2024-01-02T03:04:05"]

    document = stored({"pool.tsv": "\t".join(header) + "\n" + "\t".join(row) + "\n"})

    assert told(document["cases"], "id", "prompt", "metadata") == [("7", "It rains again.", {"GOLDEN:tone": "calm"})]
    assert told(document["labels"], "case", "rater", "criterion", "label") == [("7", "w1", "tone", "calm")]
