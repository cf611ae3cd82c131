"""One endpoint's calls inside a pool: what waits, what is out, what to report to the limiter."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from judging.llm.attempts import Attempt, Outcome
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus
from judging.llm.endpoints import Capabilities, EndpointConfig
from judging.llm.limits import Grant, Limiter, Results
from judging.llm.retries import Action, RetryDecision

HEARTBEAT_SECONDS = 1.0  # a worker that holds slots says so this often
POLL_SECONDS = 0.05  # how often a worker asks again for slots that others hold


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way through the pool."""

    token: Any
    endpoint: EndpointConfig
    request: ChatRequest
    max_tokens: int | None
    attempts: list[Attempt] = field(default_factory=list)
    started_at: float | None = None
    answers_before: int | None = None  # the lane's answers when this job first failed
    epoch: int = 0

    def elapsed(self, now: float) -> float:
        return 0.0 if self.started_at is None else now - self.started_at

    @property
    def paid(self) -> tuple[Attempt, ...]:
        """The attempts that cost something; they must be accounted for whatever becomes of the request."""
        return tuple(attempt for attempt in self.attempts if attempt.is_paid)


@dataclass(slots=True, eq=False)
class Lane:
    """The calls of one endpoint."""

    limiter: Limiter
    capabilities: Capabilities
    ready: deque[Job] = field(default_factory=deque)
    held: int = 0
    answers: int = 0
    blocked_until: float = 0.0  # also read by the sending threads, just before they send
    grant: Grant = field(default_factory=lambda: Grant(0, 0, 0))
    exchanged_at: float = 0.0
    ask_at: float = 0.0
    results: list[tuple[Attempt, int]] = field(default_factory=list)
    may_hand_on: bool = False  # a sending thread with an answer may keep its slot for the next request

    def take(self) -> Job | None:
        """Return the next request; None where none waits. For any thread: each request is taken once."""
        try:
            return self.ready.popleft()
        except IndexError:
            return None

    def next_after(self, attempt: Attempt, now: float) -> Job | None:
        """Return a request that may have the slot of this answered attempt without asking the limiter again.

        A reply and the next request then do not queue twice behind those of all other threads. What the limiter hears
        is the same: the slot is held on, the answer is reported, and whoever waits for slots gets them.
        """
        if not self.may_hand_on or attempt.outcome is not Outcome.FINISHED or now < self.blocked_until:
            return None
        return self.take()

    def note(self, job: Job, attempt: Attempt, *, handed_on: bool) -> None:
        """Hear of an attempt that ended, and take back its slot unless the next request has it."""
        self.held -= not handed_on
        self.answers += attempt.outcome is Outcome.FINISHED
        self.results.append((attempt, job.epoch))

    def should_exchange(self, now: float, *, idle: int) -> bool:
        """Whether there is something to report, to ask for, or to confirm."""
        asks = bool(self.ready) and idle > 0 and now >= max(self.ask_at, self.blocked_until)
        beats = self.held > 0 and now - self.exchanged_at >= HEARTBEAT_SECONDS
        return asks or beats or bool(self.results)

    def exchange(self, now: float, *, want: int) -> Grant:
        """Report the results so far and take slots; the lane remembers what it was told."""
        results = summarise(self.results, epoch=self.grant.epoch)
        self.results = []
        self.grant = self.limiter.exchange(held=self.held, want=want, results=results)
        self.held += self.grant.slots
        self.exchanged_at = now
        self.ask_at = now + POLL_SECONDS if self.grant.slots < want else now
        if self.grant.wait_seconds > 0:
            self.blocked_until = max(self.blocked_until, now + self.grant.wait_seconds)
        self.may_hand_on = self.held <= self.grant.limit // max(1, self.grant.workers)
        return self.grant

    def next_wake(self, now: float, *, idle: int) -> float:
        """Seconds until this lane wants to be looked at again without an event; infinity: never."""
        waits = [float("inf")]
        if self.held:
            waits.append(self.exchanged_at + HEARTBEAT_SECONDS - now)
        if self.ready and idle:
            waits.append(max(self.ask_at, self.blocked_until) - now)
        return max(0.0, min(waits))


FAILED_OUTCOMES = frozenset({Outcome.SERVER_ERROR, Outcome.PASSING})


def summarise(results: Sequence[tuple[Attempt, int]], *, epoch: int) -> Results:
    """Return what the limiter needs to know; attempts that began in an earlier epoch are stale.

    A quota that ran out, a refused parameter or another 4xx says nothing about load: the call went through.
    """
    fresh = [attempt.outcome for attempt, began in results if began == epoch]
    failed = sum(attempt.outcome in FAILED_OUTCOMES for attempt, _ in results)
    limited = sum(outcome is Outcome.RATE_LIMITED for outcome in fresh)
    clean = sum(outcome is not Outcome.RATE_LIMITED and outcome not in FAILED_OUTCOMES for outcome in fresh)
    return Results(
        clean=clean,
        limited=limited,
        failed=failed,
        stale=len(results) - clean - limited - failed,
        pause_seconds=max((attempt.retry_after_seconds or 0.0 for attempt, _ in results), default=0.0),
    )


STATUSES = {
    Outcome.FINISHED: ReplyStatus.FINISHED,
    Outcome.TRUNCATED: ReplyStatus.TRUNCATED,
    Outcome.REFUSED: ReplyStatus.REFUSED,
}


def reply_of(attempts: Sequence[Attempt], decision: RetryDecision) -> ChatReply:
    """Return the reply that this chain of attempts ends in.

    Tokens are those of all attempts together, since all are paid for; `seconds` are the last attempt's.
    """
    last = attempts[-1]
    accepted = decision.action is Action.ACCEPT
    return ChatReply(
        status=STATUSES[last.outcome] if accepted else ReplyStatus.FAILED,
        text=last.text,
        finish_reason=last.finish_reason,
        prompt_tokens=_total([attempt.prompt_tokens for attempt in attempts]),
        completion_tokens=_total([attempt.completion_tokens for attempt in attempts]),
        error_kind=last.error_kind if accepted else decision.reason or last.error_kind,
        error_text=last.error_text,
        label_logprobs=last.label_logprobs,
        seconds=last.seconds,
        attempts=len(attempts),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
