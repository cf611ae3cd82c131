"""One worker's way through a run's tasks, in steps that never wait.

What the worker holds is in `state`; `result_store`, `tasks` and `call_requests` each add what is done with it, and
`call_engine` handles replies and puts the steps in order. The pool that sends, leases and storing are beside this
package.
"""

from __future__ import annotations

import heapq
import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial

from django.db import InterfaceError, OperationalError

from evalsite.base.log_lines import logged_with
from judging.judges.subjects import VerdictStatus
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus, call_key
from judging.models import Lease, Run, RunEvaluator, RunTask
from judging.models.runs import ACTIVE
from judging.services import leases, ledger
from judging.services.day_budgets import (
    LONGEST_HOLD_SECONDS,
    REFUSALS,
    EndpointFailures,
    RunEndpoints,
    pause_seconds,
)
from judging.services.leases import InFlight, SetAside, Stakes
from judging.services.ledger import ActiveTask, CallRecord, PendingRequest, repeated
from judging.services.long_jobs import persistently
from judging.services.pools import PoolShare
from judging.services.registries import Crash, Executor, ReadyTask

FLUSH_SECONDS = 0.2


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
        calls: PoolShare,
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
        self.unread: Counter[int] = Counter()  # by evaluator: replies in a row that nobody could read
        self.records: list[CallRecord] = []
        self.unstored: dict[str, CallRecord] = {}  # finished calls on their way to the ledger
        self.finished: list[leases.TaskOutcome] = []
        self.released: list[int] = []  # tasks that wait again
        self.lost: InFlight | None = None  # what a lost sender had on its way
        self.flush_seconds = FLUSH_SECONDS
        self.stopping, self.reason = "endpoint" if endpoints.difference else "", endpoints.difference
        self.exhausted = self.was_answered = False
        self._withdrawn = False
        self._rate, self._ended = 0.0, 0  # tasks ended per second lately, and since then
        self._reserved_at = 0.0
        self._announced = InFlight()  # what the claim says is in flight, or more
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
            self._announce()  # what the pool sent again meanwhile, since a reply was cut off
        if now - self._heartbeat_at >= HEARTBEAT_SECONDS:
            self._heartbeat_at = now
            self._renew_claim(now)

    def _renew_claim(self, now: float) -> None:
        """Extend the claim, and check whether to stop."""
        try:
            stakes = self._stakes()
            persistently(partial(leases.heartbeat, lease=self.lease, stakes=stakes))
            self._announced = stakes.in_flight
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

    def _announce(self, more: Sequence[PendingRequest] = ()) -> bool:
        """Note what is in flight or about to be, so that it is booked should this worker die; False: the claim
        lapsed."""
        stakes, announced = self._stakes(more), self._announced
        if stakes.in_flight.calls <= announced.calls and stakes.in_flight.worst <= announced.worst:
            return True
        try:
            persistently(partial(leases.heartbeat, lease=self.lease, stakes=stakes))
        except leases.LeaseLost:
            self._stop("lost")
            return False
        self._announced = stakes.in_flight
        return True

    def _sent(self) -> InFlight:
        """Return how many calls may be on their way, and what they may cost: all that the pool has."""
        sent = [pending for pending in self.in_pool.values() if not pending.target.is_lexical]
        return self._flight(len(sent), [(pending.target.endpoint_id, pending.at_stake) for pending in sent])

    def _unheard(self) -> InFlight:
        """Return the calls that were really sent and are not back, and what they may cost."""
        sends = {
            key: self.calls.sends_of(key) for key, pending in self.in_pool.items() if not pending.target.is_lexical
        }
        amounts = [
            (pending.target.endpoint_id, pending.lost(sends[key]))
            for key, pending in self.in_pool.items()
            if sends.get(key)
        ]
        return self._flight(len(amounts), amounts)

    def _stakes(self, more: Sequence[PendingRequest] = ()) -> Stakes:
        """Return what would be lost if this worker died now, with what is about to be sent, and what is set aside.

        What waits in the pool may be sent at any moment, and counts as one attempt until it was sent twice.
        """
        attempts = [
            (pending, max(1, self.calls.sends_of(key)))
            for key, pending in self.in_pool.items()
            if not pending.target.is_lexical
        ]
        attempts += [(pending, 1) for pending in more if not pending.target.is_lexical]
        lost = [(pending.target.endpoint_id, pending.lost(sends)) for pending, sends in attempts]
        lost += [(record.endpoint_id, record.most_cost) for record in self.records]
        waiting = (*self.to_repeat.values(), *self.held_back.values())
        set_aside = [(pending.target.endpoint_id, pending.at_stake) for pending in self.in_pool.values()]
        set_aside += [(pending.target.endpoint_id, pending.reserved) for pending in waiting]
        set_aside += [(record.endpoint_id, record.reserved) for record in self.records]
        return Stakes(self._flight(len(lost), lost), SetAside(*self._sums(set_aside)))

    def _flight(self, calls: int, amounts: Sequence[tuple[int, Decimal]]) -> InFlight:
        return InFlight(calls, *self._sums(amounts))

    def _sums(self, amounts: Sequence[tuple[int, Decimal]]) -> tuple[Decimal, dict[int, Decimal] | None]:
        """Return the sum of amounts by endpoint, and their sums at endpoints with a budget of the day, if any has."""
        by_endpoint: defaultdict[int, Decimal] = defaultdict(Decimal)
        for endpoint_id, amount in amounts:
            by_endpoint[endpoint_id] += amount
        limited = self.endpoints.limited
        day_amounts = {key: amount for key, amount in by_endpoint.items() if key in limited} if limited else None
        return sum(by_endpoint.values(), Decimal(0)), day_amounts

    def _flush(self) -> None:
        records, finished, released = self.records, self.finished, self.released
        self.records, self.finished, self.released = [], [], []
        self.unstored = {}
        self._flushed_at = time.monotonic()
        if records or finished:
            batch = leases.Batch(
                run=self.run,
                lease=self.lease,
                executor=self.executor,
                records=records,
                finished=finished,
                stakes=self._stakes(),
            )
            leases.store_batch(batch=batch, at=self.options.now())
            if records:
                self._announced = batch.stakes.in_flight
            if finished and self.endpoints.asks_systems:
                self.exhausted = False  # graders and judges have tasks for the responses
        if released:
            persistently(partial(leases.give_back, lease=self.lease, task_ids=released))


