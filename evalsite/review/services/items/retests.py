"""Asks people again about items that they have answered, to see whether they agree with themselves.

A retest is an item of its own, for one person, with the sides turned; nothing on its page tells it from another.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from evalsite.review.models import LEFT_OUT, Annotation, Queue, ReviewItem
from evalsite.review.routing import ItemArm
from evalsite.review.sampling import RETEST_GAP, is_retest, uniform_number
from judging.selectors.prepared_queries import PreparedQuery

WINDOW = 40  # how far back a person's answers are looked through


def retest_due(*, queue: Queue, annotator: User, at: datetime) -> ReviewItem | None:
    """Return a new item that repeats one of this person's own, or None where none is due."""
    if queue.retest_share <= 0:
        return None
    rows = _MINE.rows(queue_id=queue.pk, person_id=annotator.pk)
    for since, (item_id, revealed_at, may_repeat, was_asked) in enumerate(rows, start=RETEST_GAP):
        fit = may_repeat and revealed_at is None and not was_asked and since >= gap_of(item_id, annotator.pk)
        if fit and is_retest(str(item_id), person=str(annotator.pk), seed=queue.pk, share=queue.retest_share):
            return repeat_item(ReviewItem.objects.get(pk=item_id), queue=queue, person_id=annotator.pk, at=at)
    return None


def gap_of(item_id: int, person_id: int) -> int:
    """Return after how many other answers an item may come back: another number each time, so that nobody counts."""
    return RETEST_GAP + int(uniform_number("gap", item_id, person_id) * (RETEST_GAP + 1))


def _mine(*, queue_id: int, person_id: int) -> QuerySet[Annotation, Any]:
    """This person's answers that are old enough for a retest, the newest first; of their items only those are read."""
    retests = ReviewItem.objects.filter(retest_of=OuterRef("item_id"), only_for=person_id)
    repeatable = ReviewItem.objects.filter(pk=OuterRef("item_id")).exclude(arm=ItemArm.RETEST)
    fits = Exists(repeatable.exclude(status__in=LEFT_OUT))
    mine = Annotation.objects.filter(queue=queue_id, annotator=person_id).exclude(label="")
    rows = mine.annotate(fits=fits, asked=Exists(retests)).order_by("-created_at", "-pk")
    return rows.values_list("item_id", "revealed_at", "fits", "asked")[RETEST_GAP : RETEST_GAP + WINDOW]


_MINE = PreparedQuery(_mine)


def repeat_item(first: ReviewItem, *, queue: Queue, person_id: int, at: datetime, quorum: int = 1) -> ReviewItem:
    """Store an item that asks one person the question of another once more."""
    return ReviewItem.objects.create(
        queue=queue,
        subject_id=first.subject_id,
        response_a_id=first.response_a_id,
        response_b_id=first.response_b_id,
        material_id=first.material_id,
        is_turned=first.is_turned,
        retest_of=first,
        only_for_id=person_id,
        reason=first.reason,
        reason_text=first.reason_text,
        arm=ItemArm.RETEST,
        priority=first.priority,
        shuffle=int(uniform_number("again", first.pk, person_id) * 2**53),
        quorum=quorum,
        criterion=first.criterion,
        scenario=first.scenario,
        language=first.language,
        content_hash=first.content_hash,
        created_at=at,
    )
