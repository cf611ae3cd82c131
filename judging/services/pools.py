"""The call pool over the active endpoints, under the limiter all workers share, and trials of prompts through it."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections, transaction

from judging.judges.kinds import lexical
from judging.llm.chat import Attempt, ChatReply, ChatRequest, Conversation, ReplyStatus, call_key
from judging.llm.client import ChatClient, proxy_of
from judging.llm.endpoints import Capabilities, EndpointConfig
from judging.llm.limiter import LimiterFactory, connect
from judging.llm.pool import SEVERAL, CallPool, Completed, PoolOptions, SendingProcess
from judging.models import DayHold
from judging.selectors.benchmarks import with_pictures
from judging.selectors.endpoints import Target, address_policy, price_missing, request_body, unchanged_endpoints
from judging.services import day_budgets, ledger
from judging.services.ledger import CallRecord
from judging.services.long_jobs import persistently

logger = logging.getLogger(__name__)

LEXICAL_SLICE_SECONDS = 0.05  # baselines are computed in `wait` this long before it returns


@dataclass(slots=True)
class PoolShare:
    """One run's part of the pool. Runs take turns at an endpoint, and each can be withdrawn separately."""

    pool: OpenPool
    group: int
    inbox: list[Completed] = field(default_factory=list)
    lexical: deque[tuple[str, Target, ChatRequest]] = field(default_factory=deque)

    def submit(
        self,
        token: str,
        target: Target,
        request: ChatRequest,
        paid: tuple[Attempt, ...] = (),
        *,
        is_reserved: bool = False,
    ) -> None:
        """Ask; the token comes out of `take_results` once.

        `paid`: earlier attempts at it that came to nothing. `is_reserved`: it comes back before it costs more than was
        reserved for it.
        """
        if target.is_lexical:
            self.lexical.append((token, target, request))
            return
        bare = persistently(partial(with_pictures, replace(request, endpoint=target.config.name, material={})))
        self.pool.pool.submit(
            f"{self.group}:{token}", target.config, bare, paid=paid, group=self.group, is_reserved=is_reserved
        )

    def sends_of(self, token: str) -> int:
        """Return how many attempts at a request were begun: 0, 1, or `SEVERAL`, also where that cannot be told."""
        pool = self.pool.pool
        return pool.sends_of(f"{self.group}:{token}") if isinstance(pool, SendingProcess) else SEVERAL

    def take_results(self) -> list[Completed]:
        """Return what came back with the last `OpenPool.wait`."""
        results, self.inbox = self.inbox, []
        return results

    def withdraw(self) -> None:
        """Stop sending: what is not on its way comes back, to be asked again; replies on their way still come."""
        taken_back = ChatReply(ReplyStatus.FAILED, error_kind="withdrawn", attempts=0)
        self.inbox += [Completed(token, taken_back, requeue_seconds=0.0) for token, *_ in self.lexical]
        self.lexical.clear()
        self.pool.pool.withdraw(self.group)

    def leave(self) -> None:
        """Stop sending and receive nothing more."""
        self.withdraw()
        self.pool.shares.pop(self.group, None)


@dataclass(slots=True)
class OpenPool:
    """A call pool over the active endpoints, which remembers what endpoints turned out to accept."""

    pool: CallPool | SendingProcess
    learned: dict[str, tuple[EndpointConfig, Capabilities]] = field(default_factory=dict)
    shares: dict[int, PoolShare] = field(default_factory=dict)
    groups: count[int] = field(default_factory=count)

    def share(self) -> PoolShare:
        """Return a new part of the pool, for one run."""
        share = PoolShare(self, next(self.groups))
        self.shares[share.group] = share
        return share

    def wait(self, timeout: float) -> None:
        """Hand what came back to the shares that asked for it, waiting up to `timeout` seconds for the first.

        Raises:
            SenderLost: the process that sends ended by itself; nothing more will come back.
        """
        self._compute()
        ready = any(share.inbox for share in self.shares.values())
        for result in self.pool.completed(0.0 if ready else timeout):
            group, _, token = str(result.token).partition(":")
            if int(group) in self.shares:
                self.shares[int(group)].inbox.append(replace(result, token=token))
        if self.learned:
            self.note_learned()

    def _compute(self) -> None:
        """Compute lexical baselines for a while, the shares in turn."""
        until = time.monotonic() + LEXICAL_SLICE_SECONDS
        while waiting := [share for share in self.shares.values() if share.lexical]:
            for share in waiting:
                if time.monotonic() >= until:
                    return
                token, target, request = share.lexical.popleft()
                share.inbox.append(Completed(token, baseline_reply(target, request)))

    def note_learned(self) -> None:
        """Store what was learned of endpoints, unless they have been changed since."""
        learned, self.learned = dict(self.learned), {}
        for name, (config, capabilities) in learned.items():
            try:
                unchanged_endpoints(config).filter(name=name).update(capabilities=asdict(capabilities))
            except (OperationalError, InterfaceError):  # the database is away for a moment; it can be noted later
                self.learned.setdefault(name, (config, capabilities))

    def close(self) -> None:
        """Stop sending and store what was learned of endpoints."""
        self.pool.end()
        self.note_learned()


