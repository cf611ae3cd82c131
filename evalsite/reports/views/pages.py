"""What the pages of all reports have in common: fragment or whole page, on the screen or for paper, and downloads."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.http import PageRequest, table_response
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import PAPER_TYPES, Table
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
    page_context: JsonDict = {"is_print": True, "nav": ()} if request.GET.get("print") else {}
    page_context["page_link"] = request.build_absolute_uri()
    return render(request, f"reports/{name}.html", context | page_context)


def report_command(report: str, **options: object) -> str:
    """Return the command that prints the figures of a page; options without a value are left out."""
    words = ["manage.py", "report", report]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value not in (None, "", False):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def download_either(
    request: PageRequest,
    tables: dict[str, Table],
    papers: Mapping[str, PaperTable | Table],
    *,
    table: str,
    format_name: str,
    subject: NamedSubject,
) -> Download:
    """Return one table as a file: in LaTeX as papers lay it out, else with every number. Raises: Http404."""
    if format_name in PAPER_TYPES:
        return download_paper(request, papers, table=table, format_name=format_name, subject=subject)
    return download(request, tables, table=table, format_name=format_name, subject=subject)


def download(
    request: PageRequest, tables: dict[str, Table], *, table: str, format_name: str, subject: NamedSubject
) -> Download:
    """Return one table as a file, and enter it in the audit log. Raises: Http404 for an unknown table or format."""
    if table not in tables or format_name not in FORMATS:
        raise Http404("There is no such table or format.")
    record(request.user, "report.exported", subject, table=table, format=format_name)
    return table_response(tables[table], format_name, file_name=f"{subject} {table}")


def download_paper(
    request: PageRequest,
    tables: Mapping[str, PaperTable | Table],
    *,
    table: str,
    format_name: str,
    subject: NamedSubject,
) -> Download:
    """Return one table for a paper or for programs, and enter it in the audit log. Raises: Http404."""
    if table not in tables or format_name not in PAPER_FORMATS:
        raise Http404("There is no such table or format.")
    record(request.user, "report.exported", subject, table=table, format=format_name)
    chosen = tables[table]
    if isinstance(chosen, Table):
        file_table = chosen
    else:
        file_table = paper_table(chosen) if format_name in PAPER_TYPES else data_table(chosen)
    response = table_response(file_table, format_name, file_name=f"{subject} {table}")
    if "copy" in request.GET:  # to be read and copied, not kept as a file
        response["Content-Type"] = "text/plain; charset=utf-8"
        del response["Content-Disposition"]
    return response
