"""Pages of the quality of judges, of debates, and of spending."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from debate.models import Debate, DebateSet, Experiment, ExperimentKind
from debate.protocol.metaeval import OutcomeRule
from debate.protocol.setups import Method
from debate.protocol.verdicts import VerdictReading
from evalsite.accounts.audit import NamedSubject
from evalsite.base.actions.declarations import Action, ActionCall
from evalsite.base.actions.entries import perform
from evalsite.base.actions.pages import action_page
from evalsite.base.formats import read_scale
from evalsite.base.http import PageRequest, form_view, get_view, page_of
from evalsite.base.page_parts import Facts
from evalsite.base.types import JsonDict, Refused
from evalsite.reports import jobs
from evalsite.reports.actions.debates import ARENA_REPORT, DEBATES_REPORT, ROBUSTNESS_REPORT
from evalsite.reports.actions.judge_versions import BIAS, REPORT, TRUST, TrustShown, set_threshold
from evalsite.reports.actions.spend import BY_GROUP, SORTED_BY
from evalsite.reports.actions.spend import REPORT as SPEND_REPORT
from evalsite.reports.forms import (
    READINGS,
    RULES,
    AnchorForm,
    ArenaForm,
    DebatesForm,
    LooksForm,
    RobustnessForm,
    SpendForm,
    ThresholdForm,
    arena_options,
    debate_basis,
    debate_options,
    debates_behind_of,
    judge_options,
)
from evalsite.reports.selectors.leaderboards import Options, graders_of
from evalsite.reports.services import debates_in_view
from evalsite.reports.services.calibration import (
    Calibration,
    annotations_per_thousand,
    certificate_state,
    certificates_of_judges,
    drift_chart,
    preview,
    reliability_chart,
    risk_coverage_chart,
    threshold_state,
    version_of_content,
)
from evalsite.reports.services.charts import Chart, bars, common_axis, square
from evalsite.reports.services.debate_reports import ARENA, DEBATES, ROBUSTNESS
from evalsite.reports.services.debates_in_view import column_names
from evalsite.reports.services.judge_bias import DEBATE_BIAS, JUDGE_BIAS
from evalsite.reports.services.judge_reports import JUDGE, JUDGES, JudgeFigures
from evalsite.reports.services.judge_rows import (
    judge_evaluators,
    judge_exists,
    judge_ids_by_name,
    judge_named,
    names_in_runs,
    tested_evaluators,
)
from evalsite.reports.services.judge_trust import JUDGE_TRUST, drift_of_version, reliability_bins
from evalsite.reports.services.snapshots import ReportContent, ReportKind
from evalsite.reports.services.spend_reports import SPEND, SpendShown, days_chart
from evalsite.reports.views.pages import (
    PAPER_FORMATS,
    REPORT_FORMATS,
    Download,
    export_view,
    report_command,
    report_download,
    report_page,
    table_download,
    table_of,
    waits_for_report,
)
from evalsite.review.routing import ThresholdTarget
from judging.models import Judge, Run
from judging.selectors.judges import versions_of
from judging.selectors.runs import open_budgets
from judging.services.day_budgets import limited_uses, next_day
from judging.statistics.estimators.debates import OUTCOME, PEOPLE, debates_of_figure, differs, unpack
from judging.statistics.judge_quality import ALPHA, DELTA, Annotators

STEPS_SHOWN = 100
PERCENT = {"error": 10.0, "certainty": 90.0}

judge_export = export_view(REPORT, LooksForm)
debate_export = export_view(DEBATES_REPORT, DebatesForm)
arena_export = export_view(ARENA_REPORT, ArenaForm)
spend_export = export_view(SPEND_REPORT, SpendForm)


def trust_context(options: Options) -> JsonDict:
    """Return what the fragment on certificate, threshold, audit and anchors of a judge needs."""
    report = jobs.obtain(JUDGE_TRUST, subject_id=0, options=options, at=timezone.now())
    context: JsonDict = {
        "name": options["name"],
        "trust_report": report,
        "trust_query": urlencode(options),
        "formats": PAPER_FORMATS,
    }
    if report.content is None:
        return context
    content = report.content
    shown = version_of_content(content)
    drift = drift_of_version(shown.key)
    bins = reliability_bins(content)
    labels = [label["text"] for label in content["labels"]]
    return context | {
        "trust": content,
        "query": _query(content),
        "certificate": certificate_state(content),
        "threshold": threshold_state(name=content["name"], version=shown),
        "tests": [content["tests"][annotators.value] | {"annotators": annotators.value} for annotators in Annotators],
        "confusion": square(labels, content["confusion"]),
        "reliability": reliability_chart(bins) if bins else None,
        "drift": drift,
        "drift_chart": drift_chart(drift) if drift is not None else None,
        "anchor_form": AnchorForm(content=content),
        "annotators": list(Annotators),
        "default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD,
    }


def _query(content: ReportContent) -> str:
    looks = {"looks": content["looks"]} if content["looks"] else {}
    return urlencode({"name": content["name"], "version": content["version"]["key"]} | looks)


@get_view("reports.view_snapshot")
def judge_trust(request: PageRequest) -> HttpResponse:
    """Answer with the fragment that the judge's page polls; a whole page is the judge's."""
    if not request.htmx:
        return redirect(f"{reverse('reports:judge-detail')}?{request.GET.urlencode()}")
    return render(request, "reports/_judge_trust.html", trust_context(_options(request)))


@action_page(set_threshold, partial(form_view, "reports.view_snapshot"))
@waits_for_report
def judge_threshold(request: PageRequest) -> HttpResponse:
    """Show the risk-coverage curve and what looks need, never what a look would say; take a look."""
    content = _content(request)
    data = request.POST if request.method == "POST" else request.GET if "error" in request.GET else PERCENT
    form = ThresholdForm(data, content=content)
    if request.method == "POST" and "look" not in request.POST and form.is_valid():
        try:
            look = set_threshold.carry_out(ActionCall(None, form, request.user, timezone.now()))
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, set_threshold.options["said"](look))
            return _back(content)
    calibration = _calibrated(form, content)
    state = threshold_state(name=content["name"], version=version_of_content(content))
    context = {
        "content": content,
        "query": _query(content),
        "form": form,
        "calibration": calibration,
        "threshold": state,
        "annotations": annotations_per_thousand(state.saved.accepted) if state.saved else None,
        "chart": _curve(calibration),
        "curve_query": f"{_query(content)}&{urlencode({name: form[name].value() or '' for name in form.fields})}",
        "steps": calibration.steps[:STEPS_SHOWN],
        "default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD,
        "formats": PAPER_FORMATS,
    }
    return report_page(request, "judge_threshold", context)


def version_button(action: Action[None, Any]) -> Callable[..., Download]:
    """Return the view of a button on the page of a version: it acts and shows the page again, or the run it made."""

    @action_page(action)
    @waits_for_report
    def view(request: PageRequest) -> HttpResponse:
        shown, content = _content(request), _content(request, for_one_look=True)  # a certificate is issued once
        entered = {name: request.POST[name] for name in action.form_class.base_fields if name in request.POST}
        entered |= {"name": content["name"], "version": content["version"]["key"]}
        try:
            result = perform(action, None, entered, actor=request.user, at=timezone.now())
        except Refused as refusal:
            messages.error(request, str(refusal))
            return _back(shown)
        if "said" in action.options:
            messages.success(request, action.options["said"](result))
        return redirect(result) if isinstance(result, Run) else _back(shown)

    return view


@get_view("reports.view_snapshot")
@waits_for_report
def trust_chart(request: PageRequest, chart: str) -> HttpResponse:
    """Download one chart as SVG."""
    content = _content(request)
    drawn = _chart(request, content, chart)
    if drawn is None:
        raise Http404("There is no such chart, or no data for it yet.")
    response = render(request, "reports/chart.svg", {"chart": drawn}, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{chart}.svg"'
    return response


@get_view("reports.view_snapshot")
@waits_for_report
def trust_export(request: PageRequest, table: str, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download one table behind a judge's audit."""
    declared = table_of(TRUST, table)
    if declared.permission and not request.user.has_perm(declared.permission):
        raise PermissionDenied
    content = _content(request)
    chosen = str(request.GET.get("annotators", ""))
    annotators = chosen if chosen in set(Annotators) else Annotators.SKILLED.value
    shown = TrustShown(content, _calibration(request, content).target, annotators)
    subject = NamedSubject(content["name"], None)
    return table_download(request, declared, shown, format_name=format_name, subject=subject)


