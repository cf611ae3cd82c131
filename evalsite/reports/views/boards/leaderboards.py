"""Leaderboards."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view, page_of, post_view, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.reports import exports, jobs
from evalsite.reports.models import OfficialBoard
from evalsite.reports.report_choices import LeaderboardChoice, leaderboard_choice, two_systems
from evalsite.reports.selectors.graders import (
    MAX_COLUMNS,
    Grader,
    board_options,
    first_graders,
    graders_named,
    graders_of,
)
from evalsite.reports.selectors.leaderboards import EvaluatorChoices, evaluators_of, scored_suites
from evalsite.reports.services import shown_rows
from evalsite.reports.services.boards.board_charts import board_chart
from evalsite.reports.services.boards.breakdowns import BREAKDOWN
from evalsite.reports.services.boards.leaderboard_slices import shown_pair_slices, shown_slices, slice_table
from evalsite.reports.services.boards.leaderboards import COMPARISON, LEADERBOARD, MODES, version_options
from evalsite.reports.services.boards.official_boards import pin_board, unpin_board
from evalsite.reports.services.boards.suite_boards import SUITE_BOARD, board_table
from evalsite.reports.services.judges.judge_certificates import certificate_beside
from evalsite.reports.services.paper_tables import PaperTable
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.report_papers import board_papers, breakdown_paper, comparison_paper, suite_board_paper
from evalsite.reports.views.pages import (
    download_either,
    download_paper,
    report_command,
    report_page,
    waits_for_report,
)
from judging.models import EvaluatorKind, RunEvaluator, Suite, System
from judging.statistics.estimators.boards import MeanKind

MODE_WORDS = {
    MeanKind.RAW: ("Raw", "The mean of all scores of the grader or judge."),
    MeanKind.HUMAN: ("Human only", "The mean of the final human labels of the random audit sample."),
    MeanKind.CORRECTED: (
        "Corrected",
        "The mean of all scores, corrected for the bias of the judge by the random audit sample.",
    ),
}
CASES_SHOWN = 100


@get_view("reports.view_snapshot")
def leaderboard_list(request: PageRequest) -> HttpResponse:
    """List suites with scores."""
    page = page_of(request, scored_suites(), per_page=25)
    suites = list(page.object_list)
    choices = evaluators_of([suite.pk for suite in suites])
    rows = [{"suite": suite, "choices": choices[suite.pk], "best": choices[suite.pk].pick("")} for suite in suites]
    return render(request, "reports/leaderboard_list.html", {"rows": rows, "page_obj": page})


@get_view("reports.view_snapshot")
def board_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show every grader and version of a judge side by side, over all runs: the chosen, the official or the first."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    graders, official, chosen = _chosen_graders(request, suite_id)
    is_official = official is not None and chosen == first_graders(graders, official)
    context: JsonDict = {"suite": suite, "graders": graders, "wanted": chosen}
    context |= {"official": official, "is_official": is_official}
    if chosen:
        report = jobs.obtain(SUITE_BOARD, subject_id=suite.pk, options=board_options(chosen), at=timezone.now())
        context |= {"report": report, "formats": exports.BOARD_FORMATS}
        if chosen == first_graders(graders, official):
            context["command"] = report_command("board", suite=suite.pk)
        if report.content is not None:
            context |= shown_rows.suite_board(report.content, chosen)
    return report_page(request, "board_detail", context)


@get_view("reports.view_snapshot")
@waits_for_report
def board_export(request: PageRequest, suite_id: int, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download the figures of the board that the page shows."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    _, _, chosen = _chosen_graders(request, suite_id)
    if not chosen:
        raise Http404("Nothing has scored this suite yet.")
    options = board_options(chosen)
    content = jobs.content_shown(SUITE_BOARD, subject_id=suite.pk, options=options, at=timezone.now())
    labels = [grader.label for grader in chosen]
    tables, papers = {"board": board_table(content, labels)}, {"board": suite_board_paper(content, labels)}
    subject = NamedSubject(f"{suite} board", suite.pk)
    return download_either(request, tables, papers, table="board", format_name=format_name, subject=subject)


@post_view("judging.change_run")
def board_pin(request: PageRequest, suite_id: int) -> HttpResponse:
    """Make the chosen columns the official board of a suite, or, without any, unpin it."""
    suite = get_object_or_404(Suite, pk=suite_id)
    keys = [grader.key for grader in graders_named(graders_of(suite_id), _keys(request.POST))]
    if keys:
        pin_board(suite=suite, graders=keys, actor=request.user, at=timezone.now())
        messages.success(request, "This is the official board of the suite now")
    else:
        unpin_board(suite=suite, actor=request.user)
        messages.success(request, "The suite has no official board now")
    return redirect("reports:board-detail", suite_id)


@get_view("reports.view_snapshot")
def leaderboard_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show one suite's systems in order."""
    return board_page(request, suite_id)


