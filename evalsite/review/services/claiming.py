"""Hands items out: who holds which slot, for how long, and what they have typed so far.

Every change of an item's slots is made under the lock of the item's row (on SQLite the whole write transaction is one),
so that live claims and answers together never exceed the quorum.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.review.models import (
    Assignment,
    AssignmentStatus,
    ItemStatus,
    OrderPolicy,
    Queue,
    QueueStatus,
    ReviewItem,
)
from evalsite.review.selectors.content import swapped_for
from evalsite.review.selectors.waiting import TOUCHED, is_member, why_nothing_for
from evalsite.review.services.acts import announce
from evalsite.review.services.retests import retest_due
from evalsite.review.states import (
    ClaimFacts,
    ClaimState,
    ItemFacts,
    ItemState,
    QueueState,
    ReviewRefused,
    check_can_claim,
    check_transition,
)

MOST_TRIES = 20  # items lost to others between looking and locking
OWN_CLAIMS = 5  # items that a person left in the middle
TEXT_LIMIT = 20_000  # characters of a note
REASON_LIMIT = 300


ORDERS = {
    OrderPolicy.URGENT: ("-priority", "shuffle", "pk"),
    OrderPolicy.GIVEN: ("pk",),
    OrderPolicy.RANDOM: ("shuffle", "pk"),
}


class NothingNow(Exception):
    """No item for this person; the message says why and when to come back."""


def claim_next(*, queue: Queue, annotator: User, at: datetime) -> Assignment:
    """Return this person's claim on the next item; first an item they left in the middle, if its slot is still free.

    Raises:
        NothingNow: nothing is left for them, or the queue hands nothing out.
    """
    if queue.status == QueueStatus.OPEN and is_member(queue=queue, user=annotator):
        for _ in range(MOST_TRIES):
            claim = _try_claim(queue, annotator, at)
            if claim is not None:
                return claim
            if not _candidates(queue, annotator, at).exists():
                break
    raise NothingNow(why_nothing_for(queue=queue, user=annotator, at=at))


@transaction.atomic
def _try_claim(queue: Queue, annotator: User, at: datetime) -> Assignment | None:
    mine = Assignment.objects.filter(
        queue=queue,
        annotator=annotator,
        item_open=True,
        status__in=(AssignmentStatus.LEASED, AssignmentStatus.LAPSED),
    ).order_by("item_id")  # everybody locks in the same order
    for item_id in mine.values_list("item_id", flat=True)[:OWN_CLAIMS]:
        item = lock_item(item_id)
        if item.is_open and has_free_slot(item, annotator, at):
            return _take(item, annotator, at)
    again = retest_due(queue=queue, annotator=annotator, at=at)
    if again is not None:
        return _take(again, annotator, at)
    found = _candidates(queue, annotator, at)
    if connection.features.has_select_for_update_skip_locked:
        found = found.select_for_update(skip_locked=True, of=("self",))
    item_found = found.first()
    if item_found is None or not has_free_slot(item_found, annotator, at):
        return None
    item_found.queue = queue
    return _take(item_found, annotator, at)


def _candidates(queue: Queue, annotator: User, at: datetime) -> QuerySet[ReviewItem]:
    """Open items with a free slot that this person has not touched, in order; walks the index `item_next`."""
    touched = Assignment.objects.filter(item=OuterRef("pk"), annotator=annotator)
    live = Assignment.objects.filter(item=OuterRef("pk"), status=AssignmentStatus.LEASED, expires_at__gte=at)
    held = Coalesce(Subquery(live.order_by().values("item").annotate(n=Count("pk")).values("n")), 0)
    items = ReviewItem.objects.filter(~Exists(touched), queue=queue, status=ItemStatus.OPEN, only_for=None)
    return items.filter(quorum__gt=F("answer_count") + held).order_by(*ORDERS[OrderPolicy(queue.order)])


def lock_item(item_id: int) -> ReviewItem:
    """Return an item under lock, with its queue. DoesNotExist where there is none."""
    return ReviewItem.objects.select_for_update(of=("self",)).select_related("queue", "retest_of").get(pk=item_id)


def live_claims(item: ReviewItem, annotator: User, at: datetime) -> int:
    """Return how many other people hold a slot of the item now."""
    live = item.assignments.filter(status=AssignmentStatus.LEASED, expires_at__gte=at)
    return live.exclude(annotator=annotator).count()


def has_free_slot(item: ReviewItem, annotator: User, at: datetime) -> bool:
    """Return whether this person may take or keep a slot of a locked item."""
    return item.answer_count + live_claims(item, annotator, at) < item.quorum


def _take(item: ReviewItem, annotator: User, at: datetime) -> Assignment:
    claim, _ = Assignment.objects.update_or_create(
        item=item,
        annotator=annotator,
        defaults={
            "queue_id": item.queue_id,
            "token": uuid.uuid4(),
            "status": AssignmentStatus.LEASED,
            "claimed_at": at,
            "expires_at": at + lease_time(),
            "item_open": True,
            "beat_at": at,
        },
        create_defaults={
            "queue_id": item.queue_id,
            "token": uuid.uuid4(),
            "status": AssignmentStatus.LEASED,
            "claimed_at": at,
            "expires_at": at + lease_time(),
            "beat_at": at,
            "swapped": swapped_for(item=item, person_id=annotator.pk),
        },
    )
    return claim


def lease_time() -> timedelta:
    """Return how long a claim lives without a heartbeat."""
    return timedelta(seconds=settings.REVIEW_LEASE_SECONDS)


def facts_of(item: ReviewItem, annotator: User, at: datetime) -> ItemFacts:
    """Return what the checks need to know of a locked item and this person."""
    own = item.annotations.filter(annotator=annotator).values_list("revised_at", flat=True)[:1]
    return ItemFacts(
        state=ItemState(item.status),
        queue=QueueState(item.queue.status),
        quorum=item.quorum,
        answers=item.answer_count,
        leased=live_claims(item, annotator, at),
        labels=tuple(str(label["value"]) for label in item.queue.labels),
        is_member=is_member(queue=item.queue, user=annotator),
        has_answered=bool(own),
        has_revised=any(moment is not None for moment in own),
    )


def claim_facts(claim: Assignment | None) -> ClaimFacts | None:
    """Return a claim as the checks see it."""
    if claim is None:
        return None
    return ClaimFacts(ClaimState(claim.status), str(claim.token), claim.expires_at)


@transaction.atomic
def take_back(*, item_id: int, annotator: User, at: datetime) -> Assignment:
    """Claim again an item that this person skipped or whose claim lapsed.

    Raises:
        ReviewRefused: it is closed, all slots are taken, or it was never theirs.
    """
    item = lock_item(item_id)
    claim = item.assignments.filter(annotator=annotator).first()
    if claim is None:
        raise ReviewRefused("Items are handed out one by one; take the next one from the queue.")
    check_can_claim(facts_of(item, annotator, at))
    return _take(item, annotator, at)


@transaction.atomic
def beat(*, item_id: int, annotator: User, token: str, at: datetime, idle_seconds: float = 0.0) -> bool:
    """Keep a claim alive; False where it was lost to somebody else or is over, or the item is gone.

    `idle_seconds` is how long nothing has moved on the page; that time is not counted as work.
    """
    if not ReviewItem.objects.filter(pk=item_id).exists():
        return False
    item = lock_item(item_id)
    claim = item.assignments.filter(annotator=annotator, status=AssignmentStatus.LEASED).first()
    if claim is None or str(claim.token) != token or not item.is_open or not has_free_slot(item, annotator, at):
        return False
    claim.expires_at = at + lease_time()
    count_work(claim, at=at, idle_seconds=idle_seconds)
    claim.save(update_fields=["expires_at", "beat_at", "active_seconds"])
    return True


def count_work(claim: Assignment, *, at: datetime, idle_seconds: float = 0.0) -> None:
    """Add the time since the page's last sign of life to a claim, without idle time and at most one lease's worth."""
    since = (at - (claim.beat_at or claim.claimed_at)).total_seconds()
    claim.active_seconds += max(0.0, min(since, float(settings.REVIEW_LEASE_SECONDS)) - max(0.0, idle_seconds))
    claim.beat_at = at


def keep_draft(*, item_id: int, annotator: User, values: Mapping[str, str], at: datetime) -> bool:
    """Store what a person has typed, whoever holds the slot now; False where they never had the item."""
    draft = {name: value[:TEXT_LIMIT] for name, value in values.items()}
    kept = Assignment.objects.filter(item_id=item_id, annotator=annotator).exclude(status=AssignmentStatus.SUBMITTED)
    return kept.update(draft=draft, draft_at=at) > 0


@transaction.atomic
def skip_item(*, item_id: int, annotator: User, token: str, reason: str) -> Assignment:
    """Give the slot back for good, with a reason.

    Raises:
        ReviewRefused: no reason, or the claim is not theirs any more.
    """
    item = lock_item(item_id)
    claim = _own_claim(item, annotator, token)
    if not reason.strip():
        raise ReviewRefused("Say why you skip this item.")
    check_transition(ClaimState(claim.status), ClaimState.SKIPPED)
    claim.status, claim.skip_reason = AssignmentStatus.SKIPPED, reason.strip()[:REASON_LIMIT]
    claim.save(update_fields=["status", "skip_reason"])
    announce(actor=annotator, action="item.skipped", subject=item, detail={"reason": claim.skip_reason})
    return claim


@transaction.atomic
def flag_item(*, item_id: int, annotator: User, text: str) -> Assignment:
    """Note that something is wrong with the item, for the queue's owner. An empty text takes the flag back.

    Raises:
        ReviewRefused: the person never had the item.
    """
    item = lock_item(item_id)
    claim = item.assignments.filter(annotator=annotator).first()
    if claim is None:
        raise ReviewRefused("You can flag only items that were handed to you.")
    claim.flag = text.strip()[:REASON_LIMIT]
    claim.save(update_fields=["flag"])
    announce(actor=annotator, action="item.flagged", subject=item, detail={"text": claim.flag})
    return claim


def _own_claim(item: ReviewItem, annotator: User, token: str) -> Assignment:
    claim = item.assignments.filter(annotator=annotator).first()
    if claim is None or str(claim.token) != token or claim.status in TOUCHED:
        raise ReviewRefused("You no longer hold this item.")
    return claim
