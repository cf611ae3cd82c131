"""The label that somebody gives an item, chosen or come to by a form, and what several people's answers come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean

from evalsite.review.models import Annotation, ReviewItem
from evalsite.review.questions.answer_forms import majority_parts
from evalsite.review.questions.form_decisions import agreed_answers
from evalsite.review.questions.forms import LABEL, Answer, OwnForm, PartsMissing, letters_stored
from evalsite.review.selectors.labels.subjects import form_of_item
from evalsite.review.states import ItemOutcome, ItemStatus, ReviewRefused, outcome


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A label in system space, and the answers to the form's questions that it was come to by."""

    label: str
    parts: dict[str, Answer] = field(default_factory=dict)


def given_label(item: ReviewItem, *, label: str, part_texts: Mapping[str, str], order: str = "") -> GivenLabel:
    """Return what somebody's answers to the form come to.

    `order`: in which they see the responses, and answered so. `label` is the answer of who says it in system space, in
    place of all others.

    Raises:
        ReviewRefused: a question has no answer, or one off its scale.
    """
    form = form_of_item(item, order=order)
    try:
        values = form.read({LABEL: label, **part_texts})
        if order and part_texts:
            values = form.turned(values, letters_stored(order))
        return GivenLabel(form.label(values), form.stored(values))
    except PartsMissing as error:
        raise ReviewRefused(str(error)) from error


def outcome_of(item: ReviewItem, given: Iterable[GivenLabel], *, quorum: int, unable: int = 0) -> ItemOutcome:
    """Return what labels, and answers to a form, make of an item.

    By an owner's form it is decided once each required question is; by a judge's once the scores are.
    """
    every = list(given)
    decision = outcome([answer.label for answer in every], quorum=quorum, unable=unable)
    if len(every) < quorum or item.response_a_id is not None:
        return decision
    form = form_of_item(item)
    if not isinstance(form, OwnForm):
        return decision
    agreed = agreed_answers(form, [answer.parts for answer in every])
    if agreed.is_decided:
        return replace(decision, state=ItemStatus.DECIDED, label=form.label(agreed.values))
    return replace(decision, state=ItemStatus.NEEDS_ADJUDICATION, label=None)


def dispute_of(given: Sequence[GivenLabel]) -> int:
    """Return how far people differ on an item, in thousandths from 0 to 1000: of each two of them, and each question
    that either answered, the share of answers that are not the same. Without a form the label is the one question."""
    shares = []
    for first, second in combinations(given, 2):
        questions = {*first.parts, *second.parts}
        differing = sum(first.parts.get(key) != second.parts.get(key) for key in questions)
        shares.append(differing / len(questions) if questions else float(first.label != second.label))
    return round(1000 * fmean(shares)) if shares else 0


def agreed_so_far(item: ReviewItem) -> dict[str, Answer]:
    """Return the answers to an item's form that its people agree on."""
    form = form_of_item(item)
    answers = (form.answers(answer.label, answer.parts) for answer in item.annotations.filter(left_out_at=None))
    given = [answer for answer in answers if answer]
    return agreed_answers(form, given).values if given else {}


def agreed_parts(item: ReviewItem, answers: Sequence[Annotation], *, label: str) -> dict[str, Answer]:
    """Return the answers that people agree on: of an owner's form by its rules, of a judge's where more than half give
    each part its value and these come to the label.

    Two people may find other parts met and come to one score: then nothing is known of the parts.
    """
    given = [answer.parts for answer in answers]
    if not any(given):
        return {}
    form = form_of_item(item)
    if isinstance(form, OwnForm):
        return agreed_answers(form, given).values
    values = majority_parts(given)
    return values if values and form.holds(values) and form.label(values) == label else {}
