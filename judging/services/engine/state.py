"""The state of one worker on a run: its tasks, its conversations, its calls, and why it stops."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from judging.llm.attempts import Attempt
from judging.llm.chat import ChatRequest
from judging.models import Lease, Run, RunTask
from judging.selectors.targets import Target
from judging.services.calls.conversations import ActiveTask, PendingRequest
from judging.services.calls.endpoint_failures import EndpointFailures
from judging.services.calls.frozen_endpoints import RunEndpoints
from judging.services.calls.ledger import CallRecord
from judging.services.calls.pools import CallResult
from judging.services.tasks import results
from judging.services.tasks.executors import Executor, ReadyTask
from judging.services.tasks.leases import InFlight

FLUSH_SECONDS = 0.2


class Calls(Protocol):
    """What sends a run's requests; `judging.services.calls.pools.PoolShare` is the real one."""

    def submit(
        self,
        token: str,
        target: Target,
        request: ChatRequest,
        paid: tuple[Attempt, ...] = (),
        *,
        is_reserved: bool = False,
    ) -> None:
        """Take a request; its token will come out of `take_results` once."""

    def take_results(self) -> list[CallResult]:
        """Return what came back."""

    def withdraw(self) -> None:
        """Stop sending; what is not on its way comes back, to be asked again."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How one worker goes about it."""

    threads: int
    now: Callable[[], datetime]
    should_stop: Callable[[], bool]
    stop_seconds: float = 0.0  # a worker asked to stop waits this long for calls in flight, since they are paid for


class EngineState:
    """The state that taking work, asking and keeping books share."""

    def __init__(
        self,
        *,
        run: Run,
        lease: Lease,
        executor: Executor,
        calls: Calls,
        endpoints: RunEndpoints,
        options: EngineOptions,
    ) -> None:
        self.run, self.lease, self.executor = run, lease, executor
        self.calls, self.endpoints, self.options = calls, endpoints, options
        self.to_begin: deque[tuple[RunTask, ReadyTask]] = deque()
        self.active_tasks: dict[int, ActiveTask] = {}
        self.to_ask: deque[tuple[ActiveTask, int, ChatRequest]] = deque()
        self.dormant: list[ActiveTask] = []  # they asked for nothing yet and are looked at again and again
        self.in_pool: dict[str, PendingRequest] = {}
        self.held_back: dict[str, PendingRequest] = {}  # not sent yet, perhaps because the budget does not carry it
        self.postponed: list[tuple[float, str]] = []  # monotonic time to ask again, key
        self.to_repeat: dict[str, PendingRequest] = {}  # by key, the postponed ones
        self.suspects: list[
            tuple[PendingRequest, CallRecord]
        ] = []  # failed as every other request may: not delivered yet
        self.failures: dict[str, EndpointFailures] = defaultdict(EndpointFailures)  # by endpoint
        self.records: list[CallRecord] = []
        self.unstored: dict[str, CallRecord] = {}  # finished calls on their way to the ledger
        self.finished: list[results.TaskOutcome] = []
        self.released: list[int] = []  # tasks that wait again
        self.lost: InFlight | None = None  # what a lost sender had on its way
        self.flush_seconds = FLUSH_SECONDS
        self.stopping, self.reason = "endpoint" if endpoints.difference else "", endpoints.difference
        self.exhausted = self.was_answered = False
        self._withdrawn = False
        self._rate, self._ended = 0.0, 0  # tasks ended per second lately, and since then
        self._reserved_at = 0.0
        self._announced = 0  # calls in flight that the claim says, or more
        self._flushed_at = self._heartbeat_at = self._rated_at = self._stop_asked_at = self._compared_at = (
            time.monotonic()
        )

    def blocked(self) -> dict[str, float]:
        """Return which endpoints take no calls now, and until which monotonic time."""
        now = time.monotonic()
        return {
            name: failures.blocked_until for name, failures in self.failures.items() if failures.blocked_until > now
        }

    @property
    def _has_budget(self) -> bool:
        """Whether money is set aside for calls before they are sent."""
        return self.run.budget is not None or bool(self.endpoints.limited)

    def _stop(self, why: str, reason: str = "") -> None:
        if not self.stopping:
            self.stopping, self.reason = why, reason

    def _holds(self, active: ActiveTask) -> bool:
        """Whether the conversation goes on; the task of one that was put back may be in another by now."""
        return self.active_tasks.get(active.task.pk) is active
