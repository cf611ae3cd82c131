"""The call engine: one worker's way through a run's tasks, in steps that never wait.

One thread talks to the database and to the conversations of all runs that a worker has in work (`working`); the pool's
threads only wait for models. A conversation yields requests, the ledger answers those asked before, the budget is
reserved for the rest, and the pool sends them. Results go to the database in batches: calls first, then what was made
of them, then the counters.
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
from typing import Any, Protocol

from django.db import InterfaceError, OperationalError

from judging.llm.attempts import Attempt
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus
from judging.llm.identity import call_key
from judging.llm.lanes import reply_of
from judging.llm.retries import Action, RetryDecision
from judging.models import Lease, Run, RunTask
from judging.selectors.targets import Target
from judging.services import leases, ledger, results
from judging.services.conversations import Asked, Talk, repeated
from judging.services.executors import Crash, Executor, Prepared
from judging.services.frozen_endpoints import RunEndpoints
from judging.services.leases import InFlight
from judging.services.ledger import CallRecord
from judging.services.pools import Heard
from judging.services.transactions import persistently
from judging.services.troubles import LONGEST_HOLD_SECONDS, REFUSALS, Trouble, pause_seconds
from judging.states import ACTIVE

logger = logging.getLogger(__name__)

FLUSH_ROWS = 400  # a flush has a fixed cost of some twenty queries
FLUSH_SECONDS = 0.2
BEAT_SECONDS = 1.0
ENDPOINTS_SECONDS = 5.0  # between two looks at whether endpoints are what the run was started with
CLAIM_SIZE = 200  # at most
RATE_SECONDS = 0.2  # over which the rate is measured
AHEAD_SECONDS = 0.3  # of work claimed beyond what the threads hold
BEGIN_SECONDS = 0.1  # of beginning conversations in one step, since rules may take their time
DORMANT_SECONDS = 0.01  # between two looks at conversations that wait for work of their own
REPLY_SECONDS = 0.05  # and at replies
RESERVE_SECONDS = 0.25  # between two looks for money that others may give back
MOST_TRIES = 5  # a task that so many workers died with is given up


class Calls(Protocol):
    """What sends a run's requests; `judging.services.pools.Share` is the real one."""

    def submit(self, token: str, target: Target, request: ChatRequest, paid: tuple[Attempt, ...] = ()) -> None:
        """Take a request; its token will come out of `heard` once."""

    def heard(self) -> list[Heard]:
        """Return what came back."""

    def withdraw(self) -> None:
        """Stop sending; what is not on its way will be heard of, to be asked again."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How one worker goes about it."""

    threads: int
    now: Callable[[], datetime]
    should_stop: Callable[[], bool]
    stop_seconds: float = 0.0  # a worker asked to stop waits this long for calls in flight, since they are paid for


