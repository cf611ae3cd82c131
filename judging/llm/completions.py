"""The body of a reply with status 200, whole or streamed: a completion, cut off or refused, or an error after all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from evalsite.base.types import JsonDict, JsonObject
from judging.llm.chat import Attempt, AttemptOutcome, UsageDetails, without_thinking
from judging.llm.errors import RequestFields, classify_error, page_of

MOST_TOKENS = 2_000_000_000  # no call has more, and no column holds more
MOST_DOLLARS = 10_000  # of one call; a higher figure is not one of dollars


def read_usage(usage: Any) -> JsonDict:
    """Return an attempt's fields for the tokens that a reply reports; completion tokens hold all thinking.

    xAI and Gemini count thinking on top of `completion_tokens`: it shows in their total, or in more thinking than
    completion.
    """
    usage = usage if isinstance(usage, dict) else {}
    prompt, completion = count_in(usage, "prompt_tokens"), count_in(usage, "completion_tokens")
    reasoning = count_in(usage.get("completion_tokens_details"), "reasoning_tokens")
    apart = _apart(usage, prompt, completion, reasoning)
    if completion is not None:
        completion += apart
    cached = count_in(usage.get("prompt_tokens_details"), "cached_tokens")
    if cached is None:
        cached = count_in(usage, "prompt_cache_hit_tokens")
    details = UsageDetails(
        cached_tokens=None if cached is None or prompt is None else min(cached, prompt),
        reasoning_tokens=max(reasoning or 0, apart) if apart else reasoning,
        apart_tokens=apart,
        billed=_billed(usage.get("cost")),
    )
    return {"prompt_tokens": prompt, "completion_tokens": completion, "usage": details}


def count_in(usage: Any, name: str) -> int | None:
    """Return a count of tokens; None where there is none that can be one."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _apart(usage: JsonDict, prompt: int | None, completion: int | None, reasoning: int | None) -> int:
    total = count_in(usage, "total_tokens")
    if prompt is None or completion is None:
        return 0
    if total is not None and total > prompt + completion:
        return min(total - prompt - completion, MOST_TOKENS - completion)
    return reasoning if reasoning is not None and reasoning > completion else 0


def _billed(cost: Any) -> Decimal | None:
    """Return OpenRouter's cost in dollars."""
    if type(cost) not in (int, float) or not isfinite(cost) or not 0 <= cost <= MOST_DOLLARS:
        return None
    return Decimal(str(cost))


STORABLE = str.maketrans({"\x00": "\ufffd"})  # PostgreSQL cannot hold NUL in text
MOST_HEAD = 200  # characters of each
STREAM_FIELDS = frozenset({"stream", "stream_options"})
JSON_MODES = frozenset({"json_schema", "json_object"})

# Finish reasons, in lower case. Whatever is not listed is not taken for an answer.
FINISHED = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", ""})
CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens"})
FULL = frozenset({"model_length", "model_context_window_exceeded"})  # a doubled limit would not help
FILTERED = frozenset(
    ["content_filter", "sensitive", "safety", "recitation", "prohibited_content", "blocklist", "spii", "refusal"]
)
BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource", "network_error"})


@dataclass(frozen=True, slots=True)
class Completion:
    """The parts of a completion that decide what it is."""

    text: str
    finish: str  # as spelt
    has_reasoning: bool  # thinking without an answer yet
    refusal: str


def read_completion(content: bytes, *, sent: RequestFields, headers: Mapping[str, str], at: datetime) -> Attempt:
    """Return the attempt that a reply with status 200 and this body stands for."""
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        if content.lstrip()[:1] == b"<":
            text = "The address of the endpoint returns a web page, not chat completions."
            return Attempt(AttemptOutcome.SETUP, 200, "address", text)
        return _no_completion()
    return _of_payload(payload, sent, headers, at)


def read_stream(reader: StreamReader, *, sent: RequestFields, headers: Mapping[str, str], at: datetime) -> Attempt:
    """Return the attempt that a reply with status 200 stands for that was asked for as a stream."""
    if reader.plain is not None:  # the endpoint does not stream
        sent = replace(sent, used=sent.used - STREAM_FIELDS)
        return read_completion(bytes(reader.plain), sent=sent, headers=headers, at=at)
    if not reader.events:
        return _no_completion()
    payload = reader.payload()
    if reader.has_choice and reader.finish is None and reader.error is None:
        text = "The stream ended before the reply was finished."
        broken = Attempt(AttemptOutcome.PASSING, 200, "broken-off", text, is_unheard=reader.usage is None)
        return replace(broken, **read_usage(reader.usage), head=_head(payload, headers))
    return _of_payload(payload, sent, headers, at)


def _of_payload(payload: Any, sent: RequestFields, headers: Mapping[str, str], at: datetime) -> Attempt:
    if not isinstance(payload, dict):
        return _no_completion()
    error = _error_inside(payload)
    if error is not None:
        page = page_of(error)
        status = page.status if page.status is not None and 400 <= page.status < 600 else 500
        failed = classify_error(status, page, sent=sent, headers=headers, at=at)
        return replace(failed, **read_usage(payload.get("usage")), head=_head(payload, headers))
    return _of_choices(payload, sent, headers)


