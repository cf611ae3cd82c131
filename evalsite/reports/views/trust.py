"""How far a judge can be trusted: certificate, threshold, audit and anchors of one version."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from evalsite.base.http import PageRequest
from evalsite.base.json_types import JsonDict
from evalsite.reports import exports, jobs
from evalsite.reports.forms import AnchorForm, ThresholdForm, judge_options
from evalsite.reports.selectors.judges.certificates import certificate_state, threshold_state
from evalsite.reports.selectors.judges.judge_rows import judge_exists
from evalsite.reports.selectors.options import Options
from evalsite.reports.services import shown_rows
from evalsite.reports.services.charts import Chart
from evalsite.reports.services.judges.anchor_drift import anchors_for, drift_of_version
from evalsite.reports.services.judges.calibration import (
    Calibration,
    NotCalibrated,
    NotHeld,
    calibrate,
    certify,
    lacks_of,
    save_calibration,
    version_of_payload,
)
from evalsite.reports.services.judges.judge_trust import JUDGE_TRUST, evaluators_of_version, reliability_bins
from evalsite.reports.services.judges.trust_charts import drift_chart, reliability_chart, risk_coverage_chart
from evalsite.reports.services.judges.trust_tables import trust_tables
from evalsite.reports.services.payloads import Payload
from evalsite.reports.views.pages import download_paper, report_page, waits_for_report
from evalsite.review.models import AnchorSet
from evalsite.review.services.anchors import ask_anchors, make_anchor_set
from evalsite.review.services.thresholds import remove_threshold
from evalsite.review.states import ReviewRefused
from judging.jobs import launch_run
from judging.services.runs.run_plans import RunNotPossible
from judging.statistics.coefficients.alternative_annotator import Annotators

STEPS_SHOWN = 100
PERCENT = {"error": 10.0, "certainty": 90.0}


def trust_context(options: Options) -> JsonDict:
    """Return what the fragment on certificate, threshold, audit and anchors of a judge needs."""
    report = jobs.obtain(JUDGE_TRUST, subject_id=0, options=options, at=timezone.now())
    context: JsonDict = {
        "name": options["name"],
        "trust_report": report,
        "trust_query": urlencode(options),
        "formats": exports.PAPER_FORMATS,
    }
    if report.payload is None:
        return context
    payload = report.payload
    shown = version_of_payload(payload)
    drift = drift_of_version(shown.key)
    bins = reliability_bins(payload)
    labels = [label["text"] for label in payload["labels"]]
    return context | {
        "trust": payload,
        "query": _query(payload),
        "certificate": certificate_state(name=payload["name"], version=shown, lacks=lacks_of(payload)),
        "threshold": threshold_state(name=payload["name"], version=shown),
        "tests": [payload["tests"][annotators.value] | {"annotators": annotators.value} for annotators in Annotators],
        "confusion": shown_rows.square(labels, payload["confusion"]),
        "reliability": reliability_chart(bins) if bins else None,
        "drift": drift,
        "drift_chart": drift_chart(drift) if drift is not None else None,
        "anchor_form": AnchorForm(),
        "annotators": list(Annotators),
        "default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD,
    }


def _query(payload: Payload) -> str:
    looks = {"looks": payload["looks"]} if payload["looks"] else {}
    return urlencode({"name": payload["name"], "version": payload["version"]["key"]} | looks)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def judge_trust(request: PageRequest) -> HttpResponse:
    """Answer with the fragment that the judge's page polls; a whole page is the judge's."""
    if not request.htmx:
        return redirect(f"{reverse('reports:judge-detail')}?{request.GET.urlencode()}")
    return render(request, "reports/_judge_trust.html", trust_context(_asked(request)))


@require_http_methods(["GET", "POST"])
@permission_required(("reports.view_snapshot", "review.change_queue"), raise_exception=True)
@vary_on_headers("HX-Request")
@waits_for_report
def judge_threshold(request: PageRequest) -> HttpResponse:
    """Show what a wanted error rate makes of the risk-coverage curve, and save the threshold."""
    payload = _payload(request)
    data = request.POST if request.method == "POST" else request.GET if "error" in request.GET else PERCENT
    form = ThresholdForm(data)
    calibration = calibrate(payload, alpha=form.alpha, delta=form.delta) if form.is_valid() else calibrate(payload)
    if request.method == "POST" and "look" not in request.POST and form.is_valid():
        try:
            saved = save_calibration(payload, calibration, actor=request.user, at=timezone.now())
        except NotCalibrated as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"Saved: the next runs send verdicts below {saved.threshold:.2f} to people")
            return _back(payload)
    state = threshold_state(name=payload["name"], version=version_of_payload(payload))
    context = {
        "payload": payload,
        "query": _query(payload),
        "form": form,
        "calibration": calibration,
        "threshold": state,
        "chart": _curve(calibration),
        "curve_query": f"{_query(payload)}&{urlencode({name: form[name].value() for name in form.fields})}",
        "steps": calibration.steps[:STEPS_SHOWN],
        "default_threshold": settings.REVIEW_CONFIDENCE_THRESHOLD,
        "formats": exports.PAPER_FORMATS,
    }
    return report_page(request, "judge_threshold", context)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
@waits_for_report
def threshold_remove(request: PageRequest) -> HttpResponse:
    """Route the next runs by the site's default again."""
    payload = _payload(request)
    state = threshold_state(name=payload["name"], version=version_of_payload(payload))
    if state.saved is not None:
        remove_threshold(saved=state.saved, actor=request.user)
        messages.success(request, "Removed: the next runs are routed by the site's default")
    return _back(payload)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
