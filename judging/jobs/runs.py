"""Working through runs, and waking workers for them."""

from __future__ import annotations

import logging
import uuid
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django_rq import get_queue, job
from redis.exceptions import RedisError

from judging.services import working
from judging.services.recovery import unfinished_runs

logger = logging.getLogger(__name__)

TASKS_PER_JOB = 500
MOST_JOBS = 16


@job("calls")
def work_run(run_id: int) -> None:
    """Work through a run until nothing waits. Safe to repeat: finished tasks and calls are skipped."""
    ended = working.work_through(run_id=run_id, threads=settings.CALL_THREADS, now=timezone.now, apart=True)
    logger.info("judging.run_worked run_id=%s ended=%s", run_id, ended)


def launch_run(*, run_id: int, waiting: int) -> None:
    """Wake enough workers for a run once the transaction commits. Without a broker the run waits for `resume_runs`."""
    jobs = max(1, min(MOST_JOBS, -(-waiting // TASKS_PER_JOB)))
    transaction.on_commit(partial(_wake_workers, run_id, jobs))


def launch_single(*, run_id: int) -> None:
    """Wake a worker for a run of one response, which does not wait behind runs of hours."""
    transaction.on_commit(partial(_wake_workers, run_id, 1, "default"))


def _wake_workers(run_id: int, jobs: int, queue_name: str = "calls") -> None:
    prefix = f"run-{run_id}-"
    try:
        queue = get_queue(queue_name)
        queued = sum(job_id.startswith(prefix) for job_id in queue.get_job_ids())
        for _ in range(jobs - queued):
            queue.enqueue(work_run, run_id, job_id=f"{prefix}{uuid.uuid4()}", result_ttl=0)
    except RedisError as error:  # no broker now: the next worker finds the run
        logger.warning("judging.launch_postponed run_id=%s error=%s", run_id, type(error).__name__)


def resume_runs() -> int:
    """Queue every run with unfinished work again; return how many. Called when a worker starts and every minute."""
    runs = unfinished_runs(at=timezone.now())
    for run in runs:
        launch_run(run_id=run.pk, waiting=run.waiting)
    return len(runs)
