"""What a worker keeps up while it works: its calls in flight, the results it stores, and its claim on the tasks."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from judging.services.calls.conversations import PendingRequest
from judging.services.engine.state import EngineState
from judging.services.tasks import leases, results
from judging.services.tasks.leases import InFlight
from judging.services.transactions import persistently
from judging.states import ACTIVE

logger = logging.getLogger(__name__)

FLUSH_ROWS = 400  # a flush has a fixed cost of some twenty queries
HEARTBEAT_SECONDS = 1.0
ENDPOINTS_SECONDS = 5.0  # between two looks at whether endpoints are what the run was started with
RATE_SECONDS = 0.2  # over which the rate is measured


class ResultStore(EngineState):
    """Stores replies and results, and extends the claim."""

    def _store_and_renew(self) -> None:
        now = time.monotonic()
        pending = len(self.records) + len(self.finished) + len(self.released)
        if pending >= FLUSH_ROWS or (pending and now - self._flushed_at >= self.flush_seconds):
            self._flush()
        if now - self._rated_at >= RATE_SECONDS:
            self._rate, self._ended, self._rated_at = self._ended / (now - self._rated_at), 0, now
        if now - self._heartbeat_at >= HEARTBEAT_SECONDS:
            self._heartbeat_at = now
            self._renew_claim(now)

    def _renew_claim(self, now: float) -> None:
        """Extend the claim, and check whether to stop."""
        try:
            in_flight = self._in_flight()
            persistently(partial(leases.heartbeat, lease=self.lease, in_flight=in_flight))
            self._announced = in_flight.calls
        except leases.LeaseLost:  # this process slept too long; what it has paid for is still stored
            logger.warning("judging.lease_lost run_id=%s", self.run.pk)
            self.stopping = "lost"
        if self.options.should_stop() and self.stopping != "asked":
            self.stopping, self._stop_asked_at = "asked", now
        persistently(partial(self.run.refresh_from_db, fields=["status", "budget"]))
        if self.run.status not in ACTIVE:
            self._stop("stopped")
        if now - self._compared_at >= ENDPOINTS_SECONDS:
            self._compared_at = now
            persistently(self.endpoints.read)
        if self.endpoints.difference:
            self._stop("endpoint", self.endpoints.difference)
        unblocked = [failures for failures in self.failures.values() if 0 < failures.blocked_until <= now]
        for failures in unblocked:
            failures.blocked_until = 0.0
            self.exhausted = False

    def _sent(self, more: Sequence[PendingRequest] = ()) -> InFlight:
        """Return how many calls may be on their way, with those about to be, and what they may cost.

        What waits in the pool cannot be told from what was sent.
        """
        sent = [pending for pending in (*self.in_pool.values(), *more) if not pending.target.is_lexical]
        return self._flight(len(sent), [(pending.target.endpoint_id, pending.at_stake) for pending in sent])

    def _in_flight(self, more: Sequence[PendingRequest] = ()) -> InFlight:
        """Return what would be lost if this worker died now: calls on their way, and those not stored yet."""
        sent = self._sent(more)
        if not self._has_budget:
            worst = sent.worst + sum((record.cost or Decimal(0) for record in self.records), Decimal(0))
            return InFlight(sent.calls + len(self.records), worst)
        # it must hold everything that is set aside
        amounts = [(pending.target.endpoint_id, pending.at_stake) for pending in self.in_pool.values()]
        waiting = (*self.to_repeat.values(), *self.held_back.values())
        amounts += [(pending.target.endpoint_id, pending.reserved) for pending in waiting]
        amounts += [(record.endpoint_id, record.reserved) for record in self.records]
        return self._flight(sent.calls + len(self.records), amounts)

    def _flight(self, calls: int, amounts: Sequence[tuple[int, Decimal]]) -> InFlight:
        by_endpoint: defaultdict[int, Decimal] = defaultdict(Decimal)
        for endpoint_id, amount in amounts:
            by_endpoint[endpoint_id] += amount
        day_amounts = {key: amount for key, amount in by_endpoint.items() if key in self.endpoints.limited}
        worst = sum(by_endpoint.values(), Decimal(0))
        return InFlight(calls, worst, day_amounts if self.endpoints.limited else None)

    def _flush(self) -> None:
        records, finished, released = self.records, self.finished, self.released
        self.records, self.finished, self.released = [], [], []
        self.unstored = {}
        self._flushed_at = time.monotonic()
        if records or finished:
            batch = results.Batch(
                run=self.run,
                lease=self.lease,
                executor=self.executor,
                records=records,
                finished=finished,
                in_flight=self._in_flight(),
            )
            results.store_batch(batch=batch, at=self.options.now())
            if records:
                self._announced = batch.in_flight.calls
            if finished and self.endpoints.asks_systems:
                self.exhausted = False  # graders and judges have tasks for the responses
        if released:
            persistently(partial(leases.give_back, lease=self.lease, task_ids=released))
