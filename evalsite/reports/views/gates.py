"""The page of gates, and their badges."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evalsite.base.http import PageRequest
from evalsite.base.json_types import JsonDict
from evalsite.reports.models import StoredGate
from evalsite.reports.services.gates import RuleStatus
from judging.models import SCORED_KINDS, Run

PAGE = "reports/gate_list.html"
COLOURS = {RuleStatus.HELD: "#1a7f37", RuleStatus.NOT_HELD: "#b42318", RuleStatus.TOO_FEW: "#57606a"}


def gates_context(request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page shows beside its form."""
    site = request.build_absolute_uri("/").rstrip("/")
    return {"gates": StoredGate.objects.select_related("suite__benchmark").order_by("-pk"), "site": site}


def gates_of_run(run: Run) -> JsonDict | None:
    """Return the gates of a run's graders and judges, and what a new one starts with; None for runs without scores."""
    if run.kind not in SCORED_KINDS or run.suite_id is None:
        return None
    evaluators = sorted(run.evaluators.all(), key=lambda row: (row.is_baseline, row.position))
    systems = [system.name for system in run.systems.all()]
    rule = f"{systems[0]}=80%" if systems else "SYSTEM=80%"
    first = {"suite": run.suite_id, "evaluator": evaluators[0].name if evaluators else "", "rule": rule}
    gates = StoredGate.objects.filter(suite=run.suite_id, evaluator__in=[row.name for row in evaluators]).order_by(
        "-pk"
    )
    return {"gates": gates, "offered": urlencode(first), "example": rule}


@login_not_required
@require_safe
@never_cache
def gate_badge(_request: HttpRequest, badge: str) -> HttpResponse:
    """Return the picture that says whether a gate holds, and nothing else of the site."""
    verdict = RuleStatus(get_object_or_404(StoredGate, badge=badge).verdict)
    context = {"verdict": verdict, "colour": COLOURS[verdict]}
    return render(None, "reports/badge.svg", context, content_type="image/svg+xml")
