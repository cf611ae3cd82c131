"""Refers subjects to people: what has its label is not asked again, and what is asked already is asked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsite.review.models import AuditPlan, FinalLabel, Queue, Referral, ReviewItem, Subject
from evalsite.review.questions.scales import labels_to_json
from evalsite.review.routing import ItemArm, RoutingDecision, RoutingPolicy
from evalsite.review.sampling import AuditDraw, draw_strata, uniform_number
from evalsite.review.selectors.labels.audits import default_size
from evalsite.review.selectors.labels.subjects import SubjectFacts, subjects_by_key
from evalsite.review.services.items import queues
from evalsite.review.states import ItemStatus, QueueStatus

T = TypeVar("T")

BATCH = 500

WAITING = (ItemStatus.OPEN, ItemStatus.NEEDS_ADJUDICATION)


@dataclass(slots=True)
class ReferredSubject:
    """A subject that a run or a debate set refers: the item to open for it, and the reasons; neither is stored yet."""

    facts: SubjectFacts
    item: ReviewItem
    referrals: list[Referral]

    @property
    def is_drawn(self) -> bool:
        """Whether the audit drew it; then only a blind label will do."""
        return any(referral.arm == ItemArm.AUDIT for referral in self.referrals)


@transaction.atomic
def refer(*, queue: Queue, referred: Sequence[ReferredSubject], at: datetime) -> None:
    """Store referrals, and open an item for each subject that has no label and is with nobody. Safe to repeat."""
    subjects = store_subjects(facts=[referred_item.facts for referred_item in referred], at=at)
    ids = [subject.pk for subject in subjects.values()]
    labelled = dict[int, bool]()  # whether a label of the subject is blind
    for subject_id, is_blind in FinalLabel.objects.filter(subject__in=ids).values_list("subject_id", "is_blind"):
        labelled[subject_id] = is_blind or labelled.get(subject_id, False)
    items_by_subject = {item.subject_id: item for item in [*_asked_elsewhere(queue, ids), *_asked_here(queue, ids)]}
    fresh: dict[int, ReviewItem] = {}
    for referred_item in referred:
        subject_id = subjects[referred_item.facts.key].pk
        has_label = labelled.get(subject_id, False) if referred_item.is_drawn else subject_id in labelled
        if not has_label and subject_id not in items_by_subject:
            referred_item.item.subject_id, referred_item.item.is_turned = subject_id, referred_item.facts.is_turned
            referred_item.item.content_hash = referred_item.facts.content_hash
            fresh.setdefault(subject_id, referred_item.item)
    ReviewItem.objects.bulk_create(fresh.values(), ignore_conflicts=True)
    items_by_subject |= {item.subject_id: item for item in _asked_here(queue, list(fresh))}
    rows = list[Referral]()
    for referred_item in referred:
        for referral in referred_item.referrals:
            referral.subject_id, referral.created_at = subjects[referred_item.facts.key].pk, at
            referral.item = items_by_subject.get(referral.subject_id)
            rows.append(referral)
    Referral.objects.bulk_create(rows, ignore_conflicts=True)
    lost = list(Referral.objects.filter(subject__in=list(fresh), item=None).order_by("pk"))
    for referral in lost:
        referral.item = items_by_subject[referral.subject_id]
    Referral.objects.bulk_update(lost, ["item"], batch_size=BATCH)


def standing(referrals: QuerySet[Referral]) -> QuerySet[Referral]:
    """Leave out referrals that ask nobody though their subject has no label any more: they are to be made again."""
    labels = FinalLabel.objects.filter(subject=OuterRef("subject"))
    return referrals.exclude(Q(item=None) & ~Exists(labels))


def store_subjects(*, facts: Iterable[SubjectFacts], at: datetime) -> dict[str, Subject]:
    """Return the stored subjects by key, the new ones stored now."""
    facts_by_key = {content.key: content for content in facts}
    subjects = subjects_by_key(facts_by_key)
    fresh = [
        Subject(
            key=content.key,
            is_pair=content.is_pair,
            criterion=content.criterion,
            case_id=content.case_id,
            rubric_item_id=content.rubric_item_id,
            judge=content.judge,
            labels=labels_to_json(content.labels),
            created_at=at,
        )
        for content in facts_by_key.values()
        if content.key not in subjects
    ]
    Subject.objects.bulk_create(fresh, ignore_conflicts=True)
    return subjects | subjects_by_key(row.key for row in fresh)


def _asked_here(queue: Queue, subject_ids: Sequence[int]) -> Iterable[ReviewItem]:
    return ReviewItem.objects.filter(queue=queue, subject__in=subject_ids, retest_of=None).order_by("pk")


def _asked_elsewhere(queue: Queue, subject_ids: Sequence[int]) -> Iterable[ReviewItem]:
    """Return the items that wait for people in other queues with the same terms: mode, guidelines and question."""
    items = ReviewItem.objects.filter(subject__in=subject_ids, retest_of=None, status__in=WAITING).exclude(queue=queue)
    items = items.exclude(queue__status=QueueStatus.ARCHIVED)
    same = items.filter(queue__mode=queue.mode, queue__guidelines=queue.guidelines, queue__question=queue.question)
    return same.order_by("-pk")


def policy() -> RoutingPolicy:
    """Return what the site's settings send to people."""
    return RoutingPolicy(confidence_threshold=settings.REVIEW_CONFIDENCE_THRESHOLD)


