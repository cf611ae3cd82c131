from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from judging.llm.endpoints import EndpointConfig
from judging.llm.limiter import LimiterFactory, RedisLimiter, connect, endpoint_status, limiter_keys
from judging.llm.limits import Grant, LocalLimiter, Results
from tests.fake_llm.fixture import FakeLLM
from tests.judging.llm.test_limits import HISTORIES
from tests.own_redis import OwnRedis

REPOSITORY = Path(__file__).resolve().parents[3]
ENDPOINT = EndpointConfig("judge", "https://api.example.org/v1", "m", api_key="sk-secret", max_concurrency=16)
NOTHING = Results()


def worker(own_redis: OwnRedis, name: str, **options: float) -> RedisLimiter:
    return RedisLimiter(own_redis.client, ENDPOINT, worker=name, **options)  # type: ignore[arg-type]


def test_limiter_keys_hide_the_api_key_and_tell_endpoints_apart() -> None:
    keys = limiter_keys(ENDPOINT)

    assert "secret" not in "".join(keys)
    assert keys == limiter_keys(replace(ENDPOINT, name="renamed", base_url="https://api.example.org/v1/"))
    assert len({limiter_keys(replace(ENDPOINT, model=model)) for model in "abc"}) == 3
    assert keys != limiter_keys(replace(ENDPOINT, api_key="another"))


# Real time does not jump 15 s: histories without a debounce in them
SHORT = {name: case for name, case in HISTORIES.items() if all(seconds < 15 for seconds, _ in case[0])}


@pytest.mark.parametrize(("history", "expected"), SHORT.values(), ids=SHORT)
def test_shared_limit_follows_results_as_the_local_one_does(
    own_redis: OwnRedis, history: list[tuple[float, Results]], expected: tuple[int, int]
) -> None:
    limiter = worker(own_redis, "a")
    limiter.exchange(held=0, want=0, results=NOTHING)

    for _, results in history:
        grant = limiter.exchange(held=0, want=0, results=results)

    assert (grant.limit, grant.epoch) == expected


def test_exchange_never_grants_more_than_the_limit_over_all_workers(own_redis: OwnRedis) -> None:
    first, second = worker(own_redis, "a"), worker(own_redis, "b")

    grants = [
        first.exchange(held=0, want=10, results=NOTHING),
        second.exchange(held=0, want=10, results=NOTHING),
        second.exchange(held=6, want=4, results=NOTHING),
        first.exchange(held=3, want=0, results=Results(clean=7)),
        second.exchange(held=6, want=4, results=NOTHING),
    ]

    assert grants == [
        Grant(10, limit=16, epoch=0, in_flight=10, workers=1),
        Grant(6, limit=16, epoch=0, in_flight=16, workers=2),
        Grant(0, limit=16, epoch=0, in_flight=16, workers=2),
        Grant(0, limit=16, epoch=0, in_flight=9, workers=2),
        Grant(4, limit=16, epoch=0, in_flight=13, workers=2),
    ]


def test_exchange_leaves_freed_slots_to_a_worker_below_its_share(own_redis: OwnRedis) -> None:
    greedy, hungry = worker(own_redis, "a"), worker(own_redis, "b")
    greedy.exchange(held=0, want=16, results=NOTHING)
    hungry.exchange(held=0, want=16, results=NOTHING)

    again = greedy.exchange(held=12, want=4, results=Results(clean=4))
    turn = hungry.exchange(held=0, want=16, results=NOTHING)

    assert (again.slots, turn.slots) == (0, 4)


def test_exchange_takes_turns_where_there_is_one_slot_for_two(own_redis: OwnRedis) -> None:
    single_slot = replace(ENDPOINT, max_concurrency=1)
    workers = [RedisLimiter(own_redis.client, single_slot, worker=name) for name in "ab"]
    slots: list[tuple[int, int]] = []

    for _ in range(3):
        for limiter in workers:  # each call is over by the worker's next exchange
            slots.append((workers.index(limiter), limiter.exchange(held=0, want=1, results=NOTHING).slots))

    # a calls; b must wait; a, done, leaves the slot to b; b calls; a must wait; b leaves the slot to a
    assert slots == [(0, 1), (1, 0), (0, 0), (1, 1), (0, 0), (1, 0)]


