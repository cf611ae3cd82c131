"""How many requests and tokens an endpoint gets a minute: what was sent in the last minute, counted by its second.

The minute slides: whatever minute one looks at, no more was sent in it. A part of the window (a second) counts until
the whole window lies behind its end, so that a request sent late in its part is not forgotten early. Tokens are counted
as the most that a request may use, and corrected by what its reply reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
