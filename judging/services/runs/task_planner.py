"""Writes the tasks of runs in short transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Count

from evalsite.base.rows import lock_row
from judging.models import Run, RunEvaluator, RunKind, RunTask
from judging.services.runs.ask_plans import count_asked_prompts, missing_asks, write_asks
from judging.services.runs.run_plans import responses_of
from judging.specs.selections import selection_from_json
from judging.states import ACTIVE

TASK_BATCH = 1000
TASKS_AT_ONCE = 2000  # that one transaction writes

Piece = Callable[[int], None]  # writes some tasks of the run of this key, which is locked meanwhile


class TaskPlanner:
    """One worker's way through the tasks of a run that are to be written, in short transactions.

    Nobody else can write during one on SQLite, and a worker has other runs to see to. What a lost worker has written
    stays, and the next goes on from there; several may plan the same run.
    """

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self._pieces: Iterator[Piece] | None = None
        self._piece: Piece | None = None

    def step(self, *, at: datetime) -> bool:
        """Write some tasks; return whether none is left to write, or the run is not to be worked on."""
        try:
            return self._write(at)
        except Exception:
            self._pieces = None  # what is missing is then read again
            raise

    def _write(self, at: datetime) -> bool:
        if self._pieces is None:
            run = Run.objects.select_related("suite").get(pk=self.run_id)
            if run.planned_at is not None:
                return True
            self._pieces = _missing_tasks(run) if run.kind == RunKind.GRADING else iter(())
            self._piece = next(self._pieces, None)
        if self._piece is None:
            _end_planning(self.run_id, _count_cases(self.run_id), at)  # counted before: it takes a while
            return True
        if not _write_piece(self.run_id, self._piece):
            return True
        self._piece = next(self._pieces, None)
        return False


def plan_tasks(*, run_id: int, at: datetime) -> None:
    """Write the tasks of a run, once; later calls do nothing."""
    planner = TaskPlanner(run_id)
    while not planner.step(at=at):
        pass


def _missing_tasks(run: Run) -> Iterator[Piece]:
    """Yield what writes the asks that are missing, then the tasks of graders and judges for stored responses."""
    asked_systems = run.asked_systems
    if asked_systems:
        for ask_keys in missing_asks(run):
            yield partial(write_asks, ask_keys)
    responses = responses_of(
        suite=run.suite,
        systems=list(run.systems.exclude(pk__in=asked_systems)),
        first_attempts=run.options.get("first_attempts"),
        selection=selection_from_json(run.options.get("selection", {})),
    )
    rows = list(responses.values_list("pk", "system_id"))
    for evaluator in list(run.evaluators.order_by("position")):
        written = set(RunTask.objects.filter(evaluator=evaluator).values_list("response_id", flat=True))
        baseline_id = evaluator.compared_with_id  # a baseline is not compared with itself
        missing = [pk for pk, system_id in rows if pk not in written and system_id != baseline_id]
        for start in range(0, len(missing), TASKS_AT_ONCE):
            yield partial(_write_tasks, evaluator.pk, missing[start : start + TASKS_AT_ONCE])


@transaction.atomic
def _write_piece(run_id: int, piece: Piece) -> bool:
    """Write some tasks; False where the run was stopped, or another worker has planned it meanwhile."""
    run = lock_row(Run, run_id, no_key=True)
    if run.planned_at is not None or run.status not in ACTIVE:
        return False
    piece(run_id)
    return True


def _write_tasks(evaluator_id: int, response_ids: Sequence[int], run_id: int) -> None:
    tasks = [RunTask(run_id=run_id, evaluator_id=evaluator_id, response_id=pk) for pk in response_ids]
    RunTask.objects.bulk_create(tasks, batch_size=TASK_BATCH, ignore_conflicts=True)


def _count_cases(run_id: int) -> int:
    """Return how many cases the tasks of a run are about; a run that asks is about all that it asks of."""
    run = Run.objects.select_related("suite").get(pk=run_id)
    if run.asked_systems:
        selection = selection_from_json(run.options.get("selection", {}))
        return count_asked_prompts(suite=run.suite, selection=selection)
    cases = RunTask.objects.filter(run=run_id, response__isnull=False).order_by()
    return cases.values("response__prompt").distinct().count()


@transaction.atomic
def _end_planning(run_id: int, cases: int, at: datetime) -> None:
    """Note that every task is written, how many each evaluator has or will have, and how many cases they are about."""
    run = lock_row(Run, run_id)
    if run.planned_at is not None:
        return
    run.planned_at = at
    if run.kind == RunKind.GRADING:  # others wrote their tasks with the run
        counts = dict(run.tasks.values_list("evaluator").annotate(n=Count("pk")).order_by())
        asks = counts.pop(None, 0)  # each is to bring every evaluator a task
        run.total, run.case_count = asks, cases
        for evaluator in run.evaluators.all():
            total = counts.get(evaluator.pk, 0) + asks
            RunEvaluator.objects.filter(pk=evaluator.pk).update(total=total)
            run.total += total
    run.save(update_fields=["total", "case_count", "planned_at"])


def write_chosen_tasks(*, run: Run, response_ids: Sequence[int], kind: RunKind, at: datetime) -> Run:
    """Give a new run a task of every evaluator for each of these responses alone, and its kind; return it."""
    evaluators = list(run.evaluators.order_by("position"))
    RunTask.objects.bulk_create(
        (RunTask(run=run, evaluator=evaluator, response_id=pk) for evaluator in evaluators for pk in response_ids),
        batch_size=TASK_BATCH,
    )
    run.evaluators.update(total=len(response_ids))
    run.total, run.planned_at, run.kind = len(response_ids) * len(evaluators), at, kind
    run.save(update_fields=["total", "planned_at", "kind"])
    return run
