"""Brings answers out of a file back into a queue: all of it or nothing, and a second time nothing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import prefetch_related_objects

from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import InvalidInput
from evalsite.base.rows import batches
from evalsite.review.models import Adjudication, Annotation, Assignment, NoticeKind, Provenance, Queue, ReviewItem
from evalsite.review.selectors.subjects import parts_in
from evalsite.review.services.annotation_plans import AnnotationPlan, ItemChange, PeopleChoice, plan_import
from evalsite.review.services.claims import repeat_item
from evalsite.review.services.decisions import (
    dispute_of,
    drop_final_labels,
    keep_final_label,
    keep_majority,
    keep_revised_label,
    labelled,
)
from evalsite.review.services.notices import notify_adjudicators
from evalsite.review.services.queues import recount
from evalsite.review.states import AssignmentStatus, ItemStatus, QueueMode, QueueStatus
from evalsite.review.tables.annotations import ANSWERED, SKIPPED, UNABLE, Act, AnnotationFile
from judging.specs.files.findings import Problem, Severity

BATCH = 500
FILE_LIMIT = 200  # characters of a file's name
UPDATES = 50  # rows of one update: each is looked for among all of them
CLAIM_STATUS = {
    ANSWERED: AssignmentStatus.SUBMITTED,
    UNABLE: AssignmentStatus.SUBMITTED,
    SKIPPED: AssignmentStatus.SKIPPED,
}
CLAIM_FIELDS = (
    "status", "swapped", "shown_order", "claimed_at", "expires_at", "active_seconds", "skip_reason", "flag",
    "item_open", "seen_before", "prefilled", "prefilled_by", "shows_prefilled",
)  # fmt: skip
ITEM_FIELDS = ("quorum", "status", "label", "decided_at", "reopened_at", "answer_count", "dispute")
ARCHIVED = "This queue is archived and accepts no annotations. Restore it first."


class AnnotationImportRefused(InvalidInput):
    """The file cannot be imported as it is; nothing was stored."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__({"file": [str(problem) for problem in problems if problem.severity is Severity.ERROR]})


def check_open(queue: Queue) -> None:
    """Accept a queue that takes answers. Raises: AnnotationImportRefused."""
    if queue.status == QueueStatus.ARCHIVED:
        raise AnnotationImportRefused([Problem(Severity.ERROR, "", "", ARCHIVED, code="archived")])


@transaction.atomic
def import_annotations(
    *, queue: Queue, file: AnnotationFile, people: PeopleChoice, actor: User | None, at: datetime
) -> AnnotationPlan:
    """Store everything of a file that is not here yet, and bring the items where the file left them; return what that
    was. People whom this site does not know are added, unless there is nothing to store.

    Raises:
        AnnotationImportRefused: the file does not fit this queue, its items, its people, or what is here already.
    """
    check_open(queue)
    unlocked_plan = plan_import(queue=queue, file=file, people=people, at=at)
    _lock([change.item_id for change in unlocked_plan.changes if change.item_id is not None])
    plan = plan_import(queue=queue, file=file, people=people, at=at)  # again: nobody can answer these now
    if plan.is_refused:
        raise AnnotationImportRefused(plan.problems)
    if plan.is_empty:
        return plan
    _add_people(plan.unknown, actor)
    ids = _people_of(plan, people)
    stored = [(change, _item_of(change, queue, people, ids, at)) for change in plan.changes]
    for some in batches(stored, BATCH):
        _store(some, ids, file.name)
    if any(
        change.status == ItemStatus.NEEDS_ADJUDICATION for change in plan.changes
    ):  # before the queue's row, as who answers does
        notify_adjudicators(queue=queue, kind=NoticeKind.NEEDS_ADJUDICATION, at=at)
    recount(queue_id=queue.pk)
    detail = {"file": file.name, **{name: count for name, count in plan.counts().items() if count}}
    record(actor, "annotations.imported", queue, **detail, people=list(plan.unknown))
    return plan


