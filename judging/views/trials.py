"""Pages on which one judge is tried on one response."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.http import PageRequest, form_view, get_view, post_view
from evalsite.base.json_types import JsonDict
from judging.forms.prompts import TrialForm
from judging.jobs import launch_single
from judging.models import Response, Run
from judging.selectors import runs as selectors
from judging.services.runs.run_plans import EvaluatorChoice, RunNotPossible
from judging.services.runs.single_runs import judge_once
from judging.services.tasks import run_lifecycle
from judging.states import RunRefused
from judging.views.verdicts import reading_of

EARLIER = 10  # trials listed beside the form


@form_view("judging.add_run")
def response_try(request: PageRequest, response_id: int) -> HttpResponse:
    """Show the form that tries a judge on a response, and leave the asking to a worker."""
    response = _response(response_id)
    form = TrialForm(
        request.POST or None,
        response=response,
        initial={name: request.GET.get(name, "") for name in ("judge", "rubric")},
    )
    run = ask_once(form, response, actor=request.user) if form.is_valid() else None
    if run is not None:
        return redirect("judging:trial-detail", response_id, run.pk)
    context = {"response": response, "form": form, "earlier": selectors.list_trials(response=response)[:EARLIER]}
    return render(request, "judging/response_try.html", context, status=400 if form.is_bound and form.errors else 200)


def ask_once(form: TrialForm, response: Response, *, actor: User) -> Run | None:
    """Let a worker ask the judge of a valid form; None where it cannot be asked, which the form then says."""
    data = form.cleaned_data
    options = {"prompt_text": data["prompt"].text} if data["prompt"] else {}
    choice = EvaluatorChoice(judge=data["judge"], rubric=data["rubric"], options=options)
    try:
        with transaction.atomic():
            run = judge_once(response=response, choice=choice, actor=actor, at=timezone.now())
            launch_single(run_id=run.pk)
            return run
    except RunNotPossible as refusal:
        form.add_error(None, str(refusal))
        return None


@get_view("judging.add_run")
def trial_detail(request: PageRequest, response_id: int, run_id: int) -> HttpResponse:
    """Show a trial, live; for htmx the fragment that asks again until the trial has ended."""
    response, run = _trial(response_id, run_id)
    context = _context(response, run)
    if request.htmx:
        return render(request, "judging/_trial.html", context)
    evaluator = run.evaluators.get()
    chosen = {"judge": evaluator.judge_id, "rubric": evaluator.rubric_id}
    form = TrialForm(response=response, initial=chosen)
    context |= {"form": form, "earlier": selectors.list_trials(response=response)[:EARLIER]}
    return render(request, "judging/response_try.html", context)


@post_view("judging.change_run")
def trial_cancel(request: PageRequest, response_id: int, run_id: int) -> HttpResponse:
    """Cancel a trial; a call that is on its way is still paid for and kept."""
    response, run = _trial(response_id, run_id)
    refusal = ""
    try:
        run = run_lifecycle.cancel_run(run_id=run.pk, actor=request.user, at=timezone.now())
    except RunRefused as error:
        refusal = str(error)
    if request.htmx:
        return render(request, "judging/_trial.html", _context(response, run) | {"refusal": refusal})
    if refusal:
        messages.error(request, refusal)
    return redirect("judging:trial-detail", response_id, run_id)


def _response(response_id: int) -> Response:
    return get_object_or_404(Response.objects.select_related("prompt__benchmark", "system"), pk=response_id)


def _trial(response_id: int, run_id: int) -> tuple[Response, Run]:
    response = _response(response_id)
    run = selectors.read_trial(response=response, run_id=run_id)
    if run is None:
        raise Http404("There is no such trial.")
    return response, run


def _context(response: Response, run: Run) -> JsonDict:
    verdict = selectors.verdict_of_run(run)
    progress = selectors.read_progress(run=run, at=timezone.now())
    context: JsonDict = {"response": response, "run": run, "progress": progress}
    return context | (reading_of(verdict) if verdict is not None else {})