def _options(request: PageRequest) -> dict[str, str]:
    options = judge_options(request.POST if request.method == "POST" and "name" in request.POST else request.GET)
    if not judge_exists(options["name"]) and not tested_evaluators(options["name"]):
        raise Http404("No run has had a judge of this name.")
    return options


def _content(request: PageRequest, *, for_one_look: bool = False) -> ReportContent:
    options = _options(request)
    if for_one_look:
        options.pop("looks", None)
    return jobs.content_shown(JUDGE_TRUST, subject_id=0, options=options, at=timezone.now())


def _back(content: ReportContent) -> HttpResponseRedirect:
    """Return to the judge's page; to the opened test of a version that no other run has had yet."""
    tests = [] if judge_exists(content["name"]) else tested_evaluators(content["name"])
    keys = versions_of(tests)
    for test in tests:
        if keys[test.pk].key == content["version"]["key"]:
            return redirect("reports:golden-test", test.run.golden_run.golden_set_id, test.pk)
    return redirect(f"{reverse('reports:judge-detail')}?{_query(content)}")


def _calibration(request: PageRequest, content: ReportContent) -> Calibration:
    data = request.GET if "error" in request.GET else PERCENT
    return _calibrated(ThresholdForm(data, content=content), content)


def _calibrated(form: ThresholdForm, content: ReportContent) -> Calibration:
    return preview(content, form.target if form.is_valid() else ThresholdTarget(ALPHA, DELTA))


