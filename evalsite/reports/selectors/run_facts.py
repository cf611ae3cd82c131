"""The evaluators of one run, the calls that it paid for, and its tasks without a result."""

from __future__ import annotations

import numpy as np
from django.db.models import Count

from judging.models import Call, EvaluatorKind, Run, RunEvaluator, RunTask, TaskStatus
from judging.statistics.estimates import Ints

CHUNK = 5000


def evaluators_of_run(run_id: int) -> list[RunEvaluator]:
    """Return a run's graders and judges in their order, each with the run and its suite loaded. One query."""
    rows = RunEvaluator.objects.filter(run=run_id).select_related("run__suite__benchmark", "rubric")
    return list(rows.order_by("position"))


def task_count(run_id: int) -> int:
    """Return how many tasks a run has, from its counter."""
    return Run.objects.values_list("total", flat=True).get(pk=run_id)


def calls_paid_by(run_id: int) -> Ints:
    """Return the keys of the calls that this run was the first to make; others that it used were reused."""
    keys = Call.objects.filter(run=run_id).order_by().values_list("pk", flat=True)
    return np.fromiter(keys.iterator(chunk_size=CHUNK), dtype=np.int64)


def failures_by_evaluator(run_id: int) -> dict[int, list[tuple[str, int]]]:
    """Return the kinds of failure of each evaluator's tasks with their numbers, the most frequent first."""
    failed = RunTask.objects.filter(run=run_id, status=TaskStatus.FAILED, evaluator__isnull=False).order_by()
    failures: dict[int, list[tuple[str, int]]] = {}
    for evaluator_id, kind, count in failed.values_list("evaluator_id", "failure_kind").annotate(n=Count("pk")):
        failures.setdefault(evaluator_id, []).append((kind, count))
    return {key: sorted(kinds, key=lambda kind: (-kind[1], kind[0])) for key, kinds in failures.items()}


def judges_among(evaluators: list[RunEvaluator]) -> list[RunEvaluator]:
    """Return those that are judges: rules and what is computed from judges ask nobody."""
    return [evaluator for evaluator in evaluators if evaluator.kind == EvaluatorKind.JUDGE]
