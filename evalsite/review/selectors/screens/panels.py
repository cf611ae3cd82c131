"""Everything that the page of one item shows to one person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, OuterRef, QuerySet, Subquery, Value, When

from evalsite.base.json_types import JsonDict
from evalsite.review.blinding import EVERYTHING, ItemPart, QueueMode, Stage, Viewer, stage_of, viewer_of, visible
from evalsite.review.models import Annotation, Assignment, ReviewItem
from evalsite.review.questions.answer_forms import words_of_parts
from evalsite.review.questions.scales import Label, labels_from_json
from evalsite.review.selectors.labels.subjects import load_subject, with_subjects
from evalsite.review.selectors.screens.content import CANNOT_JUDGE, ItemContent, read_content, shown_text
from evalsite.review.selectors.screens.looks import has_seen_verdicts
from evalsite.review.selectors.screens.remarks import Remark, remarks_on
from evalsite.review.selectors.screens.waiting_items import Progress, progress_of
from evalsite.review.states import UNDO_GRACE, AssignmentStatus, ItemStatus
from judging.selectors.prepared_queries import PreparedQuery

WORK, SKIPPED, WITHDRAWN, ANSWERED = "work", "skipped", "withdrawn", "answered"
OVERVIEW, CLOSED = "overview", "closed"


class ItemNotAssigned(Exception):
    """The person never got this item, and may not look at it without."""


@dataclass(frozen=True, slots=True)
class ItemPanel:
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
    own_items_text: str  # what they said of each part of the form
    may_adjudicate: bool
    at: datetime
    remarks: tuple[Remark, ...] = ()  # flags and reasons for skipping, for owners and adjudicators

    @property
    def draft(self) -> JsonDict:
        return self.claim.draft if self.claim is not None else {}

    @property
    def draft_at(self) -> str:
        """When the stored draft was kept, exactly: the page sends it back with what it keeps."""
        return self.claim.draft_at.isoformat() if self.claim is not None and self.claim.draft_at else ""

    @property
    def may_undo(self) -> bool:
        """Whether the answer may be taken back: while the item is open, and for a while after."""
        return (
            self.annotation is not None
            and self.annotation.revealed_at is None
            and self.item.status in (ItemStatus.OPEN, ItemStatus.DECIDED, ItemStatus.NEEDS_ADJUDICATION)
            and (self.item.is_open or self.annotation.created_at + UNDO_GRACE >= self.at)
            and (self.item.is_open or not self.annotation.cannot_judge or self.item.answer_count < self.item.quorum)
        )

    @property
    def may_revise(self) -> bool:
        closed = {ItemStatus.ADJUDICATED, ItemStatus.STALE}
        return (
            self.is_revealed
            and self.annotation is not None
            and not self.annotation.cannot_judge
            and not (self.annotation.revised_at or self.item.status in closed)
        )

    @property
    def may_reveal(self) -> bool:
        """Whether there is anything to show: verdicts, or what others said once nobody can answer any more."""
        if self.annotation is None or self.is_revealed:
            return False
        return self.item.material_id is None or (self.item.answer_count > 1 and not self.item.is_open)


def read_panel(*, item_id: int, user: User, at: datetime) -> ItemPanel:
    """Return an item as this person may see it.

    Raises:
        ReviewItem.DoesNotExist: there is no such item.
        ItemNotAssigned: it was not handed to them, and they do not own queues.
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
        raise ItemNotAssigned("Items are handed out one at a time. Get the next one from the queue.")
    return _panel(item, user, viewer, claim, annotation, at)


def claimed_panel(*, claim: Assignment, user: User, at: datetime) -> ItemPanel:
    """Return the item of a claim that this person has been given just now; they have not answered it."""
    return _panel(load_subject(claim.item), user, Viewer.ANNOTATOR, claim, None, at)


def _panel(
    item: ReviewItem,
    user: User,
    viewer: Viewer,
    claim: Assignment | None,
    annotation: Annotation | None,
    at: datetime,
) -> ItemPanel:
    is_revealed = annotation is not None and annotation.revealed_at is not None
    parts = _parts(viewer, item, is_revealed)
    swapped = claim is not None and claim.swapped
    labels = labels_from_json(item.subject.labels)
    return ItemPanel(
        item=item,
        state=_state(item, claim, annotation),
        content=read_content(item=item, parts=parts, swapped=swapped),
        claim=claim,
        annotation=annotation,
        swapped=swapped,
        is_revealed=is_revealed,
        own_text=own_text(annotation, labels, swapped=swapped) if annotation else "",
        own_blind_text=shown_text(annotation.label, labels, swapped=swapped) if annotation else "",
        own_items_text=words_of_parts(annotation.final_parts) if annotation else "",
        may_adjudicate=user.has_perm("review.adjudicate"),
        at=at,
        remarks=_remarks(item) if viewer is Viewer.OWNER else (),
    )


