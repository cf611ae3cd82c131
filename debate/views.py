"""Pages of this app: sets of debates, single debates, recorded ones on their way in. For researchers and admins."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now

from debate import selectors
from debate.actions import LabelsNotPlaced, create, take_labels
from debate.forms import DebateSetForm, LabelsForm, entered_in
from debate.models import Debate, DebateSet, DebateSource, DebateStatus, Experiment, Statement
from debate.protocol.setups import DebateSetup, Method, options_from_json
from debate.selectors import (
    UNFINISHED,
    calls_of,
    debates_by_id,
    label_sources,
    neighbours,
    question_of,
    reference_of,
    setups_of,
    transcript_of,
)
from debate.services.set_plans import DebatesRefused, DebateWish, check_debates, estimate_all
from debate.services.set_tables import TABLE_FORMATS, TABLES, StoredLabels
from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page, show_refusal
from evalsite.base.formats import Differences, compare
from evalsite.base.http import PageRequest, form_view, get_view, page_of
from evalsite.base.page_parts import Facts
from evalsite.base.types import JsonDict, Refused, choices_of
from judging.models import ModelEndpoint, Rubric, Suite, System, Upload
from judging.models.runs import ACTIVE
from judging.selectors.runs import is_moving
from judging.services.day_budgets import too_small
from judging.services.file_imports.upload_store import drop_upload
from judging.specs.people_choices import AskedPeople
from judging.specs.records.names import COLUMN_FIELDS
from judging.specs.selections import selection_from_json


@get_view("debate.view_debateset")
def debate_detail(request: PageRequest, debate_id: int) -> HttpResponse:
    """Question, responses, criterion, verdicts and statements; `?diff=1` marks where the responses differ."""
    debate = _debate(debate_id)
    setup = setups_of([debate])[debate.pk]
    before, after = neighbours(debate)
    compared = request.GET.get("diff") == "1"
    differences = compare(debate.response_a.text, debate.response_b.text) if compared else None
    context = {
        **_transcript(debate),
        "question": question_of(debate.case),
        "reference": reference_of(debate.case),
        "criterion": setup.criterion,
        "options": options_from_json(debate.debate_set.setup),
        "sides": _sides(debate, differences),
        "images_note": _images_note(debate, setup),
        "compared": compared,
        "differences": differences is not None,
        "baselines": [agent.name for agent in debate.agents.all() if agent.endpoint and agent.endpoint.is_baseline],
        "before": before,
        "after": after,
    }
    return render(request, "debate/debate_detail.html", context)


@get_view("debate.view_debateset")
def debate_live(request: PageRequest, debate_id: int) -> HttpResponse:
    """The part of a debate's page that grows while it is held."""
    return render(request, "debate/_debate_transcript.html", _transcript(_debate(debate_id)))


@get_view("debate.view_debateset")
def statement_detail(request: PageRequest, statement_id: int) -> HttpResponse:
    """What an agent was sent for one statement, and what came back."""
    statement = get_object_or_404(
        Statement.objects.select_related("agent__debate__case", "agent__debate__debate_set"), pk=statement_id
    )
    agent = statement.agent
    context = {
        "statement": statement,
        "agent": agent,
        "agent_number": agent.number,
        "debate": agent.debate,
        "calls": calls_of(statement),
    }
    return render(request, "debate/statement_detail.html", context)


def _images_note(debate: Debate, setup: DebateSetup) -> str:
    """Return which agents are sent the images of a debate; empty where it has none."""
    if not setup.images.count:
        return ""
    blind = sorted({agent.name for agent in debate.agents.all()} - setup.images.seen_by)
    if not blind:
        return "The images of the question and of the responses are sent to the agents."
    if not setup.images.seen_by:
        return "The agents read texts; images are not sent to them."
    return f"The images are sent to the agents that see. These debate without them: {', '.join(blind)}."


def _debate(debate_id: int) -> Debate:
    debates = debates_by_id([debate_id])
    if not debates:
        raise Http404(f"There is no debate {debate_id}.")
    return debates[0]


def _transcript(debate: Debate) -> JsonDict:
    statements, waiting = transcript_of(debate)
    run = debate.debate_set.run
    return {
        "debate": debate,
        "debate_set": debate.debate_set,
        "transcript": statements,
        "waiting": waiting,
        "is_live": debate.status in UNFINISHED,
        "run_status": run.status if run else "",
        "is_moving": debate.status in UNFINISHED and run is not None and is_moving(run),
    }


def _sides(debate: Debate, differences: Differences | None) -> list[JsonDict]:
    owner = debate.debate_set
    a, b = (differences.a, differences.b) if differences else ((), ())
    first = "A" if debate.response_order == 0 else "B"
    return [
        {"letter": "A", "system": owner.system_a, "response": debate.response_a, "first": first == "A", "pieces": a},
        {"letter": "B", "system": owner.system_b, "response": debate.response_b, "first": first == "B", "pieces": b},
    ]


