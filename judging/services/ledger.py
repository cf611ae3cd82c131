"""The ledger of calls: what was asked before is not asked again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from math import isfinite
from typing import Any

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from evalsite.base.rows import batches, row_pages
from evalsite.base.types import JsonDict, JsonObject
from judging.llm.chat import (
    NO_DETAILS,
    Attempt,
    ChatReply,
    ChatRequest,
    Conversation,
    ReplyStatus,
    call_key,
    canonical_json,
)
from judging.llm.lanes import RetryAction, RetryDecision
from judging.llm.lanes import reply_of as reply_of_attempt
from judging.models import Ask, Call, CallHour, CallPrompt, EsiItem, ModelEndpoint, Run, RunKind, RunTask, Verdict
from judging.models.runs import RunStatus
from judging.selectors.endpoints import Target, request_body
from judging.services.day_budgets import book_unheard
from judging.stored_content import storable

LOOK_UP_SIZE = 500


@dataclass(slots=True)
class CallRecord:
    """A call of this worker: made now, or found in the ledger."""

    key: str
    endpoint_id: int
    request: JsonDict
    reply: ChatReply
    cost: Decimal | None
    prices: Mapping[str, str] = field(default_factory=dict)
    reserved: Decimal = Decimal(0)
    unheard: Decimal = Decimal(0)  # USD that attempts without an answer may have cost at most
    reused: bool = False
    pk: int = field(default=0)  # known once stored
    first_user: tuple[int, int] | None = None  # task, and place in it, that it was made for; others reuse it

    @property
    def most_cost(self) -> Decimal:
        """USD that it may have cost at most."""
        return self.unheard + (self.reserved if self.cost is None else self.cost)

    @property
    def known_cost(self) -> Decimal | None:
        """USD that the ledger keeps; None also of a call that broke off, of which nobody knows what it cost."""
        return None if self.reply.unheard and not self.reply.was_counted else self.cost


def find_finished(keys: Collection[str], *, at: datetime) -> dict[str, Call]:
    """Return the finished calls among `keys` that may be reused: neither pruned nor too old for their endpoint."""
    return {call.key: call for part in _reusable(keys, at) for call in part}


def finished_keys(keys: Collection[str], *, at: datetime) -> set[str]:
    """Return those of `keys` whose calls may be reused, and would not be paid for again."""
    return {key for part in _reusable(keys, at) for key in part.values_list("key", flat=True)}


def _reusable(keys: Collection[str], at: datetime) -> Iterator[QuerySet[Call]]:
    usable = Q(status=ReplyStatus.FINISHED, pruned_at=None, superseded_at=None)
    for endpoint_id, days in _reuse_days():
        usable &= ~Q(endpoint_id=endpoint_id, finished_at__lt=at - timedelta(days=days))
    for some in batches(dict.fromkeys(keys), LOOK_UP_SIZE):
        yield Call.objects.filter(usable, key__in=some)


def _reuse_days() -> list[tuple[int, int]]:
    """Return the endpoints whose replies grow too old to be reused, and after how many days."""
    limited = ModelEndpoint.objects.filter(reuse_days__isnull=False).order_by("pk")
    return [(pk, days) for pk, days in limited.values_list("pk", "reuse_days") if days is not None]


def reply_of(call: Call) -> ChatReply:
    """Return a stored call as the reply it was."""
    return ChatReply(
        status=ReplyStatus(call.status),
        text=call.text,
        finish_reason=call.finish_reason,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        cut_tokens=call.cut_tokens,
        error_kind=call.error_kind,
        error_text=call.error_text,
        label_logprobs=call.label_logprobs,
        seconds=call.seconds,
        attempts=call.attempts,
    )


def store_calls(*, run_id: int | None, records: Sequence[CallRecord], at: datetime) -> None:
    """Store new calls and set their `pk`. A finished call that another worker stored meanwhile is pointed to instead.

    Must run inside the writer's transaction.
    """
    new = sorted((record for record in records if not record.reused), key=lambda record: record.key)  # one lock order
    stored_calls = find_finished([record.key for record in new if record.reply.status == ReplyStatus.FINISHED], at=at)
    to_store: list[CallRecord] = []
    for record in new:
        stored = stored_calls.get(record.key) if record.reply.status == ReplyStatus.FINISHED else None
        if stored is not None:
            record.pk = stored.pk
        else:
            to_store.append(record)
    _supersede([record.key for record in to_store if record.reply.status == ReplyStatus.FINISHED], at)
    bodies = [sent_body(record.request, record.reply) for record in to_store]
    prompts = store_prompts([body["messages"] for body in bodies])
    rows = Call.objects.bulk_create(
        [
            _row(record, body, prompt_id, run_id, at)
            for record, body, prompt_id in zip(to_store, bodies, prompts, strict=True)
        ]
    )
    add_to_hour(rows, at)
    add_uncertain(new, at, priced=rows)
    for record, row in zip(to_store, rows, strict=True):
        record.pk = row.pk


def _supersede(keys: Sequence[str], at: datetime) -> None:
    """Take finished calls that were too old to be reused out of use: their keys are those of new ones now."""
    if keys and _reuse_days():
        old = Call.objects.filter(key__in=keys, status=ReplyStatus.FINISHED, pruned_at=None, superseded_at=None)
        old.update(superseded_at=at)


def store_prompts(message_lists: Sequence[object]) -> list[int]:
    """Store messages that are not stored yet and return the keys of all their rows, in the order given."""
    digests = [sha256(canonical_json(messages)).hexdigest() for messages in message_lists]
    messages_by_digest = dict(zip(digests, message_lists, strict=True))
    ordered_digests = sorted(messages_by_digest)  # one lock order
    prompt_ids = _prompts_of(ordered_digests)
    missing = [digest for digest in ordered_digests if digest not in prompt_ids]
    if missing:
        new = [CallPrompt(digest=digest, messages=messages_by_digest[digest]) for digest in missing]
        CallPrompt.objects.bulk_create(new, ignore_conflicts=True)
        prompt_ids |= _prompts_of(missing)
    return [prompt_ids[digest] for digest in digests]


def _prompts_of(digests: Sequence[str]) -> dict[str, int]:
    prompt_ids: dict[str, int] = {}
    for some in batches(digests, LOOK_UP_SIZE):
        prompt_ids |= dict(CallPrompt.objects.filter(digest__in=some).values_list("digest", "pk"))
    return prompt_ids


def add_to_hour(rows: Sequence[Call], at: datetime) -> None:
    """Add new calls to the sums of their endpoints, in one order of endpoints, so that no two writers block another."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    for endpoint_id in sorted({row.endpoint_id for row in rows}):
        endpoint_rows = [row for row in rows if row.endpoint_id == endpoint_id]
        costs = [row.cost for row in endpoint_rows if row.cost is not None]
        sums = CallHour.objects.filter(endpoint_id=endpoint_id, hour=hour)
        more: JsonDict = {
            "calls": F("calls") + len(endpoint_rows),
            "errors": F("errors") + sum(row.status != ReplyStatus.FINISHED for row in endpoint_rows),
            "seconds": F("seconds") + sum(row.seconds for row in endpoint_rows),
            "prompt_tokens": F("prompt_tokens") + sum(row.prompt_tokens or 0 for row in endpoint_rows),
            "completion_tokens": F("completion_tokens") + sum(row.completion_tokens or 0 for row in endpoint_rows),
        } | ({"cost": Coalesce(F("cost"), Decimal(0)) + sum(costs, Decimal(0))} if costs else {})
        if not sums.update(**more):  # the first call of the hour; another writer may be as quick
            CallHour.objects.get_or_create(
                endpoint_id=endpoint_id, hour=hour, defaults={"calls": 0, "errors": 0, "seconds": 0.0}
            )
            sums.update(**more)


