"""Whether the site works, and its figures for Prometheus: database, broker, workers, and how long jobs have waited."""

from __future__ import annotations

import hmac
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.models import Count, F, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django_rq import get_connection, get_queue
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from redis.exceptions import RedisError, ResponseError
from rq import Queue as JobQueue
from rq import Worker
from rq.job import Job
from rq.worker import BaseWorker

from evalsite.base.types import JsonDict
from evalsite.review.models import Assignment, Queue
from evalsite.review.states import AssignmentStatus, QueueStatus
from judging.models import CallHour, Lease, ModelEndpoint, Run
from judging.models.runs import ACTIVE

WORKER_SILENCE = timedelta(seconds=120)
LEAST_FREE_BYTES = 256 * 2**20  # on the disk of the site's data


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One worker that the broker knows."""

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
    workers = map(worker_health, Worker.all(connection=get_connection()))
    return tuple(worker for worker in workers if _is_live(worker, at))


def worker_health(worker: BaseWorker) -> WorkerHealth:
    """Return what the broker knows of a worker."""
    return WorkerHealth(
        worker.name,
        worker.hostname or "",
        worker.pid,
        tuple(worker.queue_names()),
        str(worker.get_state()),
        in_utc(worker.last_heartbeat),
    )


def in_utc(moment: datetime | None) -> datetime | None:
    """Return a moment of the broker, which leaves the zone of some out."""
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_live(worker: WorkerHealth, at: datetime) -> bool:
    heartbeat = worker.last_heartbeat_at
    return heartbeat is not None and (worker.state == "busy" or at - heartbeat < WORKER_SILENCE)


def _queue_health(queue: JobQueue, at: datetime) -> QueueHealth:
    first = next(iter(queue.get_job_ids(offset=0, length=1)), None)
    jobs = Job.fetch_many([first], connection=queue.connection, serializer=queue.serializer) if first else ()
    enqueued = in_utc(next((job.enqueued_at for job in jobs if job is not None), None))
    return QueueHealth(queue.name, len(queue), None if enqueued is None else (at - enqueued).total_seconds())


# Figures for Prometheus: what waits, runs and was paid, read from the database and the broker when they are asked for.
#
# Every process answers alike, since all state is there; an answer is kept for ten seconds. Pages are counted in the
# broker's Redis by whichever process showed them.

KEPT = "evalsite:metrics"  # an answer, in Redis
KEPT_SECONDS = 10
PAGES = "evalsite:metrics:pages"  # "name status" -> requests
SECONDS = "evalsite:metrics:seconds"  # "name status" -> seconds of server time
UNNAMED = "none"  # of addresses that lead to no page


class PageCountMiddleware:
    """Counts the answers of each page with the time they took, where somebody may read the counts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if not settings.METRICS_TOKEN:
            return self.get_response(request)
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        key = f"{match.view_name or UNNAMED if match else UNNAMED} {response.status_code}"
        with suppress(RedisError, OSError):  # a page is no worse for not being counted
            pipe = get_connection().pipeline(transaction=False)
            pipe.hincrby(PAGES, key, 1)
            pipe.hincrbyfloat(SECONDS, key, time.perf_counter() - began)
            pipe.execute()
        return response


@login_not_required
@require_GET
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with the figures, to who names the token of EVALSITE_METRICS_TOKEN; without one there is no such page."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        refusal = HttpResponse("unauthorized\n", status=401, content_type="text/plain")
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    return HttpResponse(_kept_text() or _new_text(timezone.now()), content_type=CONTENT_TYPE_LATEST)


def _kept_text() -> bytes:
    try:
        kept = get_connection().get(KEPT)
    except (RedisError, OSError):
        return b""
    return kept if isinstance(kept, bytes) else b""


def _new_text(at: datetime) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Figures(at))
    text = generate_latest(registry)
    with suppress(RedisError, OSError):
        get_connection().set(KEPT, text, ex=KEPT_SECONDS)
    return text


class _Figures(Collector):
    def __init__(self, at: datetime) -> None:
        self.at = at

    def collect(self) -> Iterator[Metric]:
        """Yield every figure. What the broker does not say is left out; whether it answers is a figure itself."""
        health = read_health(at=self.at)
        yield _gauge("evalsite_database_up", "Whether the database answers.", [((), health.database == "ok")])
        yield _gauge("evalsite_broker_up", "Whether the broker answers and can write.", [((), health.broker == "ok")])
        yield _gauge("evalsite_disk_free_bytes", "Free space for the site's data.", [((), health.disk_free_bytes)])
        if health.broker == "ok":
            yield from _of_broker(health)
        if health.database == "ok":
            yield from _of_runs(self.at)
            yield from _of_calls()
            yield from _of_people(self.at)