def _curve(calibration: Calibration) -> Chart | None:
    if not calibration.steps:
        return None
    return risk_coverage_chart(calibration)


def _chart(request: PageRequest, content: ReportContent, name: str) -> Chart | None:
    if name == "risk-coverage":
        return _curve(_calibration(request, content))
    if name == "reliability":
        bins = reliability_bins(content)
        return reliability_chart(bins) if bins else None
    drift = drift_of_version(content["version"]["key"]) if name == "drift" else None
    return drift_chart(drift) if drift is not None else None


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
        context |= {
            "content": report.content,
            "judges": judges,
            "agents": report.content.agents,
            "pairs": report.content.pairs,
        }
    return report_page(request, "judge_list", context)


def figures_of(judge: Judge) -> JsonDict | None:
    """Return the figures of each version of a judge for its own page; None where no run has used it."""
    names = names_in_runs(judge)
    if not names:
        return None
    report = jobs.obtain(JUDGES, subject_id=0, options={}, at=timezone.now())
    judges = report.content.judges if report.content is not None else []
    return {"report": report, "rows": [(row, _bars(row)) for row in judges if row.name in names]}


def newest_figures(listed: list[tuple[Judge, object, bool]]) -> dict[int, JsonDict]:
    """Return by judge the figures of its version in its newest run; judges without a run have none."""
    names = judge_ids_by_name([judge.pk for judge, _, _ in listed])
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
        context |= {
            "content": content,
            "row": content["row"],
            "bars": bars(content["row"]["histogram"], read_scale(content["row"]["scale"])),
            "people": square(content["people"]["labels"], content["people"]["counts"]),
            "debates": square(content["debates"]["labels"], content["debates"]["counts"]),
        }
    return report_page(request, "judge_detail", context)


def _bars(row: JudgeFigures) -> list[ReportContent]:
    return bars(row.histogram, read_scale(row.scale))


def judge_bias_context(options: Options) -> JsonDict:
    """Return what the fragment on the bias of one judge needs."""
    return _context(JUDGE_BIAS, options, "reports:judge-bias", "reports:bias-export", urlencode(options))


def debate_bias_context(options: Options, query: str) -> JsonDict:
    """Return what the fragment on the bias of those who judge pairs needs."""
    return _context(DEBATE_BIAS, options, "reports:debate-bias", "reports:debate-bias-export", query)


