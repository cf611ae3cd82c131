"""What the pages of all reports have in common: fragment or whole page, on the screen or for paper, and downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.http import PageRequest, table_response
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Table
from evalsite.reports.exports import FORMATS, PAPER_FORMATS
from evalsite.reports.jobs import BeingComputed
from evalsite.reports.services.paper_tables import PaperTable, data_table, paper_table

RETRY_SECONDS = "5"
P = ParamSpec("P")
Download = HttpResponse | StreamingHttpResponse
Export = Callable[Concatenate[PageRequest, P], Download]


def waits_for_report(view: Export[P]) -> Export[P]:
    """Answer 503 with a page in words while a worker computes the report of a download for the first time."""

    @wraps(view)
    def answer(request: PageRequest, /, *args: P.args, **kwargs: P.kwargs) -> Download:
        try:
            return view(request, *args, **kwargs)
        except BeingComputed:
            response = render(request, "reports/export_waiting.html", status=503)
            response["Retry-After"] = RETRY_SECONDS
            return response

    return answer


def report_page(request: PageRequest, name: str, context: JsonDict) -> HttpResponse:
    """Return `reports/<name>.html`, or the fragment `_<name>.html` in it for htmx; `?print=1` leaves out the shell."""
    if request.htmx:
        return render(request, f"reports/_{name}.html", context)
    paper = {"is_print": True, "nav": ()} if request.GET.get("print") else {}
    return render(request, f"reports/{name}.html", context | paper)


@dataclass(frozen=True, slots=True)
class WantedTable:
    """Which table of what is to be downloaded in which format."""

    table: str
    format_name: str
    subject: str
    subject_id: int | None


def download_either(
    request: PageRequest, wanted: WantedTable, *, tables: dict[str, Table], papers: dict[str, PaperTable]
) -> HttpResponse | StreamingHttpResponse:
    """Return one table as a file: in LaTeX as papers lay it out, else with every number. Raises: Http404."""
    told: JsonDict = {"subject": wanted.subject, "subject_id": wanted.subject_id}
    told |= {"table": wanted.table, "format_name": wanted.format_name}
    if wanted.format_name == "tex":
        return download_paper(request, papers, **told)
    return download(request, tables, **told)


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
    record(request.user, "report.exported", NamedSubject(subject, subject_id), table=table, format=format_name)
    return table_response(tables[table], format_name, file_name=f"{subject} {table}")


def download_paper(
    request: PageRequest,
    tables: dict[str, PaperTable],
    *,
    table: str,
    format_name: str,
    subject: str,
    subject_id: int | None,
) -> HttpResponse | StreamingHttpResponse:
    """Return one table for a paper or for programs, and enter it in the audit log. Raises: Http404."""
    if table not in tables or format_name not in PAPER_FORMATS:
        raise Http404("There is no such table or format.")
    record(request.user, "report.exported", NamedSubject(subject, subject_id), table=table, format=format_name)
    made = paper_table(tables[table]) if format_name == "tex" else data_table(tables[table])
    return table_response(made, format_name, file_name=f"{subject} {table}")
