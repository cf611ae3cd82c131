"""The RQ worker of the site: finds unfinished work at start and every half minute, and stops in good order."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.job import Job

from judging import jobs, stopping

logger = logging.getLogger(__name__)

MAINTENANCE_SECONDS = 30
STOPS = (signal.SIGTERM, signal.SIGINT)
# Rooms above add theirs when they are ready.
RECOVERIES: list[Callable[[], int]] = [jobs.resume_runs, jobs.resume_imports, jobs.clear_sandbox]


def recover() -> None:
    """Queue again what is unfinished and waits for nobody."""
    for recovery in RECOVERIES:
        try:
            count = recovery()
        except RedisError:
            logger.exception("serving.recovery_postponed name=%s", recovery.__name__)
        else:
            if count:
                logger.info("serving.recovered name=%s count=%s", recovery.__name__, count)


class SiteWorker(Worker):
    """Forks a process per job; the database tells it what was left unfinished."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("maintenance_interval", MAINTENANCE_SECONDS)
        super().__init__(*args, **kwargs)

    def run_maintenance_tasks(self) -> None:
        """Recover unfinished work, then do RQ's own upkeep. Runs at start and after each interval."""
        recover()
        super().run_maintenance_tasks()

    def handle_warm_shutdown_request(self) -> None:
        """Ask the job in work to stop at the next safe point, so that stopping does not wait for a whole run."""
        super().handle_warm_shutdown_request()
        if self.horse_pid:
            with contextlib.suppress(ProcessLookupError):  # the job has just ended
                os.kill(self.horse_pid, signal.SIGTERM)

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Fork with requests to stop held back, so that none meets a job that does not know yet what to do with it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            super().fork_work_horse(job, queue)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def setup_work_horse_signals(self) -> None:
        """Let the forked job hear the request to stop instead of dying of it."""
        super().setup_work_horse_signals()
        signal.signal(signal.SIGTERM, _request_stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def _request_stop(number: int, frame: FrameType | None) -> None:
    stopping.request()
