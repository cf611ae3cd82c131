"""Quality of judges and of agents in debates."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from evalsite.base.score_scales import read_scale
from evalsite.reports import jobs
from evalsite.reports.actions.judges import REPORT
from evalsite.reports.forms import LooksForm
from evalsite.reports.report_choices import judge_options
from evalsite.reports.selectors.comparison_urls import versions_url
from evalsite.reports.selectors.judges.judge_rows import (
    judge_exists,
    judge_ids_by_name,
    judge_named,
    names_in_runs,
    run_names,
)
from evalsite.reports.services.charts import bars, square
from evalsite.reports.services.judges.judge_certificates import certificates_of_judges
from evalsite.reports.services.judges.judge_reports import JUDGE, JUDGES, JudgeFigures
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.views.bias import judge_bias_context
from evalsite.reports.views.pages import (
    REPORT_FORMATS,
    report_command,
    report_download,
    report_page,
    waits_for_report,
)
from evalsite.reports.views.trust import trust_context
from judging.models import Judge


@get_view("reports.view_snapshot")
def judge_list(request: PageRequest) -> HttpResponse:
    """Show one row per judge and per agent."""
    options = LooksForm(request.GET).options
    report = jobs.obtain(JUDGES, subject_id=0, options=options, at=timezone.now())
    context: JsonDict = {
        "report": report,
        "formats": REPORT_FORMATS,
        "paper_formats": REPORT_FORMATS,
        "options": options,
        "command": report_command("judges", **options),
    }
    if report.content is not None:
        rows = report.content.judges
        judges = list(zip(rows, map(_bars, rows), certificates_of_judges(rows), strict=True))
        context |= {"content": report.content, "judges": judges, "agents": report.content.agents}
    return report_page(request, "judge_list", context)


def figures_of(judge: Judge) -> JsonDict | None:
    """Return the figures of each version of a judge for its own page; None where no run has used it."""
    names = names_in_runs(judge)
    if not names:
        return None
    report = jobs.obtain(JUDGES, subject_id=0, options={}, at=timezone.now())
    judges = report.content.judges if report.content is not None else []
    return {"report": report, "rows": [(row, _bars(row)) for row in judges if row.name in names]}


def newest_figures(judges: Sequence[Judge]) -> dict[int, JsonDict]:
    """Return by judge the figures of its version in its newest run; judges without a run have none."""
    names = judge_ids_by_name([judge.pk for judge in judges])
    if not names:
        return {}
    report = jobs.obtain(JUDGES, subject_id=0, options={}, at=timezone.now())
    figures: dict[int, JsonDict] = {}
    rows = report.content.judges if report.content is not None else []
    for row in sorted(rows, key=lambda row: row.newest_run):  # minus the run's number
        if row.name in names:
            figures.setdefault(names[row.name], {"row": row})
    return figures


@get_view("reports.view_snapshot")
def judge_detail(request: PageRequest) -> HttpResponse:
    """Show the data behind one judge's figures; it is `?name=` and, where not the newest, `&version=`."""
    options = judge_options(request.GET)
    if not judge_exists(options["name"]):
        raise Http404("No run has had a judge of this name.")
    report = jobs.obtain(JUDGE, subject_id=0, options=options, at=timezone.now())
    context: JsonDict = {"name": options["name"], "report": report, "options": options}
    if not request.htmx:  # the fragments on trust and bias poll for themselves
        context |= trust_context(options) | judge_bias_context(options)
        context["compare_url"] = versions_url(options["name"])
        context["judge"] = judge_named(options["name"])
    if report.content is not None:
        content = report.content
        names = run_names([row["run_id"] for row in content["runs"]])
        context |= {
            "content": content,
            "runs": [row | {"run": names.get(row["run_id"], row["run"])} for row in content["runs"]],
            "row": content["row"],
            "bars": bars(content["row"]["histogram"], read_scale(content["row"]["scale"])),
            "people": square(content["people"]["labels"], content["people"]["counts"]),
            "debates": square(content["debates"]["labels"], content["debates"]["counts"]),
        }
    return report_page(request, "judge_detail", context)


@get_view("reports.view_snapshot")
@waits_for_report
def judge_export(request: PageRequest, table: str, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download the judges, the agents or the certificates of judges."""
    form, subject = LooksForm(request.GET), NamedSubject("judges", None)
    return report_download(request, REPORT, form, table=table, format_name=format_name, subject=subject)


def _bars(row: JudgeFigures) -> list[ReportContent]:
    return bars(row.histogram, read_scale(row.scale))
