"""Pages of responses and of the systems that gave them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from evalsite.base.http import PageRequest, get_view, page_of
from judging.models import Response, System
from judging.selectors import responses
from judging.views.score_pages import pieces_of, score_page


@get_view("judging.view_benchmark")
def response_detail(request: PageRequest, response_id: int) -> HttpResponse:
    """One response with everything that graders and judges made of it."""
    response = get_object_or_404(Response.objects.select_related("prompt__benchmark", "system"), pk=response_id)
    pages = [score_page(score) for score in responses.scores_of(response)[:50]]
    newest = list({page.by: page for page in reversed(pages)}.values())[::-1]
    marked = next((page for page in pages if page.spans), None)
    verdicts = list(responses.verdicts_of(response)[:100])
    judged_by = [page.score.evaluator for page in pages] + [verdict.evaluator for verdict in verdicts]
    context = {
        "response": response,
        "benchmark": response.prompt.benchmark,
        "around": responses.around(response),
        "attempts": responses.attempts_of(response),
        "pieces": pieces_of(response.text, marked.spans if marked else ()),
        "marked": marked,
        "scores": newest,
        "older": [page for page in pages if page not in newest],
        "verdicts": verdicts,
        "has_baseline": any(one.is_baseline for one in judged_by),
        "formatted": marked is None or request.GET.get("view") == "formatted",
    }
    return render(request, "judging/response_detail.html", context)


@dataclass(frozen=True, slots=True)
class ShownSystem:
    """A system as the parts of its page know it."""

    system: System
    request: PageRequest


@get_view("judging.view_benchmark")
def system_detail(request: PageRequest, system_id: int) -> HttpResponse:
    """One system: what it answered."""
    system = get_object_or_404(System, pk=system_id)
    rows = responses.system_responses(system)
    slug, query = request.GET.get("benchmark", ""), request.GET.get("q", "").strip()
    totals = responses.system_totals(system)
    if slug:
        rows = rows.filter(prompt__benchmark__slug=slug)
    if query:
        rows = rows.filter(prompt__key__icontains=query)
    count = rows.aggregate(n=Count("pk"))["n"] if slug or query else sum(row.response_count for row in totals)
    context = {
        "system": system,
        "page_obj": page_of(request, rows, count=count),
        "totals": totals,
        "slug": slug,
        "query": query,
    }
    return render(request, "judging/system_detail.html", context | {"shown": ShownSystem(system, request)})
