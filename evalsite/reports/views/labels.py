"""Label tables from elsewhere: import, one item, deletion."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page
from evalsite.base.http import PageRequest, form_view, get_view, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.reports.actions.labels import create
from evalsite.reports.forms.labels import LabelImportForm
from evalsite.review.models import LabelledItem, LabelTable
from evalsite.review.selectors.labels.labelled_responses import evaluator_of_run
from evalsite.review.services.labels.label_tables import plan_labels
from evalsite.review.tables.label_files import LabelSheet
from judging.services.file_imports.upload_store import drop_upload
from judging.specs.records.names import COLUMN_FIELDS

PREVIEW_ROWS = 8


@action_page(create, form_view)
def labels_create(request: PageRequest) -> HttpResponse:
    """Take a file of labels: show what it would bring, and import it once that is confirmed."""
    run_id = whole_number(request.GET.get("run", ""))
    initial = {"about": evaluator_of_run(run_id)} if run_id is not None else {}
    form = LabelImportForm(request.POST or None, request.FILES or None, initial=initial)
    context: JsonDict = {"form": form}
    if request.method == "POST" and form.is_valid():
        upload = form.upload
        parsed = plan_labels(upload)
        plan = parsed.value
        if plan is not None and not plan.is_refused and "save" in request.POST:
            return _imported(request, form)
        context |= {"parsed": parsed, "problems": parsed.problems}
        context |= {"columns": parsed.columns, "column_fields": COLUMN_FIELDS}
        if plan is not None:
            previews = [_preview(sheet) for sheet in plan.file.sheets]
            context |= {"plan": plan, "counts": plan.counts(), "previews": previews, "upload": upload}
        context["form"] = LabelImportForm(form.entries_with_kept_file(at=timezone.now()))
    return render(request, "reports/labels_create.html", context)


def _imported(request: PageRequest, form: LabelImportForm) -> HttpResponse:
    before = LabelTable.objects.filter(digest=form.upload.digest).exists()
    table = create.carry_out(ActionCall(None, form, request.user, timezone.now()))
    drop_upload(form.cleaned_data["kept"])
    if before:
        messages.info(request, "This file was already imported; nothing was changed")
    else:
        of_them = f", {table.final_count:,} final labels created" if table.evaluator_id else ""
        messages.success(request, f"{table.label_count:,} labels of {table.item_count:,} items imported{of_them}")
    return redirect(table)


def _preview(sheet: LabelSheet) -> JsonDict:
    """Return the first rows with the label of each rater."""
    rows = []
    for item in sheet.items[:PREVIEW_ROWS]:
        labels_by_rater = {label.rater: label.label for label in item.labels}
        rows.append({"key": item.key, "cells": [labels_by_rater.get(rater, "") for rater in sheet.raters]})
    raters = [rater or "Label" for rater in sheet.raters]
    return {"sheet": sheet, "rows": rows, "raters": raters, "scale": [label.value for label in sheet.labels]}


@get_view("review.adjudicate")  # it names annotators
def labels_item(request: PageRequest, item_id: int) -> HttpResponse:
    """Show one item of a table with all its labels and columns."""
    item = get_object_or_404(LabelledItem.objects.select_related("table"), pk=item_id)
    labels = item.imported_labels.order_by("rater", "pk")
    return render(request, "reports/labels_item.html", {"item": item, "table": item.table, "given": labels})