def baseline_reply(target: Target, request: ChatRequest) -> ChatReply:
    """Return a lexical baseline's reply, which costs nothing; a failed one where it cannot read its material."""
    started = time.monotonic()
    try:
        text = lexical.lexical_reply(request, target.config.model)
    except Exception:  # one answer that a baseline cannot read must not end the run
        logger.exception("calls.lexical_crashed endpoint=%s", target.config.name)
        return ChatReply(ReplyStatus.FAILED, error_kind="internal", error_text="The lexical baseline failed.")
    seconds = time.monotonic() - started
    return ChatReply(
        ReplyStatus.FINISHED, text, "stop", prompt_tokens=0, completion_tokens=0, seconds=seconds, attempts=1
    )


def open_pool(*, threads: int, apart: bool = False) -> OpenPool:
    """Return a pool of `threads` sending threads under the limiter that all workers share.

    `apart`: in a process of its own, which a process without other threads may start.
    """

    def make(tell: Callable[[EndpointConfig, Capabilities], None]) -> CallPool:
        client = ChatClient(threads=threads, policy=address_policy(), proxy=proxy_of(settings.PROXY))
        options = PoolOptions(threads=threads, on_capabilities=tell)
        return CallPool(client, LimiterFactory(connect(settings.REDIS_URL)), options)

    opened: OpenPool | None = None

    def remember(config: EndpointConfig, capabilities: Capabilities) -> None:
        assert opened is not None
        opened.learned[config.name] = (config, capabilities)

    if apart:
        connections.close_all()  # none may be shared with a fork: the other end would outlive this process
        opened = OpenPool(SendingProcess(make, remember))
    else:
        opened = OpenPool(make(remember))
    return opened


# One conversation with one endpoint outside any run, for commands; whoever calls waits until it ends.
#
# The calls go to the ledger like any other, so a later run does not pay for them again.

WAIT_SECONDS = 120.0
THREADS = 4
POLL_SECONDS = 0.2
NOT_ASKED = ChatReply(ReplyStatus.FAILED, error_kind="not-asked", attempts=0)


class TrialRefused(ValueError):
    """The model did not answer, or its answers may cost too much; the message says what to do."""


@dataclass(frozen=True, slots=True)
class TriedCall:
    """One call of a conversation."""

    request: ChatRequest
    reply: ChatReply
    cost: Any  # USD; None: unknown
    reused: bool


def paid_for(calls: Iterable[TriedCall]) -> Decimal | None:
    """Return what those calls cost, in USD, that were made; None: a price is unknown."""
    costs = [call.cost for call in calls if not call.reused]
    return None if None in costs else sum(costs, Decimal(0))


class TrialBudget:
    """The US dollars that a conversation may still cost. The most that a request can cost is set aside beforehand, of
    its own budget and of those of the day."""

    def __init__(self, budget: Decimal | None, target: Target, at: datetime) -> None:
        self.budget, self.left = budget, budget
        self.target, self.at = target, at
        self.is_limited = bool(day_budgets.limited_endpoints([target.endpoint_id]))
        self.holds: list[tuple[str, DayHold]] = []  # of each request, one for each time that it was sent
        self.is_short = False  # its own budget does not carry the next request

    @property
    def has_budget(self) -> bool:
        return self.budget is not None or self.is_limited

    def set_aside(self, token: str, request: ChatRequest) -> Decimal | None:
        """Return the amount set aside for a request, without a budget nothing; None: the rest does not carry it.

        Raises:
            TrialRefused: there is a budget, and the price of the endpoint is unknown.
        """
        if not self.has_budget:
            return Decimal(0)
        worst = self.target.worst_case(request)
        if worst is None:
            raise TrialRefused(price_missing([self.target.config.name]))
        self.is_short = self.left is not None and worst > self.left
        if self.is_short:
            return None
        if self.is_limited:
            hold = day_budgets.hold_outside_runs(endpoint_id=self.target.endpoint_id, amount=worst, at=self.at)
            if hold is None:
                return None
            self.holds.append((token, hold))
        self.left = None if self.left is None else self.left - worst
        return worst

    def book(self, token: str, amount: Decimal, cost: Decimal | None) -> None:
        """Put back what a reply cost less than was set aside for it."""
        if self.left is not None and cost is not None:
            self.left += amount - cost
        if cost is not None and self.is_limited:
            hold_ids = [hold.pk for name, hold in self.holds if name == token]
            DayHold.objects.filter(pk=hold_ids[-1]).update(amount=cost)

    def book_day(self, unheard: Decimal) -> None:
        """Give back what was set aside of the day's budgets; what may have been paid for in vain counts as spent.

        Must run in the transaction that stores the replies.
        """
        day_budgets.book_outside_runs(holds=[hold for _, hold in self.holds], spent=unheard, at=self.at)
        self.holds.clear()

    def refusal(self, count: int) -> str:
        """Return why the `count` remaining requests cannot be asked."""
        if not self.is_short:
            return day_budgets.refusal(endpoint_id=self.target.endpoint_id, at=self.at)
        budget, rest = day_budgets.plain_dollars(self.budget), day_budgets.plain_dollars(self.left)
        return (
            f"The budget of ${budget} does not cover the {count:,} remaining requests: one of them can cost more than "
            f"the remaining ${rest}. Replies so far are kept; try again with a higher budget."
        )


