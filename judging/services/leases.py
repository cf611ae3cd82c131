"""Claims of workers on a run's tasks. A claim that stops beating lapses and everything in it returns."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction
from django.db.models import F, QuerySet, Sum

from judging.models import Lease, Run, RunTask, TaskStatus

LEASE_SECONDS = 60


class LeaseLost(RuntimeError):
    """The claim lapsed and was given to another worker."""


def open_lease(*, run: Run, worker: str, at: datetime) -> Lease:
    """Return a new, empty claim on the run's tasks."""
    return Lease.objects.create(
        run=run, token=uuid.uuid4(), worker=worker, expires_at=at + timedelta(seconds=LEASE_SECONDS)
    )


def beat(*, lease: Lease, at: datetime) -> None:
    """Extend the claim.

    Raises:
        LeaseLost: it lapsed meanwhile and was taken back.
    """
    if not Lease.objects.filter(pk=lease.pk).update(expires_at=at + timedelta(seconds=LEASE_SECONDS)):
        raise LeaseLost(f"lease {lease.token} was taken back")


@transaction.atomic
def claim_tasks(*, lease: Lease, most: int) -> list[RunTask]:
    """Move up to `most` waiting tasks of the run into the claim and return them.

    Raises:
        LeaseLost: the claim lapsed and was taken back.
    """
    if not Lease.objects.select_for_update(no_key=True).filter(pk=lease.pk):
        raise LeaseLost(f"lease {lease.token} was taken back")
    waiting: QuerySet[RunTask] = RunTask.objects.filter(run_id=lease.run_id, status=TaskStatus.WAITING).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        waiting = waiting.select_for_update(skip_locked=True)
    tasks = list(waiting[:most])
    RunTask.objects.filter(pk__in=[task.pk for task in tasks]).update(
        status=TaskStatus.LEASED, lease=lease, tries=F("tries") + 1
    )
    for task in tasks:
        task.status, task.lease_id = TaskStatus.LEASED, lease.pk
    return tasks


@transaction.atomic
def close_lease(*, lease: Lease) -> None:
    """Give unfinished tasks and unspent money back."""
    Run.objects.select_for_update(no_key=True).only("pk").get(pk=lease.run_id)  # the run first, as everywhere
    RunTask.objects.filter(lease=lease, status=TaskStatus.LEASED).update(status=TaskStatus.WAITING, lease=None)
    Lease.objects.filter(pk=lease.pk).delete()


@transaction.atomic
def return_lapsed(*, at: datetime, runs: Sequence[int] | None = None) -> int:
    """Take back every claim that stopped beating; return how many tasks wait again because of it."""
    lapsed = Lease.objects.filter(expires_at__lt=at)
    if runs is not None:
        lapsed = lapsed.filter(run_id__in=runs)
    if connection.features.has_select_for_update_skip_locked:
        lapsed = lapsed.select_for_update(skip_locked=True)
    keys = [lease.pk for lease in lapsed]
    returned = RunTask.objects.filter(lease_id__in=keys, status=TaskStatus.LEASED).update(
        status=TaskStatus.WAITING, lease=None
    )
    Lease.objects.filter(pk__in=keys).delete()
    return returned


@transaction.atomic
def reserve(*, lease: Lease, amount: Decimal) -> bool:
    """Set `amount` USD of the run's budget aside; False where the budget does not hold that much any more.

    The run's row is locked, so that workers on several machines together never reserve more than the budget.

    Raises:
        LeaseLost: the claim lapsed and was taken back.
    """
    run = Run.objects.select_for_update().only("budget", "spent").get(pk=lease.run_id)
    if run.budget is None or amount == 0:
        return True
    held = Lease.objects.filter(run_id=run.pk).aggregate(total=Sum("reserved"))["total"] or Decimal(0)
    if run.spent + held + amount > run.budget:
        return False
    if not Lease.objects.filter(pk=lease.pk).update(reserved=F("reserved") + amount):
        raise LeaseLost(f"lease {lease.token} was taken back")
    return True


def may_become_affordable(*, lease: Lease, amount: Decimal) -> bool:
    """Return whether `amount` USD fits the budget once the calls that others have in flight are back."""
    run = Run.objects.only("budget", "spent").get(pk=lease.run_id)
    return run.budget is None or run.spent + amount <= run.budget
