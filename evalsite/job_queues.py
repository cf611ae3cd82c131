"""The broker's jobs and workers, and what each job is about; failed jobs are queued again or deleted."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django_rq import get_connection, get_queue
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.exceptions import InvalidJobOperation, NoSuchJobError
from rq.job import Job
from rq.registry import DeferredJobRegistry, FailedJobRegistry, ScheduledJobRegistry, StartedJobRegistry
from rq.worker import BaseWorker

from debate.models import DebateSet
from evalsite.accounts.audit import record
from evalsite.base.types import Refused
from evalsite.health import WorkerHealth, in_utc, worker_health
from judging.models import Run, RunEvaluator, Upload

SHOWN = 100  # jobs of each state and queue
PROC = Path("/proc")


class JobRefused(Refused):
    """The job cannot be changed; the message says why."""


# a worker; the function that it works on, with its arguments; its memory and its job's, None on another machine
WorkerRow = tuple[WorkerHealth, str, int | None]


@dataclass(frozen=True, slots=True)
class JobSubject:
    """The run, import or set of debates that a job works on; its page has its progress and its buttons."""

    name: str
    url: str
    person: str = ""  # who started it
    done: int | None = None  # of `total` tasks or rows; None: it has no progress of its own
    total: int = 0


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job of a queue."""

    pk: str
    queue: str
    work: str  # the function with its arguments
    title: str  # what it does, in words; the same as `work` where nobody has named it
    subject: JobSubject | None
    since: datetime | None  # when it came into its state
    reason: str  # the last line of the error of a failed job
    trace: str


