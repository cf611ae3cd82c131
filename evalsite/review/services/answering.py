"""Takes answers: the blind one, changes to it while the item is open, the reveal, and the one revision after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.review.level_items import MET, NOT_MET, PREFIX, ItemsOpen, level_label, read_items
from evalsite.review.models import Annotation, Assignment, AssignmentStatus, ItemStatus, ReviewItem
from evalsite.review.scales import labels_from_json, shown_label
from evalsite.review.selectors.subjects import levels_of, tree_of
from evalsite.review.services.acts import announce
from evalsite.review.services.claiming import TEXT_LIMIT, count_work, lease_time
from evalsite.review.services.locking import claim_facts, lock_item
from evalsite.review.services.settling import keep_revised_label, move_item, settle
from evalsite.review.states import (
    ItemState,
    ReviewRefused,
    check_can_answer,
    check_can_revise,
    check_can_undo,
    check_transition,
)

SUBMITTED_FIELDS = ("status", "draft", "draft_at", "acted_at", "item_open", "beat_at", "active_seconds")
SEEN = "You have seen what the judges said, so the blind answer stands. You may revise it once, with a reason."


class ItemGone(ReviewRefused):
    """The item was taken back, and the person's draft with it: what they typed is on their page alone."""

    def __init__(self) -> None:
        super().__init__("This item has been taken back, so your answer was not counted. Copy what you want to keep.")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered; the label is in system space (1 = A, 0 = neither, -1 = B) or as they see the sides."""

    label: str = ""
    note: str = ""
    is_as_seen: bool = False
    parts: Mapping[str, str] = field(default_factory=dict)  # of a level rubric: key of an item -> met | not met


@transaction.atomic
def record_annotation(*, item_id: int, annotator: User, token: str, answer: Answer, at: datetime) -> Annotation:
    """Store one blind answer and settle the item once its quorum is reached.

    Raises:
        ItemGone: there is no such item any more.
        ReviewRefused: the claim was lost, the item is closed, the label is off its scale, or they have answered.
    """
    try:
        locked = lock_item(item_id)
    except ReviewItem.DoesNotExist:
        raise ItemGone from None
    item, claim = locked.item, locked.claim_of(annotator)
    met = _met_of(answer, locked.item)
    label = _label_of(answer, met, locked.item, claim)
    check_can_answer(locked.facts_for(annotator, at=at), claim_facts(claim), token=token, label=label, at=at)
    if claim is None:
        raise ReviewRefused("You no longer hold this item.")
    before = locked.answers
    count_work(claim, at=at)
    annotation = Annotation.objects.create(
        item=item,
        queue_id=item.queue_id,
        annotator=annotator,
        assignment=claim,
        slot=_free_slot(before),
        label=label,
        parts=met,
        note=answer.note[:TEXT_LIMIT],
        seconds=max(0.0, (at - claim.claimed_at).total_seconds()),
        seen_before=claim.seen_before,
        mode=item.queue.mode,
        guidelines_version=item.queue.guidelines_version,
        active_seconds=claim.active_seconds,
        created_at=at,
    )
    claim.status, claim.draft, claim.draft_at, claim.acted_at = AssignmentStatus.SUBMITTED, {}, None, at
    claim.item_open = item.retest_of_id is None  # a retest is nobody else's work, so it is not counted
    claim.save(update_fields=SUBMITTED_FIELDS)
    announce(actor=annotator, action="annotation.recorded", subject=item, detail={"label": label})
    item.answer_count += 1
    if not settle(item=item, answers=(*before, annotation), at=at):
        item.save(update_fields=["answer_count"])
    annotation.item = item
    return annotation


def _met_of(answer: Answer, item: ReviewItem) -> dict[str, bool]:
    """Return which items of a level rubric are met; empty under other rubrics. Raises: ReviewRefused."""
    try:
        return read_items(levels_of(item.subject), answer.parts)
    except ItemsOpen as error:
        raise ReviewRefused(str(error)) from error


def _label_of(answer: Answer, met: Mapping[str, bool], item: ReviewItem, claim: Assignment | None) -> str:
    """Return an answer's label in system space; under a level rubric the score that its items come to."""
    tree = tree_of(item.subject) if met else None
    if tree is not None:
        return level_label(tree, met)
    if not answer.is_as_seen or claim is None:
        return answer.label
    return shown_label(answer.label, labels_from_json(item.subject.labels), swapped=claim.swapped)


