"""Results of a suite response by response, of one run and of one system, the named views, and referrals to people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.actions.declarations import ActionCall, InvalidInput
from evalsite.base.actions.entries import perform
from evalsite.base.actions.pages import action_page
from evalsite.base.formats import SHARE
from evalsite.base.http import PageRequest, form_view, get_view, page_of, whole_numbers
from evalsite.base.types import JsonDict, Refused, whole_number
from evalsite.reports import jobs
from evalsite.reports.actions.publications import save
from evalsite.reports.actions.results import RESPONSES, ROWS, results_shown, send_results
from evalsite.reports.forms import SavedViewForm, results_choice
from evalsite.reports.jobs import ReportState, obtain
from evalsite.reports.selectors.leaderboards import (
    CHOICES_SHOWN,
    MAX_COLUMNS,
    Grader,
    graders_of,
    labels_read_once,
    scored_suites,
)
from evalsite.reports.selectors.results import answers_named, answers_to
from evalsite.reports.services.publications import views_for
from evalsite.reports.services.results import (
    RESULTS,
    Columns,
    ResultsChoice,
    RowFilter,
    StoredResults,
    SuiteResults,
    column_graders,
)
from evalsite.reports.services.snapshots import ReportContent
from evalsite.reports.services.suite_boards import RUN_RESULTS
from evalsite.reports.services.suite_charts import CRITERIA, SUITE_CHARTS, case_table, exported, extremes_of, profile_of
from evalsite.reports.views.pages import (
    FORMATS,
    report_command,
    report_page,
    table_download,
    waits_for_report,
)
from evalsite.review.selectors.verdict_reviews import (
    chosen_by_run,
    chosen_questions,
    most_annotations,
    work_of_chosen,
)
from evalsite.review.services.researcher_referrals import MOST_CHOSEN
from judging.models import SCORED_KINDS, Case, Response, Run, Suite
from judging.selectors.benchmarks import place_of
from judging.selectors.judges import score_scale_of
from judging.selectors.runs import is_moving
from judging.views.cases import ShownCase
from judging.views.responses import CRITERIA_NAMES, ShownSystem, score_page

PER_PAGE = 25
TEXTS = 4  # side by side
FIRST_TEXTS = 2
MAX_GRADERS = 4  # side by side
MAX_SUITES = 50  # that are offered


def answers_of(shown: ShownCase) -> JsonDict:
    """Return what the part of a case's page shows: a page of responses with scores, and the texts that were chosen."""
    page = page_of(shown.request, answers_to(shown.case), per_page=PER_PAGE)
    rows = list(page.object_list)
    requested = whole_numbers(shown.request.GET.getlist("response"))[:TEXTS]
    chosen = requested or [row.pk for row in rows[:FIRST_TEXTS]]
    texts = answers_named(shown.case, chosen)
    return {
        "case": shown.case,
        "suite": shown.suite,
        "table": case_table(shown.case, shown.suite, rows),
        "page_obj": page,
        "texts": texts,
        "chosen": [text.pk for text in texts],
        "most_texts": TEXTS,
        "formats": FORMATS,
    }


@get_view("reports.view_snapshot")
def case_export(request: PageRequest, case_id: int, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download every response to a case with its scores: a line for each score and each label."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    place = place_of(case=case, suite_id=whole_number(request.GET.get("suite", "")))
    answers = list(answers_to(case))
    whole = Response.objects.only("text", "images", "messages").in_bulk([answer.pk for answer in answers])
    table = case_table(case, place.suite if place is not None else None, answers, most=CHOICES_SHOWN)
    site = request.build_absolute_uri("/").rstrip("/")
    lines, subject = exported(case, table, whole, site=site), NamedSubject(f"case {case.key}", case.pk)
    return table_download(request, RESPONSES, lines, format_name=format_name, subject=subject)


SUITES_OFFERED = 100
ROW_FILTER_WORDS = {
    RowFilter.ALL: "All",
    RowFilter.DIFFER: "Differ",
    RowFilter.LOW: "Low scores",
    RowFilter.UNSCORED: "No score",
    RowFilter.OVERRULED: "People disagree",
    RowFilter.LABELLED: "Labelled by people",
}
COLUMN_WORDS = {Columns.SYSTEMS: "Systems", Columns.JUDGES: "Judges", Columns.RUNS: "Runs"}


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
        "formats": FORMATS,
        "score_scale": score_scale_of(columns[0].newest) if columns else SHARE,
        "report": slowest(reports),
        "command": report_command("results", suite=suite.pk, query=request.GET.urlencode()),
    }
    if request.user.is_authenticated:
        context["views"] = views_for(suite_id=suite_id, user=request.user, query=request.GET.urlencode())
    if reports and all(report.rows for report in reports):
        context |= _table_context(request, choice, requested_results(request, suite))
    return report_page(request, "results", context)


