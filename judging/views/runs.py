"""Pages of runs: the list, a new one, one live, and its controls."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from evalsite.base.choices import choices_of
from evalsite.base.http import PageRequest, form_view, get_view, page_of, post_view, whole_number
from evalsite.base.json_types import JsonDict
from judging.forms.esi import EsiRunForm
from judging.forms.new_runs import NewRunForm
from judging.forms.runs import RunForm, RunNameForm, first_choices
from judging.jobs import launch_run
from judging.models import EvaluatorKind, Run, RunKind, Suite
from judging.selectors import esi
from judging.selectors import runs as selectors
from judging.selectors.asks import attach_asks, read_asks
from judging.selectors.selections import part_words
from judging.services.calls.day_budgets import too_small
from judging.services.runs import run_archive as archive
from judging.services.runs.new_runs import create_run, estimate_new_run
from judging.services.runs.people_costs import people_cost_of_plan
from judging.services.runs.run_plans import RunNotPossible
from judging.services.tasks import run_lifecycle
from judging.specs.selections import selection_from_json
from judging.states import RunRefused, RunStatus

FORMS: tuple[type[NewRunForm], ...] = (RunForm, EsiRunForm)  # by kind of run, as the page offers them


@get_view("judging.view_run")
def run_list(request: PageRequest) -> HttpResponse:
    """List runs, newest first; archived ones, and those of one judge on one response, only where asked."""
    query = {"status": request.GET.get("status", ""), "search": request.GET.get("q", "").strip()}
    query["tag"] = request.GET.get("tag", "").strip()
    single, archived = request.GET.get("single") == "1", request.GET.get("archived") == "1"
    order = request.GET.get("sort", "-created")
    runs = selectors.list_runs(
        status=query["status"], search=query["search"], tag=query["tag"], order=order, single=single, archived=archived
    )
    context: JsonDict = {"page_obj": page_of(request, runs), "statuses": choices_of(RunStatus)}
    context |= {"single": single, "archived": archived, "tags": selectors.tags_in_use(), **query}
    return render(request, "judging/run_list.html", context)


@form_view("judging.add_run")
def run_create(request: PageRequest) -> HttpResponse:
    """Show the form of a new run of a kind for a suite, and start it."""
    form_class, suite = _form_class(request), suite_of(request)
    if suite is None:
        context = {"suites": suites(), "kinds": FORMS, "chosen": form_class}
        return render(request, "judging/run_suite.html", context)
    first = {"rules": True} | first_choices(request.GET, suite) | form_class.linked_values(request.GET)
    form = form_class(request.POST or None, suite=suite, initial=first)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                run = create_run(plan=form.plan(), actor=request.user, at=timezone.now())
                launch_run(run_id=run.pk, waiting=run.total)
            return redirect(run)
        except RunNotPossible as error:
            form.add_error(None, str(error))
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "judging/run_create.html", _form_context(form), status=status)


@post_view("judging.add_run")
def run_estimate(request: PageRequest) -> HttpResponse:
    """Show what the run that the form describes would ask and cost."""
    suite = get_object_or_404(Suite, pk=whole_number(request.POST.get("suite", "")))
    form = _form_class(request)(request.POST, suite=suite)
    context: JsonDict = {"asked": True}
    if form.is_valid():
        try:
            plan = form.plan()
            estimate = estimate_new_run(plan=plan, threads=settings.CALL_THREADS, at=timezone.now())
            context |= {"estimate": estimate, "too_small": too_small(estimate.costs, at=timezone.now())}
            context |= {"people_cost": people_cost_of_plan(plan)}
            context |= {"asks_nobody": form.cleaned_data.get("asks_nobody", False)}
        except RunNotPossible as error:
            form.add_error(None, str(error))
    if request.htmx:
        return render(request, "judging/_run_estimate.html", context | {"form": form})
    return render(request, "judging/run_create.html", context | _form_context(form))


def _form_class(request: PageRequest) -> type[NewRunForm]:
    """Return the form of the kind that a form or an address names."""
    kind = request.POST.get("kind") or request.GET.get("kind", "")
    return next((form for form in FORMS if form.kind == kind), RunForm)


def _form_context(form: NewRunForm) -> JsonDict:
    return {"form": form, "suite": form.suite, "suites": suites(), "kinds": FORMS, "chosen": type(form)}


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
    context |= {"esi": esi.read_summary(run)} if run.kind == RunKind.ESI else {}
    return render(request, "judging/run_detail.html", context)


@get_view("judging.view_run")
def run_progress(request: PageRequest, run_id: int) -> HttpResponse:
    """Show how far a run is and its tasks, as one answer: what polls while the run is live never contradicts itself."""
    run = get_object_or_404(Run.objects.select_related("suite__benchmark"), pk=run_id)
    return render(request, "judging/_run_live.html", _context(request, run))


@form_view("judging.change_run")
def run_rename(request: PageRequest, run_id: int) -> HttpResponse:
    """Give a run another name, and tags."""
    run = get_object_or_404(Run, pk=run_id)
    tags = ", ".join(sorted(tag.name for tag in run.tags.all()))
    form = RunNameForm(request.POST if request.method == "POST" else None, initial={"name": run.name, "tags": tags})
    if form.is_valid():
        try:
            with transaction.atomic():
                run_lifecycle.rename_run(run_id=run_id, name=form.cleaned_data["name"], actor=request.user)
                archive.tag_run(run_id=run_id, tags=form.cleaned_data["tags"], actor=request.user)
            return redirect(run)
        except RunRefused as error:
            form.add_error("name", str(error))
    context = {"run": run, "form": form}
    return render(request, "judging/run_rename.html", context, status=400 if form.is_bound else 200)


@post_view("judging.change_run")
def run_archive(request: PageRequest, run_id: int) -> HttpResponse:
    """Take a run out of lists; its page then offers to restore it."""
    run = get_object_or_404(Run, pk=run_id)
    try:
        archive.archive_run(run_id=run_id, actor=request.user, at=timezone.now())
    except RunRefused as refusal:
        messages.error(request, str(refusal))
    return redirect(run)


@post_view("judging.change_run")
def run_restore(request: PageRequest, run_id: int) -> HttpResponse:
    """List an archived run again."""
    run = get_object_or_404(Run, pk=run_id)
    archive.restore_run(run_id=run_id, actor=request.user)
    return redirect(run)


@post_view("judging.change_run")
def run_pause(request: PageRequest, run_id: int) -> HttpResponse:
    """Pause a run."""
    return _control(request, run_id, lambda: run_lifecycle.pause_run(run_id=run_id, actor=request.user))


@post_view("judging.change_run")
def run_resume(request: PageRequest, run_id: int) -> HttpResponse:
    """Resume a paused run, with a raised budget where one is given."""

    def change() -> None:
        budget = _budget(request)
        if budget is not None:
            run_lifecycle.set_budget(run_id=run_id, budget=budget, actor=request.user)
        run = run_lifecycle.resume_run(run_id=run_id, actor=request.user)
        launch_run(run_id=run_id, waiting=run.waiting)

    return _control(request, run_id, change)


@post_view("judging.change_run")
def run_cancel(request: PageRequest, run_id: int) -> HttpResponse:
    """Cancel a run for good."""
    return _control(
        request, run_id, lambda: run_lifecycle.cancel_run(run_id=run_id, actor=request.user, at=timezone.now())
    )


@post_view("judging.change_run")
def run_retry(request: PageRequest, run_id: int) -> HttpResponse:
    """Try the failed tasks of a run again."""

    def change() -> None:
        count = run_lifecycle.retry_failed(run_id=run_id, actor=request.user)
        launch_run(run_id=run_id, waiting=count)

    return _control(request, run_id, change)


def _control(request: PageRequest, run_id: int, change: Callable[[], object]) -> HttpResponse:
    """Do what a button asks and answer with the progress fragment, or with the page where there is no htmx."""
    run = get_object_or_404(Run, pk=run_id)
    refusal = ""
    try:
        with transaction.atomic():
            change()
    except RunRefused as error:
        refusal = str(error)
    if not request.htmx:
        if refusal:
            messages.error(request, refusal)
        return redirect(run)
    run = Run.objects.select_related("suite__benchmark").get(pk=run_id)
    return render(request, "judging/_run_live.html", _context(request, run) | {"refusal": refusal})


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
        esi.attach_items([task for task, _ in rows], judge_id=evaluator_id)
    return {
        "run": run,
        "progress": progress,
        "asked": asked_systems,
        "page_obj": page,
        "rows": rows,
        "failure": failure,
        "status": status,
        "evaluator_id": evaluator_id,
        "shown_evaluator": next((evaluator for evaluator in progress.evaluators if evaluator.pk == evaluator_id), None),
        "is_filtered": bool(failure or status or evaluator_id),
        "has_rules": next(
            (evaluator.pk for evaluator in progress.evaluators if evaluator.kind == EvaluatorKind.GRADER), None
        ),
        "has_judges": any(evaluator.kind == EvaluatorKind.JUDGE for evaluator in progress.evaluators),
        "has_baseline": any(evaluator.is_baseline for evaluator in progress.evaluators),
    }


def suite_of(request: PageRequest) -> Suite | None:
    """Return the suite that a form or an address names; None where none is named."""
    key = whole_number(request.POST.get("suite") or request.GET.get("suite", ""))
    return None if key is None else get_object_or_404(Suite.objects.select_related("benchmark"), pk=key)


def suites() -> list[Suite]:
    """Return the suites to choose from, the newest first."""
    return list(Suite.objects.select_related("benchmark").order_by("-created_at", "-pk")[:200])


def _budget(request: PageRequest) -> Decimal | None:
    try:
        return Decimal(request.POST["budget"]) if request.POST.get("budget") else None
    except InvalidOperation:
        raise RunRefused("Enter the budget as a number of dollars.") from None
