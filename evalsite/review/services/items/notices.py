"""Tells people what they should know of queues and runs: in the site, and by e-mail where they asked for it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import F, Q

from debate.models import DebateSet
from evalsite.review import signals
from evalsite.review.models import MailChoice, Notice, NoticeKind, Queue
from judging.models import Run, RunKind
from judging.states import RunStatus

NAME_LENGTH = 200

logger = logging.getLogger(__name__)

SENTENCES = {
    NoticeKind.ASSIGNED: "You were added to the review queue “{name}”.",
    NoticeKind.NEEDS_ADJUDICATION: "Annotators disagree on an item of “{name}”; it needs adjudication.",
    NoticeKind.FLAGGED: "An item of “{name}” was flagged.",
    NoticeKind.STUCK: "An item of “{name}” has no annotator left: decide it, exclude it or add people.",
    NoticeKind.DONE: "All items of “{name}” have their annotations.",
    NoticeKind.RUN_ENDED: "The run “{name}” ended: {detail}.",
    NoticeKind.RUN_PAUSED: "The run “{name}” was paused. {detail}",
}


def sentence_of(notice: Notice) -> str:
    """Return what a notice says."""
    text = SENTENCES[NoticeKind(notice.kind)].format(name=notice.name, detail=notice.detail).strip()
    return f"{text} ({notice.count} times)" if notice.count > 1 else text


def notify(
    *, people: Iterable[User], kind: NoticeKind, subject: Queue | Run | DebateSet, at: datetime, detail: str = ""
) -> None:
    """Leave a notice for each person; a second one of the kind counts up the first while it is unread.

    Called inside a transaction. Everybody takes the rows in the same order, so that nobody waits in a circle.
    """
    person_ids, address = sorted({person.pk for person in people}), subject.get_absolute_url()
    unread = Notice.objects.filter(person_id__in=person_ids, kind=kind, address=address, read_at=None)
    notified_ids = set(unread.select_for_update().order_by("person_id").values_list("person_id", flat=True))
    unread.update(count=F("count") + 1, detail=detail)
    fields = {"kind": kind, "name": subject.name[:NAME_LENGTH], "address": address, "detail": detail, "created_at": at}
    fresh = [Notice(person_id=pk, **fields) for pk in person_ids if pk not in notified_ids]
    Notice.objects.bulk_create(fresh, ignore_conflicts=True)
    if fresh and settings.EMAIL_HOST:
        for notice in fresh:
            transaction.on_commit(partial(signals.notices_left.send, sender=Notice, person_id=notice.person_id))


def notify_members(*, queue: Queue, people: Iterable[User], at: datetime) -> None:
    """Tell people that a queue names them."""
    notify(people=people, kind=NoticeKind.ASSIGNED, subject=queue, at=at)


def notify_adjudicators(*, queue: Queue, kind: NoticeKind, at: datetime) -> None:
    """Tell everybody who may adjudicate."""
    permission = Permission.objects.filter(codename="adjudicate", content_type__app_label="review")
    allowed = Q(groups__permissions__in=permission) | Q(user_permissions__in=permission)
    notify(people=User.objects.filter(allowed, is_active=True).distinct(), kind=kind, subject=queue, at=at)


def notify_owner(*, run: Run, at: datetime) -> None:
    """Tell whoever started a run that it ended, or paused by itself; trials of one response are left out."""
    if run.created_by is None or not run.created_by.is_active or run.kind == RunKind.SINGLE:
        return
    if run.status == RunStatus.PAUSED:
        kind, detail = NoticeKind.RUN_PAUSED, run.status_reason
    else:
        kind, detail = NoticeKind.RUN_ENDED, f"{run.done:,} of {run.total:,} tasks done, {run.failed:,} failed"
    subject = run.debate_set if run.kind == RunKind.DEBATE else run
    notify(people=[run.created_by], kind=kind, subject=subject, detail=detail, at=at)


def read_notices(*, person: User, at: datetime, address: str = "") -> int:
    """Mark everything read, or what speaks of the page with this address, and return how much it was."""
    unread = Notice.objects.filter(person=person, read_at=None)
    return (unread.filter(address=address) if address else unread).update(read_at=at)


@transaction.atomic
def choose_mail(*, person: User, enabled: bool) -> None:
    """Send notices to a person's address as well, or no longer."""
    if enabled:
        MailChoice.objects.get_or_create(person=person)
    else:
        MailChoice.objects.filter(person=person).delete()


def send_waiting_mail(*, person_id: int, at: datetime) -> int:
    """Mail what a person who asked for it has not read yet; each notice once. Returns how many letters went out."""
    waiting = Notice.objects.filter(
        person_id=person_id, read_at=None, mailed_at=None, person__mail_choice__isnull=False, person__is_active=True
    ).exclude(person__email="")
    sent = 0
    for notice in waiting.select_related("person").order_by("pk"):
        if not Notice.objects.filter(pk=notice.pk, mailed_at=None).update(mailed_at=at):
            continue
        try:
            subject = f"Evalsite: {notice.name}"[:120].replace("\n", " ")
            send_mail(subject, sentence_of(notice), None, [notice.person.email])
        except (SMTPException, OSError):
            logger.exception("review.mail_failed notice_id=%s", notice.pk)
        else:
            sent += 1
    return sent
