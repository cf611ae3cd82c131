"""Marks items stale whose rubric or responses have changed, and asks again where the question still stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from django.db import transaction

from evalsite.base.rows import lock_row, row_pages
from evalsite.review.models import LEFT_OUT, Adjudication, ReviewItem
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.labels.subjects import (
    RubricParts,
    SubjectFacts,
    newest_rubric,
    subject_facts,
    with_subjects,
)
from evalsite.review.services.items import queues
from evalsite.review.services.items.decisions import move_item, update_outcome
from evalsite.review.services.referrals.run_referrals import ReferredSubject, refer
from evalsite.review.states import ItemStatus, check_transition
from judging.models import Rubric

BATCH = 500


@dataclass(slots=True)
class RefreshCounts:
    """How many items a refresh changed."""

    stale: int = 0
    asked_again: int = 0
    restored: int = 0


class _CurrentFacts:
    """What items would show now: under the newest version of their rubrics."""

    def __init__(self) -> None:
        self._parts, self._newest = RubricParts(), dict[int, int]()

    def facts_of(self, item: ReviewItem) -> SubjectFacts | None:
        """Return the subject as it stands now; None where a response has been replaced."""
        responses = [response for response in (item.response_a, item.response_b) if response is not None]
        if any(response.superseded_at is not None for response in responses):
            return None
        rubric_item = item.subject.rubric_item
        rubric_id = None if rubric_item is None else self._newest_of(rubric_item.rubric)
        part = self._parts.get(
            rubric_id, case_key=responses[0].prompt.key, criterion=item.criterion, judge=item.subject.judge
        )
        return subject_facts(
            responses=responses,
            case=item.subject.case,
            part=part,
            criterion=item.criterion,
            labels=labels_from_json(item.subject.labels),
        )

    def _newest_of(self, rubric: Rubric) -> int:
        if rubric.pk not in self._newest:
            self._newest[rubric.pk] = newest_rubric(rubric.slug).pk
        return self._newest[rubric.pk]


def refresh_items(*, benchmark_id: int, at: datetime) -> RefreshCounts:
    """Compare every item of a benchmark with the content as it stands now. Safe to repeat.

    A changed rubric makes the item stale and opens a new one; a replaced response makes it stale only, since nobody has
    judged the new text yet. Content that comes back brings its old item back, with its answers and final label. Final
    labels stay with the subjects that they were given to.
    """
    refreshed, now = RefreshCounts(), _CurrentFacts()
    touched: set[int] = set()
    items = with_subjects(ReviewItem.objects.filter(response_a__prompt__benchmark=benchmark_id))
    for item in chain.from_iterable(row_pages(items.select_related("subject__rubric_item__rubric"), BATCH)):
        facts = now.facts_of(item)
        is_same = facts is not None and facts.content_hash == item.content_hash
        if (item.status == ItemStatus.STALE) == is_same:
            touched.add(item.queue_id)
            _refresh(item.pk, facts, refreshed, at)
    for queue_id in sorted(touched):
        with transaction.atomic():
            queues.recount(queue_id=queue_id)
    return refreshed


@transaction.atomic
def _refresh(item_id: int, facts: SubjectFacts | None, refreshed: RefreshCounts, at: datetime) -> None:
    item = lock_row(ReviewItem, item_id, "queue")
    if facts is not None and facts.content_hash == item.content_hash:
        if item.status == ItemStatus.STALE:
            _restore(item, at)
            refreshed.restored += 1
        return
    if item.status in LEFT_OUT:
        return
    check_transition(ItemStatus(item.status), ItemStatus.STALE)
    move_item(item=item, status=ItemStatus.STALE, label="", at=at)
    refreshed.stale += 1
    if facts is not None and item.retest_of_id is None:
        refreshed.asked_again += _ask_again(item, facts, at)


def _restore(item: ReviewItem, at: datetime) -> None:
    word = Adjudication.objects.filter(item=item).first()
    if word is not None:
        check_transition(ItemStatus.STALE, ItemStatus.ADJUDICATED)
        move_item(item=item, status=ItemStatus.ADJUDICATED, label=word.label, at=at)
        return
    check_transition(ItemStatus.STALE, ItemStatus.OPEN)
    move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
    update_outcome(item=item, answers=item.annotations.all(), at=at)


def _ask_again(item: ReviewItem, facts: SubjectFacts, at: datetime) -> bool:
    """Refer the changed question for the reasons of the former one; return whether it opened an item."""
    before = item.queue.items.count()
    again = ReviewItem(
        queue=item.queue,
        response_a_id=item.response_a_id,
        response_b_id=item.response_b_id,
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
        sent_by_id=item.sent_by_id,
        created_at=at,
    )
    referrals = list(item.referrals.order_by("pk"))
    for referral in referrals:
        referral.pk = None
    refer(queue=item.queue, referred=[ReferredSubject(facts, again, referrals)], at=at)
    return item.queue.items.count() > before
