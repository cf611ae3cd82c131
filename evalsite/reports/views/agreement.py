"""Agreement between people: those of a queue, or the raters of a label table from elsewhere (`subjects`)."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render

from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.reports.selectors.annotations import answered_queues
from evalsite.reports.views.item_lists import agreement_download, agreement_page, confusion_page, item_list_page
from evalsite.reports.views.pages import waits_for_report
from evalsite.review.models import LabelTable


@get_view("review.adjudicate")  # it names annotators
def agreement_list(request: PageRequest) -> HttpResponse:
    """List the queues that people answer."""
    page = page_of(request, answered_queues(), per_page=25)
    tables = LabelTable.objects.order_by("-created_at", "-pk")[:100]
    return render(request, "reports/agreement_list.html", {"page_obj": page, "label_tables": tables})


@get_view("review.adjudicate")  # it names annotators
def agreement_detail(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show how far the people agree."""
    return agreement_page(request, get_object_or_404(subjects, slug=slug))


@get_view("review.adjudicate")  # it names annotators
def agreement_confusion(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """Show which label one person gave where another gave which."""
    return confusion_page(request, get_object_or_404(subjects, slug=slug))


@get_view("review.adjudicate")  # it names annotators
def agreement_items(request: PageRequest, slug: str, subjects: QuerySet[Any]) -> HttpResponse:
    """List the items behind one figure of the report."""
    return item_list_page(request, get_object_or_404(subjects, slug=slug))


@get_view("review.adjudicate")  # it names annotators
@waits_for_report
def agreement_export(
    request: PageRequest, slug: str, subjects: QuerySet[Any], table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of an agreement report; `answers` is every single annotation or label."""
    return agreement_download(request, get_object_or_404(subjects, slug=slug), table, format_name)
