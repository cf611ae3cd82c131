"""One conversation with one endpoint outside any run, for commands; whoever calls waits until it ends.

The calls go to the ledger like any other, so a later run does not pay for them again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from judging.llm.chat import ChatReply, ChatRequest, Conversation, ReplyStatus
from judging.llm.identity import call_key
from judging.selectors.targets import Target, request_body
from judging.services.calls import ledger, pools
from judging.services.calls.ledger import CallRecord
from judging.services.calls.pools import CallResult, PoolShare

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


@dataclass(frozen=True, slots=True)
class HeldAlone:
    """The result of a conversation held outside any run, with everything that passed."""

    result: Any
    calls: Sequence[TriedCall]


class Purse:
    """The US dollars that a conversation may still cost. The most that a request can cost is set aside beforehand."""

    def __init__(self, budget: Decimal | None) -> None:
        self.budget, self.left = budget, budget

    def set_aside(self, target: Target, request: ChatRequest) -> Decimal | None:
        """Return the amount set aside, without a budget nothing; None: the rest does not carry the request.

        Raises:
            TrialRefused: there is a budget, and the price of the endpoint is unknown.
        """
        if self.left is None:
            return Decimal(0)
        worst = target.worst_case(request)
        if worst is None:
            raise TrialRefused(
                f"A budget needs a price, and the price of {target.config.name} is unknown. "
                "Enter it on the page of the endpoint."
            )
        if worst > self.left:
            return None
        self.left -= worst
        return worst

    def settle(self, amount: Decimal, cost: Decimal | None) -> None:
        """Put back what a reply cost less than was set aside for it."""
        if self.left is not None and cost is not None:
            self.left += amount - cost


def hold(conversation: Conversation[Any], target: Target, *, at: datetime, budget: Decimal | None = None) -> HeldAlone:
    """Hold one conversation with one endpoint outside any run, with the ledger and the shared limiter.

    Raises:
        TrialRefused: the model did not answer in time, or the budget, in US dollars, does not carry all requests.
    """
    purse = Purse(budget)
    calls: list[TriedCall] = []
    pool = pools.open_pool(threads=THREADS)
    share = pool.share()
    replies: tuple[ChatReply, ...] | None = None
    try:
        while True:
            try:
                requests = next(conversation) if replies is None else conversation.send(replies)
            except StopIteration as end:
                return HeldAlone(end.value, calls)
            batch = _ask(requests, target, share, purse, at)
            calls += batch
            replies = tuple(call.reply for call in batch)
    finally:
        pool.close()


def _ask(
    requests: Sequence[ChatRequest], target: Target, share: PoolShare, purse: Purse, at: datetime
) -> list[TriedCall]:
    named = [replace(request, endpoint=target.config.name) for request in requests]
    keys = [call_key(target.config, request) for request in named]
    known = ledger.find_finished(keys, at=at)
    wanted = {key: request for key, request in zip(keys, named, strict=True) if key not in known}
    asking = _Asking(wanted, target, share, purse)
    try:
        asking.finish()
    finally:  # what came back is paid for, whatever becomes of the rest
        records = [
            CallRecord(
                key, target.endpoint_id, request_body(wanted[key]), reply, target.cost(reply), target.prices_of(reply)
            )
            for key, reply in asking.got.items()
        ]
        with transaction.atomic():
            ledger.store_calls(run_id=None, records=records, at=at)
    found = {key: TriedCall(wanted[key], reply, target.cost(reply), reused=False) for key, reply in asking.got.items()}
    for key, request in zip(keys, named, strict=True):
        if key in known:
            found[key] = TriedCall(request, ledger.reply_of(known[key]), known[key].cost, reused=True)
    return [found[key] for key in keys]


class _Asking:
    """Requests that are sent as far as the purse carries them, and the replies in `got` as they come."""

    def __init__(self, wanted: Mapping[str, ChatRequest], target: Target, share: PoolShare, purse: Purse) -> None:
        self.wanted, self.target, self.share, self.purse = wanted, target, share, purse
        self.got: dict[str, ChatReply] = {}
        self.waiting = [
            (0.0, CallResult(key, NOT_ASKED)) for key in wanted
        ]  # (when it may be sent, what was heard of it)
        self.amounts: dict[str, Decimal] = {}  # set aside for the requests that are under way

    def finish(self) -> None:
        """Send everything and wait for the replies.

        Raises:
            TrialRefused: they did not come in time, or the rest of the budget does not carry what is left to ask.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while len(self.got) < len(self.wanted):
            if time.monotonic() > deadline or any(due > deadline for due, _ in self.waiting):
                raise TrialRefused("The model did not reply in time. See the page of its endpoint.")
            self._send()
            self.share.pool.wait(POLL_SECONDS)
            for heard in self.share.heard():
                self._hear(heard)

    def _send(self) -> None:
        now = time.monotonic()
        for entry in [entry for entry in self.waiting if entry[0] <= now]:
            heard = entry[1]
            amount = self.purse.set_aside(self.target, self.wanted[heard.token])
            if amount is None:
                break
            self.waiting.remove(entry)
            self.amounts[heard.token] = amount
            is_reserved = self.purse.budget is not None
            self.share.submit(heard.token, self.target, self.wanted[heard.token], heard.paid, is_reserved=is_reserved)
        else:
            return
        if not self.amounts:
            budget, left = _plain(self.purse.budget), _plain(self.purse.left)
            raise TrialRefused(
                f"The budget of ${budget} does not cover the {len(self.waiting):,} remaining requests: one of them "
                f"can cost more than the remaining ${left}. Replies so far are kept; try again with a higher budget."
            )

    def _hear(self, heard: CallResult) -> None:
        amount = self.amounts.pop(heard.token)
        if heard.again_seconds is None:
            self.got[heard.token] = heard.reply
            self.purse.settle(amount, self.target.cost(heard.reply))
        else:
            if not heard.paid:
                self.purse.settle(amount, Decimal(0))
            self.waiting.append((time.monotonic() + heard.again_seconds, heard))


def _plain(amount: Decimal | None) -> str:
    return f"{(amount or Decimal(0)).normalize():f}"