def _context(kind: ReportKind[ReportContent], options: Options, address: str, export: str, query: str) -> JsonDict:
    report = jobs.obtain(kind, subject_id=0, options=options, at=timezone.now())
    return {
        "bias_report": report,
        "bias": report.content,
        "bias_url": f"{reverse(address)}?{query}",
        "bias_export": export,
        "bias_query": f"?{query}",
        "paper_formats": REPORT_FORMATS,
    }


@get_view("reports.view_snapshot")
def judge_bias(request: PageRequest) -> HttpResponse:
    """Answer with the fragment that the judge's page polls; a whole page is the judge's."""
    if not request.htmx:
        return redirect(f"{reverse('reports:judge-detail')}?{request.GET.urlencode()}")
    options = judge_options(request.GET)
    if not judge_exists(options["name"]):
        raise Http404("No run has had a judge of this name.")
    return render(request, "reports/_bias.html", judge_bias_context(options))


@get_view("reports.view_snapshot")
def debate_bias(request: PageRequest) -> HttpResponse:
    """Answer with the fragment that the meta-evaluation polls; a whole page is the meta-evaluation."""
    if not request.htmx:
        return redirect(f"{reverse('reports:debate-report')}?{request.GET.urlencode()}")
    return render(
        request, "reports/_bias.html", debate_bias_context(debate_options(request.GET), request.GET.urlencode())
    )


def bias_view(
    kind: ReportKind[ReportContent], options_of: Callable[[QueryDict], JsonDict], name: str
) -> Callable[..., Download]:
    """Return the view that downloads the bias of a judge, of all, or of those who judged the pairs of debates."""

    @get_view("reports.view_snapshot")
    @waits_for_report
    def view(request: PageRequest, table: str, format_name: str) -> Download:
        if table != "bias":  # before the report is asked for: it may have to wait for a worker
            raise Http404("No such table.")
        options = options_of(request.GET)
        content = jobs.content_shown(kind, subject_id=0, options=options, at=timezone.now())
        subject = NamedSubject(options.get("name", name), None)
        return table_download(request, BIAS, content, format_name=format_name, subject=subject)

    return view


bias_export = bias_view(
    JUDGE_BIAS, lambda query: judge_options(query) if query.get("name") else LooksForm(query).options, "judges"
)
debate_bias_export = bias_view(DEBATE_BIAS, debate_options, "debates")


def versions_url(name: str) -> str:
    """Return the address of the two newest versions of a judge that scored one suite, the older first; "" if none."""
    evaluators = [evaluator for evaluator in judge_evaluators(name) if evaluator.done]
    versions = versions_of(evaluators)
    by_question: dict[tuple[int, str], dict[str, int]] = {}
    for evaluator in evaluators:
        newest = by_question.setdefault((evaluator.run.suite_id, evaluator.criterion), {})
        newest.setdefault(versions[evaluator.pk].key, evaluator.pk)
        if len(newest) > 1:
            newer, older = newest.values()
            return _compared("judges", evaluator.run.suite_id, older, newer)
    return ""


def compared_versions(judge: Judge) -> Facts | None:
    """Return the same for a judge as it is set up, which runs have under a name for each of its rubrics."""
    addresses = (address for name in names_in_runs(judge) if (address := versions_url(name)))
    return next(({"compare_url": address} for address in addresses), None)


def compared_run(run: Run) -> Facts:
    """Return a run and the address of its comparison with another one; "" if there is none."""
    return {"run": run, "compare_url": run_comparison_url(run)}


def run_comparison_url(run: Run) -> str:
    """Return the address of a run beside the newest other one of the same judge or rules; "" if there is none.

    A judge that another run had in another version is compared with that version.
    """
    graders = [grader for grader in graders_of(run.suite_id) if not grader.newest.is_baseline]
    scored = [
        (grader, evaluator) for grader in graders for evaluator in grader.evaluators if evaluator.run_id == run.pk
    ]
    for grader, _ in scored:
        question = grader.newest.name, grader.newest.criterion
        others = (row for row in graders if row is not grader and (row.newest.name, row.newest.criterion) == question)
        other = next(others, None)
        if other is not None:
            return _compared("judges", run.suite_id, other.key, grader.key)
    for grader, evaluator in scored:
        if len(grader.evaluators) > 1:
            other_run = next(row for row in grader.evaluators if row is not evaluator)
            return _compared("runs", run.suite_id, other_run.pk, evaluator.pk)
    return ""


