"""The call engine: one worker's way through a run's tasks, in steps that never wait.

One thread talks to the database and to the conversations of all runs that a worker has in work (`run_worker`); the
pool's threads only wait for models. A conversation yields requests, the ledger answers those asked before, the budget
is reserved for the rest, and the pool sends them. Results go to the database in batches: calls first, then what was
made of them, then the counters.
"""

from __future__ import annotations

import heapq
import time

from judging.llm.chat import ChatReply, ReplyStatus
from judging.services.calls.conversations import PendingRequest
from judging.services.calls.endpoint_failures import LONGEST_HOLD_SECONDS, REFUSALS, pause_seconds
from judging.services.engine.call_requests import CallRequests
from judging.services.tasks.leases import InFlight


class ReplyHandling(CallRequests):
    """Hands replies to the conversations that wait for them, and asks again for the rest."""

    def _receive(self) -> None:
        for result in self.calls.take_results():
            pending = self.in_pool.pop(result.token)
            if result.again_seconds is None:
                self._handle_reply(pending, result.reply)
                continue
            if result.paid:
                self.records.append(pending.give_up(result.paid, reason="withdrawn" if self.stopping else ""))
            if not self.stopping:
                self._postpone(pending, result.again_seconds, was_full=not result.paid)

    def _handle_reply(self, pending: PendingRequest, reply: ChatReply) -> None:
        record = pending.record(reply)
        self.records.append(record)
        failures = self.failures[pending.endpoint]
        failures.note(reply, time.monotonic())
        if reply.status == ReplyStatus.FINISHED:
            self.unstored[pending.key] = record
        if failures.is_hopeless(reply):
            self.suspects.append((pending, record))
            if failures.is_broken:
                self._stop("hopeless", failures.sentence(pending.endpoint))
            return
        if reply.status != ReplyStatus.FAILED:
            self.was_answered = True
            self._deliver_suspects(pending.endpoint)
        self._deliver(pending.recipients, record)

    def _deliver_suspects(self, endpoint: str = "") -> None:
        """Deliver errors that turned out to be those of single requests."""
        suspects, self.suspects = self.suspects, []
        for pending, record in suspects:
            if endpoint in ("", pending.endpoint):
                self._deliver(pending.recipients, record)
            else:
                self.suspects.append((pending, record))

    def _postpone(self, pending: PendingRequest, seconds: float, *, was_full: bool) -> None:
        """Ask again later: from here where that is soon, else the task goes back and this worker is free of it.

        `was_full`: the endpoint took no more; otherwise an attempt was paid for and came to nothing.
        """
        now, failures = time.monotonic(), self.failures[pending.endpoint]
        pending.postponed += was_full
        pending.postponed_at = pending.postponed_at or now
        in_vain = pending.postponed >= REFUSALS and failures.answered_at < pending.postponed_at
        if seconds <= LONGEST_HOLD_SECONDS and not in_vain:
            self.to_repeat[pending.key] = pending
            heapq.heappush(self.postponed, (now + seconds, pending.key))
            return
        if in_vain:
            since = self.run.postponed_since
            before = (self.options.now() - since).total_seconds() if since is not None else 0.0
            seconds = max(seconds, pause_seconds(before))
        failures.blocked_until = max(failures.blocked_until, now + seconds)
        self._put_back(pending)
        for waiting in (self.held_back, self.to_repeat):
            for other in [each for each in waiting.values() if each.endpoint == pending.endpoint]:
                del waiting[other.key]
                self._put_back(other)


DORMANT_SECONDS = 0.01  # between two looks at conversations that wait for work of their own
REPLY_SECONDS = 0.05  # and at replies


class Engine(ReplyHandling):
    """Works through a run until nothing waits, the run stops being active, or an ending of `ended` is met."""

    def step(self) -> bool:
        """Do what can be done without waiting; return whether the work is over, see `ended`."""
        self._receive()
        self._claim()
        self._begin()
        self._look_again()
        self._ask()
        if self.stopping:
            self._withdraw()
        elif self.suspects and self._is_idle():
            self._deliver_suspects()
        self._store_and_renew()
        return self._is_over()

    def finish(self) -> InFlight:
        """Store what is left, once the work is over; return what was sent and is given up without an answer."""
        unheard, self.in_pool = self.lost or self._sent(), {}
        self._flush()
        for active in self.dormant:
            active.conversation.close()
        return unheard

    def cut_off(self) -> None:
        """Note that the process that sends has ended; what it had in flight goes back."""
        self._stop("cut-off")
        self.lost, self.in_pool = self._sent(), {}

    @property
    def ended(self) -> str:
        """Why the work is over.

        "empty": nothing waits; "postponed": an endpoint takes no calls for long, and nothing else is left; "stopped":
        the run was; "asked": this worker was asked to stop; "budget": it is reached; "day": that of the day is;
        "too-dear": one call may cost more than a day; "unpriced": no budget can be kept, since a price is unknown;
        "hopeless": an endpoint answers nothing but the same error; "endpoint": one is not what the run was started
        with; "lost": the claim lapsed and others have the work; "cut-off": the process that sends ended by itself, and
        what it had in flight goes back.
        """
        return self.stopping or ("postponed" if self.blocked() else "empty")

    @property
    def patience(self) -> float:
        """Seconds until the next step is worth while, unless a reply comes sooner."""
        if self.to_begin and not self.stopping:
            return 0.0
        return DORMANT_SECONDS if self.dormant else REPLY_SECONDS

    def _withdraw(self) -> None:
        """Take back what is not on its way: a pause means that no more money is spent. What was spent is kept."""
        if self._withdrawn:
            return
        self._withdrawn = True
        self.calls.withdraw()
        self.held_back.clear()
        self.to_repeat.clear()

    def _is_idle(self) -> bool:
        """Whether nothing is left to claim, and no reply will come."""
        waits = (self.to_begin, self.to_ask, self.dormant, self.in_pool, self.held_back, self.to_repeat)
        return self.exhausted and not any(waits)

    def _is_over(self) -> bool:
        if self.stopping == "asked" and time.monotonic() - self._stop_asked_at > self.options.stop_seconds:
            return True
        if self.stopping:
            return not self.in_pool  # calls in flight are paid for, so they are waited for
        if self.finished and self.endpoints.asks_systems and self.exhausted and not self.active_tasks:
            self._flush()
        return self.exhausted and not self.active_tasks and not self.to_begin
