"""The page of jobs: what the broker knows, and failed jobs queued again or deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils.module_loading import import_string
from django_rq import get_queue
from redis import Redis
from rq import SimpleWorker
from rq.job import Job

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.job_queues import JOBS, JobSubject, memory_of, read_job_queues
from evalsite.serving.broker import EmbeddedBroker
from tests import factories

pytestmark = pytest.mark.django_db
WORK = "evalsite.reports.jobs.refresh_judges"
FAILED = {"queue": "calls", "job": "failing"}


@pytest.fixture
def broker() -> Iterator[Redis]:
    """Return a connection to the tests' broker, emptied; started for the test where it is the embedded one."""
    embedded = None if settings.EXTERNAL_REDIS_URL else EmbeddedBroker(Path(settings.DATA_DIR))
    started = embedded.start() if embedded else False
    connection = get_queue("default").connection
    connection.flushdb()
    yield connection
    connection.flushdb()
    if embedded and started:
        embedded.stop()


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(factories.user("ada", Role.ADMIN))
    return client


def _enqueue(queue: str, job_id: str, *given: int, work: str = WORK) -> None:
    connection, serializer = get_queue(queue).connection, get_queue(queue).serializer
    job = Job.create(work, args=given, id=job_id, origin=queue, connection=connection, serializer=serializer)
    get_queue(queue).enqueue_job(job)


def fail_a_job() -> None:
    """Let a job fail in a worker of this process: it gets an argument too many."""
    _enqueue("calls", "failing", 1)
    queue = get_queue("calls")
    SimpleWorker([queue], connection=queue.connection, serializer=queue.serializer).work(burst=True)


def test_read_job_queues_tells_what_waits_and_what_failed_and_why(broker: Redis) -> None:
    fail_a_job()
    _enqueue("default", "waiting")

    found = read_job_queues()

    assert [(row.work, row.queue) for row in found.waiting.rows] == [
        ("evalsite.reports.jobs.refresh_judges()", "default")
    ]
    assert [(row.pk, row.queue, row.work) for row in found.failed.rows] == [
        ("failing", "calls", "evalsite.reports.jobs.refresh_judges(1)")
    ]
    assert found.failed.rows[0].reason.startswith("TypeError: ")
    assert (found.running.total, found.problem) == (0, "")


def test_job_requeue_queues_a_failed_job_again_once(broker: Redis, admin: Client) -> None:
    fail_a_job()
    url = reverse("job-requeue", kwargs=FAILED)

    said = [[str(one) for one in admin.post(url, follow=True).context["messages"]] for _ in range(2)]

    assert said == [["The job was queued again."], ["This job is no longer a failed job."]]
    found = read_job_queues()
    assert ([row.pk for row in found.waiting.rows], found.failed.total) == (["failing"], 0)
    entry = AuditEntry.objects.get(action="job.requeued")
    assert (entry.subject, entry.detail) == ("evalsite.reports.jobs.refresh_judges(1)", {"job": "failing"})


def test_job_delete_deletes_a_failed_job(broker: Redis, admin: Client) -> None:
    fail_a_job()

    page = admin.post(reverse("job-delete", kwargs=FAILED), follow=True)

    found = read_job_queues()
    assert (found.waiting.total, found.failed.total) == (0, 0)
    assert [str(one) for one in page.context["messages"]] == ["The job was deleted."]
    assert not Job.exists("failing", connection=broker)


def test_job_list_shows_researchers_what_a_job_is_about_and_lets_only_admins_act(broker: Redis, client: Client) -> None:
    rita = factories.user("rita", Role.RESEARCHER)
    run = factories.run(name="Nightly", status="running", total=8, done=2, failed=1, created_by=rita)
    _enqueue("default", "routing", run.pk, work="evalsite.review.jobs.route_run")
    _enqueue("default", "gone", 999_999, work="judging.jobs.work_run")
    fail_a_job()
    client.force_login(rita)

    page = client.get(reverse("job-list"))

    waiting = page.context["queues"].waiting.rows
    assert [(row.title, row.subject) for row in waiting] == [
        ("Send a run's open responses to people", JobSubject("Nightly", run.get_absolute_url(), "rita", 3, 8)),
        ("Work on a run", None),
    ]
    assert "3 of 8 tasks" in " ".join(page.text.split())
    assert [live.run.name for live in page.context["live"]] == ["Nightly"]
    assert "TypeError: " in page.text  # why it failed
    assert ("Traceback" in page.text, reverse("job-requeue", kwargs=FAILED) in page.text) == (False, False)


def test_every_named_job_exists() -> None:
    for path in JOBS:
        assert callable(import_string(path))


def test_job_list_shows_host_process_and_memory_of_workers(broker: Redis, admin: Client) -> None:
    queue = get_queue("calls")
    worker = SimpleWorker([queue], connection=queue.connection, serializer=queue.serializer)
    worker.register_birth()  # type: ignore[no-untyped-call]  # rq leaves it untyped

    page = admin.get(reverse("job-list"))

    rows = page.context["queues"].workers
    shown = [(shown_worker.host, shown_worker.pid, shown_worker.queues) for shown_worker, _, _ in rows]
    assert shown == [(worker.hostname, os.getpid(), ("calls",))]
    assert (rows[0][2] or 0) > 10_000_000  # this process with Django in it
    assert (worker.hostname or "nowhere") in page.text


def test_job_list_shows_the_job_that_a_worker_works_on(broker: Redis, admin: Client) -> None:
    _enqueue("calls", "in-work", 7)
    queue = get_queue("calls")
    worker = SimpleWorker([queue], connection=queue.connection, serializer=queue.serializer)
    worker.register_birth()  # type: ignore[no-untyped-call]  # rq leaves it untyped
    worker.prepare_execution(Job.fetch("in-work", connection=queue.connection, serializer=queue.serializer))

    rows = read_job_queues().workers
    page = admin.get(reverse("job-list"))

    assert [work for _, work, _ in rows] == ["evalsite.reports.jobs.refresh_judges(7)"]
    assert page.status_code == 200


@pytest.mark.skipif(bool(settings.EXTERNAL_REDIS_URL), reason="the external broker is always there")
def test_job_list_says_that_the_broker_does_not_answer(admin: Client) -> None:
    page = admin.get(reverse("job-list"))

    assert "The broker is not reachable, so its jobs and workers are unknown." in page.text


def test_memory_of_a_process_that_is_gone_is_not_known() -> None:
    assert memory_of(2**22 + 1) is None  # above the highest process id of Linux
