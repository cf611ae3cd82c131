"""Rows of the tables that this room hands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalsite.review.models import Annotation, Queue

CHUNK = 2_000
_PLAIN = {  # column: path from an annotation
    "item": "item_id",
    "item_hash": "item__content_hash",
    "status": "item__status",
    "final_label": "item__label",
    "arm": "item__arm",
    "inclusion_probability": "item__inclusion_probability",
    "reason": "item__reason",
    "criterion": "item__criterion",
    "scenario": "item__scenario",
    "debate": "item__debate_id",
    "verdict": "item__verdict_id",
    "score": "item__score_id",
    "annotator": "annotator__username",
    "saw_swapped": "assignment__swapped",
    "blind_label": "label",
    "note": "note",
    "claimed_at": "assignment__claimed_at",
    "answered_at": "created_at",
    "seconds": "seconds",
    "revealed_at": "revealed_at",
    "revised_label": "revised_label",
    "revision_note": "revision_note",
    "revised_at": "revised_at",
    "flag": "assignment__flag",
    "adjudicated_label": "item__adjudication__label",
    "adjudicator": "item__adjudication__adjudicator__username",
    "adjudication_reason": "item__adjudication__reason",
    "adjudicated_at": "item__adjudication__created_at",
}
_CASE = ("item__debate__case__key", "item__verdict__response__prompt__key", "item__score__response__prompt__key")
_SYSTEM_A = (
    "item__debate__response_a__system__name",
    "item__verdict__response__system__name",
    "item__score__response__system__name",
)
_SYSTEM_B = "item__debate__response_b__system__name"
ANNOTATION_COLUMNS = ("queue", "case", "system_a", "system_b", *_PLAIN)


def annotation_rows(queue: Queue) -> Iterator[dict[str, Any]]:
    """Yield every answer of a queue with who, when, how it was shown, revisions and what became of the item.

    Labels are in system space: 1 = system A is better, whatever side the person saw it on.
    """
    rows = Annotation.objects.filter(queue=queue).order_by("item_id", "slot")
    paths = (*_PLAIN.values(), *_CASE, *_SYSTEM_A, _SYSTEM_B)
    for row in rows.values(*paths).iterator(CHUNK):
        yield {
            "queue": queue.slug,
            "case": next((row[path] for path in _CASE if row[path]), ""),
            "system_a": next((row[path] for path in _SYSTEM_A if row[path]), ""),
            "system_b": row[_SYSTEM_B] or "",
            **{column: row[path] for column, path in _PLAIN.items()},
        }