def test_exchange_makes_everyone_wait_as_long_as_one_was_told(own_redis: OwnRedis) -> None:
    limited, other = worker(own_redis, "a"), worker(own_redis, "b")
    limited.exchange(held=0, want=1, results=NOTHING)
    limited.exchange(held=0, want=0, results=Results(limited=1, pause_seconds=60))
    for_long = other.exchange(held=0, want=4, results=NOTHING)

    own_redis.client.flushall()
    limited.exchange(held=0, want=1, results=NOTHING)
    began = time.monotonic()
    limited.exchange(held=0, want=0, results=Results(limited=1, pause_seconds=0.3))
    later, waited = _granted(other, want=4, since=began)

    assert for_long.slots == 0
    assert 50 < for_long.wait_seconds <= 60
    assert (later.slots, later.wait_seconds) == (4, 0.0)
    assert waited >= 0.3


def _granted(limiter: RedisLimiter, *, want: int, since: float) -> tuple[Grant, float]:
    """Ask until slots are granted; return the grant, and how many seconds after `since` it came."""
    while (grant := limiter.exchange(held=0, want=want, results=NOTHING)).slots == 0:
        time.sleep(0.01)
    return grant, time.monotonic() - since


def test_slots_of_a_silent_worker_come_back(own_redis: OwnRedis) -> None:
    killed, other = worker(own_redis, "a", lease_seconds=0.3), worker(own_redis, "b", lease_seconds=0.3)
    began = time.monotonic()
    killed.exchange(held=0, want=16, results=NOTHING)

    after, waited = _granted(other, want=16, since=began)

    assert after.slots == 16
    assert waited >= 0.3


def test_leave_gives_everything_back_at_once(own_redis: OwnRedis) -> None:
    first, second = worker(own_redis, "a"), worker(own_redis, "b")
    first.exchange(held=0, want=16, results=NOTHING)

    first.leave()

    assert second.exchange(held=0, want=16, results=NOTHING) == Grant(16, 16, 0, in_flight=16, workers=1)


def test_flushed_redis_grants_nobody_more_than_it_held(own_redis: OwnRedis) -> None:
    first, second, new = (worker(own_redis, name) for name in "abc")
    first.exchange(held=0, want=10, results=NOTHING)
    second.exchange(held=0, want=6, results=NOTHING)

    own_redis.client.flushall()
    grants = [
        first.exchange(held=8, want=8, results=Results(clean=2)),
        new.exchange(held=0, want=8, results=NOTHING),
        second.exchange(held=6, want=8, results=NOTHING),
    ]

    assert [grant.slots for grant in grants] == [2, 0, 0]


def test_endpoint_status_shows_what_all_workers_do(own_redis: OwnRedis) -> None:
    idle = endpoint_status(own_redis.client, ENDPOINT)
    first, second = worker(own_redis, "a"), worker(own_redis, "b")
    first.exchange(held=0, want=5, results=NOTHING)
    second.exchange(held=0, want=2, results=Results(clean=15, limited=5, pause_seconds=60))

    busy = endpoint_status(own_redis.client, ENDPOINT)

    assert (idle.limit, idle.in_flight, idle.workers, idle.limited_at, idle.error_rate) == (16, 0, 0, None, 0.0)
    assert (busy.limit, busy.in_flight, busy.workers, busy.error_rate) == (8, 5, 2, 0.25)
    assert 50 < busy.wait_seconds <= 60
    assert 1 < busy.calls_per_second <= 2  # 20 calls in the 10 s window, of which 7 s may have gone by
    assert busy.limited_at is not None
    assert abs(busy.limited_at - time.time()) < 10