@get_view("debate.view_debateset")
def experiment_detail(request: PageRequest, experiment_id: int) -> HttpResponse:
    """The sets of an experiment with how each stands, and the way to what they show together."""
    experiment = get_object_or_404(Experiment, pk=experiment_id)
    members = selectors.sets_of_experiment(experiment)
    outcomes = selectors.outcomes_of([member.pk for member in members])
    context = {
        "experiment": experiment,
        "rows": [(member, outcomes[member.pk]) for member in members],
        "is_active": any(member.run is not None and member.run.status in ACTIVE for member in members),
    }
    return render(request, "debate/experiment_detail.html", context)


@action_page(take_labels, form_view)
def label_create(request: PageRequest, set_id: int) -> HttpResponse:
    """Choose a file; it is stored at once where every row can be placed, else its problems and columns are listed."""
    debate_set = get_object_or_404(DebateSet, pk=set_id)
    entered = request.POST.copy()
    entered["sets"] = str(debate_set.pk)
    form = LabelsForm(entered if request.method == "POST" else None, request.FILES or None)
    context: JsonDict = {"form": form, "debate_set": debate_set, "sources": label_sources(debate_set)}
    if form.is_valid():
        try:
            labels = take_labels.carry_out(ActionCall(None, form, request.user, now()))
        except LabelsNotPlaced as refusal:
            parsed = refusal.parsed
            context |= {"problems": parsed.problems, "problem_count": len(parsed.problems)}
            context |= {"columns": parsed.columns, "column_fields": COLUMN_FIELDS}
            context["form"] = LabelsForm(form.entries_with_kept_file(at=now()))
        else:
            drop_upload(form.cleaned_data["kept"])
            messages.success(request, _done(labels.value))
            return redirect(debate_set)
    return render(request, "debate/label_create.html", context)


def _done(stored: StoredLabels) -> str:
    people = f"{len(stored.raters)} {'person' if len(stored.raters) == 1 else 'people'}"
    return (
        f"{stored.new:,} labels of {people} on {stored.debates:,} debates stored, {stored.changed:,} changed, "
        f"{stored.unchanged:,} already stored."
    )


MOST_WORDS = 200  # characters of a search


@get_view("debate.view_debateset")
def set_list(request: PageRequest) -> HttpResponse:
    """All sets of debates, with how each stands."""
    source, method, words = (
        request.GET.get("source", ""),
        request.GET.get("method", ""),
        request.GET.get("q", "").strip(),
    )
    page = page_of(
        request,
        selectors.list_sets(sort=request.GET.get("sort", "-created"), source=source, method=method, words=words),
    )
    outcomes = selectors.outcomes_of([debate_set.pk for debate_set in page.object_list])
    context = {
        "page_obj": page,
        "rows": [(debate_set, outcomes[debate_set.pk]) for debate_set in page.object_list],
        "source": source,
        "words": words,
        "sources": DebateSource.choices,
        "method": method,
        "methods": choices_of(Method),
        "is_filtered": bool(source or method or words),
    }
    return render(request, "debate/set_list.html", context)


@action_page(create, form_view)
def set_create(request: PageRequest) -> HttpResponse:
    """A new set of debates; on success its page, or that of its experiment, where it runs already."""
    form = DebateSetForm(request.POST or None, initial=entered_in(request.GET))
    try:
        if form.is_valid():
            first = create.carry_out(ActionCall(None, form, request.user, now()))
            return redirect(first.experiment or first)
    except Refused as refusal:
        show_refusal(form, refusal)
    context = {"form": form, "missing": _missing(), **_estimate(form if form.is_bound else None)}
    return render(request, "debate/set_create.html", context, status=400 if form.is_bound else 200)


@get_view("debate.add_debateset")
def set_estimate(request: PageRequest) -> HttpResponse:
    """What the wish in the form would take; asked at every change of it."""
    return render(request, "debate/_set_estimate.html", _estimate(DebateSetForm(request.GET)))


@get_view("debate.view_debateset")
def set_detail(request: PageRequest, set_id: int) -> HttpResponse:
    """One set: outcomes, spend, and its debates in a table, or how its agents change their verdicts."""
    debate_set = _shown_set(set_id)
    context = _context(request, debate_set)
    context |= {
        "baselines": selectors.baselines_of(debate_set),
        "part_words": _part_words(debate_set, context["outcomes"].total),
        "export_tables": TABLES,
        "export_formats": TABLE_FORMATS,
    }
    if context["tab"] == "agents":
        judges, moves, debates = selectors.conformity_of(debate_set)
        context |= {"judges": judges, "moves": moves, "debates": debates}
    return render(request, "debate/set_detail.html", context)


