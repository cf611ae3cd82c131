"""Queues a job that must not be queued twice."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from django_rq import get_queue
from redis.exceptions import RedisError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus

logger = logging.getLogger(__name__)

UNFINISHED = frozenset({JobStatus.QUEUED, JobStatus.STARTED, JobStatus.SCHEDULED, JobStatus.DEFERRED})


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
    """Return whether a job of this id waits or runs."""
    try:
        job = Job.fetch(job_id, connection=queue.connection, serializer=queue.serializer)
    except NoSuchJobError:
        return False
    return job.get_status() in UNFINISHED
