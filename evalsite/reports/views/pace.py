"""Files of the pace of a queue, whose page shows the figures."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view
from evalsite.reports.actions.pace import REPORT
from evalsite.reports.forms import PaceForm
from evalsite.reports.views.pages import report_download
from evalsite.review.models import Queue


@get_view("review.adjudicate")
def pace_export(request: PageRequest, slug: str, table: str, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download hours and items by person and day, or what was left each day."""
    queue = get_object_or_404(Queue, slug=slug)
    form = PaceForm({"queue": queue.pk})
    return report_download(
        request, REPORT, form, table=table, format_name=format_name, subject=NamedSubject(str(queue), queue.pk)
    )
