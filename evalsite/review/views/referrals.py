"""Buttons on pages of runs and verdicts: send what machines left open to people, or take it back."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.http import PageRequest, get_view, post_view, whole_number
from evalsite.review.jobs import launch_rest
from evalsite.review.models import ReviewItem
from evalsite.review.selectors.verdict_reviews import review_of_run, review_of_verdict
from evalsite.review.services.referrals import researcher_referrals
from evalsite.review.states import ReviewRefused
from evalsite.review.views.next_items import LEVELS, Toast
from judging.models import Run, Verdict

MOST_AT_ONCE = 2_000  # tasks of a run whose rest is sent while the reader waits


@post_view("review.change_queue")
def verdict_send(request: PageRequest, verdict_id: int) -> HttpResponse:
    """Send the question behind a verdict to people."""
    related = ("run__suite", "evaluator__rubric", "response__system")
    verdict = get_object_or_404(Verdict.objects.select_related(*related), pk=verdict_id)

    def act() -> Toast:
        sent = researcher_referrals.send_verdict(verdict=verdict, actor=request.user, at=timezone.now())
        if sent.count:
            return Toast(sent.words)
        return Toast(f"This is already in the queue “{sent.queue}”.", "info")

    return _show_verdict(request, verdict, _done(act))


@post_view("review.change_queue")
def item_take_back(request: PageRequest, item_id: int) -> HttpResponse:
    """Take an item back that somebody sent by hand, and show the verdict whose page or row was pressed."""
    item = get_object_or_404(ReviewItem.objects.select_related("queue"), pk=item_id)

    def act() -> Toast:
        queue = researcher_referrals.take_item_back(item_id=item_id, actor=request.user, at=timezone.now())
        return Toast(f"Withdrawn from the queue “{queue}”.")

    toast = _done(act)
    verdicts = Verdict.objects.select_related("run", "evaluator", "response")
    verdict = verdicts.filter(pk=whole_number(request.POST.get("verdict", "")) or 0).first()
    if verdict is None:
        return _redirect(request, item.queue.get_absolute_url(), toast)
    return _show_verdict(request, verdict, toast)


@get_view("review.change_queue")
def run_people(request: PageRequest, run_id: int) -> HttpResponse:
    """Show how much of a run is with people, as the fragment that asks again while the run is at work."""
    run = get_object_or_404(Run, pk=run_id)
    if not request.htmx:
        return redirect(run)
    return render(request, "review/_run_people.html", {"people": review_of_run(run)})


@post_view("review.change_queue")
def run_send(request: PageRequest, run_id: int) -> HttpResponse:
    """Send everything unsettled in a run to people; a large run is left to a worker."""
    run = get_object_or_404(Run.objects.select_related("suite"), pk=run_id)

    def act() -> Toast:
        if run.total <= MOST_AT_ONCE:
            return Toast(researcher_referrals.send_rest(run=run, actor=request.user, at=timezone.now()).words)
        if launch_rest(run=run, actor=request.user):
            return Toast("A worker is sending the responses to the queue; its numbers will grow.", "info")
        raise ReviewRefused("No worker is running. Start one with `manage.py work default`, then try again.")

    return _show_run(request, run, _done(act))


@post_view("review.change_queue")
def run_take_back(request: PageRequest, run_id: int) -> HttpResponse:
    """Take everything back that was sent by hand of a run and has no answer."""
    run = get_object_or_404(Run.objects.filter(queue__isnull=False), pk=run_id)

    def act() -> Toast:
        count = researcher_referrals.take_rest_back(run=run, actor=request.user, at=timezone.now())
        return Toast(f"{count:,} item{'' if count == 1 else 's'} withdrawn.")

    return _show_run(request, run, _done(act))


def _done(act: Callable[[], Toast]) -> Toast:
    try:
        return act()
    except ReviewRefused as refusal:
        return Toast(str(refusal), "error")


def _show_verdict(request: PageRequest, verdict: Verdict, toast: Toast) -> HttpResponse:
    """Answer with the fragment that was pressed: the row of a table, or the card of the verdict's page."""
    if not request.htmx:
        return _redirect(request, verdict.get_absolute_url(), toast)
    is_row = str(request.htmx.target or "").startswith("verdict-row-people")
    template = "review/_verdict_row_people.html" if is_row else "review/_verdict_people.html"
    response = render(request, template, {"people": review_of_verdict(verdict)})
    response["HX-Trigger"] = toast.as_header()
    return response


def _show_run(request: PageRequest, run: Run, toast: Toast) -> HttpResponse:
    if not request.htmx:
        return _redirect(request, run.get_absolute_url(), toast)
    response = render(request, "review/_run_people.html", {"people": review_of_run(run)})
    response["HX-Trigger"] = toast.as_header()
    return response


def _redirect(request: PageRequest, address: str, toast: Toast) -> HttpResponse:
    messages.add_message(request, LEVELS[toast.level], toast.text)
    return redirect(address)
