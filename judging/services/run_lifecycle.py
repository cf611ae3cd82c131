"""Starts, pauses, resumes, cancels, retries and ends runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F

from evalsite.accounts.audit import record
from evalsite.base import signals
from evalsite.base.rows import lock_row
from judging.models import Run, RunEvaluator, RunKind, RunTask, TaskStatus
from judging.models.runs import ACTIVE, RunRefused, RunStatus, check_transition
from judging.selectors.runs import tasks_to_retry
from judging.services.day_budgets import plain_dollars
from judging.services.registries import executor_for

NO_SCORE_BY_OPTION = (
    "Every failed task has a parsed verdict that the scoring options reject, so a retry would change nothing. "
    "Change the options and recompute the scores."
)
NAME_LENGTH = 200
LONGEST_POSTPONEMENT = timedelta(days=2)  # without one answer
MAX_CRASHES = 3
OPEN_TASKS = (TaskStatus.WAITING, TaskStatus.LEASED)


@transaction.atomic
def start_run(*, run_id: int, at: datetime) -> Run | None:
    """Mark a queued run as running and return it; None where it may not be worked on now."""
    run = lock_row(Run, run_id)
    if run.status not in ACTIVE or (run.resume_at is not None and run.resume_at > at):
        return None
    if run.status == RunStatus.QUEUED or run.resume_at is not None:
        run.status, run.status_reason, run.resume_at = RunStatus.RUNNING, "", None
        run.started_at = run.started_at or at
        run.save(update_fields=["status", "status_reason", "resume_at", "started_at"])
    return run


@transaction.atomic
def pause_run(*, run_id: int, actor: User | None, reason: str = "", at_budget: bool = False) -> Run:
    """Stop handing out tasks; calls in flight are still stored. `at_budget`: because its own budget is reached.

    Raises:
        RunRefused: the run is not active.
    """
    run = _move(run_id, RunStatus.PAUSED, actor, "run.paused", reason)
    if actor is None:
        signals.run_stopped.send(sender=Run, run_id=run.pk, at_budget=at_budget)
    return run


@transaction.atomic
def postpone_run(*, run_id: int, endpoint: str, resume_at: datetime, at: datetime, answered: bool) -> None:
    """Let a run wait until an endpoint takes calls again; it then resumes automatically.

    `answered`: calls were answered since it was last postponed. After two days without an answer it pauses instead.
    """
    run = lock_row(Run, run_id)
    if run.status not in ACTIVE:
        return
    run.postponed_since = at if answered or run.postponed_since is None else run.postponed_since
    if at - run.postponed_since > LONGEST_POSTPONEMENT:
        run.save(update_fields=["postponed_since"])
        pause_run(
            run_id=run_id,
            actor=None,
            reason=f"{endpoint} has accepted no call for two days. Resume the run to try again.",
        )
        return
    run.save(update_fields=["postponed_since"])
    reason = f"{endpoint} accepts no more calls for now. The run continues automatically."
    wait_until(run_id=run_id, resume_at=resume_at, reason=reason)


@transaction.atomic
def wait_until(*, run_id: int, resume_at: datetime, reason: str) -> None:
    """Let an active run resume automatically at a given time."""
    run = lock_row(Run, run_id)
    if run.status in ACTIVE:
        run.resume_at, run.status_reason = resume_at, reason[:300]
        run.save(update_fields=["resume_at", "status_reason"])


@transaction.atomic
def note_crash(*, run_id: int, error: str) -> None:
    """Count a crash of a worker on this run; the third pauses it, so that nothing is asked over and over."""
    run = lock_row(Run, run_id)
    run.crashes += 1
    run.save(update_fields=["crashes"])
    if run.crashes >= MAX_CRASHES and run.status in ACTIVE:
        reason = f"This run failed {run.crashes} times because of an internal error ({error}). See the log of the site."
        pause_run(run_id=run_id, actor=None, reason=reason[:300])


@transaction.atomic
def resume_run(*, run_id: int, actor: User | None) -> Run:
    """Queue a paused run again.

    Raises:
        RunRefused: the run is not paused.
    """
    run = lock_row(Run, run_id)
    if run.status != RunStatus.PAUSED:
        raise RunRefused(f"The run is {run.get_status_display().lower()}; only a paused run can be resumed.")
    return _move(run_id, RunStatus.QUEUED, actor, "run.resumed")


@transaction.atomic
def cancel_run(*, run_id: int, actor: User | None, at: datetime) -> Run:
    """End a run for good; what is finished stays, what waits is cancelled.

    Raises:
        RunRefused: it has ended already.
    """
    run = _move(run_id, RunStatus.CANCELLED, actor, "run.cancelled")
    run.tasks.filter(status__in=OPEN_TASKS).update(status=TaskStatus.CANCELLED, lease=None)
    run.finished_at = at
    run.save(update_fields=["finished_at"])
    executor_for(run).cancel(run=run, at=at)
    return run


@transaction.atomic
def retry_failed(*, run_id: int, actor: User | None) -> int:
    """Make the failed tasks of a run wait again and return how many; a verdict that has a value is left alone.

    Verdicts and scores stay where they are until the next try supersedes them.

    Raises:
        RunRefused: the run is cancelled, or no failed task would be asked again.
    """
    run = lock_row(Run, run_id)
    if run.status == RunStatus.CANCELLED:
        raise RunRefused("The run is cancelled; start a new one.")
    if run.imported_from:
        raise RunRefused(f"The run was imported from {run.imported_from}; nobody can be asked again. Start a new run.")
    tasks = tasks_to_retry(run)
    rows = tasks.order_by().values("evaluator").annotate(n=Count("pk"))
    counts: dict[int, int] = {row["evaluator"]: row["n"] for row in rows}
    total = sum(counts.values())
    if not total:
        raise RunRefused(NO_SCORE_BY_OPTION if run.failed else "No task of this run has failed.")
    executor_for(run).reset(run=run, tasks=tasks)
    tasks.update(status=TaskStatus.WAITING, failure_kind="", retries=F("retries") + 1)
    for evaluator_id, count in counts.items():
        RunEvaluator.objects.filter(pk=evaluator_id).update(failed=F("failed") - count)
    run.failed = F("failed") - total
    if run.status in {RunStatus.FINISHED, RunStatus.PAUSED}:
        run.status, run.status_reason, run.finished_at = RunStatus.QUEUED, "", None
    run.save(update_fields=["failed", "status", "status_reason", "finished_at"])
    record(actor, "run.retried", run, tasks=total)
    return total


@transaction.atomic
def finish_run_if_complete(*, run_id: int, at: datetime) -> bool:
    """End a run whose tasks are all done or failed, and announce it; return whether this call did."""
    run = lock_row(Run, run_id)
    if run.status not in ACTIVE or run.planned_at is None:
        return False
    if RunTask.objects.filter(run_id=run_id, status__in=OPEN_TASKS).exists():
        return False
    run.status, run.finished_at, run.status_reason, run.resume_at = RunStatus.FINISHED, at, "", None
    run.started_at = run.started_at or at
    run.save(update_fields=["status", "finished_at", "status_reason", "resume_at", "started_at"])
    executor_for(run).finish(run=run, at=at)
    signals.run_stopped.send(sender=Run, run_id=run.pk, at_budget=False)
    transaction.on_commit(lambda: signals.run_finished.send_robust(sender=Run, run_id=run.pk, kind=run.kind))
    return True


def _move(run_id: int, status: RunStatus, actor: User | None, action: str, reason: str = "") -> Run:
    run = lock_row(Run, run_id)
    check_transition(run.status, status)
    run.status, run.status_reason = status, reason
    run.resume_at, run.postponed_since, run.crashes = None, None, 0
    run.save(update_fields=["status", "status_reason", "resume_at", "postponed_since", "crashes"])
    record(actor, action, run, **({"reason": reason} if reason else {}))
    return run


@transaction.atomic
def rename_run(*, run_id: int, name: str, actor: User | None) -> Run:
    """Give a run another name; the audit log keeps the former one.

    Raises:
        RunRefused: the name is empty, or the run is called after its debate set.
    """
    run = lock_row(Run, run_id)
    name = " ".join(name.split())[:NAME_LENGTH]
    if not name:
        raise RunRefused("Enter a name.")
    if run.kind == RunKind.DEBATE:
        raise RunRefused("The run of a set of debates has the name of the set.")
    if name == run.name:
        return run
    former, run.name = run.name, name
    run.save(update_fields=["name"])
    record(actor, "run.renamed", run, **{"former name": former})
    signals.run_renamed.send(sender=Run)
    return run


@transaction.atomic
def set_budget(*, run_id: int, budget: Decimal, actor: User | None) -> Run:
    """Change what a paused run may spend.

    Raises:
        RunRefused: it is not paused, or has spent as much already.
    """
    run = lock_row(Run, run_id)
    if run.status != RunStatus.PAUSED:
        raise RunRefused("Pause the run before you change its budget.")
    spent = run.spent + run.unheard
    if budget <= spent:
        amounts = f"${plain_dollars(budget)} is not higher than the ${plain_dollars(spent)}"
        raise RunRefused(f"A budget of {amounts} that the run has spent.")
    before, run.budget = run.budget, budget
    run.save(update_fields=["budget"])
    record(actor, "run.budget_changed", run, **{"from": before, "to": budget})
    return run