def reports_of(graders: list[Grader]) -> list[ReportState[ReportContent]]:
    """Return the results of each grader with their rows, as far as they are computed."""
    now = timezone.now()
    with labels_read_once():
        return [
            jobs.obtain(RESULTS, subject_id=grader.key, options=grader.options, at=now, with_rows=True)
            for grader in graders
        ]


def slowest(reports: list[ReportState[ReportContent]]) -> ReportState[ReportContent] | None:
    """Return the report that sets the age of the page's figures: one that is missing, else the oldest."""
    return min(reports, key=lambda report: (report.is_current, not report.is_computing), default=None)


def requested_results(request: PageRequest, suite: Suite, *, site: str = "") -> SuiteResults:
    """Return what the page of this address shows. Raises: Http404 where nothing was scored, BeingComputed."""
    try:
        return results_shown(suite, request.GET, waits=False, site=site)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal


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
        "titles": [
            *((str(number), column.label) for number, column in enumerate(results.columns)),
            *((column.key, column.label) for column in results.row_columns),
        ],
        "comparisons": results.comparisons() if len(results.columns) > 1 else [],
    }
    if request.user.has_perm("review.change_queue"):
        run_ids = {evaluator.run_id for column in results.columns for evaluator in column.grader.evaluators[:1]}
        context["annotations"] = most_annotations(results.count_meant(), run_ids=run_ids)
    return context | ({"panel": _panel(results, opened)} if opened is not None else {})


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
    if table != ROWS.name:
        raise Http404("There is no such table.")
    results = requested_results(request, suite, site=request.build_absolute_uri("/").rstrip("/"))
    subject = NamedSubject(f"{suite} results", suite.pk)
    return table_download(request, ROWS, results, format_name=format_name, subject=subject)


@action_page(send_results, partial(form_view, "reports.view_snapshot"))
@waits_for_report
def results_send(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show what sending the rows that the address asks for would do, and do it."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    results = requested_results(request, suite)
    if request.method == "POST":
        entered = {"suite": suite_id, "query": request.GET.urlencode(), "agreed": request.POST.get("agreed", "")}
        try:
            sent = perform(send_results, None, entered, actor=request.user, at=timezone.now())
        except Refused as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, send_results.options["said"](sent))
        return redirect(request.get_full_path())
    cells = results.judged_cells(most=MOST_CHOSEN + 1)
    is_too_much = len(cells) > MOST_CHOSEN
    questions = [] if is_too_much else chosen_questions(cells)
    runs = chosen_by_run(questions)
    context: JsonDict = {
        "suite": suite,
        "results_url": f"{reverse('reports:results-detail', args=[suite_id])}?{request.GET.urlencode()}",
        "rows": len(results.rows),
        "most": MOST_CHOSEN,
        "is_too_much": is_too_much,
        "total": len(questions),
        "runs": runs,
        "new": sum(run.new for run in runs),
        "work": work_of_chosen(runs, questions),
    }
    return render(request, "reports/results_send.html", context)


