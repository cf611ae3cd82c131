"""Marks items stale whose rubric or responses have changed, and asks again where the question still stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from evalsite.review.models import LEFT_OUT, Adjudication, ItemStatus, ReviewItem
from evalsite.review.selectors.subjects import RubricTrees, RunCases, hash_of_subject, subject_of, with_subjects
from evalsite.review.services import queues
from evalsite.review.services.settling import move_item, settle
from evalsite.review.states import ItemState, check_transition

BATCH = 500
ABOUT = ("debate__case", "verdict__response", "score__response")  # each leads to a prompt


@dataclass(slots=True)
class Refreshed:
    """How many items a refresh changed."""

    stale: int = 0
    asked_again: int = 0
    restored: int = 0


def refresh_items(*, benchmark_id: int, at: datetime) -> Refreshed:
    """Compare every item of a benchmark with the content as it stands now. Safe to repeat.

    A changed rubric makes the item stale and opens a new one; a replaced response makes it stale only, since nobody has
    judged the new text yet. Content that comes back brings its old item back, with its answers and final word.
    """
    done, trees, cases = Refreshed(), RubricTrees(), RunCases()
    touched: set[int] = set()
    for about in ABOUT:
        items = with_subjects(ReviewItem.objects.filter(**{f"{about}__prompt__benchmark": benchmark_id}))
        for item in items.order_by("pk").iterator(BATCH):
            subject = subject_of(item, trees=trees, cases=cases)
            now = "" if subject.is_superseded else hash_of_subject(subject)
            if (item.status == ItemStatus.STALE) == (now == item.content_hash):
                touched.add(item.queue_id)
                _refresh(item.pk, now, done, at)
    for queue_id in sorted(touched):
        with transaction.atomic():
            queues.recount(queue_id=queue_id)
    return done


@transaction.atomic
def _refresh(item_id: int, now: str, done: Refreshed, at: datetime) -> None:
    item = ReviewItem.objects.select_for_update(of=("self",)).get(pk=item_id)
    if now == item.content_hash:
        if item.status == ItemStatus.STALE:
            _restore(item, at)
            done.restored += 1
        return
    if item.status in LEFT_OUT:
        return
    check_transition(ItemState(item.status), ItemState.STALE)
    move_item(item=item, status=ItemStatus.STALE, label="", at=at)
    done.stale += 1
    if now and item.retest_of_id is None and _same_subject(item, now) is None:
        _ask_again(item, now, at)
        done.asked_again += 1


def _same_subject(item: ReviewItem, content_hash: str) -> ReviewItem | None:
    about = Q(debate_id=item.debate_id, verdict_id=item.verdict_id, score_id=item.score_id, retest_of=None)
    return ReviewItem.objects.filter(about, queue_id=item.queue_id, content_hash=content_hash).first()


def _restore(item: ReviewItem, at: datetime) -> None:
    word = Adjudication.objects.filter(item=item).first()
    if word is not None:
        check_transition(ItemState.STALE, ItemState.ADJUDICATED)
        move_item(item=item, status=ItemStatus.ADJUDICATED, label=word.label, at=at)
        return
    check_transition(ItemState.STALE, ItemState.OPEN)
    move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
    settle(item=item, answers=item.annotations.all(), at=at)


def _ask_again(item: ReviewItem, content_hash: str, at: datetime) -> None:
    ReviewItem.objects.create(
        queue_id=item.queue_id,
        debate_id=item.debate_id,
        verdict_id=item.verdict_id,
        score_id=item.score_id,
        reason=item.reason,
        reason_text=item.reason_text,
        arm=item.arm,
        inclusion_probability=item.inclusion_probability,
        priority=item.priority,
        shuffle=item.shuffle,
        quorum=item.quorum,
        criterion=item.criterion,
        scenario=item.scenario,
        language=item.language,
        content_hash=content_hash,
        sent_by_id=item.sent_by_id,
        created_at=at,
    )
