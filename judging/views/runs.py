"""Pages of runs, those of Lunar-Bench among them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page
from evalsite.base.http import PageRequest, form_view, get_view, page_of, post_view
from evalsite.base.types import JsonDict, choices_of, whole_number
from judging.actions import runs as actions
from judging.actions.runs import ADDS, ASK_AN_ADMIN
from judging.forms.esi import LunarImportForm, linking_query
from judging.forms.new_runs import NewRunForm
from judging.forms.runs import RunFilterForm, first_choices
from judging.models import EvaluatorKind, Run, RunKind, Suite
from judging.models.runs import RunStatus
from judging.selectors import runs
from judging.selectors import runs as selectors
from judging.selectors.benchmarks import part_words
from judging.selectors.judges import score_scales_of
from judging.selectors.runs import SUB_SCORE_WORDS, attach_asks, list_runs, read_asks
from judging.services.day_budgets import too_small
from judging.services.runs.lunar_imports import LunarImport, add_missing_endpoints, plan_import
from judging.services.runs.run_plans import RunNotPossible
from judging.specs.lunar_settings import UNUSED, BadLunarSettings, read_lunar_settings
from judging.specs.people_choices import PeopleNotAsked
from judging.specs.selections import selection_from_json

RUN_ENDED = "run-ended"  # the event of the page on which its other parts are fetched again
# by kind of run, as the page offers them: what starts one, and what says what it would cost
ACTS = {RunKind.GRADING: (actions.create, actions.estimate), RunKind.ESI: (actions.create_esi, actions.estimate_esi)}
FORMS = {kind: act.form_class for kind, (act, _) in ACTS.items()}


@get_view("judging.view_run")
def run_list(request: PageRequest) -> HttpResponse:
    """List runs, newest first; archived ones, and those of one judge on one response, only where asked."""
    form = RunFilterForm(request.GET)
    form.is_valid()  # a filter that is wrong filters nothing
    filters = {"status": "", "tag": "", **form.cleaned_data}
    filters["search"] = filters.pop("q", "")
    runs = list_runs(**filters, order=request.GET.get("sort", "-created"))
    context: JsonDict = {"page_obj": page_of(request, runs), "statuses": choices_of(RunStatus), **filters}
    context["tags"] = selectors.tags_in_use(archived=filters.get("archived", False))
    return render(request, "judging/run_list.html", context)


@action_page(actions.create, form_view)
def run_create(request: PageRequest) -> HttpResponse:
    """Show the form of a new run of a kind for a suite, and start it."""
    kind, suite = _kind(request), suite_of(request)
    form_class = FORMS[kind]
    if suite is None:
        context = {"suites": suites(), "kinds": FORMS.values(), "chosen": form_class}
        return render(request, "judging/run_suite.html", context)
    first = {"rules": True} | first_choices(request.GET, suite) | form_class.linked_values(request.GET)
    form = form_class(request.POST or None, suite=suite, initial=first)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(ACTS[kind][0].carry_out(ActionCall(None, form, request.user, timezone.now())))
        except PeopleNotAsked as error:
            return _estimated(request, form, refusal=str(error), status=400)
        except RunNotPossible as error:
            form.add_error(None, str(error))
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "judging/run_create.html", _form_context(form), status=status)


@action_page(actions.estimate)
def run_estimate(request: PageRequest) -> HttpResponse:
    """Show what the run that the form describes would ask and cost."""
    suite = get_object_or_404(Suite, pk=whole_number(request.POST.get("suite", "")))
    return _estimated(request, FORMS[_kind(request)](request.POST, suite=suite))


def _estimated(request: PageRequest, form: NewRunForm, *, refusal: str = "", status: int = 200) -> HttpResponse:
    """Return the form with what the run would ask and cost, and with why it was not started."""
    context: JsonDict = {"asked": True}
    if form.is_valid():
        at = timezone.now()
        try:
            estimate, people_cost = ACTS[form.kind][1].carry_out(ActionCall(None, form, request.user, at))
            context |= {"estimate": estimate, "too_small": too_small(estimate.costs, at=at), "people_cost": people_cost}
            context |= {"choice": form.cleaned_data["people"], "agreed": form.cleaned_data["agreed"]}
        except RunNotPossible as error:
            form.add_error(None, str(error))
    if request.htmx:
        return render(request, "judging/_run_estimate.html", context | {"form": form})
    if refusal:
        form.add_error(None, refusal)
    return render(request, "judging/run_create.html", context | _form_context(form), status=status)


def _kind(request: PageRequest) -> RunKind:
    """Return the kind that a form or an address names."""
    kind = request.POST.get("kind") or request.GET.get("kind", "")
    return next((known for known in ACTS if known == kind), RunKind.GRADING)


def _form_context(form: NewRunForm) -> JsonDict:
    kinds = FORMS.values()
    return {"form": form, "suite": form.suite, "suites": suites(), "kinds": kinds, "chosen": type(form)}


@get_view("judging.view_run")
def run_detail(request: PageRequest, run_id: int) -> HttpResponse:
    """Show a run with its tasks."""
    run = get_object_or_404(Run.objects.select_related("suite__benchmark", "created_by"), pk=run_id)
    if run.kind == RunKind.DEBATE:
        return redirect(run.debate_set)
    context = _context(request, run)
    selection = selection_from_json(run.options.get("selection") or {})
    context["tags"] = list(run.tags.order_by("name"))
    context |= {"part_words": part_words(suite=run.suite, selection=selection)}
    if run.kind == RunKind.ESI:
        context |= {"esi_rows": runs.read_summary(run), "esi_weights": runs.weights_of(run)}
    return render(request, "judging/run_detail.html", context)


@get_view("judging.view_run")
def run_progress(request: PageRequest, run_id: int) -> HttpResponse:
    """Show how far a run is and its tasks, as one answer: what polls while the run is live never contradicts itself."""
    run = get_object_or_404(Run.objects.select_related("suite__benchmark"), pk=run_id)
    return live_fragment(request, run)


def live_fragment(request: PageRequest, run: Run, refusal: str = "") -> HttpResponse:
    """Return the progress of a run; once it has ended, other parts of the page hear of it and are fetched again."""
    context = _context(request, run)
    response = render(request, "judging/_run_live.html", context | {"refusal": refusal})
    if not context["progress"].is_moving:
        response["HX-Trigger"] = RUN_ENDED
    return response


def _context(request: PageRequest, run: Run) -> JsonDict:
    evaluator_id = whole_number(request.GET.get("evaluator", ""))
    failure, status = request.GET.get("failure", ""), request.GET.get("status", "")
    progress = selectors.read_progress(run=run, at=timezone.now())
    tasks = selectors.list_tasks(run=run, evaluator_id=evaluator_id, failure=failure, status=status)
    count = selectors.count_tasks(progress=progress, evaluator_id=evaluator_id, failure=failure, status=status)
    page = page_of(request, tasks, count=tasks.count() if count is None else count)
    scores = selectors.scores_for(list(page.object_list))
    rows = [(task, scores.get((task.evaluator_id or 0, task.response_id or 0))) for task in page.object_list]
    asked_systems = read_asks(run) if run.asked_systems else []
    if asked_systems:
        attach_asks([task for task, _ in rows])
    if run.kind == RunKind.ESI:
        runs.attach_items([task for task, _ in rows], judge_id=evaluator_id)
    return {
        "run": run,
        "progress": progress,
        "asked": asked_systems,
        "page_obj": page,
        "rows": rows,
        "scales": score_scales_of(progress.evaluators),
        "failure": failure,
        "status": status,
        "evaluator_id": evaluator_id,
        "shown_evaluator": next((evaluator for evaluator in progress.evaluators if evaluator.pk == evaluator_id), None),
        "is_filtered": bool(failure or status or evaluator_id),
        "has_rules": next(
            (
                evaluator.pk
                for evaluator in progress.evaluators
                if evaluator.kind == EvaluatorKind.GRADER and not evaluator.imported_from
            ),
            None,
        ),
        "unread": selectors.unread_replies(run),
        "has_baseline": any(evaluator.is_baseline for evaluator in progress.evaluators),
    }


def suite_of(request: PageRequest) -> Suite | None:
    """Return the suite that a form or an address names; None where none is named."""
    key = whole_number(request.POST.get("suite") or request.GET.get("suite", ""))
    return None if key is None else get_object_or_404(Suite.objects.select_related("benchmark"), pk=key)


def suites() -> list[Suite]:
    """Return the suites to choose from, the newest first."""
    return list(Suite.objects.select_related("benchmark").order_by("-created_at", "-pk")[:200])


PAGE = "judging/lunar_import.html"


@get_view("judging.add_run")
def esi_create(request: PageRequest) -> HttpResponse:
    """Lead to the form of a new run, from the address that ESI runs once had of their own."""
    query = request.GET.copy()
    query["kind"] = RunKind.ESI
    return redirect(f"{reverse('judging:run-create')}?{query.urlencode()}")


def lunar_checked(request: PageRequest, planned: LunarImport) -> HttpResponse:
    """Show what a file becomes. Nothing is stored, and the keys of the file are not read."""
    return render(request, PAGE, _checked(LunarImportForm(planned=planned)))


@post_view("judging.add_run")
def lunar_confirm(request: PageRequest) -> HttpResponse:
    """Add the missing endpoints and open the form of a run of one data set, filled in."""
    try:
        planned = plan_import(read_lunar_settings(request.POST.get("settings", "").encode(errors="replace")))
    except BadLunarSettings as refusal:
        return render(request, PAGE, {"problems": refusal.problems}, status=400)
    form = LunarImportForm(request.POST, planned=planned)
    number = whole_number(request.POST.get("dataset", ""))
    if form.is_valid() and number is not None and number < len(planned.datasets):
        try:
            planned = plan_import(planned.settings, key_variables=form.key_variables(), suites=form.suites())
            return _opened(request, form, planned, number)
        except BadLunarSettings as refusal:
            form.add_error(None, str(refusal))
    return render(request, PAGE, _checked(form), status=400)


def _opened(request: PageRequest, form: LunarImportForm, planned: LunarImport, number: int) -> HttpResponse:
    """Store what is missing and lead to the form of the run, unless something is still to be chosen."""
    new, dataset = planned.new_endpoints, planned.datasets[number]
    if dataset.suite is None:
        form.add_error(f"suite_{number}", "Choose a suite, or import the data set first.")
    if new and not request.user.has_perm(ADDS):
        form.add_error(None, ASK_AN_ADMIN)
    if form.errors:
        return render(request, PAGE, _checked(form), status=400)
    planned = add_missing_endpoints(planned, actor=request.user)
    if new:
        names = ", ".join(endpoint.name for endpoint in new)
        messages.success(request, f"Added to Endpoints: {names}. Their keys are read from the environment.")
    return redirect(f"{reverse('judging:run-create')}?{linking_query(planned.run_plan(planned.datasets[number]))}")


def _checked(form: LunarImportForm) -> JsonDict:
    planned = form.planned
    return {
        "checked": form,
        "planned": planned,
        "systems": planned.systems(),
        "judges": planned.judges.items(),
        "weights": [(word, planned.options.weights[name]) for name, word in SUB_SCORE_WORDS.items()],
        "unused": [(name, UNUSED[name]) for name in planned.settings.unused],
    }