def _of_choices(payload: JsonObject, sent: RequestFields, headers: Mapping[str, str]) -> Attempt:
    choices = payload.get("choices")
    if choices == []:
        blocked = Attempt(
            AttemptOutcome.REFUSED,
            200,
            "no-choices",
            "The provider returned no reply, probably because of its content filter.",
            retry_once=True,
        )
        return replace(blocked, **read_usage(payload.get("usage")), head=_head(payload, headers))
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        completion = Completion(
            _text("".join(_spoken(message))),
            str(choice.get("finish_reason") or ""),
            _reasons(message),
            _text(message.get("refusal") or ""),
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        return _no_completion()
    logprobs = _first_token(choice.get("logprobs"))
    return replace(
        _outcome_of(completion, sent),
        status_code=200,
        accepted=accepted_fields(sent.used, completion.text, logprobs),
        text=completion.text or completion.refusal,
        finish_reason=completion.finish[:40],
        label_logprobs=logprobs,
        head=_head(payload, headers, choice.get("native_finish_reason")),
        **read_usage(payload.get("usage")),
    )


def _outcome_of(completion: Completion, sent: RequestFields) -> Attempt:
    finish = completion.finish.lower()
    if finish in FILTERED:
        text = "The provider's content filter stopped the reply."
        return Attempt(AttemptOutcome.REFUSED, error_kind="content-filter", error_text=text)
    if completion.refusal:
        return Attempt(AttemptOutcome.REFUSED, error_kind="refusal", error_text="The model refused to answer.")
    if finish in BROKEN_OFF:
        text = "The provider interrupted the reply."
        return Attempt(AttemptOutcome.PASSING, error_kind="broken-off", error_text=text)
    if finish in CUT_OFF | FULL:
        text = "The reply reached the token limit."
        return Attempt(AttemptOutcome.TRUNCATED, error_kind="truncated", error_text=text, can_double=finish in CUT_OFF)
    if finish not in FINISHED:
        text = f'The reply ended with the finish reason "{completion.finish[:40]}", so it is not complete.'
        return Attempt(AttemptOutcome.UNUSABLE, error_kind="finish-reason", error_text=text, retry_once=True)
    return _whole(completion, sent)


def _whole(completion: Completion, sent: RequestFields) -> Attempt:
    """Return the outcome of an answer that ended as answers do; one without text is none."""
    if without_thinking(completion.text):
        return Attempt(AttemptOutcome.FINISHED)
    if completion.has_reasoning or completion.text.strip():
        text = "The model used its whole token limit for reasoning and gave no reply."
        return Attempt(AttemptOutcome.TRUNCATED, error_kind="truncated", error_text=text)
    return Attempt(
        AttemptOutcome.UNUSABLE,
        error_kind="empty",
        error_text="The model gave an empty reply.",
        retry_once=True,
        json_at_fault=not sent.used.isdisjoint(JSON_MODES),
    )


def accepted_fields(used: frozenset[str], text: str, logprobs: Mapping[str, float]) -> frozenset[str]:
    """Return the fields that this answer shows to be taken.

    Log-probabilities must be there and an asked-for JSON must be JSON; of the others no more can be seen than that they
    were not refused.
    """
    idle = frozenset() if logprobs else frozenset({"logprobs"})
    if not used.isdisjoint(JSON_MODES) and not _is_json_object(text):
        idle |= JSON_MODES
    return used - idle


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _no_completion() -> Attempt:
    return Attempt(AttemptOutcome.PASSING, 200, "bad-reply", "The endpoint's reply is not a chat completion.")


def _error_inside(payload: JsonObject) -> Any:
    """Return the error that a reply with status 200 holds, in itself or in its choice; None for none."""
    if payload.get("error"):
        return {"error": payload["error"]}
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict) and first.get("error"):
        return {"error": first["error"]}
    return None


def _text(said: Any) -> str:
    """Plain text; whatever no database could hold is replaced."""
    return str(said).encode("utf-8", "replace").decode().translate(STORABLE)


def _parts(message: JsonObject) -> list[JsonObject]:
    """The parts of a message, or of a piece of one that is streamed: a text alone is one of them."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    return [part if isinstance(part, dict) else {"text": str(part)} for part in parts if part is not None]


def _is_thought(part: JsonObject) -> bool:
    return part.get("type") in ("thinking", "reasoning")


def _spoken(message: JsonObject) -> list[str]:
    """Return the texts of a message that are no thoughts."""
    texts = [part.get("text") for part in _parts(message) if not _is_thought(part)]
    return [text for text in texts if isinstance(text, str)]


def _reasons(message: JsonObject) -> bool:
    """Whether a message holds thinking beside its text."""
    return any(map(_is_thought, _parts(message))) or any(bool(message.get(name)) for name in REASONING_NAMES)


def _head(payload: JsonObject, headers: Mapping[str, str], native_finish: Any = None) -> dict[str, str]:
    """Return who answered: the model served, its fingerprint and the ids of the reply."""
    named = {name: payload.get(name) for name in HEAD_NAMES} | {
        "request_id": headers.get("x-request-id") or headers.get("request-id"),
        "native_finish_reason": native_finish,
    }
    return {name: _text(value)[:MOST_HEAD] for name, value in named.items() if value and isinstance(value, str)}


def _first_token(logprobs: Any) -> dict[str, float]:
    """The first token's alternatives with their log-probabilities; empty where the reply has none."""
    try:
        alternatives = logprobs["content"][0]["top_logprobs"]
        return {_text(item["token"]): float(item["logprob"]) for item in alternatives}
    except (TypeError, KeyError, IndexError, ValueError):
        return {}


