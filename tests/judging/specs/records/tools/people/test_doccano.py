from __future__ import annotations

import pytest

from tests.judging.specs.records.tools.uploads import Fields, kinds, stored, told

pytestmark = pytest.mark.backend_free


def test_labels_of_a_table_are_joined_in_one_order_and_comments_are_reasons() -> None:
    table = "id,text,topic,label,Comments\n1,Late parcel.,x,late#angry,hm\n2,I like C#.,y,C#,\n3,Thanks!,y,,\n"

    document = stored({"all.csv": table})

    assert told(document["labels"], "case", "label", "reason") == [("1", "angry, late", "hm"), ("2", "C#", None)]
    assert document["cases"][0]["metadata"] == {"topic": "x"}


def test_marks_in_texts_are_no_labels() -> None:
    rows: list[Fields] = [{"id": 1, "text": "Ada lives.", "label": [[0, 3, "PER"]], "Comments": []}]

    assert stored({"a.jsonl": rows})["labels"] == []


def test_a_table_with_other_columns_is_no_file_of_the_tool() -> None:
    assert kinds({"a.csv": "id,text,label,annotator\n1,Hi there.,x,maja\n"}) == ["table"]


def test_annotations_of_version_1_are_labels_of_their_people() -> None:
    said = [{"label": 15, "user": 1}, {"label": 4, "user": 2}, {"label": 9, "user": 1}]
    rows: list[Fields] = [{"id": 1, "text": "Late parcel.", "annotations": said, "annotation_approver": None}]
    rows.append({"id": 2, "text": "Ada lives.", "annotations": [{"label": 3, "start_offset": 0, "user": 1}]})

    document = stored({"project.jsonl": rows})

    assert told(document["labels"], "case", "rater", "label") == [("1", "1", "15, 9"), ("1", "2", "4")]


def test_texts_that_people_wrote_are_their_labels() -> None:
    rows: list[Fields] = [{"id": 1, "text": "Hello", "annotations": [{"text": "Hallo", "user": 5}]}]

    assert told(stored({"a.jsonl": rows})["labels"], "rater", "label") == [("5", "Hallo")]
