from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from judging.llm.chat import ChatReply, ChatRequest, Message, ReplyStatus
from judging.llm.client import ChatClient
from judging.llm.endpoints import AddressPolicy, Capabilities, EndpointConfig
from judging.llm.lanes import RetryPolicy
from judging.llm.limiter import LimiterFactory
from judging.llm.pool import Completed, PoolOptions
from tests.fake_llm.fixture import FakeLLM
from tests.judging.llm.counted_pool import CountedPool
from tests.judging.services.own_site import fake_key
from tests.own_redis import OwnRedis

QUICK = RetryPolicy(base_seconds=0.05)


def asking(prompt: str, **fields: object) -> ChatRequest:
    return replace(ChatRequest((Message("user", prompt),)), **fields)  # type: ignore[arg-type]


@contextmanager
def pool_of(threads: int, *, limiters: LimiterFactory | None = None, **options: object) -> Iterator[CountedPool]:
    client = ChatClient(threads=threads, policy=AddressPolicy(allow_loopback=True))
    settings = replace(PoolOptions(threads=threads, retry=QUICK, seed=1), **options)  # type: ignore[arg-type]
    with CountedPool(client, limiters or LimiterFactory(), settings) as pool:
        yield pool
    client.close()


@pytest.fixture
def endpoint(fake_llm: FakeLLM) -> EndpointConfig:
    return EndpointConfig("fake", fake_llm.url, "m")


def collect(pool: CountedPool, *, seconds: float = 120.0) -> list[Completed]:
    """Everything outstanding; fails when that takes too long."""
    completed: list[Completed] = []
    until = time.monotonic() + seconds
    while pool.outstanding:
        assert time.monotonic() < until, f"{pool.outstanding} calls never came back"
        completed += pool.completed(0.5)
    return completed


def one(pool: CountedPool, endpoint: EndpointConfig, request: ChatRequest) -> ChatReply:
    pool.submit("token", endpoint, request)
    [completed] = collect(pool)
    return completed.reply


