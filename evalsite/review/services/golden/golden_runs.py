"""Runs versions of judges on a part of a golden set: often on development, on the test once it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.row_locks import lock_row
from evalsite.review.models import GoldenRun, GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.states import ReviewRefused
from judging.judges.versions import changes_between
from judging.models import Judge, Rubric, Run, RunEvaluator, RunKind, System
from judging.selectors.judges.judge_needs import needs_of, needs_rubric, uses_rubric
from judging.selectors.judges.judge_versions import versions_of
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.services.runs.task_planner import write_chosen_tasks
from judging.states import RunStatus


@dataclass(frozen=True, slots=True)
class GoldenLimits:
    """What a run on a golden set may cost, and whether every reply is asked for again."""

    budget: Decimal | None = None  # USD
    fresh: bool = False


def development_choices(golden_set: GoldenSet, judges: Sequence[Judge], rubric: Rubric | None) -> list[EvaluatorChoice]:
    """Return judges as evaluators under the set's criterion, with the rubric where they need one.

    Raises:
        ReviewRefused: a judge compares two responses, or needs a rubric that the set does not have.
    """
    choices = []
    for judge in judges:
        if "pair" in needs_of(judge):
            raise ReviewRefused(f"{judge.name} compares two responses; a golden set holds single ones.")
        if needs_rubric(judge) and (rubric is None or not uses_rubric(judge, rubric)):
            raise ReviewRefused(f"{judge.name} needs another rubric than the one of the golden set; choose it.")
        used = rubric if needs_rubric(judge) else None
        choices.append(EvaluatorChoice(judge=judge, rubric=used, criterion=golden_set.criterion))
    return choices


def golden_plan(
    *, golden_set: GoldenSet, choices: Sequence[EvaluatorChoice], part: GoldenPart, limits: GoldenLimits
) -> RunPlan:
    """Return the plan of a run on the responses of one part, for its estimate and to be made."""
    items = golden_set.items.filter(part=part, response__superseded_at__isnull=True)
    ids = list(items.order_by("pk").values_list("response_id", flat=True))
    return RunPlan(
        suite=golden_set.suite,
        systems=list(System.objects.filter(responses__in=ids).distinct().order_by("pk")),
        evaluators=choices,
        name=f"{golden_set.name}: {part.label.lower()}",
        budget=limits.budget,
        fresh=limits.fresh,
        asks_people=False,
        only=ids,
        without_images=True,  # verdicts say so
    )


@transaction.atomic
def run_on_development(*, golden_set: GoldenSet, plan: RunPlan, actor: User | None, at: datetime) -> Run:
    """Make the run that asks judges about the development part; it still has to be worked.

    Raises:
        RunNotPossible: see `check_plan`.
    """
    return _start(golden_set, plan, GoldenPart.DEVELOPMENT, "", actor, at)


@transaction.atomic
def open_test(
    *, golden_set: GoldenSet, evaluator: RunEvaluator, limits: GoldenLimits, actor: User | None, at: datetime
) -> Run:
    """Make the run that asks one version, chosen on development, about the test part, and record that it was opened.

    Raises:
        ReviewRefused: the version was not compared on development, has changed since, or has had the test already.
        RunNotPossible: see `check_plan`.
    """
    locked = lock_row(GoldenSet, golden_set.pk, "suite")
    version = versions_of([evaluator])[evaluator.pk]
    _check_chosen(locked, evaluator, version.key)
    plan = golden_plan(golden_set=locked, choices=[version_choice(evaluator)], part=GoldenPart.TEST, limits=limits)
    run = _start(locked, plan, GoldenPart.TEST, version.key, actor, at)
    run_evaluator = run.evaluators.get()
    changes = changes_between(version, versions_of([run_evaluator])[run_evaluator.pk])
    if changes:
        raise ReviewRefused(f"The test stays shut: {' '.join(changes)} Run the judge on development again first.")
    before = locked.runs.filter(part=GoldenPart.TEST).count() - 1
    record(
        actor,
        "golden.test_opened",
        NamedSubject(locked.name, locked.pk),
        judge=evaluator.name,
        version=version.key[:12],
        run=run.pk,
        opened_before=before,
    )
    return run


def version_choice(evaluator: RunEvaluator) -> EvaluatorChoice:
    """Return a version as it is asked again: its judge with the options that it had."""
    return EvaluatorChoice(
        judge=evaluator.judge,
        rubric=evaluator.rubric,
        criterion=evaluator.criterion,
        options=dict(evaluator.options["judge_options"]),
    )


def _check_chosen(golden_set: GoldenSet, evaluator: RunEvaluator, version_key: str) -> None:
    chosen = golden_set.runs.filter(run=evaluator.run_id, part=GoldenPart.DEVELOPMENT)
    if evaluator.judge is None or not chosen.exists():
        raise ReviewRefused("Choose a version that was run on the development part of this golden set.")
    if evaluator.run.status != RunStatus.FINISHED:
        raise ReviewRefused("The development run of this version has not finished yet.")
    opened = golden_set.runs.filter(part=GoldenPart.TEST, version_key=version_key)
    if opened.exclude(run__status=RunStatus.CANCELLED).exists():
        raise ReviewRefused("The test was opened for this version already; its figures are on the page of the set.")


def _start(
    golden_set: GoldenSet, plan: RunPlan, part: GoldenPart, version_key: str, actor: User | None, at: datetime
) -> Run:
    run = create_run(plan=plan, actor=actor, at=at)
    ids = list(dict.fromkeys(plan.responses.values_list("pk", flat=True)))
    write_chosen_tasks(run=run, response_ids=ids, kind=RunKind.GOLDEN, at=at)
    GoldenRun.objects.create(
        golden_set=golden_set, run=run, part=part, version_key=version_key, started_by=actor, started_at=at
    )
    return run
