"""The log of what was sent within a minute."""

from __future__ import annotations

from judging.llm.rates import RateLimits, RateLog, free_at, part_of


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
