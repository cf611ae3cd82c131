"""Pages on which versions of judges are run on development, and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from evalsite.base.http import PageRequest, page_of, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.reports.exports import PAPER_FORMATS
from evalsite.reports.forms import GoldenRunForm
from evalsite.reports.services.golden.golden_comparisons import compare_versions
from evalsite.reports.views.golden.golden_sets import golden_set_of
from evalsite.review.models import GoldenItem, GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_texts import golden_texts, with_texts
from evalsite.review.selectors.golden.golden_verdicts import GoldenVersion, golden_answers, golden_versions
from evalsite.review.services.golden.golden_runs import (
    GoldenLimits,
    development_choices,
    golden_plan,
    run_on_development,
)
from evalsite.review.states import ReviewRefused
from judging.jobs import launch_run
from judging.services.runs.estimates import estimate_run
from judging.services.runs.run_plans import RunNotPossible, RunPlan, check_plan

PER_PAGE = 25


@require_http_methods(["GET", "POST"])
@permission_required("judging.add_run", raise_exception=True)
def golden_run(request: PageRequest, set_id: int) -> HttpResponse:
    """Show what a run of judges on development would cost, then start it."""
    golden_set = golden_set_of(set_id)
    form = GoldenRunForm(request.POST or None, golden_set=golden_set)
    context: JsonDict = {"golden_set": golden_set, "form": form}
    if form.is_valid():
        try:
            plan = _plan(golden_set, form)
            check_plan(plan)
            if "look" in request.POST:
                context["estimate"] = estimate_run(plan=plan, threads=settings.CALL_THREADS, at=timezone.now())
            else:
                with transaction.atomic():
                    run = run_on_development(golden_set=golden_set, plan=plan, actor=request.user, at=timezone.now())
                    launch_run(run_id=run.pk, waiting=run.total)
                return redirect(golden_set)
        except (ReviewRefused, RunNotPossible) as refusal:
            form.add_error(None, str(refusal))
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "reports/golden_run.html", context, status=status)


def _plan(golden_set: GoldenSet, form: GoldenRunForm) -> RunPlan:
    data = form.cleaned_data
    chosen = development_choices(golden_set, list(data["judges"]), data["rubric"] or golden_set.rubric)
    limits = GoldenLimits(data["budget"], data["fresh"])
    return golden_plan(golden_set=golden_set, choices=chosen, part=GoldenPart.DEVELOPMENT, limits=limits)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def golden_compare(request: PageRequest, set_id: int) -> HttpResponse:
    """Compare two versions on development: how agreement changed, and every response on which they differ."""
    golden_set = golden_set_of(set_id)
    chosen = compared_versions(golden_set, request.GET)
    before, after = chosen.before, chosen.after
    found = compare_versions(golden_set, before.evaluator, after.evaluator)
    flips = {flip.before.golden_id: flip for flip in found.flips}
    page = page_of(request, GoldenItem.objects.filter(pk__in=flips).order_by("pk"), per_page=PER_PAGE)
    shown = [flips[item.pk] for item in page.object_list]
    sides = ({one.before.golden_id: one.before for one in shown}, {one.after.golden_id: one.after for one in shown})
    context = {
        "golden_set": golden_set,
        "versions": chosen.versions,
        "formats": PAPER_FORMATS,
        "query": f"?before={before.evaluator.pk}&after={after.evaluator.pk}",
        "before": before,
        "after": after,
        "comparison": found,
        "page_obj": page,
        "rows": golden_texts(with_texts(sides[0]), sides),
    }
    return render(request, "reports/golden_compare.html", context)


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def golden_disagreements(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """List the responses of development on which one version and people differ."""
    golden_set = golden_set_of(set_id)
    version = version_of_evaluator(golden_set, evaluator_id)
    answers = golden_answers(golden_set, GoldenPart.DEVELOPMENT, [version.evaluator])[evaluator_id]
    differing = {one.golden_id: one for one in answers if not one.agrees}
    page = page_of(request, GoldenItem.objects.filter(pk__in=differing).order_by("pk"), per_page=PER_PAGE)
    rows = golden_texts(with_texts(item.pk for item in page.object_list), [differing])
    context = {
        "golden_set": golden_set,
        "version": version,
        "page_obj": page,
        "rows": rows,
        "responses": len(answers),
    }
    return render(request, "reports/golden_disagreements.html", context)


def version_of_evaluator(golden_set: GoldenSet, evaluator_id: int) -> GoldenVersion:
    """Return the version on development whose newest run has this evaluator. Raises: Http404."""
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    found = next((one for one in versions if one.evaluator.pk == evaluator_id), None)
    if found is None:
        raise Http404("This judge has no finished run on the development part of the golden set.")
    return found


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """The versions on development, the newest first, and the two that are compared."""

    versions: list[GoldenVersion]
    before: GoldenVersion
    after: GoldenVersion


def compared_versions(golden_set: GoldenSet, query: Mapping[str, str]) -> ComparedVersions:
    """Return the two versions that an address names by their evaluators; the newest two by default. Raises: Http404."""
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    if len(versions) < 2:
        raise Http404("Two versions have to be run on development first.")
    known = {one.evaluator.pk: one for one in versions}
    before = known.get(whole_number(query.get("before", "")) or 0, versions[1])
    after = known.get(whole_number(query.get("after", "")) or 0, versions[0])
    return ComparedVersions(versions, before, after)