@dataclass(frozen=True, slots=True)
class JobList:
    """The jobs of one state: the first of them, and how many there are."""

    title: str
    rows: tuple[JobRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class JobQueues:
    """Everything that the page of jobs shows. `problem` says why it shows nothing."""

    workers: tuple[WorkerRow, ...] = ()
    running: JobList = JobList("Running", (), 0)
    waiting: JobList = JobList("Waiting", (), 0)
    scheduled: JobList = JobList("Scheduled for later", (), 0)
    failed: JobList = JobList("Failed", (), 0)
    problem: str = ""

    @property
    def lists(self) -> tuple[JobList, ...]:
        return (self.running, self.waiting, self.scheduled)


def read_job_queues() -> JobQueues:
    """Return the workers and jobs that the broker knows; a broker that does not answer is named, never raised."""
    try:
        queues = [get_queue(name) for name in settings.RQ_QUEUES]
        workers = Worker.all(connection=get_connection(), serializer=get_queue("default").serializer)
        rows = [_worker_row(worker) for worker in workers]
        return JobQueues(
            workers=tuple(sorted(rows, key=lambda row: (row[0].host, row[0].pid or 0))),
            running=_job_list("Running", queues, lambda queue: StartedJobRegistry(queue=queue).get_job_ids()),
            waiting=_job_list("Waiting", queues, _waiting_ids),
            scheduled=_job_list("Scheduled for later", queues, _scheduled_ids),
            failed=_job_list("Failed", queues, lambda queue: FailedJobRegistry(queue=queue).get_job_ids(desc=True)),
        )
    except (RedisError, OSError):
        return JobQueues(problem="The broker is not reachable, so its jobs and workers are unknown.")


def change_failed_job(*, queue_name: str, job_id: str, actor: User | None, delete: bool) -> None:
    """Queue a failed job again, or delete it with what is known of its failure.

    Raises:
        JobRefused: there is no such failed job, or the broker does not answer.
    """
    registry = FailedJobRegistry(queue=get_queue(queue_name))
    try:
        if job_id not in registry.get_job_ids():
            raise JobRefused("This job is no longer a failed job.")
        work = _work_of(Job.fetch(job_id, connection=registry.connection, serializer=registry.serializer))
        if delete:
            registry.remove(job_id, delete_job=True)
        else:
            registry.requeue(job_id)
    except (NoSuchJobError, InvalidJobOperation):
        raise JobRefused("This job is no longer a failed job.") from None
    except (RedisError, OSError):
        raise JobRefused("The broker is not reachable. Nothing was changed.") from None
    act = "job.deleted" if delete else "job.requeued"
    record(actor, act, work, job=job_id)


def _job_list(title: str, queues: Sequence[Queue], ids_of: Any) -> JobList:
    jobs: list[tuple[str, Job]] = []
    total = 0
    for queue in queues:
        ids = ids_of(queue)
        total += len(ids)
        fetched = Job.fetch_many(ids[:SHOWN], connection=queue.connection, serializer=queue.serializer)
        jobs += [(queue.name, job) for job in fetched if job is not None]
    subjects = _subjects_of([job for _, job in jobs])
    return JobList(title, tuple(_job_row(queue, job, subjects.get(job.id)) for queue, job in jobs), total)


_Subject = Run | Upload | DebateSet | RunEvaluator

# what jobs do, in words, and what their first argument is the key of
JOBS: Mapping[str, tuple[str, type[_Subject] | None]] = {
    "judging.jobs.work_runs": ("Work on all waiting runs", None),
    "judging.jobs.work_run": ("Work on a run", Run),
    "judging.jobs.work_import": ("Check or store an import", Upload),
    "judging.jobs.work_rescoring": ("Recompute scores", RunEvaluator),
    "judging.jobs.work_edit_trial": ("Try changed grading", None),
    "evalsite.reports.jobs.compute_report": ("Compute a report", None),
    "evalsite.reports.jobs.refresh_run": ("Update the reports of a run", Run),
    "evalsite.reports.jobs.refresh_judges": ("Update the figures of judges", None),
    "evalsite.reports.jobs.refresh_queue": ("Update the agreement of a queue", None),
    "evalsite.review.jobs.route_run": ("Send a run's open responses to people", Run),
    "evalsite.review.jobs.send_rest_of_run": ("Send the rest of a run to people", Run),
    "evalsite.review.jobs.send_rest_of_debates": ("Send the rest of debates to people", DebateSet),
    "evalsite.review.jobs.route_debates": ("Send undecided debates to people", DebateSet),
    "evalsite.review.jobs.refresh_benchmark": ("Update review items of a benchmark", None),
    "evalsite.review.jobs.mail_notices": ("Send notices by e-mail", None),
}


def _subjects_of(jobs: Sequence[Job]) -> dict[str, JobSubject]:
    """Return what jobs are about, by job: a query for each kind of subject."""
    keys_by_model: dict[type[_Subject], dict[str, int]] = {}
    for job in jobs:
        _, model = JOBS.get(job.func_name or "", ("", None))
        if model is not None and job.args and isinstance(job.args[0], int):
            keys_by_model.setdefault(model, {})[job.id] = job.args[0]
    subjects: dict[str, JobSubject] = {}
    for model, keys in keys_by_model.items():
        rows = model._default_manager.select_related(*OWNERS[model]).in_bulk(set(keys.values()))
        subjects |= {job_id: _subject_of(rows[key]) for job_id, key in keys.items() if key in rows}
    return subjects


OWNERS: Mapping[type[_Subject], tuple[str, ...]] = {
    Run: ("created_by",),
    Upload: ("created_by",),
    DebateSet: (),
    RunEvaluator: ("run__created_by",),
}


def _subject_of(row: _Subject) -> JobSubject:
    if isinstance(row, RunEvaluator):
        return _subject_of(row.run)
    if isinstance(row, DebateSet):
        return JobSubject(row.name, row.get_absolute_url())
    person = row.created_by.get_username() if row.created_by is not None else ""
    if isinstance(row, Upload):
        return JobSubject(row.file_name, row.get_absolute_url(), person)
    return JobSubject(row.name, row.get_absolute_url(), person, row.done + row.failed, row.total)


def _waiting_ids(queue: Queue) -> list[str]:
    return [*queue.get_job_ids(), *DeferredJobRegistry(queue=queue).get_job_ids()]


def _scheduled_ids(queue: Queue) -> list[str]:
    registry = ScheduledJobRegistry(queue=queue)  # type: ignore[no-untyped-call]  # rq leaves it untyped
    return list(registry.get_job_ids())


def _job_row(queue: str, job: Job, subject: JobSubject | None) -> JobRow:
    since = job.ended_at or job.started_at or job.enqueued_at or job.created_at
    result = job.latest_result() if job.is_failed else None
    trace = (result.exc_string if result else "") or ""
    reason = trace.strip().rsplit("\n", 1)[-1]
    work = _work_of(job)
    title, _ = JOBS.get(job.func_name or "", (work, None))
    return JobRow(job.id, queue, work, title, subject, in_utc(since), reason, trace)


def _work_of(job: Job) -> str:
    arguments = [str(value) for value in job.args or ()]
    arguments += [f"{name}={value}" for name, value in (job.kwargs or {}).items()]
    return f"{job.func_name}({', '.join(arguments)})"


def _worker_row(worker: BaseWorker) -> WorkerRow:
    job = worker.get_current_job()
    here = worker.hostname == socket.gethostname()
    memory_bytes = memory_of(worker.pid) if here and worker.pid else None
    return worker_health(worker), _work_of(job) if job else "", memory_bytes


def memory_of(pid: int) -> int | None:
    """Return the resident memory of a process of this machine and of those that it started; None where it is gone."""
    try:
        status = (PROC / str(pid) / "status").read_text()
        children = (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()
    except OSError:
        return None
    process_bytes = next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0)
    return process_bytes + sum(amount for amount in (memory_of(int(child)) for child in children) if amount is not None)