def _lock(item_ids: Sequence[int]) -> None:
    for batch in batches(sorted(item_ids), BATCH):  # everybody locks in the same order
        locked = ReviewItem.objects.select_for_update(of=("self",)).filter(pk__in=batch).order_by("pk")
        list(locked.values_list("pk", flat=True))


def _add_people(names: Sequence[str], actor: User | None) -> None:
    """Add people without a role who cannot sign in: they stand for whoever answered elsewhere."""
    for name in names:
        try:
            UnicodeUsernameValidator()(name)
        except ValidationError as error:
            text = f"{name!r} cannot be a user name: {' '.join(error.messages)} Choose an existing account instead."
            raise AnnotationImportRefused([Problem(Severity.ERROR, "", "", text)]) from error
        if User.objects.filter(username__iexact=name).exists():
            text = f"{name!r} differs from an existing user name only in upper and lower case. Choose the account."
            raise AnnotationImportRefused([Problem(Severity.ERROR, "", "", text)])
        person = User(username=name, is_active=False)
        person.set_unusable_password()
        person.save()
        record(actor, "person.created", person, is_active=False, why="import of answers")


def _people_of(plan: AnnotationPlan, people: PeopleChoice) -> dict[str, int]:
    names = {act.annotator for change in plan.changes for act in change.acts}
    names |= {change.adjudication.adjudicator for change in plan.changes if change.adjudication is not None}
    names |= {people.here(change.facts.only_for) for change in plan.changes}
    return dict(User.objects.filter(username__in=names).values_list("username", "pk"))


def _item_of(
    change: ItemChange, queue: Queue, people: PeopleChoice, ids: Mapping[str, int], at: datetime
) -> ReviewItem:
    if change.item_id is not None:
        item = ReviewItem.objects.select_related("queue", "subject__rubric_item").get(pk=change.item_id)
        item.queue = queue
        return item
    first = queue.items.get(pk=change.first_id or 0)
    person_id = ids[people.here(change.facts.only_for)]
    return repeat_item(first, queue=queue, person_id=person_id, at=at, quorum=change.quorum)


def _store(stored: Sequence[tuple[ItemChange, ReviewItem]], ids: Mapping[str, int], file: str) -> None:
    claims = _store_claims(stored, ids)
    Annotation.objects.bulk_create(
        _annotation(act, claims[item.pk, ids[act.annotator]], file)
        for change, item in stored
        for act in change.acts
        if act.is_answer or act.is_unable
    )
    prefetch_related_objects([item for _, item in stored], "annotations")
    for change, item in stored:
        _store_word(change, item, ids)
        item.quorum, item.status, item.label = change.quorum, change.status, change.label
        item.decided_at, item.reopened_at = change.decided_at, change.reopened_at
        answers = labelled(item.annotations.all())
        item.answer_count, item.dispute = len(answers), dispute_of(item, answers)
        _keep_labels(item, answers)
    ReviewItem.objects.bulk_update([item for _, item in stored], ITEM_FIELDS, batch_size=UPDATES)
    for is_open in (True, False):
        touched = [item.pk for change, item in stored if (change.status == ItemStatus.OPEN) == is_open]
        others = Assignment.objects.filter(item_id__in=touched, item__retest_of=None)
        others.exclude(item_open=is_open).update(item_open=is_open)


def _keep_labels(item: ReviewItem, answers: Sequence[Annotation]) -> None:
    """Store the final labels that an item's annotations and its adjudication come to, as if they were given here."""
    if item.decided_at is None or not item.label or item.status == ItemStatus.STALE:
        return
    drop_final_labels(item=item)
    if item.status == ItemStatus.DECIDED:
        keep_majority(item=item, answers=answers, at=item.decided_at)
    else:
        word = item.adjudication
        provenance = Provenance.ADJUDICATION if word.is_blind else Provenance.INFORMED
        keep_final_label(item=item, label=item.label, provenance=provenance, at=item.decided_at, parts=word.parts)
    keep_revised_label(item=item, answers=answers, at=item.decided_at)


