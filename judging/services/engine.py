"""The call engine: one worker's way through a run's tasks.

One thread (this one) talks to the database and to the conversations; the pool's threads only wait for models. A
conversation yields requests, the ledger answers those asked before, the budget is reserved for the rest, and the pool
sends them. Results go to the database in batches: calls first, then what was made of them, then the counters.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from judging.llm.chat import ChatReply, ChatRequest, Conversation, ReplyStatus
from judging.llm.identity import call_key
from judging.llm.sending import SenderLost
from judging.models import Lease, Run, RunTask
from judging.selectors.targets import Target, request_body
from judging.services import leases, ledger, results
from judging.services.executors import Crash, Executor
from judging.services.ledger import CallRecord
from judging.services.pools import Unsent
from judging.states import ACTIVE

logger = logging.getLogger(__name__)

FLUSH_ROWS = 400  # a flush has a fixed cost of some twenty queries
FLUSH_SECONDS = 0.2
BEAT_SECONDS = 1.0
CLAIM_SIZE = 200  # at most
RATE_SECONDS = 0.2  # over which the rate is measured
AHEAD_SECONDS = 0.3  # of work claimed beyond what the threads hold
RETRY_SAMPLES = 1000  # sample indices of one retry; a conversation uses fewer
DORMANT_SECONDS = 0.01  # between two looks at conversations that wait for work of their own
STOP_SECONDS = 5.0  # a worker asked to stop waits this long for calls in flight


class Pool(Protocol):
    """What sends requests; `judging.services.pools.OpenPool` is the real one."""

    def submit(self, token: str, target: Target, request: ChatRequest) -> None:
        """Take a request; its reply will come out of `completed` with the same token."""

    def completed(self, timeout: float) -> list[tuple[str, ChatReply]]:
        """Return what came back, waiting up to `timeout` seconds for the first; SenderLost: nothing more will."""

    def withdraw(self) -> list[Unsent]:
        """Stop sending and return what will not be answered; to be called again for what was about to be sent."""


@dataclass(slots=True)
class Talk:
    """A conversation under way."""

    task: RunTask
    conversation: Conversation[Any]
    endpoint: str
    replies: list[ChatReply | None] = field(default_factory=list)
    missing: int = 0
    begun: int = 0  # where the present batch begins in `records`
    records: list[CallRecord | None] = field(default_factory=list)  # in the order asked; None: not heard of yet


@dataclass(slots=True)
class Asked:
    """A request in the pool, with every place that waits for its reply."""

    key: str
    target: Target
    request: ChatRequest
    reserved: Decimal
    places: list[tuple[Talk, int]]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How one worker goes about it."""

    threads: int
    now: Callable[[], datetime]
    should_stop: Callable[[], bool]


def _anew(request: ChatRequest, task: RunTask) -> ChatRequest:
    """Return the request so that a task retried by a person is not answered from the ledger."""
    if not task.retries:
        return request
    return replace(request, sample_index=request.sample_index + RETRY_SAMPLES * task.retries)


def _record(asked: Asked, reply: ChatReply) -> CallRecord:
    """Return what the ledger keeps of a reply."""
    return CallRecord(
        key=asked.key,
        endpoint_id=asked.target.endpoint_id,
        request=request_body(asked.request),
        reply=reply,
        cost=asked.target.cost(reply),
        reserved=asked.reserved,
    )


