"""Requests of conversations: answered from the ledger, else sent to a model as far as the budget allows."""

from __future__ import annotations

import heapq
import logging
import time
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from judging.llm.identity import call_key
from judging.services.calls import ledger
from judging.services.calls.conversations import PendingRequest
from judging.services.calls.ledger import CallRecord
from judging.services.engine.tasks import AHEAD_SECONDS, TaskWork
from judging.services.tasks import leases
from judging.services.tasks.executors import Crash
from judging.services.transactions import persistently

logger = logging.getLogger(__name__)

RESERVE_SECONDS = 0.25  # between two looks for money that others may give back


class CallRequests(TaskWork):
    """Hands requests to the pool and sets money aside for them."""

    def _ask(self) -> None:
        while self.to_ask:
            requested = self._keyed()
            unknown = [key for key in requested if key not in self.unstored]
            finished = persistently(partial(ledger.find_finished, unknown, at=self.options.now()))
            for key, pending in requested.items():
                call = finished.get(key)
                if key in self.unstored:
                    self._deliver(pending.recipients, self.unstored[key])
                elif call is not None:
                    record = CallRecord(
                        key, call.endpoint_id, {}, ledger.reply_of(call), call.cost, reused=True, pk=call.pk
                    )
                    self._deliver(pending.recipients, record)
                else:
                    self._queue(pending)
        now = time.monotonic()
        while self.postponed and self.postponed[0][0] <= now:
            key = heapq.heappop(self.postponed)[1]
            if key in self.to_repeat:
                self.held_back[key] = self.to_repeat.pop(key)
        if self.held_back and not self.stopping:
            self._send()

    def _keyed(self) -> dict[str, PendingRequest]:
        requested: dict[str, PendingRequest] = {}
        for active, index, request in self.to_ask:
            if not self._holds(active):
                continue
            name = request.endpoint or active.endpoint
            target = self.endpoints.targets.get(name)
            if target is None:
                logger.warning("judging.task_given_up task_id=%s kind=endpoint-not-in-use", active.task.pk)
                self._end(active, Crash("endpoint-not-in-use"))
                continue
            key = call_key(target.config, request)
            if key in requested:
                requested[key].recipients.append((active, index))
            else:
                requested[key] = PendingRequest(key, name, target, request, [(active, index)])
        self.to_ask.clear()
        return requested

    def _queue(self, pending: PendingRequest) -> None:
        same_request = (
            self.in_pool.get(pending.key) or self.held_back.get(pending.key) or self.to_repeat.get(pending.key)
        )
        if same_request is not None:
            same_request.recipients.extend(pending.recipients)
        elif pending.endpoint in self.blocked():
            self._put_back(pending)
        elif not self.stopping:
            self.held_back[pending.key] = pending

    def _send(self) -> None:
        """Hand what is next to the pool, as far as the budget carries it."""
        for pending in self.held_back.values():
            if pending.worst is None:
                pending.worst = pending.target.worst_case(pending.request)
        affordable = self._next_in_turn()
        if self._has_budget:
            affordable = self._paid_for(affordable)
        if affordable and self._announce(affordable):
            for pending in affordable:
                self.in_pool[pending.key] = self.held_back.pop(pending.key)
                self.calls.submit(
                    pending.key, pending.target, pending.request, pending.past, is_reserved=self._has_budget
                )
        if self.held_back and not self.stopping and not (self.in_pool or self.to_repeat or self.records):
            self._stop_if_short()

    def _stop_if_short(self) -> None:
        """Stop where the budgets will not carry any request that waits, whatever comes back."""
        call_amounts = {
            (pending.target.endpoint_id, pending.worst or Decimal(0)) for pending in self.held_back.values()
        }
        at = self.options.now()
        shortage = persistently(partial(leases.shortage, lease=self.lease, call_amounts=call_amounts, at=at))
        if shortage is not None:
            self._stop(shortage.ending, shortage.reason)

    def _announce(self, more: Sequence[PendingRequest]) -> bool:
        """Note what is about to be sent, so that it is booked should this worker die; False: the claim lapsed."""
        in_flight = self._in_flight(more)
        if in_flight.calls <= self._announced:
            return True
        try:
            persistently(partial(leases.heartbeat, lease=self.lease, in_flight=in_flight))
        except leases.LeaseLost:
            self._stop("lost")
            return False
        self._announced = in_flight.calls
        return True

    def _paid_for(self, requests: Sequence[PendingRequest]) -> list[PendingRequest]:
        """Set money aside for what is wanted, and return what the budget carries now."""
        unpriced = next((pending for pending in self.held_back.values() if self._needs_price(pending)), None)
        if unpriced is not None:
            logger.warning("judging.price_unknown endpoint=%s", unpriced.endpoint)
            self._stop("unpriced")
            return []
        amounts = [
            (pending.target.endpoint_id, Decimal(0) if pending.reserved else pending.worst or Decimal(0))
            for pending in requests
        ]
        if not requests or time.monotonic() - self._reserved_at < RESERVE_SECONDS:
            return []
        try:
            carried = persistently(
                partial(leases.reserve, lease=self.lease, call_amounts=amounts, at=self.options.now())
            )
        except leases.LeaseLost:
            self._stop("lost")
            return []
        if not any(carried):
            self._reserved_at = time.monotonic()
        affordable = [pending for pending, fits in zip(requests, carried, strict=True) if fits]
        for pending in affordable:
            pending.reserved = pending.reserved or pending.worst or Decimal(0)
        return affordable

    def _needs_price(self, pending: PendingRequest) -> bool:
        """Whether a budget cannot be kept, since nobody knows what the request may cost."""
        is_limited = self.run.budget is not None or pending.target.endpoint_id in self.endpoints.limited
        return is_limited and pending.worst is None

    def _next_in_turn(self) -> list[PendingRequest]:
        """Return what may be sent soon: little more than what an endpoint takes at once until this is looked at again,
        since all of it counts as spent where this worker dies."""
        sent = Counter(pending.target.endpoint_id for pending in self.in_pool.values())
        room: dict[int, int] = {}
        turn = []
        for pending in self.held_back.values():
            endpoint_id = pending.target.endpoint_id
            if endpoint_id not in room:
                at_once = min(self.options.threads, pending.target.config.max_concurrency)
                spare = max(1, at_once // 4, int(self._rate * AHEAD_SECONDS))
                free = at_once + spare - sent[endpoint_id]
                room[endpoint_id] = free if free >= spare // 2 else 0  # a few at a time: each time is noted
            if pending.target.is_lexical or room[endpoint_id] > 0:
                room[endpoint_id] -= 1
                turn.append(pending)
        return turn

    def _put_back(self, pending: PendingRequest) -> None:
        """Let the tasks that wait for this wait for any worker."""
        bound = self.endpoints.evaluators_on([pending.endpoint])
        asks_system = bool(self.endpoints.systems_on([pending.endpoint]))
        for active, _ in pending.recipients:
            if self._holds(active):
                active.conversation.close()
                del self.active_tasks[active.task.pk]
                self.released.append(active.task.pk)
                is_passed_over = asks_system if active.task.evaluator_id is None else active.task.evaluator_id in bound
                self.exhausted |= not is_passed_over  # else it would be claimed again at once