def board_page(request: PageRequest, suite_id: int) -> HttpResponse:
    """Return the leaderboard of a suite, whoever reads it."""
    suite, choices, choice = _choices_of(request, suite_id)
    board = choices.pick(choice.evaluator)
    evaluator = board.evaluator if board else None
    context: JsonDict = {
        "suite": suite,
        "choices": choices,
        "board": board,
        "choice": choice,
        "evaluator": evaluator,
        "modes": [(mode, *MODE_WORDS[mode]) for mode in MODES],
        "mode_words": MODE_WORDS[choice.mode][1],
        "formats": exports.FORMATS,
        "board_formats": exports.BOARD_FORMATS,
    }
    if evaluator is not None:
        report = jobs.obtain(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=timezone.now())
        context |= {"report": report, "certificate": certificate_beside(evaluator)}
        context["command"] = "" if choice.version else _command(evaluator, choice)
        if report.content is not None:
            rows = shown_rows.leaderboard_rows(report.content, mode=choice.mode, sort=choice.sort)
            context |= {
                "content": report.content,
                "rows": rows,
                "axis": shown_rows.common_axis([row["figure"] for row in rows]),
                "chart": board_chart(rows),
                "matrix": shown_rows.matrix_rows(report.content, mode=choice.mode),
                "slices": shown_slices(report.content, mode=choice.mode),
                "paper_formats": exports.PAPER_FORMATS,
                "reason": next((row["figure"]["reason"] for row in rows if row["figure"]["value"] is None), ""),
            }
    return report_page(request, "leaderboard_detail", context)