def _free_slot(answers: Sequence[Annotation]) -> int:
    taken = {annotation.slot for annotation in answers}
    return next(slot for slot in range(len(taken) + 1) if slot not in taken)


@transaction.atomic
def undo_annotation(*, item_id: int, annotator: User, at: datetime) -> Assignment:
    """Take an answer back; the person holds the item again with the answer as their draft.

    Whoever decided an item may have mistyped as well, so it opens again for `UNDO_GRACE` after the answer.

    Raises:
        ReviewRefused: there is no answer, the item has been closed for longer, or the verdicts have been shown.
    """
    locked = lock_item(item_id)
    item, claim, annotation = locked.item, locked.claim_of(annotator), locked.answer_of(annotator)
    answered_at = annotation.created_at if annotation else None
    check_can_undo(locked.facts_for(annotator, at=at), answered_at=answered_at, at=at)
    if annotation is None or claim is None or annotation.revealed_at is not None:
        raise ReviewRefused(SEEN)
    claim.status = AssignmentStatus.LEASED
    claim.expires_at, claim.beat_at, claim.item_open = at + lease_time(), at, True
    seen = shown_label(annotation.label, labels_from_json(item.subject.labels), swapped=claim.swapped)
    parts = {f"{PREFIX}{key}": MET if met else NOT_MET for key, met in annotation.parts.items()}
    claim.draft, claim.draft_at = {"label": seen, "note": annotation.note, **parts}, at
    claim.save(update_fields=["status", "expires_at", "beat_at", "item_open", "draft", "draft_at"])
    announce(actor=annotator, action="annotation.undone", subject=item, detail={"label": annotation.label})
    annotation.delete()
    item.answer_count -= 1
    if item.is_open:
        item.save(update_fields=["answer_count"])
    else:
        check_transition(ItemState(item.status), ItemState.OPEN)
        move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
    return claim


@transaction.atomic
def reveal_item(*, item_id: int, annotator: User, at: datetime) -> Annotation:
    """Note that this person now sees the verdicts; their blind answer is fixed from here on.

    Raises:
        ReviewRefused: they have not answered yet, or there is nothing to show.
    """
    locked = lock_item(item_id)
    item, annotation = locked.item, locked.answer_of(annotator)
    if annotation is None:
        raise ReviewRefused("Answer first; the verdicts are revealed afterwards.")
    if item.material_id is not None and (item.is_open or item.answer_count < 2):
        raise ReviewRefused("There is nothing to show yet: no judge has judged this item, and others may still answer.")
    if annotation.revealed_at is None:
        annotation.revealed_at = at
        annotation.save(update_fields=["revealed_at"])
    return annotation


@transaction.atomic
def revise_annotation(*, item_id: int, annotator: User, label: str, reason: str, at: datetime) -> Annotation:
    """Store the one revision after the reveal beside the blind answer; what the item settled on stays.

    Raises:
        ReviewRefused: not answered, revised already, no reason, adjudicated or stale.
    """
    locked = lock_item(item_id)
    item, annotation = locked.item, locked.answer_of(annotator)
    check_can_revise(locked.facts_for(annotator, at=at), label=label, reason=reason)
    if annotation is None or annotation.revealed_at is None:
        raise ReviewRefused("Look at the verdicts first; until then you may change the answer itself.")
    annotation.revised_label, annotation.revision_note, annotation.revised_at = label, reason.strip()[:TEXT_LIMIT], at
    annotation.save(update_fields=["revised_label", "revision_note", "revised_at"])
    keep_revised_label(item=item, answers=locked.answers, at=at)
    detail = {"from": annotation.label, "to": label}
    announce(actor=annotator, action="annotation.revised", subject=item, detail=detail)
    return annotation