@get_view("debate.view_debateset")
def set_progress(request: PageRequest, set_id: int) -> HttpResponse:
    """The parts of a set's page that move while it runs, as one answer: they never contradict each other."""
    return render(request, "debate/_set_live.html", _context(request, _shown_set(set_id)))


def _context(request: PageRequest, debate_set: DebateSet) -> JsonDict:
    context = _progress(debate_set, now())
    if request.GET.get("tab") == "agents":
        return context | {"tab": "agents"}
    filters = {name: request.GET.get(name, "").strip() for name in ("status", "outcome", "scenario")}
    filters["words"] = request.GET.get("q", "").strip()[:MOST_WORDS]
    debates = selectors.debates_in(debate_set, **filters, sort=request.GET.get("sort", ""))
    return context | {
        "tab": "debates",
        "page_obj": page_of(request, debates, count=None if any(filters.values()) else context["outcomes"].total),
        **filters,
        "kept_filters": [(name, value) for name, value in filters.items() if value and name != "words"],
        "outcome_counts": _outcome_counts(debate_set, context["outcomes"]),
        "scenarios": selectors.scenarios_of(debate_set),
        "statuses": _status_counts(context["outcomes"]),
    }


def _shown_set(set_id: int) -> DebateSet:
    sets = DebateSet.objects.select_related("run__suite__benchmark", "system_a", "system_b", "rubric", "experiment")
    return get_object_or_404(sets, pk=set_id)


def _progress(debate_set: DebateSet, at: datetime) -> JsonDict:
    run = debate_set.run
    per_minute, seconds_left = selectors.progress_of(run, at=at) if run else (None, None)
    return {
        "debate_set": debate_set,
        "run": run,
        "outcomes": selectors.outcomes_of([debate_set.pk])[debate_set.pk],
        "per_minute": per_minute,
        "seconds_left": seconds_left,
        "is_active": run is not None and run.status in ACTIVE,
        "is_moving": run is not None and is_moving(run),
    }


def _part_words(debate_set: DebateSet, debates: int) -> str:
    """Return which part of its suite a set covers; "" for a whole suite and for imported records."""
    selection = selection_from_json(debate_set.setup.get("selection", {}))
    if selection.is_all or debate_set.run is None:
        return ""
    return selection.part_words(count=debates, total=debate_set.run.suite.case_count)


def _status_counts(outcomes: selectors.OutcomeCounts) -> list[tuple[str, str, int]]:
    counts = [
        (DebateStatus.AGREED, outcomes.agreed),
        (DebateStatus.UNRESOLVED, outcomes.unresolved),
        (DebateStatus.FAILED, outcomes.failed),
        (DebateStatus.CANCELLED, outcomes.cancelled),
    ]
    return [(status.value, status.label, count) for status, count in counts if count]


def _outcome_counts(debate_set: DebateSet, outcomes: selectors.OutcomeCounts) -> list[tuple[str, str, int]]:
    counts = [
        ("a", f"{debate_set.system_a} better", outcomes.a_better),
        ("b", f"{debate_set.system_b} better", outcomes.b_better),
        ("tie", "Neither better", outcomes.neither),
    ]
    return [row for row in counts if row[2]]


def _estimate(form: DebateSetForm | None) -> JsonDict:
    if form is None or not form.is_valid():
        return {"estimate": None}
    wish, data, wishes, people_cost = form.wish(), form.cleaned_data, form.wishes(), form.people_cost()
    estimate = estimate_all(wishes, threads=settings.CALL_THREADS, at=now())
    return {
        "estimate": estimate,
        "too_small": too_small(estimate.costs, at=now()),
        "is_fresh": wish.fresh,
        "people_cost": people_cost,
        "choice": data["people"] if people_cost else AskedPeople.NOBODY,
        "agreed": data["agreed"],
        "set_count": len(wishes),
        "obstacle": _obstacle((*wishes, wish)[0]),
        "word": "decisions" if data["method"] is not Method.DEBATE or data["plan"] == "robustness" else "debates",
    }


def _obstacle(wish: DebateWish) -> str:
    """Return why nothing can be started, or nothing."""
    try:
        check_debates(wish)
    except DebatesRefused as refusal:
        return str(refusal)
    return ""


def _missing() -> list[str]:
    """Return what the site still lacks before debates can be held."""
    lacking = [
        ("a suite with cases", Suite.objects.exists()),
        ("the responses of two systems", System.objects.count() > 1),
        ("a rubric with criteria", Rubric.objects.exists()),
        ("two active endpoints", ModelEndpoint.objects.filter(is_active=True).count() > 1),
    ]
    return [name for name, there in lacking if not there]


def records_of_upload(upload: Upload) -> Facts | None:
    """Return what the page of an upload shows of recorded debates; None for other uploads."""
    records = upload.preview.get("records")
    return {"records": records, "upload": upload} if records else None
