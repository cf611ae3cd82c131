"""The audit log, and the one way into it, open to every layer: services and views call it where the act is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Model, Q, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from evalsite.base.rows import current_origin

SUBJECT_LIMIT = 200  # characters
ABOUT_PEOPLE = ("person.", "session.")  # how the names of acts begin whose subject is a person
PERSONAL = ("first_name", "last_name", "email", "address")  # details of such acts, former values among them
ERASED = "erased"


class AuditEntry(models.Model):
    """Who did what, when. Written once; all that ever goes from it are the names of somebody who is erased."""

    at = models.DateTimeField(db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="audit_entries"
    )  # None: a command or the site itself
    action = models.CharField(max_length=60)  # "suite.imported", "run.cancelled", ...
    subject = models.CharField(max_length=200)  # shown text
    subject_id = models.BigIntegerField(null=True)
    address = models.CharField(max_length=200, db_default="")  # of the subject's page; empty where it has none
    detail = models.JSONField(default=dict)
    names_erased_at = models.DateTimeField(null=True)  # subject and detail are changed then, and the rest never

    class Meta:
        default_permissions = ("view",)
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["action", "at"], name="audit_action")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    @property
    def facts(self) -> list[tuple[str, object]]:
        """The details as pairs: a template that asks a dictionary for its items gets the key of that name first."""
        erased = {"names erased": self.names_erased_at.date()} if self.names_erased_at else {}
        return [
            (name, ", ".join(map(str, value)) if isinstance(value, list) else value)
            for name, value in {**self.detail, **erased}.items()
            if value not in (None, "", [])
        ]


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """What an act was about, where the name of a row says too little."""

    text: str
    pk: int | None

    def __str__(self) -> str:
        return self.text


def record(actor: User | None, verb: str, subject: Model | NamedSubject | str, /, **facts: object) -> None:
    """Append what somebody did to the audit log; called inside the act's transaction, so that both stand or fall.

    `actor` None is a command or the site itself; a subject that is a text only has no number. What is done by a command
    or the API says so.
    """
    origin = current_origin()
    address_of = getattr(subject, "get_absolute_url", None)
    AuditEntry.objects.create(
        at=timezone.now(),
        actor=actor,
        action=verb,
        subject=str(subject)[:SUBJECT_LIMIT],
        subject_id=None if isinstance(subject, str) else subject.pk,
        address=address_of() if address_of is not None else "",
        detail=json.loads(json.dumps(facts | ({"through": origin} if origin else {}), default=str)),
    )


@dataclass(frozen=True, slots=True)
class ErasedName:
    """A person who is erased: their number, what they were called, and what stands for them now."""

    pk: int
    username: str
    names: frozenset[str]  # every text that is theirs alone: user name, address, full name
    pseudonym: str


def erase_names(person: ErasedName, *, at: datetime) -> int:
    """Put the pseudonym in place of a person's names and addresses in the log, and return in how many entries."""
    written = {text for name in person.names for text in (name, json.dumps(name)[1:-1])}  # as a database stores it
    about = Q(actor=person.pk) | Q(subject_id=person.pk) | Q(subject=person.username)
    named = Q(*(("text__contains", text) for text in sorted(written)), _connector=Q.OR)
    entries = AuditEntry.objects.annotate(text=Cast("detail", TextField())).filter(about | named)
    changed: list[AuditEntry] = []
    for entry in entries.iterator(chunk_size=1000):
        before = entry.subject, entry.detail
        _erase_in(entry, person)
        if (entry.subject, entry.detail) != before:
            entry.names_erased_at = at
            changed.append(entry)
    AuditEntry.objects.bulk_update(changed, ["subject", "detail", "names_erased_at"], batch_size=500)
    return len(changed)


def _erase_in(entry: AuditEntry, person: ErasedName) -> None:
    is_theirs = entry.action.startswith(ABOUT_PEOPLE) and (
        entry.subject == person.username or entry.subject_id == person.pk
    )
    if is_theirs:
        entry.subject = person.pseudonym
        entry.detail = {name: ERASED if name in PERSONAL else value for name, value in entry.detail.items()}
    entry.detail = _without(entry.detail, person)


def _without(value: Any, person: ErasedName) -> Any:
    if isinstance(value, dict):
        return {name: _without(each, person) for name, each in value.items()}
    if isinstance(value, list):
        return [_without(each, person) for each in value]
    return person.pseudonym if isinstance(value, str) and value in person.names else value
