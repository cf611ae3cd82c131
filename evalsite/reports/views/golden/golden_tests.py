"""The test part of a golden set: opened for one chosen version, with what the version gets from it."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evalsite.base.http import PageRequest, refusals_shown
from evalsite.reports.forms import AnchorForm
from evalsite.reports.views.golden.golden_sets import golden_set_of
from evalsite.reports.views.golden.golden_versions import version_of_evaluator
from evalsite.reports.views.trust import trust_context
from evalsite.review.models import GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.services.golden.chosen_versions import differences_from, use_version
from evalsite.review.services.golden.golden_runs import GoldenLimits, golden_plan, open_test, version_choice
from evalsite.review.states import ReviewRefused
from judging.jobs import launch_run
from judging.models import RunEvaluator
from judging.selectors.judges.judge_versions import versions_of
from judging.services.runs.estimates import estimate_run
from judging.services.runs.run_plans import RunNotPossible
from judging.states import RunStatus


@require_http_methods(["GET", "POST"])
@permission_required(("review.change_queue", "judging.add_run"), raise_exception=True)
def golden_open(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """Say what it costs and means to open the test for a version, then open it."""
    golden_set = golden_set_of(set_id)
    version = version_of_evaluator(golden_set, evaluator_id)
    form = AnchorForm(request.POST or None)
    if form.is_valid():
        limits = GoldenLimits(form.cleaned_data["budget"])
        try:
            with transaction.atomic():
                run = open_test(
                    golden_set=golden_set,
                    evaluator=version.evaluator,
                    limits=limits,
                    actor=request.user,
                    at=timezone.now(),
                )
                launch_run(run_id=run.pk, waiting=run.total)
            messages.success(request, "The test is opened, which is recorded.")
            return redirect(golden_set)
        except (ReviewRefused, RunNotPossible) as refusal:
            form.add_error(None, str(refusal))
    plan = golden_plan(
        golden_set=golden_set,
        choices=[version_choice(version.evaluator)],
        part=GoldenPart.TEST,
        limits=GoldenLimits(),
    )
    context = {
        "golden_set": golden_set,
        "version": version,
        "form": form,
        "estimate": estimate_run(plan=plan, threads=settings.CALL_THREADS, at=timezone.now()),
        "opened": golden_set.runs.filter(part=GoldenPart.TEST).count(),
    }
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "reports/golden_open.html", context, status=status)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def golden_test(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """Show what the opened test says of a version: its figures, certificate and threshold."""
    golden_set = golden_set_of(set_id)
    evaluator = _tested(golden_set, evaluator_id)
    key = versions_of([evaluator])[evaluator.pk].key
    opened = golden_set.runs.filter(part=GoldenPart.TEST, pk__lt=evaluator.run.golden_run.pk).count()
    context = {
        "golden_set": golden_set,
        "evaluator": evaluator,
        "version_key": key,
        "opened_before": opened,
        "golden_run": evaluator.run.golden_run,
        "differences": differences_from(evaluator) if evaluator.judge is not None else (),
    }
    context |= trust_context({"name": evaluator.name, "version": key})
    return render(request, "reports/golden_test.html", context)


@require_POST
@permission_required(("review.change_queue", "judging.add_judge"), raise_exception=True)
def golden_use(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """Set the judge to a version, so that the next runs use it."""
    golden_set = golden_set_of(set_id)
    evaluator = _tested(golden_set, evaluator_id)
    with refusals_shown(request, ReviewRefused):
        judge = use_version(evaluator=evaluator, actor=request.user)
        messages.success(request, f"{judge.name} is this version now; the next runs use it.")
    return redirect("reports:golden-test", golden_set.pk, evaluator.pk)


def _tested(golden_set: GoldenSet, evaluator_id: int) -> RunEvaluator:
    """Return the evaluator of a finished test run of the set. Raises: Http404."""
    rows = RunEvaluator.objects.filter(
        run__golden_run__golden_set=golden_set, run__golden_run__part=GoldenPart.TEST, run__status=RunStatus.FINISHED
    )
    return get_object_or_404(rows.select_related("run__golden_run__started_by", "judge__endpoint"), pk=evaluator_id)