def _compared(columns: str, suite_id: int, first: int, second: int) -> str:
    return f"{reverse('reports:results-detail', args=[suite_id])}?columns={columns}&grader={first}&grader={second}"


SETS_OFFERED = 300
PER_PAGE = 50
WORDS = {1: "A better", 0: "tie", -1: "B better", None: "no label"}


@get_view("reports.view_snapshot")
def debate_report(request: PageRequest) -> HttpResponse:
    """Show how debates end, and how single judges, baselines, scores and people compare with them."""
    options = debate_options(request.GET)
    context = _debates_context(DEBATES, options)
    content = context["report"].content
    if content is not None:
        names = column_names(content)
        axis = common_axis(
            [evaluator["example"] for evaluator in content["evaluators"] if evaluator["kind"] != "debate"]
        )
        context |= {
            "content": content,
            "columns": [(key, name) for key, name in names.items() if key != "debate"],
            "every_column": list(names.items()),
            "cells": debates_in_view.cell_rows(content),
            "rounds": debates_in_view.round_bars(content["rounds"]),
            "axis": axis,
            "wins": debates_in_view.win_rows(content),
            "reference": PEOPLE if content["reference"] == "people" else OUTCOME,
            "has_people": bool(content["people"]["labelled"]),
            "rule_words": RULES[OutcomeRule(content["rule"])],
            "basis": debate_basis(content),
            "reading_words": READINGS[VerdictReading(content["reading"])],
            "separated": sum(row["separated"] for row in content["pairs"]),
        }
    if not request.htmx and context.get("has_people"):  # the fragment on bias polls for itself
        context |= debate_bias_context(options, request.GET.urlencode())
    return report_page(request, "debate_report", context)


@get_view("reports.view_snapshot")
def debate_items(request: PageRequest) -> HttpResponse:
    """List the debates that a figure counts, those on which the two sides differ first."""
    figure = debates_behind_of(request.GET)
    options = debate_options(request.GET)
    report = jobs.obtain(DEBATES, subject_id=0, options=options, at=timezone.now(), with_rows=True)
    context: JsonDict = {"report": report, "figure": figure, "is_people": figure.against == PEOPLE}
    if report.content is None or not report.rows:
        return report_page(request, "debate_items", context)
    debates = debates_of_figure(unpack(report.rows), figure)
    page = Paginator(debates, PER_PAGE).get_page(request.GET.get("page"))
    names = column_names(report.content)
    keys = [key for key in (figure.evaluator, figure.other) if key]
    cases = dict(Debate.objects.filter(pk__in=[row.pk for row in page]).values_list("pk", "case__key"))
    context |= {
        "page_obj": page,
        "total": len(debates),
        "differing": sum(differs(row, figure) for row in debates),
        "evaluators": [names.get(key, key) for key in keys],
        "basis": debate_basis(report.content),
        "rows": [
            {
                "row": row,
                "case": cases.get(row.pk),
                "labels": [WORDS[row.labels.get(key)] for key in keys],
                "outcome": "no outcome" if row.outcome is None else WORDS[row.outcome],
                "people": WORDS[row.people],
                "differs": differs(row, figure),
            }
            for row in page
        ],
    }
    return report_page(request, "debate_items", context)


@get_view("reports.view_snapshot")
def arena(request: PageRequest) -> HttpResponse:
    """Show the Bradley-Terry ranking of systems from debates under one criterion."""
    context = _debates_context(ARENA, arena_options(request.GET))
    context["experiments"] = list(Experiment.objects.filter(kind=ExperimentKind.ROUND_ROBIN).order_by("-pk")[:100])
    content = context["report"].content
    if content is not None:
        figures = [row["strength"] for row in content["whole"]["rows"]]
        context |= {"content": content, "axis": common_axis(figures), "basis": debate_basis(content)}
    return report_page(request, "arena", context)


@get_view("reports.view_snapshot")
def robustness_list(request: PageRequest) -> HttpResponse:
    """Show the experiments in which judges read perturbed criteria."""
    experiments = Experiment.objects.filter(kind=ExperimentKind.ROBUSTNESS).order_by("-created_at", "-pk")
    return render(request, "reports/robustness_list.html", {"page_obj": page_of(request, experiments)})


