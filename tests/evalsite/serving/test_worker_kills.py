"""Real workers, whose jobs RQ forks, killed with SIGKILL: nothing lost, nothing asked twice, nothing half stored."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import databases
from tests.evalsite.serving.worked_site import SupervisedSite, WorkedSite, children_of
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.own_site import OwnSite, fake_key, own_site
from tests.own_redis import OwnRedis
from tests.sizes import IS_WHOLE

CASES = 60
KILLS = 3
SEEDS = [pytest.param(seed, marks=pytest.mark.slow if seed else ()) for seed in range(20)]
A_MINUTE = 60
VICTIMS = ("job", "sender", "worker", "all")


@pytest.fixture
def site(tmp_path: Path, own_database: str, redis_server: OwnRedis) -> Iterator[OwnSite]:
    with own_site(tmp_path, own_database, redis_url=redis_server.url) as made:
        yield made


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc tells whose child a process is")


@pytest.mark.backend_free  # what is half stored on PostgreSQL is asked below
@pytest.mark.parametrize("seed", SEEDS)
def test_kills_at_random_moments_lose_nothing_and_repeat_no_stored_call(
    seed: int, site: OwnSite, fake_llm: FakeLLM
) -> None:
    chance = random.Random(seed)
    fake_llm.config(latency=60)
    run = site.ask("make", fake_llm.url, CASES)
    worked = WorkedSite(site)
    stored_at: list[tuple[float, set[str]]] = []
    try:
        for kill in range(KILLS):
            moment = kill * (CASES // KILLS) + chance.randrange(1, CASES // KILLS - 4)
            worked.wait_until(lambda: fake_llm.stats()["calls"] >= moment, f"call {moment}")  # noqa: B023
            time.sleep(chance.random() * 0.3)
            worked.kill(chance.choice(VICTIMS))
            stored = site.ask("state", run)
            stored_at.append((time.monotonic(), {fake_key(messages) for messages in stored["finished"]}))
            site.ask("resume")
        end = worked.end_of(run)
    finally:
        worked.close()

    assert (end["status"], end["counts"], end["tasks"]) == ("finished", [CASES, CASES, 0], {"done": CASES})
    assert (end["verdicts"], end["scores"]) == ({"ok": CASES}, {"complete": CASES})
    assert end["calls"]["finished"] == CASES
    log = fake_llm.log()
    assert [line["key"] for at, keys in stored_at for line in log if line["t"] > at and line["key"] in keys] == []


def test_a_job_killed_while_it_stores_leaves_nothing_half_stored(
    site: OwnSite, own_database: str, fake_llm: FakeLLM
) -> None:
    if not own_database.startswith("postgres"):
        pytest.skip("SQLite keeps no transaction of a process that is gone")
    import psycopg

    run = site.ask("make", fake_llm.url, 8)
    worked = WorkedSite(site)
    try:
        with psycopg.connect(own_database) as holder, psycopg.connect(own_database, autocommit=True) as watcher:
            states = "SELECT state, wait_event_type FROM pg_stat_activity WHERE datname = current_database()"
            holder.execute("SELECT id FROM judging_runevaluator FOR UPDATE")  # what `store_batch` changes nearly last
            worked.wait_until(lambda: ("active", "Lock") in set(watcher.execute(states)), "a job that waits to store")
            os.kill(worked.tree()["job"], signal.SIGKILL)
            holder.rollback()
            worked.wait_until(
                lambda: not {("active", "Lock"), ("idle in transaction", "Client")} & set(watcher.execute(states)),
                "the end of the killed job's transaction",
                seconds=10,
            )
            killed = site.ask("state", run, "--lapse")
        site.ask("resume")
        end = worked.end_of(run)
    finally:
        worked.close()

    assert (killed["verdicts"], killed["calls"], killed["spent"]) == ({}, {}, "0.000000")
    assert (end["counts"], end["verdicts"], end["calls"]) == ([8, 8, 0], {"ok": 8}, {"finished": 8})


@pytest.mark.backend_free  # a matter of processes
def test_the_work_of_a_job_that_dies_goes_on_at_once(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=100)
    run = site.ask("make", fake_llm.url, CASES)
    worked = WorkedSite(site)
    try:
        worked.wait_until(lambda: fake_llm.stats()["calls"] >= 10, "a run in the middle")
        os.kill(worked.tree()["job"], signal.SIGKILL)
        time.sleep(0.5)
        before = fake_llm.stats()["calls"]
        worked.wait_until(lambda: fake_llm.stats()["calls"] >= before + 10, "calls of the next job", seconds=20)
        end = worked.end_of(run)
    finally:
        worked.close()

    assert (end["status"], end["counts"], end["calls"]["finished"]) == ("finished", [CASES, CASES, 0], CASES)


@pytest.mark.backend_free  # a matter of processes
def test_a_job_whose_worker_is_killed_gives_its_work_back_and_ends(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=100, hold_after=40)  # however late the kill comes, the run has not ended
    run = site.ask("make", fake_llm.url, CASES)
    worked = WorkedSite(site)
    try:
        worked.wait_until(lambda: fake_llm.stats()["calls"] >= 10, "a run in the middle")
        job = worked.tree()["job"]
        worked.worker.kill()
        worked.worker.wait()
        worked.wait_until(lambda: not Path(f"/proc/{job}").exists(), "the end of the job", seconds=30)
        left = site.ask("state", run)
    finally:
        worked.close()

    assert (left["status"], left["leases"]) == ("running", 0)
    assert 0 < left["counts"][1] < CASES


@pytest.mark.backend_free  # a matter of processes
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children that their parent died")
def test_a_job_ends_where_the_supervisor_of_its_worker_is_killed(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=100, hold_after=40)
    run = site.ask("make", fake_llm.url, CASES)
    worked = SupervisedSite(site)
    try:
        worked.wait_until(lambda: fake_llm.stats()["calls"] >= 10, "a run in the middle")
        worker, job = children_of(worked.worker.pid)[0], worked.tree()["sender"]
        worked.worker.kill()
        worked.worker.wait()
        worked.wait_until(
            lambda: not any(Path(f"/proc/{pid}").exists() for pid in (worker, job)), "the end of both", seconds=30
        )
        left = site.ask("state", run)
    finally:
        worked.close()

    assert (left["status"], left["leases"]) == ("running", 0)
    assert 0 < left["counts"][1] < CASES


@pytest.mark.skipif(not databases.ON_POSTGRES, reason="two machines share no file of SQLite")
@pytest.mark.sized
def test_what_a_lost_machine_held_is_finished_by_another(
    tmp_path: Path, own_database: str, redis_server: OwnRedis, fake_llm: FakeLLM
) -> None:
    fake_llm.config(latency=100, hold_after=40)
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    with (
        own_site(folders[0], own_database, redis_url=redis_server.url) as one,
        own_site(folders[1], own_database, redis_url=redis_server.url) as other,
    ):
        run = one.ask("make", fake_llm.url, CASES)
        lost = WorkedSite(one)
        try:
            lost.wait_until(lambda: fake_llm.stats()["calls"] >= 10, "a run in the middle")
        finally:
            lost.close()  # every process of that machine, at once
        left = other.ask("state", run, *(() if IS_WHOLE else ("--lapse",)))
        fake_llm.config(latency=100, hold_after=0)
        lost_at, before = time.monotonic(), fake_llm.stats()["calls"]
        worked = WorkedSite(other)
        try:
            worked.wait_until(lambda: fake_llm.stats()["calls"] > before, "calls of the other machine")
            seconds = time.monotonic() - lost_at
            worked.wait_until(lambda: other.ask("state", run)["status"] == "finished", "the end of the run")
            end = other.ask("state", run)
        finally:
            worked.close()

    assert (left["status"], left["counts"][1] < CASES) == ("running", True)
    assert (end["counts"], end["verdicts"], end["scores"]) == ([CASES, CASES, 0], {"ok": CASES}, {"complete": CASES})
    assert not IS_WHOLE or seconds < A_MINUTE
