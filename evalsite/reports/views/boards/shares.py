"""Links that share a leaderboard: the page that makes, lists and revokes them, and what they open."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from evalsite.base.http import PageRequest, form_view, page_of, post_view, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.base.page_scopes import within_scope
from evalsite.reports.forms import ShareForm
from evalsite.reports.models import ShareLink
from evalsite.reports.services.share_links import create_share, open_share, revoke_share
from evalsite.reports.views.boards.leaderboards import board_page
from evalsite.reports.views.results.results import results_page
from judging.models import Suite

HEADERS = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}


@form_view("reports.add_sharelink")
@never_cache
def share_list(request: PageRequest) -> HttpResponse:
    """List the links, and make one to the suite that the address names: its address is shown once."""
    context: JsonDict = {"now": timezone.now()}
    key = whole_number(request.GET.get("suite", ""))
    if key is not None:
        suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=key)
        form = ShareForm(request.POST or None)
        context |= {"suite": suite, "form": form}
        if request.method == "POST" and form.is_valid():
            query = request.GET.copy()
            query.pop("suite")
            issued = create_share(
                suite=suite,
                query=query.urlencode()[:2000],
                days=form.cleaned_data["days"],
                actor=request.user,
                at=context["now"],
            )
            path = reverse("reports:shared-board", args=[issued.token])
            context |= {"issued": issued.link, "issued_url": request.build_absolute_uri(path)}
    links = ShareLink.objects.select_related("suite__benchmark", "created_by").order_by("-created_at", "-pk")
    return render(request, "reports/share_list.html", context | {"page_obj": page_of(request, links)})


@post_view("reports.add_sharelink")
def share_revoke(request: PageRequest, link_id: int) -> HttpResponse:
    """End a link now."""
    link = get_object_or_404(ShareLink.objects.select_related("suite__benchmark"), pk=link_id)
    revoke_share(link=link, actor=request.user, at=timezone.now())
    messages.success(request, f"The {link} was revoked.")
    return redirect("reports:share-list")


@login_not_required
@never_cache
@require_GET
@vary_on_headers("HX-Request")
def shared_board(request: PageRequest, token: str) -> HttpResponse:
    """Show the leaderboard that a link shares, to whoever has the link."""
    return _shared(request, token, board_page)


@login_not_required
@never_cache
@require_GET
@vary_on_headers("HX-Request")
def shared_results(request: PageRequest, token: str) -> HttpResponse:
    """Show the results of the suite whose leaderboard a link shares."""
    return _shared(request, token, results_page)


def _shared(request: PageRequest, token: str, page: Callable[[PageRequest, int], HttpResponse]) -> HttpResponse:
    """Return a page as somebody without an account may read it. Raises: Http404 for a link that is none now."""
    link = open_share(token, at=timezone.now())
    if link is None:
        raise Http404("There is no such page.")
    if link.query and page is board_page and not request.GET:
        return _closed(redirect(f"{request.path}?{link.query}"))
    request.user = AnonymousUser()  # type: ignore[assignment]  # the link shows everybody the same
    name = link.created_by.get_full_name() or link.created_by.username
    request.page_foot = f"Shared by {name} for reading, until {link.expires_at:%d %B %Y}"  # type: ignore[attr-defined]
    response = page(request, link.suite_id)
    shown = {
        reverse("reports:leaderboard-detail", args=[link.suite_id]): reverse("reports:shared-board", args=[token]),
        reverse("reports:results-detail", args=[link.suite_id]): reverse("reports:shared-results", args=[token]),
    }
    shown |= {address: address for address in shown.values()}
    files = static("")

    def scope(address: str) -> str | None:
        parts = urlsplit(address)
        if address.startswith(files) or not (parts.netloc or parts.path):
            return address
        path = None if parts.netloc else shown.get(parts.path)
        return parts._replace(path=path).geturl() if path else None

    response.content = within_scope(response.text, scope).encode()
    return _closed(response)


def _closed(response: HttpResponse) -> HttpResponse:
    """Return an answer that is not listed by search engines, and whose address no other site is told."""
    for name, value in HEADERS.items():
        response[name] = value
    return response
