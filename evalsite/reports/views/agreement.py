"""Agreement between people."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render

from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.reports.selectors.annotations import answered_queues
from evalsite.reports.views.item_lists import agreement_download, agreement_page, confusion_page, item_list_page
from evalsite.reports.views.pages import waits_for_report
from evalsite.review.models import LabelTable, Queue


@get_view("review.adjudicate")  # it names annotators
def agreement_list(request: PageRequest) -> HttpResponse:
    """List the queues that people answer."""
    page = page_of(request, answered_queues(), per_page=25)
    tables = LabelTable.objects.order_by("-created_at", "-pk")[:100]
    return render(request, "reports/agreement_list.html", {"page_obj": page, "label_tables": tables})


@get_view("review.adjudicate")  # it names annotators
def agreement_detail(request: PageRequest, slug: str) -> HttpResponse:
    """Show how far the people of a queue agree."""
    return agreement_page(request, get_object_or_404(Queue, slug=slug))


@get_view("review.adjudicate")  # it names annotators
def agreement_confusion(request: PageRequest, slug: str) -> HttpResponse:
    """Show which label one person gave where another gave which."""
    return confusion_page(request, get_object_or_404(Queue, slug=slug))


@get_view("review.adjudicate")  # it names annotators
def agreement_items(request: PageRequest, slug: str) -> HttpResponse:
    """List the items behind one figure of a queue's report."""
    return item_list_page(request, get_object_or_404(Queue, slug=slug))


@get_view("review.adjudicate")  # it names annotators
@waits_for_report
def agreement_export(
    request: PageRequest, slug: str, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of an agreement report; `answers` is every single answer of the queue."""
    return agreement_download(request, get_object_or_404(Queue, slug=slug), table, format_name)
