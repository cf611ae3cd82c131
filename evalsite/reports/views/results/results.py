"""The results of a suite: cases or responses as rows, systems, judges or runs as columns, one row with its texts."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Table
from evalsite.reports import exports, jobs
from evalsite.reports.jobs import BeingComputed, Report
from evalsite.reports.report_choices import results_choice
from evalsite.reports.selectors.data_versions import labels_read_once
from evalsite.reports.selectors.graders import Grader, graders_of
from evalsite.reports.selectors.leaderboards import scored_suites
from evalsite.reports.services.results.choices import Columns, ResultsChoice
from evalsite.reports.services.results.results import RESULTS
from evalsite.reports.services.results.row_order import SPREAD, RowFilter
from evalsite.reports.services.results.suite_results import (
    EXPORT_COLUMNS,
    StoredResults,
    SuiteResults,
    column_graders,
)
from evalsite.reports.services.saved_views import views_for
from evalsite.reports.views.pages import download, report_command, report_page, waits_for_report
from judging.models import Case, Suite
from judging.views.score_pages import score_page

PER_PAGE = 25
SUITES_OFFERED = 100
ROW_FILTER_WORDS = {
    RowFilter.ALL: "All",
    RowFilter.DIFFER: "Differ",
    RowFilter.LOW: "Low scores",
    RowFilter.UNSCORED: "No score",
    RowFilter.OVERRULED: "People disagree",
    RowFilter.LABELLED: "Labelled by people",
}
COLUMN_WORDS = {Columns.SYSTEMS: "Systems", Columns.JUDGES: "Judges", Columns.RUNS: "Runs of a judge"}


@get_view("reports.view_snapshot")
def results_newest(request: PageRequest) -> HttpResponse:
    """Go to the results of the suite that was scored last, or say that there are none."""
    suite = scored_suites().first()
    if suite is None:
        return render(request, "reports/results.html", {"suite": None})
    return redirect("reports:results-detail", suite.pk)


@get_view("reports.view_snapshot")
def results_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show the results of one suite."""
    return results_page(request, suite_id)


def results_page(request: PageRequest, suite_id: int) -> HttpResponse:
    """Return the results of a suite, whoever reads them."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    choice, graders = results_choice(request.GET), graders_of(suite_id)
    columns = column_graders(graders, choice)
    reports = reports_of(columns)
    context: JsonDict = {
        "suite": suite,
        "suites": scored_suites()[:SUITES_OFFERED],
        "choice": choice,
        "graders": graders,
        "chosen_graders": [grader.key for grader in columns],
        "column_choices": COLUMN_WORDS.items(),
        "shown_choices": ROW_FILTER_WORDS.items(),
        "formats": exports.FORMATS,
        "report": slowest(reports),
        "command": report_command("results", suite=suite.pk, query=request.GET.urlencode()),
    }
    if request.user.is_authenticated:
        context["views"] = views_for(suite_id=suite_id, user=request.user, query=request.GET.urlencode())
    if reports and all(report.rows for report in reports):
        context |= _table_context(request, choice, _results(suite_id, choice, columns, reports))
    return report_page(request, "results", context)


def reports_of(graders: list[Grader]) -> list[Report]:
    """Return the results of each grader with their rows, as far as they are computed."""
    now = timezone.now()
    with labels_read_once():
        return [
            jobs.obtain(RESULTS, subject_id=grader.key, options=grader.options, at=now, with_rows=True)
            for grader in graders
        ]


def slowest(reports: list[Report]) -> Report | None:
    """Return the report that sets the age of the page's figures: one that is missing, else the oldest."""
    return min(reports, key=lambda report: (report.is_current, not report.is_computing), default=None)


def _results(suite_id: int, choice: ResultsChoice, graders: list[Grader], reports: list[Report]) -> SuiteResults:
    stored = [StoredResults.of(report.content, report.rows) for report in reports]
    return SuiteResults(suite_id, choice, list(zip(graders, stored, strict=True)))


def requested_results(request: PageRequest, suite_id: int) -> SuiteResults:
    """Return what the page of this address shows. Raises: BeingComputed where a column has no figures yet."""
    choice = results_choice(request.GET)
    columns = column_graders(graders_of(suite_id), choice)
    reports = reports_of(columns)
    if not reports or not all(report.rows for report in reports):
        raise BeingComputed
    return _results(suite_id, choice, columns, reports)


def _table_context(request: PageRequest, choice: ResultsChoice, results: SuiteResults) -> JsonDict:
    opened = results.place_of(choice.row) if choice.row else 0 if choice.shown and len(results.rows) else None
    number = request.GET.get("page")
    if number is None and opened is not None:
        number = str(opened // PER_PAGE + 1)
    page = Paginator(results.rows, PER_PAGE).get_page(number)
    context: JsonDict = {
        "results": results,
        "page_obj": page,
        "rows": results.shown([int(row) for row in page.object_list]),
        "titles": _titles(results, choice),
        "comparisons": results.comparisons() if len(results.columns) > 1 else [],
    }
    return context | ({"panel": _panel(results, opened)} if opened is not None else {})


def _titles(results: SuiteResults, choice: ResultsChoice) -> list[JsonDict]:
    """Return the sortable titles of the columns behind the case and the system."""
    titles: list[JsonDict] = [
        {"label": column.label, "sort": str(number)} for number, column in enumerate(results.columns)
    ]
    if len(titles) > 1:
        titles.append({"label": "Spread", "sort": SPREAD})
    return titles


def _panel(results: SuiteResults, index: int) -> JsonDict:
    """Return one row with its texts, and the rows before and behind it."""
    row = int(results.rows[index])
    case = Case.objects.select_related("prompt").get(pk=int(results.cells.cases[results.grid.cases[row]]))
    columns = results.opened(row)
    for column in columns:
        cell = column["cell"]
        column["score"] = score_page(cell.score) if cell is not None and cell.score is not None else None
    around = {
        name: results.key_of(int(results.rows[other])) if 0 <= other < len(results.rows) else ""
        for name, other in (("previous", index - 1), ("next", index + 1))
    }
    return {
        "key": results.key_of(row),
        "number": index + 1,
        "case": case,
        "system": results.system_of(row),
        "response": next((column["cell"].response for column in columns if column["cell"]), None),
        "columns": columns,
        "verdicts": [column["cell"].verdict for column in columns if column["cell"] and column["cell"].verdict],
        **around,
    }


@get_view("reports.view_snapshot")
@waits_for_report
def results_export(
    request: PageRequest, suite_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download what the page shows, all its pages: a line for each response under each grader."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    rows = requested_results(request, suite_id).exported(site=request.build_absolute_uri("/").rstrip("/"))
    tables = {"rows": Table("results", EXPORT_COLUMNS, rows)}
    return download(
        request, tables, table=table, format_name=format_name, subject=NamedSubject(f"{suite} results", suite.pk)
    )
