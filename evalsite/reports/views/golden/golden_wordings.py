"""Wording that a model proposes: asked for with its cost, read as a difference, accepted line by line."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from evalsite.base.http import PageRequest, refusals_shown, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.reports.forms import WordingForm
from evalsite.reports.views.golden.golden_sets import golden_set_of
from evalsite.reports.views.golden.golden_versions import version_of_evaluator
from evalsite.review.jobs import launch_proposal
from evalsite.review.models import ProposalStatus, WordingProposal
from evalsite.review.services.golden.wording_proposals import accept_wording, ask_for_wording, wording_question
from evalsite.review.states import ReviewRefused
from judging.judges.wordings import wording_lines


@require_http_methods(["GET", "POST"])
@permission_required(("review.change_queue", "judging.add_run"), raise_exception=True)
def golden_propose(request: PageRequest, set_id: int, evaluator_id: int) -> HttpResponse:
    """Say what a model would be told and what it can cost, then have a worker ask it."""
    golden_set = golden_set_of(set_id)
    version = version_of_evaluator(golden_set, evaluator_id)
    form = WordingForm(request.POST or None)
    context: JsonDict = {"golden_set": golden_set, "version": version, "form": form}
    try:
        question = wording_question(golden_set, version.evaluator)
    except ReviewRefused as refusal:
        return render(request, "reports/golden_propose.html", context | {"refusal": str(refusal)})
    context["question"] = question
    if form.is_valid():
        endpoint = form.cleaned_data["endpoint"]
        if "look" in request.POST:
            context |= {"looked": True, "most": question.most_cost(endpoint), "endpoint": endpoint}
        else:
            with refusals_shown(request, ReviewRefused), transaction.atomic():
                proposal = ask_for_wording(
                    golden_set=golden_set,
                    evaluator=version.evaluator,
                    endpoint=endpoint,
                    budget=form.cleaned_data["budget"],
                    actor=request.user,
                    at=timezone.now(),
                )
                launch_proposal(proposal.pk)
                return redirect("reports:golden-wording", golden_set.pk, proposal.pk)
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "reports/golden_propose.html", context, status=status)


@require_http_methods(["GET", "POST"])
@permission_required(("review.change_queue", "judging.add_judge"), raise_exception=True)
def golden_wording(request: PageRequest, set_id: int, proposal_id: int) -> HttpResponse:
    """Show a proposal line by line, and put in force what is ticked."""
    golden_set = golden_set_of(set_id)
    rows = WordingProposal.objects.select_related("judge", "endpoint", "evaluator", "asked_by")
    proposal = get_object_or_404(rows, pk=proposal_id, golden_set=golden_set)
    if request.method == "POST":
        ticked = [whole_number(text) for text in request.POST.getlist("line")]
        with refusals_shown(request, ReviewRefused):
            accepted = [line_number for line_number in ticked if line_number is not None]
            judge = accept_wording(proposal=proposal, accepted=accepted, actor=request.user, at=timezone.now())
            messages.success(request, f"{judge.name} has the accepted lines. Run it on development to compare it.")
            return redirect(golden_set)
        return redirect("reports:golden-wording", golden_set.pk, proposal.pk)
    context = {
        "golden_set": golden_set,
        "proposal": proposal,
        "is_waiting": proposal.status == ProposalStatus.WAITING,
        "is_ready": proposal.status == ProposalStatus.READY,
        "lines": wording_lines(proposal.before, proposal.after) if proposal.after else (),
    }
    name = "reports/_golden_wording.html" if request.htmx else "reports/golden_wording.html"
    return render(request, name, context)
