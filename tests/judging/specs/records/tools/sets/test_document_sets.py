from __future__ import annotations

import pytest

from tests.judging.specs.records.tools.uploads import Fields, kinds, stored, told

pytestmark = pytest.mark.backend_free

_FIRST: Fields = {"instructions": ["Who speaks?", "About what?"], "outputs": ["Ann", ["Rain", "Weather"]]}
_FIRST |= {"input": "Ann spoke about rain.", "oak_outputs": ["Ann does.", None], "source": "talks"}
_SECOND: Fields = {"instructions": ["Who speaks?"], "outputs": ["Bo"], "input": "Bo spoke.", "oak_outputs": ["Bo."]}


def test_each_question_about_a_document_is_a_case_with_it_as_context() -> None:
    document = stored({"talks.jsonl": [_FIRST, _SECOND]})

    assert told(document["cases"], "id", "prompt", "references", "context") == [
        ("1", "Who speaks?", ["Ann"], ["Ann spoke about rain."]),
        ("2", "About what?", ["Rain", "Weather"], ["Ann spoke about rain."]),
        ("3", "Who speaks?", ["Bo"], ["Bo spoke."]),
    ]
    assert told(document["responses"], "case", "system", "text") == [("1", "oak", "Ann does."), ("3", "oak", "Bo.")]


def test_the_id_of_a_document_numbers_its_questions() -> None:
    document = stored({"talks.jsonl": [{**_FIRST, "doc_id": "d7"}]})

    assert [row["id"] for row in document["cases"]] == ["d7-1", "d7-2"]


def test_lists_of_other_lengths_are_no_such_set() -> None:
    assert kinds({"t.jsonl": [{**_FIRST, "outputs": ["Ann"]}]}) == ["table"]
