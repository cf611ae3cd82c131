"""Stores what a worker has: calls first, then what was made of them, then the counters, in one transaction."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from judging.llm.chat import ReplyStatus
from judging.models import Lease, Run, RunEvaluator, RunTask, TaskStatus
from judging.services import ledger
from judging.services.executors import Crash, Executor, Finished
from judging.services.ledger import CallRecord

logger = logging.getLogger(__name__)

PACE_SECONDS = 1.0
PACE_POINTS = 40


@dataclass(frozen=True, slots=True)
class Batch:
    """What one worker has to store."""

    run: Run
    lease: Lease
    executor: Executor
    records: Sequence[CallRecord]
    finished: Sequence[tuple[list[CallRecord], RunTask, Any]]


def store_batch(*, batch: Batch, at: datetime) -> None:
    """Store a batch. Results of tasks that the worker's claim no longer holds are dropped; their calls are kept.

    A call that another worker stored at the same moment makes the first try fail on its unique key; the second try
    finds it.
    """
    try:
        _store(batch, at)
    except IntegrityError:
        logger.info("judging.batch_retried run_id=%s", batch.run.pk)
        _store(batch, at)


@transaction.atomic
def _store(batch: Batch, at: datetime) -> None:
    # The run first, as everywhere: a worker that stores and a person who cancels then wait for each other in one order.
    Run.objects.select_for_update(no_key=True).only("pk").get(pk=batch.run.pk)
    ledger.store_calls(run_id=batch.run.pk, records=batch.records, at=at)
    held = _still_held(batch)
    finished = [
        Finished(task=task, result=result, call_ids=tuple(record.pk for record in records))
        for records, task, result in batch.finished
        if task.pk in held
    ]
    usable = [item for item in finished if not isinstance(item.result, Crash)]
    batch.executor.store(run=batch.run, finished=usable, at=at)
    done, failed = _settle_tasks(batch, finished)
    _count(batch, done, failed)
    _keep_pace(batch.run.pk, at)


def _still_held(batch: Batch) -> set[int]:
    wanted = [task.pk for _, task, _ in batch.finished]
    tasks = RunTask.objects.filter(pk__in=wanted, lease_id=batch.lease.pk, status=TaskStatus.LEASED)
    return set(tasks.select_for_update(of=("self",)).values_list("pk", flat=True))


def _settle_tasks(batch: Batch, finished: Sequence[Finished]) -> tuple[list[RunTask], list[RunTask]]:
    done: list[RunTask] = []
    failed: list[RunTask] = []
    for item in finished:
        crash = item.result if isinstance(item.result, Crash) else None
        item.task.failure_kind = (crash.kind if crash else batch.executor.failure(item.result))[:60]
        (failed if item.task.failure_kind else done).append(item.task)
    RunTask.objects.filter(pk__in=[task.pk for task in done]).update(
        status=TaskStatus.DONE, lease=None, failure_kind=""
    )
    by_kind: dict[str, list[int]] = {}
    for task in failed:
        by_kind.setdefault(task.failure_kind, []).append(task.pk)
    for kind, keys in by_kind.items():
        RunTask.objects.filter(pk__in=keys).update(status=TaskStatus.FAILED, lease=None, failure_kind=kind)
    return done, failed


def _count(batch: Batch, done: Sequence[RunTask], failed: Sequence[RunTask]) -> None:
    new = [record for record in batch.records if not record.reused]
    reused = sum(record.reused for records, _, _ in batch.finished for record in records)
    # A reply without token counts cost something: under a budget it counts as the most it can have cost.
    spent = sum((record.reserved if record.cost is None else record.cost for record in new), Decimal(0))
    unpriced = sum(record.cost is None and record.reply.status == ReplyStatus.FINISHED for record in new)
    Run.objects.filter(pk=batch.run.pk).update(
        done=F("done") + len(done),
        failed=F("failed") + len(failed),
        spent=F("spent") + spent,
        unpriced_calls=F("unpriced_calls") + unpriced,
        calls_made=F("calls_made") + len(new),
        calls_reused=F("calls_reused") + reused,
    )
    freed = sum((record.reserved for record in new), Decimal(0))
    if freed:
        Lease.objects.filter(pk=batch.lease.pk).update(reserved=F("reserved") - freed)
    done_by = Counter(task.evaluator_id for task in done if task.evaluator_id is not None)
    failed_by = Counter(task.evaluator_id for task in failed if task.evaluator_id is not None)
    for evaluator_id in set(done_by) | set(failed_by):
        RunEvaluator.objects.filter(pk=evaluator_id).update(
            done=F("done") + done_by[evaluator_id], failed=F("failed") + failed_by[evaluator_id]
        )


def _keep_pace(run_id: int, at: datetime) -> None:
    """Note how far the run is, once a second at most, so that pages can tell its rate."""
    run = Run.objects.only("pace", "done", "failed").get(pk=run_id)
    second = at.timestamp()
    if run.pace and second - run.pace[-1][0] < PACE_SECONDS:
        return
    pace = [*run.pace, [second, run.done + run.failed]][-PACE_POINTS:]
    Run.objects.filter(pk=run_id).update(pace=pace)