CLAIM_SIZE = 200  # at most
AHEAD_SECONDS = 0.3  # of work claimed beyond what the threads hold
BEGIN_SECONDS = 0.1  # of beginning conversations in one step, since rules may take their time
UNREAD_IN_A_ROW = 20  # verdicts of one judge
UNREAD = (
    "{count} replies of {name} in a row could not be read. Waiting tasks were not attempted. "
    "Correct the judge and start a new run, or resume this one."
)
MAX_TRIES = 5  # a task that so many workers died with is given up


class TaskWork(ResultStore):
    """Claims tasks, begins their conversations, and hands them the replies that they wait for."""

    def _claim(self) -> None:
        count = self._free_capacity()
        if self.stopping or self.exhausted or not count:
            return
        without = self.endpoints.evaluators_on(self.blocked())
        try:
            blocked = self.endpoints.systems_on(self.blocked())
            claim = partial(leases.claim_tasks, lease=self.lease, most=count, without=without, unasked=blocked)
            tasks = persistently(claim)
        except leases.LeaseLost:
            self._stop("lost")
            return
        self.exhausted = not tasks
        self.to_begin.extend(self._prepared(tasks))

    def _free_capacity(self) -> int:
        """Return how many tasks to claim now: enough to keep every thread busy until the next claim, and no more, so
        that other workers on the run are left their share of its end. 0: half of what is claimed ahead is left yet."""
        spare = max(2, self.options.threads, int(self._rate * AHEAD_SECONDS))
        busy = len(self.active_tasks) + len(self.to_begin) - len(self.suspects)  # those wait for what others meet
        free_capacity = self.options.threads + spare - busy
        return min(free_capacity, CLAIM_SIZE) if free_capacity >= spare // 2 else 0

    def _prepared(self, tasks: Sequence[RunTask]) -> list[tuple[RunTask, ReadyTask]]:
        """Return the tasks with their conversations; those that workers died with too often are given up."""
        eligible = [task for task in tasks if task.tries < MAX_TRIES]
        for task in tasks:
            if task.tries >= MAX_TRIES:
                self._fail(task, "tried-too-often")
        try:
            return self._prepare(eligible) if eligible else []
        except (OperationalError, InterfaceError):
            raise
        except Exception:  # one of them cannot be read
            logger.exception("judging.claim_crashed run_id=%s", self.run.pk)
        return [pair for task in eligible for pair in self._prepare_alone(task)]

    def _prepare(self, tasks: Sequence[RunTask]) -> list[tuple[RunTask, ReadyTask]]:
        by_id = {task.pk: task for task in tasks}
        prepared = persistently(partial(self.executor.prepare, run=self.run, tasks=tasks))
        return [(by_id[ready.task_id], ready) for ready in prepared]

    def _prepare_alone(self, task: RunTask) -> list[tuple[RunTask, ReadyTask]]:
        try:
            return self._prepare([task])
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("judging.task_crashed task_id=%s", task.pk)
            self._fail(task, "crashed")
            return []

    def _fail(self, task: RunTask, kind: str) -> None:
        logger.warning("judging.task_given_up task_id=%s kind=%s", task.pk, kind)
        self.finished.append(([], task, Crash(kind)))

    def _begin(self) -> None:
        until = time.monotonic() + BEGIN_SECONDS
        while self.to_begin and not self.stopping and time.monotonic() < until:
            task, prepared = self.to_begin.popleft()
            active = self.active_tasks[task.pk] = ActiveTask(task, prepared.conversation, prepared.endpoint)
            self._advance(active, None)

    def _advance(self, active: ActiveTask, replies: tuple[ChatReply, ...] | None) -> None:
        try:
            with logged_with(task_id=active.task.pk):
                requests = next(active.conversation) if replies is None else active.conversation.send(replies)
        except StopIteration as end:
            self._end(active, end.value)
            return
        except Exception:  # one poisoned task must not take the others down; it is stored as failed
            logger.exception("judging.task_crashed task_id=%s", active.task.pk)
            self._end(active, Crash())
            return
        if not requests:  # it waits for work of its own, such as a program under test
            self.dormant.append(active)
            return
        active.expect(len(requests))
        self.to_ask.extend(
            (active, index, repeated(request, active.task, self.run)) for index, request in enumerate(requests)
        )

    def _look_again(self) -> None:
        if self.stopping:
            return
        dormant, self.dormant = self.dormant, []
        for active in dormant:
            if self._holds(active):
                self._advance(active, ())

    def _end(self, active: ActiveTask, result: object) -> None:
        self.finished.append(([record for record in active.records if record is not None], active.task, result))
        self._ended += 1
        del self.active_tasks[active.task.pk]
        self._note_unread(active.task, "" if isinstance(result, Crash) else self.executor.failure(result))

    def _note_unread(self, task: RunTask, failure: str) -> None:
        """Stop where nobody could read what a judge replied so many times in a row: its prompt does not fit its form.

        Only a verdict that was read ends the row; other failures are told from it.
        """
        evaluator_id = task.evaluator_id or 0
        if failure == VerdictStatus.UNPARSED:
            self.unread[evaluator_id] += 1
        elif not failure:
            self.unread[evaluator_id] = 0
        if self.unread[evaluator_id] >= UNREAD_IN_A_ROW and not self.stopping:
            named = RunEvaluator.objects.filter(pk=evaluator_id).values_list("name", flat=True)
            self._stop("unread", UNREAD.format(count=UNREAD_IN_A_ROW, name=persistently(named.get)[:80]))

    def _deliver(self, recipients: Sequence[tuple[ActiveTask, int]], record: CallRecord) -> None:
        for active, index in recipients:
            if self._holds(active) and active.add_reply(index, record):
                self._advance(active, tuple(reply for reply in active.replies if reply is not None))


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
        elif missing := pending.target.missing_key:
            self._stop("endpoint", f"{pending.endpoint} cannot be asked. {missing} Correct that, then resume the run.")
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


