"""What finishes below is routed, at once or later, with a broker or without."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from redis.exceptions import ConnectionError as BrokerGone

from debate.models import DebateSet
from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.base.signals import content_changed, debates_finished, run_finished
from evalsite.reports import jobs as reports_jobs
from evalsite.review import jobs
from evalsite.review.models import Queue, ReviewItem
from evalsite.serving.apps import added_recoveries
from judging.models import Run
from judging.services import long_jobs
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


class FakeQueue:
    """A broker's queue that remembers, or that cannot be reached."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone, self.calls, self.ids = gone, list[tuple[str, int]](), list[str]()

    def get_job_ids(self) -> list[str]:
        if self.gone:
            raise BrokerGone("no broker")
        return self.ids

    def enqueue(self, work: Any, subject_id: int, *, job_id: str, **options: int | None) -> None:
        self.calls.append((work.__name__, subject_id))
        self.ids.append(job_id)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> FakeQueue:
    found = FakeQueue()
    monkeypatch.setattr(long_jobs, "get_queue", lambda name: found)
    monkeypatch.setattr(reports_jobs, "enqueue_once", lambda *given, job_id: True)  # what reports queue is theirs
    return found


def test_receivers_queue_one_job_each_once_the_transaction_commits(
    broker: FakeQueue, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run_finished.send(sender=Run, run_id=3, kind="grading")
        run_finished.send(sender=Run, run_id=3, kind="grading")
        run_finished.send(sender=Run, run_id=4, kind="debate")
        debates_finished.send(sender=DebateSet, debate_set_id=5)
        content_changed.send(sender=Run, benchmark_id=6)
        assert broker.calls == []

    assert broker.calls == [("route_run", 3), ("route_debates", 5), ("refresh_benchmark", 6)]


def test_launch_without_a_broker_leaves_the_work_for_later(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(long_jobs, "get_queue", lambda name: FakeQueue(gone=True))
    debate = factories.debate()
    with django_capture_on_commit_callbacks(execute=True):
        jobs.launch(jobs.route_debates, debate.debate_set_id)

    call_command("queue", "route")

    assert {row.debate for row in ReviewItem.objects.get().referrals.all()} == {debate}


def test_route_pending_is_run_by_workers_and_queues_what_is_unheard(
    broker: FakeQueue, django_capture_on_commit_callbacks: Any
) -> None:
    run = factories.run(status="finished", finished_at=NOON)
    owner = factories.debate().debate_set

    with django_capture_on_commit_callbacks(execute=True):
        found = added_recoveries()["route_pending"]()

    assert (found, broker.calls) == (2, [("route_run", run.pk), ("route_debates", owner.pk)])


def test_jobs_open_items_and_can_be_repeated() -> None:
    debate = factories.debate()
    verdict = factories.verdict(status="unparsed", value=None)

    for _ in range(2):
        jobs.route_debates(debate.debate_set_id)
        jobs.route_run(verdict.run_id)
        jobs.refresh_benchmark(debate.case.prompt.benchmark_id)

    assert sorted(ReviewItem.objects.values_list("reason", "status")) == [
        ("unparsed_verdict", "open"),
        ("unresolved_debate", "open"),
    ]
    assert Queue.objects.filter(routed_at=None).count() == 0


def test_queue_route_prints_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    factories.debate()

    call_command("queue", "route", "--json")
    call_command("queue", "route", "--json")

    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"runs": 0, "debate_sets": 1, "items_opened": 1},
        {"runs": 0, "debate_sets": 0, "items_opened": 0},
    ]


def test_queue_route_stands_in_the_log_and_is_for_owners_of_a_run_whose_scores_count() -> None:
    rita, _ = factories.user("rita", Role.RESEARCHER), factories.user("rob", Role.RESEARCHER)
    run = factories.run(status="finished", finished_at=NOON, created_by=rita)
    trial = factories.run(status="finished", finished_at=NOON, kind="single")

    with pytest.raises(BadInput, match="is the work of rita"):
        call_command("queue", "route", "--run", f"{run.pk}", "--by", "rob")
    with pytest.raises(BadInput, match=f"There is no run “{trial.pk}”"):
        call_command("queue", "route", "--run", f"{trial.pk}")
    call_command("queue", "route", "--run", f"{run.pk}", "--by", "rita")

    entry = AuditEntry.objects.get(action="queue.routed")
    facts = {"runs": 1, "debate_sets": 0, "items_opened": 0, "through": "command"}
    assert (entry.actor, entry.subject_id, entry.detail) == (rita, run.pk, facts)


def test_queue_route_refuses_runs_that_have_not_finished() -> None:
    run = factories.run(status="running")

    with pytest.raises(BadInput, match="is running; only finished runs are routed"):
        call_command("queue", "route", "--run", f"{run.pk}")
    with pytest.raises(BadInput, match="There is no run “0”"):
        call_command("queue", "route", "--run", "0")
    with pytest.raises(BadInput, match="There is no debate set “0”"):
        call_command("queue", "route", "--debate-set", "0")
