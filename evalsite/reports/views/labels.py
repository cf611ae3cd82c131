"""Agreement in label tables from elsewhere: import, report, confusion, items, export."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from evalsite.reports import exports, jobs
from evalsite.reports.forms import LabelImportForm, agreement_options
from evalsite.reports.services import showing
from evalsite.reports.services.label_agreements import LABEL_AGREEMENT
from evalsite.reports.views.item_lists import confusion_page, item_list_page
from evalsite.reports.views.pages import download, report_page, waits_for_report
from evalsite.review.models import LabelledItem, LabelTable
from evalsite.review.services.label_tables import delete_labels, store_labels
from evalsite.review.tables.labels import LabelFile, read_labels
from judging.http import PageRequest
from judging.specs.problems import Parsed

PREVIEW_ROWS = 8


@require_http_methods(["GET", "POST"])
@permission_required("review.add_queue", raise_exception=True)
def labels_create(request: PageRequest) -> HttpResponse:
    """Take a file of labels: look at it first, or import it and go to its report."""
    form = LabelImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        parsed = read_labels(upload.read(), upload.name, columns=form.columns, labels=form.labels)
        if parsed.value is not None and "check" not in request.POST:
            table = store_labels(
                name=form.cleaned_data["name"] or upload.name.rsplit(".", 1)[0],
                file_name=upload.name,
                found=parsed.value,
                actor=request.user,
                at=timezone.now(),
            )
            messages.success(request, f"{table.label_count:,} labels of {table.item_count:,} items imported")
            return redirect(table)
        context |= {"parsed": parsed, "problems": parsed.problems, "preview": _preview(parsed)}
    return render(request, "reports/labels_create.html", context)


def _preview(parsed: Parsed[LabelFile]) -> dict[str, Any] | None:
    if parsed.value is None:
        return None
    found = parsed.value
    rows = [
        {"key": item.key, "cells": [{rater: label for rater, label, _ in item.labels}.get(r, "") for r in found.raters]}
        for item in found.items[:PREVIEW_ROWS]
    ]
    return {"file": found, "rows": rows}


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def labels_detail(request: PageRequest, slug: str) -> HttpResponse:
    """Show how far the raters of a table agree."""
    table = get_object_or_404(LabelTable, slug=slug)
    options = agreement_options(request.GET)
    report = jobs.obtain(LABEL_AGREEMENT, subject_id=table.pk, options=options, at=timezone.now())
    context: dict[str, Any] = {"queue": table, "options": options, "report": report, "formats": exports.FORMATS}
    context |= {"is_labels": True}
    if report.payload is not None:
        context |= showing.agreement_context(report.payload)
    return report_page(request, "agreement_detail", context)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def labels_confusion(request: PageRequest, slug: str) -> HttpResponse:
    """Show which label one rater gave where another gave which."""
    return confusion_page(request, get_object_or_404(LabelTable, slug=slug))


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def labels_items(request: PageRequest, slug: str) -> HttpResponse:
    """List the items behind one figure of a table's report."""
    return item_list_page(request, get_object_or_404(LabelTable, slug=slug))


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def labels_item(request: PageRequest, item_id: int) -> HttpResponse:
    """Show one item of a table with all its labels and columns."""
    item = get_object_or_404(LabelledItem.objects.select_related("table"), pk=item_id)
    given = item.imported_labels.order_by("rater", "pk")
    return render(request, "reports/labels_item.html", {"item": item, "table": item.table, "given": given})


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@waits_for_report
def labels_export(
    request: PageRequest, slug: str, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of a label table's report; `answers` is every single label."""
    labels = get_object_or_404(LabelTable, slug=slug)
    if table == "answers":
        tables = {"answers": exports.imported_label_table(labels.pk)}
    else:
        options = agreement_options(request.GET)
        payload = jobs.payload_shown(LABEL_AGREEMENT, subject_id=labels.pk, options=options, at=timezone.now())
        tables = exports.agreement_tables(payload)
    subject = f"labels {labels.slug}"
    return download(request, tables, table=table, format_name=format_name, subject=subject, subject_id=labels.pk)


@require_POST
@permission_required("review.add_queue", raise_exception=True)
def labels_delete(request: PageRequest, slug: str) -> HttpResponse:
    """Remove a table and its labels."""
    table = get_object_or_404(LabelTable, slug=slug)
    delete_labels(table=table, actor=request.user)
    messages.success(request, f"“{table.name}” is gone")
    return redirect("reports:agreement-list")
