"""Hears what became of requests: replies, refusals, and errors that may be those of a whole endpoint."""

from __future__ import annotations

import heapq
import time

from judging.llm.chat import ChatReply, ReplyStatus
from judging.services.calls.conversations import PendingRequest
from judging.services.calls.troubles import LONGEST_HOLD_SECONDS, REFUSALS, pause_seconds
from judging.services.engine.call_requests import CallRequests


class Hearing(CallRequests):
    """Hands replies to the conversations that wait for them, and asks again for the rest."""

    def _hear(self) -> None:
        for heard in self.calls.heard():
            asked = self.asked.pop(heard.token)
            if heard.again_seconds is None:
                self._answered(asked, heard.reply)
                continue
            if heard.paid:
                self.records.append(asked.give_up(heard.paid, reason="withdrawn" if self.stopping else ""))
            if not self.stopping:
                self._refused(asked, heard.again_seconds, was_full=not heard.paid)

    def _answered(self, asked: PendingRequest, reply: ChatReply) -> None:
        record = asked.record(reply)
        self.records.append(record)
        trouble = self.troubles[asked.endpoint]
        trouble.note(reply, time.monotonic())
        if reply.status == ReplyStatus.FINISHED:
            self.unstored[asked.key] = record
        if trouble.is_hopeless(reply):
            self.suspects.append((asked, record))
            if trouble.is_broken:
                self._stop("hopeless", trouble.sentence(asked.endpoint))
            return
        if reply.status != ReplyStatus.FAILED:
            self.was_answered = True
            self._deliver_suspects(asked.endpoint)
        self._deliver(asked.places, record)

    def _deliver_suspects(self, endpoint: str = "") -> None:
        """Deliver errors that turned out to be those of single requests."""
        suspects, self.suspects = self.suspects, []
        for asked, record in suspects:
            if endpoint in ("", asked.endpoint):
                self._deliver(asked.places, record)
            else:
                self.suspects.append((asked, record))

    def _refused(self, asked: PendingRequest, seconds: float, *, was_full: bool) -> None:
        """Ask again later: from here where that is soon, else the task goes back and this worker is free of it.

        `was_full`: the endpoint took no more; otherwise an attempt was paid for and came to nothing.
        """
        now, trouble = time.monotonic(), self.troubles[asked.endpoint]
        asked.postponed += was_full
        asked.postponed_at = asked.postponed_at or now
        in_vain = asked.postponed >= REFUSALS and trouble.answered_at < asked.postponed_at
        if seconds <= LONGEST_HOLD_SECONDS and not in_vain:
            self.to_repeat[asked.key] = asked
            heapq.heappush(self.postponed, (now + seconds, asked.key))
            return
        if in_vain:
            since = self.run.postponed_since
            before = (self.options.now() - since).total_seconds() if since is not None else 0.0
            seconds = max(seconds, pause_seconds(before))
        trouble.blocked_until = max(trouble.blocked_until, now + seconds)
        self._put_back(asked)
        for waiting in (self.held_back, self.to_repeat):
            for other in [one for one in waiting.values() if one.endpoint == asked.endpoint]:
                del waiting[other.key]
                self._put_back(other)
