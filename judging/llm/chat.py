"""What is asked of a model and what comes back, as plain data shared by judges, debates and the call engine."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from evalsite.base.json_types import JsonObject
from judging.llm.usage import NO_DETAILS, UsageDetails

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: str  # system | user | assistant
    content: str


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