def _of_broker(health: Health) -> Iterator[Metric]:
    yield _gauge("evalsite_workers", "Live workers.", [((), len(health.workers))])
    depths = [((queue.name,), queue.waiting) for queue in health.queues]
    yield _gauge("evalsite_jobs_waiting", "Jobs that wait, by queue.", depths, "queue")
    ages = [((queue.name,), queue.oldest_seconds or 0.0) for queue in health.queues]
    yield _gauge("evalsite_jobs_oldest_seconds", "How long the first job of each queue has waited.", ages, "queue")
    for name, words, key in (
        ("evalsite_pages", "Answers by page and status.", PAGES),
        ("evalsite_page_seconds", "Seconds that answers took, by page and status.", SECONDS),
    ):
        counts = [(tuple(str(page, "utf-8").rsplit(" ", 1)), float(count)) for page, count in _hash(key).items()]
        yield _counter(name, words, sorted(counts), "page", "status")


def _hash(key: str) -> dict[bytes, bytes]:
    return cast(dict[bytes, bytes], get_connection().hgetall(key))


def _of_runs(at: datetime) -> Iterator[Metric]:
    runs = Run.objects.filter(archived_at=None).values_list("status").annotate(Count("pk")).order_by("status")
    yield _gauge("evalsite_runs", "Runs that are not archived, by status.", _by_name(runs), "status")
    active = Run.objects.filter(status__in=ACTIVE).aggregate(tasks=Sum(F("total") - F("done") - F("failed")))
    yield _gauge("evalsite_tasks_open", "Open tasks of active runs.", [((), active["tasks"] or 0)])
    leases = Lease.objects.filter(expires_at__gt=at).aggregate(leases=Count("pk"), calls=Sum("in_flight"))
    yield _gauge("evalsite_leases", "Claims of workers on tasks of runs that hold now.", [((), leases["leases"])])
    yield _gauge("evalsite_calls_in_flight", "Calls that they have sent, at most.", [((), leases["calls"] or 0)])


def _of_calls() -> Iterator[Metric]:
    """Yield what calls came to by the sums of their hours, however many calls the ledger holds."""
    sums = ("calls", "errors", "prompt_tokens", "completion_tokens", "cost")
    by_endpoint = CallHour.objects.order_by().values_list("endpoint_id").annotate(*map(Sum, sums))
    names = dict(ModelEndpoint.objects.values_list("pk", "name"))
    rows = sorted((names[endpoint], *figures) for endpoint, *figures in by_endpoint)
    counts = [((row[0], "failed"), row[2]) for row in rows] + [((row[0], "finished"), row[1] - row[2]) for row in rows]
    words = "Calls to models by endpoint, finished or not (failed, refused or cut off)."
    yield _counter("evalsite_calls", words, sorted(counts), "endpoint", "status")
    for name, words, place in (
        ("evalsite_prompt_tokens", "Tokens of prompts, as endpoints reported them.", 3),
        ("evalsite_completion_tokens", "Tokens of replies, as endpoints reported them.", 4),
        ("evalsite_cost_dollars", "US dollars of calls whose price is known.", 5),
    ):
        yield _counter(name, words, [((row[0],), float(row[place] or 0)) for row in rows], "endpoint")


def _of_people(at: datetime) -> Iterator[Metric]:
    queues = Queue.objects.filter(status=QueueStatus.OPEN).order_by("pk")
    waiting = [((str(queue.pk), queue.name), queue.open_count) for queue in queues.only("name", "open_count")]
    yield _gauge("evalsite_items_waiting", "Items that wait for people, by open queue.", waiting, "queue", "name")
    claims = Assignment.objects.filter(queue__in=queues.order_by(), item_open=True, expires_at__gt=at)
    held = claims.filter(status=AssignmentStatus.LEASED).count()
    yield _gauge("evalsite_items_claimed", "Items that somebody is working on.", [((), held)])


Figures = Iterable[tuple[tuple[str, ...], float]]


def _by_name(rows: Iterable[tuple[str, int]]) -> Figures:
    return [((name,), count) for name, count in rows]


def _gauge(name: str, words: str, figures: Figures, *labels: str) -> Metric:
    return _filled(GaugeMetricFamily(name, words, labels=labels), figures)


def _counter(name: str, words: str, figures: Figures, *labels: str) -> Metric:
    return _filled(CounterMetricFamily(name, words, labels=labels), figures)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, figures: Figures) -> Metric:
    for labels, value in figures:
        family.add_metric(list(labels), float(value))
    return family
