"""The RQ worker of the site: finds unfinished work at start and every half minute, and stops in good order.

It outlives a restart of the database and of the broker: it waits for them and goes on.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection, connections
from django.utils import timezone
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.executions import Execution
from rq.job import Job

from evalsite.base.log_lines import logged_with
from evalsite.serving.apps import Recoveries, added_recoveries
from evalsite.serving.supervisor import die_with_parent
from judging import jobs
from judging.llm import lanes
from judging.services import long_jobs

logger = logging.getLogger(__name__)

MAINTENANCE_SECONDS = 20  # at least, between two recoveries
IDLE_SECONDS = 25  # a worker without a job sends a heartbeat and recovers runs this often
DEQUEUE_MARGIN_SECONDS = 15  # RQ waits for a job for this much less than the worker's time to live
LONGEST_WAIT_SECONDS = 15.0  # between two looks at a database or a broker that does not answer
STOPS = (signal.SIGTERM, signal.SIGINT)


def clear_sessions() -> int:
    """Remove the sessions that have expired; return how many. Nobody can sign in with them any more."""
    removed, _ = Session.objects.filter(expire_date__lt=timezone.now()).delete()
    return removed


RECOVERIES: Recoveries = {
    "resume_runs": jobs.resume_runs,
    "resume_imports": jobs.resume_imports,
    "resume_rescorings": jobs.resume_rescorings,
    "clear_sandbox": jobs.clear_sandbox,
    "clear_sessions": clear_sessions,
}


def recover() -> None:
    """Queue again what is unfinished and waits for nobody. Leaves no connection to the database open.

    A job is forked from this process. Two processes on one connection garble it, and while either lives the database
    keeps the locks of the other's unfinished transaction, and may be told to commit it.
    """
    try:
        for name, recovery in (RECOVERIES | added_recoveries()).items():
            try:
                count = recovery()
            except (RedisError, DatabaseError):
                logger.exception("serving.recovery_postponed name=%s", name)
                connections.close_all()  # a broken one is not used again
            else:
                if count:
                    logger.info("serving.recovered name=%s count=%s", name, count)
    finally:
        connections.close_all()


def await_database(*, while_waiting: Callable[[], None] = lambda: None) -> None:
    """Return once the database answers."""
    for wait in waits():
        if _database_answers():
            return
        time.sleep(wait)
        while_waiting()


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        logger.warning("serving.database_awaited error=%s", type(error).__name__)
        return False
    finally:
        connections.close_all()
    return True


class SiteWorker(Worker):
    """Forks a process per job; the database tells it what was left unfinished."""

    asked_to_stop = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("maintenance_interval", MAINTENANCE_SECONDS)
        kwargs.setdefault("worker_ttl", IDLE_SECONDS + DEQUEUE_MARGIN_SECONDS)
        super().__init__(*args, **kwargs)
        lanes.load()

    def run_maintenance_tasks(self) -> None:
        """Recover unfinished work, then do RQ's own upkeep. Runs at start and after each interval.

        While the database does not answer no job is taken, since each would fail at once.
        """
        await_database(while_waiting=self.heartbeat)
        recover()
        super().run_maintenance_tasks()

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        """Say that the job is being worked on. A broker that does not hear it now hears the next."""
        try:
            super().maintain_heartbeats(job, execution)
        except RedisError as error:
            logger.warning("serving.heartbeat_unheard error=%s", type(error).__name__)

    def handle_warm_shutdown_request(self) -> None:
        """Ask the job in work to stop at the next safe point, so that stopping does not wait for a whole run."""
        self.asked_to_stop = True
        super().handle_warm_shutdown_request()
        if self.horse_pid:
            with contextlib.suppress(ProcessLookupError):  # the job has just ended
                os.kill(self.horse_pid, signal.SIGTERM)

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Fork with requests to stop held back, so that none meets a job that does not know yet what to do with it."""
        connections.close_all()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            super().fork_work_horse(job, queue)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        """Give back what a job that died had claimed, and let others go on with it at once."""
        super().handle_work_horse_killed(job, retpid, ret_val, rusage)
        with contextlib.suppress(DatabaseError):  # else the claim lapses
            jobs.end_claims(pid=retpid)
        recover()

    def leave_job(self) -> None:
        """Ask a job that is still at work to stop, and wait for it: this worker's own loop has ended."""
        if self.horse_pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.horse_pid, signal.SIGTERM)
            self.wait_for_horse()

    def register_death(self) -> None:
        """Tell the broker, where it answers, that this worker is gone; else it finds out by the missing heartbeat."""
        with contextlib.suppress(RedisError):
            super().register_death()

    def unsubscribe(self) -> None:
        """End the thread that listens for commands, whether or not the broker answers."""
        try:
            super().unsubscribe()
        except RedisError:
            if self.pubsub_thread is not None:
                self.pubsub_thread.stop()

    def perform_job(self, job: Job, queue: Queue, execution: Execution) -> bool:
        """Do a job; the lines that it logs name it."""
        arguments = ", ".join(map(str, job.args or ()))
        with logged_with(job_id=job.id, job=f"{job.func_name}({arguments})"):
            return super().perform_job(job, queue, execution)

    def setup_work_horse_signals(self) -> None:
        """Let the forked job hear the request to stop instead of dying of it."""
        super().setup_work_horse_signals()
        signal.signal(signal.SIGTERM, _request_stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        die_with_parent()  # as when it is asked to: at the next safe point


def waits() -> Iterator[float]:
    """Yield how many seconds to wait before each next look, ever longer."""
    wait = 1.0
    while True:
        yield wait
        wait = min(LONGEST_WAIT_SECONDS, 2 * wait)


def work_until_asked(make: Callable[[], SiteWorker], *, burst: bool = False) -> None:
    """Work on jobs until SIGTERM or SIGINT; `burst`: or until none waits.

    What else ends a worker, such as a broker that is restarted between two of its commands, is logged, and another
    worker takes its place after a while.
    """
    for wait in waits():
        for number in STOPS:  # while no worker listens
            signal.signal(number, _end)
        worker = None
        try:
            worker = make()
            worker.work(burst=burst, logging_level="WARNING")
        except RedisError as error:
            logger.warning("serving.broker_awaited error=%s", type(error).__name__)
            if worker is not None:  # it may have begun to listen for commands
                worker.unsubscribe()
        if worker is not None:
            if burst or worker.asked_to_stop:
                return
            worker.leave_job()
        logger.warning("serving.worker_ended again_in_seconds=%s", wait)
        for number in STOPS:
            signal.signal(number, _end)
        time.sleep(wait)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def _request_stop(number: int, frame: FrameType | None) -> None:
    long_jobs.request()