class Engine:
    """Works through a run until nothing waits, the run stops being active, or the budget is reached."""

    def __init__(
        self,
        *,
        run: Run,
        lease: Lease,
        executor: Executor,
        pool: Pool,
        targets: Mapping[str, Target],
        options: EngineOptions,
    ) -> None:
        self.run, self.lease, self.executor = run, lease, executor
        self.pool, self.targets, self.options = pool, targets, options
        self.talks: dict[int, Talk] = {}
        self.to_ask: deque[tuple[Talk, int, ChatRequest]] = deque()
        self.dormant: list[Talk] = []  # they asked for nothing yet and are looked at again and again
        self.asked: dict[str, Asked] = {}
        self.held_back: dict[str, Asked] = {}
        self.records: list[CallRecord] = []
        self.unstored: dict[str, CallRecord] = {}  # finished calls on their way to the ledger
        self.finished: list[tuple[Talk, Any]] = []
        self.stopping = ""
        self.exhausted = False
        self._rate, self._ended = 0.0, 0  # tasks ended per second lately, and since then
        self._flushed_at = self._beat_at = self._rated_at = self._stop_asked_at = time.monotonic()

    def drive(self) -> str:
        """Work to the end; return why it ended.

        "empty": nothing waits; "stopped": the run was; "asked": this worker was asked to stop; "budget": it is reached;
        "unpriced": it cannot be kept, since a price is unknown; "lost": the claim lapsed and others have the work;
        "cut-off": the process that sends ended by itself, and what it had in flight goes back.
        """
        while True:
            self._claim()
            self._look_again()
            self._ask()
            if self.stopping:
                self._withdraw()
            if (self.exhausted and not self.talks) or self._may_stop():
                break
            self._collect()
            self._keep_books()
        self._flush()
        for talk in self.dormant:
            talk.conversation.close()
        return self.stopping or "empty"

    def _withdraw(self) -> None:
        """Take back what is not on its way: a pause means that no more money is spent. What was spent is kept."""
        for unsent in self.pool.withdraw():
            asked = self.asked.pop(unsent.token)
            if unsent.paid is not None:
                self.records.append(_record(asked, unsent.paid))

    def _may_stop(self) -> bool:
        """Return whether a stopping engine is through: calls in flight are paid for, so they are waited for."""
        if self.stopping == "asked" and time.monotonic() - self._stop_asked_at > STOP_SECONDS:
            return True
        return bool(self.stopping) and not self.asked

    # --- taking work

    def _claim(self) -> None:
        wanted = self._lack()
        if self.stopping or self.exhausted or not wanted:
            return
        try:
            tasks = leases.claim_tasks(lease=self.lease, most=wanted)
        except leases.LeaseLost:
            self.stopping = "lost"
            return
        self.exhausted = not tasks
        if not tasks:
            return
        by_id = {task.pk: task for task in tasks}
        for prepared in self.executor.prepare(run=self.run, tasks=tasks):
            if self.stopping:  # rules may take long; what is claimed and not begun returns with the claim
                return
            talk = Talk(task=by_id[prepared.task_id], conversation=prepared.conversation, endpoint=prepared.endpoint)
            self.talks[talk.task.pk] = talk
            self._advance(talk, None)
            self._keep_books()

    def _lack(self) -> int:
        """Return how many tasks to claim now: enough to keep every thread busy until the next claim, and no more, so
        that other workers on the run are left their share of its end. 0: half of what is claimed ahead is left yet."""
        spare = max(2, self.options.threads, int(self._rate * AHEAD_SECONDS))
        lack = self.options.threads + spare - len(self.talks)
        return min(lack, CLAIM_SIZE) if lack >= spare // 2 else 0

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
        talk.replies, talk.missing = [None] * len(requests), len(requests)
        talk.begun = len(talk.records)
        talk.records.extend([None] * len(requests))
        self.to_ask.extend((talk, place, _anew(request, talk.task)) for place, request in enumerate(requests))

    def _look_again(self) -> None:
        dormant, self.dormant = self.dormant, []
        for talk in dormant:
            if self.stopping:
                self.dormant.append(talk)
            elif talk.task.pk in self.talks:
                self._advance(talk, ())

    def _end(self, talk: Talk, result: Any) -> None:
        self.finished.append((talk, result))
        self._ended += 1
        del self.talks[talk.task.pk]

    # --- asking

    def _ask(self) -> None:
        while self.to_ask:
            wanted = self._keyed()
            known = ledger.find_finished([key for key in wanted if key not in self.unstored])
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
        if self.held_back and not self.stopping:
            self._send()

    def _keyed(self) -> dict[str, Asked]:
        wanted: dict[str, Asked] = {}
        for talk, place, request in self.to_ask:
            if talk.task.pk not in self.talks:
                continue
            target = self.targets.get(request.endpoint or talk.endpoint)
            if target is None:
                self._give_up(talk, "endpoint-not-in-use")
                continue
            key = call_key(target.config, request)
            if key in wanted:
                wanted[key].places.append((talk, place))
            else:
                wanted[key] = Asked(key, target, request, Decimal(0), [(talk, place)])
        self.to_ask.clear()
        return wanted

    def _give_up(self, talk: Talk, kind: str) -> None:
        if talk.task.pk in self.talks:
            logger.warning("judging.task_given_up task_id=%s kind=%s", talk.task.pk, kind)
            self._end(talk, Crash(kind))

    def _line_up(self, asked: Asked) -> None:
        twin = self.asked.get(asked.key) or self.held_back.get(asked.key)
        if twin is not None:
            twin.places.extend(asked.places)
        elif not self.stopping:
            self.held_back[asked.key] = asked

    def _send(self) -> None:
        """Hand what is held back to the pool, as far as the budget carries it."""
        if self.run.budget is None:
            affordable, self.held_back = list(self.held_back.values()), {}
        else:
            affordable = self._paid_for()
        for asked in affordable:
            self.asked[asked.key] = asked
            self.pool.submit(asked.key, asked.target, asked.request)
        if self.held_back and not self.stopping and not self.asked and not self.records:
            least = min(asked.reserved for asked in self.held_back.values())
            if not leases.may_become_affordable(lease=self.lease, amount=least):
                self.stopping = "budget"

    def _paid_for(self) -> list[Asked]:
        """Set the worst case of what is held back aside and return what the budget carries."""
        for asked in self.held_back.values():
            worst = asked.reserved or asked.target.worst_case(asked.request)
            if worst is None:
                logger.warning("judging.price_unknown endpoint=%s", asked.target.config.name)
                self.stopping = "unpriced"
                return []
            asked.reserved = worst
        try:
            return self._reserve()
        except leases.LeaseLost:
            self.stopping = "lost"
            return []

    def _reserve(self) -> list[Asked]:
        """Reserve all at once, or else one by one until the budget carries no more; hold the rest back."""
        waiting, self.held_back = self.held_back, {}
        total = sum((asked.reserved for asked in waiting.values()), Decimal(0))
        if leases.reserve(lease=self.lease, amount=total):
            return list(waiting.values())
        affordable: list[Asked] = []
        for key, asked in waiting.items():
            if self.held_back or not leases.reserve(lease=self.lease, amount=asked.reserved):
                self.held_back[key] = asked
            else:
                affordable.append(asked)
        return affordable

    # --- hearing

    def _collect(self) -> None:
        patience = DORMANT_SECONDS if self.dormant else 0.05 if self.asked or self.held_back else 0
        for key, reply in self._hear(patience):
            asked = self.asked.pop(key)
            record = _record(asked, reply)
            self.records.append(record)
            if reply.status == ReplyStatus.FINISHED:
                self.unstored[key] = record
            self._deliver(asked.places, record)

    def _hear(self, patience: float) -> list[tuple[str, ChatReply]]:
        try:
            return self.pool.completed(timeout=patience)
        except SenderLost:
            logger.exception("judging.sender_lost run_id=%s", self.run.pk)
            self.stopping = "cut-off"
            self._withdraw()
            self.asked.clear()
            return []

    def _deliver(self, places: list[tuple[Talk, int]], record: CallRecord) -> None:
        for talk, place in places:
            if talk.task.pk not in self.talks:  # given up meanwhile
                continue
            talk.replies[place] = record.reply
            talk.records[talk.begun + place] = record
            talk.missing -= 1
            if not talk.missing:
                self._advance(talk, tuple(reply for reply in talk.replies if reply is not None))

    # --- keeping books

    def _keep_books(self) -> None:
        now = time.monotonic()
        pending = len(self.records) + len(self.finished)
        if pending >= FLUSH_ROWS or (pending and now - self._flushed_at >= FLUSH_SECONDS):
            self._flush()
        if now - self._rated_at >= RATE_SECONDS:
            self._rate, self._ended, self._rated_at = self._ended / (now - self._rated_at), 0, now
        if now - self._beat_at >= BEAT_SECONDS:
            self._beat_at = now
            self._look_around(now)

    def _look_around(self, now: float) -> None:
        """Extend the claim, and hear whether to stop."""
        try:
            leases.beat(lease=self.lease, at=self.options.now())
        except leases.LeaseLost:  # this process slept too long; what it has paid for is still stored
            logger.warning("judging.lease_lost run_id=%s", self.run.pk)
            self.stopping = "lost"
        if self.options.should_stop() and self.stopping != "asked":
            self.stopping, self._stop_asked_at = "asked", now
        self.run.refresh_from_db(fields=["status", "budget"])
        if not self.stopping and self.run.status not in ACTIVE:
            self.stopping = "stopped"

    def _flush(self) -> None:
        records, finished = self.records, self.finished
        self.records, self.finished = [], []
        self.unstored = {}
        self._flushed_at = time.monotonic()
        if not records and not finished:
            return
        batch = results.Batch(
            run=self.run,
            lease=self.lease,
            executor=self.executor,
            records=records,
            finished=[
                ([record for record in talk.records if record is not None], talk.task, result)
                for talk, result in finished
            ],
        )
        results.store_batch(batch=batch, at=self.options.now())
