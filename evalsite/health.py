"""Whether the site works: database, broker, workers, and how long the oldest job has waited."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django_rq import get_connection, get_queue
from redis.exceptions import RedisError, ResponseError
from rq import Queue, Worker
from rq.job import Job

from evalsite.base.json_types import JsonDict

WORKER_SILENCE = timedelta(seconds=120)
LEAST_FREE_BYTES = 256 * 2**20  # on the disk of the site's data


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One live worker."""

    name: str
    host: str
    pid: int | None
    queues: tuple[str, ...]
    state: str
    last_heartbeat_at: datetime | None


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """What waits in one queue of the broker."""

    name: str
    waiting: int
    oldest_seconds: float | None  # how long its first job has waited; None where none waits


@dataclass(frozen=True, slots=True)
class Health:
    """A snapshot of the site's parts. `status` is "ok" only if jobs would be worked on."""

    status: str  # ok | degraded
    database: str  # ok | the reason
    database_kind: str
    broker: str
    broker_kind: str
    workers: tuple[WorkerHealth, ...]
    queues: tuple[QueueHealth, ...]
    disk: str  # ok | nearly full
    disk_free_bytes: int

    @property
    def waiting_jobs(self) -> int:
        """How many jobs wait in all queues."""
        return sum(queue.waiting for queue in self.queues)

    @property
    def oldest_waiting_job_seconds(self) -> float | None:
        """How long the first job of all has waited; None where none waits."""
        return max((queue.oldest_seconds for queue in self.queues if queue.oldest_seconds is not None), default=None)

    def as_json(self) -> JsonDict:
        """Return the answer of /healthz to admins: `workers` is their number, names stay on the health page."""
        facts = asdict(self) | {
            "workers": len(self.workers),
            "waiting_jobs": self.waiting_jobs,
            "oldest_waiting_job_seconds": self.oldest_waiting_job_seconds,
        }
        return {name: value for name, value in facts.items() if name != "queues"}

    def in_words(self) -> dict[str, str]:
        """Return the answer of /healthz to everybody: which parts work, and nothing about them."""
        workers = "ok" if self.workers else "none running" if self.broker == "ok" else "not known"
        parts = {"database": self.database, "broker": self.broker, "workers": workers, "disk": self.disk}
        return {"status": self.status, **parts}


def read_health(*, at: datetime) -> Health:
    """Return the site's health at `at`; parts that do not answer are named, never raised."""
    database = database_state()
    try:
        workers = _live_workers(at)
        queues = tuple(_queue_health(get_queue(name), at) for name in settings.RQ_QUEUES)
        broker = _broker_state()
    except (RedisError, OSError):
        workers, queues, broker = (), (), "not reachable"
    folder = settings.DATA_DIR  # made when something is stored there; without SQLite and broker of its own nothing is
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.is_dir())).free
    disk = "ok" if free >= LEAST_FREE_BYTES else "nearly full"
    good = database == broker == disk == "ok" and bool(workers)
    return Health(
        status="ok" if good else "degraded",
        database=database,
        database_kind=connection.vendor,
        broker=broker,
        broker_kind="external" if settings.EXTERNAL_REDIS_URL else "embedded",
        workers=workers,
        queues=queues,
        disk=disk,
        disk_free_bytes=free,
    )


def _broker_state() -> str:
    """Return "ok" if the broker takes what is written to it: a full or read-only one still answers."""
    try:
        get_connection().set("evalsite:health", 1, ex=60)
    except ResponseError:
        return "not writable"
    return "ok"


def database_state() -> str:
    """Return "ok" if the database answers, else why the site cannot use it."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "not reachable"
    return "ok"


def _live_workers(at: datetime) -> tuple[WorkerHealth, ...]:
    workers = (
        WorkerHealth(
            worker.name,
            worker.hostname or "",
            worker.pid,
            tuple(worker.queue_names()),
            str(worker.get_state()),
            worker.last_heartbeat,
        )
        for worker in Worker.all(connection=get_connection())
    )
    return tuple(worker for worker in workers if _is_live(worker, at))


def _is_live(worker: WorkerHealth, at: datetime) -> bool:
    heartbeat = worker.last_heartbeat_at
    if heartbeat is None:
        return False
    heartbeat = heartbeat if heartbeat.tzinfo else heartbeat.replace(tzinfo=UTC)
    return worker.state == "busy" or at - heartbeat < WORKER_SILENCE


def _queue_health(queue: Queue, at: datetime) -> QueueHealth:
    first = next(iter(queue.get_job_ids(offset=0, length=1)), None)
    jobs = Job.fetch_many([first], connection=queue.connection, serializer=queue.serializer) if first else ()
    enqueued = next((job.enqueued_at for job in jobs if job is not None), None)
    if enqueued is not None and not enqueued.tzinfo:
        enqueued = enqueued.replace(tzinfo=UTC)
    return QueueHealth(queue.name, len(queue), None if enqueued is None else (at - enqueued).total_seconds())
