"""Choosing a file of recorded debates; what follows is an import like any other."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.timezone import now

from debate import jobs
from debate.forms import RecordsForm
from evalsite.base.http import PageRequest, form_view
from judging.services.file_imports.uploads import UploadRefused


@form_view("debate.add_debateset", "judging.add_upload")
def record_create(request: PageRequest) -> HttpResponse:
    """Choose a file; the page of its upload shows what it would bring."""
    form = RecordsForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data["file"]
        try:
            upload = jobs.launch_record_check(file_name=sent.name, data=sent.read(), actor=request.user, at=now())
        except UploadRefused as refusal:
            form.add_error("file", str(refusal))
        else:
            return redirect(upload)
    return render(request, "debate/record_create.html", {"form": form})