@get_view("reports.view_snapshot")
def leaderboard_compare(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show two systems against each other, and the cases on which they differ most."""
    suite, choices, choice = _choices_of(request, suite_id)
    evaluator = _chosen(choices, choice)
    pair = two_systems(request.GET.getlist("system"))
    context: JsonDict = {"suite": suite, "evaluator": evaluator, "choice": choice, "pair_keys": pair}
    context["formats"] = exports.BOARD_FORMATS
    if pair is not None:
        query = urlencode({**request.GET.dict(), "evaluator": evaluator.pk, "system": pair}, doseq=True)
        context["command"] = report_command("comparison", suite=suite.pk, query=query)
        options = choice.options | {"systems": list(pair)}
        report = jobs.obtain(COMPARISON, subject_id=evaluator.pk, options=options, at=timezone.now())
        whole = jobs.obtain(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=timezone.now())
        compared = shown_rows.find_pair(whole.content, *pair, mode=choice.mode) if whole.content is not None else None
        context |= {"report": report, "content": report.content if compared else None, "pair": compared}
        if compared is not None:
            context["cases"] = report.content["cases"][:CASES_SHOWN] if report.content else []
            context["axis"] = shown_rows.difference_axis(compared["difference"])
            context["slices"] = shown_pair_slices(report.content, mode=choice.mode) if report.content else []
        elif whole.content is not None:
            context["absent"] = _not_on_the_board(whole.content, pair)
    return report_page(request, "leaderboard_compare", context)


@get_view("reports.view_snapshot")
def leaderboard_breakdown(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show a rule grader's points by language, type and metric."""
    suite, choices, choice = _choices_of(request, suite_id)
    boards = (*choices.fullest, *choices.every, *choices.archived)
    graders = [board.evaluator for board in boards if board.evaluator.kind == EvaluatorKind.GRADER]
    grader = next((row for row in graders if str(row.pk) == choice.evaluator), next(iter(graders), None))
    context: JsonDict = {"suite": suite, "evaluator": grader, "formats": exports.BOARD_FORMATS}
    if grader is not None:
        report = jobs.obtain(BREAKDOWN, subject_id=grader.pk, options={}, at=timezone.now())
        context |= {"report": report, "content": report.content}
    return report_page(request, "leaderboard_breakdown", context)


@get_view("reports.view_snapshot")
@waits_for_report
def leaderboard_chart(request: PageRequest, suite_id: int) -> HttpResponse:
    """Download the three means of each system as SVG."""
    _, choices, choice = _choices_of(request, suite_id)
    evaluator = _chosen(choices, choice)
    content = jobs.content_shown(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=timezone.now())
    chart = board_chart(shown_rows.leaderboard_rows(content, mode=choice.mode, sort=choice.sort))
    if chart is None:
        raise Http404("There is no chart yet.")
    context = {"chart": chart, "body": "reports/_board_chart_body.html"}
    response = render(request, "reports/chart.svg", context, content_type="image/svg+xml")
    response["Content-Disposition"] = 'attachment; filename="means.svg"'
    return response


@get_view("reports.view_snapshot")
@waits_for_report
def leaderboard_export(
    request: PageRequest, suite_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of a leaderboard; `scores` is every single score of the evaluator."""
    suite, choices, choice = _choices_of(request, suite_id)
    evaluator = _chosen(choices, choice)
    now = timezone.now()
    if table == "slices":
        content = jobs.content_shown(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=now)
        return download_paper(
            request,
            {"slices": slice_table(content, mode=choice.mode)},
            table=table,
            format_name=format_name,
            subject=NamedSubject(f"{suite} {evaluator.name}", suite.pk),
        )
    papers: dict[str, PaperTable] = {}
    if table == "scores":
        tables = {"scores": exports.score_table(run=evaluator.run, evaluator_id=evaluator.pk)}
    elif table == "pair":
        pair = two_systems(request.GET.getlist("system"))
        if pair is None:
            raise Http404("Choose two systems.")
        options = choice.options | {"systems": list(pair)}
        content = jobs.content_shown(COMPARISON, subject_id=evaluator.pk, options=options, at=now)
        tables, papers = {"pair": exports.pair_table(content)}, {"pair": comparison_paper(content)}
    elif table == "breakdown":
        if evaluator.kind != EvaluatorKind.GRADER:
            raise Http404("Only rule graders have points by metric.")
        content = jobs.content_shown(BREAKDOWN, subject_id=evaluator.pk, options={}, at=now)
        tables, papers = {"breakdown": exports.breakdown_table(content)}, {"breakdown": breakdown_paper(content)}
    else:
        content = jobs.content_shown(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=now)
        state = certificate_beside(evaluator)
        words = state.words if state is not None else ""
        tables = exports.leaderboard_tables(content, mode=choice.mode, certificate=words)
        papers = board_papers(content, mode=choice.mode, certificate=words)
    subject = NamedSubject(f"{suite} {evaluator.name}", suite.pk)
    return download_either(request, tables, papers, table=table, format_name=format_name, subject=subject)


def _command(evaluator: RunEvaluator, choice: LeaderboardChoice) -> str:
    named = {name: choice.options.get(name) for name in ("scenario", "lang", "type", "looks")}
    named |= {"mode": None if choice.mode == MeanKind.RAW else choice.mode.value}
    skips = choice.options.get("missing") == "skip"
    return report_command("leaderboard", run=evaluator.run_id, evaluator=evaluator.name, **named, skip_missing=skips)


def _chosen_graders(request: PageRequest, suite_id: int) -> tuple[list[Grader], OfficialBoard | None, list[Grader]]:
    """Return a suite's graders, its official board, and the graders that the address names or that are shown first."""
    graders = list(graders_of(suite_id))
    official = OfficialBoard.objects.select_related("pinned_by").filter(suite=suite_id).first()
    named = graders_named(graders, _keys(request.GET))[:MAX_COLUMNS]
    return graders, official, named or first_graders(graders, official)


def _keys(query: QueryDict) -> set[int]:
    """Return the keys of graders that a query names; what is no number is not looked at."""
    return {key for value in query.getlist("grader") if (key := whole_number(value)) is not None}


def _not_on_the_board(content: ReportContent, pair: tuple[int, int]) -> str:
    """Name those of two systems that this evaluator has not scored; a system that nobody knows is not found."""
    listed = {row["system_id"] for row in content["rows"]}
    return " and ".join(get_object_or_404(System, pk=key).name for key in pair if key not in listed)


def _choices_of(request: PageRequest, suite_id: int) -> tuple[Suite, EvaluatorChoices, LeaderboardChoice]:
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    choice = leaderboard_choice(request.GET)
    version = next((row for row in graders_of(suite_id) if row.holds(choice.version)), None) if choice.version else None
    if version is not None:
        options = choice.options | version_options([row.pk for row in version.evaluators])
        choice = replace(choice, evaluator=str(version.key), options=options)
    return suite, evaluators_of([suite_id])[suite_id], choice


def _chosen(choices: EvaluatorChoices, choice: LeaderboardChoice) -> RunEvaluator:
    board = choices.pick(choice.evaluator)
    if board is None:
        raise Http404("Nothing has scored this suite yet.")
    return board.evaluator
