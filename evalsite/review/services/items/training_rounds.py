"""The training round of a queue: what people answer before their first item, and whether they are let on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.base.rows import lock_row
from evalsite.review.models import GoldAnswer, NoticeKind, PausedPerson, Queue, ReviewItem, TrainingAnswer
from evalsite.review.questions.gold_marks import marks
from evalsite.review.selectors.labels.subjects import form_of_item, with_subjects
from evalsite.review.selectors.screens.waiting_items import is_member, why_nothing_for
from evalsite.review.selectors.training_rounds import order_of, training_of
from evalsite.review.services.items.given_labels import given_label
from evalsite.review.services.items.notices import notify_owners
from evalsite.review.states import QueueStatus, ReviewRefused


@transaction.atomic
def record_training(
    *, queue: Queue, item_id: int, person: User, parts: Mapping[str, str], at: datetime
) -> TrainingAnswer:
    """Store what a person answers to a training item; after the last one, who is below the mark is not let on.

    Raises:
        ReviewRefused: it is no training item of the queue, they have answered it, or they may not work there; a
            question has no answer, or one off its scale.
    """
    queue = lock_row(Queue, queue.pk)
    if queue.status != QueueStatus.OPEN or not is_member(queue=queue, user=person):
        raise ReviewRefused(why_nothing_for(queue=queue, user=person, at=at))
    known = GoldAnswer.objects.filter(item=item_id, item__queue=queue, is_training=True).first()
    if known is None:
        raise ReviewRefused("This is not a training item of the queue.")
    if known.training_answers.filter(person=person).exists():
        raise ReviewRefused("You have already answered this training item.")
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    given = given_label(item, label="", part_texts=parts, order=order_of(item, person))
    found = marks(
        form_of_item(item),
        label=given.label,
        parts=given.parts,
        known_label=known.label,
        known_parts=known.parts,
        tolerance=known.tolerance,
    )
    answer = TrainingAnswer.objects.create(
        gold=known, person=person, label=given.label, parts=given.parts, by_question=found, answered_at=at
    )
    _qualify(queue, person, at)
    return answer


def _qualify(queue: Queue, person: User, at: datetime) -> None:
    """Keep a person from the queue's items who has finished the round below its mark, and tell the owners."""
    score = training_of(queue, person)
    if not score.is_done or not score.is_below(queue.training_mark):
        return
    PausedPerson.objects.create(
        queue=queue, person=person, right=score.right, answered=score.answered, paused_at=at, in_training=True
    )
    detail = f"{person.username}: {score.right} of {score.answered} training items right"
    notify_owners(queue=queue, kind=NoticeKind.NOT_QUALIFIED, at=at, detail=detail)
    record(None, "queue.person_not_qualified", queue, person=person.username, right=score.right)


@transaction.atomic
def train_again(*, queue: Queue, person: User, reason: str, actor: User | None, at: datetime) -> Queue:
    """Let a person answer the training round of a queue from its beginning; what they answered is forgotten.

    Raises:
        ReviewRefused: they have answered nothing there.
    """
    answers = TrainingAnswer.objects.filter(gold__item__queue=queue, person=person)
    score = training_of(queue, person)
    if not answers.delete()[0]:
        raise ReviewRefused(f"{person.username} has not begun the training round of this queue.", field="person")
    pauses = PausedPerson.objects.filter(queue=queue, person=person, resumed_at=None, in_training=True)
    pauses.update(resumed_at=at, resolved_at=at, resolved_by=actor)
    detail = {"person": person.username, "right": score.right, "answered": score.answered, "reason": reason}
    record(actor, "queue.person_trains_again", queue, **detail)
    return queue
