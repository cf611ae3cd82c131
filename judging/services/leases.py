"""Claims of workers on a run's tasks. A claim without a heartbeat lapses and everything in it returns.

When a claim lapses is said and read by the database's clock alone: those of the workers' machines differ.

Work that nobody does any more is found after a lost worker, a lost broker, or a restart.

What workers finished is stored here too: calls, verdicts and scores of a batch in one transaction.
"""

from __future__ import annotations

import logging
import socket
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils import timezone

from evalsite.base.rows import grouped
from judging.models import Ask, Lease, Run, RunEvaluator, RunTask, TaskStatus
from judging.models.runs import ACTIVE
from judging.services import day_budgets, ledger
from judging.services.ledger import CallRecord
from judging.services.long_jobs import persistently
from judging.services.registries import Crash, Executor, FinishedTask

logger = logging.getLogger(__name__)


def unfinished_runs() -> Sequence[Run]:
    """Take lapsed claims back and return the active runs that no live claim works on and whose time has come."""
    return_lapsed()
    return list(_due_runs().filter(~Exists(_live_claims())).order_by("pk"))


def waiting_runs() -> Sequence[int]:
    """Return the ids of the active runs that have something to do for one more worker, the oldest first."""
    return_lapsed()
    waiting = RunTask.objects.filter(run=OuterRef("pk"), status=TaskStatus.WAITING)
    runs = _due_runs().filter(Exists(waiting) | ~Exists(_live_claims()))
    return list(runs.order_by("pk").values_list("pk", flat=True))


def _due_runs() -> QuerySet[Run]:
    return Run.objects.filter(Q(resume_at__isnull=True) | Q(resume_at__lte=Now()), status__in=ACTIVE)


def _live_claims() -> QuerySet[Lease]:
    return Lease.objects.filter(run=OuterRef("pk"), expires_at__gte=Now())


LEASE_SECONDS = 45  # longer than any wait for a lock, see evalsite/env.py


class LeaseLost(RuntimeError):
    """The claim lapsed and was given to another worker."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """Calls that were sent, or are about to be, and are not stored yet; their cost is not known yet."""

    calls: int = 0
    worst: Decimal = Decimal(0)  # USD that they may cost at most as they were sent, as far as their prices are known
    by_endpoint: Mapping[int, Decimal] | None = None  # the same, where they count against budgets of the day


@dataclass(frozen=True, slots=True)
class SetAside:
    """Money that is kept for calls: also for those that wait, and for the longer retry of those that were sent."""

    total: Decimal = Decimal(0)  # USD
    by_endpoint: Mapping[int, Decimal] | None = None  # the same, where they count against budgets of the day


@dataclass(frozen=True, slots=True)
class Stakes:
    """What a claim's calls may still cost. If its worker dies, what was in flight was spent, and the rest was not."""

    in_flight: InFlight = InFlight()
    set_aside: SetAside = SetAside()


def worker_name(pid: int) -> str:
    """Return what a process of this machine is called in its claims."""
    return f"{socket.gethostname()}:{pid}"


def open_lease(*, run: Run, worker: str) -> Lease:
    """Return a new, empty claim on the run's tasks."""
    return Lease.objects.create(
        run=run, token=uuid.uuid4(), worker=worker, expires_at=Now() + timedelta(seconds=LEASE_SECONDS)
    )


def heartbeat(*, lease: Lease, stakes: Stakes) -> None:
    """Extend the claim, and note what is in flight: if this worker dies, that was paid for and never answered.

    Raises:
        LeaseLost: it lapsed meanwhile and was taken back.
    """
    if not note_stakes(lease=lease, stakes=stakes, expires_at=Now() + timedelta(seconds=LEASE_SECONDS)):
        raise LeaseLost(f"lease {lease.token} was taken back")


