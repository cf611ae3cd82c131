"""What the pages of all reports have in common: fragment or whole page, on the screen or for paper, and downloads."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from evalsite.reports.exports import FORMATS
from judging.http import PageRequest, table_response
from judging.signals import acted
from judging.tables import Table


def report_page(request: PageRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    """Return `reports/<name>.html`, or the fragment `_<name>.html` in it for htmx; `?print=1` leaves out the shell."""
    if request.htmx:
        return render(request, f"reports/_{name}.html", context)
    paper = {"is_print": True, "nav": ()} if request.GET.get("print") else {}
    return render(request, f"reports/{name}.html", context | paper)


def download(
    request: PageRequest,
    tables: dict[str, Table],
    *,
    table: str,
    format_name: str,
    subject: str,
    subject_id: int | None,
) -> HttpResponse | StreamingHttpResponse:
    """Return one table as a file, and enter it in the audit log. Raises: Http404 for an unknown table or format."""
    if table not in tables or format_name not in FORMATS:
        raise Http404("There is no such table or format.")
    acted.send(
        sender=Table,
        actor_id=request.user.pk,
        action="report.exported",
        subject=subject[:200],
        subject_id=subject_id,
        detail={"table": table, "format": format_name},
    )
    return table_response(tables[table], format_name, file_name=f"{subject} {table}")
