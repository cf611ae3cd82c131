"""Charts of the scores that one grader gave a suite."""

from __future__ import annotations

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from evalsite.reports import exports, jobs
from evalsite.reports.report_choices import results_choice
from evalsite.reports.selectors.graders import grader_named, graders_of
from evalsite.reports.services.suite_charts.contents import SUITE_CHARTS
from evalsite.reports.services.suite_charts.drawings import MAX_LINES, suite_charts
from evalsite.reports.services.suite_charts.tables import chart_tables
from evalsite.reports.views.pages import download, report_command, report_page, waits_for_report
from judging.models import Suite


@get_view("reports.view_snapshot")
def charts_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show distribution, time, length, tokens and agreement of one grader's scores, each with its table."""
    return charts_page(request, suite_id)


def charts_page(request: PageRequest, suite_id: int) -> HttpResponse:
    """Return the charts of a suite, whoever reads them."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    graders, choice = graders_of(suite_id), results_choice(request.GET)
    grader = grader_named(graders, choice.graders)
    context: JsonDict = {"suite": suite, "graders": graders, "grader": grader, "most_lines": MAX_LINES}
    if grader is not None:
        report = jobs.obtain(SUITE_CHARTS, subject_id=grader.key, options=grader.options, at=timezone.now())
        context |= {"report": report, "formats": exports.FORMATS}
        context["command"] = report_command("charts", suite=suite.pk, query=f"grader={grader.key}")
        if report.content is not None:
            context["charts"] = suite_charts(report.content, chosen=choice.systems)
    return report_page(request, "suite_charts", context)


@get_view("reports.view_snapshot")
@waits_for_report
def charts_export(
    request: PageRequest, suite_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download the table beside one of the charts."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    grader = grader_named(graders_of(suite_id), results_choice(request.GET).graders)
    if grader is None:
        raise Http404("Nothing has scored this suite yet.")
    content = jobs.content_shown(SUITE_CHARTS, subject_id=grader.key, options=grader.options, at=timezone.now())
    subject = f"{suite} charts {grader.label}"
    return download(
        request, chart_tables(content), table=table, format_name=format_name, subject=NamedSubject(subject, suite.pk)
    )
