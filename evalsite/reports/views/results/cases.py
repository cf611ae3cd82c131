"""The responses to a case and their scores: a part of the case's page, and the same as a file."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from evalsite.accounts.audit import NamedSubject
from evalsite.base.http import PageRequest, get_view, page_of, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Table
from evalsite.reports import exports
from evalsite.reports.selectors.leaderboards import CHOICES_SHOWN
from evalsite.reports.selectors.results.case_answers import answers_named, answers_to
from evalsite.reports.services.case_tables import EXPORT_COLUMNS, case_table, exported
from evalsite.reports.views.pages import download
from judging.models import Case, Response
from judging.selectors.benchmarks import neighbours_of
from judging.views.cases import ShownCase

PER_PAGE = 25
TEXTS = 4  # side by side
FIRST_TEXTS = 2


def answers_of(shown: ShownCase) -> JsonDict:
    """Return what the part of a case's page shows: a page of responses with scores, and the texts that were chosen."""
    page = page_of(shown.request, answers_to(shown.case), per_page=PER_PAGE)
    rows = list(page.object_list)
    requested = [key for text in shown.request.GET.getlist("response") if (key := whole_number(text)) is not None]
    chosen = list(dict.fromkeys(requested))[:TEXTS] or [row.pk for row in rows[:FIRST_TEXTS]]
    texts = answers_named(shown.case, chosen)
    return {
        "case": shown.case,
        "suite": shown.suite,
        "table": case_table(shown.case, shown.suite, rows),
        "page_obj": page,
        "texts": texts,
        "chosen": [text.pk for text in texts],
        "most_texts": TEXTS,
        "formats": exports.FORMATS,
    }


@get_view("reports.view_snapshot")
def case_export(request: PageRequest, case_id: int, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download every response to a case with its scores: a line for each score and each label."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    neighbours = neighbours_of(case=case, suite_id=whole_number(request.GET.get("suite", "")))
    answers = list(answers_to(case))
    whole = Response.objects.only("text", "images", "messages").in_bulk([answer.pk for answer in answers])
    table = case_table(case, neighbours.suite if neighbours is not None else None, answers, most=CHOICES_SHOWN)
    site = request.build_absolute_uri("/").rstrip("/")
    tables = {"responses": Table("responses", EXPORT_COLUMNS, exported(case, table, whole, site=site))}
    return download(
        request, tables, table="responses", format_name=format_name, subject=NamedSubject(f"case {case.key}", case.pk)
    )
