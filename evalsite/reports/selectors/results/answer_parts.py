"""People's annotations of each part of a criterion's form: one rating table for each check and each dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalsite.reports.selectors.annotations import ScaledAnswers, answers_of
from evalsite.reports.selectors.options import Options
from evalsite.review.models import Queue, ReviewItem
from evalsite.review.questions.answer_forms import FormPart, value_text
from evalsite.review.selectors.labels.subjects import form_of_item
from judging.statistics.coefficients.alpha import Metric, metric_of_scale
from judging.statistics.coefficients.ratings import MISSING, RatingTable

MAX_PARTS = 100  # those with the most annotations are read
CHUNK = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class PartAnswers:
    """The annotations of one part."""

    criterion: str
    part: FormPart
    answers: ScaledAnswers


@dataclass(slots=True)
class _PartAnnotations:
    """People's annotations of one part."""

    item_id: int  # one that has the part
    values: dict[tuple[int, str], Any] = field(default_factory=dict)  # (item, person) -> value


def part_answers_of(queue: Queue, options: Options) -> list[PartAnswers]:
    """Return the blind annotations of each part in a queue, in the order of the forms.

    A part is known by its criterion and its key: where each case has a rubric of its own, parts of one key
    are in one table.
    """
    annotations = _read(queue, options)
    busiest = sorted(annotations, key=lambda key: -len(annotations[key].values))[:MAX_PARTS]
    items = ReviewItem.objects.select_related("subject__rubric_item")
    by_id = items.in_bulk({annotations[key].item_id for key in busiest})
    rows = []
    for criterion, key in busiest:
        annotated = annotations[criterion, key]
        form = form_of_item(by_id[annotated.item_id])
        position, part = next(
            ((position, part) for position, part in enumerate(form.parts if form else ()) if part.key == key), (0, None)
        )
        if part is not None:
            answers = ScaledAnswers(_table(annotated.values, part), metric_of(part))
            rows.append((criterion, position, PartAnswers(criterion, part, answers)))
    return [row for _, _, row in sorted(rows, key=lambda row: row[:2])]


def metric_of(part: FormPart) -> Metric:
    """Return how far apart two values of a part's scale are."""
    if part.is_check or part.scale.kind == "nominal":
        return Metric.NOMINAL
    return metric_of_scale([float(choice.value) for choice in part.choices]) if part.choices else Metric.INTERVAL


def _read(queue: Queue, options: Options) -> Mapping[tuple[str, str], _PartAnnotations]:
    annotations: dict[tuple[str, str], _PartAnnotations] = {}
    rows = answers_of(queue, options).exclude(parts={})
    fields = ("item_id", "item__criterion", "annotator__username", "parts")
    for item_id, criterion, person, parts in rows.values_list(*fields).iterator(CHUNK):
        for key, value in parts.items():
            annotations.setdefault((criterion, key), _PartAnnotations(item_id)).values[item_id, person] = value
    return annotations


def _table(values: Mapping[tuple[int, str], Any], part: FormPart) -> RatingTable:
    """Return the table of one part, its labels in the order of the scale."""
    scale_values = sorted(set(values.values())) if not part.choices else []
    labels = [choice.value for choice in part.choices] or [value_text(value) for value in scale_values]
    numbers = None if metric_of(part) is Metric.NOMINAL else tuple(float(label) for label in labels)
    items, people = sorted({item for item, _ in values}), sorted({person for _, person in values})
    rows, columns = {item: n for n, item in enumerate(items)}, {person: n for n, person in enumerate(people)}
    codes = np.full((len(items), len(people)), MISSING, dtype=np.int64)
    position = defaultdict(lambda: MISSING, {label: code for code, label in enumerate(labels)})
    for (item, person), value in values.items():
        codes[rows[item], columns[person]] = position[value_text(value)]
    return RatingTable(tuple(map(str, items)), tuple(people), tuple(labels), codes, numbers)