def test_without_redis_a_worker_keeps_to_what_it_held(own_redis: OwnRedis) -> None:
    first, second = RedisLimiter(connect(own_redis.url), ENDPOINT), RedisLimiter(connect(own_redis.url), ENDPOINT)
    first.exchange(held=0, want=10, results=NOTHING)
    second.exchange(held=0, want=6, results=NOTHING)

    own_redis.kill()
    try:
        lost = [first.exchange(held=7, want=8, results=NOTHING), second.exchange(held=6, want=8, results=NOTHING)]
    finally:
        own_redis.start()

    assert [grant.slots for grant in lost] == [3, 0]
    assert (lost[0].limit, lost[0].in_flight) == (10, 10)


def test_limiter_factory_shares_only_through_redis(own_redis: OwnRedis) -> None:
    assert isinstance(LimiterFactory()(ENDPOINT), LocalLimiter)
    assert isinstance(LimiterFactory(own_redis.client)(ENDPOINT), RedisLimiter)


@pytest.mark.timeout(60)  # it ends long before; a runaway would not
def test_connect_fails_fast_where_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(redis.RedisError):
        connect(f"unix://{tmp_path}/nobody.sock").ping()


RATED = replace(ENDPOINT, requests_per_minute=5, tokens_per_minute=1000)


def test_rate_limits_hold_over_all_workers(own_redis: OwnRedis) -> None:
    first, second = (RedisLimiter(own_redis.client, RATED, worker=name) for name in "ab")

    slots = [
        first.exchange(held=0, want=3, results=NOTHING, tokens=[100] * 3).slots,
        second.exchange(held=0, want=3, results=NOTHING, tokens=[100] * 3).slots,
        first.exchange(held=0, want=3, results=Results(clean=3), tokens=[100] * 3).slots,
    ]
    status = endpoint_status(own_redis.client, RATED)

    assert slots == [3, 2, 0]
    assert (status.requests_counted, status.tokens_counted) == (5, 500)
    assert 50 < status.rate_wait_seconds <= 62  # a minute, and the second in which they were sent


def test_tokens_are_corrected_by_what_was_used(own_redis: OwnRedis) -> None:
    first, second = (RedisLimiter(own_redis.client, RATED, worker=name) for name in "ab")
    grant = first.exchange(held=0, want=1, results=NOTHING, tokens=[900])

    before = second.exchange(held=0, want=1, results=NOTHING, tokens=[200]).slots
    first.exchange(held=0, want=0, results=Results(clean=1, corrections=((grant.part, -800),)))
    after = second.exchange(held=0, want=1, results=NOTHING, tokens=[200]).slots

    assert (grant.slots, before, after) == (1, 0, 1)
    assert endpoint_status(own_redis.client, RATED).tokens_counted == 300


def test_a_request_above_the_limit_of_tokens_goes_alone(own_redis: OwnRedis) -> None:
    limiter = RedisLimiter(own_redis.client, RATED)

    assert limiter.exchange(held=0, want=2, results=NOTHING, tokens=[5000, 1]).slots == 1


def test_rate_limits_outlast_a_flushed_redis_a_lost_one_and_a_worker_that_left(own_redis: OwnRedis) -> None:
    first, second, leaver = (RedisLimiter(own_redis.client, RATED, worker=name) for name in "abc")
    leaver.exchange(held=0, want=1, results=NOTHING, tokens=[1])
    leaver.leave()
    first.exchange(held=0, want=2, results=NOTHING, tokens=[1, 1])
    second.exchange(held=0, want=1, results=NOTHING, tokens=[1])
    counted = endpoint_status(own_redis.client, RATED).requests_counted

    own_redis.client.flushall()
    flushed = [limiter.exchange(held=0, want=5, results=NOTHING, tokens=[1] * 5).slots for limiter in (first, second)]
    recounted = endpoint_status(own_redis.client, RATED).requests_counted
    first.exchange(held=0, want=1, results=NOTHING, tokens=[1])  # it hears of the other again
    own_redis.kill()
    # one of two workers: 5 // 2 requests a minute, of which the first has sent two and the second one
    lost = [limiter.exchange(held=0, want=5, results=NOTHING, tokens=[1] * 5).slots for limiter in (first, second)]
    own_redis.start()

    assert (counted, flushed, recounted, lost) == (4, [0, 0], 3, [0, 1])