class Engine:
    """Works through a run until nothing waits, the run stops being active, or an ending of `ended` is met."""

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
        self.to_begin: deque[tuple[RunTask, Prepared]] = deque()
        self.talks: dict[int, Talk] = {}
        self.to_ask: deque[tuple[Talk, int, ChatRequest]] = deque()
        self.dormant: list[Talk] = []  # they asked for nothing yet and are looked at again and again
        self.asked: dict[str, Asked] = {}  # in the pool
        self.held_back: dict[str, Asked] = {}  # not sent yet, perhaps for want of money
        self.postponed: list[tuple[float, str]] = []  # monotonic time to ask again, key
        self.to_repeat: dict[str, Asked] = {}  # by key, the postponed ones
        self.suspects: list[tuple[Asked, CallRecord]] = []  # failed as every other request may: not delivered yet
        self.troubles: dict[str, Trouble] = defaultdict(Trouble)  # by endpoint
        self.records: list[CallRecord] = []
        self.unstored: dict[str, CallRecord] = {}  # finished calls on their way to the ledger
        self.finished: list[results.Done] = []
        self.released: list[int] = []  # tasks that wait again
        self.lost: InFlight | None = None  # what a lost sender had on its way
        self.flush_seconds = FLUSH_SECONDS
        self.stopping, self.reason = "endpoint" if endpoints.difference else "", endpoints.difference
        self.exhausted = self.was_answered = False
        self._withdrawn = False
        self._rate, self._ended = 0.0, 0  # tasks ended per second lately, and since then
        self._reserved_at = 0.0
        self._announced = 0  # calls in flight that the claim says, or more
        self._flushed_at = self._beat_at = self._rated_at = self._stop_asked_at = self._compared_at = time.monotonic()

    def step(self) -> bool:
        """Do what can be done without waiting; return whether the work is over, see `ended`."""
        self._hear()
        self._claim()
        self._begin()
        self._look_again()
        self._ask()
        if self.stopping:
            self._withdraw()
        elif self.suspects and self._is_idle():
            self._deliver_suspects()
        self._keep_books()
        return self._is_over()

    def finish(self) -> InFlight:
        """Store what is left, once the work is over; return what was sent and is given up without an answer."""
        unheard, self.asked = self.lost or self._sent(), {}
        self._flush()
        for talk in self.dormant:
            talk.conversation.close()
        return unheard

    def cut_off(self) -> None:
        """Hear that the process that sends is gone; what it had in flight goes back."""
        self._stop("cut-off")
        self.lost, self.asked = self._sent(), {}

    @property
    def ended(self) -> str:
        """Why the work is over.

        "empty": nothing waits; "postponed": an endpoint takes no calls for long, and nothing else is left; "stopped":
        the run was; "asked": this worker was asked to stop; "budget": it is reached; "unpriced": it cannot be kept,
        since a price is unknown; "hopeless": an endpoint answers nothing but the same error; "endpoint": one is not
        what the run was started with; "lost": the claim lapsed and others have the work; "cut-off": the process that
        sends ended by itself, and what it had in flight goes back.
        """
        return self.stopping or ("postponed" if self.blocked() else "empty")

    @property
    def patience(self) -> float:
        """Seconds until the next step is worth while, unless a reply comes sooner."""
        if self.to_begin and not self.stopping:
            return 0.0
        return DORMANT_SECONDS if self.dormant else REPLY_SECONDS

    def blocked(self) -> dict[str, float]:
        """Return which endpoints take no calls now, and until which monotonic time."""
        now = time.monotonic()
        return {name: one.blocked_until for name, one in self.troubles.items() if one.blocked_until > now}

    def _stop(self, why: str, reason: str = "") -> None:
        if not self.stopping:
            self.stopping, self.reason = why, reason

    def _withdraw(self) -> None:
        """Take back what is not on its way: a pause means that no more money is spent. What was spent is kept."""
        if self._withdrawn:
            return
        self._withdrawn = True
        self.calls.withdraw()
        for asked in (*self.held_back.values(), *self.to_repeat.values()):
            self._take_back(asked)
        self.held_back.clear()
        self.to_repeat.clear()

    def _take_back(self, asked: Asked) -> None:
        """Keep what attempts without an answer have cost."""
        if asked.paid:
            self.records.append(asked.record(reply_of(asked.paid, RetryDecision(Action.REQUEUE, reason="withdrawn"))))

    def _is_idle(self) -> bool:
        """Whether nothing is left to claim, and nothing will be heard."""
        waits = (self.to_begin, self.to_ask, self.dormant, self.asked, self.held_back, self.to_repeat)
        return self.exhausted and not any(waits)

    def _is_over(self) -> bool:
        if self.stopping == "asked" and time.monotonic() - self._stop_asked_at > self.options.stop_seconds:
            return True
        if self.stopping:
            return not self.asked  # calls in flight are paid for, so they are waited for
        return self.exhausted and not self.talks and not self.to_begin

    # --- taking work

    def _claim(self) -> None:
        wanted = self._lack()
        if self.stopping or self.exhausted or not wanted:
            return
        without = self.endpoints.evaluators_on(self.blocked())
        try:
            tasks = persistently(partial(leases.claim_tasks, lease=self.lease, most=wanted, without=without))
        except leases.LeaseLost:
            self._stop("lost")
            return
        self.exhausted = not tasks
        self.to_begin.extend(self._prepared(tasks))

    def _lack(self) -> int:
        """Return how many tasks to claim now: enough to keep every thread busy until the next claim, and no more, so
        that other workers on the run are left their share of its end. 0: half of what is claimed ahead is left yet."""
        spare = max(2, self.options.threads, int(self._rate * AHEAD_SECONDS))
        busy = len(self.talks) + len(self.to_begin) - len(self.suspects)  # those wait for what others meet
        lack = self.options.threads + spare - busy
        return min(lack, CLAIM_SIZE) if lack >= spare // 2 else 0

    def _prepared(self, tasks: Sequence[RunTask]) -> list[tuple[RunTask, Prepared]]:
        """Return the tasks with their conversations; those that workers died with too often are given up."""
        fresh = [task for task in tasks if task.tries < MOST_TRIES]
        for task in tasks:
            if task.tries >= MOST_TRIES:
                self._fail(task, "tried-too-often")
        try:
            return self._prepare(fresh) if fresh else []
        except (OperationalError, InterfaceError):
            raise
        except Exception:  # one of them cannot be read
            logger.exception("judging.claim_crashed run_id=%s", self.run.pk)
        return [pair for task in fresh for pair in self._prepare_alone(task)]

    def _prepare(self, tasks: Sequence[RunTask]) -> list[tuple[RunTask, Prepared]]:
        by_id = {task.pk: task for task in tasks}
        prepared = persistently(partial(self.executor.prepare, run=self.run, tasks=tasks))
        return [(by_id[one.task_id], one) for one in prepared]

    def _prepare_alone(self, task: RunTask) -> list[tuple[RunTask, Prepared]]:
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
            talk = self.talks[task.pk] = Talk(task, prepared.conversation, prepared.endpoint)
            self._advance(talk, None)

    def _advance(self, talk: Talk, replies: tuple[ChatReply, ...] | None) -> None:
        try:
            requests = next(talk.conversation) if replies is None else talk.conversation.send(replies)
        except StopIteration as end:
            self._end(talk, end.value)
            return
        except Exception:  # one poisoned task must not take the others down; it is stored as failed
            logger.exception("judging.task_crashed task_id=%s", talk.task.pk)
            self._end(talk, Crash())
            return
        if not requests:  # it waits for work of its own, such as a program under test
            self.dormant.append(talk)
            return
        talk.expect(len(requests))
        self.to_ask.extend(
            (talk, place, repeated(request, talk.task, self.run)) for place, request in enumerate(requests)
        )

    def _look_again(self) -> None:
        if self.stopping:
            return
        dormant, self.dormant = self.dormant, []
        for talk in dormant:
            if self._holds(talk):
                self._advance(talk, ())

    def _holds(self, talk: Talk) -> bool:
        """Whether the conversation goes on; the task of one that was put back may be in another by now."""
        return self.talks.get(talk.task.pk) is talk

    def _end(self, talk: Talk, result: Any) -> None:
        self.finished.append(([record for record in talk.records if record is not None], talk.task, result))
        self._ended += 1
        del self.talks[talk.task.pk]

    # --- asking

    def _ask(self) -> None:
        while self.to_ask:
            wanted = self._keyed()
            unknown = [key for key in wanted if key not in self.unstored]
            known = persistently(partial(ledger.find_finished, unknown, at=self.options.now()))
            for key, asked in wanted.items():
                call = known.get(key)
                if key in self.unstored:
                    self._deliver(asked.places, self.unstored[key])
                elif call is not None:
                    record = CallRecord(
                        key, call.endpoint_id, {}, ledger.reply_of(call), call.cost, reused=True, pk=call.pk
                    )
                    self._deliver(asked.places, record)
                else:
                    self._line_up(asked)
        now = time.monotonic()
        while self.postponed and self.postponed[0][0] <= now:
            key = heapq.heappop(self.postponed)[1]
            if key in self.to_repeat:
                self.held_back[key] = self.to_repeat.pop(key)
        if self.held_back and not self.stopping:
            self._send()

    def _keyed(self) -> dict[str, Asked]:
        wanted: dict[str, Asked] = {}
        for talk, place, request in self.to_ask:
            if not self._holds(talk):
                continue
            name = request.endpoint or talk.endpoint
            target = self.endpoints.targets.get(name)
            if target is None:
                logger.warning("judging.task_given_up task_id=%s kind=endpoint-not-in-use", talk.task.pk)
                self._end(talk, Crash("endpoint-not-in-use"))
                continue
            key = call_key(target.config, request)
            if key in wanted:
                wanted[key].places.append((talk, place))
            else:
                wanted[key] = Asked(key, name, target, request, [(talk, place)])
        self.to_ask.clear()
        return wanted

    def _line_up(self, asked: Asked) -> None:
        twin = self.asked.get(asked.key) or self.held_back.get(asked.key) or self.to_repeat.get(asked.key)
        if twin is not None:
            twin.places.extend(asked.places)
        elif asked.endpoint in self.blocked():
            self._put_back(asked)
        elif not self.stopping:
            self.held_back[asked.key] = asked

    def _send(self) -> None:
        """Hand what is next to the pool, as far as the budget carries it."""
        for asked in self.held_back.values():
            if asked.worst is None:
                asked.worst = asked.target.worst_case(asked.request)
        affordable = self._next_in_turn()
        if self.run.budget is not None:
            affordable = self._paid_for(affordable)
        if affordable and self._announce(affordable):
            for asked in affordable:
                self.asked[asked.key] = self.held_back.pop(asked.key)
                self.calls.submit(asked.key, asked.target, asked.request, asked.paid)
        if self.held_back and not self.stopping and not (self.asked or self.to_repeat or self.records):
            least = min(asked.worst or Decimal(0) for asked in self.held_back.values())
            if not persistently(partial(leases.may_become_affordable, lease=self.lease, amount=least)):
                self._stop("budget")

    def _announce(self, more: Sequence[Asked]) -> bool:
        """Note what is about to be sent, so that it is booked should this worker die; False: the claim lapsed."""
        in_flight = self._in_flight(more)
        if in_flight.calls <= self._announced:
            return True
        try:
            persistently(partial(leases.beat, lease=self.lease, in_flight=in_flight))
        except leases.LeaseLost:
            self._stop("lost")
            return False
        self._announced = in_flight.calls
        return True

    def _paid_for(self, wanted: Sequence[Asked]) -> list[Asked]:
        """Set money aside for what is wanted, and return what the budget carries now."""
        unpriced = next((asked for asked in self.held_back.values() if asked.worst is None), None)
        if unpriced is not None:
            logger.warning("judging.price_unknown endpoint=%s", unpriced.endpoint)
            self._stop("unpriced")
            return []
        amounts = [Decimal(0) if asked.reserved else asked.worst or Decimal(0) for asked in wanted]
        if not wanted or time.monotonic() - self._reserved_at < RESERVE_SECONDS:
            return []
        try:
            carried = persistently(partial(leases.reserve, lease=self.lease, amounts=amounts))
        except leases.LeaseLost:
            self._stop("lost")
            return []
        if not any(carried):
            self._reserved_at = time.monotonic()
        affordable = [asked for asked, fits in zip(wanted, carried, strict=True) if fits]
        for asked in affordable:
            asked.reserved = asked.reserved or asked.worst or Decimal(0)
        return affordable

    def _next_in_turn(self) -> list[Asked]:
        """Return what may be sent soon: little more than what an endpoint takes at once until this is looked at again,
        since all of it counts as spent where this worker dies."""
        sent = Counter(asked.target.endpoint_id for asked in self.asked.values())
        room: dict[int, int] = {}
        found = []
        for asked in self.held_back.values():
            endpoint_id = asked.target.endpoint_id
            if endpoint_id not in room:
                at_once = min(self.options.threads, asked.target.config.max_concurrency)
                spare = max(1, at_once // 4, int(self._rate * AHEAD_SECONDS))
                left = at_once + spare - sent[endpoint_id]
                room[endpoint_id] = left if left >= spare // 2 else 0  # a few at a time: each time is noted
            if asked.target.is_lexical or room[endpoint_id] > 0:
                room[endpoint_id] -= 1
                found.append(asked)
        return found

    # --- hearing

    def _hear(self) -> None:
        for heard in self.calls.heard():
            asked = self.asked.pop(heard.token)
            asked.paid = heard.paid
            if heard.again_seconds is None:
                self._answered(asked, heard.reply)
            elif self.stopping:
                self._take_back(asked)
            else:
                self._refused(asked, heard.again_seconds)

    def _answered(self, asked: Asked, reply: ChatReply) -> None:
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

    def _refused(self, asked: Asked, seconds: float) -> None:
        """Ask again later: from here where that is soon, else the task goes back and this worker is free of it."""
        now, trouble = time.monotonic(), self.troubles[asked.endpoint]
        asked.postponed += 1
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

    def _put_back(self, asked: Asked) -> None:
        """Let the tasks that wait for this wait for any worker."""
        self._take_back(asked)
        bound = self.endpoints.evaluators_on([asked.endpoint])
        for talk, _ in asked.places:
            if self._holds(talk):
                talk.conversation.close()
                del self.talks[talk.task.pk]
                self.released.append(talk.task.pk)
                self.exhausted |= talk.task.evaluator_id not in bound  # else it would be claimed again at once

    def _deliver(self, places: Sequence[tuple[Talk, int]], record: CallRecord) -> None:
        for talk, place in places:
            if self._holds(talk) and talk.hear(place, record):
                self._advance(talk, tuple(reply for reply in talk.replies if reply is not None))

    # --- keeping books

    def _keep_books(self) -> None:
        now = time.monotonic()
        pending = len(self.records) + len(self.finished) + len(self.released)
        if pending >= FLUSH_ROWS or (pending and now - self._flushed_at >= self.flush_seconds):
            self._flush()
        if now - self._rated_at >= RATE_SECONDS:
            self._rate, self._ended, self._rated_at = self._ended / (now - self._rated_at), 0, now
        if now - self._beat_at >= BEAT_SECONDS:
            self._beat_at = now
            self._look_around(now)

    def _look_around(self, now: float) -> None:
        """Extend the claim, and hear whether to stop."""
        try:
            in_flight = self._in_flight()
            persistently(partial(leases.beat, lease=self.lease, in_flight=in_flight))
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
        freed = [one for one in self.troubles.values() if 0 < one.blocked_until <= now]
        for trouble in freed:
            trouble.blocked_until = 0.0
            self.exhausted = False

    def _sent(self, more: Sequence[Asked] = ()) -> InFlight:
        """Return how many calls may be on their way, with those about to be, and what they may cost.

        What waits in the pool cannot be told from what was sent.
        """
        sent = [asked for asked in (*self.asked.values(), *more) if not asked.target.is_lexical]
        return InFlight(len(sent), sum((asked.at_stake for asked in sent), Decimal(0)))

    def _in_flight(self, more: Sequence[Asked] = ()) -> InFlight:
        """Return what nobody would hear of if this worker died now: calls on their way, and those not stored yet."""
        sent = self._sent(more)
        if self.run.budget is None:
            worst = sent.worst + sum((record.cost or Decimal(0) for record in self.records), Decimal(0))
        else:  # it must hold everything that is set aside
            asked = (*self.asked.values(), *self.to_repeat.values(), *self.held_back.values())
            reserved = [one.reserved for one in asked] + [record.reserved for record in self.records]
            worst = sum(reserved, Decimal(0))
        return InFlight(sent.calls + len(self.records), worst)

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
        if released:
            persistently(partial(leases.give_back, lease=self.lease, task_ids=released))
