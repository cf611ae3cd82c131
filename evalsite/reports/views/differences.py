"""Differences between a run's rule grades and the original program's."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from evalsite.reports import jobs
from evalsite.reports.services.boards.differences import DIFFERENCES, MOST_LISTED
from evalsite.reports.views.pages import report_page
from judging.http import PageRequest
from judging.models import EvaluatorKind, RunEvaluator


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def difference_detail(request: PageRequest, run_id: int) -> HttpResponse:
    """Show by rule, case and criterion where a run departs from InfiBench."""
    graders = RunEvaluator.objects.select_related("run__suite__benchmark").order_by("position")
    evaluator = get_object_or_404(graders, run_id=run_id, kind=EvaluatorKind.GRADER)
    report = jobs.obtain(DIFFERENCES, subject_id=evaluator.pk, options={}, at=timezone.now())
    context = {"run": evaluator.run, "report": report, "payload": report.payload, "most": MOST_LISTED}
    return report_page(request, "difference_detail", context)