def start_worker(
    fake_llm: FakeLLM, own_redis: OwnRedis, *, name: str, calls: int, limit: int, rate: Sequence[float] = ()
) -> subprocess.Popen[str]:
    arguments = [fake_llm.url, own_redis.url, name, str(calls), str(limit), *map(str, rate)]
    command = [sys.executable, "-m", "tests.judging.llm.pool_process", *arguments]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def collect(workers: list[subprocess.Popen[str]]) -> list[dict[str, int]]:
    answers: list[dict[str, int]] = []
    for process in workers:
        out, _ = process.communicate(timeout=300)
        answers.append(json.loads(out))
    return answers


def test_three_processes_stay_below_the_limit_and_share_it(fake_llm: FakeLLM, own_redis: OwnRedis) -> None:
    fake_llm.config(latency=100)

    workers = [start_worker(fake_llm, own_redis, name=name, calls=150, limit=20) for name in "abc"]
    answers = collect(workers)

    assert answers == [{"finished": 150}] * 3
    stats = fake_llm.stats()
    assert (stats["calls"], stats["duplicates"]) == (450, 0)
    assert 15 <= stats["max_in_flight"] <= 20


def test_three_processes_stay_below_the_limit_when_redis_is_killed(fake_llm: FakeLLM, own_redis: OwnRedis) -> None:
    fake_llm.config(latency=40)

    workers = [start_worker(fake_llm, own_redis, name=name, calls=400, limit=12) for name in "abc"]
    while fake_llm.stats()["calls"] < 300:
        time.sleep(0.02)
    own_redis.kill()
    time.sleep(0.3)
    own_redis.start()
    answers = collect(workers)

    assert answers == [{"finished": 400}] * 3
    stats = fake_llm.stats()
    assert (stats["calls"], stats["duplicates"]) == (1200, 0)
    assert stats["max_in_flight"] <= 12


def test_two_processes_together_keep_to_the_requests_of_a_window(fake_llm: FakeLLM, own_redis: OwnRedis) -> None:
    window = 600.0  # longer than the test: what was sent never stops counting

    workers = [start_worker(fake_llm, own_redis, name=name, calls=20, limit=10, rate=(25, window)) for name in "ab"]
    while endpoint_status(own_redis.client, EndpointConfig("", fake_llm.url, "m")).rate_wait_seconds == 0:
        time.sleep(0.05)
    time.sleep(0.5)  # long enough for many more
    for process in workers:
        process.kill()
        process.communicate()

    assert fake_llm.stats()["calls"] == 25


def test_two_processes_go_on_with_the_next_window(fake_llm: FakeLLM, own_redis: OwnRedis) -> None:
    workers = [start_worker(fake_llm, own_redis, name=name, calls=15, limit=10, rate=(10, 0.5)) for name in "ab"]

    assert collect(workers) == [{"finished": 15}] * 2
    assert fake_llm.stats()["calls"] == 30


def test_killed_process_loses_its_slots_to_the_others(fake_llm: FakeLLM, own_redis: OwnRedis) -> None:
    fake_llm.config(latency=40)
    doomed = start_worker(fake_llm, own_redis, name="doomed", calls=10_000, limit=10)
    while fake_llm.stats()["calls"] < 100:
        time.sleep(0.02)

    doomed.kill()
    doomed.communicate()
    [answers] = collect([start_worker(fake_llm, own_redis, name="heir", calls=60, limit=10)])

    assert answers == {"finished": 60}
    assert fake_llm.stats()["max_in_flight"] <= 10
