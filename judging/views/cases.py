"""The page of a case, and the images that pages show."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import condition, require_safe

from evalsite.base.http import PageRequest, get_view, whole_number
from judging.models import Case, Picture, Suite
from judging.selectors import benchmarks, responses
from judging.specs.rubrics.outlines import outline_of_data, outline_of_grading, outline_of_tree

YEAR_SECONDS = 31_536_000


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case as the parts of its page know it; `suite` is the one that the page shows it in."""

    case: Case
    suite: Suite | None
    request: PageRequest


@get_view("judging.view_benchmark")
def case_detail(request: PageRequest, case_id: int) -> HttpResponse:
    """What is asked, the responses with their scores, and how they are graded."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    grading = outline_of_grading(case.grading)
    items = responses.rubric_items_for(case)
    neighbours = benchmarks.neighbours_of(case=case, suite_id=whole_number(request.GET.get("suite", "")))
    context = {
        "case": case,
        "benchmark": case.prompt.benchmark,
        "place": neighbours,
        "shown": ShownCase(case, neighbours.suite if neighbours is not None else None, request),
        "grading": grading if grading.children else None,
        "handlers": case.handlers,
        "metadata": outline_of_data("", case.metadata).children,
        "rubric_items": [(item, outline_of_tree(item.tree)) for item in items],
        "revisions": benchmarks.other_revisions(case)[:20],
    }
    return render(request, "judging/case_detail.html", context)


def _tag_of_picture(_request: PageRequest, digest: str) -> str:
    return f'"{digest}"'


@require_safe
@condition(etag_func=_tag_of_picture)
def picture(_request: PageRequest, digest: str) -> HttpResponse:
    """One image, which never changes under its address. Everybody who may sign in may see it: annotators do."""
    stored = get_object_or_404(Picture, pk=digest)
    return picture_response(bytes(stored.data), stored.media_type)


def picture_response(data: bytes, media_type: str) -> HttpResponse:
    """Return an image that a browser may keep and takes for nothing else."""
    response = HttpResponse(data, content_type=media_type, headers={"X-Content-Type-Options": "nosniff"})
    patch_cache_control(response, private=True, max_age=YEAR_SECONDS, immutable=True)
    return response
