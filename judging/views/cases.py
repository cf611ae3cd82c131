"""The page of a case."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evalsite.base.http import PageRequest, whole_number
from judging.models import Case
from judging.selectors import benchmarks, responses
from judging.specs.rubrics.outlines import outline_of_data, outline_of_grading, outline_of_tree


@require_safe
@permission_required("judging.view_benchmark", raise_exception=True)
def case_detail(request: PageRequest, case_id: int) -> HttpResponse:
    """What is asked, how answers are graded, and the answers side by side."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    attempt = whole_number(request.GET.get("attempt", "")) or 0
    wanted = [number for text in request.GET.getlist("system") if (number := whole_number(text)) is not None]
    grading = outline_of_grading(case.grading)
    items = responses.rubric_items_for(case)
    answers = responses.answers_to(prompt=case.prompt, attempt=attempt, system_ids=wanted)
    context = {
        "case": case,
        "benchmark": case.prompt.benchmark,
        "place": benchmarks.neighbours_of(case=case, suite_id=whole_number(request.GET.get("suite", ""))),
        "grading": grading if grading.children else None,
        "handlers": case.handlers,
        "metadata": outline_of_data("", case.metadata).children,
        "rubric_items": [(item, outline_of_tree(item.tree)) for item in items],
        "answers": answers,
        "shown_ids": {answer.response.system_id for answer in answers.shown},
        "attempt": attempt,
        "attempts": range(min(answers.attempts, 100)),
        "revisions": benchmarks.other_revisions(case)[:20],
    }
    return render(request, "judging/case_detail.html", context)
