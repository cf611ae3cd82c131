"""What jobs need: queued once, requests to stop, and transactions that are repeated."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection
from django_rq import get_queue
from redis.exceptions import RedisError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus

UNFINISHED = frozenset({JobStatus.QUEUED, JobStatus.STARTED, JobStatus.SCHEDULED, JobStatus.DEFERRED})

REQUESTED = threading.Event()


def request() -> None:
    """Ask this process's job to stop."""
    REQUESTED.set()


def requested() -> bool:
    """Return whether this process was asked to stop."""
    return REQUESTED.is_set()


logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0
PATIENCE_SECONDS = 600.0
PATIENCE_WHEN_STOPPING_SECONDS = 20.0


def persistently(operation: Callable[[], T]) -> T:
    """Return what `operation` returns, doing it again while the database is locked or does not answer.

    `operation` is one transaction that may be repeated. Inside another transaction it is done once.

    Raises:
        OperationalError, InterfaceError: the database did not answer for ten minutes.
    """
    started, wait = time.monotonic(), FIRST_WAIT_SECONDS
    while True:
        try:
            return operation()
        except (OperationalError, InterfaceError) as error:
            patience = PATIENCE_WHEN_STOPPING_SECONDS if requested() else PATIENCE_SECONDS
            if connection.in_atomic_block or time.monotonic() - started > patience:
                raise
            logger.warning("judging.database_awaited error=%s", type(error).__name__)
            connection.close_if_unusable_or_obsolete()
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)


def enqueue_once(
    work: Callable[..., object], *arguments: object, job_id: str, beside_running: bool = False, **options: int | None
) -> bool | None:
    """Return whether a job was queued: False where one of this id is, None where there is no broker.

    Work that a running job may have read too early is queued `beside_running`. `options` are RQ's; by default nothing
    is kept of a job that is over. Without a broker nothing is lost: callers come back for what they find undone.
    """
    try:
        queue = get_queue("default")
        if beside_running:
            if any(queued_id.startswith(f"{job_id}-") for queued_id in queue.get_job_ids()):
                return False
            job_id = f"{job_id}-{uuid.uuid4()}"
        elif _is_unfinished(queue, job_id):
            return False
        queue.enqueue(work, *arguments, job_id=job_id, **{"result_ttl": 0, "failure_ttl": 0} | options)
    except RedisError as error:
        logger.warning("judging.launch_postponed job_id=%s error=%s", job_id, type(error).__name__)
        return None
    return True


def _is_unfinished(queue: Queue, job_id: str) -> bool:
    try:
        job = Job.fetch(job_id, connection=queue.connection, serializer=queue.serializer)
    except NoSuchJobError:
        return False
    return job.get_status() in UNFINISHED
