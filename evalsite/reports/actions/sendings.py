"""Sending the responses that a page of results means to review, as an action of runs."""

from __future__ import annotations

from functools import partial

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.command_base import facts_text
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused
from evalsite.reports.actions.results import results_shown
from evalsite.reports.forms import SendResultsForm
from evalsite.review.selectors.chosen_questions import ChosenQuestion, chosen_by_run, chosen_questions, work_of_chosen
from evalsite.review.services.referrals.researcher_referrals import (
    MOST_CHOSEN,
    NOTHING_SENT,
    TOO_MANY_CHOSEN,
    ReferredItems,
    send_chosen,
)
from judging.actions.runs import RUNS

HOW_TO_AGREE = "Agree to it on the page (commands and the API: agreed), or narrow the filters."
of_results = partial(RUNS.new, permission="review.change_queue", form=SendResultsForm, calls_models=True)


def _chosen(form: SendResultsForm) -> list[ChosenQuestion]:
    cells = results_shown(form.cleaned_data["suite"], form.address, waits=True).judged_cells(most=MOST_CHOSEN + 1)
    if len(cells) > MOST_CHOSEN:
        raise Refused(TOO_MANY_CHOSEN)
    return chosen_questions(cells)


@of_results(
    "send-results",
    needs_person=True,
    shown=lambda referred: {"sent": {sent.queue.slug: sent.count for sent in referred}},
    said=lambda referred: " ".join(sent.words for sent in referred if sent.count) or NOTHING_SENT,
)
def send_results(act: ActionCall[None, SendResultsForm]) -> list[ReferredItems]:
    """Send the responses that a page of results means to review: the low ones, where it shows low scores."""
    questions = _chosen(act.form)
    work_of_chosen(chosen_by_run(questions), questions).check_agreed(act.data["agreed"], how=HOW_TO_AGREE)
    return send_chosen(questions=questions, actor=act.person, at=act.at)


@of_results("count-results", is_dry=True, shown=dict, lines=facts_text)
def count_results(act: ActionCall[None, SendResultsForm]) -> JsonDict:
    """Count the annotations that sending what a page of results means would ask for, without sending it."""
    questions = _chosen(act.form)
    runs = chosen_by_run(questions)
    work = work_of_chosen(runs, questions)
    names = ("total", "asked", "labelled", "new", "annotations")
    return {
        "suite": str(act.data["suite"]),
        "runs": [{"run": part.run.pk} | {name: getattr(part, name) for name in names} for part in runs],
        "annotations_at_most": work.most,
        "people_seconds_at_most": work.most_seconds,
    }
