"""The label that somebody gives an item: chosen, or the score that the parts of its criterion's form come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.review.models import Annotation, ReviewItem
from evalsite.review.questions.answer_forms import PartsMissing, majority_parts
from evalsite.review.selectors.labels.subjects import form_of_item
from evalsite.review.states import ReviewRefused
from judging.grading.rubric_tree import Value


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A label in system space, and the values of the form's parts that it was computed from."""

    label: str
    parts: dict[str, Value] = field(default_factory=dict)


def given_label(item: ReviewItem, *, label: str, part_texts: Mapping[str, str]) -> GivenLabel:
    """Return the score that what somebody said of the parts comes to; the label where the item has no parts.

    Raises:
        ReviewRefused: a part has no value on its scale.
    """
    form = form_of_item(item)
    if form is None:
        return GivenLabel(label)
    try:
        values = form.read(part_texts)
        return GivenLabel(form.label(values), values)
    except PartsMissing as error:
        raise ReviewRefused(str(error)) from error


def agreed_parts(item: ReviewItem, answers: Sequence[Annotation], *, label: str) -> dict[str, Value]:
    """Return the values that more than half of the answers give each part, where they come to the label.

    Two people may find other parts met and come to one score: then nothing is known of the parts.
    """
    values = majority_parts([answer.parts for answer in answers])
    if not values:
        return {}
    form = form_of_item(item)
    return values if form is not None and form.holds(values) and form.label(values) == label else {}
