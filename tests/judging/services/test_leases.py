"""Claims on tasks and money: no task in two hands, lapsed claims return, budgets hold."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from judging.models import Lease, Run, RunTask
from judging.services import leases
from judging.services.planning import plan_tasks
from judging.services.running import set_budget
from judging.states import RunRefused
from tests.factories import NOON
from tests.judging.services.run_rows import ruled_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    made = ruled_run(cases=5)
    plan_tasks(run_id=made.pk, at=NOON)
    return made


def _numbers(tasks: list[RunTask]) -> list[int]:
    first = RunTask.objects.order_by("pk").values_list("pk", flat=True)[0]
    return [task.pk - first for task in tasks]


def test_claim_tasks_gives_no_task_to_two_workers(run: Run) -> None:
    one, two = (leases.open_lease(run=run, worker=name, at=NOON) for name in ("one", "two"))

    claimed = [_numbers(leases.claim_tasks(lease=lease, most=3)) for lease in (one, two, one)]

    assert claimed == [[0, 1, 2], [3, 4], []]


def test_return_lapsed_takes_back_only_what_stopped_beating(run: Run) -> None:
    late, live = (leases.open_lease(run=run, worker=name, at=NOON) for name in ("late", "live"))
    leases.claim_tasks(lease=late, most=2)
    leases.claim_tasks(lease=live, most=2)
    later = NOON + timedelta(seconds=leases.LEASE_SECONDS + 1)
    leases.beat(lease=live, at=later)

    returned = leases.return_lapsed(at=later)

    assert (returned, list(Lease.objects.values_list("worker", flat=True))) == (2, ["live"])
    assert [task.status for task in RunTask.objects.order_by("pk")] == ["waiting"] * 2 + ["leased"] * 2 + ["waiting"]
    with pytest.raises(leases.LeaseLost):
        leases.beat(lease=late, at=later)


def test_close_lease_returns_what_is_unfinished(run: Run) -> None:
    lease = leases.open_lease(run=run, worker="one", at=NOON)
    done, _ = leases.claim_tasks(lease=lease, most=2)
    RunTask.objects.filter(pk=done.pk).update(status="done", lease=None)

    leases.close_lease(lease=lease)

    assert [task.status for task in RunTask.objects.order_by("pk")] == ["done"] + ["waiting"] * 4
    assert not Lease.objects.exists()


def test_reserve_counts_what_is_spent_and_what_others_hold(run: Run) -> None:
    Run.objects.update(budget=Decimal(10), spent=Decimal(4))
    one, two = (leases.open_lease(run=run, worker=name, at=NOON) for name in ("one", "two"))

    taken = [leases.reserve(lease=lease, amount=Decimal(amount)) for lease, amount in ((one, 4), (two, 3), (two, 2))]

    assert taken == [True, False, True]
    assert leases.may_become_affordable(lease=two, amount=Decimal(6))
    assert not leases.may_become_affordable(lease=two, amount=Decimal("6.01"))
    assert sorted(Lease.objects.values_list("reserved", flat=True)) == [Decimal(2), Decimal(4)]


def test_reserve_refuses_a_claim_that_is_gone(run: Run) -> None:
    Run.objects.update(budget=Decimal(10))
    lease = leases.open_lease(run=run, worker="one", at=NOON)
    leases.close_lease(lease=lease)

    with pytest.raises(leases.LeaseLost):
        leases.reserve(lease=lease, amount=Decimal(1))


def test_set_budget_is_for_paused_runs_and_above_what_is_spent(run: Run) -> None:
    with pytest.raises(RunRefused, match="Pause the run"):
        set_budget(run_id=run.pk, budget=Decimal(5), actor=None)
    Run.objects.update(status="paused", spent=Decimal(4))

    with pytest.raises(RunRefused, match="must be higher"):
        set_budget(run_id=run.pk, budget=Decimal(4), actor=None)

    assert set_budget(run_id=run.pk, budget=Decimal(5), actor=None).budget == Decimal(5)
