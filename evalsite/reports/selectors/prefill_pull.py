"""How far a model's answers pull people to whom they are shown filled in."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from evalsite.reports.selectors.annotations import answers_beside_models
from evalsite.reports.selectors.options import Options
from evalsite.review.blinding import QueueMode
from evalsite.review.models import Annotation, Queue
from evalsite.review.questions.gold_marks import is_right
from evalsite.review.selectors.labels.subjects import form_of_item
from judging.statistics.estimates import Estimate
from judging.statistics.intervals import difference_of_shares, share_by_cluster

JOINED = ("assignment", "item__queue", "item__material", "item__subject__rubric_item")


@dataclass(frozen=True, slots=True)
class Pull:
    """How often people agree with a model on a question, with its answer filled in and without, and the difference.

    An answer agrees with the model's as it would with a known one.
    """

    source: str
    key: str
    text: str
    prefilled: Estimate
    blind: Estimate
    pull: Estimate


def pulls_of(queue: Queue, options: Options) -> list[Pull]:
    """Return the pull of each question that models answered, by model and question; none where none answered."""
    arms: dict[tuple[str, str], dict[bool, list[tuple[bool, int]]]] = defaultdict(lambda: {True: [], False: []})
    texts: dict[str, set[str]] = defaultdict(set)
    for annotation in answers_beside_models(queue, options).select_related(*JOINED).iterator():
        is_shown, source = annotation.mode == QueueMode.PREFILLED, annotation.assignment.prefilled_by
        for key, (text, agrees) in _compared(annotation).items():
            arms[source, key][is_shown].append((agrees, annotation.item_id))
            texts[key].add(text)
    return [
        Pull(
            source,
            key,
            next(iter(texts[key])) if len(texts[key]) == 1 else key,
            shown,
            blind,
            difference_of_shares(shown, blind),
        )
        for (source, key), rows in sorted(arms.items())
        for shown, blind in [(_share(rows[True]), _share(rows[False]))]
    ]


def _share(marks: list[tuple[bool, int]]) -> Estimate:
    return share_by_cluster([agrees for agrees, _ in marks], [item for _, item in marks])


def _compared(annotation: Annotation) -> dict[str, tuple[str, bool]]:
    """Return the text of each question that the model answered and the person was asked, and whether they agree."""
    form, known = form_of_item(annotation.item), annotation.assignment.prefilled
    said = form.answers(annotation.label, annotation.parts)
    return {
        part.key: (
            part.text + (f" (response {part.side.upper()})" if part.side else "") or "Label",
            is_right(part, said.get(part.key), known[part.key]),
        )
        for part in form.shown(said)
        if part.key in known and not part.is_open
    }
