"""Notes who has seen of an item what its annotators must not, so that nobody is asked blind who is not."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from evalsite.review.models import Annotation, Assignment, Look, ReviewItem
from evalsite.review.states import AssignmentStatus, ReviewRefused

IN_WORK = (AssignmentStatus.LEASED, AssignmentStatus.LAPSED)


@transaction.atomic
def note_look(*, item: ReviewItem, person: User, at: datetime, saw_verdicts: bool = True) -> Look:
    """Note that a person sees other people's answers to an item now; their own blind answer, if any, is fixed by it.

    `saw_verdicts`: they see what the machines said as well.
    """
    fields = {"queue_id": item.queue_id, "looked_at": at, "saw_verdicts": saw_verdicts}
    look, is_new = Look.objects.get_or_create(item=item, person=person, defaults=fields)
    if saw_verdicts and not is_new and not look.saw_verdicts:
        Look.objects.filter(pk=look.pk).update(saw_verdicts=True)
    Annotation.objects.filter(item=item, annotator=person, revealed_at=None).update(revealed_at=at)
    return look


def has_looked(*, item: ReviewItem, person: User) -> bool:
    """Return whether a person has seen other people's answers to an item, or to the one that it repeats."""
    return Look.objects.filter(Q(item=item) | Q(item=item.retest_of_id), person=person).exists()


def check_may_look(*, item: ReviewItem, person: User) -> None:
    """Accept that somebody sees all answers and verdicts. Raises: ReviewRefused while they hold the item themselves."""
    if Assignment.objects.filter(item=item, annotator=person, status__in=IN_WORK, item_open=True).exists():
        raise ReviewRefused("This item is assigned to you. Annotate or skip it before you view other annotations.")