def note_stakes(*, lease: Lease, stakes: Stakes, **news: Combinable) -> bool:
    """Store what the calls of the claim may still cost, and other news of it; return whether the claim still stands."""
    in_flight, set_aside = stakes.in_flight, stakes.set_aside
    found = Lease.objects.filter(pk=lease.pk).update(
        in_flight=in_flight.calls, at_stake=in_flight.worst, reserved=set_aside.total, **news
    )
    if found and set_aside.by_endpoint is not None:
        day_budgets.keep_only(lease_id=lease.pk, amounts=set_aside.by_endpoint, at_stake=in_flight.by_endpoint or {})
    return bool(found)


@transaction.atomic
def claim_tasks(
    *, lease: Lease, most: int, without: Collection[int] = (), unasked: Collection[int] = ()
) -> list[RunTask]:
    """Move up to `most` waiting tasks of the run into the claim and return them: those of graders and judges before
    those that ask a system. None of the evaluators `without` and of the systems `unasked`.

    Raises:
        LeaseLost: the claim lapsed and was taken back.
    """
    if not Lease.objects.select_for_update(no_key=True).filter(pk=lease.pk):
        raise LeaseLost(f"lease {lease.token} was taken back")
    waiting: QuerySet[RunTask] = RunTask.objects.filter(run_id=lease.run_id, status=TaskStatus.WAITING).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        waiting = waiting.select_for_update(skip_locked=True)
    judged = waiting.filter(evaluator__isnull=False)
    tasks = list((judged.exclude(evaluator__in=without) if without else judged)[:most])
    if len(tasks) < most:
        others = waiting.filter(evaluator__isnull=True)
        if unasked:
            blocked = Ask.objects.filter(run_id=lease.run_id, system__in=unasked)
            others = others.exclude(subject_id__in=blocked.values("pk"))
        tasks += others[: most - len(tasks)]
    RunTask.objects.filter(pk__in=[task.pk for task in tasks]).update(
        status=TaskStatus.LEASED, lease=lease, tries=F("tries") + 1
    )
    for task in tasks:
        task.status, task.lease_id = TaskStatus.LEASED, lease.pk
    return tasks


def give_back(*, lease: Lease, task_ids: Sequence[int]) -> None:
    """Let tasks of the claim wait again; this try of theirs does not count."""
    tasks = RunTask.objects.filter(pk__in=task_ids, lease=lease, status=TaskStatus.LEASED)
    tasks.update(status=TaskStatus.WAITING, lease=None, tries=F("tries") - 1)


@transaction.atomic
def close_lease(*, lease: Lease, unheard: InFlight | None = None) -> None:
    """Give unfinished tasks and unspent money back, and book what was sent and given up `unheard`.

    Does nothing where the claim lapsed: then everything in it went back, and was booked, long ago.
    """
    Run.objects.select_for_update(no_key=True).only("pk").get(pk=lease.run_id)  # the run first, as everywhere
    tasks = RunTask.objects.filter(lease=lease, status=TaskStatus.LEASED)
    tasks.update(status=TaskStatus.WAITING, lease=None, tries=F("tries") - 1)
    deleted, _ = Lease.objects.filter(pk=lease.pk).delete()
    if deleted and unheard is not None:
        _book_unheard(lease.run_id, unheard)


def _book_unheard(run_id: int, unheard: InFlight) -> None:
    if unheard.calls:
        Run.objects.filter(pk=run_id).update(
            unheard_calls=F("unheard_calls") + unheard.calls, unheard=F("unheard") + unheard.worst
        )
    day_budgets.book_unheard(amounts=unheard.by_endpoint or {}, at=timezone.now())


def return_lapsed(*, runs: Sequence[int] | None = None) -> int:
    """Take back every claim that lapsed; return how many tasks wait again because of it."""
    lapsed = Lease.objects.filter(expires_at__lt=Now())
    if runs is not None:
        lapsed = lapsed.filter(run_id__in=runs)
    return sum(_return_lapsed(run_id) for run_id in sorted(set(lapsed.values_list("run_id", flat=True))))


