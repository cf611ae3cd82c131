"""The results of one run, which its page shows."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from evalsite.reports.jobs import obtain
from evalsite.reports.services.run_results import RUN_RESULTS
from judging.models import SCORED_KINDS, Run
from judging.states import ACTIVE


@get_view("reports.view_snapshot")
def run_results(request: PageRequest, run_id: int) -> HttpResponse:
    """Show a run's means by system and grader or judge, for the part of its page that is fetched again."""
    run = get_object_or_404(Run.objects.filter(kind__in=SCORED_KINDS), pk=run_id)
    if not request.htmx:
        return redirect(run)
    return render(request, "reports/_run_results.html", results_of(run))


def results_of(run: Run) -> JsonDict | None:
    """Return what the results of a run are shown from; None for runs that no leaderboard has."""
    if run.kind not in SCORED_KINDS:
        return None
    report = obtain(RUN_RESULTS, subject_id=run.pk, options={}, at=timezone.now()) if run.done else None
    return {"run": run, "report": report, "content": report and report.content, "is_live": run.status in ACTIVE}
