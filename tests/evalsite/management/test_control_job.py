"""`control_job`: the broker's jobs, and failed ones queued again or deleted."""

from __future__ import annotations

import pytest
from redis import Redis

from evalsite.accounts.models import AuditEntry
from tests.evalsite.test_job_queues import broker, fail_a_job
from tests.judging.management.test_run_commands import refusal, run_command

__all__ = ["broker"]
pytestmark = pytest.mark.django_db
FAILING = ("--queue", "calls", "--job", "failing")


def test_control_job_lists_failed_jobs_and_queues_one_again(broker: Redis) -> None:
    fail_a_job()

    before = run_command("control_job", "list")
    done = run_command("control_job", "requeue", *FAILING)
    after = run_command("control_job", "list")

    assert [(row["pk"], row["queue"], row["title"]) for row in before["failed"]] == [
        ("failing", "calls", "Update the figures of judges")
    ]
    assert done == {"queue": "calls", "job": "failing", "done": "requeue"}
    assert ([row["pk"] for row in after["waiting"]], after["failed"], after["problem"]) == (["failing"], [], "")
    assert AuditEntry.objects.get(action="job.requeued").detail == {"job": "failing"}


def test_control_job_deletes_a_failed_job_once(broker: Redis) -> None:
    fail_a_job()

    run_command("control_job", "delete", *FAILING)

    assert run_command("control_job", "list")["failed"] == []
    assert refusal("control_job", "delete", *FAILING) == "This job is no longer a failed job."
    assert refusal("control_job", "requeue") == "Name the queue and the job (--queue, --job), as `list` prints them."
