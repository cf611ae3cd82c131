"""The ledger of calls: what was asked before is not asked again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from math import isfinite

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from evalsite.base.json_types import JsonDict, JsonObject
from judging.llm.chat import ChatReply, ReplyStatus
from judging.llm.identity import canonical_json
from judging.models import Call, CallHour, CallPrompt, ModelEndpoint
from judging.services.calls.day_budgets import book_unheard
from judging.services.storable import storable

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

    @property
    def most_cost(self) -> Decimal:
        """USD that it may have cost at most."""
        return self.unheard + (self.reserved if self.cost is None else self.cost)


def find_finished(keys: Collection[str], *, at: datetime) -> dict[str, Call]:
    """Return the finished calls among `keys` that may be reused: neither pruned nor too old for their endpoint."""
    return {call.key: call for part in _reusable(keys, at) for call in part}


def finished_keys(keys: Collection[str], *, at: datetime) -> set[str]:
    """Return those of `keys` whose calls may be reused, and would not be paid for again."""
    return {key for part in _reusable(keys, at) for key in part.values_list("key", flat=True)}


def _reusable(keys: Collection[str], at: datetime) -> Iterator[QuerySet[Call]]:
    ordered = list(dict.fromkeys(keys))
    usable = Q(status=ReplyStatus.FINISHED, pruned_at=None, superseded_at=None)
    for endpoint_id, days in _reuse_days():
        usable &= ~Q(endpoint_id=endpoint_id, finished_at__lt=at - timedelta(days=days))
    for start in range(0, len(ordered), LOOK_UP_SIZE):
        yield Call.objects.filter(usable, key__in=ordered[start : start + LOOK_UP_SIZE])


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


def messages_digest(messages: object) -> str:
    """Return the hash that a call's messages are stored under."""
    return sha256(canonical_json(messages)).hexdigest()


def store_prompts(message_lists: Sequence[object]) -> list[int]:
    """Store messages that are not stored yet and return the keys of all their rows, in the order given."""
    digests = [messages_digest(messages) for messages in message_lists]
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
    for start in range(0, len(digests), LOOK_UP_SIZE):
        rows = CallPrompt.objects.filter(digest__in=digests[start : start + LOOK_UP_SIZE])
        prompt_ids |= dict(rows.values_list("digest", "pk"))
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
        cost=record.cost,
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
