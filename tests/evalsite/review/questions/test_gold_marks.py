"""Whether gold items are answered right, by the kind of each question, and from when on somebody is paused."""

from __future__ import annotations

from typing import Any

import pytest

from evalsite.review.questions.form_files import form_of_definition, read_form
from evalsite.review.questions.gold_marks import is_below, is_right, marks
from evalsite.review.questions.label_forms import label_form
from evalsite.review.questions.scales import JUDGEMENT
from tests.evalsite.review.questions.test_form_decisions import KINDS, TEXT

pytestmark = pytest.mark.backend_free


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
