"""How many failed sign-ins are too many: by name and address together, by address alone, and by browser; and how often
anything else was asked lately.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username, get_failure_limit
from axes.models import AccessAttempt
from django.conf import settings
from django.core import signing
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from redis.exceptions import RedisError

from evalsite.base.json_types import JsonDict
from evalsite.serving.proxies import told_address
from judging.llm.limiter import connect

ADDRESS_FACTOR = 5  # an office behind one address may fail that many times as often as one person
BROWSER_COOKIE = "known_browser"
BROWSER_SECONDS = 365 * 24 * 3600


def remember_browser(response: HttpResponse, username: str) -> None:
    """Let the browser show later that somebody has signed in there with this name."""
    value = signing.dumps([secrets.token_urlsafe(16), username], salt=BROWSER_COOKIE)
    response.set_cookie(
        BROWSER_COOKIE, value, BROWSER_SECONDS, secure=settings.HTTPS, httponly=True, samesite="Lax", path="/login/"
    )


def _known_browser(request: HttpRequest, credentials: JsonDict | None) -> str:
    """Return what the browser's failures are counted under; empty where nobody has signed in there with the name."""
    try:
        token, username = signing.loads(
            request.COOKIES.get(BROWSER_COOKIE, ""), salt=BROWSER_COOKIE, max_age=BROWSER_SECONDS
        )
    except signing.BadSignature:
        return ""
    return f"known browser {token}" if username == get_client_username(request, credentials) else ""


class SignInHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Locks out a name at an address, and an address that has failed with many names.

    Nobody is locked out by the failures of somebody else: an address counts by itself only where a named proxy told
    it, since all clients of another proxy share one, and a browser in which somebody has signed in with the name has
    the tries of one person to itself.
    """

    def get_failures(self, request: HttpRequest, credentials: JsonDict | None = None) -> int:
        """Return the failures in the terms of the limit for one name at one address."""
        recent = AccessAttempt.objects.filter(attempt_time__gte=get_cool_off_threshold(request))
        browser = _known_browser(request, credentials)
        if browser:
            name = get_client_username(request, credentials)
            return _total(recent.filter(username=name, user_agent=browser))
        limit: int = get_failure_limit(request, credentials)
        address = told_address(request)
        if address and _total(recent.filter(ip_address=address)) >= limit * ADDRESS_FACTOR:
            return limit
        return int(super().get_failures(request, credentials))

    def user_login_failed(
        self, sender: object, credentials: JsonDict, request: HttpRequest | None = None, **extra: Any
    ) -> None:
        """Count the failure of a known browser as its own."""
        browser = _known_browser(request, credentials) if request is not None else ""
        if browser:
            request.axes_user_agent = browser  # type: ignore[union-attr]  # set before by axes
        super().user_login_failed(sender, credentials, request, **extra)


def _total(attempts: Any) -> int:
    return attempts.aggregate(total=Sum("failures_since_start"))["total"] or 0


def times_lately(what: str, *, seconds: int) -> int:
    """Count something in the broker's Redis, and return how often it came in this period; 0 without a broker."""
    key = f"{what}:{int(time.time()) // seconds}"
    try:
        with connect(settings.REDIS_URL) as redis:
            count = int(redis.incr(key))
            redis.expire(key, 2 * seconds)
    except (RedisError, OSError):
        return 0
    return count
