"""One HTTP attempt, classified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evalsite.base.json_types import JsonObject
from judging.llm.usage import NO_DETAILS, UsageDetails


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