def end_claims(*, worker: str) -> int:
    """Take back every claim of a worker that is known to be dead; return how many tasks wait again because of it."""
    Lease.objects.filter(worker=worker).update(expires_at=Now() - timedelta(seconds=1))
    return return_lapsed()


@transaction.atomic
def _return_lapsed(run_id: int) -> int:
    """Take back the lapsed claims of one run, unless a transaction of another process holds the run right now.

    That process may be frozen: whoever waited for it would be held up with it. The next look comes half a minute later.
    """
    rows = Run.objects.only("pk").filter(pk=run_id)
    lapsed = Lease.objects.filter(run_id=run_id, expires_at__lt=Now())
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True, no_key=True)
        lapsed = lapsed.select_for_update(skip_locked=True)
    if not rows:
        logger.info("judging.recovery_postponed run_id=%s", run_id)
        return 0
    lost = list(lapsed)
    keys = [lease.pk for lease in lost]
    returned = RunTask.objects.filter(lease_id__in=keys, status=TaskStatus.LEASED).update(
        status=TaskStatus.WAITING, lease=None
    )
    day_amounts = day_budgets.at_stake_in(lost)
    Lease.objects.filter(pk__in=keys).delete()
    at_stake = sum((lease.at_stake for lease in lost), Decimal(0))
    _book_unheard(run_id, InFlight(sum(lease.in_flight for lease in lost), at_stake, day_amounts))
    return returned


@transaction.atomic
def reserve(*, lease: Lease, call_amounts: Sequence[tuple[int, Decimal]], at: datetime) -> list[bool]:
    """Set each of these amounts (endpoint, USD) aside, of the run's budget and of those of the day, in order, and
    return which ones all of them carried.

    An amount that does not fit is passed over, so that cheaper ones behind it still get their turn. The run's row and
    the budgets of the day are locked, so that workers on several machines together never reserve more than there is.

    Raises:
        LeaseLost: the claim lapsed and was taken back.
    """
    run = Run.objects.select_for_update().only("budget", "spent", "unheard").get(pk=lease.run_id)
    reserved = Lease.objects.filter(run_id=run.pk).aggregate(total=Sum("reserved"))["total"] or Decimal(0)
    run_left = run.budget_left(reserved=reserved)
    uses = day_budgets.uses_for({endpoint_id for endpoint_id, _ in call_amounts}, at=at, lock=True)
    day_left = {key: use.left for key, use in uses.items() if use.left is not None}
    amounts: defaultdict[int, Decimal] = defaultdict(Decimal)
    carried = []
    for endpoint_id, amount in call_amounts:
        budgets = [key for key in (day_budgets.SITE, endpoint_id) if key in day_left]
        fits = (run_left is None or amount <= run_left) and all(amount <= day_left[key] for key in budgets)
        carried.append(amount == 0 or fits)
        if amount and fits:
            run_left = None if run_left is None else run_left - amount
            for key in budgets:
                day_left[key] -= amount
            amounts[endpoint_id] += amount
    total = sum(amounts.values(), Decimal(0))
    if total and not Lease.objects.filter(pk=lease.pk).update(reserved=F("reserved") + total):
        raise LeaseLost(f"lease {lease.token} was taken back")
    if day_left:
        day_budgets.set_aside(lease=lease, amounts=amounts, at=at)
    return carried


def shortage(
    *, lease: Lease, call_amounts: Collection[tuple[int, Decimal]], at: datetime
) -> day_budgets.Shortage | None:
    """Return why none of these amounts (endpoint, USD) fits the budgets even once the calls that others have in flight
    are back; None where one may."""
    run = Run.objects.only("budget", "spent", "unheard").get(pk=lease.run_id)
    run_left = run.budget_left(reserved=Decimal(0))
    affordable = {
        (endpoint_id, amount) for endpoint_id, amount in call_amounts if run_left is None or amount <= run_left
    }
    if affordable or not run_left:
        return day_budgets.shortage(affordable, at=at) if affordable else day_budgets.Shortage("budget")
    cost, rest = (day_budgets.plain_dollars(usd) for usd in (min(usd for _, usd in call_amounts), run_left))
    reason = f"The next call can cost ${cost}, and ${rest} of the budget is left. Raise it or cancel the run."
    return day_budgets.Shortage("budget", reason)


