"""Everything that the page of one item shows to one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from evalsite.review.blinding import EVERYTHING, Mode, Part, Stage, Viewer, stage_of, viewer_of, visible
from evalsite.review.models import Annotation, Assignment, AssignmentStatus, ItemStatus, ReviewItem
from evalsite.review.scales import labels_from_json
from evalsite.review.selectors.content import ItemContent, read_content, shown_text
from evalsite.review.selectors.subjects import load_subject, with_subjects
from evalsite.review.selectors.waiting import Progress, progress_of

WORK, SKIPPED, WITHDRAWN, ANSWERED = "work", "skipped", "withdrawn", "answered"
OVERVIEW, CLOSED = "overview", "closed"


class NotHandedOut(Exception):
    """The person never got this item, and may not look at it without."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One item as one person sees it."""

    item: ReviewItem
    state: str  # work | skipped | answered | overview (owners) | closed (nothing to do any more)
    content: ItemContent
    claim: Assignment | None
    annotation: Annotation | None
    swapped: bool
    is_revealed: bool
    own_text: str  # the person's answer in words
    own_blind_text: str
    may_adjudicate: bool

    @property
    def draft(self) -> dict[str, Any]:
        return self.claim.draft if self.claim is not None else {}

    @property
    def may_undo(self) -> bool:
        return self.annotation is not None and self.item.is_open and self.annotation.revealed_at is None

    @property
    def may_revise(self) -> bool:
        closed = {ItemStatus.ADJUDICATED, ItemStatus.STALE}
        return (
            self.is_revealed
            and self.annotation is not None
            and not (self.annotation.revised_at or self.item.status in closed)
        )

    @property
    def has_other_quorum(self) -> bool:
        return self.item.quorum != self.item.queue.quorum


def read_panel(*, item_id: int, user: User) -> Panel:
    """Return an item as this person may see it.

    Raises:
        ReviewItem.DoesNotExist: there is no such item.
        NotHandedOut: it was not handed to them, and they do not own queues.
    """
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    claim = Assignment.objects.filter(item=item, annotator=user).first()
    annotation = Annotation.objects.filter(item=item, annotator=user).first()
    viewer = viewer_of(
        is_member=False,
        has_claimed=claim is not None,
        is_adjudicating=False,
        is_owner=user.has_perm("review.change_queue"),
    )
    if viewer is Viewer.STRANGER:
        raise NotHandedOut("Items are handed out one by one; take the next one from the queue.")
    return _panel(item, user, viewer, claim, annotation)


def claimed_panel(*, claim: Assignment, user: User) -> Panel:
    """Return the item of a claim that this person has been given just now; they have not answered it."""
    return _panel(load_subject(claim.item), user, Viewer.ANNOTATOR, claim, None)


def _panel(
    item: ReviewItem, user: User, viewer: Viewer, claim: Assignment | None, annotation: Annotation | None
) -> Panel:
    is_revealed = annotation is not None and annotation.revealed_at is not None
    parts = _parts(viewer, item, is_revealed)
    swapped = claim is not None and claim.swapped
    labels = labels_from_json(item.queue.labels)
    return Panel(
        item=item,
        state=_state(item, claim, annotation),
        content=read_content(item=item, parts=parts, swapped=swapped),
        claim=claim,
        annotation=annotation,
        swapped=swapped,
        is_revealed=is_revealed,
        own_text=shown_text(annotation.final_label, labels, swapped=swapped) if annotation else "",
        own_blind_text=shown_text(annotation.label, labels, swapped=swapped) if annotation else "",
        may_adjudicate=user.has_perm("review.adjudicate"),
    )


def _parts(viewer: Viewer, item: ReviewItem, is_revealed: bool) -> frozenset[Part]:
    if viewer is Viewer.OWNER:
        return EVERYTHING
    stage = stage_of(has_answered=True, takes_answers=item.is_open) if is_revealed else Stage.BEFORE_ANSWER
    return visible(viewer, Mode(item.queue.mode), stage)


def _state(item: ReviewItem, claim: Assignment | None, annotation: Annotation | None) -> str:
    if claim is None:
        return OVERVIEW
    if annotation is not None:
        return ANSWERED
    if not item.is_open:
        return CLOSED
    if claim.status == AssignmentStatus.WITHDRAWN:
        return WITHDRAWN
    return SKIPPED if claim.status == AssignmentStatus.SKIPPED else WORK


def read_adjudication(*, item_id: int, user: User) -> Panel:
    """Return an item with all answers and their reasons, for somebody who settles it.

    Raises:
        ReviewItem.DoesNotExist: there is no such item.
    """
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    annotation = Annotation.objects.filter(item=item, annotator=user).select_related("assignment").first()
    viewer = viewer_of(is_member=True, has_claimed=annotation is not None, is_adjudicating=True, is_owner=False)
    swapped = annotation is not None and annotation.assignment.swapped
    parts = visible(viewer, Mode(item.queue.mode), stage_of(has_answered=True, takes_answers=item.is_open))
    return Panel(
        item=item,
        state=ANSWERED,
        content=read_content(item=item, parts=parts, swapped=swapped),
        claim=None,
        annotation=annotation,
        swapped=swapped,
        is_revealed=True,
        own_text="",
        own_blind_text="",
        may_adjudicate=True,
    )


@dataclass(frozen=True, slots=True)
class Footing:
    """Where a person stands in the queue, and the answer that they may still take back."""

    progress: Progress
    previous_id: int | None


def footing_of(*, item: ReviewItem, user: User, answered: Annotation | None = None) -> Footing:
    """Return the person's progress in the item's queue and their last answer that can be undone.

    `answered` is that last answer where the caller has just recorded it, with its item at hand.
    """
    progress = progress_of(queue=item.queue, user=user)
    if answered is not None:
        return Footing(progress, answered.item_id if answered.item.is_open else None)
    last = Annotation.objects.filter(annotator=user, queue_id=item.queue_id).exclude(item_id=item.pk)
    row = last.order_by("-created_at", "-pk").values_list("item_id", "revealed_at", "item__status").first()
    can_undo = row is not None and row[1] is None and row[2] == ItemStatus.OPEN
    return Footing(progress, row[0] if row is not None and can_undo else None)
