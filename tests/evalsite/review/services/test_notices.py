"""Notices of queues and runs: who is told what, where it leads, and what goes out by mail."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.models import MailChoice, Notice, NoticeKind, Queue
from evalsite.review.services.notices import notify, people_to_mail, read_notices, send_waiting_mail, sentence_of
from judging.models import Run, RunKind
from judging.services.run_lifecycle import finish_run_if_complete, pause_run, resume_run
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def _said() -> list[tuple[str, str, str]]:
    return [(notice.person.username, sentence_of(notice), notice.address) for notice in Notice.objects.order_by("pk")]


def _started(**fields: Any) -> Run:
    return factories.run(status="running", planned_at=NOON, **fields)


def test_notify_counts_up_what_is_unread_and_begins_anew_once_it_is_read() -> None:
    ada, queue = factories.user("ada"), factories.queue(name="Pilot")
    for _ in range(2):
        notify(people=[ada], kind=NoticeKind.NEEDS_ADJUDICATION, subject=queue, at=NOON)
    read = read_notices(person=ada, at=NOON, address=queue.get_absolute_url())
    notify(people=[ada], kind=NoticeKind.NEEDS_ADJUDICATION, subject=queue, at=NOON)

    text, address = "Annotators disagree on an item of “Pilot”; it needs adjudication.", queue.get_absolute_url()
    assert read == 1
    assert _said() == [("ada", f"{text} (2 times)", address), ("ada", text, address)]


def test_whoever_started_a_run_is_told_that_it_ended_with_its_counts() -> None:
    ada = factories.user("ada", Role.RESEARCHER)
    factories.user("ben", Role.RESEARCHER)
    run = _started(name="Orion by rules", created_by=ada, total=1234, done=1200, failed=34)

    assert finish_run_if_complete(run_id=run.pk, at=NOON)

    assert _said() == [
        ("ada", "The run “Orion by rules” ended: 1,200 of 1,234 tasks done, 34 failed.", f"/runs/{run.pk}/")
    ]


def test_a_run_that_pauses_by_itself_is_told_and_one_that_somebody_paused_is_not() -> None:
    ada = factories.user("ada", Role.RESEARCHER)
    by_itself, by_hand = (_started(name=name, created_by=ada) for name in ("Orion", "Rigel"))

    pause_run(run_id=by_itself.pk, actor=None, reason="The budget is reached.")
    pause_run(run_id=by_hand.pk, actor=ada)
    resume_run(run_id=by_hand.pk, actor=ada)

    assert _said() == [("ada", "The run “Orion” was paused. The budget is reached.", f"/runs/{by_itself.pk}/")]


def test_debates_are_told_under_the_name_and_page_of_their_set() -> None:
    ada = factories.user("ada", Role.RESEARCHER)
    run = _started(kind=RunKind.DEBATE, created_by=ada, total=3)
    debates = factories.debate_set(name="Orion or Rigel", run=run)

    finish_run_if_complete(run_id=run.pk, at=NOON)

    text = "The run “Orion or Rigel” ended: 0 of 3 tasks done, 0 failed."
    assert _said() == [("ada", text, debates.get_absolute_url())]


@pytest.mark.parametrize("case", ["nobody", "left", "trial"])
def test_nobody_is_told_of_a_trial_or_of_a_run_without_an_owner(case: str) -> None:
    ada = factories.user("ada", Role.RESEARCHER)
    ada.is_active = case != "left"
    ada.save()
    kind = RunKind.SINGLE if case == "trial" else RunKind.GRADING

    assert finish_run_if_complete(run_id=_started(kind=kind, created_by=None if case == "nobody" else ada).pk, at=NOON)
    assert _said() == []


def test_opening_the_page_that_a_notice_names_marks_it_read_and_no_other() -> None:
    ada, client = factories.user("ada", Role.RESEARCHER), Client()
    client.force_login(ada)
    runs = [_started(created_by=ada) for _ in range(2)]
    for run in runs:
        finish_run_if_complete(run_id=run.pk, at=NOON)

    before = client.get(reverse("home")).context["unread_notices"]
    opened = client.get(runs[0].get_absolute_url()).context["unread_notices"]
    after = client.get(reverse("home")).context["unread_notices"]

    assert (before, opened, after) == (2, 1, 1)
    assert Notice.objects.get(read_at=None).address == runs[1].get_absolute_url()


def test_mail_goes_to_those_who_asked_for_it_and_once(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.SITE_URL = "https://evals.example.org"
    ada, ben = (factories.user(name, Role.ANNOTATOR) for name in ("ada", "ben"))
    ada.email = "ada@example.org"
    ada.save()
    MailChoice.objects.create(person=ada)
    notify(people=[ada, ben], kind=NoticeKind.ASSIGNED, subject=factories.queue(name="Pilot"), at=NOON)

    sent = [send_waiting_mail(person_id=person.pk, at=NOON) for person in (ada, ada, ben)]

    assert sent == [1, 0, 0]
    page = Queue.objects.get().get_absolute_url()
    text = f"You were added to the review queue “Pilot”.\nhttps://evals.example.org{page}"
    assert [(letter.to, letter.subject, letter.body) for letter in mail.outbox] == [
        (["ada@example.org"], "Evalsite: Pilot", text)
    ]


def test_a_letter_that_is_refused_is_told_and_goes_out_a_quarter_of_an_hour_later(settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    ada = factories.user("ada", Role.ANNOTATOR)
    ada.email = "ada@example.org"
    ada.save()
    MailChoice.objects.create(person=ada)
    now = timezone.now()
    notify(people=[ada], kind=NoticeKind.ASSIGNED, subject=factories.queue(name="Pilot"), at=now)
    with socket.socket() as held:  # bound, and nobody listens
        held.bind(("127.0.0.1", 0))
        settings.EMAIL_HOST, settings.EMAIL_PORT = held.getsockname()
        settings.EMAIL_BACKEND, arrives = "django.core.mail.backends.smtp.EmailBackend", settings.EMAIL_BACKEND
        refused = send_waiting_mail(person_id=ada.pk, at=now)
    settings.EMAIL_BACKEND = arrives

    later = [
        (people_to_mail(at=at), send_waiting_mail(person_id=ada.pk, at=at))
        for at in (now + timedelta(minutes=minutes) for minutes in (1, 14, 30, 31))
    ]

    assert (refused, later) == (0, [([], 0), ([], 0), ([ada.pk], 1), ([], 0)])
    entry = AuditEntry.objects.get(action="mail.failed")
    assert (entry.subject, "ConnectionRefusedError" in entry.detail["said"]) == ("ada", True)
    assert [letter.to for letter in mail.outbox] == [["ada@example.org"]]


def test_a_notice_that_no_letter_could_be_sent_of_for_a_day_is_given_up(settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    ada = factories.user("ada", Role.ANNOTATOR)
    ada.email = "ada@example.org"
    ada.save()
    MailChoice.objects.create(person=ada)
    notify(people=[ada], kind=NoticeKind.ASSIGNED, subject=factories.queue(name="Pilot"), at=NOON)

    assert people_to_mail(at=NOON + timedelta(hours=23)) == [ada.pk]
    assert people_to_mail(at=NOON + timedelta(hours=24)) == []


def test_notices_of_a_quarter_of_an_hour_go_out_in_one_letter(settings: Any) -> None:
    settings.EMAIL_HOST, settings.SITE_URL = "mail.example.org", "https://evals.example.org"
    ada = factories.user("ada", Role.ANNOTATOR)
    ada.email = "ada@example.org"
    ada.save()
    MailChoice.objects.create(person=ada)

    def note(name: str) -> None:
        notify(people=[ada], kind=NoticeKind.ASSIGNED, subject=factories.queue(name=name, slug=name.lower()), at=NOON)

    def said(name: str) -> str:
        address = Queue.objects.get(name=name).get_absolute_url()
        return f"You were added to the review queue “{name}”.\nhttps://evals.example.org{address}"

    def mailed(minutes: int) -> tuple[list[int], int]:
        at = NOON + timedelta(minutes=minutes)
        return people_to_mail(at=at), send_waiting_mail(person_id=ada.pk, at=at)

    note("One")
    first = mailed(0)
    note("Two")
    note("Three")

    assert [first, mailed(1), mailed(14), mailed(15), mailed(40)] == [
        ([ada.pk], 1),
        ([], 0),
        ([], 0),
        ([ada.pk], 2),
        ([], 0),
    ]
    assert [(letter.subject, letter.body) for letter in mail.outbox] == [
        ("Evalsite: One", said("One")),
        ("Evalsite: 2 notices", f"{said('Two')}\n\n{said('Three')}"),
    ]
