"""What is asked of a model and what comes back, as plain data shared by judges, debates and the call engine.

With it one HTTP attempt, classified, and what a reply used beside its prompt and its text, as providers report it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any, TypeVar

from evalsite.base.types import JsonDict, JsonObject, json_writer
from judging.llm.endpoints import EndpointConfig


@dataclass(frozen=True, slots=True)
class UsageDetails:
    """Parts of the tokens of a reply; None where the provider does not report them."""

    cached_tokens: int | None = None  # of the prompt tokens, those read from the provider's cache
    reasoning_tokens: int | None = None  # of the completion tokens, those of thinking
    apart_tokens: int = 0  # of the completion tokens, those of thinking that the provider counts on top
    billed: Decimal | None = None  # USD, where the provider says what it charged


NO_DETAILS = UsageDetails()


def total_details(each: Sequence[UsageDetails]) -> UsageDetails:
    """Return the details of several attempts together; what was charged is known only where each of them says so."""
    billed = [details.billed for details in each if details.billed is not None]
    return UsageDetails(
        cached_tokens=known_sum([details.cached_tokens for details in each]),
        reasoning_tokens=known_sum([details.reasoning_tokens for details in each]),
        apart_tokens=sum(details.apart_tokens for details in each),
        billed=sum(billed, Decimal(0)) if billed and len(billed) == len(each) else None,
    )


def known_sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum of the counts that are known; None where none is."""
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if known_counts else None


