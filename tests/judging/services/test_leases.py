"""Claims on tasks and money: no task in two hands, lapsed claims return, budgets hold."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.utils import timezone

from judging.models import Lease, Run, RunTask
from judging.models.runs import RunRefused
from judging.services import leases
from judging.services.day_budgets import Shortage
from judging.services.leases import InFlight, SetAside, Stakes
from judging.services.run_lifecycle import set_budget
from judging.services.runs.new_runs import plan_tasks
from tests.factories import NOON
from tests.judging.services.run_rows import ruled_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    new_run = ruled_run(cases=5)
    plan_tasks(run_id=new_run.pk, at=NOON)
    return new_run


def _numbers(tasks: list[RunTask]) -> list[int]:
    first = RunTask.objects.order_by("pk").values_list("pk", flat=True)[0]
    return [task.pk - first for task in tasks]


def test_claim_tasks_gives_no_task_to_two_workers(run: Run) -> None:
    first, second = (leases.open_lease(run=run, worker=name) for name in ("one", "two"))

    claimed = [_numbers(leases.claim_tasks(lease=lease, most=3)) for lease in (first, second, first)]

    assert claimed == [[0, 1, 2], [3, 4], []]


def test_return_lapsed_takes_back_only_what_stopped_beating(run: Run) -> None:
    late, live = (leases.open_lease(run=run, worker=name) for name in ("late", "live"))
    leases.claim_tasks(lease=late, most=2)
    leases.claim_tasks(lease=live, most=2)
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    leases.heartbeat(lease=live, stakes=Stakes())

    returned = leases.return_lapsed()

    assert (returned, list(Lease.objects.values_list("worker", flat=True))) == (2, ["live"])
    assert [task.status for task in RunTask.objects.order_by("pk")] == ["waiting"] * 2 + ["leased"] * 2 + ["waiting"]
    with pytest.raises(leases.LeaseLost):
        leases.heartbeat(lease=late, stakes=Stakes())


def test_end_claims_takes_back_what_one_worker_has(run: Run) -> None:
    for worker in ("one:1", "one:1", "one:12"):
        leases.claim_tasks(lease=leases.open_lease(run=run, worker=worker), most=1)

    returned = leases.end_claims(worker="one:1")

    assert (returned, list(Lease.objects.values_list("worker", flat=True))) == (2, ["one:12"])
    assert [task.status for task in RunTask.objects.order_by("pk")] == ["waiting"] * 2 + ["leased"] + ["waiting"] * 2


def test_close_lease_returns_what_is_unfinished(run: Run) -> None:
    lease = leases.open_lease(run=run, worker="one")
    done_task, _ = leases.claim_tasks(lease=lease, most=2)
    RunTask.objects.filter(pk=done_task.pk).update(status="done", lease=None)

    leases.close_lease(lease=lease)

    assert [task.status for task in RunTask.objects.order_by("pk")] == ["done"] + ["waiting"] * 4
    assert not Lease.objects.exists()


def test_reserve_counts_what_is_spent_unheard_and_held_by_others_and_passes_over_what_does_not_fit(run: Run) -> None:
    Run.objects.update(budget=Decimal(11), spent=Decimal(4), unheard=Decimal(1))
    first, second = (leases.open_lease(run=run, worker=name) for name in ("one", "two"))

    carried = [
        leases.reserve(lease=lease, call_amounts=[(1, Decimal(amount)) for amount in amounts], at=NOON)
        for lease, amounts in ((first, (4,)), (second, (3, 0, 1, 2, 1)), (second, (1,)))
    ]

    assert carried == [[True], [False, True, True, False, True], [False]]
    assert leases.shortage(lease=second, call_amounts=[(1, Decimal(7)), (1, Decimal(6))], at=NOON) is None
    assert leases.shortage(lease=second, call_amounts=[(1, Decimal("6.01"))], at=NOON) == Shortage(
        "budget", "The next call can cost $6.01, and $6 of the budget is left. Raise it or cancel the run."
    )
    assert sorted(Lease.objects.values_list("reserved", flat=True)) == [Decimal(2), Decimal(4)]


def test_reserve_refuses_a_claim_that_is_gone(run: Run) -> None:
    Run.objects.update(budget=Decimal(10))
    lease = leases.open_lease(run=run, worker="one")
    leases.close_lease(lease=lease)

    with pytest.raises(leases.LeaseLost):
        leases.reserve(lease=lease, call_amounts=[(1, Decimal(1))], at=NOON)


def test_a_claim_that_lapsed_books_what_was_in_flight_and_one_that_is_closed_what_was_given_up(run: Run) -> None:
    killed, stopped, calm = (leases.open_lease(run=run, worker=name) for name in ("killed", "stopped", "calm"))
    leases.heartbeat(lease=killed, stakes=Stakes(InFlight(3, Decimal("0.5")), SetAside(Decimal(9))))
    for lease in (stopped, calm):
        leases.heartbeat(lease=lease, stakes=Stakes(InFlight(9, Decimal(9)), SetAside(Decimal(9))))
    Lease.objects.filter(pk=killed.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    leases.return_lapsed()
    leases.close_lease(lease=killed, unheard=InFlight(3, Decimal("0.5")))  # it lives after all: booked once
    leases.close_lease(lease=stopped, unheard=InFlight(2, Decimal("0.25")))
    leases.close_lease(lease=calm)

    run.refresh_from_db()
    assert (run.unheard_calls, run.unheard, Lease.objects.count()) == (5, Decimal("0.75"), 0)


def test_set_budget_is_for_paused_runs_and_above_what_is_spent(run: Run) -> None:
    with pytest.raises(RunRefused, match="Pause the run"):
        set_budget(run_id=run.pk, budget=Decimal(5), actor=None)
    Run.objects.update(status="paused", spent=Decimal("3.000049"), unheard=Decimal(1))

    with pytest.raises(RunRefused) as refusal:
        set_budget(run_id=run.pk, budget=Decimal("4.00004"), actor=None)

    assert str(refusal.value) == "A budget of $4.00004 is not higher than the $4.000049 that the run has spent."

    assert set_budget(run_id=run.pk, budget=Decimal(5), actor=None).budget == Decimal(5)


@pytest.mark.django_db(transaction=True)
def test_return_lapsed_leaves_a_run_alone_that_another_transaction_holds(run: Run) -> None:
    if not connection.features.has_select_for_update_skip_locked:
        pytest.skip("this database has one lock for all who write")
    lapsed = leases.open_lease(run=run, worker="frozen")
    leases.claim_tasks(lease=lapsed, most=2)
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:  # as a process does that is frozen between two statements of `store_batch`
        with transaction.atomic():
            Run.objects.select_for_update(no_key=True).get(pk=run.pk)
            list(RunTask.objects.select_for_update().all())
            locked.set()
            release.wait(20)
        connection.close()  # that of this thread

    frozen = threading.Thread(target=hold)
    frozen.start()
    assert locked.wait(20)

    while_frozen = leases.return_lapsed()
    release.set()
    frozen.join()

    assert (while_frozen, leases.return_lapsed(), Lease.objects.count()) == (0, 2, 0)


def test_claim_tasks_finds_waiting_tasks_by_an_index_of_their_own(run: Run) -> None:
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, RunTask._meta.db_table)

    assert constraints["task_waiting"]["columns"] == constraints["task_run"]["columns"] == ["run_id", "id"]
