"""Runs whose graders cover different systems: every page, export and job of a random mixture opens."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from evalsite.reports.jobs import refresh_run
from evalsite.reports.services.suite_boards import compute_run_results
from judging.models import BASELINE, BASELINE_ID, EvaluatorKind, Run, RunEvaluator, RunTask, SuiteCase, System
from tests import factories
from tests.evalsite.reports.open_pages import opened, some_of_each, view_of
from tests.sizes import sized

pytestmark = pytest.mark.django_db

EXAMPLES = sized(1, whole=50)
PAGES_ALIKE = 1  # that are opened of one view with one kind of columns
CASES = 3
RULES, JUDGE, PANEL = "rules", "judge", "panel"
SCORED, UNDECIDED, UNPARSED, CRASHED, WAITING = "scored", "undecided", "unparsed", "crashed", "waiting"
ENDINGS = (SCORED, SCORED, UNDECIDED, UNPARSED, CRASHED, WAITING)
VOTE: dict[str, Any] = {  # of a member of a panel whose reply could not be read
    "status": "unparsed",
    "value": None,
    "rationale": "",
    "flags": [],
    "reason": "No tag.",
    "confidence": None,
    "calls": [],
}


@dataclass(frozen=True)
class Mixture:
    """What a run is made of: which systems respond to which cases, its graders, and how their tasks end in turn."""

    responses: tuple[tuple[bool, ...], ...]  # by system and case
    graders: tuple[tuple[str, int | None], ...]  # the kind of each, and the system that it compares with
    endings: tuple[str, ...]


def whole(*graders: tuple[str, int | None]) -> Mixture:
    """Return three systems that respond to every case, all of it scored by these."""
    return Mixture(((True,) * CASES,) * 3, graders, (SCORED,))


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    systems = draw(st.integers(1, 3))
    row = st.tuples(*(st.booleans() for _ in range(CASES)))
    baseline = st.one_of(st.none(), st.integers(0, systems - 1))
    judges = st.tuples(st.sampled_from((JUDGE, PANEL)), baseline)
    graders = st.lists(st.one_of(st.just((RULES, None)), judges), min_size=1, max_size=3)
    return Mixture(
        tuple(draw(st.lists(row, min_size=systems, max_size=systems))),
        tuple(draw(graders)),
        tuple(draw(st.lists(st.sampled_from(ENDINGS), min_size=1, max_size=7))),
    )


def made(mixture: Mixture) -> tuple[Run, list[System]]:
    """Store the run of a mixture, and return it with its systems."""
    suite = factories.suite(cases=CASES)
    links = SuiteCase.objects.filter(suite=suite).select_related("case__prompt").order_by("position")
    cases = [link.case for link in links]
    systems = [factories.system(f"system-{number}") for number in range(len(mixture.responses))]
    run = factories.run(suite=suite, status="finished", finished_at=factories.NOON)
    run.systems.set(systems)
    responses = [
        (number, factories.response(prompt=case.prompt, system=systems[number]))
        for number, row in enumerate(mixture.responses)
        for case, has_response in zip(cases, row, strict=True)
        if has_response
    ]
    endings = 0
    for kind, baseline in mixture.graders:
        evaluator = _evaluator(run, kind, systems[baseline] if baseline is not None else None)
        for number, response in responses:
            if number != baseline:
                _end(evaluator, response, mixture.endings[endings % len(mixture.endings)])
                endings += 1
        _count(evaluator)
    Run.objects.filter(pk=run.pk).update(
        **{name: sum(getattr(row, name) for row in run.evaluators.all()) for name in ("total", "done", "failed")}
    )
    return Run.objects.get(pk=run.pk), systems


def _evaluator(run: Run, kind: str, baseline: System | None) -> RunEvaluator:
    if kind == RULES:
        return factories.evaluator(run=run)
    options: dict[str, Any] = {} if baseline is None else {BASELINE: baseline.name, BASELINE_ID: baseline.pk}
    if kind == PANEL:
        members = [{"judge": name, "weight": 1, "judge_kind": "accuracy", "judge_options": {}} for name in "ab"]
        options |= {"judge_kind": "panel", "judge_options": {"members": members}}
    name = f"{kind} {run.evaluators.count()}"
    return factories.evaluator(
        run=run, kind=EvaluatorKind.JUDGE, name=name, judge=factories.judge(name=name), options=options
    )


def _end(evaluator: RunEvaluator, response: Any, ending: str) -> None:
    status = {SCORED: "done", UNDECIDED: "done", WAITING: "waiting"}.get(ending, "failed")
    failure = ending if status == "failed" else ""
    task = factories.task(evaluator=evaluator, response=response, status=status, failure_kind=failure)
    share = 0.5 if ending == SCORED else None
    if evaluator.kind == EvaluatorKind.GRADER:
        if status == "done":
            factories.score(evaluator=evaluator, response=response, share=share)
        return
    is_panel = evaluator.options.get("judge_kind") == "panel"
    votes = [VOTE | {"judge": name} for name in "ab"] if is_panel else []
    if ending in (SCORED, UNDECIDED):
        verdict = factories.verdict(task=task, votes=votes)
        factories.score(evaluator=evaluator, response=response, verdict=verdict, share=share)
    elif ending == UNPARSED:
        factories.verdict(task=task, status="unparsed", value=None, votes=votes)


def _count(evaluator: RunEvaluator) -> None:
    counts = Counter(RunTask.objects.filter(evaluator=evaluator).values_list("status", flat=True))
    evaluator.total, evaluator.done, evaluator.failed = counts.total(), counts["done"], counts["failed"]
    evaluator.save()


def addresses(run: Run, systems: list[System]) -> list[str]:
    """Return the pages that a run and its suite begin with, comparisons of all pairs under all graders included where
    anything was scored.
    """
    results, compare = (
        reverse(f"reports:{name}", args=[run.suite_id]) for name in ("results-detail", "leaderboard-compare")
    )
    graders = [row.pk for row in run.evaluators.all()]
    pairs = [(first.pk, second.pk) for first, second in pairwise(systems) if run.done]
    return [
        run.get_absolute_url(),
        *(f"{results}?columns={columns}" for columns in ("systems", "judges", "runs")),
        f"{results}?columns=judges&{'&'.join(f'grader={pk}' for pk in graders)}",
        *(f"{results}?columns=systems&grader={pk}" for pk in graders),
        reverse("reports:board-detail", args=[run.suite_id]),
        *(f"{compare}?evaluator={pk}&system={a}&system={b}" for pk in graders for a, b in pairs),
        *(reverse("judging:system-detail", args=[system.pk]) for system in systems),
        reverse("reports:judge-list"),
        reverse("reports:leaderboard-list"),
    ]


def _kind(link: str) -> str:
    """Return what pages like this one have in common; empty for what is not about the run and its results."""
    name, kinds, query = view_of(link)
    about = ("reports:", "judging:run-", "judging:system-", "judging:verdict-", "judging:response-", "judging:case-")
    return f"{name} {kinds} {query.get('columns', '')}" if name.startswith(about) else ""


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), derandomize=True)
@given(mixture=mixtures())
@example(mixture=whole((JUDGE, None), (JUDGE, 0)))
@example(mixture=whole((PANEL, 2), (RULES, None), (JUDGE, 1)))
@example(mixture=Mixture(((True,) * CASES,), ((JUDGE, 0), (RULES, None)), (SCORED,)))
def test_every_page_and_export_of_a_random_mixture_opens(researcher: Client, mixture: Mixture) -> None:
    with transaction.atomic():
        run, systems = made(mixture)

        refresh_run(run.pk)
        content = compute_run_results(run.pk, {})
        wrong = opened(researcher, addresses(run, systems), some_of_each(_kind, PAGES_ALIKE))
        transaction.set_rollback(True)

    assert wrong == {}
    baselines = [systems[baseline] if baseline is not None else None for _, baseline in mixture.graders]
    judged = [system for system in systems if any(system != baseline for baseline in baselines)]
    reasons = {
        (row["system"], number): cell["figure"]["reason"] == "baseline"
        for row in content["rows"]
        for number, cell in enumerate(row["cells"])
    }
    assert reasons == {
        (system.name, number): baseline == system for system in judged for number, baseline in enumerate(baselines)
    }