def test_pool_answers_each_token_once(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    with pool_of(10) as pool:
        for number in range(100):
            pool.submit(number, endpoint, asking(f"[[fake:reply={number}]]"))
        completed = collect(pool)

    assert {item.token: item.reply.text for item in completed} == {number: str(number) for number in range(100)}
    assert len(completed) == 100
    stats = fake_llm.stats()
    assert (stats["calls"], stats["max_in_flight"] <= 10) == (100, True)


def test_pool_never_has_more_in_flight_than_the_endpoint_allows(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(latency=60)
    with pool_of(20) as pool:
        for number in range(60):
            pool.submit(number, replace(endpoint, max_concurrency=6), asking(f"question {number}"))
        collect(pool)

    assert fake_llm.stats()["max_in_flight"] == 6


@pytest.mark.parametrize(("first", "second"), [(2, 8), (8, 2)])
def test_pool_follows_the_newest_maximum_of_endpoints_that_lead_to_one_model(
    fake_llm: FakeLLM, endpoint: EndpointConfig, first: int, second: int
) -> None:
    fake_llm.config(latency=60)
    reached = []
    with pool_of(20) as pool:
        for name, maximum in (("one", first), ("other", second)):
            fake_llm.reset()
            for number in range(40):
                pool.submit(number, replace(endpoint, name=name, max_concurrency=maximum), asking(f"{name} {number}"))
            collect(pool)
            reached.append(fake_llm.stats()["max_in_flight"])

    assert reached == [first, second]


def test_pool_sums_the_tokens_of_a_retry_with_doubled_limit(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(truncate_below=200)
    with pool_of(2) as pool:
        reply = one(pool, endpoint, asking("[[fake:reply=0123456789]]", max_tokens=100))

    # prompt 25 // 4 + 1 = 7 twice; half the reply 5 // 4 + 1 = 2, then 10 // 4 + 1 = 3
    assert replace(reply, seconds=0.0, head={}) == ChatReply(
        ReplyStatus.FINISHED,
        "0123456789",
        "stop",
        prompt_tokens=14,
        completion_tokens=5,
        cut_tokens=2,
        attempts=2,
        sent={"model": "m", "temperature": 0.0, "max_tokens": 200},
    )
    assert [line["max_tokens"] for line in fake_llm.log()] == [100, 200]


def test_pool_asks_without_json_mode_once_two_replies_were_empty(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(reply=" ")
    learned: list[Capabilities] = []
    with pool_of(2, on_capabilities=lambda _, capabilities: learned.append(capabilities)) as pool:
        reply = one(pool, endpoint, asking("hello", response_format={"type": "json_object"}))

    formats = ["response_format" in line["sent"] for line in fake_llm.log()]
    assert (reply.status, reply.error_kind, formats) == (ReplyStatus.FAILED, "empty", [True, True, False])
    assert [capabilities.json_object for capabilities in learned] == [None]


def test_pool_gives_a_reasoning_model_room_to_think(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    thinking = replace(endpoint, reasoning=True)
    fake_llm.config(truncate_below=8000)
    with pool_of(2) as pool:
        reply = one(pool, thinking, asking("[[fake:reply=0123456789]]", max_tokens=256))
        least = one(pool, replace(endpoint, model="n", min_output_tokens=9000), asking("hello", max_tokens=256))

    assert (reply.status, reply.attempts, reply.token_limit) == (ReplyStatus.FINISHED, 1, 8192)
    assert (least.attempts, least.token_limit) == (1, 9000)


def test_pool_takes_a_probe_for_whole_once_it_has_its_alternatives(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(reply="10", truncate_below=200)  # half of it is "1"
    with pool_of(2) as pool:
        probe = one(pool, endpoint, asking("hello", max_tokens=4, top_logprobs=5, is_probe=True))
        other = one(pool, endpoint, asking("hello", max_tokens=4, is_probe=True))

    assert (probe.status, probe.attempts, set(probe.label_logprobs)) == (ReplyStatus.FINISHED, 1, {"0", "1", "2"})
    assert (other.status, other.attempts) == (ReplyStatus.TRUNCATED, 1)


def test_pool_doubles_only_once(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    with pool_of(2) as pool:
        reply = one(pool, endpoint, asking("[[fake:truncated]]", max_tokens=100))

    assert (reply.status, reply.attempts) == (ReplyStatus.TRUNCATED, 2)
    assert [line["max_tokens"] for line in fake_llm.log()] == [100, 200]


def test_pool_remembers_what_an_endpoint_refuses_and_tells(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(reject="seed,json_schema,temperature")
    learned: list[Capabilities] = []
    request = asking(
        '[[fake:reply={"a": 1}]]', seed=1, response_format={"type": "json_schema", "json_schema": {"name": "v"}}
    )
    with pool_of(1, on_capabilities=lambda _, capabilities: learned.append(capabilities)) as pool:
        first = one(pool, endpoint, request)
        again = one(pool, endpoint, replace(request, sample_index=1))

    assert (first.status, first.attempts) == (ReplyStatus.FINISHED, 4)
    assert (again.status, again.attempts) == (ReplyStatus.FINISHED, 1)
    assert learned[-1] == Capabilities(
        json_schema=False, json_object=True, seed=False, random_seed=True, temperature=False, max_tokens=True
    )
    assert fake_llm.log()[-1]["sent"] == ["json_object", "max_tokens", "random_seed", "response_format"]


def test_pool_starts_from_what_is_already_known(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(reject="seed")
    with pool_of(1) as pool:
        reply = one(pool, replace(endpoint, capabilities=Capabilities(seed=False)), asking("hello", seed=1))

    assert reply.attempts == 1


def test_pool_retries_what_may_pass(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(fail_first=2)
    with pool_of(1) as pool:
        reply = one(pool, endpoint, asking("[[fake:reply=at last]]"))

    assert (reply.status, reply.text, reply.attempts) == (ReplyStatus.FINISHED, "at last", 3)


@pytest.mark.parametrize(
    ("prompt", "kind", "attempts"),
    [
        ("[[fake:drop]]", "connection", 5),
        ("[[fake:html]]", "address", 1),
        ("[[fake:500]]", "http-500", 5),
        ("[[fake:hang]]", "timeout", 5),
        ("[[fake:quota]]", "quota", 1),
        ("[[fake:404]]", "address", 1),
        ("[[fake:redirect]]", "redirect", 1),
    ],
)
def test_pool_gives_up_in_the_end(endpoint: EndpointConfig, prompt: str, kind: str, attempts: int) -> None:
    with pool_of(1) as pool:
        reply = one(pool, replace(endpoint, read_timeout=0.1 if kind == "timeout" else 60.0), asking(prompt))

    assert (reply.status, reply.error_kind, reply.attempts) == (ReplyStatus.FAILED, kind, attempts)


def test_pool_gives_up_sooner_on_a_request_that_fails_alone(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    with pool_of(2) as pool:
        pool.submit("poisoned", endpoint, asking("[[fake:500]]"))
        for number in range(300):
            pool.submit(number, endpoint, asking(f"question {number}"))
        replies = {completed.token: completed.reply for completed in collect(pool)}

    assert (replies["poisoned"].error_kind, replies["poisoned"].attempts) == ("http-500", 3)
    assert Counter(reply.status for reply in replies.values()) == {ReplyStatus.FINISHED: 300, ReplyStatus.FAILED: 1}


def test_pool_gives_work_back_when_the_endpoint_asks_for_long_patience(
    fake_llm: FakeLLM, endpoint: EndpointConfig
) -> None:
    with pool_of(1) as pool:
        pool.submit("first", endpoint, asking("[[fake:429]][[fake:retry_after=90]]"))
        pool.submit("second", endpoint, asking("hello"))
        completed = {item.token: item for item in collect(pool)}

    assert completed["first"].requeue_seconds == 90.0
    assert completed["first"].reply.error_kind == "rate-limited"
    waited = completed["second"].requeue_seconds
    assert waited is not None
    assert 85.0 < waited <= 90.0
    assert completed["second"].reply == ChatReply(ReplyStatus.FAILED, error_kind="rate-limited", attempts=0)
    assert fake_llm.stats()["calls"] == 1


def test_pool_sleeps_without_holding_a_thread(endpoint: EndpointConfig) -> None:
    with pool_of(1, retry=RetryPolicy(base_seconds=12.0, max_attempts=2)) as pool:
        pool.submit("sleeper", endpoint, asking("[[fake:drop]]"))
        for number in range(20):
            pool.submit(number, endpoint, asking(f"question {number}"))
        order = [completed.token for completed in collect(pool)]

    # one thread: the sleeper's first attempt comes before all others, its second (0.13 x 12 s later) after them
    assert order == [*range(20), "sleeper"]


def test_pool_obeys_retry_after_for_the_whole_endpoint(
    fake_llm: FakeLLM, endpoint: EndpointConfig, own_redis: OwnRedis
) -> None:
    fake_llm.config(latency=20, rate_429=0.08, retry_after=0.4, seed=3)
    pools = 2  # two pools with nothing in common but Redis
    counts: Counter[ReplyStatus] = Counter()

    def work(name: int) -> None:
        with pool_of(6, limiters=LimiterFactory(own_redis.client)) as pool:
            for number in range(40):
                pool.submit(number, replace(endpoint, max_concurrency=8), asking(f"{name} {number}"))
            counts.update(completed.reply.status for completed in collect(pool))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(pools)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    stats = fake_llm.stats()
    assert counts == {ReplyStatus.FINISHED: 80}
    assert stats["status"]["429"] >= 2
    assert stats["max_in_flight"] <= 8
    assert stats["duplicates"] == 0
    assert fake_llm.retry_after_violations(slack_seconds=0.1) == []


def test_pool_loses_nothing_under_all_faults_at_once(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(latency=10, rate_429=0.1, retry_after=0.1, rate_500=0.05)
    fake_llm.config(rate_drop=0.03, rate_malformed=0.05, rate_truncated=0.02)
    with pool_of(20) as pool:
        pool.submit("poisoned", endpoint, asking("[[fake:500]]"))
        for number in range(300):
            pool.submit(number, endpoint, asking(f"question {number}"))
        completed = collect(pool)

    assert {item.token for item in completed} == {"poisoned", *range(300)}
    assert len(completed) == 301
    assert fake_llm.stats()["duplicates"] == 0
    failed = [item.token for item in completed if item.reply.status is not ReplyStatus.FINISHED]
    assert "poisoned" in failed
    assert len(failed) <= 15  # truncated twice, or five times unlucky


def test_pool_ends_a_call_when_its_time_is_up(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    with pool_of(1, retry=replace(QUICK, deadline_seconds=0.0)) as pool:
        late = one(pool, endpoint, asking("hello"))
    with pool_of(1, retry=replace(QUICK, deadline_seconds=0.03)) as pool:
        short = one(pool, endpoint, asking("[[fake:drop]]"))

    assert (late.status, late.error_kind) == (ReplyStatus.FAILED, "deadline")
    assert (short.status, short.error_kind) == (ReplyStatus.FAILED, "deadline")
    assert fake_llm.stats()["fault"].keys() <= {"drop"}


def test_pool_gives_back_what_was_paid_for_and_counts_it_when_asked_again(
    fake_llm: FakeLLM, endpoint: EndpointConfig
) -> None:
    fake_llm.config(latency=1000, truncate_below=200)
    request = asking("[[fake:reply=0123456789]]", max_tokens=100)
    with pool_of(1) as pool:
        pool.submit("cut off", endpoint, request)
        while not fake_llm.stats()["in_flight"]:
            time.sleep(0.01)
        pool.withdraw(None)
        [given_back] = collect(pool)
    fake_llm.config(latency=5)
    with pool_of(1) as pool:
        pool.submit("again", endpoint, request, paid=given_back.paid)
        [again] = collect(pool)

    # prompt 25 // 4 + 1 = 7 each time; half the reply 5 // 4 + 1 = 2, then 10 // 4 + 1 = 3
    assert given_back.requeue_seconds == 0.0
    assert [(attempt.prompt_tokens, attempt.completion_tokens) for attempt in given_back.paid] == [(7, 2)]
    assert replace(again.reply, seconds=0.0, sent={}, head={}) == ChatReply(
        ReplyStatus.FINISHED, "0123456789", "stop", prompt_tokens=14, completion_tokens=5, cut_tokens=2, attempts=2
    )
    assert [line["max_tokens"] for line in fake_llm.log()] == [100, 200]


def test_pool_serves_two_endpoints_at_once(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(latency=20)
    other = replace(endpoint, name="other", model="n", max_concurrency=3)
    with pool_of(10) as pool:
        for number in range(30):
            pool.submit(("m", number), endpoint, asking(f"question {number}"))
            pool.submit(("n", number), other, asking(f"question {number}"))
        completed = collect(pool)

    assert Counter(item.reply.status for item in completed) == {ReplyStatus.FINISHED: 60}
    assert fake_llm.stats()["model"] == {"m": 30, "n": 30}


def test_a_busy_pool_leaves_slots_to_one_that_comes_later(
    fake_llm: FakeLLM, endpoint: EndpointConfig, own_redis: OwnRedis
) -> None:
    fake_llm.config(latency=50)
    narrow, limiters = replace(endpoint, max_concurrency=4), LimiterFactory(own_redis.client)
    with pool_of(4, limiters=limiters) as busy, pool_of(4, limiters=limiters) as late:
        for number in range(120):
            busy.submit(number, narrow, asking(f"busy {number}"))
        before = busy.completed(60.0)
        for number in range(8):
            late.submit(number, narrow, asking(f"late {number}"))
        submitted_at = time.monotonic()  # the fake server's log tells the same clock
        assert len(collect(late)) == 8
        assert len(collect(busy)) == 120 - len(before)
    late_keys = {fake_key(asking_messages(f"late {number}"), model="m") for number in range(8)}
    assert _sent_before(fake_llm, late_keys, since=submitted_at) < 60
    assert fake_llm.stats()["max_in_flight"] <= 4


def asking_messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def _sent_before(fake: FakeLLM, keys: set[str], *, since: float) -> int:
    """Return how many other calls have arrived since that moment, and before the last one with these keys."""
    lines = fake.log()
    last = max(line["t"] for line in lines if line["key"] in keys)
    return sum(since < line["t"] < last and line["key"] not in keys for line in lines)


def test_a_busy_endpoint_leaves_threads_to_another(fake_llm: FakeLLM, endpoint: EndpointConfig) -> None:
    fake_llm.config(latency=50)
    other = replace(endpoint, name="other", model="n")
    with pool_of(4) as pool:
        for number in range(120):
            pool.submit(("busy", number), endpoint, asking(f"busy {number}"))
        pool.completed(60.0)
        pool.submit(("late", 0), other, asking("late"))
        submitted_at = time.monotonic()
        collect(pool)

    assert _sent_before(fake_llm, {fake_key(asking_messages("late"), model="n")}, since=submitted_at) < 60


def test_groups_take_turns_at_an_endpoint_and_one_is_withdrawn_alone(
    fake_llm: FakeLLM, endpoint: EndpointConfig
) -> None:
    fake_llm.config(latency=50)
    with pool_of(2) as pool:
        for number in range(60):
            pool.submit(("long", number), endpoint, asking(f"long {number}"), group="long")
        for number in range(4):
            pool.submit(("short", number), endpoint, asking(f"short {number}"), group="short")
        submitted_at = time.monotonic()
        completed: list[Completed] = []
        while sum("short" in str(item.token) for item in completed) < 4:
            completed += pool.completed(60.0)
        pool.withdraw("long")
        rest = collect(pool)

    short_keys = {fake_key(asking_messages(f"short {number}"), model="m") for number in range(4)}
    assert _sent_before(fake_llm, short_keys, since=submitted_at) <= 8  # one for each of theirs, and those under way
    given_back = [item for item in rest if item.requeue_seconds is not None]
    assert all("long" in str(item.token) for item in given_back)
    assert len(given_back) + sum(item.requeue_seconds is None for item in [*completed, *rest]) == 64
    assert fake_llm.stats()["calls"] == 64 - len(given_back)


def test_an_endpoint_has_threads_to_itself_beside_slow_calls_of_another(
    fake_llm: FakeLLM, endpoint: EndpointConfig
) -> None:
    with FakeLLM(latency=20_000) as slow, pool_of(4) as pool:
        stuck = replace(endpoint, name="slow", base_url=slow.url)
        for number in range(20):
            pool.submit(("slow", number), stuck, asking(f"slow {number}"))
        while slow.stats()["calls"] < 4:  # every thread waits for it
            time.sleep(0.02)
        for number in range(5):
            pool.submit(("fast", number), endpoint, asking(f"fast {number}"))
        completed: list[Completed] = []
        while len(completed) < 5:
            batch = pool.completed(15.0)
            assert batch, "the fast endpoint waits for the slow one"
            completed += batch

    assert {item.token for item in completed} == {("fast", number) for number in range(5)}


def test_pool_gives_back_at_once_what_comes_while_an_endpoint_takes_no_calls_for_long(
    fake_llm: FakeLLM, endpoint: EndpointConfig
) -> None:
    fake_llm.config(rate_429=1.0, retry_after=3600)
    with pool_of(2) as pool:
        pool.submit("first", endpoint, asking("one"))
        heard = pool.completed(60.0)
        pool.submit("second", endpoint, asking("two"))
        heard += pool.completed(60.0)

    assert [completed.token for completed in heard] == ["first", "second"]
    assert [(completed.requeue_seconds or 0) > 3000 for completed in heard] == [True, True]
    assert fake_llm.stats()["calls"] == 1