@get_view("reports.view_snapshot")
def robustness_detail(request: PageRequest, experiment_id: int) -> HttpResponse:
    """Show what each perturbation does to each judge."""
    experiment = _robustness(experiment_id)
    report = jobs.obtain(ROBUSTNESS, subject_id=experiment.pk, options={}, at=timezone.now())
    context: JsonDict = {"report": report, "experiment": experiment, "formats": REPORT_FORMATS}
    context["command"] = report_command("robustness", experiment=experiment.pk)
    if report.content is not None:
        figures = [cell["agreement"] for row in report.content["judges"] for cell in row["cells"]]
        context |= {"content": report.content, "axis": common_axis(figures)}
    return report_page(request, "robustness_detail", context)


@get_view("reports.view_snapshot")
@waits_for_report
def robustness_export(
    request: PageRequest, experiment_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download agreement by perturbation."""
    experiment = _robustness(experiment_id)
    form, subject = RobustnessForm({"experiment": experiment.pk}), NamedSubject(experiment.name, experiment.pk)
    return report_download(request, ROBUSTNESS_REPORT, form, table=table, format_name=format_name, subject=subject)


def _debates_context(kind: ReportKind[ReportContent], options: JsonDict) -> JsonDict:
    """Return a report on debates under options, with what its page offers to choose from and its command."""
    sets = DebateSet.objects.filter(method=Method.DEBATE).order_by("name", "pk")
    chosen = options.get("sets", [])
    named = {name: value for name, value in options.items() if name != "sets"}
    return {
        "report": jobs.obtain(kind, subject_id=0, options=options, at=timezone.now()),
        "command": report_command(kind.name, set=chosen, **named),
        "sets": [(pk, name, pk in chosen) for pk, name in sets.values_list("pk", "name")[:SETS_OFFERED]],
        "chosen_sets": chosen,
        "options": options,
        "rules": [(rule.value, words) for rule, words in RULES.items()],
        "readings": [(reading.value, words) for reading, words in READINGS.items()],
        "formats": REPORT_FORMATS,
    }


def _robustness(experiment_id: int) -> Experiment:
    return get_object_or_404(Experiment, pk=experiment_id, kind=ExperimentKind.ROBUSTNESS)


RECENT_DAYS = (7, 30)


@get_view("judging.view_run")
def spend_report(request: PageRequest) -> HttpResponse:
    """Show the cost of a period by judge, day, run, endpoint or person, and what is left of budgets."""
    form, now = SpendForm(request.GET), timezone.now()
    report = jobs.obtain(SPEND, subject_id=0, options={}, at=now)
    context: JsonDict = {"form": form, "report": report, "recent": _recent(timezone.localdate(now))}
    if report.content is not None and form.is_valid():
        context |= _figures(request, form, SpendShown(report.content, form.period, open_budgets()), now)
    return report_page(request, "spend_report", context)


def _figures(request: PageRequest, form: SpendForm, shown: SpendShown, at: datetime) -> JsonDict:
    sums, sort = shown.sums(form.chosen_group), request.GET.get("sort", "")
    column, is_falling = sort.removeprefix("-"), sort.startswith("-")
    keys = sums.ordered(column, is_falling=is_falling) if column in SORTED_BY else sums.ordered()
    page = Paginator(keys, PER_PAGE).get_page(request.GET.get("page"))
    return {
        "total": shown.cells.total(),
        "is_empty": not shown.report.cells["days"],
        "group": form.chosen_group,
        "page_obj": page,
        "table": BY_GROUP[form.chosen_group],
        "lines": sums.lines(list(page.object_list)),
        "chart": days_chart(shown.cells),
        "budgets": shown.budgets,
        "day_uses": limited_uses(at=at),
        "day_ends": next_day(at),
        "formats": REPORT_FORMATS,
        "command": report_command("spend", **{"from": form.data.get("from"), "to": form.data.get("to")}),
    }


def _recent(today: date) -> list[tuple[str, str]]:
    """Return periods that end today, each with the day from which it counts."""
    return [(f"Last {days} days", (today - timedelta(days=days - 1)).isoformat()) for days in RECENT_DAYS]
