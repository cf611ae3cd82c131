"""Why the annotators of a queue disagreed, as its adjudicators tick it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from evalsite.review.models import Adjudication, Queue
from evalsite.review.selectors.screens.pages import question_of
from evalsite.review.states import ErrorKind


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How often one reason was ticked."""

    kind: str
    words: str
    items: int
    share: float | None  # of all adjudicated items; None where there are none


@dataclass(frozen=True, slots=True)
class PersonErrors:
    """How many labels of one person an adjudication changed, and why people disagreed there."""

    person: str
    labels: int  # on adjudicated items
    changed: int
    kinds: str  # of the changed ones: "slip: 2, misread: 1"


@dataclass(frozen=True, slots=True)
class SilentItem:
    """An item of which the guidelines say nothing: what a next version has to say."""

    id: int
    question: str
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class AdjudicationErrors:
    """What adjudicators ticked in a queue."""

    queue: str
    items: int
    kinds: tuple[ErrorCount, ...]
    people: tuple[PersonErrors, ...]  # those whose labels were changed most first
    silent: tuple[SilentItem, ...]


def errors_of_queue(queue: Queue) -> AdjudicationErrors:
    """Return why annotators disagreed in a queue, by kind and person, and where the guidelines say nothing."""
    rows = Adjudication.objects.filter(item__queue=queue, item__retest_of=None).order_by("item_id")
    words = list(rows.select_related("item__material", "item__response_a__prompt", "item__queue"))
    counts = Counter(kind for word in words for kind in word.errors)
    given, changed = Counter[str](), Counter[str]()
    reasons: dict[str, Counter[str]] = {}
    by_item = {word.item_id: word for word in words}
    labels = queue.annotations.filter(item__in=by_item, left_out_at=None).exclude(label="")
    for item_id, name, label in labels.values_list("item_id", "annotator__username", "label"):
        given[name] += 1
        if label != by_item[item_id].label:
            changed[name] += 1
            reasons.setdefault(name, Counter()).update(by_item[item_id].errors)
    people = [
        PersonErrors(
            name, n, changed[name], ", ".join(f"{kind}: {k}" for kind, k in sorted(reasons.get(name, {}).items()))
        )
        for name, n in given.items()
    ]
    return AdjudicationErrors(
        queue=queue.name,
        items=len(words),
        kinds=tuple(
            ErrorCount(kind.value, str(kind.label), counts[kind], counts[kind] / len(words) if words else None)
            for kind in ErrorKind
        ),
        people=tuple(sorted(people, key=lambda row: (-row.changed, row.person))),
        silent=tuple(
            SilentItem(word.item_id, question_of(word.item), word.label, word.reason)
            for word in words
            if ErrorKind.SILENT in word.errors
        ),
    )
