from __future__ import annotations

import pytest

from judging.llm.limits import (
    DEBOUNCE_SECONDS,
    Grant,
    LimitState,
    LocalLimiter,
    RateLimits,
    RateLog,
    Results,
    free_at,
    part_of,
)


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


# (seconds since the start, results) -> limit, epoch; from a maximum of 16
HISTORIES = {
    "clean answers keep the maximum": ([(0, Results(clean=100))], (16, 0)),
    "the first 429 halves": ([(0, Results(clean=3, limited=1))], (8, 1)),
    "a burst halves once": ([(0, Results(limited=1)), (1, Results(clean=8, limited=2))], (8, 1)),
    "the next burst halves again": ([(0, Results(limited=1)), (15, Results(limited=1))], (4, 2)),
    # 8 answers since the decrease, 5 of them refused: the limit is still far too high
    "a round of refusals does not wait": ([(0, Results(limited=1)), (1, Results(clean=3, limited=5))], (4, 2)),
    "one clean round adds one": ([(0, Results(limited=1)), (1, Results(clean=8))], (9, 1)),
    "half a round adds nothing": ([(0, Results(limited=1)), (1, Results(clean=7))], (8, 1)),
    # rounds of 8, 9 and 10 clean answers
    "three clean rounds add three": ([(0, Results(limited=1)), (1, Results(clean=27))], (11, 1)),
    "a 5xx breaks the round": (
        [(0, Results(limited=1)), (1, Results(clean=7)), (2, Results(failed=1)), (3, Results(clean=7))],
        (8, 1),
    ),
    "a 5xx lowers nothing": ([(0, Results(failed=50))], (16, 0)),
    "stale results change nothing": ([(0, Results(limited=1)), (20, Results(stale=40))], (8, 1)),
    "it never falls below one": ([(n * 15, Results(limited=1)) for n in range(9)], (1, 9)),
    "it never grows beyond the maximum": ([(0, Results(limited=1)), (1, Results(clean=1000))], (16, 1)),
}


@pytest.mark.parametrize(("history", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_limit_follows_results(history: list[tuple[float, Results]], expected: tuple[int, int]) -> None:
    state = LimitState(16)

    for seconds, results in history:
        state.record(results, at=1000.0 + seconds)

    assert (state.limit, state.epoch) == expected


def test_local_limiter_pauses_everyone_until_the_time_is_up() -> None:
    clock = Clock()
    limiter = LocalLimiter(8, clock=clock)
    limiter.exchange(held=0, want=2, results=Results())

    refused = limiter.exchange(held=1, want=5, results=Results(limited=1, pause_seconds=3.0))
    clock.now += 2.9
    waiting = limiter.exchange(held=0, want=5, results=Results(clean=1))
    clock.now += 0.1
    free = limiter.exchange(held=0, want=5, results=Results())

    assert refused == Grant(slots=0, limit=4, epoch=1, wait_seconds=3.0, in_flight=1)
    assert (waiting.slots, round(waiting.wait_seconds, 6)) == (0, 0.1)
    assert free == Grant(slots=4, limit=4, epoch=1, wait_seconds=0.0, in_flight=4)


def test_local_limiter_keeps_rate_limits_and_tells_the_wait() -> None:
    clock = [1000.0]
    limiter = LocalLimiter(50, RateLimits(requests=2), clock=lambda: clock[0])

    grants = []
    for clock[0] in (1000.0, 1060.5, 1061.0):
        grants.append(limiter.exchange(held=0, want=3, results=Results(), tokens=[1] * 3))

    # two a minute, which count until the minute lies behind the second in which they were sent
    assert [(grant.slots, grant.rate_wait_seconds) for grant in grants] == [(2, 61.0), (0, 0.5), (2, 61.0)]


def test_debounce_is_fifteen_seconds() -> None:
    assert DEBOUNCE_SECONDS == 15.0


def test_a_part_counts_until_the_window_lies_behind_its_end() -> None:
    log = RateLog()
    log.add(part_of(100.9), [10, 20])

    # sent in the second from 100 to 101, it counts until 161
    assert free_at(part_of(100.9)) == 161.0
    log.forget(160.9)
    assert (log.requests, log.tokens) == (2, 30)
    log.forget(161.0)
    assert (log.requests, log.tokens) == (0, 0)


def test_correct_changes_the_part_that_was_counted_and_no_other() -> None:
    log = RateLog()
    log.add(100, [50])
    log.correct(100, -45)
    log.correct(101, -45)
    log.correct(100, -45)

    assert log.parts == {100: (1, 0)}


def test_room_keeps_requests_and_tokens_in_order() -> None:
    log = RateLog({100: (2, 50)})

    assert log.room(RateLimits(), [1] * 9) == 9
    assert log.room(RateLimits(requests=5), [1] * 9) == 3
    assert log.room(RateLimits(tokens=100), [30, 30, 1]) == 1  # 80; the next would make 110
    assert log.room(RateLimits(tokens=100), [60]) == 0
    assert RateLog().room(RateLimits(tokens=100), [500, 1]) == 1  # else it would never go


def test_wait_is_until_enough_is_forgotten() -> None:
    log = RateLog({100: (1, 10), 110: (1, 80), 120: (1, 5)})

    assert log.wait(RateLimits(requests=3), 1, now=130.0) == 31.0  # the first is free at 161
    assert log.wait(RateLimits(requests=2), 1, now=130.0) == 41.0
    assert log.wait(RateLimits(tokens=100), 50, now=130.0) == 41.0  # 85 + 50 is still too much
    assert log.wait(RateLimits(requests=3), 1, now=170.0) == 0.0


def test_a_log_reads_as_it_was_written() -> None:
    log = RateLog({100: (1, 10), 110: (1, 80)})

    assert RateLog.read(log.written()) == log
    assert RateLog.read("") == RateLog()


def test_a_share_of_a_limit_is_at_least_one_and_none_stays_none() -> None:
    assert RateLimits(100, 0).shared_by(3) == RateLimits(33, 0)
    assert RateLimits(2, 10).shared_by(5) == RateLimits(1, 2)
