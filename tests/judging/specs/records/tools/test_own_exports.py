from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evalsite.base.tables import Table, table_bytes
from evalsite.review.tables.annotations import COLUMNS as ANNOTATION_COLUMNS
from judging.specs.records.neutral import NOWHERE, CaseRecord, ResponseRecord
from judging.specs.suites.cases_yaml import question_row, response_row
from tests.judging.specs.records.tools.uploads import Fields, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free

CASE = CaseRecord(
    *("q1", "Is it?"), references=["Yes."], context=["It is."], context_role="supplementary", scenario="s",
    question_type="t", lang="en", metadata={"topic": "x"},
)  # fmt: skip


def _csv(columns: Sequence[str], *rows: Fields) -> str:
    return b"".join(table_bytes(Table("t", tuple(columns), rows), "csv")).decode("utf-8-sig")


def test_cases_and_responses_come_back_without_loss() -> None:
    turns = ({"role": "user", "parts": [{"text": "Hi"}]}, {"role": "assistant", "parts": [{"text": "Hello"}]})
    cases = [
        question_row(CASE, ()),
        question_row(CaseRecord(key="q2", prompt="Hi", messages=turns, scenario="s", lang="de"), ()),
    ]
    responses = [response_row(ResponseRecord("elk", "No.", attempt=1, case_key="q1"), ())]
    files = {"responses.jsonl": responses, "cases.jsonl": cases}

    document = stored(files)

    assert kinds(files) == ["site-responses", "site-cases"]
    assert document["cases"][0] == {
        "id": "q1",
        "prompt": "Is it?",
        "references": ["Yes."],
        "context": ["It is."],
        "metadata": {"topic": "x", "scenario": "s", "question_type": "t", "lang": "en"},
    }
    assert told(document["cases"][1]["messages"], "role", "text") == [("user", "Hi"), ("assistant", "Hello")]
    assert document["responses"] == [{"case": "q1", "system": "elk", "attempt": 1, "text": "No."}]
    reading = read(files)
    assert reading.collected is not None
    case = next(iter(reading.collected.cases))[1]
    assert replace(case, place=NOWHERE, source_path="") == CASE


def test_scores_come_back_with_their_scale_and_judges_as_verdicts() -> None:
    row = {
        "suite": "s",
        "run_id": 1,
        "run": "r",
        "evaluator": "words",
        "is_baseline": False,
        "case": "q1",
        "scenario": "x",
    }
    row |= {
        "type": "",
        "lang": "en",
        "system": "elk",
        "attempt": 0,
        "response_id": 5,
        "status": "ok",
        "value": 2,
        "full": 4,
    }
    row |= {"share": 0.5, "verdict_id": None, "prompt": "=Is it?", "response": "-No.", "stop_reason": "stop"}
    judged = row | {"evaluator": "judge", "verdict_id": 9, "judge_reason": "Short."}
    rules = row | {"evaluator": "rules", "value": 1.5, "full": 3}
    files = {"scores.csv": _csv(list(row | judged), row, judged, rules)}

    document = stored(files)

    assert told(document["cases"], "id", "prompt") == [("q1", "=Is it?")]
    assert told(document["responses"], "case", "system", "text", "stop") == [("q1", "elk", "-No.", "stop")]
    assert told(document["scores"], "grader", "value", "scale") == [
        ("words", 2.0, [0, 4.0]),
        ("rules", 0.5, [0, 1]),  # of cases with full scores of their own, on one scale
    ]
    assert told(document["verdicts"], "judge", "value", "scale", "reason") == [("judge", 2.0, [0, 4.0], "Short.")]


def test_results_of_one_attempt_come_back_and_means_are_left_out() -> None:
    row = {
        "case": "q1",
        "scenario": "x",
        "language": "",
        "system": "elk",
        "grader": "words",
        "score": 0.5,
        "label": "good",
    }
    row |= {"attempts": 1, "status": "ok", "prompt": "Is it?", "response": "No.", "address": "/x", "verdict": None}
    rows = [
        row,
        row | {"grader": "judge", "verdict": 3, "label": ""},
        row | {"case": "q2", "prompt": "So?", "attempts": 2},
    ]

    document = stored({"results.csv": _csv(list(row), *rows)})

    assert told(document["responses"], "case", "attempt", "text") == [("q1", 0, "No.")]
    assert told(document["scores"], "grader", "value", "scale") == [("words", 0.5, [0, 1])]
    assert told(document["verdicts"], "judge", "value") == [("judge", 0.5)]
    assert told(document["labels"], "case", "rater", "label", "system") == [("q1", "", "good", "elk")]


