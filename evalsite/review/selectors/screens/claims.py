"""Who holds which item of a queue, since when, and whether the claim is alive."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import QuerySet

from evalsite.review.models import Assignment, Queue
from evalsite.review.selectors.screens.waiting_items import HELD
from evalsite.review.states import AssignmentStatus


@dataclass(frozen=True, slots=True)
class Holder:
    """One person's claim on an item, as an owner sees it."""

    person: User
    item_id: int
    status: str
    words: str
    since: datetime
    until: datetime | None  # end of a live lease
    draft_at: datetime | None

    @property
    def is_held(self) -> bool:
        """Whether it can be taken back."""
        return self.status in HELD

    @property
    def is_live(self) -> bool:
        """Whether the claim keeps a slot now."""
        return self.until is not None


def held_by(*, queue: Queue, person: User) -> QuerySet[Assignment]:
    """Return a person's claims on open items of a queue that they have neither answered nor given back."""
    return Assignment.objects.filter(queue=queue, annotator=person, item_open=True, status__in=HELD)


def holders_of(items: Collection[int], *, at: datetime) -> dict[int, list[Holder]]:
    """Return who holds each of these items, by item. One query."""
    holders: dict[int, list[Holder]] = {}
    for claim in _claims().filter(item__in=items, item_open=True, status__in=HELD).order_by("claimed_at", "pk"):
        holders.setdefault(claim.item_id, []).append(_holder(claim, at))
    return holders


def claims_on(item_id: int, *, at: datetime) -> list[Holder]:
    """Return everybody who ever had an item, the newest claim last. One query."""
    return [_holder(claim, at) for claim in _claims().filter(item=item_id).order_by("claimed_at", "pk")]


def claims_held(*, queue: Queue, person: User, at: datetime, most: int) -> list[Holder]:
    """Return what a person holds in a queue, the oldest first. One query."""
    claims = held_by(queue=queue, person=person).select_related("annotator").order_by("claimed_at", "pk")
    return [_holder(claim, at) for claim in claims[:most]]


def _claims() -> QuerySet[Assignment]:
    return Assignment.objects.select_related("annotator")


def _holder(claim: Assignment, at: datetime) -> Holder:
    is_live = claim.status == AssignmentStatus.LEASED and claim.expires_at >= at
    words = "Expired" if claim.status == AssignmentStatus.LEASED and not is_live else claim.get_status_display()
    if is_live and claim.heartbeat_at is None:
        words = "Assigned, not started"
    return Holder(
        person=claim.annotator,
        item_id=claim.item_id,
        status=claim.status,
        words=words,
        since=claim.claimed_at,
        until=claim.expires_at if is_live else None,
        draft_at=claim.draft_at,
    )
