"""How many calls one endpoint gets at once: additive increase, multiplicative decrease, as plain arithmetic.

Shared by the limiter inside one process (below) and, in Lua, by the one that all workers share through Redis.

The limit starts at the user's maximum, not at a cautious 4: a run of 1,000 calls of 0.5 s at 50 in flight would lose
1.4 s of its 10 to a doubling start, and the maximum is what the user said the endpoint takes. The first 429 ends that
trust: the limit halves per burst (at most once in 15 s, or again once a whole round since then was mostly refused) and
grows by one per clean round, that is after as many clean answers as the limit allows at once. An endpoint that takes
far fewer calls than the maximum is therefore probed again and again, each time at the price of the pause it asks for:
setting the maximum near what it takes is worth the user's while.

How many requests and tokens an endpoint gets a minute: what was sent in the last minute, counted by its second.

The minute slides: whatever minute one looks at, no more was sent in it. A part of the window (a second) counts until
the whole window lies behind its end, so that a request sent late in its part is not forgotten early. Tokens are counted
as the most that a request may use, and corrected by what its reply reports.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

WINDOW_SECONDS = 60.0
PARTS = 60


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Requests and tokens that an endpoint takes within the window; 0: as many as one likes."""

    requests: int = 0
    tokens: int = 0

    def __bool__(self) -> bool:
        return bool(self.requests or self.tokens)

    def shared_by(self, workers: int) -> RateLimits:
        """Return the share of one of so many workers that cannot hear of each other."""
        return RateLimits(*(limit and max(1, limit // max(1, workers)) for limit in (self.requests, self.tokens)))


NO_LIMITS = RateLimits()


def part_of(at: float) -> int:
    """Return the number of the part of the window in which a time lies."""
    return int(at * PARTS / WINDOW_SECONDS)


def free_at(part: int) -> float:
    """Return when what was sent in a part no longer counts."""
    return (part + 1 + PARTS) * WINDOW_SECONDS / PARTS


@dataclass(slots=True)
class RateLog:
    """Requests and tokens by the part of the window in which they were let go."""

    parts: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> RateLog:
        """Return the log that a worker wrote."""
        entries = [[int(number) for number in entry.split(":")] for entry in text.split(";") if entry]
        return cls({part: (requests, tokens) for part, requests, tokens in entries})

    def copy(self) -> RateLog:
        """Return a log of its own with the same counts."""
        return RateLog(dict(self.parts))

    def written(self) -> str:
        """Return the log as the other workers read it."""
        return ";".join(f"{part}:{requests}:{tokens}" for part, (requests, tokens) in self.parts.items())

    def add(self, part: int, tokens: Sequence[int]) -> None:
        """Count requests that were let go, by the most tokens that each may use."""
        if tokens:
            before = self.parts.get(part, (0, 0))
            self.parts[part] = before[0] + len(tokens), before[1] + sum(tokens)

    def correct(self, part: int, tokens: int) -> None:
        """Hear that a request used so many tokens more than was counted; less: below 0."""
        if part in self.parts:
            requests, counted = self.parts[part]
            self.parts[part] = requests, max(0, counted + tokens)

    def forget(self, now: float) -> None:
        """Drop what no longer counts."""
        self.parts = {part: counted for part, counted in self.parts.items() if free_at(part) > now}

    @property
    def requests(self) -> int:
        return sum(requests for requests, _ in self.parts.values())

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.parts.values())

    def room(self, limits: RateLimits, most_tokens: Sequence[int]) -> int:
        """Return how many of these requests, each with the most tokens that it may use, may go now, in order.

        One that may use more than the limit goes where nothing else counts: it would never go otherwise.
        """
        requests, tokens = self.requests, self.tokens
        for count, more in enumerate(most_tokens):
            if _is_over(limits, requests, tokens, more):
                return count
            requests, tokens = requests + 1, tokens + more
        return len(most_tokens)

    def wait(self, limits: RateLimits, tokens: int, now: float) -> float:
        """Return the seconds until a request that may use so many tokens may go, if nothing else goes before."""
        for part, requests, counted in self._as_they_end():
            if not _is_over(limits, requests, counted, tokens):
                return max(0.0, free_at(part) - now)
        return 0.0

    def _as_they_end(self) -> Iterator[tuple[int, int, int]]:
        """Yield each part, oldest first, with the requests and tokens that still count once it is forgotten."""
        requests, tokens = self.requests, self.tokens
        for part in sorted(self.parts):
            requests, tokens = requests - self.parts[part][0], tokens - self.parts[part][1]
            yield part, requests, tokens


def _is_over(limits: RateLimits, requests: int, tokens: int, more: int) -> bool:
    too_many = bool(limits.requests) and requests >= limits.requests
    return too_many or (bool(limits.tokens) and tokens > 0 and tokens + more > limits.tokens)


DEBOUNCE_SECONDS = 15.0
RATE_SECONDS = 10.0  # the time over which calls/s and the error rate are averaged


@dataclass(frozen=True, slots=True)
class Results:
    """What came back since the last exchange; `stale` calls began before the limit last fell and change nothing."""

    clean: int = 0
    limited: int = 0  # 429
    failed: int = 0  # 5xx and network trouble: they stop growth, no more
    stale: int = 0
    pause_seconds: float = 0.0  # the longest wait that the endpoint asked for
    corrections: tuple[tuple[int, int], ...] = ()  # part of the rate's window, tokens used beyond those counted


@dataclass(frozen=True, slots=True)
class Grant:
    """Slots given, and what the caller needs to know to ask again."""

    slots: int
    limit: int
    epoch: int  # number of decreases so far; a call's results are stale once it has moved on
    wait_seconds: float = 0.0  # nobody may call before
    in_flight: int = 0  # over all workers, these slots included
    workers: int = 1
    part: int = 0  # of the rate's window, in which these requests are counted
    rate_wait_seconds: float = 0.0  # until the rate limits let the next request go


@dataclass(frozen=True, slots=True)
class LimiterStatus:
    """What a page shows of one endpoint."""

    limit: int
    in_flight: int
    workers: int
    wait_seconds: float
    limited_at: float | None  # Unix time of the last 429
    calls_per_second: float
    error_rate: float  # 0..1, of the calls in the last seconds
    requests_counted: int = 0  # against the rate limits, over all workers
    tokens_counted: int = 0
    rate_wait_seconds: float = 0.0  # requests wait so long for the rate limits


class Limiter(Protocol):
    """Slots for one endpoint. The holder says how many it holds; forgetting to give one back is thus impossible."""

    def exchange(self, *, held: int, want: int, results: Results, tokens: Sequence[int] = ()) -> Grant:
        """Report results, keep `held` slots and take up to `want` more, without waiting.

        Under rate limits each slot is for one request; `tokens` are the most that each of the wanted ones may use.
        """

    def resize(self, maximum: int, rates: RateLimits = NO_LIMITS) -> None:
        """Take up to `maximum` calls in flight from now on, and no more within a minute than the rate limits say."""

    def leave(self) -> None:
        """Give everything back: this worker stops."""


@dataclass(slots=True)
class LimitState:
    """The limit of one endpoint and what it follows from. Times are seconds of one clock."""

    maximum: int
    limit: int = field(init=False)
    epoch: int = 0
    clean: int = 0  # clean answers since the limit last changed
    answered: int = 0  # answers since it last fell
    limited: int = 0  # 429s among them
    decreased_at: float = -math.inf
    blocked_until: float = -math.inf

    def __post_init__(self) -> None:
        self.limit = self.maximum

    def resize(self, maximum: int) -> None:
        """Follow a new maximum; an endpoint that was never full goes there at once."""
        self.maximum = maximum
        self.limit = min(self.limit, maximum) if self.epoch else maximum

    def record(self, results: Results, *, at: float) -> None:
        """Let the limit follow these results."""
        if results.pause_seconds > 0:
            self.blocked_until = max(self.blocked_until, at + results.pause_seconds)
        self.answered += results.clean + results.limited
        self.limited += results.limited
        if results.limited:
            self.clean = 0
            if self._burst(at):
                self._halve(at)
        elif results.failed:
            self.clean = 0
        else:
            self._grow(results.clean)

    def _burst(self, at: float) -> bool:
        mostly_refused = self.answered >= self.limit and 2 * self.limited > self.answered
        return mostly_refused or at - self.decreased_at >= DEBOUNCE_SECONDS

    def _halve(self, at: float) -> None:
        self.limit = max(1, self.limit // 2)
        self.epoch += 1
        self.decreased_at = at
        self.answered = self.limited = 0

    def _grow(self, clean: int) -> None:
        self.clean += clean
        while self.clean >= self.limit and self.limit < self.maximum:
            self.clean -= self.limit
            self.limit += 1


class LocalLimiter:
    """Slots for one endpoint inside one process: used without Redis, and while Redis does not answer."""

    def __init__(
        self,
        maximum: int,
        rates: RateLimits = NO_LIMITS,
        *,
        log: RateLog | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._state = LimitState(max(1, maximum))
        self._limits, self._log, self._rate_wait = rates, RateLog() if log is None else log, 0.0
        self._clock = clock
        self._lock = threading.Lock()

    def exchange(self, *, held: int, want: int, results: Results, tokens: Sequence[int] = ()) -> Grant:
        with self._lock:
            now = self._clock()
            state = self._state
            state.record(results, at=now)
            wait = max(0.0, state.blocked_until - now)
            slots = 0 if wait else max(0, min(want, state.limit - held))
            if self._limits:
                slots = self._within_rates(tokens[:slots], results, now)
            grant = Grant(slots, state.limit, state.epoch, wait, held + slots)
            return replace(grant, part=part_of(now), rate_wait_seconds=self._rate_wait) if self._limits else grant

    def _within_rates(self, tokens: Sequence[int], results: Results, now: float) -> int:
        """Count and return how many of these requests the rate limits let go."""
        self._log.forget(now)
        for part, more in results.corrections:
            self._log.correct(part, more)
        granted = self._log.room(self._limits, tokens)
        self._log.add(part_of(now), tokens[:granted])
        kept_back = tokens[granted:]
        self._rate_wait = self._log.wait(self._limits, kept_back[0], now) if kept_back else 0.0
        return granted

    def resize(self, maximum: int, rates: RateLimits = NO_LIMITS) -> None:
        with self._lock:
            self._limits = rates
            self._state.resize(max(1, maximum))

    def leave(self) -> None:
        """Nobody else waits for what this process holds."""