def draw_of(
    strata: Sequence[Sequence[str]], *, seed: int, plan: AuditPlan | None, drawn: float, share: float | None = None
) -> AuditDraw:
    """Return the sample of the plan, or else of the share, None: the site's; never smaller than what was drawn."""
    cases = sum(len(keys) for keys in strata)
    size = min(cases, plan.size) if plan is not None else default_size(cases, share=share)
    return draw_strata(strata, seed=seed, share=max(size / cases, drawn) if cases else 0.0)


def known_arms(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], frozenset[str]]:
    """Return the arms of the referrals there are, by what they are about: all but the last column."""
    arms: dict[tuple[Any, ...], frozenset[str]] = {}
    for *about, arm in rows:
        arms[tuple(about)] = arms.get(tuple(about), frozenset()) | {arm}
    return arms


def new_referral(decision: RoutingDecision, arm: str, **fields: Any) -> Referral:
    """Return a referral in one arm of a decision, not stored yet."""
    chance = decision.inclusion_probability if arm == ItemArm.AUDIT else None
    return Referral(arm=arm, inclusion_probability=chance, **fields)


def shuffle_of(queue: Queue, key: str) -> int:
    """Return the random number of an item, the same at every routing."""
    return int(uniform_number("item", queue.pk, key) * 2**53)


def new_item(queue: Queue, decision: RoutingDecision, shuffle: int, at: datetime) -> ReviewItem:
    """Return an item for a decision, without what it is about, not stored yet."""
    return ReviewItem(
        queue=queue,
        reason=decision.reasons[0].value,
        reason_text=decision.text,
        arm=decision.arm.value if decision.arm else "",
        inclusion_probability=decision.inclusion_probability,
        priority=decision.priority,
        shuffle=shuffle,
        quorum=queue.quorum,
        created_at=at,
    )


def refer_all(queue: Queue, referred: Iterable[ReferredSubject], at: datetime) -> int:
    """Refer batch by batch, then bring the counters up to date; an outage in the middle is repaired by a repeat."""
    before = ReviewItem.objects.filter(queue=queue).count()
    for batch in batches(referred, BATCH):
        refer(queue=queue, referred=batch, at=at)
    with transaction.atomic():
        queues.recount(queue_id=queue.pk)
    return ReviewItem.objects.filter(queue=queue).count() - before


def batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield rows in lists of this size, the last one shorter."""
    waiting = iter(rows)
    while batch := list(islice(waiting, size)):
        yield batch
