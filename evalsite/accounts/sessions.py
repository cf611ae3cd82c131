"""Sessions that last while somebody works, and the way back to the page where one has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

NO_CONTENT = 204
RENEWED = "renewed_on"  # in the session: the day, or the time, at which its end was last moved
OPENED = "opened"  # in the session: when it began, at which address, in which browser
OPEN_TO_ENROL = {"second-factor-list", "second-factor-app", "second-factor-passkey", "logout"}
ENROL = "has_to_enrol"  # in the session of somebody who lacks the second factor that their role requires


def is_held_back(request: HttpRequest) -> bool:
    """Return whether somebody has to set up a second factor before they use the site."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES and bool(request.session.get(ENROL))


class SignInMiddleware(LoginRequiredMiddleware):
    """Sends who is not signed in to the sign-in page, and from there back to the page that they were on.

    A form's own address may take POST only, and what htmx fetches is a part of a page, so the way back is the page that
    the browser shows.
    """

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Return a redirect where somebody has to sign in, or to set up a second factor."""
        answer = super().process_view(request, view_func, view_args, view_kwargs)
        if answer is None and getattr(view_func, "login_required", True) and is_held_back(request):
            match = request.resolver_match
            if match is not None and match.url_name not in OPEN_TO_ENROL:
                return redirect("accounts:second-factor-list")
        return answer

    def handle_no_permission(  # type: ignore[override]  # Django's is narrower than what a middleware may return
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseBase:
        """Return a redirect to sign-in: of the whole page, where htmx asked for a part of one."""
        is_htmx = "HX-Request" in request.headers
        if not is_htmx and request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        shown = request.headers.get("HX-Current-URL" if is_htmx else "Referer", "")
        to = redirect_to_login(_own_page(request, shown), self.get_login_url(view_func))
        if not is_htmx:
            return to
        return HttpResponseClientRedirect(to.url)


def _own_page(request: HttpRequest, url: str) -> str:
    """Return the path of a page of this site, the home page's for anything else."""
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return reverse("home")
    parts = urlsplit(url)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def has_outlived(said: Mapping[str, Any], *, at: datetime) -> bool:
    """Return whether a session began longer ago than one may last, however much it is used."""
    began = said.get(OPENED)
    limit = timedelta(hours=settings.SESSION_LONGEST_HOURS)
    return began is None or at - datetime.fromisoformat(began[0]) >= limit


class SessionRenewalMiddleware:
    """Moves the end of a session on when somebody uses the site, once a day or in a tenth of the idle time at most, and
    ends one that has outlived its longest life.

    What an open page asks for by itself (heartbeats, drafts, parts that refresh) is no use of the site.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if SESSION_KEY in request.session and has_outlived(request.session, at=timezone.now()):
            request.session.flush()  # before anybody asks whose it is
        response = self.get_response(request)
        is_part = "HX-Request" in request.headers and request.method == "GET"
        if not is_part and response.status_code != NO_CONTENT and SESSION_KEY in request.session:
            renew(request)
        return response


def renew(request: HttpRequest) -> None:
    """Move the end of a session on, unless that has been done today, or in this tenth of the idle time."""
    period = timezone.localdate().isoformat()
    if settings.IDLE_MINUTES:
        period = str(int(timezone.now().timestamp() // (settings.IDLE_MINUTES * 6)))
    if request.session.get(RENEWED) != period:
        request.session[RENEWED] = period