def hold_conversation(
    conversation: Conversation[Any], target: Target, *, at: datetime, budget: Decimal | None = None
) -> tuple[Any, list[TriedCall]]:
    """Hold one conversation with one endpoint outside any run, with the ledger and the shared limiter, and return its
    result with everything that passed.

    Raises:
        TrialRefused: the model did not answer in time, or the budget, in US dollars, does not carry all requests.
    """
    trial_budget = TrialBudget(budget, target, at)
    calls: list[TriedCall] = []
    pool = open_pool(threads=THREADS)
    share = pool.share()
    replies: tuple[ChatReply, ...] | None = None
    try:
        while True:
            try:
                requests = next(conversation) if replies is None else conversation.send(replies)
            except StopIteration as end:
                return end.value, calls
            batch = _ask(requests, target, share, trial_budget, at)
            calls += batch
            replies = tuple(call.reply for call in batch)
    finally:
        pool.close()


def _ask(
    requests: Sequence[ChatRequest], target: Target, share: PoolShare, trial_budget: TrialBudget, at: datetime
) -> list[TriedCall]:
    named = [replace(request, endpoint=target.config.name) for request in requests]
    keys = [call_key(target.config, request) for request in named]
    stored = ledger.find_finished(keys, at=at)
    missing = {key: request for key, request in zip(keys, named, strict=True) if key not in stored}
    sent = _TrialCalls(missing, target, share, trial_budget)
    try:
        sent.finish()
    finally:  # what came back is paid for, whatever becomes of the rest
        records = [
            CallRecord(
                key,
                target.endpoint_id,
                request_body(missing[key]),
                reply,
                target.cost(reply),
                target.prices_of(reply),
                reserved=sent.reserved[key],
            )
            for key, reply in sent.replies.items()
        ]
        with transaction.atomic():
            ledger.store_calls(run_id=None, records=records, at=at)
            trial_budget.book_day(unheard=sum(sent.amounts.values(), Decimal(0)))
    tried = {
        key: TriedCall(missing[key], reply, target.cost(reply), reused=False) for key, reply in sent.replies.items()
    }
    for key, request in zip(keys, named, strict=True):
        if key in stored:
            tried[key] = TriedCall(request, ledger.reply_of(stored[key]), stored[key].cost, reused=True)
    return [tried[key] for key in keys]


class _TrialCalls:
    """Requests that are sent as far as the budget carries them, and the replies in `replies` as they come."""

    def __init__(
        self, requests: Mapping[str, ChatRequest], target: Target, share: PoolShare, budget: TrialBudget
    ) -> None:
        self.requests, self.target, self.share, self.budget = requests, target, share, budget
        self.replies: dict[str, ChatReply] = {}
        self.waiting = [(0.0, Completed(key, NOT_ASKED)) for key in requests]  # (when it may be sent, its last result)
        self.amounts: dict[str, Decimal] = {}  # set aside for the requests that are under way
        self.reserved: dict[str, Decimal] = {}  # and for those that were replied to

    def finish(self) -> None:
        """Send everything and wait for the replies.

        Raises:
            TrialRefused: they did not come in time, or the rest of the budget does not carry what is left to ask.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while len(self.replies) < len(self.requests):
            if time.monotonic() > deadline or any(due > deadline for due, _ in self.waiting):
                raise TrialRefused("The model did not reply in time. See the page of its endpoint.")
            self._send()
            self.share.pool.wait(POLL_SECONDS)
            for result in self.share.take_results():
                self._receive(result)

    def _send(self) -> None:
        now = time.monotonic()
        for entry in [entry for entry in self.waiting if entry[0] <= now]:
            result = entry[1]
            amount = self.budget.set_aside(result.token, self.requests[result.token])
            if amount is None:
                break
            self.waiting.remove(entry)
            self.amounts[result.token] = amount
            self.share.submit(
                result.token,
                self.target,
                self.requests[result.token],
                result.paid,
                is_reserved=self.budget.has_budget,
            )
        else:
            return
        if not self.amounts:
            raise TrialRefused(self.budget.refusal(len(self.waiting)))

    def _receive(self, result: Completed) -> None:
        amount = self.amounts.pop(result.token)
        if result.requeue_seconds is None:
            self.replies[result.token], self.reserved[result.token] = result.reply, amount
            self.budget.book(result.token, amount, self.target.cost(result.reply))
        else:
            if not result.paid:
                self.budget.book(result.token, amount, Decimal(0))
            self.waiting.append((time.monotonic() + result.requeue_seconds, result))
