"""Many calls at once over one pool of threads: submit, and collect what is finished.

One dispatcher thread decides who may send, when to retry and what is over; the sending threads send, and go on with the
next request where the dispatcher has said that they may. A call that sleeps before its next attempt waits in a heap and
holds neither a thread nor a slot.

The process that sends for a job, and is forked by it, stands at its end.
"""

from __future__ import annotations

import heapq
import logging
import mmap
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from operator import methodcaller
from queue import Empty, SimpleQueue
from random import Random
from typing import Any

from judging.llm.chat import Attempt, AttemptOutcome, ChatReply, ChatRequest, ReplyStatus
from judging.llm.client import ChatClient
from judging.llm.completions import JSON_MODES
from judging.llm.endpoints import Capabilities, EndpointConfig
from judging.llm.lanes import (
    Circumstances,
    Job,
    Lane,
    RetryAction,
    RetryDecision,
    RetryPolicy,
    Turns,
    as_probe,
    decide,
    reply_of,
)
from judging.llm.limits import Limiter

logger = logging.getLogger(__name__)

BATCH = 512  # events handled before the dispatcher looks at the clock again
LEAST_SHARE = 10  # an endpoint has a tenth of the threads to itself, beyond those that slow calls of others hold


@dataclass(frozen=True, slots=True)
class Completed:
    """A reply for the token it was submitted with.

    With `requeue_seconds` the reply is no answer: the work belongs back in its queue for at least that long. `paid` are
    then the attempts that cost something; whoever submits the work again passes them along.
    """

    token: Any  # a part of the program has its own
    reply: ChatReply
    requeue_seconds: float | None = None
    paid: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """How a pool works."""

    threads: int = 50
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    on_capabilities: Callable[[EndpointConfig, Capabilities], None] | None = None  # called inside `completed`
    seed: int | None = None  # of the jitter


Learned = tuple[EndpointConfig, Capabilities]  # what an endpoint turned out to accept