class ReplyHandling(CallRequests):
    """Hands replies to the conversations that wait for them, and asks again for the rest."""

    def _receive(self) -> None:
        for result in self.calls.take_results():
            pending = self.in_pool.pop(result.token)
            if result.requeue_seconds is None:
                self._handle_reply(pending, result.reply)
                continue
            if result.paid:
                self.records.append(pending.give_up(result.paid, reason="withdrawn" if self.stopping else ""))
            if not self.stopping:
                self._postpone(pending, result.requeue_seconds, was_full=not result.paid)

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
        unheard = self.lost or (self._unheard() if self._withdrawn else self._sent())  # else the pool sends on
        self.in_pool = {}
        self._flush()
        for active in self.dormant:
            active.conversation.close()
        return unheard

    def cut_off(self) -> None:
        """Note that the process that sends has ended; what it had in flight goes back."""
        self._stop("cut-off")
        self.lost, self.in_pool = self._unheard(), {}

    @property
    def ended(self) -> str:
        """Why the work is over.

        "empty": nothing waits; "postponed": an endpoint takes no calls for long, and nothing else is left; "stopped":
        the run was; "asked": this worker was asked to stop; "budget": it is reached; "day": that of the day is;
        "too-dear": one call may cost more than a day; "unpriced": no budget can be kept, since a price is unknown;
        "hopeless": an endpoint answers nothing but the same error; "unread": nobody can read what a judge replies;
        "endpoint": one is not what the run was started with; "lost": the claim lapsed and others have the work;
        "cut-off": the process that sends ended by itself, and what it had in flight goes back.
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
