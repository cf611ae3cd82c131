"""What several people's answers to one form come to, question by question. Pure.

Rules (`n` people were asked a question): one of several choices needs more than half of them; of several choices each
option that more than half marked; a number is the median of an odd number of people where all lie within one step, or
what all say; a preference is the median, the milder of two, where its signs agree; a ranking is the order of the mean
places where Kendall's W is at least 0.7; marked are the characters to which more than half give the same label. Texts
lead to no decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from evalsite.review.questions.forms import (
    LABEL,
    Answer,
    AnswerForm,
    FormQuestion,
    Kind,
    groups_of,
    marks_in,
    marks_of_most,
)
from judging.statistics.estimates import wilson_interval
from judging.statistics.rank_correlation import kendall_w, mid_ranks, tau_of_rankings
from judging.statistics.texts import f1_of

LEAST_CONCORDANCE = 0.7  # Kendall's W from which mean places decide a ranking
FEWEST_GOLD = 10  # answers to gold items before anybody is paused
LEAST_F1 = 0.8  # over characters, from which marks count as right
CERTAINTY = 0.9  # that the true share is below the mark, on one side


def agreed_answers(
    form: AnswerForm, answers: Sequence[Mapping[str, Answer]]
) -> tuple[dict[str, Answer], tuple[str, ...]]:
    """Return the answers that people agree on, by question, and the questions that are left to adjudicate.

    Whether a question is asked follows from what was agreed before it. Of one that depends on an open question nothing
    is known yet. An optional question without agreement is left without an answer.
    """
    agreed: dict[str, Answer] = {}
    undecided: list[str] = []
    unknown: set[str] = set()
    for part in form.parts:
        if any(condition.key in unknown for condition in part.show_if):
            unknown.add(part.key)
            continue
        if not all(condition.holds(agreed.get(condition.key)) for condition in part.show_if) or part.is_open:
            continue
        value = agreed_answer(part, [answer[part.key] for answer in answers if part.key in answer])
        if value is not None:
            agreed[part.key] = value
        elif part.is_required:
            undecided.append(part.key)
            unknown.add(part.key)
    return agreed, tuple(undecided)


def agreed_answer(part: FormQuestion, values: Sequence[Answer]) -> Answer | None:
    """Return what the people who answered a question agree on; None where they do not, or nobody did."""
    if not values:
        return None
    if part.kind is Kind.CHOICES:
        marks = {option: sum(isinstance(row, list) and option in row for row in values) for option in part.scale.labels}
        if any(2 * count == len(values) for count in marks.values()):
            return None
        return sorted(option for option, count in marks.items() if 2 * count > len(values)) or None
    if part.kind is Kind.RANKING:
        return _ranking(part, values)
    if part.kind is Kind.SPANS:
        return marks_of_most([value for value in values if isinstance(value, list)])
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if part.kind is Kind.PREFERENCE:
        return _preference(numbers)
    if part.kind in (Kind.SCALE, Kind.NUMBER):
        return _number(numbers, step=part.scale.step or 0)
    leading = max(values, key=values.count)
    return leading if 2 * values.count(leading) > len(values) else None


def _ranking(part: FormQuestion, values: Sequence[Answer]) -> Answer | None:
    """Return the order of the mean places; None where people agree too little, or the means tie and must not."""
    if all(value == values[0] for value in values):
        return values[0]
    ranks = [mid_ranks(value) for value in values if isinstance(value, list)]
    concordance = kendall_w(ranks)
    if concordance is None or concordance < LEAST_CONCORDANCE:
        return None
    doubled = {side: str(round(2 * sum(row[side] for row in ranks))) for side in part.scale.labels}  # means by n
    groups = groups_of(doubled)
    return groups if part.holds(groups) else None


def _preference(values: Sequence[float]) -> Answer | None:
    if len({(value > 0) - (value < 0) for value in values}) != 1:
        return None
    milder = sorted(values, key=abs)[(len(values) - 1) // 2]
    return int(milder)


def _number(values: Sequence[float], *, step: float) -> Answer | None:
    spread = max(values) - min(values)
    if not spread:
        return values[0]
    return median(values) if len(values) % 2 and spread <= step else None


def marks(
    form: AnswerForm,
    *,
    label: str,
    parts: Mapping[str, Answer],
    known_label: str,
    known_parts: Mapping[str, Answer],
    tolerance: float,
) -> dict[str, bool]:
    """Return by question whether an annotation is right, for the questions asked of which the answer is known."""
    said, known = form.answers(label, parts), form.answers(known_label, known_parts)
    if not known:
        return {LABEL: label == known_label}
    return {
        part.key: is_right(part, said.get(part.key), known[part.key], tolerance=tolerance)
        for part in form.shown(said)
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
