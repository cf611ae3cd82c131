"""The page of a case."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evalsite.base.http import PageRequest, whole_number
from judging.models import Case, Suite
from judging.selectors import benchmarks, responses
from judging.specs.rubrics.outlines import outline_of_data, outline_of_grading, outline_of_tree


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case as the parts of its page know it; `suite` is the one that the page shows it in."""

    case: Case
    suite: Suite | None
    request: PageRequest


@require_safe
@permission_required("judging.view_benchmark", raise_exception=True)
def case_detail(request: PageRequest, case_id: int) -> HttpResponse:
    """What is asked, the responses with their scores, and how they are graded."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    grading = outline_of_grading(case.grading)
    items = responses.rubric_items_for(case)
    place = benchmarks.neighbours_of(case=case, suite_id=whole_number(request.GET.get("suite", "")))
    context = {
        "case": case,
        "benchmark": case.prompt.benchmark,
        "place": place,
        "shown": ShownCase(case, place.suite if place is not None else None, request),
        "grading": grading if grading.children else None,
        "handlers": case.handlers,
        "metadata": outline_of_data("", case.metadata).children,
        "rubric_items": [(item, outline_of_tree(item.tree)) for item in items],
        "revisions": benchmarks.other_revisions(case)[:20],
    }
    return render(request, "judging/case_detail.html", context)
