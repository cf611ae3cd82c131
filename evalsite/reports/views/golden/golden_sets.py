"""Pages of golden sets: the list, a new one, and one with its versions."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods
from django.views.decorators.vary import vary_on_headers

from evalsite.base.http import PageRequest, page_of
from evalsite.base.json_types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.exports import PAPER_FORMATS
from evalsite.reports.forms import GoldenSetForm
from evalsite.reports.services.golden.golden_figures import GOLDEN
from evalsite.reports.views.pages import report_page
from evalsite.review.models import GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_labels import GoldenMaterial, golden_material, golden_questions
from evalsite.review.selectors.golden.golden_parts import listed_sets, part_counts, rare_labels
from evalsite.review.services.golden.golden_sets import (
    FEWEST_FOR_KAPPA,
    FEWEST_GOLDEN,
    make_golden_set,
    why_too_few,
)
from evalsite.review.states import ReviewRefused
from judging.states import RunStatus

MAX_RULES = 50


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
def golden_list(request: PageRequest) -> HttpResponse:
    """List the golden sets."""
    context = {"page_obj": page_of(request, listed_sets()), "fewest": FEWEST_GOLDEN}
    return render(request, "reports/golden_list.html", context)


@require_http_methods(["GET", "POST"])
@permission_required("review.change_queue", raise_exception=True)
def golden_create(request: PageRequest) -> HttpResponse:
    """Count what a golden set would hold, then make it."""
    questions = golden_questions()
    form = GoldenSetForm(request.POST or None, questions=questions)
    context: JsonDict = {"form": form, "fewest": FEWEST_GOLDEN, "kappa_needs": FEWEST_FOR_KAPPA, "any": questions}
    if form.is_valid():
        data = form.cleaned_data
        evaluator = next(question for question in questions if question.pk == data["question"])
        material = golden_material(evaluator, with_referred=data["with_referred"])
        if "look" not in request.POST:
            try:
                golden_set = make_golden_set(
                    name=data["name"],
                    seed=data["seed"],
                    evaluator=evaluator,
                    material=material,
                    actor=request.user,
                    at=timezone.now(),
                )
                messages.success(request, f"{golden_set.name} is created: {material.cases:,} cases.")
                return redirect(golden_set)
            except ReviewRefused as refusal:
                form.add_error(None, str(refusal))
        context |= _preview(material)
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "reports/golden_create.html", context, status=status)


def _preview(material: GoldenMaterial) -> JsonDict:
    texts = {label.value: label.text for label in material.scale}
    counts = [(texts.get(value, value), n) for value, n in material.counts.items()]
    return {"material": material, "counts": counts, "lacks": why_too_few(material)}


@require_GET
@permission_required("reports.view_snapshot", raise_exception=True)
@vary_on_headers("HX-Request")
def golden_detail(request: PageRequest, set_id: int) -> HttpResponse:
    """Show a golden set: its parts, the versions on development, and on the test those that it was opened for."""
    golden_set = golden_set_of(set_id)
    report = jobs.obtain(GOLDEN, subject_id=set_id, options={}, at=timezone.now())
    counts = part_counts(golden_set)
    runs = list(golden_set.runs.select_related("run", "started_by").order_by("-pk"))
    context: JsonDict = {
        "golden_set": golden_set,
        "report": report,
        "content": report.content,
        "formats": PAPER_FORMATS,
        "parts": counts,
        "rare": rare_labels(counts),
        "has_kappa": sum(part.cases for part in counts) >= FEWEST_FOR_KAPPA,
        "kappa_needs": FEWEST_FOR_KAPPA,
        "unfinished": [
            golden_run for golden_run in runs if golden_run.run.status not in (RunStatus.FINISHED, RunStatus.CANCELLED)
        ],
        "opened": [golden_run for golden_run in reversed(runs) if golden_run.part == GoldenPart.TEST],
        "opened_keys": {golden_run.version_key for golden_run in runs if golden_run.run.status != RunStatus.CANCELLED},
        "rules": golden_set.rules.select_related("written_by").order_by("-pk")[:MAX_RULES],
        "proposals": golden_set.proposals.select_related("judge", "endpoint").order_by("-pk")[:MAX_RULES],
    }
    return report_page(request, "golden_detail", context)


def golden_set_of(set_id: int) -> GoldenSet:
    """Return a golden set with its suite and rubric. Raises: Http404."""
    return get_object_or_404(GoldenSet.objects.select_related("suite__benchmark", "rubric", "made_by"), pk=set_id)
