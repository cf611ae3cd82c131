"""What several people's answers to a form come to, question by question."""

from __future__ import annotations

from typing import Any

import pytest

from evalsite.review.questions.answer_forms import label_form
from evalsite.review.questions.form_decisions import (
    agreed_answer,
    agreed_answers,
    is_below,
    is_right,
    marks,
)
from evalsite.review.questions.form_files import form_of_definition, read_form
from evalsite.review.questions.forms import Answer
from evalsite.review.questions.scales import JUDGEMENT

pytestmark = pytest.mark.backend_free
TEXT = "10#01234567"  # what a text is known by
KINDS = {
    "choice": "options: [x, y, z]",
    "choices": "options: [x, y, z]",
    "scale": "low: 1, high: 5",
    "preference": "grades: 7",
    "number": "low: 0, step: 0.5",
    "ranking": "ties: true",
    "spans": "labels: {minor: 1, major: 5}, in: context",
}


@pytest.mark.parametrize(
    ("kind", "values", "agreed"),
    [
        ("choice", ["x", "x", "y"], "x"),
        ("choice", ["x", "y"], None),
        ("choices", [["x", "y"], ["x"], ["y", "z"]], ["x", "y"]),
        ("choices", [["x"], ["y"]], None),  # half marked x
        ("choices", [["x"], ["y"], ["z"]], None),  # more than half marked nothing
        ("scale", [3, 4, 4], 4),
        ("scale", [2, 4, 4], None),  # two steps apart
        ("scale", [3, 4], None),  # an even number of people who differ
        ("scale", [3, 3], 3),
        ("number", [1.5, 2, 2], 2),
        ("number", [1, 2, 2], None),
        ("preference", [3, 1, 2], 2),
        ("preference", [-1, -3], -1),  # the milder of two
        ("preference", [1, -1, 1], None),
        ("preference", [0, 0], 0),
        ("preference", [0, 1, 1], None),
        ("choice", [], None),
        ("spans", [[TEXT, "0-4:minor"], [TEXT, "2-6:minor"], [TEXT, "3-8:major"]], [TEXT, "2-4:minor"]),
        # 2 and 3 are joined to 4 and 5, which others marked
        (
            "spans",
            [[TEXT, "2-6:minor"], [TEXT, "2-4:minor"], [TEXT, "4-6:minor", "7-8:major"]],
            [TEXT, "2-6:minor"],
        ),
        ("spans", [[TEXT, "0-4:minor"], [TEXT, "0-4:major"]], [TEXT]),
        ("spans", [[TEXT], [TEXT]], [TEXT]),
        ("ranking", [["b", "ac"]], ["b", "ac"]),
        # ranks 1 2 3, 1 3 2, 1 2 3: sums 3 7 8, S = 14, W = 168 / 216 = 0.78
        ("ranking", [["a", "b", "c"], ["a", "c", "b"], ["a", "b", "c"]], ["a", "b", "c"]),
        ("ranking", [["a", "b", "c"], ["a", "c", "b"]], ["a", "bc"]),  # sums 2 5 5, S = 6, W = 72 / 96 = 0.75
        ("ranking", [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], None),  # W = 4 / 9
        ("ranking", [["abc"], ["a", "b", "c"], ["abc"]], None),  # sums 5 6 7, S = 2, W = 24 / (216 - 144) = 1 / 3
    ],
)
def test_each_kind_is_decided_by_its_rule(kind: str, values: list[Any], agreed: Answer | None) -> None:
    form = form_of_definition(read_form(f"- {{key: q, ask: Q?, kind: {kind}, {KINDS[kind]}}}"), size=3)

    assert form is not None
    assert agreed_answer(form.parts[0], values) == agreed


FORM = """
- {key: good, ask: Good?, kind: choice, options: ["yes", "no"]}
- {key: fault, ask: Which fault?, kind: choice, options: [x, y], show_if: {good: ["no"]}}
- {key: use, ask: How useful?, kind: scale, low: 1, high: 3, required: false}
- {key: note, ask: Words?, kind: text}
"""


