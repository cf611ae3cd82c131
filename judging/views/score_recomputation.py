"""The page that recomputes scores from stored verdicts."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django_htmx.http import HttpResponseClientRefresh

from evalsite.base.http import PageRequest, form_view
from evalsite.base.json_types import JsonDict
from judging.forms.esi import EsiOptionsForm, entered_of
from judging.forms.score_recomputation import ScoringForm
from judging.jobs import launch_rescoring
from judging.models import EvaluatorKind, RunEvaluator
from judging.selectors.score_options import can_rescore
from judging.services.evaluation import score_recomputation
from judging.services.evaluation.esi_options import options_of
from judging.services.evaluation.score_recomputation import RescoringRefused


@form_view("judging.change_run")
def run_rescore(request: PageRequest, evaluator_id: int) -> HttpResponse:
    """Show the options that only scores depend on, with their history; compute again with others."""
    evaluator = get_object_or_404(RunEvaluator.objects.select_related("run__suite"), pk=evaluator_id)
    is_index = evaluator.kind == EvaluatorKind.INDEX
    if not can_rescore(evaluator):
        messages.info(request, f"{evaluator.name} has no option that affects only scores.")
        return redirect(evaluator.run)
    if request.htmx:
        if "rescoring" not in evaluator.options:
            return HttpResponseClientRefresh()
        return render(request, "judging/_rescore_progress.html", {"evaluator": evaluator})
    form = _form(request, evaluator)
    if request.method == "POST" and form.is_valid():
        try:
            launch_rescoring(_begin(request, evaluator, form))
        except RescoringRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect("judging:run-rescore", evaluator.pk)
    context = {
        "evaluator": evaluator,
        "run": evaluator.run,
        "form": form,
        "is_index": is_index,
        "history": list(reversed(evaluator.options.get("history", []))),
    }
    return render(request, "judging/run_rescore.html", context, status=400 if form.is_bound and form.errors else 200)


def _form(request: PageRequest, evaluator: RunEvaluator) -> EsiOptionsForm | ScoringForm:
    if evaluator.kind == EvaluatorKind.INDEX:
        return EsiOptionsForm(request.POST or None, initial=entered_of(options_of(evaluator.run)))
    # A form whose boxes are all unticked posts only its token, so the method decides whether it is bound.
    return ScoringForm(request.POST if request.method == "POST" else None, evaluator=evaluator)


def _begin(request: PageRequest, evaluator: RunEvaluator, form: EsiOptionsForm | ScoringForm) -> RunEvaluator:
    history: JsonDict = {"actor": request.user, "at": timezone.now()}
    if isinstance(form, EsiOptionsForm):
        return score_recomputation.begin_index(run_id=evaluator.run_id, options=form.cleaned_data["options"], **history)
    return score_recomputation.begin_judge(evaluator_id=evaluator.pk, options=form.chosen(), **history)
