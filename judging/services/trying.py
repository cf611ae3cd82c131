"""One conversation with one endpoint outside any run, for commands; whoever calls waits until it ends.

The calls go to the ledger like any other, so a later run does not pay for them again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from judging.llm.chat import ChatReply, ChatRequest, Conversation
from judging.llm.identity import call_key
from judging.selectors.targets import Target, request_body
from judging.services import ledger, pools
from judging.services.ledger import CallRecord
from judging.services.pools import Heard, Share

WAIT_SECONDS = 120.0
THREADS = 4
POLL_SECONDS = 0.2


class TrialRefused(ValueError):
    """The model did not answer; the message says where to look."""


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


def hold(conversation: Conversation[Any], target: Target, *, at: datetime) -> HeldAlone:
    """Hold one conversation with one endpoint outside any run, with the ledger and the shared limiter.

    Raises:
        TrialRefused: the model did not answer in time.
    """
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
            batch = _ask(requests, target, share, at)
            calls += batch
            replies = tuple(call.reply for call in batch)
    finally:
        pool.close()


def _ask(requests: Sequence[ChatRequest], target: Target, share: Share, at: datetime) -> list[TriedCall]:
    named = [replace(request, endpoint=target.config.name) for request in requests]
    keys = [call_key(target.config, request) for request in named]
    known = ledger.find_finished(keys, at=at)
    wanted = {key: request for key, request in zip(keys, named, strict=True) if key not in known}
    for key, request in wanted.items():
        share.submit(key, target, request)
    fresh: dict[str, ChatReply] = {}
    try:
        _await(share, wanted, target, fresh)
    finally:  # what came back is paid for, whatever becomes of the rest
        records = [
            CallRecord(key, target.endpoint_id, request_body(wanted[key]), reply, target.cost(reply), target.prices)
            for key, reply in fresh.items()
        ]
        with transaction.atomic():
            ledger.store_calls(run_id=None, records=records, at=at)
    found = {key: TriedCall(wanted[key], reply, target.cost(reply), reused=False) for key, reply in fresh.items()}
    for key, request in zip(keys, named, strict=True):
        if key in known:
            found[key] = TriedCall(request, ledger.reply_of(known[key]), known[key].cost, reused=True)
    return [found[key] for key in keys]


def _await(share: Share, wanted: Mapping[str, ChatRequest], target: Target, got: dict[str, ChatReply]) -> None:
    """Put the replies into `got` as they come."""
    deadline = time.monotonic() + WAIT_SECONDS
    again: list[tuple[float, Heard]] = []
    while len(got) < len(wanted):
        now = time.monotonic()
        if now > deadline or any(due > deadline for due, _ in again):
            raise TrialRefused("The model did not answer in time. See its endpoint's page.")
        for _, heard in [one for one in again if one[0] <= now]:
            share.submit(heard.token, target, wanted[heard.token], heard.paid)
        again = [one for one in again if one[0] > now]
        share.pool.wait(POLL_SECONDS)
        for heard in share.heard():
            if heard.again_seconds is None:
                got[heard.token] = heard.reply
            else:
                again.append((time.monotonic() + heard.again_seconds, heard))