@action_page(save)
def view_save(request: PageRequest, suite_id: int) -> HttpResponse:
    """Keep what a page of results shows, and show it again."""
    suite = get_object_or_404(Suite, pk=suite_id)
    form = SavedViewForm({**request.POST.dict(), "suite": suite.pk})
    try:
        if not form.is_valid():
            raise InvalidInput.of(form)
        view = save.carry_out(ActionCall(None, form, request.user, timezone.now()))
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(f"{reverse('reports:results-detail', args=[suite.pk])}?{request.POST.get('query', '')}")
    messages.success(request, f"The view “{view}” is saved.")
    return redirect(view)


@get_view("reports.view_snapshot")
def run_results(request: PageRequest, run_id: int) -> HttpResponse:
    """Show a run's means by system and grader or judge, for the part of its page that is fetched again."""
    run = get_object_or_404(Run.objects.filter(kind__in=SCORED_KINDS), pk=run_id)
    if not request.htmx:
        return redirect(run)
    return render(request, "reports/_run_results.html", results_of(run))


def results_of(run: Run) -> JsonDict | None:
    """Return what the results of a run are shown from; None for runs that no leaderboard has."""
    if run.kind not in SCORED_KINDS:
        return None
    report = obtain(RUN_RESULTS, subject_id=run.pk, options={}, at=timezone.now()) if run.done else None
    return {"run": run, "report": report, "content": report and report.content, "is_live": is_moving(run)}


def profile_shown(shown: ShownSystem) -> JsonDict | None:
    """Return what the part of a system's page shows; None where no run has scored it."""
    suites = list(scored_suites().filter(runs__systems=shown.system).distinct()[:MAX_SUITES])
    if not suites:
        return None
    key = whole_number(shown.request.GET.get("suite", ""))
    suite = next((choice for choice in suites if choice.pk == key), suites[0])
    suite_graders = list(graders_of(suite.pk))[:MAX_COLUMNS]
    graders = suite_graders[:MAX_GRADERS]
    reports = reports_of(graders)
    context: JsonDict = {"system": shown.system, "suite": suite, "suites": suites, "graders": graders}
    context["report"] = slowest(reports)
    if not all(report.rows for report in reports):
        return context
    stored = [StoredResults.of(report.content, report.rows) for report in reports]
    scales = [score_scale_of(grader.newest) for grader in graders]
    best, worst = extremes_of(stored[0], shown.system.pk)
    charts = jobs.obtain(SUITE_CHARTS, subject_id=graders[0].key, options=graders[0].options, at=timezone.now())
    criteria = [
        jobs.obtain(CRITERIA, subject_id=row.key, options=row.options, at=timezone.now()) for row in suite_graders
    ]
    context["report"] = slowest([*reports, charts, *criteria])
    runs, system_key = charts.content["runs"] if charts.content is not None else [], str(shown.system.pk)
    return context | {
        "parts": [
            (title, field, [(grader.key, mean) for grader, mean in zip(graders, means, strict=True)])
            for title, field, means in profile_of(stored, scales, shown.system.pk)
        ],
        "criteria": _criteria_shown(suite_graders, [report.content for report in criteria], system_key),
        "scale": scales[0],
        "extremes": (("Best responses", best, "-0"), ("Worst responses", worst, "0")),
        "runs": [
            run | {"figure": run["figures"][system_key], "at": datetime.fromisoformat(run["at"])}
            for run in reversed(runs)
            if system_key in run["figures"]
        ],
    }


def _criteria_shown(
    graders: Sequence[Grader], contents: Sequence[ReportContent | None], system: str
) -> JsonDict | None:
    """Return the graders with several criteria, and a row for each criterion with its mean under each of them."""
    by_grader = [
        (grader, content)
        for grader, content in zip(graders, contents, strict=True)
        if content and any(system in row["figures"] for row in content["criteria"])
    ][:MAX_GRADERS]
    if not by_grader:
        return None
    means = [{row["title"]: row["figures"].get(system) for row in content["criteria"]} for _, content in by_grader]
    titles = dict.fromkeys(title for of_grader in means for title in of_grader)
    return {
        "graders": [grader for grader, _ in by_grader],
        "rows": [(CRITERIA_NAMES.get(title, title), [of_grader.get(title) for of_grader in means]) for title in titles],
        "left_out": max(content["left_out"] for _, content in by_grader),
    }
