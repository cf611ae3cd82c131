"""Moves items between people by the hand of a queue's owner: always with a reason, never losing a draft."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.review.models import Assignment, NoticeKind, Queue
from evalsite.review.selectors.screens.claims import held_by
from evalsite.review.selectors.screens.content import swapped_for
from evalsite.review.selectors.screens.waiting_items import is_member
from evalsite.review.services.items.audit_subjects import about
from evalsite.review.services.items.claims import REASON_LIMIT
from evalsite.review.services.items.item_locks import LockedItem, claim_facts, lock_item
from evalsite.review.services.items.looks import has_looked
from evalsite.review.services.items.notices import notify
from evalsite.review.states import AssignmentStatus, ReviewRefused, check_can_hand, check_can_withdraw

HANDED_TIME = timedelta(hours=24)  # a slot waits so long for the person it was handed to
MOST_AT_ONCE = 200


@transaction.atomic
def hand_item(*, item_id: int, person: User, actor: User, reason: str, at: datetime) -> Assignment:
    """Keep a slot of the item for a person, who gets it next; it waits a day for them.

    Raises:
        ReviewRefused: no reason, no free slot, or the item is not for them.
    """
    locked = lock_item(item_id)
    claim = _hand(locked, person, reason=reason, at=at)
    notify(people=[person], kind=NoticeKind.ASSIGNED, subject=locked.item.queue, at=at)
    _record(locked, "item.handed", person, actor, reason)
    return claim


@transaction.atomic
def hand_items(*, queue: Queue, item_ids: Sequence[int], person: User, actor: User, reason: str, at: datetime) -> str:
    """Keep a slot of each of these items of a queue for a person, where they may have one; the rest stays as it is.

    Returns what to say of it: how many items went to them, and why others did not, each reason once.

    Raises:
        ReviewRefused: nothing was chosen, too much at once, or none of the items can be theirs.
    """
    ordered_ids = (
        queue.items.filter(pk__in=item_ids).order_by("pk").values_list("pk", flat=True)
    )  # locked in this order
    if not 0 < len(item_ids) <= MOST_AT_ONCE:
        raise ReviewRefused(f"Choose at least one item and at most {MOST_AT_ONCE}.")
    handed, refusals = 0, dict[str, None]()
    for item_id in list(ordered_ids):
        locked = lock_item(item_id)
        try:
            _hand(locked, person, reason=reason, at=at)
        except ReviewRefused as refusal:
            refusals[str(refusal)] = None
        else:
            _record(locked, "item.handed", person, actor, reason)
            handed += 1
    if not handed:
        raise ReviewRefused(" ".join(refusals) or "None of these items is in this queue.")
    notify(people=[person], kind=NoticeKind.ASSIGNED, subject=queue, at=at)
    items = "1 item" if handed == 1 else f"{handed:,} items"
    return " ".join([f"{items} assigned; they stay reserved for one day.", *refusals])


@transaction.atomic
def withdraw_item(*, item_id: int, person: User, actor: User, reason: str) -> Assignment:
    """Take an item back from whoever holds it: the slot is free again, and their draft is kept.

    Raises:
        ReviewRefused: no reason, or they do not hold it.
    """
    locked = lock_item(item_id)
    claim = _withdraw(locked, person, reason=reason)
    _record(locked, "item.withdrawn", person, actor, reason)
    return claim


@transaction.atomic
def withdraw_all(
    *, queue: Queue, person: User, heir: User | None, actor: User, reason: str, at: datetime
) -> tuple[int, int]:
    """Take back everything a person holds in a queue, and hand to the heir what may be theirs; the rest is for anyone.

    Returns how many items were taken back, and how many of these handed on.

    Raises:
        ReviewRefused: no reason, or they hold nothing.
    """
    item_ids = list(held_by(queue=queue, person=person).order_by("item_id").values_list("item_id", flat=True))
    if not item_ids:
        raise ReviewRefused("No item of this queue is assigned to this person.")
    handed = 0
    for item_id in item_ids[:MOST_AT_ONCE]:  # everybody locks in the same order
        locked = lock_item(item_id)
        _withdraw(locked, person, reason=reason)
        _record(locked, "item.withdrawn", person, actor, reason)
        if heir is not None and _may_inherit(locked, heir, reason=reason, at=at):
            _hand(lock_item(item_id), heir, reason=reason, at=at)
            _record(locked, "item.handed", heir, actor, reason)
            handed += 1
    if heir is not None and handed:
        notify(people=[heir], kind=NoticeKind.ASSIGNED, subject=queue, at=at)
    return len(item_ids[:MOST_AT_ONCE]), handed


def _may_inherit(locked: LockedItem, heir: User, *, reason: str, at: datetime) -> bool:
    try:
        _check_hand(locked, heir, reason=reason, at=at)
    except ReviewRefused:
        return False
    return True


def _check_hand(locked: LockedItem, person: User, *, reason: str, at: datetime) -> None:
    item = locked.item
    if item.only_for_id is not None and item.only_for_id != person.pk:
        raise ReviewRefused("This is a retest item of one person, so nobody else can annotate it.")
    may_answer = is_member(queue=item.queue, user=person) and person.has_perm("review.add_annotation")
    check_can_hand(locked.facts_for(person, at=at, is_member=may_answer), reason=reason)


def _hand(locked: LockedItem, person: User, *, reason: str, at: datetime) -> Assignment:
    _check_hand(locked, person, reason=reason, at=at)
    item, claim = locked.item, locked.claim_of(person)
    if claim is None:
        claim = Assignment(item=item, queue_id=item.queue_id, annotator=person)
        claim.swapped = swapped_for(item=item, person_id=person.pk)
    claim.token, claim.status, claim.item_open = uuid.uuid4(), AssignmentStatus.LEASED, True
    claim.claimed_at, claim.expires_at, claim.heartbeat_at = at, at + HANDED_TIME, None
    claim.seen_before = has_looked(item=item, person=person)
    claim.save()
    return claim


def _withdraw(locked: LockedItem, person: User, *, reason: str) -> Assignment:
    claim = locked.claim_of(person)
    check_can_withdraw(claim_facts(claim), reason=reason)
    assert claim is not None  # the check refuses nobody's claim
    claim.status, claim.token = AssignmentStatus.WITHDRAWN, uuid.uuid4()
    claim.save(update_fields=["status", "token"])
    return claim


def _record(locked: LockedItem, verb: str, person: User, actor: User, reason: str) -> None:
    record(actor, verb, about(locked.item), person=person.username, reason=reason.strip()[:REASON_LIMIT])
