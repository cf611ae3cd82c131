"""One HTTP attempt, classified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """What one attempt came to; what follows from it is for `retries.decide` to say."""

    FINISHED = "finished"
    TRUNCATED = "truncated"
    REFUSED = "refused"  # content filter or refusal
    RATE_LIMITED = "rate-limited"  # 429
    QUOTA = "quota"  # 429 that waiting does not cure, or 402
    SERVER_ERROR = "server-error"  # 5xx
    PASSING = "passing"  # 408, 409, network trouble, a 200 whose body is no chat completion
    PARAMETER_REFUSED = "parameter-refused"  # a 400 that names an optional field; it is left out from now on
    CLIENT_ERROR = "client-error"  # another 4xx or a redirect
    FORBIDDEN = "forbidden"  # the address is one that may not be called; nothing was sent


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. `error_text` is our own sentence: nothing of an error page is ever repeated."""

    outcome: Outcome
    status_code: int | None = None
    error_kind: str = ""
    error_text: str = ""
    retry_after_seconds: float | None = None
    refused: frozenset[str] = frozenset()  # capabilities that the endpoint turned out not to have
    accepted: frozenset[str] = frozenset()  # capabilities that the request used with success
    text: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    label_logprobs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether this is one of the five attempts a request has."""
        return self.outcome is not Outcome.PARAMETER_REFUSED

    @property
    def is_paid(self) -> bool:
        """Whether the provider counted tokens for it."""
        return self.prompt_tokens is not None or self.completion_tokens is not None
