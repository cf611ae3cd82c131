"""Pages of ESI runs: a new one, and its files in the original's format."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_POST

from evalsite.accounts.audit import record
from evalsite.base.http import PageRequest, whole_number
from judging.exports import write_esi_files
from judging.forms.esi import EsiRunForm
from judging.jobs import launch_run
from judging.models import Run, RunKind, Suite
from judging.services.runs.esi_estimates import estimate_esi_run
from judging.services.runs.esi_plans import check_esi_plan, create_esi_run
from judging.services.runs.people_costs import people_cost_of_esi_plan
from judging.services.runs.run_plans import RunNotPossible
from judging.views.runs import suite_of, suites

KEPT_IN_MEMORY = 32 * 1024 * 1024  # bytes of an archive; more goes to disk


@permission_required("judging.add_run", raise_exception=True)
def esi_create(request: PageRequest) -> HttpResponse:
    """Show the form of a new ESI run for a suite, and start it."""
    suite = suite_of(request)
    if suite is None:
        return render(request, "judging/esi_suite.html", {"suites": suites()})
    form = EsiRunForm(request.POST or None, suite=suite)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                run = create_esi_run(plan=form.plan(), actor=request.user, at=timezone.now())
                launch_run(run_id=run.pk, waiting=run.total)
            return redirect(run)
        except RunNotPossible as error:
            form.add_error(None, str(error))
    context = {"form": form, "suite": suite, "suites": suites()}
    return render(request, "judging/esi_create.html", context, status=400 if form.is_bound and form.errors else 200)


@permission_required("judging.add_run", raise_exception=True)
@require_POST
def esi_estimate(request: PageRequest) -> HttpResponse:
    """Show what the run that the form describes would ask and cost."""
    suite = get_object_or_404(Suite, pk=whole_number(request.POST.get("suite", "")))
    form = EsiRunForm(request.POST, suite=suite)
    context: dict[str, Any] = {"form": form, "suite": suite, "asked": True}
    if form.is_valid():
        try:
            plan = form.plan()
            check_esi_plan(plan)
            estimate = estimate_esi_run(plan=plan, threads=settings.CALL_THREADS, at=timezone.now())
            context |= {"estimate": estimate, "people_cost": people_cost_of_esi_plan(plan)}
        except RunNotPossible as error:
            form.add_error(None, str(error))
    if request.htmx:
        return render(request, "judging/_run_estimate.html", context)
    return render(request, "judging/esi_create.html", context | {"suites": suites()})


@require_GET
@permission_required("judging.view_run", raise_exception=True)
def esi_files(request: PageRequest, run_id: int) -> FileResponse:
    """Send an ESI run in the original's three files for each system, as one archive."""
    run = get_object_or_404(Run.objects.select_related("suite"), pk=run_id, kind=RunKind.ESI)
    archive = tempfile.SpooledTemporaryFile(max_size=KEPT_IN_MEMORY)  # noqa: SIM115 the response closes it
    packing = zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED)
    with tempfile.TemporaryDirectory(prefix="evalsite-esi-") as folder, packing as packed:
        for path in write_esi_files(run=run, folder=Path(folder)):
            packed.write(path, path.name)
    archive.seek(0)
    record(request.user, "report.exported", run, table="esi", format="zip")
    return FileResponse(archive, as_attachment=True, filename=f"{slugify(run.name) or 'esi'}.zip")
