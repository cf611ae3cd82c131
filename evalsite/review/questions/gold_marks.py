"""Whether people answered gold items right, and from when on their work is paused. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from evalsite.review.questions.forms import LABEL, Answer, AnswerForm, FormQuestion, Kind
from evalsite.review.questions.marks import marks_in
from judging.statistics.coefficients.rank_correlation import tau_of_rankings
from judging.statistics.intervals import wilson_interval
from judging.statistics.marked_texts import f1_of

FEWEST_GOLD = 10  # answers to gold items before anybody is paused
LEAST_F1 = 0.8  # over characters, from which marks count as right
CERTAINTY = 0.9  # that the true share is below the mark, on one side


def marks(
    form: AnswerForm,
    *,
    label: str,
    parts: Mapping[str, Answer],
    known_label: str,
    known_parts: Mapping[str, Answer],
    tolerance: float,
) -> dict[str, bool]:
    """Return by question whether an annotation is right, for the questions of which the answer is known."""
    said, known = form.answers(label, parts), form.answers(known_label, known_parts)
    if not known:
        return {LABEL: label == known_label}
    return {
        part.key: is_right(part, said.get(part.key), known[part.key], tolerance=tolerance)
        for part in form.parts
        if part.key in known and not part.is_open
    }


def is_right(part: FormQuestion, said: Answer | None, known: Answer, *, tolerance: float = 0.0) -> bool:
    """Return whether an answer counts as right by the kind of its question.

    A number or a value of a scale within the tolerance, a preference of the same sign, a ranking of the same order
    (tau-b of 1), marks of nearly the same characters (F1 of 0.8), anything else if it is equal.
    """
    if said is None:
        return False
    if part.kind is Kind.PREFERENCE and isinstance(said, int) and isinstance(known, int):
        return (said > 0) - (said < 0) == (known > 0) - (known < 0)
    if part.kind in (Kind.SCALE, Kind.NUMBER) and isinstance(said, int | float) and isinstance(known, int | float):
        return abs(said - known) <= tolerance
    if part.kind is Kind.RANKING and isinstance(said, list) and isinstance(known, list):
        tau = tau_of_rankings(said, known)
        return said == known if tau is None else tau > 1 - 1e-9
    if part.kind is Kind.SPANS and isinstance(said, list) and isinstance(known, list):
        return f1_of(marks_in(said), marks_in(known)) >= LEAST_F1
    return said == known


def is_below(right: int, answered: int, *, mark: float) -> bool:
    """Return whether so many right answers show, at `CERTAINTY`, that a person's share is below the mark."""
    if answered < FEWEST_GOLD:
        return False
    return wilson_interval(right, answered, level=2 * CERTAINTY - 1)[1] < mark