def _store_claims(
    stored: Sequence[tuple[ItemChange, ReviewItem]], ids: Mapping[str, int]
) -> dict[tuple[int, int], Assignment]:
    """Make the claims of new acts; one that a person holds here without an act becomes the file's, its draft stays."""
    assignments = Assignment.objects.filter(item__in=[item for _, item in stored]).order_by("pk")
    existing = {(claim.item_id, claim.annotator_id): claim for claim in assignments}
    claims: dict[tuple[int, int], Assignment] = {}
    fresh: list[Assignment] = []
    for change, item in stored:
        for act in change.acts:
            key = (item.pk, ids[act.annotator])
            claim = existing.get(key) or Assignment(item=item, queue_id=item.queue_id, annotator_id=key[1])
            _write_claim(claim, act, is_open=change.status == ItemStatus.OPEN and change.first_id is None)
            claims[key] = claim
            if key not in existing:
                claim.token = uuid.uuid4()
                fresh.append(claim)
    Assignment.objects.bulk_create(fresh)
    updated = [claim for key, claim in claims.items() if key in existing]
    Assignment.objects.bulk_update(updated, CLAIM_FIELDS, batch_size=UPDATES)
    return claims


def _write_claim(claim: Assignment, act: Act, *, is_open: bool) -> None:
    if act.claimed_at is None or act.saw_swapped is None:
        raise ValueError(f"{act} was read without the time of its claim")
    claim.status = CLAIM_STATUS.get(act.act, AssignmentStatus.LAPSED)
    claim.swapped, claim.shown_order, claim.item_open = act.saw_swapped, act.shown_order, is_open
    claim.claimed_at = claim.expires_at = act.claimed_at
    claim.active_seconds = act.active_seconds or 0.0
    claim.skip_reason, claim.flag = act.skip_reason, act.flag
    claim.seen_before = bool(act.seen_before)
    claim.prefilled, claim.prefilled_by = parts_in(act.prefilled), act.prefilled_by
    claim.shows_prefilled = act.mode == QueueMode.PREFILLED


def _annotation(act: Act, claim: Assignment, file: str) -> Annotation:
    if act.answered_at is None or (act.slot is None and act.is_answer):
        raise ValueError(f"{act} was read without its slot or time")
    return Annotation(
        item_id=claim.item_id,
        queue_id=claim.queue_id,
        annotator_id=claim.annotator_id,
        assignment=claim,
        slot=act.slot,
        label=act.blind_label,
        cannot_judge=act.cannot_judge,
        parts=json.loads(act.blind_parts or "{}"),
        source_file=file[:FILE_LIMIT],
        seen_before=bool(act.seen_before),
        mode=QueueMode(act.mode or claim.queue.mode),
        guidelines_version=act.guidelines_version or 1,
        note=act.note,
        seconds=act.seconds,
        active_seconds=act.active_seconds,
        created_at=act.answered_at,
        edited_at=act.edited_at,
        revealed_at=act.revealed_at,
        revised_label=act.revised_label,
        revised_parts=json.loads(act.revised_parts or "{}"),
        revision_note=act.revision_note,
        revised_at=act.revised_at,
    )


def _store_word(change: ItemChange, item: ReviewItem, ids: Mapping[str, int]) -> None:
    word = change.adjudication
    if word is None:
        return
    adopted = item.annotations.filter(annotator__username=word.adopted).first() if word.adopted else None
    Adjudication.objects.create(
        item=item,
        adjudicator_id=ids[word.adjudicator],
        label=word.label,
        parts=json.loads(word.parts or "{}"),
        adopted=adopted,
        reason=word.reason,
        is_blind=word.is_blind,
        created_at=word.at,
    )
