from __future__ import annotations

from datetime import UTC, datetime

import pytest

from judging.llm.attempts import Attempt, Outcome
from judging.llm.retries import (
    Action,
    Circumstances,
    RetryDecision,
    RetryPolicy,
    decide,
    duration_seconds,
    sleep_seconds,
    wait_asked_by,
)

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

FINISHED = Attempt(Outcome.FINISHED, 200)
TRUNCATED = Attempt(Outcome.TRUNCATED, 200, "truncated")
REFUSED = Attempt(Outcome.REFUSED, 200, "refusal")
LIMITED = Attempt(Outcome.RATE_LIMITED, 429, "rate-limited")
QUOTA = Attempt(Outcome.QUOTA, 429, "quota")
HTTP_500 = Attempt(Outcome.SERVER_ERROR, 500, "http-500")
HTTP_503 = Attempt(Outcome.SERVER_ERROR, 503, "http-503")
HTTP_404 = Attempt(Outcome.CLIENT_ERROR, 404, "http-404")
TIMEOUT = Attempt(Outcome.PASSING, None, "timeout")
PARAMETER = Attempt(Outcome.PARAMETER_REFUSED, 400, "http-400", refused=frozenset({"seed"}))


def limited(seconds: float) -> Attempt:
    return Attempt(Outcome.RATE_LIMITED, 429, "rate-limited", retry_after_seconds=seconds)


# Sleeps below with jitter 0.5: 0.5 x min(60, 2 x 2^(n-1)) = 1, 2, 4, 8 s after 1, 2, 3, 4 failures.
CASES = [
    ("an answer", [FINISHED], RetryDecision(Action.ACCEPT)),
    ("an answer after trouble", [HTTP_500, FINISHED], RetryDecision(Action.ACCEPT)),
    ("a refusal", [REFUSED], RetryDecision(Action.ACCEPT)),
    ("no credit", [QUOTA], RetryDecision(Action.GIVE_UP, reason="quota")),
    ("another 4xx", [HTTP_404], RetryDecision(Action.GIVE_UP, reason="http-404")),
    ("a refused field", [PARAMETER], RetryDecision(Action.RETRY)),
    ("refused fields do not count", [PARAMETER] * 6 + [HTTP_500], RetryDecision(Action.RETRY, 1.0)),
    ("first failure", [TIMEOUT], RetryDecision(Action.RETRY, 1.0)),
    ("fourth failure", [TIMEOUT] * 4, RetryDecision(Action.RETRY, 8.0)),
    ("fifth failure", [TIMEOUT] * 5, RetryDecision(Action.GIVE_UP, reason="timeout")),
    ("full endpoint", [LIMITED], RetryDecision(Action.RETRY, 1.0)),
    ("full endpoint that names its time", [limited(30)], RetryDecision(Action.RETRY, 30.0)),
    ("a shorter wait than ours", [LIMITED] * 3 + [limited(1)], RetryDecision(Action.RETRY, 8.0)),
    ("exactly a minute", [limited(60)], RetryDecision(Action.RETRY, 60.0)),
    ("longer than a minute", [limited(61)], RetryDecision(Action.REQUEUE, 61.0, "rate-limited")),
    ("full five times", [LIMITED] * 5, RetryDecision(Action.REQUEUE, 60.0, "rate-limited")),
    ("truncated", [TRUNCATED], RetryDecision(Action.RETRY, double_tokens=True)),
    ("truncated again", [TRUNCATED, TRUNCATED], RetryDecision(Action.ACCEPT, reason="truncated")),
    ("truncated, then a failure", [TRUNCATED, HTTP_500], RetryDecision(Action.RETRY, 2.0)),
    ("truncated around a failure", [TRUNCATED, HTTP_500, TRUNCATED], RetryDecision(Action.ACCEPT, reason="truncated")),
    ("the same 5xx three times, all suffer", [HTTP_500] * 3, RetryDecision(Action.RETRY, 4.0)),
]


@pytest.mark.parametrize(("attempts", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_decide_follows_the_table(attempts: list[Attempt], expected: RetryDecision) -> None:
    assert decide(attempts, Circumstances(elapsed_seconds=0.0, jitter=0.5)) == expected


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([HTTP_500] * 2, RetryDecision(Action.RETRY, 2.0)),
        ([HTTP_500] * 3, RetryDecision(Action.GIVE_UP, reason="http-500")),
        ([HTTP_500, TIMEOUT, HTTP_500, HTTP_500], RetryDecision(Action.GIVE_UP, reason="http-500")),
        ([HTTP_500, HTTP_503, HTTP_500], RetryDecision(Action.RETRY, 4.0)),
        ([TIMEOUT] * 3, RetryDecision(Action.RETRY, 4.0)),
        ([LIMITED] * 3, RetryDecision(Action.RETRY, 4.0)),
    ],
)
def test_decide_gives_up_on_a_request_that_alone_meets_the_same_5xx(
    attempts: list[Attempt], expected: RetryDecision
) -> None:
    assert decide(attempts, Circumstances(elapsed_seconds=0.0, jitter=0.5, others_succeed=True)) == expected


@pytest.mark.parametrize(
    ("attempts", "elapsed", "expected"),
    [
        ([TIMEOUT], 898.9, RetryDecision(Action.RETRY, 1.0)),
        ([TIMEOUT], 899.0, RetryDecision(Action.GIVE_UP, reason="deadline")),
        ([limited(30)], 870.0, RetryDecision(Action.GIVE_UP, reason="deadline")),
        ([limited(61)], 870.0, RetryDecision(Action.REQUEUE, 61.0, "rate-limited")),
        ([TRUNCATED], 900.0, RetryDecision(Action.ACCEPT, reason="truncated")),
    ],
)
def test_decide_counts_sleeps_into_the_deadline(
    attempts: list[Attempt], elapsed: float, expected: RetryDecision
) -> None:
    assert decide(attempts, Circumstances(elapsed_seconds=elapsed, jitter=0.5)) == expected


def test_decide_accepts_a_truncated_reply_where_no_limit_can_be_doubled() -> None:
    now = Circumstances(elapsed_seconds=0.0, jitter=0.5, can_double_tokens=False)

    assert decide([TRUNCATED], now) == RetryDecision(Action.ACCEPT, reason="truncated")


def test_decide_needs_an_attempt() -> None:
    with pytest.raises(ValueError, match="before the first attempt"):
        decide([], Circumstances(elapsed_seconds=0.0, jitter=0.5))


def test_sleep_seconds_is_full_jitter_under_a_cap() -> None:
    sleeps = [sleep_seconds(n, jitter=1.0, asked=None, policy=RetryPolicy()) for n in range(1, 8)]

    assert sleeps == [2, 4, 8, 16, 32, 60, 60]
    assert sleep_seconds(5, jitter=0.0, asked=None, policy=RetryPolicy()) == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "999999999"}, 86400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "1200",
            },
            1.0,
        ),
        ({"x-ratelimit-reset": "1772366410"}, 10.0),  # 2026-03-01T12:00:10Z
        ({"x-ratelimit-reset": "1772366410000"}, 10.0),
        ({"retry-after": "2", "x-ratelimit-reset-tokens": "6m0s"}, 2.0),
    ],
)
def test_wait_asked_by_reads_what_servers_send(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_asked_by(headers, at=NOON) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20", 20.0), ("1.5s", 1.5), ("6m0s", 360.0), ("1h2m3s", 3723.0), ("120ms", 0.12), ("1d", 86400.0), ("", None)],
)
def test_duration_seconds_reads_go_style_durations(text: str, seconds: float | None) -> None:
    assert duration_seconds(text, at=NOON) == seconds