def add_uncertain(records: Sequence[CallRecord], at: datetime, *, priced: Sequence[Call] = ()) -> None:
    """Add to the hour what these calls may have cost beyond those that are stored with a price: no answer was heard,
    no tokens were told, or another worker stored the reply to the same call."""
    most: dict[int, Decimal] = {}
    for record in records:
        most[record.endpoint_id] = most.get(record.endpoint_id, Decimal(0)) + record.most_cost
    for row in priced:
        most[row.endpoint_id] -= row.cost or 0
    book_unheard(amounts=most, at=at)


def _row(record: CallRecord, body: JsonObject, prompt_id: int, run_id: int | None, at: datetime) -> Call:
    reply = record.reply
    return Call(
        key=record.key,
        endpoint_id=record.endpoint_id,
        run_id=run_id,
        status=reply.status,
        request={name: value for name, value in body.items() if name != "messages"},
        prompt_id=prompt_id,
        text=reply.text,
        finish_reason=storable(reply.finish_reason)[:40],
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cut_tokens=reply.cut_tokens,
        cached_tokens=reply.usage.cached_tokens,
        reasoning_tokens=reply.usage.reasoning_tokens,
        cost=record.known_cost,
        prices=dict(record.prices),
        reply_head={name: storable(text) for name, text in reply.head.items()},
        label_logprobs={label: logprob for label, logprob in reply.label_logprobs.items() if isfinite(logprob)},
        error_kind=reply.error_kind[:60],
        error_text=reply.error_text[:500],
        provider_text=storable(reply.provider_text)[:300],
        attempts=reply.attempts,
        seconds=reply.seconds,
        finished_at=at,
    )


def sent_body(request: JsonDict, reply: ChatReply) -> JsonDict:
    """Return the body that the last attempt sent; the request as it was asked where nothing was sent.

    What the endpoint refuses was left out or renamed, and its own fields and limits were put in.
    """
    return {"messages": request["messages"], **reply.sent} if reply.sent else request


