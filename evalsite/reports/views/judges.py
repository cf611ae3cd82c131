"""Where judges and debate speakers stand."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from evalsite.reports import exports, jobs
from evalsite.reports.selectors.certificates import all_certificates
from evalsite.reports.selectors.judge_rows import judge_exists, run_names
from evalsite.reports.services import showing
from evalsite.reports.services.judge_reports import JUDGE, JUDGES
from evalsite.reports.services.paper_tables import data_table
from evalsite.reports.services.trust_tables import certificate_table
from evalsite.reports.views.pages import download, report_page, waits_for_report
from evalsite.reports.views.trust import trust_context
from judging.http import PageRequest


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def judge_list(request: PageRequest) -> HttpResponse:
    """Show one row per judge and per speaker."""
    report = jobs.obtain(JUDGES, subject_id=0, options={}, at=timezone.now())
    context: dict[str, Any] = {"report": report, "formats": exports.FORMATS}
    if report.payload is not None:
        judges = [row | {"bars": showing.bars(row["histogram"])} for row in report.payload["judges"]]
        seats = report.payload["speakers"]
        context |= {"payload": report.payload, "judges": judges, "speakers": seats}
    return report_page(request, "judge_list", context)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def judge_detail(request: PageRequest) -> HttpResponse:
    """Show what stands behind one judge's figures; it is `?name=` and, where not the newest, `&version=`."""
    name = str(request.GET.get("name", ""))[:160]
    if not judge_exists(name):
        raise Http404("No run has had a judge of this name.")
    version = str(request.GET.get("version", ""))[:64]
    options = {"name": name} | ({"version": version} if version else {})
    report = jobs.obtain(JUDGE, subject_id=0, options=options, at=timezone.now())
    context: dict[str, Any] = {"name": name, "report": report}
    if not request.htmx:  # the fragment on trust polls for itself
        context |= trust_context(name, version)
    if report.payload is not None:
        payload = report.payload
        names = run_names([row["run_id"] for row in payload["runs"]])
        context |= {
            "payload": payload,
            "runs": [row | {"run": names.get(row["run_id"], row["run"])} for row in payload["runs"]],
            "row": payload["row"],
            "bars": showing.bars(payload["row"]["histogram"]),
            "people": showing.square(payload["people"]["labels"], payload["people"]["counts"]),
            "debates": showing.square(payload["debates"]["labels"], payload["debates"]["counts"]),
        }
    return report_page(request, "judge_detail", context)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@waits_for_report
def judge_export(request: PageRequest, table: str, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download the judges, the speakers or the certificates of judges."""
    if table == "certificates":
        tables = {"certificates": data_table(certificate_table(all_certificates()))}
    else:
        tables = exports.judge_tables(jobs.payload_shown(JUDGES, subject_id=0, options={}, at=timezone.now()))
    return download(
        request,
        tables,
        table=table,
        format_name=format_name,
        subject="judges",
        subject_id=None,
    )
