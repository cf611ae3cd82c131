"""Pages that edit how a case is graded: the text, its effect on stored responses, and the new version."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.http import PageRequest, form_view, get_view, whole_number
from evalsite.base.json_types import JsonDict
from judging.forms.cases import CaseEditForm
from judging.jobs.edits import EditTrial, launch_edit_trial, read_edit_trial
from judging.models import Case, Suite
from judging.selectors import benchmarks
from judging.services.case_edits import case_in, save_edit, size_of_edit, try_edit


@form_view("judging.add_suite")
def case_edit(request: PageRequest, case_id: int) -> HttpResponse:
    """Show a case's grading to be edited; show the effect of an edit; then store it as a new version of the suite."""
    case = get_object_or_404(Case.objects.select_related("prompt__benchmark"), pk=case_id)
    suite = _suite_of(request, case)
    form = CaseEditForm(request.POST or None, case=case)
    context: JsonDict = {"case": case, "benchmark": case.prompt.benchmark, "suite": suite, "form": form}
    newest = benchmarks.newest_suite_of(case.prompt.benchmark)
    context["newer"] = newest if newest is not None and newest.number > suite.number else None
    if request.method == "POST" and form.is_valid() and form.edited is not None:
        if request.POST.get("save") and form.was_seen:
            return _save(request, case, suite, form)
        context |= _effect(case, suite, form)
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "judging/case_edit.html", context, status=status)


@get_view("judging.add_suite")
def case_edit_trial(request: PageRequest, case_id: int, trial: str) -> HttpResponse:
    """Show how far the trial of an edit is, as the fragment that polls itself until the effect is known."""
    case = get_object_or_404(Case.objects.select_related("prompt"), pk=case_id)
    edit_trial = read_edit_trial(trial) if trial.startswith(f"edit-{case.pk}-") else None
    if edit_trial is None:
        raise Http404("This preview has expired.")
    return render(
        request, "judging/_case_effect.html", {"case": case, "trial": edit_trial, "effect": edit_trial.effect}
    )


def _suite_of(request: PageRequest, case: Case) -> Suite:
    suite_id = whole_number(request.POST.get("suite") or request.GET.get("suite", ""))
    neighbours = benchmarks.neighbours_of(case=case, suite_id=suite_id)
    if neighbours is None:
        raise Http404("No suite has this case.")
    return neighbours.suite


def _effect(case: Case, suite: Suite, form: CaseEditForm) -> JsonDict:
    """Return the effect of an edit, or the trial in which a worker finds it out."""
    assert form.edited is not None
    trial: EditTrial | None = None
    if not size_of_edit(case=case, edited=form.edited).is_small:
        trial = launch_edit_trial(case=case, suite=suite, text=form.cleaned_data["text"])
    effect = trial.effect if trial else try_edit(case=case, suite=suite, edited=form.edited)
    return {"effect": effect, "trial": trial, "seen": form.text_hash}


def _save(request: PageRequest, case: Case, suite: Suite, form: CaseEditForm) -> HttpResponse:
    assert form.edited is not None
    stored = save_edit(case=case, suite=suite, edited=form.edited, actor=request.user, at=timezone.now())
    if stored.created:
        messages.success(request, f"Saved as {stored.suite}. Runs on earlier versions keep their scores.")
    else:
        messages.info(request, f"{stored.suite} already has this grading; nothing was stored.")
    new = case_in(stored.suite, case.key)
    return redirect(f"{new.get_absolute_url()}?suite={stored.suite.pk}")
