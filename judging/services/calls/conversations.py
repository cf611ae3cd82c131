"""Conversations under way, and the requests that they wait for, as the call engine keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from evalsite.base.json_types import JsonDict
from judging.llm.attempts import Attempt
from judging.llm.chat import ChatReply, ChatRequest, Conversation
from judging.llm.lanes import reply_of
from judging.llm.retries import Action, RetryDecision
from judging.llm.usage import NO_DETAILS
from judging.models import Run, RunTask
from judging.selectors.targets import Target, request_body
from judging.services.calls.ledger import CallRecord

RETRY_SAMPLES = 1000  # sample indices of one retry; a conversation uses fewer
FRESH_SAMPLES = 10**9  # times the run: above every sample index that judges and retries use


@dataclass(slots=True, eq=False)
class ActiveTask:
    """A task whose conversation is under way."""

    task: RunTask
    conversation: Conversation[Any]
    endpoint: str
    replies: list[ChatReply | None] = field(default_factory=list)
    missing: int = 0
    begun: int = 0  # where the present batch begins in `records`
    records: list[CallRecord | None] = field(default_factory=list)  # in the order asked; None: no reply yet

    def expect(self, count: int) -> None:
        """Wait for that many replies of a new batch of requests."""
        self.replies, self.missing = [None] * count, count
        self.begun = len(self.records)
        self.records.extend([None] * count)

    def add_reply(self, index: int, record: CallRecord) -> bool:
        """Note the reply to one request of the batch; return whether it was the last one missing."""
        self.replies[index] = record.reply
        self.records[self.begun + index] = record
        self.missing -= 1
        return not self.missing


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request in the pool, or on its way there, with every task that waits for its reply."""

    key: str
    endpoint: str  # as the run names it
    target: Target
    request: ChatRequest
    recipients: list[tuple[ActiveTask, int]]  # each with the index of the reply in its batch
    worst: Decimal | None = None  # USD that it may cost at most; None: not computed, or the price is unknown
    reserved: Decimal = Decimal(0)  # USD of the run's budget set aside for it
    past: tuple[Attempt, ...] = ()  # attempts that came to nothing; what they cost is booked
    postponed: int = 0  # how often the endpoint took no more
    postponed_at: float = 0.0  # first, monotonic seconds

    @property
    def at_stake(self) -> Decimal:
        """USD that it may cost at most, as far as that is known."""
        return self.reserved or self.worst or Decimal(0)

    def give_up(self, paid: tuple[Attempt, ...], *, reason: str) -> CallRecord:
        """Return what the ledger keeps of attempts that came to nothing; the request then has nothing set aside.

        They still count as attempts of the request, and no longer as a cost.
        """
        record = self.record(reply_of(paid, RetryDecision(Action.REQUEUE, reason=reason)))
        self.reserved = Decimal(0)
        booked: JsonDict = {"prompt_tokens": None, "completion_tokens": None, "usage": NO_DETAILS, "is_unheard": False}
        self.past += tuple(replace(attempt, **booked) for attempt in paid)
        return record

    def record(self, reply: ChatReply) -> CallRecord:
        """Return what the ledger keeps of a reply."""
        longest = replace(self.request, max_tokens=max(self.request.max_tokens or 0, reply.token_limit or 0) or None)
        once = self.target.worst_case(longest, truncation_retry=False) if reply.unheard else None
        return CallRecord(
            key=self.key,
            endpoint_id=self.target.endpoint_id,
            request=request_body(self.request),
            reply=reply,
            cost=self.target.cost(reply),
            prices=self.target.prices_of(reply),
            reserved=self.reserved,
            unheard=reply.unheard * (once or Decimal(0)),
        )


def repeated(request: ChatRequest, task: RunTask, run: Run) -> ChatRequest:
    """Return the request so that the ledger does not answer it for a task that a person retried, or in a fresh run."""
    shift = RETRY_SAMPLES * task.retries + (FRESH_SAMPLES * run.pk if run.options.get("fresh") else 0)
    return replace(request, sample_index=request.sample_index + shift) if shift else request
