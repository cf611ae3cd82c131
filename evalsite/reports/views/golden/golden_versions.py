"""Pages on which versions of judges are run on development and compared, and their downloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view, page_of, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.exports import PAPER_FORMATS
from evalsite.reports.forms import GoldenRunForm
from evalsite.reports.services.golden.golden_comparisons import compare_versions
from evalsite.reports.services.golden.golden_figures import GOLDEN
from evalsite.reports.services.golden.golden_tables import COMPARISON_TABLES, comparison_tables, version_tables
from evalsite.reports.views.golden.golden_sets import golden_set_of
from evalsite.reports.views.pages import download_paper, waits_for_report
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
    comparison = compare_versions(golden_set, before.evaluator, after.evaluator)
    flips = {flip.before.golden_id: flip for flip in comparison.flips}
    page = page_of(request, GoldenItem.objects.filter(pk__in=flips).order_by("pk"), per_page=PER_PAGE)
    shown = [flips[item.pk] for item in page.object_list]
    sides = (
        {flip.before.golden_id: flip.before for flip in shown},
        {flip.after.golden_id: flip.after for flip in shown},
    )
    context = {
        "golden_set": golden_set,
        "versions": chosen.versions,
        "formats": PAPER_FORMATS,
        "query": f"?before={before.evaluator.pk}&after={after.evaluator.pk}",
        "before": before,
        "after": after,
        "comparison": comparison,
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
    differing = {answer.golden_id: answer for answer in answers if not answer.agrees}
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


@get_view("reports.view_snapshot")
@waits_for_report
def golden_export(
    request: PageRequest, set_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download the versions of a part, or how two of them differ on development. Raises: Http404."""
    golden_set = golden_set_of(set_id)
    if table in COMPARISON_TABLES:
        chosen = compared_versions(golden_set, request.GET)
        comparison = compare_versions(golden_set, chosen.before.evaluator, chosen.after.evaluator)
        tables = comparison_tables(golden_set, chosen.before, chosen.after, comparison)
    else:
        content = jobs.content_shown(GOLDEN, subject_id=set_id, options={}, at=timezone.now())
        tables = version_tables(golden_set, content)
    return download_paper(
        request, tables, table=table, format_name=format_name, subject=NamedSubject(golden_set.name, set_id)
    )


def version_of_evaluator(golden_set: GoldenSet, evaluator_id: int) -> GoldenVersion:
    """Return the version on development whose newest run has this evaluator. Raises: Http404."""
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    chosen = next((version for version in versions if version.evaluator.pk == evaluator_id), None)
    if chosen is None:
        raise Http404("This judge has no finished run on the development part of the golden set.")
    return chosen


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
    by_evaluator = {version.evaluator.pk: version for version in versions}
    before = by_evaluator.get(whole_number(query.get("before", "")) or 0, versions[1])
    after = by_evaluator.get(whole_number(query.get("after", "")) or 0, versions[0])
    return ComparedVersions(versions, before, after)
