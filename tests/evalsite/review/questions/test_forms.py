"""Answers as texts, and marks in a text: read, refused, shown and worded."""

from __future__ import annotations

import pytest

from evalsite.review.questions.form_files import form_of_definition, read_form
from evalsite.review.questions.forms import (
    MOST_MARKS,
    Answer,
    OwnForm,
    PartsMissing,
    read_marks,
    said_text,
    seal_of,
    segments,
    value_text,
    words_of_marks,
)

pytestmark = pytest.mark.backend_free
TEXT = "Two 🙂 is five."
SEAL = seal_of(TEXT)
LABELS = ("minor", "major")
FORM = """
- {key: errors, ask: Mark the errors., kind: spans, labels: {minor: 1, major: 5}}
- {key: basis, ask: Mark the basis., kind: spans, in: context, labels: [used], required: false}
"""


def test_a_text_is_known_by_its_length_in_code_points_and_its_checksum() -> None:
    assert SEAL.startswith("14#")
    assert len(SEAL) == len("14#") + 8
    assert seal_of("Two 🙂 is four.") != SEAL


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ([SEAL, "9-13:major", "0-3:minor"], [SEAL, "0-3:minor", "9-13:major"]),  # in the order of the text
        (["0-3:minor"], [SEAL, "0-3:minor"]),
        (["none"], [SEAL]),
        ([SEAL], [SEAL]),
        ([SEAL, "0-3:minor", "3-5:minor"], [SEAL, "0-3:minor", "3-5:minor"]),  # two errors side by side
        ([SEAL, "0-3:minor", "2-5:minor"], None),
        ([SEAL, "3-3:minor"], None),
        ([SEAL, "5-3:minor"], None),
        ([SEAL, "10-15:minor"], None),  # the text has 14
        ([SEAL, "0-3:grave"], None),
        ([SEAL, "none"], None),
        ([seal_of("Another text."), "0-3:minor"], None),
        ([SEAL, *(["0-3:minor"] * (MOST_MARKS + 1))], None),
    ],
)
def test_marks_are_read_where_they_fit_the_text(said: list[str], stored: list[str] | None) -> None:
    assert read_marks(said, labels=LABELS, text=TEXT) == stored


def test_without_the_text_at_hand_it_has_to_be_named() -> None:
    assert read_marks([SEAL, "0-3:minor"], labels=LABELS, text=None) == [SEAL, "0-3:minor"]
    assert read_marks(["0-3:minor"], labels=LABELS, text=None) is None


def test_segments_keep_the_numbers_of_characters() -> None:
    text = "One\r\ntwo"

    assert list(segments(text, [seal_of(text), "0-3:minor", "5-7:major"])) == [
        ("One", "minor"), (" \n", ""), ("tw", "major"), ("o", ""),
    ]  # fmt: skip
    assert list(segments("", ["none"])) == []


def test_words_quote_what_is_marked() -> None:
    assert words_of_marks([SEAL, "0-3:minor", "4-5:major"], TEXT) == "minor “Two”, major “🙂”"
    assert words_of_marks([SEAL, "0-3:minor"], None) == "minor 0 to 3"
    assert words_of_marks([SEAL], TEXT) == "nothing marked"


def form(size: int) -> OwnForm:
    made = form_of_definition(read_form(FORM), size=size)
    assert made is not None
    return made


def test_each_response_is_marked_and_the_context_once() -> None:
    pair = form(2).with_texts({"a": TEXT, "b": "Six.", "context": "Sums."})

    said = {"errors.a": "0-3:minor", "errors.b": "none", "basis": "0-4:used"}
    values = pair.read(said)

    assert [part.key for part in pair.parts] == ["errors.a", "errors.b", "basis"]
    assert values == {
        "errors.a": [SEAL, "0-3:minor"], "errors.b": [seal_of("Six.")], "basis": [seal_of("Sums."), "0-4:used"],
    }  # fmt: skip
    assert pair.holds(values)
    assert pair.read(pair.texts(values)) == values
    assert pair.words(values) == "errors.a: minor “Two”; errors.b: nothing marked; basis: used “Sums”"
    assert pair.turned(values, {"a": "b", "b": "a"})["errors.b"] == values["errors.a"]
    assert [part.digit(1) for part in pair.parts[:1]] == ["2"]


def test_marks_that_are_missing_or_of_another_text_are_named() -> None:
    single = form(1).with_texts({"": TEXT})

    for said in ({}, {"errors": f"{seal_of('Six.')},0-3:minor"}):
        with pytest.raises(
            PartsMissing, match=r"^Answer first: Mark the errors\. Mark parts of the text as it is shown"
        ):
            single.read(said)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1234567"), (0.123456789, "0.123456789"), (3.0, "3"), (True, "met"), (["a", "b"], "a,b")],
)
def test_value_text_loses_nothing_of_an_answer(value: Answer, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize(("said", "text"), [(None, ""), (False, "not met"), (1234567, "1234567"), (["a", 2], "a,2")])
def test_said_text_reads_json_as_pages_hold_it(said: object, text: str) -> None:
    assert said_text(said) == text
