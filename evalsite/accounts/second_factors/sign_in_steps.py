"""Between password and second factor: who has shown the one waits in an anonymous session for the other."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_lockout_response
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare

from evalsite.accounts.sessions import OPENED
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused

WAITING = "waits_for_second_factor"  # in the session: who, the hash of their password, since when, and the page wanted
ASKED = "passkey_asked"  # in the session: what the answer of a passkey is checked with
SECOND_STEP = "second_step"  # among credentials that failed
PATIENCE = timedelta(minutes=10)
FRESH = timedelta(minutes=15)
BACKEND = "evalsite.accounts.backends.PeopleBackend"


def wait_for_factor(request: HttpRequest, person: User, *, to: str, at: datetime) -> HttpResponse:
    """Keep who has shown a password, or came from the provider, and lead to the page that asks for more."""
    request.session[WAITING] = [person.pk, person.get_session_auth_hash(), at.isoformat(), to]
    return redirect("second-factor")


def who_waits(request: HttpRequest, *, at: datetime) -> tuple[User, str] | None:
    """Return who has shown the first factor lately, and the page that they want; None for anybody else."""
    waiting = request.session.get(WAITING)
    if not waiting:
        return None
    key, auth_hash, since, to = waiting
    person = User.objects.filter(pk=key, is_active=True).first()
    is_late = at - datetime.fromisoformat(since) > PATIENCE
    if person is None or is_late or not constant_time_compare(auth_hash, person.get_session_auth_hash()):
        return None
    return person, to


def sign_in(request: HttpRequest, person: User) -> None:
    """Open a session for who has shown all that is asked."""
    for name in (WAITING, ASKED):
        request.session.pop(name, None)
    login(request, person, backend=BACKEND)


def lock_out(request: HttpRequest, username: str) -> HttpResponse | None:
    """Return the page of a lock-out, where too much was tried with a name here."""
    credentials = {"username": username}
    if AxesProxyHandler.is_allowed(request, credentials):
        return None
    request.axes_locked_out = True  # type: ignore[attr-defined]  # as the backend of axes says it
    page: HttpResponse = get_lockout_response(request, credentials=credentials)
    return page


def count_failure(request: HttpRequest, username: str) -> None:
    """Count a wrong code or passkey like a wrong password."""
    user_login_failed.send(sender=__name__, credentials={"username": username, SECOND_STEP: True}, request=request)


def keep_question(request: HttpRequest, state: JsonDict) -> None:
    """Keep what the answer of a passkey is checked with."""
    request.session[ASKED] = state


def take_question(request: HttpRequest) -> Any:
    """Return what the answer of a passkey is checked with, once. Raises: Refused: nothing was asked."""
    state = request.session.pop(ASKED, None)
    if state is None:
        raise Refused("The page was open too long. Try again.")
    return state


def is_fresh(request: HttpRequest, *, at: datetime) -> bool:
    """Return whether somebody has signed in a short while ago, as who changes second factors has to."""
    opened = request.session.get(OPENED)
    return opened is not None and at - datetime.fromisoformat(opened[0]) < FRESH
