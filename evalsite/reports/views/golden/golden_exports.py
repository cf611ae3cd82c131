"""Downloads of what the pages of a golden set show."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone

from evalsite.base.http import PageRequest, get_view
from evalsite.reports import jobs
from evalsite.reports.services.golden.golden_comparisons import compare_versions
from evalsite.reports.services.golden.golden_figures import GOLDEN
from evalsite.reports.services.golden.golden_tables import COMPARISON_TABLES, comparison_tables, version_tables
from evalsite.reports.views.golden.golden_sets import golden_set_of
from evalsite.reports.views.golden.golden_versions import compared_versions
from evalsite.reports.views.pages import download_paper, waits_for_report


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
        request, tables, table=table, format_name=format_name, subject=golden_set.name, subject_id=set_id
    )
