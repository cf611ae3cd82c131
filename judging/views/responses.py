"""Pages of responses and of the systems that gave them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.http import PageRequest, form_view, get_view, page_of, post_view, refusals_shown, whole_number
from judging.forms.systems import SystemForm, entered_of
from judging.models import Response, System
from judging.selectors import responses
from judging.services.systems import SystemRefused, add_system, delete_system, set_system_active
from judging.views.score_pages import pieces_of, score_page


@get_view("judging.view_benchmark")
def response_detail(request: PageRequest, response_id: int) -> HttpResponse:
    """One response with everything that graders and judges made of it."""
    response = get_object_or_404(
        Response.objects.select_related("prompt__benchmark", "system__endpoint", "call"), pk=response_id
    )
    pages = [score_page(score) for score in responses.scores_of(response)[:50]]
    newest = list({page.by: page for page in reversed(pages)}.values())[::-1]
    marked = next((page for page in pages if page.spans), None)
    verdicts = list(responses.verdicts_of(response)[:100])
    judged_by = [page.score.evaluator for page in pages] + [verdict.evaluator for verdict in verdicts]
    context = {
        "response": response,
        "benchmark": response.prompt.benchmark,
        "around": responses.around(response),
        "asked_with": responses.asked_with(response.system) if response.call_id else [],
        "attempts": responses.attempts_of(response),
        "pieces": pieces_of(response.text, marked.spans if marked else ()),
        "marked": marked,
        "scores": newest,
        "older": [page for page in pages if page not in newest],
        "verdicts": verdicts,
        "has_baseline": any(evaluator.is_baseline for evaluator in judged_by),
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
    """One system and its responses."""
    system = get_object_or_404(System.objects.select_related("endpoint"), pk=system_id)
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
        "asked_with": responses.asked_with(system),
        "is_unused": system.is_asked_here and not count and not system.runs.exists(),
    }
    return render(request, "judging/system_detail.html", context | {"shown": ShownSystem(system, request)})


@get_view("judging.view_benchmark")
def system_list(request: PageRequest) -> HttpResponse:
    """List systems: those that can be asked, or all of them; all unless asked otherwise where none can be."""
    shown, query = request.GET.get("show", ""), request.GET.get("q", "").strip()
    everything = shown == "all" or (shown != "here" and not responses.list_systems(askable=True).exists())
    rows = responses.list_systems(askable=not everything, search=query)
    context = {"page_obj": page_of(request, rows), "everything": everything, "query": query}
    return render(request, "judging/system_list.html", context)


@form_view("judging.add_run")
def system_create(request: PageRequest) -> HttpResponse:
    """Set up a system that can be asked, from the settings of another one where the address names it."""
    like = System.objects.filter(pk=whole_number(request.GET.get("like", "")) or 0).first()
    form = SystemForm(request.POST or None, initial=entered_of(like) if like else None)
    if request.method == "POST" and form.is_valid():
        try:
            system = add_system(
                name=form.system_name(),
                worker=form.worker(),
                description=form.cleaned_data["description"],
                actor=request.user,
                at=timezone.now(),
            )
            messages.success(request, f"{system} is set up. Choose it under Ask systems in a new run.")
            return redirect(system)
        except SystemRefused as refusal:
            form.add_error(None, str(refusal))
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "judging/system_create.html", {"form": form, "like": like}, status=status)


@post_view("judging.add_run")
def system_control(request: PageRequest, system_id: int, *, is_active: bool) -> HttpResponse:
    """Offer a system for no new run, or offer a retired one again."""
    system = get_object_or_404(System, pk=system_id, endpoint__isnull=False)
    set_system_active(system=system, is_active=is_active, actor=request.user)
    retired = "retired. Its responses are kept."
    messages.success(request, f"{system} is {'restored.' if is_active else retired}")
    return redirect(system)


@post_view("judging.add_run")
def system_delete(request: PageRequest, system_id: int) -> HttpResponse:
    """Delete a system without responses that no run asked."""
    system = get_object_or_404(System, pk=system_id, endpoint__isnull=False)
    with refusals_shown(request, SystemRefused):
        delete_system(system=system, actor=request.user)
        messages.success(request, f"{system} is deleted.")
        return redirect("judging:system-list")
    return redirect(system)
