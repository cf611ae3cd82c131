"""Sends the rows of a page of results to people: a preview of the new items, then the referral."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from evalsite.base.http import PageRequest, form_view
from evalsite.base.json_types import JsonDict
from evalsite.reports.views.pages import waits_for_report
from evalsite.reports.views.results.results import requested_results
from evalsite.review.selectors.chosen_questions import ChosenQuestion, chosen_by_run, chosen_questions
from evalsite.review.services.items.queues import DEFAULT_QUORUM
from evalsite.review.services.referrals.researcher_referrals import MOST_CHOSEN, send_chosen
from evalsite.review.states import ReviewRefused
from judging.models import Suite


@form_view("reports.view_snapshot", "review.change_queue")
@waits_for_report
def results_send(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show what sending the rows that the address asks for would do, and do it."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    results = requested_results(request, suite_id)
    cells = results.judged_cells(most=MOST_CHOSEN + 1)
    is_too_much = len(cells) > MOST_CHOSEN
    questions = [] if is_too_much else chosen_questions(cells)
    if request.method == "POST":
        _send(request, questions)
        return redirect(request.get_full_path())
    runs = chosen_by_run(questions)
    context: JsonDict = {
        "suite": suite,
        "results_url": f"{reverse('reports:results-detail', args=[suite_id])}?{request.GET.urlencode()}",
        "rows": len(results.rows),
        "most": MOST_CHOSEN,
        "is_too_much": is_too_much,
        "total": len(questions),
        "runs": runs,
        "new": sum(run.new for run in runs),
        "quorum": DEFAULT_QUORUM,
    }
    return render(request, "reports/results_send.html", context)


def _send(request: PageRequest, questions: list[ChosenQuestion]) -> None:
    try:
        sent = send_chosen(questions=questions, actor=request.user, at=timezone.now())
    except ReviewRefused as refusal:
        messages.error(request, str(refusal))
        return
    count = sum(referred.count for referred in sent)
    for referred in sent:
        if referred.count:
            messages.success(request, referred.words)
    if not count:
        messages.info(request, "Nothing was sent: all of this is in review or has a label already.")
