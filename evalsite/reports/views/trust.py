"""How far a judge can be trusted: certificate, threshold, audit and anchors of one version."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.audit import NamedSubject
from evalsite.base.actions.declarations import Action, ActionCall
from evalsite.base.actions.entries import perform
from evalsite.base.actions.pages import action_page
from evalsite.base.http import PageRequest, form_view, get_view
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused
from evalsite.reports import jobs
from evalsite.reports.actions.judge_versions import set_threshold
from evalsite.reports.actions.trust_reports import REPORT, TrustShown
from evalsite.reports.forms import AnchorForm, ThresholdForm
from evalsite.reports.report_choices import judge_options
from evalsite.reports.selectors.judges.certificates import certificate_state, threshold_state
from evalsite.reports.selectors.judges.golden_tests import tested_evaluators
from evalsite.reports.selectors.judges.judge_rows import judge_exists
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.charts import Chart, square
from evalsite.reports.services.judges.anchor_drift import drift_of_version
from evalsite.reports.services.judges.calibration import (
    Calibration,
    annotations_per_thousand,
    lacks_of,
    preview,
    version_of_content,
)
from evalsite.reports.services.judges.judge_trust import JUDGE_TRUST, reliability_bins
from evalsite.reports.services.judges.trust_charts import drift_chart, reliability_chart, risk_coverage_chart
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.views.pages import (
    PAPER_FORMATS,
    Download,
    report_page,
    table_download,
    table_of,
    waits_for_report,
)
from evalsite.review.routing import ThresholdTarget
from judging.models import Run
from judging.selectors.judges import versions_of
from judging.statistics.coefficients.alternative_annotator import Annotators
from judging.statistics.risk_coverage import ALPHA, DELTA

STEPS_SHOWN = 100
PERCENT = {"error": 10.0, "certainty": 90.0}


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
        "certificate": certificate_state(name=content["name"], version=shown, lacks=lacks_of(content)),
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
    declared = table_of(REPORT, table)
    if declared.permission and not request.user.has_perm(declared.permission):
        raise PermissionDenied
    content = _content(request)
    chosen = str(request.GET.get("annotators", ""))
    annotators = chosen if chosen in set(Annotators) else Annotators.SKILLED.value
    shown = TrustShown(content, _calibration(request, content).target, annotators)
    subject = NamedSubject(content["name"], None)
    return table_download(request, declared, shown, format_name=format_name, subject=subject)


def _options(request: PageRequest) -> JsonDict:
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