class AttemptOutcome(StrEnum):
    """What one attempt came to; what follows from it is for `retries.decide` to say."""

    FINISHED = "finished"
    TRUNCATED = "truncated"
    REFUSED = "refused"  # content filter or refusal
    UNUSABLE = "unusable"  # a reply without text, or that ended for a reason no answer ends for
    RATE_LIMITED = "rate-limited"  # 429
    QUOTA = "quota"  # no money is left; waiting does not cure it
    SERVER_ERROR = "server-error"  # 5xx
    PASSING = "passing"  # 408, 409, network trouble, a 200 whose body is no chat completion
    PARAMETER_REFUSED = "parameter-refused"  # an error that names an optional field; it is left out from now on
    SETUP = "setup"  # key, model, address, access or extra fields are wrong: no request can succeed
    CLIENT_ERROR = "client-error"  # another 4xx: this request cannot succeed
    FORBIDDEN = "forbidden"  # the address is one that may not be called; nothing was sent


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt.

    `error_text` is our own sentence, for everybody; `provider_text` is the provider's, cleaned, for administrators.
    """

    outcome: AttemptOutcome
    status_code: int | None = None
    error_kind: str = ""
    error_text: str = ""
    provider_text: str = ""
    retry_after_seconds: float | None = None
    refused: frozenset[str] = frozenset()  # fields that the endpoint turned out not to take
    accepted: frozenset[str] = frozenset()  # capabilities that the request used with success
    text: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    usage: UsageDetails = NO_DETAILS
    label_logprobs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    retry_once: bool = False  # the second time the same happens, it stands
    json_at_fault: bool = False  # worth a third attempt without JSON mode
    is_unheard: bool = False  # sent, and broken off before the answer was here: nobody knows what it cost
    can_double: bool = True  # False: a truncated reply that a higher limit would not lengthen
    sent: JsonObject = field(default_factory=dict)  # the body but for messages that went out as they were asked
    head: Mapping[str, str] = field(default_factory=dict)  # who answered: model, system_fingerprint, request_id, ...

    @property
    def counts(self) -> bool:
        """Whether this is one of the five attempts a request has."""
        return self.outcome is not AttemptOutcome.PARAMETER_REFUSED

    @property
    def is_paid(self) -> bool:
        """Whether the provider counted tokens for it, or may have."""
        return self.prompt_tokens is not None or self.completion_tokens is not None or self.is_unheard


R = TypeVar("R")
MISSING = "(This image is missing.)"


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A text or an image of a message. An image is known by its hash; its bytes are put in when it is sent."""

    text: str = ""
    digest: str = ""
    media_type: str = ""
    data: bytes = field(default=b"", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: its text, and the parts that follow it."""

    role: str  # system | user | assistant | tool
    content: str
    parts: tuple[MessagePart, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)  # further fields as they are sent, such as tool_calls


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One chat completion to ask for. All but `endpoint`, `material` and `is_probe` take part in its identity."""

    messages: tuple[Message, ...]
    endpoint: str = ""  # name of the endpoint; empty: the conversation's own
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = 1024
    seed: int | None = None
    response_format: JsonObject | None = None
    top_logprobs: int = 0
    sample_index: int = 0  # distinguishes deliberate repetitions of the same request
    extra: JsonObject = field(default_factory=dict)  # further fields of the body, such as top_k
    material: JsonObject = field(default_factory=dict)  # the same content, structured, for lexical baselines
    is_probe: bool = False  # only the first token's alternatives matter: a reply cut off behind them is whole


class ReplyStatus(StrEnum):
    """Only `finished` replies are kept in the ledger as finished; the others may be asked again."""

    FINISHED = "finished"
    TRUNCATED = "truncated"  # finish_reason "length", also after the retry with doubled tokens
    REFUSED = "refused"  # the provider's content filter or an explicit refusal field
    FAILED = "failed"  # no usable answer: network, HTTP error, retries exhausted


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What came back for one request."""

    status: ReplyStatus
    text: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error_kind: str = ""  # "http-500", "timeout", "connection", "rate-limited", "budget", ...; empty when finished
    error_text: str = ""
    provider_text: str = ""  # the provider's own sentence of an error, cleaned; for administrators
    label_logprobs: Mapping[str, float] = field(default_factory=dict)  # first token's alternatives -> log-probability
    seconds: float = 0.0
    attempts: int = 1
    unheard: int = 0  # attempts that were sent and broke off: nobody knows what they cost
    sent: JsonObject = field(default_factory=dict)  # the last attempt's body, without unchanged messages
    head: Mapping[str, str] = field(default_factory=dict)  # who answered: model, system_fingerprint, request_id, ...

    usage: UsageDetails = NO_DETAILS  # of all attempts
    cut_tokens: int = 0  # of the completion tokens, those of attempts that were cut off: paid for, no part of the text

    @property
    def text_tokens(self) -> int | None:
        """How long the text is; None where the provider did not count the attempt that it came in."""
        return (self.completion_tokens or 0) - self.cut_tokens or None

    @property
    def token_limit(self) -> int | None:
        """The limit that the last attempt was sent with; None where it had none."""
        limit = self.sent.get("max_tokens") or self.sent.get("max_completion_tokens")
        return limit if isinstance(limit, int) else None

    @property
    def was_counted(self) -> bool:
        """Whether the provider counted tokens for it."""
        return self.prompt_tokens is not None or self.completion_tokens is not None


# A conversation yields a batch of requests that may run in parallel, is sent their replies in the same order, and
# returns its result. It is pure and deterministic: replayed against stored replies it asks the same again.
Conversation = Generator[tuple[ChatRequest, ...], tuple[ChatReply, ...], R]


def sent_message(message: Message) -> JsonDict:
    """Return a message of the chat-completions format, images as data URIs."""
    if not message.parts:
        return {"role": message.role, "content": message.content, **message.extra}
    lead = [MessagePart(message.content)] if message.content else []
    return {
        "role": message.role,
        "content": [_sent_part(part) for part in (*lead, *message.parts)],
        **message.extra,
    }


def kept_message(message: Message) -> JsonDict:
    """Return a message for the ledger: images by their hashes, so that a call stays small."""
    fields: JsonDict = {"role": message.role, "content": message.content, **message.extra}
    return fields | ({"parts": [_kept_part(part) for part in message.parts]} if message.parts else {})


def message_identity(message: Message) -> list[Any]:
    """Return what tells a message from others; of a text alone it is what it was before there were parts."""
    parts: list[Any] = [message.role, message.content]
    if message.parts or message.extra:
        parts.append([[part.text, part.digest] for part in message.parts])
    return [*parts, message.extra] if message.extra else parts


def with_data(request: ChatRequest, pictures: dict[str, bytes]) -> ChatRequest:
    """Return the request with the bytes of its images."""

    def filled(part: MessagePart) -> MessagePart:
        return replace(part, data=pictures.get(part.digest, b"")) if part.digest else part

    messages = tuple(
        replace(message, parts=tuple(map(filled, message.parts))) if message.parts else message
        for message in request.messages
    )
    return replace(request, messages=messages)


def images_of(request: ChatRequest) -> list[str]:
    """Return the hashes of the images of a request, each once."""
    digests = (part.digest for message in request.messages for part in message.parts if part.digest)
    return list(dict.fromkeys(digests))


def _sent_part(part: MessagePart) -> JsonDict:
    if not part.digest:
        return {"type": "text", "text": part.text}
    if not part.data:
        return {"type": "text", "text": MISSING}
    encoded = base64.b64encode(part.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{encoded}"}}


def _kept_part(part: MessagePart) -> dict[str, str]:
    return {"image": part.digest, "media_type": part.media_type} if part.digest else {"text": part.text}


SCHEMA_VERSION = 1  # raise it when the meaning of a field below changes: old answers then stop matching

# `endpoint` is a local name: URL and model stand for it. `material` repeats the messages for lexical baselines, and a
# probe is known by its sample index.
NOT_IDENTITY = frozenset({"endpoint", "material", "is_probe"})
WHERE_ANY = frozenset({"extra"})  # in the key where there is any: most requests have none, as all once had
_ENCODE = json_writer(sort_keys=True, separators=(",", ":"), allow_nan=False)


def call_key(endpoint: EndpointConfig, request: ChatRequest) -> str:
    """Return the SHA-256 (64 hex digits) of the call's canonical JSON.

    It covers URL, model, messages, every sampling field, the endpoint's extra fields, query and headers,
    response_format, sample index and schema version. A field added to `ChatRequest` later takes part by itself.
    """
    left_out = NOT_IDENTITY | WHERE_ANY
    request_fields = {
        field.name: getattr(request, field.name) for field in fields(request) if field.name not in left_out
    }
    optional_parts = {"query": endpoint.query, "headers": endpoint.headers, "request_extra": request.extra}
    request_fields["messages"] = [message_identity(message) for message in request.messages]
    return sha256(
        canonical_json(
            {
                "url": endpoint.base_url.rstrip("/"),
                "model": endpoint.model,
                "extra": endpoint.extra,
                "request": request_fields,
                "schema_version": SCHEMA_VERSION,
                **{name: value for name, value in optional_parts.items() if value},  # most have none, as all once had
            }
        )
    ).hexdigest()


def canonical_json(value: object) -> bytes:
    """Return one byte string per value: sorted keys, no spaces, ASCII only, whole floats written as integers.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value holds something that JSON does not know.
    """
    return _ENCODE(_plain(value)).encode()


def _plain(value: object) -> Any:
    """Mappings as dicts, sequences as lists, 0.0 as 0: a temperature reads alike from YAML, a form and a database."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [item if type(item) is str else _plain(item) for item in value]
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(name): item if type(item) is str else _plain(item) for name, item in value.items()}
    return value


# What a model wrote before its answer: thinking that servers without a parser leave in the text.
#
# The tag that begins it is often part of the prompt's template, so that a reply holds only the one that ends it.

_STARTS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def after_thinking(text: str) -> str | None:
    """Return the text after the last end of thinking; None where thinking began again and never ended."""
    end = _last_end(text)
    return None if _STARTS.search(text, end) else text[end:].strip()


def without_thinking(text: str) -> str:
    """Return a text that may speak of such tags without the thinking it begins with; empty where that never ends."""
    end = _last_end(text)
    return "" if not end and _STARTS.match(text.lstrip()) else text[end:].strip()


def _last_end(text: str) -> int:
    end = 0
    for end_tag in _ENDS.finditer(text):
        end = end_tag.end()
    return end
