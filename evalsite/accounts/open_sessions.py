"""The sessions in which somebody is signed in: where each began, and how its person ends it.

Django's table of sessions does not say whose they are, so all are read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from evalsite.accounts.audit import record
from evalsite.accounts.sessions import OPENED, has_outlived
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused

AGENT_LIMIT = 300  # characters
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux")


class SessionRefused(Refused):
    """There is no such session of this person."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One browser in which somebody is signed in."""

    name: str  # a digest of its key: who knows the key is signed in
    opened_at: datetime | None
    used_at: datetime  # when its end was last moved
    address: str
    browser: str
    is_this: bool


def note_opening(request: HttpRequest, *, at: datetime) -> None:
    """Keep in a new session where it began."""
    agent = request.META.get("HTTP_USER_AGENT", "")[:AGENT_LIMIT]
    request.session[OPENED] = [at.isoformat(), request.META.get("REMOTE_ADDR", ""), agent]


def open_sessions(*, person: User, key: str | None, at: datetime) -> list[OpenSession]:
    """Return where somebody is signed in, the last used first; `key` is that of the session that asks."""
    found = [_described(stored, said, key) for stored, said in _sessions_of(person, at=at)]
    return sorted(found, key=lambda session: session.used_at, reverse=True)


def held_sessions(*, person: User, at: datetime) -> list[JsonDict]:
    """Return every session that is stored, with those that have ended and are not yet cleared, and whether it has."""
    is_open = {stored.session_key for stored, _ in _sessions_of(person, at=at)}
    return [
        asdict(_described(stored, said, None)) | {"has_ended": stored.session_key not in is_open}
        for stored, said in _stored_sessions(Session.objects.order_by("expire_date", "session_key"), person)
    ]


def _described(stored: Session, said: JsonDict, key: str | None) -> OpenSession:
    began, address, agent = said.get(OPENED) or ("", "", "")
    return OpenSession(
        name=_name(stored),
        opened_at=datetime.fromisoformat(began) if began else None,
        used_at=stored.expire_date - timedelta(seconds=settings.SESSION_COOKIE_AGE),
        address=address,
        browser=browser_in_words(agent),
        is_this=stored.session_key == key,
    )


@transaction.atomic
def end_sessions(*, person: User, name: str, key: str | None, at: datetime) -> int:
    """End the session of this name, or all but the one that asks where the name is empty; return how many.

    Raises:
        SessionRefused: the person has no such session.
    """
    ended = [
        stored
        for stored, _ in _sessions_of(person, at=at)
        if (_name(stored) == name if name else stored.session_key != key)
    ]
    if name and not ended:
        raise SessionRefused("This session has ended already.")
    for stored in ended:
        stored.delete()
    if ended:
        record(person, "session.ended", person, sessions=len(ended))
    return len(ended)


def remove_sessions(*people: User) -> None:
    """Remove every session of people, those that have ended too: each holds the address where it began."""
    for stored, _ in list(_stored_sessions(Session.objects.all(), *people)):
        stored.delete()


def browser_in_words(agent: str) -> str:
    """Return which browser on which system says so of itself."""
    browser = next((name for mark, name in BROWSERS.items() if f"{mark}/" in agent), "")
    system = next((name for name in SYSTEMS if re.search(rf"\b{name}\b", agent)), "")
    return " on ".join(filter(None, (browser, system))) or "Unknown browser"


def _sessions_of(person: User, *, at: datetime) -> Iterator[tuple[Session, JsonDict]]:
    """Yield the sessions that are open: a new password has ended all that began before, as has their longest life."""
    current = person.get_session_auth_hash()
    for stored, said in _stored_sessions(Session.objects.filter(expire_date__gt=at), person):
        if constant_time_compare(said.get(HASH_SESSION_KEY, ""), current) and not has_outlived(said, at=at):
            yield stored, said


def _stored_sessions(sessions: QuerySet[Session], *people: User) -> Iterator[tuple[Session, JsonDict]]:
    keys = {str(person.pk) for person in people}
    for stored in sessions.iterator(chunk_size=1000):
        said = stored.get_decoded()
        if said.get(SESSION_KEY) in keys:
            yield stored, said


def _name(stored: Session) -> str:
    return hashlib.sha256(stored.session_key.encode()).hexdigest()[:16]