def test_texts_that_a_spreadsheet_would_run_come_back_beside_printed_lists() -> None:
    row = {"case": "q1", "system": "elk", "grader": "words", "score": 0.5, "attempts": 1, "address": "/x"}
    row |= {"prompt": "-5 + 3?", "response": "=2-4", "prompt_images": [], "response_messages": []}

    document = stored({"results.csv": _csv(list(row), row)})

    assert told(document["cases"], "prompt") == [("-5 + 3?",)]
    assert told(document["responses"], "text") == [("=2-4",)]


def test_responses_to_a_case_name_it() -> None:
    row = {
        "case": "q1",
        "system": "elk",
        "attempt": 0,
        "scored_by": "words",
        "criterion": "c",
        "score": 1.0,
        "label": None,
    }
    row |= {"response": "No.", "address": "http://x/responses/1/"}
    people = row | {"scored_by": "people", "label": "good"}
    judge = row | {"scored_by": "gpt", "address": "http://x/verdicts/1/", "reasons": "So."}

    document = stored({"case.csv": _csv(list(judge), row, people, judge)})

    assert told(document["scores"], "case", "grader", "value") == [("q1", "words", 1.0)]
    assert told(document["labels"], "rater", "label", "criterion") == [("", "good", "c")]
    assert told(document["verdicts"], "judge", "reason") == [("gpt", "So.")]


def test_annotations_of_a_queue_are_labels_and_preferences_of_people() -> None:
    act: Fields = {
        "item": 1,
        "item_hash": "h",
        "act": "answered",
        "annotator": "maja",
        "case": "q1",
        "criterion": "tone",
    }
    pair = act | {"subject": "pair", "system_a": "elk", "system_b": "owl", "blind_label": "-1", "note": "Better."}
    response = act | {"item": 2, "subject": "response", "system_a": "elk", "blind_label": "2", "revised_label": "3"}
    material = act | {
        "item": 3,
        "subject": "material",
        "case": "m1",
        "blind_label": "good",
        "answered_at": "2026-11-02T10:00:00Z",
    }
    rows = [pair, response, material, act | {"item": 4, "act": "skipped"}]
    files = {"annotations.csv": _csv(ANNOTATION_COLUMNS, *rows)}

    document = stored(files)

    assert told(document["preferences"], "a", "b", "choice", "by", "reason") == [("elk", "owl", "B", "maja", "Better.")]
    assert told(document["labels"], "case", "rater", "label", "system") == [
        ("q1", "maja", "3", "elk"),
        ("m1", "maja", "good", None),
    ]
    assert warned(files) == {"cancelled-annotation": 1}


def test_imported_labels_and_answers_come_back() -> None:
    labels = _csv(
        ("item", "rater", "label", "given_at", "criterion", "scenario", "language"),
        {"item": "x", "rater": "a", "label": "1"},
    )
    answer = {
        "item_id": 4,
        "criterion": "c",
        "annotator": "a",
        "label": "good",
        "cannot_judge": "",
        "item_status": "open",
    }

    assert told(stored({"l.csv": labels})["labels"], "case", "rater", "label") == [("x", "a", "1")]
    assert told(stored({"a.csv": _csv(list(answer), answer)})["labels"], "case", "criterion", "label") == [
        ("4", "c", "good")
    ]


def test_tables_of_debates_are_left_out_by_name() -> None:
    reading = read(
        {
            "votes.csv": "set_id,debate_id,case,round\n1,2,q1,0\n",
            "sets.json": json.dumps([{"set_id": 1, "method": "debate", "setup": {}}]),
        }
    )

    assert reading.collected is not None
    assert [what for what, _, _ in reading.collected.left_out()] == ["file", "file"]
