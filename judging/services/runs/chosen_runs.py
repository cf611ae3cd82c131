"""Runs over just the responses that somebody chose, whose tasks are written with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from judging.models import Run, RunKind, RunTask
from judging.services.runs.task_planner import TASK_BATCH


def write_chosen_tasks(*, run: Run, response_ids: Sequence[int], kind: RunKind, at: datetime) -> Run:
    """Give a new run a task of every evaluator for each of these responses, and its kind; return it."""
    evaluators = list(run.evaluators.order_by("position"))
    RunTask.objects.bulk_create(
        (RunTask(run=run, evaluator=evaluator, response_id=pk) for evaluator in evaluators for pk in response_ids),
        batch_size=TASK_BATCH,
    )
    run.evaluators.update(total=len(response_ids))
    run.total, run.planned_at, run.kind = len(response_ids) * len(evaluators), at, kind
    run.save(update_fields=["total", "planned_at", "kind"])
    return run