@pytest.mark.parametrize(
    ("answers", "values", "open_keys"),
    [
        (
            [{"good": "yes", "use": 1, "note": "a"}, {"good": "yes", "use": 3, "note": "b"}],
            {"good": "yes"},
            (),
        ),  # the optional question stays without an answer, texts decide nothing
        ([{"good": "no", "fault": "x"}, {"good": "no", "fault": "y"}], {"good": "no"}, ("fault",)),
        ([{"good": "no", "fault": "x"}, {"good": "yes"}], {}, ("good",)),  # nothing is known of what depends on it
        ([{"good": "no", "fault": "x"}] * 2 + [{"good": "yes"}], {"good": "no", "fault": "x"}, ()),
    ],
)
def test_an_item_is_decided_once_each_required_question_that_is_asked_is(
    answers: list[dict[str, Answer]], values: dict[str, Answer], open_keys: tuple[str, ...]
) -> None:
    form = form_of_definition(read_form(FORM), size=1)

    assert form is not None
    assert agreed_answers(form, answers) == (values, open_keys)


@pytest.mark.parametrize(
    ("kind", "said", "known", "tolerance", "right"),
    [
        ("choice", "x", "x", 0, True),
        ("choice", "x", "y", 9, False),
        ("choices", ["x", "y"], ["x", "y"], 0, True),
        ("choices", ["x"], ["x", "y"], 0, False),
        ("scale", 3, 4, 1, True),
        ("scale", 2, 4, 1, False),
        ("number", 1.5, 1, 0.5, True),
        ("preference", 3, 1, 0, True),  # the same side
        ("preference", 0, 1, 0, False),
        ("ranking", ["a", "bc"], ["a", "bc"], 0, True),
        ("ranking", ["a", "b", "c"], ["a", "bc"], 0, False),  # tau-b = 2 / sqrt(3 * 2)
        ("ranking", ["abc"], ["abc"], 0, True),
        ("choice", None, "x", 0, False),
        ("spans", [TEXT, "0-4:minor"], [TEXT, "0-6:minor"], 0, True),  # F1 = 2 * 4 / 10
        ("spans", [TEXT, "0-4:minor"], [TEXT, "0-7:minor"], 0, False),  # 2 * 4 / 11
        ("spans", [TEXT, "0-4:minor"], [TEXT, "0-4:major"], 0, False),
        ("spans", [TEXT], [TEXT], 0, True),
    ],
)
def test_is_right_goes_by_the_kind(kind: str, said: Any, known: Any, tolerance: float, right: bool) -> None:
    form = form_of_definition(read_form(f"- {{key: q, ask: Q?, kind: {kind}, {KINDS[kind]}}}"), size=3)

    assert form is not None
    assert is_right(form.parts[0], said, known, tolerance=tolerance) is right


def test_marks_are_given_to_the_questions_whose_answer_is_known_and_never_to_texts() -> None:
    text = "- {key: good, ask: Good?, kind: choice, options: [x, y]}\n- {key: note, ask: Why?, kind: text}\n"
    form = form_of_definition(read_form(text + "- {key: use, ask: Use?, kind: scale, low: 1, high: 3}"), size=1)
    said: dict[str, Any] = {"label": "x", "parts": {"good": "x", "note": "a", "use": 1}, "tolerance": 0}

    known = {"good": "x", "note": "b"}

    assert form is not None
    assert marks(form, **said, known_label="x", known_parts=known) == {"good": True}
    assert marks(label_form(JUDGEMENT), **said, known_label="y", known_parts={}) == {"label": False}


def test_marks_leaves_out_a_question_that_the_answers_before_did_not_open() -> None:
    form = form_of_definition(
        read_form(
            "- {key: better, ask: Better?, kind: preference, grades: 5}\n"
            "- {key: why, ask: Why?, kind: choice, options: [fact, style], show_if: {better: [2, -2]}}"
        ),
        size=2,
    )
    known: dict[str, Answer] = {"better": 2, "why": "fact"}

    assert form is not None
    for parts, right in (
        ({"better": 1}, {"better": True}),  # the same sign, and nobody asked why
        ({"better": 2, "why": "style"}, {"better": True, "why": False}),
    ):
        found = marks(form, label="1", parts=parts, known_label="1", known_parts=known, tolerance=0.0)  # type: ignore[arg-type]
        assert found == right


@pytest.mark.parametrize(
    ("right", "answered", "below"),
    [
        (0, 9, False),  # too few to say
        (5, 10, True),  # at most 0.688 with 90% certainty (Wilson)
        (6, 10, False),
        (12, 20, False),
        (11, 20, True),  # at most 0.682
    ],
)
def test_is_below_needs_ten_answers_and_certainty(right: int, answered: int, below: bool) -> None:
    assert is_below(right, answered, mark=0.7) is below
