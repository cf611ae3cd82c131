"""Recorded debates on their way in: a ZIP file is checked first and stored once it is confirmed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.timezone import now
from django.views.decorators.http import require_POST

from debate.forms import RecordsForm
from debate.services.importing import plan_records, read_records, store_records
from debate.services.keeping import NotKept, drop_upload, keep_upload, read_upload
from judging.http import PageRequest
from judging.services.intake import bundle_of
from judging.services.responses import UnknownCases
from judging.specs.problems import Problem

LISTED = 200


@permission_required("debate.add_debateset", raise_exception=True)
def record_create(request: PageRequest) -> HttpResponse:
    """Choose a file, and see what it would bring."""
    form = RecordsForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        context |= _check(upload.name, upload.read())
    return render(request, "debate/record_create.html", context)


@require_POST
@permission_required("debate.add_debateset", raise_exception=True)
def record_confirm(request: PageRequest, token: str) -> HttpResponse:
    """Store a checked file; on success the list of sets."""
    try:
        bundle = bundle_of([("upload.zip", read_upload(token))])
    except NotKept as refusal:
        messages.error(request, str(refusal))
        return redirect("debate:record-create")
    parsed = read_records(bundle.value) if bundle.value is not None else None
    if parsed is None or parsed.value is None:
        messages.error(request, "Nothing in this file can be imported.")
        return redirect("debate:record-create")
    try:
        stored = store_records(records=parsed.value, actor=request.user, at=now())
    except UnknownCases as refusal:
        messages.error(request, str(refusal))
        return redirect("debate:record-create")
    drop_upload(token)
    count = len(stored.sets)
    messages.success(request, f"{stored.plan.debates:,} debates in {count} set{'' if count == 1 else 's'} imported.")
    return redirect("debate:set-list")


def _check(name: str, data: bytes) -> dict[str, Any]:
    bundle = bundle_of([(name, data)])
    if bundle.value is None:
        return _findings(bundle.problems)
    parsed = read_records(bundle.value)
    if parsed.value is None:
        return _findings((*bundle.problems, *parsed.problems))
    return {
        **_findings((*bundle.problems, *parsed.problems)),
        "plan": plan_records(parsed.value),
        "cells": [(cell, len(cell.items)) for cell in parsed.value.cells],
        "file_name": name,
        "token": keep_upload(data, at=now()),
    }


def _findings(problems: tuple[Problem, ...]) -> dict[str, Any]:
    """Return the problems to list: errors first, then a fair share of each kind of warning."""
    kinds = Counter(problem.code for problem in problems)
    ordered = sorted(problems, key=lambda problem: problem.severity)
    return {
        "is_checked": True,
        "problems": ordered[:LISTED],
        "problem_count": len(problems),
        "kinds": kinds.most_common(),
    }