# Stores what a worker has: calls first, then what was made of them, then the counters, in one transaction.
#
# A batch that cannot be stored is taken apart: what was paid for is booked by itself, and then each task's result, so
# that one that no database takes fails its own task and nothing is asked again because of it.

PACE_SECONDS = 1.0
PACE_POINTS = 40
NOT_STORED = "not-stored"  # the failure of a task whose result no database takes

TaskOutcome = tuple[list[CallRecord], RunTask, Any]  # the calls that a task used, the task, its result


@dataclass(frozen=True, slots=True)
class Batch:
    """What one worker has to store."""

    run: Run
    lease: Lease
    executor: Executor
    records: Sequence[CallRecord]
    finished: Sequence[TaskOutcome]
    stakes: Stakes  # of what is still on its way once this batch is stored


def store_batch(*, batch: Batch, at: datetime) -> None:
    """Store a batch. Results of tasks that the worker's claim no longer holds are dropped; their calls are kept.

    A call that another worker stored at the same moment makes the first try fail on its unique key; the second try
    finds it. While the database is locked or away this waits.
    """
    try:
        persistently(partial(_store, batch, at))
    except (OperationalError, InterfaceError):
        raise
    except IntegrityError:
        logger.info("judging.batch_retried run_id=%s", batch.run.pk)
        if not _can_store(batch, at):
            _store_apart(batch, at)
    except Exception:
        logger.exception("judging.batch_not_stored run_id=%s", batch.run.pk)
        _store_apart(batch, at)


def _store_apart(batch: Batch, at: datetime) -> None:
    """Book the calls without any result, then store the results one task at a time."""
    _store_calls(replace(batch, finished=()), at)
    for result in batch.finished:
        records, task, _ = result
        alone = replace(batch, records=(), finished=[result])
        if _can_store(alone, at):
            continue
        logger.error("judging.task_given_up task_id=%s kind=%s", task.pk, NOT_STORED)
        persistently(partial(_store, replace(alone, finished=[(records, task, Crash(NOT_STORED))]), at))


def _store_calls(batch: Batch, at: datetime) -> None:
    if _can_store(batch, at):
        return
    for record in batch.records:
        alone = replace(batch, records=[record])
        if not (_can_store(alone, at) or _can_store(alone, at)):  # the second time after another worker's same call
            logger.error("judging.call_not_stored run_id=%s key=%s", batch.run.pk, record.key)
            record.pk = 0
            persistently(partial(_book, alone, at))


def _can_store(batch: Batch, at: datetime) -> bool:
    """Store a batch; False where the database does not take it."""
    try:
        persistently(partial(_store, batch, at))
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("judging.part_not_stored run_id=%s", batch.run.pk)
        return False
    return True


@transaction.atomic
def _book(batch: Batch, at: datetime) -> None:
    """Count calls that the ledger cannot hold: they were paid for."""
    _lock(batch.run)
    ledger.add_uncertain(batch.records, at)
    _count(batch, [], [])


@transaction.atomic
def _store(batch: Batch, at: datetime) -> None:
    _lock(batch.run)
    ledger.store_calls(run_id=batch.run.pk, records=batch.records, at=at)
    leased = _leased_task_ids(batch)
    finished = [
        FinishedTask(task=task, result=result, call_ids=tuple(record.pk for record in records if record.pk))
        for records, task, result in batch.finished
        if task.pk in leased
    ]
    usable = [task_result for task_result in finished if not isinstance(task_result.result, Crash)]
    batch.executor.store(run=batch.run, finished=usable, at=at)
    done_tasks, failed_tasks = _finish_tasks(batch, finished)
    _count(batch, done_tasks, failed_tasks)
    _keep_pace(batch.run.pk, at)


