"""Files of the reports on the work in a queue, whose page shows the figures."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view
from evalsite.reports.actions import adjudications, pace
from evalsite.reports.forms import OneQueueForm
from evalsite.reports.views.pages import report_download
from evalsite.review.models import Queue

REPORTS = {report.name: report for report in (pace.REPORT, adjudications.REPORT)}


@get_view("review.adjudicate")
def queue_export(
    request: PageRequest, slug: str, report: str, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of the pace of a queue, or of why its annotators disagreed."""
    queue = get_object_or_404(Queue, slug=slug)
    form, subject = OneQueueForm({"queue": queue.pk}), NamedSubject(str(queue), queue.pk)
    return report_download(request, REPORTS[report], form, table=table, format_name=format_name, subject=subject)
