"""The debates behind one figure of the meta-evaluation, out of the report's own rows."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.utils import timezone

from debate.models import Debate
from evalsite.base.http import PageRequest, get_view
from evalsite.base.json_types import JsonDict
from evalsite.reports import jobs
from evalsite.reports.report_choices import debate_options, debates_behind_of
from evalsite.reports.services.debates.debate_basis import debate_basis
from evalsite.reports.services.debates.debate_reports import DEBATES
from evalsite.reports.services.debates.debate_tables import column_names
from evalsite.reports.views.pages import report_page
from judging.statistics.debate_rows import PEOPLE, debates_behind, differs, unpack

PER_PAGE = 50
WORDS = {1: "A better", 0: "tie", -1: "B better", None: "no label"}


@get_view("reports.view_snapshot")
def debate_items(request: PageRequest) -> HttpResponse:
    """List the debates that a figure counts, those on which the two sides differ first."""
    figure = debates_behind_of(request.GET)
    options = debate_options(request.GET)
    report = jobs.obtain(DEBATES, subject_id=0, options=options, at=timezone.now(), with_rows=True)
    context: JsonDict = {"report": report, "figure": figure, "is_people": figure.against == PEOPLE}
    if report.content is None or not report.rows:
        return report_page(request, "debate_items", context)
    found = debates_behind(unpack(report.rows), figure)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    names = column_names(report.content)
    keys = [key for key in (figure.evaluator, figure.other) if key]
    cases = dict(Debate.objects.filter(pk__in=[row.pk for row in page]).values_list("pk", "case__key"))
    context |= {
        "page_obj": page,
        "total": len(found),
        "differing": sum(differs(row, figure) for row in found),
        "evaluators": [names.get(key, key) for key in keys],
        "basis": debate_basis(report.content).words,
        "rows": [
            {
                "row": row,
                "case": cases.get(row.pk),
                "labels": [WORDS[row.labels.get(key)] for key in keys],
                "outcome": "no outcome" if row.outcome is None else WORDS[row.outcome],
                "people": WORDS[row.people],
                "differs": differs(row, figure),
            }
            for row in page
        ],
    }
    return report_page(request, "debate_items", context)
