"""What people finally said of an evaluator's scores, on the scale from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from evalsite.review.models import ItemArm, ItemStatus, ReviewItem
from evalsite.review.scales import labels_from_json
from judging.models import RunEvaluator

FINAL = (ItemStatus.SETTLED, ItemStatus.ADJUDICATED)


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """The final word on one response. Routed items are the hard ones: only audited ones may stand for all."""

    item_id: int
    response_id: int
    label: str
    share: float | None  # None: the scale has no numbers
    is_audit: bool
    inclusion: float | None


def label_shares(labels: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return what each label of a queue is worth from 0 to 1; preferences and names are worth nothing and left out."""
    return {label.value: label.share for label in labels_from_json(labels) if label.share is not None}


def human_labels(evaluator: RunEvaluator) -> list[HumanLabel]:
    """Return the final labels on this evaluator's verdicts and scores, by item. Three queries at most."""
    items = ReviewItem.objects.filter(queue__run=evaluator.run_id, status__in=FINAL, retest_of=None).exclude(label="")
    found: list[HumanLabel] = []
    scales: dict[int, dict[str, float]] = {}
    for subject in ("verdict", "score"):
        chosen = items.filter(**{f"{subject}__evaluator": evaluator})
        found += _read(chosen, f"{subject}__response_id", scales)
    return sorted(found, key=lambda label: label.item_id)


def _read(items: QuerySet[ReviewItem], response: str, scales: dict[int, dict[str, float]]) -> list[HumanLabel]:
    rows = items.values_list("pk", response, "label", "arm", "inclusion_probability", "queue_id", "queue__labels")
    found = []
    for pk, response_id, label, arm, inclusion, queue_id, labels in rows.iterator(chunk_size=5000):
        scale = scales.setdefault(queue_id, label_shares(labels))
        found.append(HumanLabel(pk, response_id, label, scale.get(label), arm == ItemArm.AUDIT, inclusion))
    return found