def _lock(run: Run) -> None:
    """Lock the run first, as everywhere: a worker that stores and a person who cancels then wait for each other in one
    order."""
    Run.objects.select_for_update(no_key=True).only("pk").get(pk=run.pk)


def _leased_task_ids(batch: Batch) -> set[int]:
    task_ids = [task.pk for _, task, _ in batch.finished]
    tasks = RunTask.objects.filter(pk__in=task_ids, lease_id=batch.lease.pk, status=TaskStatus.LEASED)
    return set(tasks.select_for_update(of=("self",)).values_list("pk", flat=True))


def _finish_tasks(batch: Batch, finished: Sequence[FinishedTask]) -> tuple[list[RunTask], list[RunTask]]:
    done_tasks: list[RunTask] = []
    failed_tasks: list[RunTask] = []
    for item in finished:
        crash = item.result if isinstance(item.result, Crash) else None
        item.task.failure_kind = (crash.kind if crash else batch.executor.failure(item.result))[:60]
        (failed_tasks if item.task.failure_kind else done_tasks).append(item.task)
    RunTask.objects.filter(pk__in=[task.pk for task in done_tasks]).update(
        status=TaskStatus.DONE, lease=None, failure_kind=""
    )
    by_kind = grouped((task.failure_kind, task.pk) for task in failed_tasks)
    for kind, keys in by_kind.items():
        RunTask.objects.filter(pk__in=keys).update(status=TaskStatus.FAILED, lease=None, failure_kind=kind)
    return done_tasks, failed_tasks


def _count(batch: Batch, done_tasks: Sequence[RunTask], failed_tasks: Sequence[RunTask]) -> None:
    new = [record for record in batch.records if not record.reused]
    stored = {task.pk for task in (*done_tasks, *failed_tasks)}
    reused = 0
    for records, task, _ in batch.finished if stored else ():
        for place, record in enumerate(records if task.pk in stored else ()):  # tasks share what they ask alike
            record.first_user = record.first_user or (task.pk, place)
            reused += record.reused or record.first_user != (task.pk, place)
    # A reply without token counts cost something: under a budget it counts as the most it can have cost.
    spent = _total(record.reserved if record.cost is None else record.cost for record in new)
    Run.objects.filter(pk=batch.run.pk).update(
        done=F("done") + len(done_tasks),
        failed=F("failed") + len(failed_tasks),
        spent=F("spent") + spent,
        unheard=F("unheard") + _total(record.unheard for record in new),
        unheard_calls=F("unheard_calls") + sum(record.reply.unheard for record in new),
        unpriced_calls=F("unpriced_calls") + sum(record.known_cost is None for record in new),
        calls_made=F("calls_made") + len(new),
        calls_reused=F("calls_reused") + reused,
    )
    if new:
        note_stakes(lease=batch.lease, stakes=batch.stakes)
    done_by = Counter(task.evaluator_id for task in done_tasks if task.evaluator_id is not None)
    failed_by = Counter(task.evaluator_id for task in failed_tasks if task.evaluator_id is not None)
    for evaluator_id in set(done_by) | set(failed_by):
        RunEvaluator.objects.filter(pk=evaluator_id).update(
            done=F("done") + done_by[evaluator_id], failed=F("failed") + failed_by[evaluator_id]
        )


def _total(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, Decimal(0))


def _keep_pace(run_id: int, at: datetime) -> None:
    """Note how far the run is, once a second at most, so that pages can tell its rate."""
    run = Run.objects.only("pace", "done", "failed").get(pk=run_id)
    second = at.timestamp()
    if run.pace and second - run.pace[-1][0] < PACE_SECONDS:
        return
    pace = [*run.pace, [second, run.done + run.failed]][-PACE_POINTS:]
    Run.objects.filter(pk=run_id).update(pace=pace)
