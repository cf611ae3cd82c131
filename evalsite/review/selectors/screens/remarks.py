"""What annotators told the owner of a queue: flags, reasons for skipping, and why they cannot judge an item."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q

from evalsite.review.models import Annotation, Assignment, Queue
from evalsite.review.states import AssignmentStatus, ItemStatus


@dataclass(frozen=True, slots=True)
class Remark:
    """What one person said of an item without answering it."""

    name: str
    kind: str  # Flagged, Skipped or Not judged
    text: str


def remarks_on(items: Collection[int]) -> dict[int, list[Remark]]:
    """Return flags, reasons for skipping and for not judging by item, the oldest claim first. One query."""
    unable = Annotation.objects.filter(item__in=items, label="").values("assignment")  # a join would read all of them
    has_remark = Q(status=AssignmentStatus.SKIPPED) | ~Q(flag="") | Q(pk__in=unable)
    claims = Assignment.objects.filter(has_remark, item__in=items).select_related("annotator", "annotation")
    claims = claims.order_by("claimed_at", "pk")
    by_item: dict[int, list[Remark]] = {}
    for claim in claims:
        name = claim.annotator.get_full_name() or claim.annotator.username
        remarks = by_item.setdefault(claim.item_id, [])
        if claim.flag:
            remarks.append(Remark(name, "Flagged", claim.flag))
        if claim.status == AssignmentStatus.SKIPPED:
            remarks.append(Remark(name, "Skipped", claim.skip_reason))
        annotation = getattr(claim, "annotation", None)
        if annotation is not None and annotation.cannot_judge:
            remarks.append(Remark(name, "Not judged", annotation.cannot_judge))
    return by_item


def flag_counts(queues: Collection[Queue]) -> dict[int, int]:
    """Return how many items of each queue are flagged and not closed yet."""
    claims = Assignment.objects.filter(
        queue__in=queues, item__status__in=(ItemStatus.OPEN, ItemStatus.NEEDS_ADJUDICATION)
    )
    rows = claims.exclude(flag="").order_by().values("queue_id").annotate(n=Count("item", distinct=True))
    return {row["queue_id"]: row["n"] for row in rows}
