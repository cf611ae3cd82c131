"""Agreement between people."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from evalsite.base.http import PageRequest, page_of
from evalsite.reports.selectors.annotations import answered_queues
from evalsite.reports.views.item_lists import agreement_download, agreement_page, confusion_page, item_list_page
from evalsite.reports.views.pages import waits_for_report
from evalsite.review.models import LabelTable, Queue


@require_GET
@permission_required("review.adjudicate", raise_exception=True)  # it names annotators
def agreement_list(request: PageRequest) -> HttpResponse:
    """List the queues that people answer."""
    page = page_of(request, answered_queues(), per_page=25)
    tables = LabelTable.objects.order_by("-created_at", "-pk")[:100]
    return render(request, "reports/agreement_list.html", {"page_obj": page, "label_tables": tables})


@require_GET
@permission_required("review.adjudicate", raise_exception=True)  # it names annotators
@vary_on_headers("HX-Request")
def agreement_detail(request: PageRequest, slug: str) -> HttpResponse:
    """Show how far the people of a queue agree."""
    return agreement_page(request, get_object_or_404(Queue, slug=slug))


@require_GET
@permission_required("review.adjudicate", raise_exception=True)  # it names annotators
@vary_on_headers("HX-Request")
def agreement_confusion(request: PageRequest, slug: str) -> HttpResponse:
    """Show which label one person gave where another gave which."""
    return confusion_page(request, get_object_or_404(Queue, slug=slug))


@require_GET
@permission_required("review.adjudicate", raise_exception=True)  # it names annotators
@vary_on_headers("HX-Request")
def agreement_items(request: PageRequest, slug: str) -> HttpResponse:
    """List the items behind one figure of a queue's report."""
    return item_list_page(request, get_object_or_404(Queue, slug=slug))


@require_GET
@permission_required("review.adjudicate", raise_exception=True)  # it names annotators
@waits_for_report
def agreement_export(
    request: PageRequest, slug: str, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of an agreement report; `answers` is every single answer of the queue."""
    return agreement_download(request, get_object_or_404(Queue, slug=slug), table, format_name)
