"""What people finally said of an evaluator's scores, from 0 to 1, and what was asked and is not decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from evalsite.review.models import LEFT_OUT, ItemArm, ItemStatus, ReviewItem
from evalsite.review.scales import labels_from_json
from judging.models import RunEvaluator

FINAL = (ItemStatus.SETTLED, ItemStatus.ADJUDICATED)


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What people were asked about one response. Only audited ones may stand for responses nobody was asked about."""

    response_id: int
    label: str  # empty while it is not decided
    share: float | None  # None: not decided, or the scale has no numbers
    is_drawn: bool  # by the audit


def label_shares(labels: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return what each label of a queue is worth from 0 to 1; preferences and names are worth nothing and left out."""
    return {label.value: label.share for label in labels_from_json(labels) if label.share is not None}


def human_labels(evaluator: RunEvaluator) -> list[HumanLabel]:
    """Return what was asked about this evaluator's verdicts and scores, by item. Three queries at most."""
    items = ReviewItem.objects.filter(queue__run=evaluator.run_id, retest_of=None).exclude(status__in=LEFT_OUT)
    found: list[HumanLabel] = []
    scales: dict[int, dict[str, float]] = {}
    for subject in ("verdict", "score"):
        chosen = items.filter(**{f"{subject}__evaluator": evaluator}).order_by("pk")
        found += _read(chosen, f"{subject}__response_id", scales)
    return found


def _read(items: QuerySet[ReviewItem], response: str, scales: dict[int, dict[str, float]]) -> list[HumanLabel]:
    rows = items.values_list(response, "label", "status", "arm", "queue_id", "queue__labels")
    found = []
    for response_id, label, status, arm, queue_id, labels in rows.iterator(chunk_size=5000):
        scale = scales.setdefault(queue_id, label_shares(labels))
        final = label if status in FINAL else ""
        found.append(HumanLabel(response_id, final, scale.get(final), arm == ItemArm.AUDIT))
    return found
