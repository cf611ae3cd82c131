"""Recorded debates on their way in: a worker checks a ZIP file, and stores it once it is confirmed."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.timezone import now
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from debate import jobs
from debate.forms import RecordsForm
from debate.models import RecordUpload
from debate.services.record_uploads import RecordsNotReady, cancel_records, records_progress
from evalsite.base.http import PageRequest

A_MOMENT = timedelta(seconds=10)  # within which a worker takes a file


@permission_required("debate.add_debateset", raise_exception=True)
def record_create(request: PageRequest) -> HttpResponse:
    """Choose a file; a worker sees what it would bring."""
    form = RecordsForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data["file"]
        return redirect(jobs.launch_record_check(file_name=sent.name, data=sent.read(), actor=request.user, at=now()))
    return render(request, "debate/record_create.html", {"form": form})


@require_GET
@permission_required("debate.add_debateset", raise_exception=True)
@vary_on_headers("HX-Request")
def record_detail(request: PageRequest, upload_id: int) -> HttpResponse:
    """Show what a file would bring, how far its check or its import is, and what came of it."""
    upload = get_object_or_404(RecordUpload, pk=upload_id)
    context = {
        "upload": upload,
        "progress": records_progress(upload),
        "waits_long": now() - upload.created_at > A_MOMENT,
        "cancel_url": reverse("debate:record-cancel", args=[upload.pk]),
    }
    if not request.htmx:
        return render(request, "debate/record_detail.html", context)
    response = render(request, "judging/_import_progress.html", context)
    if not upload.is_in_work:
        response["HX-Refresh"] = "true"
    return response


@require_POST
@permission_required("debate.add_debateset", raise_exception=True)
def record_confirm(request: PageRequest, upload_id: int) -> HttpResponse:
    """Have a checked file stored."""
    upload = get_object_or_404(RecordUpload, pk=upload_id)
    try:
        jobs.launch_record_import(upload_id=upload.pk, actor=request.user)
    except RecordsNotReady as refusal:
        messages.error(request, str(refusal))
    return redirect(upload)


@require_POST
@permission_required("debate.add_debateset", raise_exception=True)
def record_cancel(request: PageRequest, upload_id: int) -> HttpResponse:
    """Stop the check or the import of a file."""
    upload = get_object_or_404(RecordUpload, pk=upload_id)
    try:
        cancel_records(upload_id=upload.pk)
    except RecordsNotReady as refusal:
        messages.error(request, str(refusal))
    return redirect(upload)
