"""Makes runs: what is to be evaluated by whom, frozen, with an estimate before and the tasks after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from judging import signals
from judging.models import (
    EvaluatorKind,
    Judge,
    Response,
    Rubric,
    Run,
    RunEvaluator,
    RunKind,
    RunStatus,
    RunTask,
    Suite,
    System,
)
from judging.selectors.targets import target_of
from judging.services.evaluating import freeze

TASK_BATCH = 1000


class RunNotPossible(ValueError):
    """The run cannot be made as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class EvaluatorChoice:
    """A grader (no judge) or a judge, with the rubric that it judges by."""

    judge: Judge | None = None
    rubric: Rubric | None = None
    criterion: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        if self.judge is None:
            return "rules"
        parts = [self.judge.name, self.criterion or (self.rubric.name if self.rubric else "")]
        return " · ".join(part for part in parts if part)[:160]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run is to be."""

    suite: Suite
    systems: Sequence[System]
    evaluators: Sequence[EvaluatorChoice]
    name: str = ""
    first_attempts: int | None = None  # only attempts 0..n-1; None: all
    compat: bool = False
    budget: Decimal | None = None  # USD

    @property
    def options(self) -> dict[str, Any]:
        return {"first_attempts": self.first_attempts, "compat": self.compat}


def responses_of(*, suite: Suite, systems: Sequence[System], first_attempts: int | None) -> QuerySet[Response]:
    """Return the current responses of these systems to the suite's cases, case by case."""
    found = Response.objects.filter(
        prompt__cases__links__suite=suite, system__in=systems, superseded_at__isnull=True
    ).order_by("prompt__cases__links__position", "system_id", "attempt", "pk")
    return found if first_attempts is None else found.filter(attempt__lt=first_attempts)


def check_plan(plan: RunPlan) -> None:
    """Pass where the run can be made.

    Raises:
        RunNotPossible: nothing to evaluate, nobody to do it, or a budget that cannot be kept.
    """
    if not plan.systems:
        raise RunNotPossible("Choose at least one system.")
    if not plan.evaluators:
        raise RunNotPossible("Choose at least one grader or judge.")
    if len({choice.name for choice in plan.evaluators}) < len(plan.evaluators):
        raise RunNotPossible("The same judge with the same rubric was chosen twice.")
    if not responses_of(suite=plan.suite, systems=plan.systems, first_attempts=plan.first_attempts).exists():
        raise RunNotPossible("These systems have no responses to this suite. Import some first.")
    unpriced = unpriced_endpoints(plan.evaluators) if plan.budget is not None else []
    if unpriced:
        raise RunNotPossible(
            f"A budget needs to know what a call costs, and the price of {', '.join(unpriced)} is unknown. "
            "Enter its prices on its page, or leave the budget empty."
        )


def unpriced_endpoints(evaluators: Sequence[EvaluatorChoice]) -> list[str]:
    """Return the names of the chosen judges' endpoints whose price is unknown; baselines are free."""
    endpoints = {choice.judge.endpoint_id: choice.judge.endpoint for choice in evaluators if choice.judge}
    targets = [target_of(endpoint) for endpoint in endpoints.values()]
    return [target.config.name for target in targets if target.price is None and not target.is_lexical]


@transaction.atomic
def create_run(*, plan: RunPlan, actor: User | None, at: datetime) -> Run:
    """Make a run with everything its results depend on frozen; its tasks are written by its first worker.

    Raises:
        RunNotPossible: see `check_plan`.
    """
    check_plan(plan)
    count = responses_of(suite=plan.suite, systems=plan.systems, first_attempts=plan.first_attempts).count()
    run = Run.objects.create(
        kind=RunKind.GRADING,
        name=(plan.name or f"{plan.suite}, {at:%d %b %Y %H:%M}")[:200],
        suite=plan.suite,
        options=plan.options,
        status=RunStatus.QUEUED,
        budget=plan.budget,
        total=count * len(plan.evaluators),
        created_at=at,
        created_by=actor,
    )
    run.systems.set(plan.systems)
    for position, choice in enumerate(plan.evaluators):
        RunEvaluator.objects.create(
            run=run,
            position=position,
            kind=EvaluatorKind.JUDGE if choice.judge else EvaluatorKind.GRADER,
            name=choice.name,
            judge=choice.judge,
            rubric=choice.rubric,
            criterion=choice.criterion,
            is_baseline=bool(choice.judge and choice.judge.endpoint.is_baseline),
            options=freeze(judge=choice.judge, options=choice.options),
            total=count,
        )
    signals.acted.send(
        sender=Run,
        actor_id=actor.pk if actor else None,
        action="run.created",
        subject=run.name,
        subject_id=run.pk,
        detail={"tasks": run.total, "budget": str(plan.budget) if plan.budget is not None else None},
    )
    return run


@transaction.atomic
def plan_tasks(*, run_id: int, at: datetime) -> None:
    """Write the tasks of a run, once; later calls do nothing."""
    run = Run.objects.select_for_update().get(pk=run_id)
    if run.planned_at is not None:
        return
    if run.kind != RunKind.GRADING:  # the room that made the run wrote its tasks with it
        Run.objects.filter(pk=run_id).update(planned_at=at)
        return
    responses = responses_of(
        suite=run.suite, systems=list(run.systems.all()), first_attempts=run.options.get("first_attempts")
    )
    ids = list(responses.values_list("pk", flat=True))
    evaluators = list(run.evaluators.order_by("position"))
    tasks = (RunTask(run=run, evaluator=evaluator, response_id=pk) for evaluator in evaluators for pk in ids)
    RunTask.objects.bulk_create(tasks, batch_size=TASK_BATCH)
    run.evaluators.update(total=len(ids))
    run.total, run.planned_at = len(ids) * len(evaluators), at
    run.save(update_fields=["total", "planned_at"])
