"""The files of an ESI run in the original's format."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.text import slugify

from evalsite.accounts.audit import record
from evalsite.base.http import PageRequest, get_view
from judging.exports import write_esi_files
from judging.models import Run, RunKind

KEPT_IN_MEMORY = 32 * 1024 * 1024  # bytes of an archive; more goes to disk


@get_view("judging.add_run")
def esi_create(request: PageRequest) -> HttpResponse:
    """Lead to the form of a new run, from the address that ESI runs once had of their own."""
    query = request.GET.copy()
    query["kind"] = RunKind.ESI
    return redirect(f"{reverse('judging:run-create')}?{query.urlencode()}")


@get_view("judging.view_run")
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