def own_text(annotation: Annotation, labels: tuple[Label, ...], *, swapped: bool) -> str:
    """Return what somebody answered in words: their label, or why they cannot judge the item."""
    if annotation.cannot_judge:
        return f"{CANNOT_JUDGE}: {annotation.cannot_judge}"
    return shown_text(annotation.final_label, labels, swapped=swapped)


def _remarks(item: ReviewItem) -> tuple[Remark, ...]:
    return tuple(remarks_on([item.pk]).get(item.pk, ()))


def _parts(viewer: Viewer, item: ReviewItem, is_revealed: bool) -> frozenset[ItemPart]:
    if viewer is Viewer.OWNER:
        return EVERYTHING
    stage = stage_of(has_answered=True, takes_answers=item.is_open) if is_revealed else Stage.BEFORE_ANSWER
    return visible(viewer, QueueMode(item.queue.mode), stage)


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


def read_adjudication(*, item_id: int, user: User, at: datetime) -> ItemPanel:
    """Return an item with all answers and their reasons, for somebody who decides it.

    What machines said is there once the item is decided and the person has asked for it, or has annotated it.

    Raises:
        ReviewItem.DoesNotExist: there is no such item.
    """
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    annotation = Annotation.objects.filter(item=item, annotator=user).select_related("assignment").first()
    viewer = viewer_of(is_member=True, has_claimed=annotation is not None, is_adjudicating=True, is_owner=False)
    swapped = annotation is not None and annotation.assignment.swapped
    is_decided = item.decided_at is not None
    is_revealed = annotation is not None or (is_decided and has_seen_verdicts(item=item, person=user))
    stage = stage_of(has_answered=is_revealed, takes_answers=item.is_open)
    parts = visible(viewer, QueueMode(item.queue.mode), stage)
    return ItemPanel(
        item=item,
        state=ANSWERED,
        content=read_content(item=item, parts=parts, swapped=swapped),
        claim=None,
        annotation=annotation,
        swapped=swapped,
        is_revealed=is_revealed,
        own_text="",
        own_blind_text="",
        own_items_text="",
        may_adjudicate=annotation is None,
        at=at,
        remarks=_remarks(item),
    )


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a person stands in the queue, and the item of their last act where they may still take it back."""

    progress: Progress
    previous_id: int | None


def queue_position_of(*, item: ReviewItem, user: User, at: datetime, progress: Progress | None = None) -> QueuePosition:
    """Return the person's progress in the item's queue and their last act that can be undone, a skip included.

    A caller who knows the progress spares reading it.
    """
    progress = progress or progress_of(queue=item.queue, user=user)
    rows = _LAST.rows(queue_id=item.queue_id, user_id=user.pk, item_id=item.pk, since=at - UNDO_GRACE)
    undoable = [row[0] for row in rows if _is_undoable(*row[1:])]
    return QueuePosition(progress, undoable[0] if undoable else None)


def _is_undoable(acted: str, item_status: str, is_recent: int, revealed_at: object) -> bool:
    if acted == AssignmentStatus.SKIPPED:
        return item_status == ItemStatus.OPEN
    closed = item_status in (ItemStatus.DECIDED, ItemStatus.NEEDS_ADJUDICATION)
    return revealed_at is None and (item_status == ItemStatus.OPEN or (closed and bool(is_recent)))


def _last_query(*, queue_id: int, user_id: int, item_id: int, since: datetime) -> QuerySet[Assignment, Any]:
    """This person's last act in the queue, on another item."""
    mine = Assignment.objects.filter(annotator=user_id, queue=queue_id, acted_at__isnull=False).exclude(item=item_id)
    mine = mine.filter(status__in=(AssignmentStatus.SUBMITTED, AssignmentStatus.SKIPPED))
    status = ReviewItem.objects.filter(pk=OuterRef("item_id")).values("status")
    revealed = Annotation.objects.filter(assignment=OuterRef("pk")).values("revealed_at")
    recent = Case(When(acted_at__gte=since, then=Value(1)), default=Value(0))
    rows = mine.order_by("-acted_at", "-pk").annotate(item_status=Subquery(status), revealed=Subquery(revealed))
    return rows.annotate(recent=recent).values_list("item_id", "status", "item_status", "recent", "revealed")[:1]


_LAST = PreparedQuery(_last_query)
