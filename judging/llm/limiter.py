"""The limiter that all workers on all machines share through Redis, one per endpoint (URL, key, model).

Each worker says at every exchange how many slots it holds, so nothing can leak: the slots of a worker that stays silent
for 20 s come back, and after a lost Redis the counts are whole again with everyone's next exchange. While Redis does
not answer, each worker keeps to the slots that it held (one that never reached Redis: to the whole limit). Under rate
limits it also says what it sent in the last minute, and keeps to its share of them while Redis does not answer.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from judging.llm import limits
from judging.llm.endpoints import EndpointConfig
from judging.llm.limits import (
    NO_LIMITS,
    RATE_SECONDS,
    Grant,
    Limiter,
    LimiterStatus,
    LocalLimiter,
    RateLimits,
    RateLog,
    Results,
)

logger = logging.getLogger(__name__)

SCRIPT = (Path(__file__).parent / "limiter.lua").read_text(encoding="utf-8")
REDIS_TIMEOUT_SECONDS = 2.0
LEASE_SECONDS = 20.0  # a pool confirms what it holds every second
RECONNECT_SECONDS = 2.0  # between two tries while Redis does not answer


def limiter_keys(endpoint: EndpointConfig) -> tuple[str, str, str, str, str]:
    """Return the five Redis keys of an endpoint; its API key takes part only inside a hash."""
    name = sha256("\n".join(endpoint.identity).encode("utf-8", "replace")).hexdigest()[:24]
    base = f"evalsite:limiter:{{{name}}}"
    return f"{base}:state", f"{base}:held", f"{base}:seen", f"{base}:hungry", f"{base}:rates"


def connect(url: str) -> redis.Redis:
    """Return a client that gives up after 2 s, so that a dead Redis slows nobody down."""
    return redis.Redis.from_url(
        url,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 1),
    )


class RedisLimiter:
    """Slots for one endpoint, shared by everyone who uses the same Redis. For one thread at a time."""

    def __init__(
        self,
        connection: redis.Redis,
        endpoint: EndpointConfig,
        *,
        worker: str = "",
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._redis = connection
        self._keys = limiter_keys(endpoint)
        self._maximum = max(1, endpoint.max_concurrency)
        self._limits, self._log = endpoint.rate_limits, RateLog()
        self._worker = worker or uuid4().hex
        self._script = connection.register_script(SCRIPT)
        self._lease = lease_seconds
        self._clock = clock
        self._share = 0  # slots held after the last exchange that Redis answered
        self._last = Grant(0, limit=0, epoch=0)
        self._local: LocalLimiter | None = None
        self._retry_at = -math.inf

    def exchange(self, *, held: int, want: int, results: Results, tokens: Sequence[int] = ()) -> Grant:
        if self._local is not None and self._clock() < self._retry_at:
            return self._local_exchange(self._local, held=held, want=want, results=results, tokens=tokens)
        try:
            grant = self._shared_exchange(held=held, want=want, results=results, tokens=tokens)
        except redis.RedisError as trouble:
            local = self._without_redis(trouble)
            return self._local_exchange(local, held=held, want=want, results=results, tokens=tokens)
        if self._local is not None:
            logger.info("limiter.redis_back worker=%s", self._worker)
            self._local = None
        self._last = grant
        self._share = held + grant.slots
        return grant

    def _shared_exchange(self, *, held: int, want: int, results: Results, tokens: Sequence[int]) -> Grant:
        last = self._last
        log = self._log.copy()  # it stays as it was where Redis does not answer
        for part, more in results.corrections:
            log.correct(part, more)
        arguments: list[str | int] = [
            self._worker,
            held,
            want,
            self._maximum,
            results.clean,
            results.limited,
            results.failed,
        ]
        arguments += [results.stale, f"{results.pause_seconds:.6f}", last.epoch, last.limit, self._share]
        arguments += [f"{self._lease:.3f}", self._limits.requests, self._limits.tokens, str(limits.WINDOW_SECONDS)]
        arguments += [limits.PARTS, log.written(), ",".join(map(str, tokens))]
        slots, limit, epoch, wait, in_flight, workers, part, rate_wait = cast(
            list[Any], self._script(keys=list(self._keys), args=arguments)
        )
        log.add(int(part), tokens[: int(slots)])
        log.forget(int(part) * limits.WINDOW_SECONDS / limits.PARTS)
        self._log = log
        counts = (int(slots), int(limit), int(epoch), float(wait), int(in_flight), int(workers))
        return Grant(*counts, int(part) if self._limits else 0, float(rate_wait))

    def _without_redis(self, error: redis.RedisError) -> LocalLimiter:
        if self._local is None:
            share = max(1, self._share) if self._last.limit else self._maximum
            logger.warning("limiter.redis_lost worker=%s share=%s error=%s", self._worker, share, type(error).__name__)
            self._local = LocalLimiter(share, self._limits.shared_by(self._last.workers), log=self._log)
        self._retry_at = self._clock() + RECONNECT_SECONDS
        return self._local

    def _local_exchange(
        self, local: LocalLimiter, *, held: int, want: int, results: Results, tokens: Sequence[int]
    ) -> Grant:
        grant = local.exchange(held=held, want=want, results=results, tokens=tokens)
        return replace(grant, epoch=self._last.epoch)

    def resize(self, maximum: int, rates: RateLimits = NO_LIMITS) -> None:
        self._maximum, self._limits = max(1, maximum), rates

    def leave(self) -> None:
        _, held_key, seen_key, hungry_key, _ = self._keys  # what was sent still counts
        try:
            pipe = self._redis.pipeline()
            pipe.hdel(held_key, self._worker)
            pipe.zrem(seen_key, self._worker)
            pipe.hdel(hungry_key, self._worker)
            pipe.execute()
        except redis.RedisError:
            logger.warning("limiter.leave_failed worker=%s", self._worker)  # the lease runs out by itself


def endpoint_status(connection: redis.Redis, endpoint: EndpointConfig) -> LimiterStatus:
    """Return what all workers together do with this endpoint, for a page.

    A limiter never used stands at its maximum with nothing in flight.

    Raises:
        redis.RedisError: Redis does not answer.
    """
    state_key, held_key, seen_key, _, rates_key = limiter_keys(endpoint)
    pipe = connection.pipeline(transaction=True)
    pipe.hgetall(state_key)
    pipe.hgetall(held_key)
    pipe.zcard(seen_key)
    pipe.hvals(rates_key)
    pipe.time()
    raw, slots_by_worker, workers, logs, (seconds, micros) = pipe.execute()
    state = {name.decode(): float(value) for name, value in raw.items()}
    now = seconds + micros / 1e6
    calls = state.get("rate_calls", 0.0)
    sent = [RateLog.read(log.decode()) for log in logs]
    for log in sent:
        log.forget(now)
    fade = math.exp(-max(0.0, now - state.get("rate_at", now)) / RATE_SECONDS)
    return LimiterStatus(
        limit=int(state.get("limit", max(1, endpoint.max_concurrency))),
        in_flight=sum(int(slots) for slots in slots_by_worker.values()),
        workers=workers,
        wait_seconds=max(0.0, state.get("blocked_until", 0.0) - now),
        limited_at=state.get("limited_at") or None,
        calls_per_second=calls * fade,
        error_rate=state.get("rate_errors", 0.0) / calls if calls else 0.0,
        requests_counted=sum(log.requests for log in sent),
        tokens_counted=sum(log.tokens for log in sent),
        rate_wait_seconds=max(0.0, state.get("rate_blocked_until", 0.0) - now),
    )


@dataclass(frozen=True, slots=True)
class LimiterFactory:
    """Makes the limiter of each endpoint: shared where a Redis client is given, else for this process alone."""

    connection: redis.Redis | None = None
    lease_seconds: float = LEASE_SECONDS

    def __call__(self, endpoint: EndpointConfig) -> Limiter:
        if self.connection is None:
            return LocalLimiter(endpoint.max_concurrency, endpoint.rate_limits)
        return RedisLimiter(self.connection, endpoint, lease_seconds=self.lease_seconds)