# Replies that come as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
#
# A stream is put together into the reply that the endpoint would have given at once, so that both are read alike. Only
# what is needed for that is kept: a stream repeats its head with every token, and thinking is as long as one likes.

HEAD_NAMES = ("id", "model", "system_fingerprint", "provider", "service_tier")  # who answered
REASONING_NAMES = ("reasoning", "reasoning_content", "reasoning_details")
PLAIN_STARTS = (b"{", b"[", b"<")  # how no line of a stream begins
MOST_TEXT_BYTES = 8_000_000  # of an answer, and of one event
END = "[DONE]"


class StreamTooLarge(Exception):
    """The stream holds more text than any chat completion."""


@dataclass(slots=True)
class StreamReader:
    """Puts a stream together as it comes in. A body that is no stream is kept as it is."""

    is_over: bool = False  # the endpoint said so
    plain: bytearray | None = None  # what came instead of a stream
    events: int = 0
    finish: str | None = None
    native_finish: Any = None
    error: Any = None
    usage: JsonDict | None = None
    head: JsonDict = field(default_factory=dict)
    has_choice: bool = False
    has_reasoning: bool = False
    logprobs: Any = None
    _text: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)
    _size: int = 0
    _rest: bytes = b""
    _name: str = ""  # of the event whose lines are read
    _data: list[str] = field(default_factory=list)

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            StreamTooLarge: an event or the whole text is larger than any chat completion.
        """
        if self.plain is None and not self.events and not self._data:
            start = (self._rest + data).lstrip()
            if start[:1] in PLAIN_STARTS:
                self.plain, data, self._rest = bytearray(), self._rest + data, b""
        if self.plain is not None:
            self.plain += data
            self._check(len(self.plain))
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._check(len(self._rest))
        for line in lines:
            self._line(line.rstrip(b"\r").decode("utf-8", "replace"))

    def end(self) -> None:
        """Read what an endpoint left without its last line break."""
        self._line(self._rest.rstrip(b"\r").decode("utf-8", "replace"))
        self._line("")

    def payload(self) -> JsonDict:
        """Return the reply as if it had come at once; it has no finish reason where the stream broke off before."""
        if self.error is not None:
            return {**self.head, "error": self.error, "usage": self.usage}
        message: JsonDict = {"content": "".join(self._text), "refusal": "".join(self._refusal)}
        if self.has_reasoning:
            message["reasoning"] = True
        choice = {
            "message": message,
            "finish_reason": self.finish,
            "native_finish_reason": self.native_finish,
            "logprobs": self.logprobs,
        }
        return {**self.head, "choices": [choice] if self.has_choice else [], "usage": self.usage}

    def _check(self, size: int) -> None:
        if size > MOST_TEXT_BYTES:
            raise StreamTooLarge

    def _line(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            self._event("\n".join(self._data))
            self._name, self._data = "", []
        elif name == "data":
            self._data.append(value)
            self._check(sum(map(len, self._data)))
        elif name == "event":
            self._name = value  # all else, such as comments that keep the connection alive, says nothing

    def _event(self, data: str) -> None:
        if data.strip() == END:
            self.is_over = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self.events += 1
            self._take(event)

    def _take(self, event: JsonDict) -> None:
        error = event.get("error") or (event if self._name == "error" else None)
        self.error = self.error or error
        self.head |= {name: event[name] for name in HEAD_NAMES if event.get(name)}
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):  # we ask for one
                self._choose(choice)

    def _choose(self, choice: JsonDict) -> None:
        self.has_choice = True
        self.error = self.error or choice.get("error")
        if choice.get("finish_reason") is not None:
            self.finish = str(choice["finish_reason"])
        self.native_finish = choice.get("native_finish_reason") or self.native_finish
        logprobs = choice.get("logprobs")
        if self.logprobs is None and isinstance(logprobs, Mapping) and logprobs.get("content"):
            self.logprobs = logprobs
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._append(delta)

    def _append(self, delta: JsonDict) -> None:
        for text in _spoken(delta):
            self._add(self._text, text)
        if isinstance(delta.get("refusal"), str):
            self._add(self._refusal, delta["refusal"])
        self.has_reasoning |= _reasons(delta)

    def _add(self, texts: list[str], text: str) -> None:
        self._size += len(text)
        self._check(self._size)
        texts.append(text)
