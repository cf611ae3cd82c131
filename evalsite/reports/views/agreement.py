"""Agreement between people."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from evalsite.base.http import PageRequest, page_of
from evalsite.base.json_types import JsonDict
from evalsite.reports import exports, jobs
from evalsite.reports.forms import agreement_options
from evalsite.reports.selectors.annotations import answered_queues
from evalsite.reports.services import shown_rows
from evalsite.reports.services.paper_tables import PaperTable
from evalsite.reports.services.people.agreements import AGREEMENT
from evalsite.reports.services.report_papers import agreement_papers
from evalsite.reports.views.item_lists import confusion_page, item_list_page
from evalsite.reports.views.pages import WantedTable, download_either, report_page, waits_for_report
from evalsite.review.models import LabelTable, Queue


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def agreement_list(request: PageRequest) -> HttpResponse:
    """List the queues that people answer."""
    page = page_of(request, answered_queues(), per_page=25)
    tables = LabelTable.objects.order_by("-created_at", "-pk")[:100]
    return render(request, "reports/agreement_list.html", {"page_obj": page, "label_tables": tables})


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def agreement_detail(request: PageRequest, slug: str) -> HttpResponse:
    """Show how far the people of a queue agree."""
    queue = get_object_or_404(Queue, slug=slug)
    options = agreement_options(request.GET)
    report = jobs.obtain(AGREEMENT, subject_id=queue.pk, options=options, at=timezone.now())
    context: JsonDict = {"queue": queue, "options": options, "report": report, "formats": exports.FORMATS}
    context["unable_url"] = f"{queue.get_absolute_url()}?unable=1#items"
    context["paper_formats"] = exports.BOARD_FORMATS
    if report.payload is not None:
        context |= shown_rows.agreement_context(report.payload)
    return report_page(request, "agreement_detail", context)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def agreement_confusion(request: PageRequest, slug: str) -> HttpResponse:
    """Show which label one person gave where another gave which."""
    return confusion_page(request, get_object_or_404(Queue, slug=slug))


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def agreement_items(request: PageRequest, slug: str) -> HttpResponse:
    """List the items behind one figure of a queue's report."""
    return item_list_page(request, get_object_or_404(Queue, slug=slug))


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@waits_for_report
def agreement_export(
    request: PageRequest, slug: str, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of an agreement report; `answers` is every single answer of the queue."""
    queue = get_object_or_404(Queue, slug=slug)
    papers: dict[str, PaperTable] = {}
    if table == "answers":
        tables = {"answers": exports.answer_table(queue.pk)}
    else:
        options = agreement_options(request.GET)
        payload = jobs.payload_shown(AGREEMENT, subject_id=queue.pk, options=options, at=timezone.now())
        tables, papers = exports.agreement_tables(payload), agreement_papers(payload)
    wanted = WantedTable(table, format_name, f"agreement {queue.slug}", queue.pk)
    return download_either(request, wanted, tables=tables, papers=papers)
