"""Of how many cases people check what machines said: the page that says what each number costs and buys."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from debate.models import DebateSet, DebateStatus
from evalsite.base.http import PageRequest, form_view
from evalsite.base.json_types import JsonDict
from evalsite.review import jobs
from evalsite.review.audit_plans import FEWEST_CASES, AuditOffer, audit_offer
from evalsite.review.queue_forms import AuditForm
from evalsite.review.selectors.labels.audit_progress import audited_systems
from evalsite.review.selectors.labels.audits import (
    AuditSubject,
    default_size,
    subject_of_debates,
    subject_of_run,
)
from evalsite.review.services.referrals.audits import plan_audit
from evalsite.review.states import ReviewRefused
from judging.models import SCORED_KINDS, Run
from judging.states import RunStatus

SIZES = (20, 30, 50, 100, 200, 400, 1_000, 2_000)
UNKNOWN_SHARE = 50


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One line of the table of sizes."""

    offer: AuditOffer
    is_chosen: bool


@form_view("review.change_queue")
def audit_run(request: PageRequest, run_id: int) -> HttpResponse:
    """Show and choose the size of a run's random sample."""
    run = get_object_or_404(Run.objects.filter(kind__in=SCORED_KINDS).select_related("suite"), pk=run_id)
    is_over = run.status == RunStatus.FINISHED
    return _answer(request, subject_of_run(run), is_over=is_over)


@form_view("review.change_queue")
def audit_debates(request: PageRequest, set_id: int) -> HttpResponse:
    """Show and choose the size of a debate set's random sample."""
    debate_set = get_object_or_404(DebateSet, pk=set_id)
    waiting = debate_set.debates.filter(status__in=(DebateStatus.WAITING, DebateStatus.RUNNING))
    return _answer(request, subject_of_debates(debate_set), is_over=not waiting.exists())


def _answer(request: PageRequest, subject: AuditSubject, *, is_over: bool) -> HttpResponse:
    data = request.POST if request.method == "POST" else request.GET if "by" in request.GET else _initial(subject)
    form = AuditForm(data, population=subject.population)
    if request.method == "POST" and "look" not in request.POST and form.is_valid():
        try:
            plan_audit(subject=subject, size=form.chosen, actor=request.user, at=timezone.now())
        except ReviewRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            _draw(subject, is_over=is_over)
            when = "is being drawn" if is_over else f"will be drawn when the {subject.noun} are there"
            messages.success(request, f"A sample of {form.chosen:,} {when}")
            return redirect(request.path)
    context = _context(subject, form) | {"is_over": is_over}
    if request.htmx:
        return render(request, "review/_audit_offer.html", context)
    return render(request, "review/audit_plan.html", context | {"audited": audited_systems(subject)})


def _initial(subject: AuditSubject) -> JsonDict:
    return {"by": AuditForm.BY_SIZE, "size": _in_force(subject), "width": 5, "share": UNKNOWN_SHARE}


def _in_force(subject: AuditSubject) -> int:
    """Return the size that holds now: the plan's, or the site's share, but what was drawn stays drawn."""
    if subject.is_unasked:
        return 0
    default = default_size(subject.population, share=subject.share)
    size = min(subject.plan.size, subject.population) if subject.plan is not None else default
    return max(size, subject.drawn)


def _draw(subject: AuditSubject, *, is_over: bool) -> None:
    """Have the larger sample drawn now; what is not over yet is drawn when it is."""
    if is_over and subject.run is not None:
        jobs.launch(jobs.route_run, subject.run.pk)
    elif is_over and subject.debate_set is not None:
        jobs.launch(jobs.route_debates, subject.debate_set.pk)


def _context(subject: AuditSubject, form: AuditForm) -> JsonDict:
    in_force = _in_force(subject)
    is_valid = form.is_valid()
    size = form.chosen if is_valid else in_force
    share = form.expected if is_valid else UNKNOWN_SHARE / 100

    def offer(n: int) -> AuditOffer:
        return audit_offer(
            n,
            population=subject.population,
            share=share,
            per_case=subject.per_case,
            quorum=subject.quorum,
            seconds_per_answer=subject.seconds_per_answer,
        )

    listed = sorted({n for n in (*SIZES, size, in_force, subject.population) if 1 <= n <= subject.population})
    return {
        "subject": subject,
        "form": form,
        "offer": offer(size) if is_valid and subject.population else None,
        "rows": [OfferRow(offer(n), n == size) for n in listed],
        "share": share,
        "in_force": in_force,
        "default_share": settings.REVIEW_AUDIT_SHARE,
        "fewest_cases": FEWEST_CASES,
        "default_minimum": settings.REVIEW_AUDIT_MINIMUM,
        "more": max(0, size - subject.drawn),
    }