@dataclass(slots=True)
class Replay:
    """What a conversation asked, up to the first question that has no reply yet."""

    conversation: Conversation[Any]
    replied: list[ChatRequest] = field(default_factory=list)  # their replies are there, in the order asked
    unpaid: tuple[ChatRequest, ...] = ()  # asked next, and by nobody before; empty: it ends without a new call
    waiting: tuple[ChatRequest, ...] = ()

    def go_on(self, replies: tuple[ChatReply, ...] | None) -> None:
        """Send the conversation the replies it waits for; None begins it."""
        try:
            self.waiting = next(self.conversation) if replies is None else self.conversation.send(replies)
        except StopIteration:
            self.waiting = ()


def replay(conversations: Sequence[Conversation[Any]], targets: Mapping[str, Target], *, at: datetime) -> list[Replay]:
    """Hold conversations side by side with stored replies, as far as these go; `targets` by the endpoints they name.

    The ledger is asked once for each step of the longest one, and 500 questions.
    """
    replays = [Replay(conversation) for conversation in conversations]
    for each in replays:
        each.go_on(None)
    while asking := [each for each in replays if each.waiting and not each.unpaid]:
        keys = [[call_key(targets[request.endpoint].config, request) for request in each.waiting] for each in asking]
        stored = find_finished([key for batch in keys for key in batch], at=at)
        for each, batch in zip(asking, keys, strict=True):
            keyed = list(zip(each.waiting, batch, strict=True))
            each.replied += [request for request, key in keyed if key in stored]
            each.unpaid = tuple(request for request, key in keyed if key not in stored)
            if not each.unpaid:
                each.go_on(tuple(reply_of(stored[key]) for key in batch))
    return replays


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
    once: Decimal | None = None  # USD of one attempt at most, once it was asked for

    @property
    def at_stake(self) -> Decimal:
        """USD that it may cost at most, as far as that is known."""
        return self.reserved or self.worst or Decimal(0)

    def lost(self, sends: int) -> Decimal:
        """Return the USD that so many attempts without an answer may cost at most: one is not cut off and doubled."""
        if not sends:
            return Decimal(0)
        if sends > 1 or self.past:
            return self.at_stake
        if self.once is None:
            self.once = self.target.worst_case(self.request, truncation_retry=False)
        return self.at_stake if self.once is None else min(self.once, self.at_stake)

    def give_up(self, paid: tuple[Attempt, ...], *, reason: str) -> CallRecord:
        """Return what the ledger keeps of attempts that came to nothing; the request then has nothing set aside.

        They still count as attempts of the request, and no longer as a cost.
        """
        record = self.record(reply_of_attempt(paid, RetryDecision(RetryAction.REQUEUE, reason=reason)))
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


BATCH = 2000


def prune_calls(*, older_than: datetime, at: datetime, dry_run: bool) -> tuple[int, int, int]:
    """Remove request and reply of calls that ended before `older_than` and that no current result rests on.

    Returns how many these are, how many of them have no finished reply, and how many calls are old enough.

    Kept are the calls of current verdicts and of answers, those of debates, whose pages replay them, and those of runs
    that have not ended. A call without its text is not reused: whoever asks the same again pays again.
    """
    last = Call.objects.aggregate(last=Max("pk"))["last"] or 0
    needed = bytearray(last + 1)  # 1 where a current verdict or an answer rests on the call
    for model in (Verdict, EsiItem, Ask):
        _mark(needed, model._default_manager.values_list("call_ids", flat=True).iterator(chunk_size=BATCH))
    calls = errors = looked_at = 0
    for batch in row_pages(_old_calls(older_than).only("status"), BATCH):
        looked_at += len(batch)
        prunable = [call for call in batch if not needed[call.pk] or call.status != ReplyStatus.FINISHED]
        calls += len(prunable)
        errors += sum(call.status != ReplyStatus.FINISHED for call in prunable)
        if prunable and not dry_run:
            rows = Call.objects.filter(pk__in=[call.pk for call in prunable])
            rows.update(request={}, prompt=None, text="", label_logprobs={}, pruned_at=at)
    if not dry_run:
        _drop_unused_prompts()
    return calls, errors, looked_at


def _drop_unused_prompts() -> None:
    """Delete the messages that no call refers to any more, batch by batch."""
    unused = CallPrompt.objects.filter(~Exists(Call.objects.filter(prompt=OuterRef("pk"))))
    for batch in row_pages(unused.only("pk"), BATCH):
        unused.filter(pk__in=[prompt.pk for prompt in batch]).delete()


def _old_calls(older_than: datetime) -> QuerySet[Call]:
    ended = Q(run=None) | Q(run__status__in=[RunStatus.FINISHED, RunStatus.CANCELLED])
    replayed = Q(run__kind=RunKind.DEBATE, status=ReplyStatus.FINISHED)
    return Call.objects.filter(ended, finished_at__lt=older_than, pruned_at=None).exclude(replayed)


def _mark(needed: bytearray, call_id_lists: Iterable[list[int]]) -> None:
    for call_ids in call_id_lists:
        for pk in call_ids:
            if pk < len(needed):
                needed[pk] = 1