@waits_for_report
def certificate_issue(request: PageRequest) -> HttpResponse:
    """Hold the alternative annotator test and store its outcome."""
    payload = _payload(request, for_one_look=True)
    chosen = str(request.POST.get("annotators", ""))
    if chosen not in set(Annotators):
        raise Http404("There are experts, skilled annotators and a crowd.")
    try:
        certify(payload, annotators=Annotators(chosen), actor=request.user, at=timezone.now())
    except NotHeld as refusal:
        messages.error(request, str(refusal))
    return _back(payload)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
@waits_for_report
def anchors_make(request: PageRequest) -> HttpResponse:
    """Make an anchor set of the version's audited cases."""
    payload = _payload(request)
    evaluator, anchors = anchors_for(evaluators_of_version(payload["name"], payload["version"]["key"]))
    try:
        make_anchor_set(evaluator=evaluator, anchors=anchors, actor=request.user, at=timezone.now())
    except ReviewRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"An anchor set of {len(anchors)} responses was made")
    return _back(payload)


@require_POST
@permission_required("judging.add_run", raise_exception=True)
@waits_for_report
def anchors_ask(request: PageRequest) -> HttpResponse:
    """Start a run that asks the judge about its anchors again."""
    payload = _payload(request)
    form = AnchorForm(request.POST)
    newest = AnchorSet.objects.filter(version_key=payload["version"]["key"]).order_by("-made_at", "-pk").first()
    if newest is None:
        raise Http404("This version has no anchor set.")
    if not form.is_valid():
        messages.error(request, "A budget is a number of US dollars above zero.")
        return _back(payload)
    try:
        with transaction.atomic():
            budget = form.cleaned_data["budget"]
            run = ask_anchors(anchor_set=newest, budget=budget, actor=request.user, at=timezone.now())
            launch_run(run_id=run.pk, waiting=run.total)
    except (ReviewRefused, RunNotPossible) as refusal:
        messages.error(request, str(refusal))
        return _back(payload)
    return redirect(run)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@waits_for_report
def trust_chart(request: PageRequest, chart: str) -> HttpResponse:
    """Download one chart as SVG."""
    payload = _payload(request)
    drawn = _chart(request, payload, chart)
    if drawn is None:
        raise Http404("There is no such chart, or nothing to draw yet.")
    response = render(request, "reports/chart.svg", {"chart": drawn}, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{chart}.svg"'
    return response


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@waits_for_report
def trust_export(request: PageRequest, table: str, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download one table behind a judge's audit."""
    payload = _payload(request)
    calibration = _calibration(request, payload)
    chosen = str(request.GET.get("annotators", ""))
    annotators = chosen if chosen in set(Annotators) else Annotators.SKILLED.value
    drift = drift_of_version(payload["version"]["key"])
    tables = trust_tables(payload, steps=calibration.steps, drift=drift, annotators=annotators)
    return download_paper(
        request, tables, table=table, format_name=format_name, subject=payload["name"], subject_id=None
    )


def _asked(request: PageRequest) -> JsonDict:
    options = judge_options(request.POST if request.method == "POST" and "name" in request.POST else request.GET)
    if not judge_exists(options["name"]):
        raise Http404("No run has had a judge of this name.")
    return options


def _payload(request: PageRequest, *, for_one_look: bool = False) -> Payload:
    options = _asked(request)
    if for_one_look:  # a certificate is issued once
        options.pop("looks", None)
    return jobs.payload_shown(JUDGE_TRUST, subject_id=0, options=options, at=timezone.now())


def _back(payload: Payload) -> HttpResponseRedirect:
    return redirect(f"{reverse('reports:judge-detail')}?{_query(payload)}")


def _calibration(request: PageRequest, payload: Payload) -> Calibration:
    form = ThresholdForm(request.GET if "error" in request.GET else PERCENT)
    return calibrate(payload, alpha=form.alpha, delta=form.delta) if form.is_valid() else calibrate(payload)


def _curve(calibration: Calibration) -> Chart | None:
    if not calibration.steps:
        return None
    return risk_coverage_chart(
        calibration.steps, calibration.decision, alpha=calibration.alpha, delta=calibration.delta
    )


def _chart(request: PageRequest, payload: Payload, name: str) -> Chart | None:
    if name == "risk-coverage":
        return _curve(_calibration(request, payload))
    if name == "reliability":
        bins = reliability_bins(payload)
        return reliability_chart(bins) if bins else None
    drift = drift_of_version(payload["version"]["key"]) if name == "drift" else None
    return drift_chart(drift) if drift is not None else None
