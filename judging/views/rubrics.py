"""Pages of rubrics: list, trees, versions, differences, and the workbook to edit."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import slugify

from evalsite.base.http import PageRequest, get_view, page_of
from evalsite.base.tables import CONTENT_TYPES
from judging.models import Rubric
from judging.selectors import benchmarks, rubrics
from judging.services.rubric_files import RubricNotTable, rubric_json, rubric_workbook_bytes
from judging.specs.rubrics.outlines import Outline, mark_differences, outline_of_tree, outline_table

TREES_PER_PAGE = 10
ROWS_PER_PAGE = 25


@get_view("judging.view_benchmark")
def rubric_list(request: PageRequest) -> HttpResponse:
    """The newest version of every rubric."""
    query = request.GET.get("q", "").strip()
    context = {"page_obj": page_of(request, benchmarks.rubric_rows(query=query)), "query": query}
    return render(request, "judging/rubric_list.html", context)


@get_view("judging.view_benchmark")
def rubric_detail(request: PageRequest, rubric_id: int) -> HttpResponse:
    """One version of a rubric as trees, or what it changed."""
    rubric = get_object_or_404(Rubric.objects.select_related("benchmark", "created_by"), pk=rubric_id)
    versions = rubrics.versions_of(rubric)
    before = next((other for other in versions if other.version < rubric.version), None)
    query = request.GET.get("q", "").strip()
    context = {"rubric": rubric, "versions": versions, "before": before, "query": query, "tab": "trees"}
    if before is not None and request.GET.get("tab") == "changes":
        diff = rubrics.rubric_diff(before=before, after=rubric)
        context |= {"tab": "changes", "diff": diff, "sides": [(change, *_sides(change)) for change in diff.shown]}
    else:
        as_table = rubric.item_count > 1 and request.GET.get("tab") == "table"
        size = ROWS_PER_PAGE if as_table else TREES_PER_PAGE
        page = page_of(request, rubrics.rubric_items(rubric, query=query), per_page=size)
        cases = rubrics.newest_cases(rubric, keys=[item.case_key for item in page])
        trees = [(item, cases.get(item.case_key), outline_of_tree(item.tree)) for item in page]
        context |= {"page_obj": page, "trees": trees}
        if as_table:
            columns, rows = outline_table([tree for _, _, tree in trees])
            named = [(item, case, row) for (item, case, _), row in zip(trees, rows, strict=True)]
            context |= {"tab": "table", "columns": columns, "rows": named}
    return render(request, "judging/rubric_detail.html", context)


def _sides(change: rubrics.TreeChange) -> tuple[Outline | None, Outline | None]:
    """Return the outlines of a tree before and after; where both are there, what differs is marked."""
    old, new = (outline_of_tree(item.tree) if item else None for item in (change.before, change.after))
    return mark_differences(old, new) if old and new else (old, new)


@get_view("judging.view_benchmark")
def rubric_workbook(request: PageRequest, rubric_id: int) -> HttpResponse:
    """The rubric as the workbook it came from; as JSON where no table can hold it."""
    rubric = get_object_or_404(Rubric, pk=rubric_id)
    name = f"{slugify(rubric.name) or 'rubric'}-v{rubric.version}"
    try:
        content, kind, ending = rubric_workbook_bytes(rubric), CONTENT_TYPES["xlsx"], "xlsx"
    except RubricNotTable:
        content, kind, ending = rubric_json(rubric), "application/json; charset=utf-8", "json"
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return response