class CallPool:
    """Executes requests concurrently. `submit` and `end` are for one thread, `completed` for that or one other."""

    def __init__(
        self, client: ChatClient, limiters: Callable[[EndpointConfig], Limiter], options: PoolOptions | None = None
    ) -> None:
        self._options = options or PoolOptions()
        self._client = client
        self.on_send: Callable[[Hashable], None] = lambda token: None  # called in a sending thread before each attempt
        self._limiters = limiters
        self._random = Random(self._options.seed)  # noqa: S311 jitter, not secrecy
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._outbox: SimpleQueue[Completed | Learned] = SimpleQueue()
        self._work: SimpleQueue[tuple[Job, Lane] | None] = SimpleQueue()
        self._lanes: dict[tuple[str, str, str], Lane] = {}
        self._delayed: list[tuple[float, int, Job, Lane]] = []
        self._order = count()
        self._idle = self._options.threads  # less than none where an endpoint uses its least share
        self._least = max(1, self._options.threads // LEAST_SHARE)
        self._withdrawn: set[Hashable] = set()  # groups that send no more
        self._stopping = False
        self._dispatcher = threading.Thread(target=self._dispatch_forever, name="calls-dispatch", daemon=True)
        self._dispatcher.start()
        self._threads: list[threading.Thread] = []

    # For the coordinator

    def submit(
        self,
        token: Hashable,
        endpoint: EndpointConfig,
        request: ChatRequest,
        *,
        paid: Sequence[Attempt] = (),
        group: Hashable = None,
        is_reserved: bool = False,
    ) -> None:
        """Ask; the token comes back exactly once, from `completed`.

        Groups of requests take turns at an endpoint and can be withdrawn. `paid` are the attempts that an earlier
        submission was given back with: their tokens count into the reply, and what was doubled once is not doubled
        again. `is_reserved`: after an attempt that cost something the request is given back instead of retried, so that
        money can be set aside again; only a reply that was cut off is asked for with twice its limit first.
        """
        doubled = any(attempt.outcome is AttemptOutcome.TRUNCATED for attempt in paid)
        limit = endpoint.output_limit(request.max_tokens)
        job = Job(token, endpoint, request, limit * 2 if doubled and limit else limit, group, list(paid), is_reserved)
        job.seconds_before = sum(attempt.seconds for attempt in paid)
        job.without_json = sum(attempt.json_at_fault for attempt in paid) > 1
        self._inbox.put(partial(self._queue, job))

    def completed(self, timeout: float) -> list[Completed]:
        """Return what is finished, waiting up to `timeout` seconds for the first; empty when nothing is."""
        completed: list[Completed] = []
        for item in self._drain(timeout):
            if isinstance(item, Completed):
                completed.append(item)
            elif self._options.on_capabilities is not None:
                self._options.on_capabilities(*item)
        return completed

    def withdraw(self, group: Hashable) -> None:
        """Send no more for a group. What is not on its way is given back through `completed`, to be asked again in 0 s;
        replies on their way still come."""
        self._inbox.put(partial(self._withdraw_group, group))

    def end(self) -> None:
        """Stop sending, and let the client's connections go. What waits is dropped; replies may still come."""
        self._stopping = True
        self._inbox.put(self._drop_waiting)
        self._client.close()

    def _drain(self, timeout: float) -> list[Completed | Learned]:
        items: list[Completed | Learned] = []
        try:
            items.append(self._outbox.get(timeout=timeout) if timeout > 0 else self._outbox.get_nowait())
            while len(items) < BATCH:
                items.append(self._outbox.get_nowait())
        except Empty:
            pass
        return items

    # In the sending threads

    def _send_forever(self) -> None:
        while (work := self._work.get()) is not None:
            job, lane = work
            now = time.monotonic()
            if now < lane.blocked_until:  # another thread has just been told to wait
                self._inbox.put(partial(self._held_back, job, lane))
                continue
            self._send(job, lane, now)

    def _send(self, job: Job | None, lane: Lane, now: float) -> None:
        """Send one request, and as long as the lane allows it the next with the same slot."""
        while job is not None:
            job.epoch = lane.grant.epoch
            attempt = self._attempt(job, lane, now)
            now = time.monotonic()
            if attempt.retry_after_seconds:
                lane.blocked_until = max(lane.blocked_until, now + attempt.retry_after_seconds)
            following = None if self._stopping else lane.next_after(attempt, now)
            self._inbox.put(partial(self._ended, job, lane, attempt, handed_on=following is not None))
            job = following

    def _attempt(self, job: Job, lane: Lane, now: float) -> Attempt:
        if job.started_at is None:
            job.started_at = now
        seconds_left = self._options.retry.deadline_seconds - job.elapsed(now)
        if seconds_left <= 0:
            return Attempt(
                AttemptOutcome.PASSING, error_kind="deadline", error_text="The call timed out while waiting to be sent."
            )
        self.on_send(job.token)
        try:
            return self._client.send(
                job.endpoint,
                job.request,
                capabilities=lane.capabilities.learn(refused=JSON_MODES) if job.without_json else lane.capabilities,
                max_tokens=job.max_tokens,
                seconds_left=seconds_left,
            )
        except Exception:  # a defect must cost one call, not a thread and a token that never comes back
            logger.exception("calls.send_crashed endpoint=%s", job.endpoint.name)
            return Attempt(
                AttemptOutcome.CLIENT_ERROR,
                error_kind="internal",
                error_text="The call failed because of an internal error.",
            )

    # In the dispatcher

    def _dispatch_forever(self) -> None:
        while not (self._stopping and not any(lane.held for lane in self._lanes.values())):
            try:
                self._handle_events()
                now = time.monotonic()
                self._wake_delayed(now)
                for lane in list(self._lanes.values()):
                    room = self._room(lane)
                    if lane.should_exchange(now, room=room):
                        self._exchange(lane, now, room)
            except Exception:  # without its dispatcher the pool would hang in silence
                logger.exception("calls.dispatch_crashed")
                time.sleep(0.1)
        for lane in self._lanes.values():
            lane.limiter.leave()
        for _ in self._threads:
            self._work.put(None)

    def _handle_events(self) -> None:
        now = time.monotonic()
        waits = [lane.next_wake(now, room=self._room(lane)) for lane in self._lanes.values()]
        if self._delayed:
            waits.append(max(0.0, self._delayed[0][0] - now))
        try:
            self._inbox.get(timeout=min([*waits, 60.0]))()
            for _ in range(BATCH):
                self._inbox.get_nowait()()
        except Empty:
            pass

    def _lane(self, endpoint: EndpointConfig) -> Lane:
        lane = self._lanes.get(endpoint.identity)
        if lane is None:
            lane = self._lanes[endpoint.identity] = Lane(
                self._limiters(endpoint), endpoint.capabilities, endpoint.max_concurrency, endpoint.rate_limits
            )
        lane.set_limits(endpoint.max_concurrency, endpoint.rate_limits)
        return lane

    def _queue(self, job: Job) -> None:
        self._line_up(job, self._lane(job.endpoint), first=False)

    def _line_up(self, job: Job, lane: Lane, *, first: bool = True) -> None:
        """Let a request wait for its turn, or give it back where its endpoint takes none for long.

        Its lane asks the limiter no more until then, so that nobody would look at what waits there.
        """
        wait = lane.blocked_until - time.monotonic()
        if self._has_stopped(job):
            self._give_back(job, 0.0)
        elif wait > self._options.retry.cap_seconds:
            self._give_back(job, wait)
        elif first:
            lane.ready.appendleft(job)
        else:
            lane.ready.append(job)

    def _has_stopped(self, job: Job) -> bool:
        return self._stopping or job.group in self._withdrawn

    def _withdraw_group(self, group: Hashable) -> None:
        self._withdrawn.add(group)
        jobs = [job for _, _, job, _ in self._delayed if job.group == group]
        self._delayed = [entry for entry in self._delayed if entry[2].group != group]
        heapq.heapify(self._delayed)
        for lane in self._lanes.values():
            jobs += lane.ready.withdraw(group)
        for job in jobs:
            self._give_back(job, 0.0)

    def _wake_delayed(self, now: float) -> None:
        while self._delayed and self._delayed[0][0] <= now:
            _, _, job, lane = heapq.heappop(self._delayed)
            self._line_up(job, lane)

    def _fair_share(self) -> int:
        return max(1, self._options.threads // max(1, sum(bool(lane.ready) for lane in self._lanes.values())))

    def _owed(self, lane: Lane) -> int:
        """Return how many threads the other lanes lack of their fair shares."""
        fair = self._fair_share()
        return sum(other.missing_threads(fair) for other in self._lanes.values() if other is not lane)

    def _room(self, lane: Lane) -> int:
        """Return how many threads a lane may take now: what is idle up to its fair share, beyond that what nobody else
        lacks, and its least share in any case, so that no endpoint waits for the slow calls of another."""
        beyond = max(0, self._idle - self._owed(lane))
        fair = min(self._idle, self._fair_share() - lane.held)
        return max(fair, beyond, self._least - lane.held)

    def _exchange(self, lane: Lane, now: float, room: int) -> None:
        want = 0 if self._stopping or now < lane.blocked_until else max(0, min(len(lane.ready), room))
        grant = lane.exchange(now, want=want)
        if lane.held > self._fair_share() and self._owed(lane):
            lane.may_hand_on = False  # else its threads would stay with it
        for used_slots in range(grant.slots):
            job = lane.take()
            if job is None:  # a slot was handed on meanwhile; what is left goes back with the next exchange
                lane.held -= grant.slots - used_slots
                break
            self._start(job, lane)
        if grant.wait_seconds > self._options.retry.cap_seconds:
            while (job := lane.take()) is not None:
                self._give_back(job, grant.wait_seconds)

    def _start(self, job: Job, lane: Lane) -> None:
        self._idle -= 1
        if len(self._threads) < self._options.threads - self._idle:  # fewer than have a request
            thread = threading.Thread(target=self._send_forever, name="calls-send", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._work.put((job, lane))

    def _held_back(self, job: Job, lane: Lane) -> None:
        self._idle += 1
        lane.held -= 1
        self._line_up(job, lane)

    def _ended(self, job: Job, lane: Lane, attempt: Attempt, *, handed_on: bool) -> None:
        self._idle += not handed_on
        lane.record_attempt(job, attempt, handed_on=handed_on)
        self._learn(job, lane, attempt)
        if job.answers_before is None:
            job.answers_before = lane.answers
        job.attempts.append(attempt)
        decision = decide(job.attempts, self._circumstances(job, lane), self._options.retry)
        must_pay_again = job.is_reserved and attempt.is_paid and not decision.double_tokens
        if decision.action is RetryAction.RETRY and not must_pay_again and not self._has_stopped(job):
            self._retry(job, lane, decision)
        elif decision.action is RetryAction.RETRY or decision.action is RetryAction.REQUEUE:
            self._give_back(job, decision.sleep_seconds)
        else:
            reply = reply_of(job.attempts, decision)
            self._outbox.put(Completed(job.token, as_probe(reply) if job.request.is_probe else reply))

    def _circumstances(self, job: Job, lane: Lane) -> Circumstances:
        return Circumstances(
            elapsed_seconds=job.elapsed(time.monotonic()),
            jitter=self._random.random(),
            can_double_tokens=job.max_tokens is not None and not job.request.is_probe,
            others_succeed=job.answers_before is not None and lane.answers > job.answers_before,
        )

    def _retry(self, job: Job, lane: Lane, decision: RetryDecision) -> None:
        if decision.double_tokens and job.max_tokens is not None:
            job.max_tokens *= 2
        job.without_json = job.without_json or decision.without_json
        if decision.sleep_seconds <= 0:
            lane.ready.appendleft(job)
            return
        due = time.monotonic() + decision.sleep_seconds
        heapq.heappush(self._delayed, (due, next(self._order), job, lane))

    def _give_back(self, job: Job, seconds: float) -> None:
        if job.attempts:
            reply = reply_of(job.attempts, RetryDecision(RetryAction.REQUEUE, seconds))
        else:
            reply = ChatReply(ReplyStatus.FAILED, error_kind="rate-limited", attempts=0)
        self._outbox.put(Completed(job.token, reply, requeue_seconds=seconds, paid=job.paid))

    def _learn(self, job: Job, lane: Lane, attempt: Attempt) -> None:
        learned = lane.capabilities.learn(accepted=attempt.accepted, refused=attempt.refused)
        if learned != lane.capabilities:
            lane.capabilities = learned
            self._outbox.put((job.endpoint, learned))

    def _drop_waiting(self) -> None:
        self._delayed.clear()
        for lane in self._lanes.values():
            lane.ready = Turns()


# The call pool in a process of its own.
#
# Fifty sending threads and a thread that stores what came back share one interpreter lock, and each waits for the
# other: replies that arrive together queue behind a batch being stored, and their slots stand empty meanwhile. Apart,
# both run at once. The child only sends, and counts its attempts at each request in memory that both share; what else
# it knows dies with it, so a worker that loses its child gives the work back.

LOOK_SECONDS = 60.0
SEVERAL = 2  # attempts, or more
MOST_REQUESTS = 65_536  # whose attempts are counted


class SenderLost(RuntimeError):
    """The sending process ended by itself: killed, or out of memory. What it had in flight is not known."""


class SendingProcess:
    """A call pool in a child of this process, with a pool's methods, for one thread.

    `make_pool` runs in the child, gets what to call with news of endpoints, and must use no connection that was opened
    before. `on_capabilities` is called here, inside `completed`. The process must have no other threads when this is
    made, since a fork copies their locks and not them.
    """

    def __init__(
        self,
        make_pool: Callable[[Callable[[EndpointConfig, Capabilities], None]], CallPool],
        on_capabilities: Callable[[EndpointConfig, Capabilities], None],
    ) -> None:
        self._on_capabilities = on_capabilities
        self._orders: list[methodcaller] = []  # calls of the pool, which leave with the next look
        self._sends = mmap.mmap(-1, MOST_REQUESTS)  # attempts at each request in the child, up to `SEVERAL`
        self._free, self._slots = list(range(MOST_REQUESTS)), dict[Hashable, int]()  # places in it, by token
        context = multiprocessing.get_context("fork")
        self._link, child_link = context.Pipe()
        self._process = context.Process(
            target=_work, args=(child_link, self._link, make_pool, self._sends), name="calls-sender", daemon=True
        )
        self._process.start()
        child_link.close()

    def submit(
        self,
        token: Hashable,
        endpoint: EndpointConfig,
        request: ChatRequest,
        *,
        paid: Sequence[Attempt] = (),
        group: Hashable = None,
        is_reserved: bool = False,
    ) -> None:
        """Ask, as `CallPool.submit`; requests leave together with the next look at `completed`."""
        slot = self._slots[token] = self._free.pop()
        self._sends[slot] = 0
        order = methodcaller(
            "submit", (slot, token), endpoint, request, paid=paid, group=group, is_reserved=is_reserved
        )
        self._orders.append(order)

    def withdraw(self, group: Hashable) -> None:
        """Send no more for a group, as `CallPool.withdraw`."""
        self._orders.append(methodcaller("withdraw", group))

    def sends_of(self, token: Hashable) -> int:
        """Return how many attempts at a request that is not finished were begun: 0, 1, or `SEVERAL`."""
        return self._sends[self._slots[token]]

    def completed(self, timeout: float) -> list[Completed]:
        """Return what is finished, waiting up to `timeout` seconds for the first; empty when nothing is.

        Raises:
            SenderLost: the child is gone; nothing more will come.
        """
        completed: list[Completed] = []
        try:
            self._hand_over()
            patience = timeout
            while len(completed) < BATCH and self._link.poll(patience):
                completed += self._take_message(self._link.recv())
                patience = 0.0
        except (EOFError, OSError) as trouble:
            if not completed:  # what was heard is returned first
                raise SenderLost("The process that sends calls ended unexpectedly.") from trouble
        return completed

    def end(self) -> None:
        """Let the child go, whatever it still waits for."""
        self._link.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _hand_over(self) -> None:
        if self._orders:
            self._link.send(self._orders)
            self._orders = []

    def _take_message(self, message: tuple[list[Learned], list[Completed]]) -> list[Completed]:
        learned, completed = message
        for endpoint, capabilities in learned:
            self._on_capabilities(endpoint, capabilities)
        own = [replace(each, token=each.token[1]) for each in completed]  # see `submit`
        self._free += [self._slots.pop(each.token) for each in own]
        return own


# --- in the child


def _work(
    link: Connection,
    other_end: Connection,
    make_pool: Callable[[Callable[[EndpointConfig, Capabilities], None]], CallPool],
    sends: mmap.mmap,
) -> None:
    """Send until the parent closes its end of the link."""
    other_end.close()  # or the end of the parent would not be heard
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent decides when to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    learned: list[Learned] = []
    pool = make_pool(lambda endpoint, capabilities: learned.append((endpoint, capabilities)))

    def count(token: Any) -> None:
        sends[token[0]] = min(sends[token[0]] + 1, SEVERAL)

    pool.on_send = count
    threading.Thread(target=_listen, args=(link, pool), name="calls-listen", daemon=True).start()
    try:
        while True:
            completed = pool.completed(LOOK_SECONDS)
            if completed or learned:
                link.send((learned.copy(), completed))
                learned.clear()
    except OSError:  # nobody listens any more
        os._exit(0)


def _listen(link: Connection, pool: CallPool) -> None:
    try:
        while True:
            for order in link.recv():
                order(pool)
    except (EOFError, OSError):
        os._exit(0)  # calls in flight are cut off, as when their worker is killed
