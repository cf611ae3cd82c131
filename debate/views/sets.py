"""Sets of debates: the list, a new one, and how one goes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now

from debate.exports import TABLE_FORMATS, TABLES
from debate.forms import DebateSetForm, entered_in
from debate.jobs import launch_debates, launch_robustness, launch_round_robin
from debate.models import DebateSet, DebateSource, DebateStatus, Experiment
from debate.protocol.setups import Method
from debate.selectors import sets
from debate.services.estimates import estimate_all
from debate.services.experiments import robustness_wishes, round_robin_wishes
from debate.services.pairs import DebateWish, people_cost_of
from debate.services.set_plans import DebatesRefused, check_debates
from evalsite.base.choices import choices_of
from evalsite.base.http import PageRequest, form_view, get_view, page_of
from evalsite.base.json_types import JsonDict
from judging.models import ModelEndpoint, Rubric, Suite, System
from judging.services.calls.day_budgets import too_small
from judging.specs.selections import selection_from_json
from judging.states import ACTIVE

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
        request, sets.list_sets(sort=request.GET.get("sort", "-created"), source=source, method=method, words=words)
    )
    outcomes = sets.outcomes_of([debate_set.pk for debate_set in page.object_list])
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


@form_view("debate.add_debateset")
def set_create(request: PageRequest) -> HttpResponse:
    """A new set of debates; on success its page, where it runs already."""
    form = DebateSetForm(request.POST or None, initial=entered_in(request.GET))
    if request.method == "POST" and form.is_valid():
        try:
            debate_set = _launch(form, request.user)
        except DebatesRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect(debate_set)
    context = {"form": form, "missing": _missing(), **_estimate(form if form.is_bound else None)}
    return render(request, "debate/set_create.html", context)


def _launch(form: DebateSetForm, actor: Any) -> DebateSet | Experiment:
    wish, data, at = form.wish(), form.cleaned_data, now()
    if data["plan"] == "round-robin":
        return launch_round_robin(wish=wish, systems=list(data["systems"]), actor=actor, at=at)
    if data["plan"] == "robustness":
        seed = data["variant_seed"] or 0
        return launch_robustness(wish=wish, seed=seed, use_given=data["use_given"], actor=actor, at=at)
    return launch_debates(wish=wish, actor=actor, at=at)


@get_view("debate.add_debateset")
def set_estimate(request: PageRequest) -> HttpResponse:
    """What the wish in the form would take; asked at every change of it."""
    return render(request, "debate/_set_estimate.html", _estimate(DebateSetForm(request.GET)))


@get_view("debate.view_debateset")
def set_detail(request: PageRequest, set_id: int) -> HttpResponse:
    """One set: outcomes, spend, and its debates in a table, or how its agents change their verdicts."""
    debate_set = _set(set_id)
    context = _context(request, debate_set)
    context |= {
        "baselines": sets.baselines_of(debate_set),
        "part_words": _part_words(debate_set, context["outcomes"].total),
        "export_tables": TABLES,
        "export_formats": TABLE_FORMATS,
    }
    if context["tab"] == "agents":
        context["conformity"] = sets.conformity_of(debate_set)
    return render(request, "debate/set_detail.html", context)


@get_view("debate.view_debateset")
def set_progress(request: PageRequest, set_id: int) -> HttpResponse:
    """The parts of a set's page that move while it runs, as one answer: they never contradict each other."""
    return render(request, "debate/_set_live.html", _context(request, _set(set_id)))


def _context(request: PageRequest, debate_set: DebateSet) -> JsonDict:
    context = _progress(debate_set, now())
    if request.GET.get("tab") == "agents":
        return context | {"tab": "agents"}
    filters = {name: request.GET.get(name, "").strip() for name in ("status", "outcome", "scenario")}
    filters["words"] = request.GET.get("q", "").strip()[:MOST_WORDS]
    debates = sets.debates_in(debate_set, **filters, sort=request.GET.get("sort", ""))
    return context | {
        "tab": "debates",
        "page_obj": page_of(request, debates, count=None if any(filters.values()) else context["outcomes"].total),
        **filters,
        "kept_filters": [(name, value) for name, value in filters.items() if value and name != "words"],
        "outcome_counts": _outcome_counts(debate_set, context["outcomes"]),
        "scenarios": sets.scenarios_of(debate_set),
        "statuses": _status_counts(context["outcomes"]),
    }


def _set(set_id: int) -> DebateSet:
    sets = DebateSet.objects.select_related("run__suite__benchmark", "system_a", "system_b", "rubric", "experiment")
    return get_object_or_404(sets, pk=set_id)


def _progress(debate_set: DebateSet, at: datetime) -> JsonDict:
    run = debate_set.run
    return {
        "debate_set": debate_set,
        "run": run,
        "outcomes": sets.outcomes_of([debate_set.pk])[debate_set.pk],
        "speed": sets.progress_of(run, at=at) if run else None,
        "is_active": run is not None and run.status in ACTIVE,
    }


def _part_words(debate_set: DebateSet, debates: int) -> str:
    """Return which part of its suite a set covers; "" for a whole suite and for imported records."""
    selection = selection_from_json(debate_set.setup.get("selection", {}))
    if selection.is_all or debate_set.run is None:
        return ""
    return selection.part_words(count=debates, total=debate_set.run.suite.case_count)


def _status_counts(outcomes: sets.OutcomeCounts) -> list[tuple[str, str, int]]:
    counts = [
        (DebateStatus.AGREED, outcomes.agreed),
        (DebateStatus.UNRESOLVED, outcomes.unresolved),
        (DebateStatus.FAILED, outcomes.failed),
        (DebateStatus.CANCELLED, outcomes.cancelled),
    ]
    return [(status.value, status.label, count) for status, count in counts if count]


def _outcome_counts(debate_set: DebateSet, outcomes: sets.OutcomeCounts) -> list[tuple[str, str, int]]:
    counts = [
        ("a", f"{debate_set.system_a} better", outcomes.a_better),
        ("b", f"{debate_set.system_b} better", outcomes.b_better),
        ("tie", "Neither better", outcomes.neither),
    ]
    return [row for row in counts if row[2]]


def _estimate(form: DebateSetForm | None) -> JsonDict:
    if form is None or not form.is_valid():
        return {"estimate": None}
    wish, data = form.wish(), form.cleaned_data
    if data["plan"] == "round-robin":
        wishes = round_robin_wishes(wish, list(data["systems"]))
    elif data["plan"] == "robustness":
        wishes = robustness_wishes(wish, seed=data["variant_seed"] or 0, use_given=data["use_given"])
    else:
        wishes = [wish]
    estimate = estimate_all(wishes, threads=settings.CALL_THREADS, at=now())
    return {
        "estimate": estimate,
        "too_small": too_small(estimate.costs, at=now()),
        "is_fresh": wish.fresh,
        "people_cost": people_cost_of(wishes) if data["plan"] != "robustness" else None,
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
