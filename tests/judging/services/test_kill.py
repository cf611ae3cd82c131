"""Worker processes killed in mid-run, and several at once: nothing lost, nothing asked twice, no budget exceeded."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from tests.fake_llm.fixture import FakeLLM
from tests.judging.panel_rows import grade, script
from tests.judging.services.comparison_rows import TIE
from tests.judging.services.own_site import OwnSite, fake_key, own_site
from tests.judging.services.served_site import ServedSite, served
from tests.own_redis import OwnRedis
from tests.sizes import sized

CASES = 160
KILLS = sized(1, whole=3)
LOSSES = sized(1, whole=3)
SERVED_CASES = sized(120, whole=260)
NEVER = 600_000  # ms of latency: longer than any test
HELD = 2000  # ms of latency at which a run hardly goes on while its site comes up


@pytest.fixture
def site(tmp_path: Path, own_database: str) -> Iterator[OwnSite]:
    with own_site(tmp_path, own_database) as running_site:
        yield running_site


@pytest.fixture
def shared_site(tmp_path: Path, own_database: str, redis_server: OwnRedis) -> Iterator[OwnSite]:
    """A site whose workers share the limiter, as they do in earnest."""
    with own_site(tmp_path, own_database, redis_url=redis_server.url) as running_site:
        yield running_site


def _work_and_kill(site: OwnSite, run: int, fake: FakeLLM, *, calls: int, held: int = 20, threads: int = 8) -> float:
    """Let a worker work until so many calls were made, kill it and return when; no more than `held` follow them.

    However late the kill comes, the run has not ended by then.
    """
    fake.config(hold_after=calls + held)
    worker = site.start_worker(run, threads=threads)
    _wait_for_calls(fake, calls)
    worker.kill()
    killed_at = time.monotonic()  # the fake server's log tells the same clock
    fake.config(hold_after=0)
    return killed_at


def _wait_for_calls(fake: FakeLLM, count: int, *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while fake.stats()["calls"] < count:
        assert time.monotonic() < deadline, "the worker asks nothing"
        time.sleep(0.01)


@pytest.mark.sized
def test_killed_workers_lose_nothing_and_repeat_no_finished_call(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=80)
    run = site.ask("make", fake_llm.url, CASES)
    stored_at: list[tuple[float, set[str]]] = []

    for kill in range(1, KILLS + 1):
        killed_at = _work_and_kill(site, run, fake_llm, calls=35 * kill)
        stored = site.ask("state", run, "--lapse")
        assert stored["status"] == "running"
        stored_at.append((killed_at, {fake_key(messages) for messages in stored["finished"]}))
    last = site.start_worker(run, threads=8).ended()

    end = site.ask("state", run)
    assert last == "empty"
    del end["finished"]
    cost = end.pop("cost")
    assert end.pop("unheard") > 0  # what each of them had sent and nobody heard
    assert Decimal(end.pop("unheard_cost")) > 0
    assert end == {
        "status": "finished",
        "counts": [CASES, CASES, 0],
        "spent": cost,
        "calls_made": CASES,
        "calls": {"finished": CASES},
        "verdicts": {"ok": CASES},
        "scores": {"complete": CASES},
        "tasks": {"done": CASES},
        "failures": {},
        "leases": 0,
    }
    log = fake_llm.log()
    assert all(0 < len(keys) < CASES for _, keys in stored_at)
    assert [line["key"] for at, keys in stored_at for line in log if line["t"] > at and line["key"] in keys] == []


@pytest.mark.slow
def test_a_killed_worker_of_a_run_that_asks_repeats_no_finished_call_and_loses_no_response(
    site: OwnSite, fake_llm: FakeLLM
) -> None:
    cases = 60
    fake_llm.config(latency=80)
    run = site.ask("ask", fake_llm.url, cases)
    stored_at: list[tuple[float, set[str]]] = []

    for calls in (25, 70):  # among the asks, and among the verdicts that follow them
        killed_at = _work_and_kill(site, run, fake_llm, calls=calls)
        stored = site.ask("state", run, "--lapse")
        stored_at.append((killed_at, {fake_key(messages) for messages in stored["finished"]}))
    last = site.start_worker(run, threads=8).ended()

    end = site.ask("state", run)
    assert (last, end["status"], end["counts"]) == ("empty", "finished", [2 * cases, 2 * cases, 0])
    assert (end["calls"], end["calls_made"]) == ({"finished": 2 * cases}, 2 * cases)
    assert (end["verdicts"], end["tasks"], end["leases"]) == ({"ok": cases}, {"done": 2 * cases}, 0)
    log = fake_llm.log()
    assert [line["key"] for at, keys in stored_at for line in log if line["t"] > at and line["key"] in keys] == []


def _wait_for_stored(site: OwnSite, run: int, count: int, *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while len(site.ask("votes", run)["finished"]) < count:
        assert time.monotonic() < deadline, "the worker stores nothing"
        time.sleep(0.01)


@pytest.mark.backend_free  # the database has its part in the tests of other kills
def test_killed_workers_of_a_panel_ask_no_member_twice_and_lose_no_vote(site: OwnSite) -> None:
    cases = 24
    stored_at: list[tuple[float, set[str]]] = []
    open_calls = list[int]()  # of responses that a member, but not the whole panel, had judged by the kill

    with FakeLLM(script=script(ada=grade(2), bea=grade(4), cyd=grade(9)), latency=40) as server:
        run = site.ask("panel", server.url, cases)
        for _ in range(2):
            server.config(hold_after=server.stats()["calls"] + 30)  # of 72: the kill comes before the end
            worker = site.start_worker(run, threads=8)
            _wait_for_stored(site, run, len(stored_at[-1][1]) + 8 if stored_at else 8)
            worker.kill()
            killed_at = time.monotonic()
            site.ask("state", run, "--lapse")
            stored = site.ask("votes", run)
            stored_at.append((killed_at, {fake_key(messages, model=model) for model, messages in stored["finished"]}))
            open_calls.append(stored["without_verdict"])
        server.config(hold_after=0)
        last = site.start_worker(run, threads=8).ended()
        log = server.log()

    end, recorded_votes = site.ask("state", run), site.ask("votes", run)
    assert (last, end["status"], end["counts"]) == ("empty", "finished", [cases, cases, 0])
    assert (end["calls"], end["calls_made"]) == ({"finished": 3 * cases}, 3 * cases)
    assert (end["verdicts"], end["tasks"], end["leases"]) == ({"ok": cases}, {"done": cases}, 0)
    assert recorded_votes["votes"] == [[["ada", ["ada"], 2], ["bea", ["bea"], 4], ["cyd", ["cyd"], 9]]] * cases
    assert recorded_votes["without_verdict"] == 0
    assert all(0 < len(keys) < 3 * cases for _, keys in stored_at)
    assert min(open_calls) > 0
    assert [line["key"] for at, keys in stored_at for line in log if line["t"] > at and line["key"] in keys] == []


@pytest.mark.slow
@pytest.mark.backend_free  # the database has its part in the tests of other kills
def test_a_killed_worker_of_a_comparison_repeats_no_order_that_was_answered(site: OwnSite, fake_llm: FakeLLM) -> None:
    cases = 40
    fake_llm.config(latency=80, reply=TIE)
    run = site.ask("compare", fake_llm.url, cases)
    killed_at = _work_and_kill(site, run, fake_llm, calls=30)
    stored = {fake_key(messages) for messages in site.ask("state", run, "--lapse")["finished"]}

    last = site.start_worker(run, threads=8).ended()

    end = site.ask("state", run)
    assert (last, end["status"], end["counts"]) == ("empty", "finished", [cases, cases, 0])
    assert (end["calls"], end["calls_made"]) == ({"finished": 2 * cases}, 2 * cases)  # each order of each case once
    assert (end["verdicts"], end["leases"]) == ({"ok": cases}, 0)
    assert 0 < len(stored) < 2 * cases
    assert [line["key"] for line in fake_llm.log() if line["t"] > killed_at and line["key"] in stored] == []


@pytest.mark.backend_free
def test_a_worker_killed_in_its_first_second_books_every_call_it_had_sent(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=HELD)
    run = site.ask("make", fake_llm.url, CASES)
    worker = site.start_worker(run, threads=8)
    _wait_for_calls(fake_llm, 4)  # the limiter begins with that many
    worker.kill()

    killed = site.ask("state", run, "--lapse")
    site.ask("resume")

    after = site.ask("state", run)
    assert (killed["calls"], killed["unheard"], after["calls"], after["leases"]) == ({}, 0, {}, 0)
    assert fake_llm.stats()["calls"] <= after["unheard"] <= 8 + 2  # what was sent, and a little that was about to be
    one_attempt = Decimal(after["unheard_cost"]) / after["unheard"]
    assert (
        Decimal("0.1024") < one_attempt < Decimal("0.2")
    )  # 1,024 tokens and the question; a longer retry is twice that


@pytest.mark.slow
@pytest.mark.backend_free  # the database has its part in the tests of other kills
def test_a_worker_killed_at_speed_books_every_call_it_had_heard_and_not_stored(
    site: OwnSite, fake_llm: FakeLLM
) -> None:
    fake_llm.config(latency=10)
    run = site.ask("make", fake_llm.url, 600)
    _work_and_kill(site, run, fake_llm, calls=200, held=200)

    site.ask("state", run, "--lapse")
    site.ask("resume")

    after = site.ask("state", run)
    assert after["leases"] == 0
    assert fake_llm.stats()["calls"] - after["calls"]["finished"] <= after["unheard"]


def _wait_until_all_that_is_answered_is_stored(site: OwnSite, run: int, fake: FakeLLM, *, in_flight: int) -> int:
    """Return how many calls were answered and stored while the fake server held the rest."""
    deadline = time.monotonic() + 60
    while True:
        stats, stored = fake.stats(), int(site.ask("state", run)["calls_made"])
        if stats["in_flight"] == in_flight and stored == stats["answered"]:
            return stored
        assert time.monotonic() < deadline, (stats, stored)
        time.sleep(0.05)


def _child_of(pid: int) -> int:
    """The only child process of a process."""
    children = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            after_name = (process / "stat").read_text().rpartition(")")[2].split()
            if after_name[1] == str(pid):
                children.append(int(process.name))
    [child] = children
    return child


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc tells here which process is whose child")
@pytest.mark.backend_free
def test_a_worker_that_loses_its_sending_process_gives_its_work_back(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=80)
    run = site.ask("make", fake_llm.url, CASES)
    worker = site.start_worker(run, threads=8)
    _wait_for_calls(fake_llm, 40)
    fake_llm.config(latency=NEVER)
    answered = _wait_until_all_that_is_answered_is_stored(site, run, fake_llm, in_flight=8)

    os.kill(_child_of(worker.pid), signal.SIGKILL)
    ended = worker.ended(seconds=60)

    cut = site.ask("state", run)
    assert (ended, cut["unheard"]) == ("cut-off", 8)
    assert (cut["status"], cut["leases"], cut["calls_made"], cut["counts"][1]) == ("running", 0, answered, answered)
    fake_llm.config(latency=80)
    last = site.start_worker(run, threads=8).ended(seconds=60)
    end = site.ask("state", run)
    assert (last, end["status"], end["counts"]) == ("empty", "finished", [CASES, CASES, 0])
    assert (end["calls"], end["verdicts"]) == ({"finished": CASES}, {"ok": CASES})
    assert fake_llm.stats()["calls"] == CASES + 8  # only what was in flight is asked again


def test_two_workers_never_spend_more_than_the_budget(site: OwnSite, fake_llm: FakeLLM) -> None:
    # At 100 USD per million tokens a call costs some cents and reserves about half a dollar.
    fake_llm.config(latency=20, score=50)
    run = site.ask("make", fake_llm.url, 200, "4")

    workers = [site.start_worker(run, threads=4) for _ in range(2)]
    ended = {worker.ended() for worker in workers}

    state, stats = site.ask("state", run), fake_llm.stats()
    charged = Decimal(stats["prompt_tokens"] + stats["completion_tokens"]) * 100 / 1_000_000
    assert "budget" in ended
    assert (state["status"], state["leases"]) == ("paused", 0)
    assert Decimal(state["spent"]) == Decimal(state["cost"]) == charged
    assert Decimal(3) < charged <= Decimal(4)
    assert stats["calls"] == state["calls"]["finished"] == state["counts"][1]


def test_workers_of_two_runs_never_spend_more_than_the_budget_of_a_day(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=20, score=50)
    site.ask("limit", "4")
    runs = [site.ask("make", fake_llm.url, 150) for _ in range(2)]

    workers = [site.start_worker(run, threads=4) for run in (*runs, runs[0])]
    ended = {worker.ended() for worker in workers}

    (spent, reserved), states, stats = site.ask("day"), [site.ask("state", run) for run in runs], fake_llm.stats()
    charged = Decimal(stats["prompt_tokens"] + stats["completion_tokens"]) * 100 / 1_000_000
    assert "day" in ended <= {"day", "not-active"}
    assert [(state["status"], state["leases"]) for state in states] == [("running", 0)] * 2
    assert (Decimal(spent), Decimal(reserved)) == (charged, Decimal(0))
    assert Decimal(3) < charged <= Decimal(4)


@pytest.mark.slow
def test_what_a_killed_worker_may_have_spent_counts_against_the_day(site: OwnSite, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=80, score=50)
    site.ask("limit", "6")
    run = site.ask("make", fake_llm.url, 200)
    for kill in range(1, 3):
        _work_and_kill(site, run, fake_llm, calls=10 * kill, threads=4)
        assert Decimal(site.ask("day")[1]) > 0  # held until the claim lapses
        site.ask("state", run, "--lapse")
        site.ask("resume")
        assert Decimal(site.ask("day")[1]) == 0
    last = site.start_worker(run, threads=4).ended()

    spent, reserved = site.ask("day")
    end, stats = site.ask("state", run), fake_llm.stats()
    charged = Decimal(stats["prompt_tokens"] + stats["completion_tokens"]) * 100 / 1_000_000
    assert (last, end["status"], end["leases"]) == ("day", "running", 0)
    assert charged <= Decimal(spent) <= 6
    assert Decimal(reserved) == 0
    assert Decimal(spent) > Decimal(end["cost"])  # calls that nobody heard are counted


@pytest.mark.slow
def test_three_workers_bring_a_faulty_endpoint_to_a_complete_end(shared_site: OwnSite, fake_llm: FakeLLM) -> None:
    faults = {"rate_429": 0.1, "rate_500": 0.05, "rate_drop": 0.03, "rate_malformed": 0.05, "rate_truncated": 0.02}
    fake_llm.config(latency=30, retry_after=0.5, seed=7, max_concurrency=0, **faults)
    run = shared_site.ask("make", fake_llm.url, 120, "", 12)
    shared_site.ask("poison", run)

    workers = [shared_site.start_worker(run, threads=8) for _ in range(3)]
    for worker in workers:
        worker.ended()

    state, stats = shared_site.ask("state", run), fake_llm.stats()
    total, done, failed = state["counts"]
    assert (state["status"], total, done + failed) == ("finished", 120, 120)
    assert set(state["verdicts"]) <= {"ok", "repaired", "unparsed", "failed"}
    assert sum(state["verdicts"].values()) == 120
    assert state["tasks"] == {"done": done, "failed": failed}
    assert state["failures"]["http-500"] >= 1  # the poisoned one, given up while others succeed
    assert stats["duplicates"] == 0
    assert stats["max_in_flight"] <= 12
    assert fake_llm.retry_after_violations() == []


@pytest.mark.backend_free
def test_three_workers_never_spend_more_than_the_budget_on_a_faulty_endpoint(
    shared_site: OwnSite, fake_llm: FakeLLM
) -> None:
    faults = {"rate_429": 0.1, "rate_500": 0.05, "rate_drop": 0.03, "rate_malformed": 0.05, "rate_truncated": 0.02}
    fake_llm.config(latency=20, retry_after=0.3, seed=11, max_concurrency=0, **faults)
    run = shared_site.ask("make", fake_llm.url, 150, "4", 12)  # a call costs some cents: the money ends first
    shared_site.ask("poison", run)

    workers = [shared_site.start_worker(run, threads=4) for _ in range(3)]
    ended = {worker.ended() for worker in workers}

    state, stats = shared_site.ask("state", run), fake_llm.stats()
    charged = Decimal(stats["prompt_tokens"] + stats["completion_tokens"]) * 100 / 1_000_000
    assert "budget" in ended
    assert (state["status"], state["leases"], stats["duplicates"]) == ("paused", 0, 0)
    assert charged <= Decimal(state["spent"]) <= Decimal(4)
    assert Decimal(2) < charged
    assert fake_llm.retry_after_violations() == []


@pytest.mark.sized
@pytest.mark.backend_free
def test_a_lost_embedded_broker_and_web_process_hold_no_run_up(site: OwnSite, fake_llm: FakeLLM) -> None:
    _lose_brokers(site, fake_llm, lose=ServedSite.kill_broker)


@pytest.mark.slow
@pytest.mark.backend_free  # it brings its own Redis
def test_a_flushed_and_killed_redis_and_web_process_hold_no_run_up(
    shared_site: OwnSite, redis_server: OwnRedis, fake_llm: FakeLLM
) -> None:
    def lose(running: ServedSite) -> None:
        redis_server.client.flushdb()
        redis_server.kill()  # it keeps nothing
        redis_server.start()

    _lose_brokers(shared_site, fake_llm, lose=lose)


def _lose_brokers(site: OwnSite, fake_llm: FakeLLM, *, lose: Callable[[ServedSite], None]) -> None:
    """Serve a run, lose broker and web server several times at random moments, and compare how it ends."""
    fake_llm.config(latency=HELD)
    run = site.ask("make", fake_llm.url, SERVED_CASES, "", 8)
    lost_at = list[int]()

    with served(site, threads=8) as running:
        running.wait_until(running.answers, "the web server")
        begun, part = fake_llm.stats()["calls"], (SERVED_CASES - 60) // LOSSES
        moments = [begun + random.randrange(n * part, (n + 1) * part) for n in range(LOSSES)]
        for moment in moments:  # nobody queued the run: the worker that starts finds it
            fake_llm.config(latency=50)
            running.wait_until(lambda: fake_llm.stats()["calls"] >= moment, f"call {moment} of {moments}")  # noqa: B023
            fake_llm.config(latency=HELD)
            assert running.kill_web()
            lose(running)
            lost_at.append(fake_llm.stats()["calls"])
            running.wait_until(running.answers, f"the web server again, lost at {lost_at}")
        fake_llm.config(latency=50)
        running.wait_until(lambda: fake_llm.stats()["calls"] >= SERVED_CASES, f"all calls, lost at {lost_at}")
        running.wait_until(lambda: site.ask("state", run)["leases"] == 0, "the run's end")

    assert all(calls < SERVED_CASES for calls in lost_at), lost_at
    end = site.ask("state", run)
    assert [end[name] for name in ("status", "counts", "calls_made")] == [
        "finished",
        [SERVED_CASES, SERVED_CASES, 0],
        SERVED_CASES,
    ]
    assert (end["calls"], end["verdicts"], end["scores"]) == (
        {"finished": SERVED_CASES},
        {"ok": SERVED_CASES},
        {"complete": SERVED_CASES},
    )
    assert end["spent"] == end["cost"]
    assert fake_llm.stats()["calls"] == SERVED_CASES
