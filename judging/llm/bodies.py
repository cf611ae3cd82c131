"""Request bodies out, reply bodies in: the chat-completions format and what its errors say about an endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.llm.attempts import Attempt, Outcome
from judging.llm.chat import ChatRequest
from judging.llm.endpoints import Capabilities, EndpointConfig


@dataclass(frozen=True, slots=True)
class Body:
    """A request body and the capabilities that it relies on."""

    content: bytes
    used: frozenset[str]


def build_body(
    endpoint: EndpointConfig, request: ChatRequest, capabilities: Capabilities, *, max_tokens: int | None
) -> Body:
    """Return the JSON to post; what the endpoint is known to refuse is left out or replaced.

    json_schema falls back to json_object and that to nothing; max_tokens to max_completion_tokens.
    """
    body: dict[str, Any] = dict(endpoint.extra)
    body["model"] = endpoint.model
    body["messages"] = [{"role": message.role, "content": message.content} for message in request.messages]
    used = set()
    for name in ("temperature", "top_p", "seed"):
        value = getattr(request, name)
        if value is not None and getattr(capabilities, name) is not False:
            body[name] = value
            used.add(name)
    if request.top_logprobs and capabilities.logprobs is not False:
        body.update(logprobs=True, top_logprobs=request.top_logprobs)
        used.add("logprobs")
    if max_tokens is not None:
        spelled = "max_completion_tokens" if capabilities.max_tokens is False else "max_tokens"
        body[spelled] = max_tokens
        used.add(spelled)
    response_format = _response_format(request.response_format, capabilities)
    if response_format is not None:
        body["response_format"] = response_format
        used.add(str(response_format.get("type")))
    names = frozenset(used) & frozenset(Capabilities.__slots__)
    return Body(json.dumps(body, separators=(",", ":"), default=dict).encode(), names)


def _response_format(asked: Mapping[str, Any] | None, capabilities: Capabilities) -> Mapping[str, Any] | None:
    if asked is None:
        return None
    if asked.get("type") == "json_schema" and capabilities.json_schema is False:
        asked = {"type": "json_object"}
    if asked.get("type") == "json_object" and capabilities.json_object is False:
        return None
    return asked


# --- replies

STORABLE = str.maketrans({"\x00": "\ufffd"})  # PostgreSQL cannot hold NUL in text


def read_completion(content: bytes, *, used: frozenset[str]) -> Attempt:
    """Return the attempt that a 200 with this body stands for."""
    try:
        payload = json.loads(content)
        choice = payload["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        refusal = message.get("refusal")
        finish = str(choice.get("finish_reason") or "")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return Attempt(Outcome.PASSING, 200, "bad-reply", "The endpoint's answer is not a chat completion.")
    usage = payload.get("usage")
    outcome, kind, sentence = _outcome(finish, refused=bool(refusal))
    return Attempt(
        outcome,
        200,
        error_kind=kind,
        error_text=sentence,
        accepted=used,
        text=text or (_text(refusal) if refusal else ""),
        finish_reason=finish[:40],
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        label_logprobs=_first_token(choice.get("logprobs")),
    )


def _outcome(finish: str, *, refused: bool) -> tuple[Outcome, str, str]:
    if finish == "content_filter":
        return Outcome.REFUSED, "content-filter", "The provider's content filter stopped the answer."
    if refused:
        return Outcome.REFUSED, "refusal", "The model refused to answer."
    if finish == "length":
        return Outcome.TRUNCATED, "truncated", "The answer reached the token limit."
    return Outcome.FINISHED, "", ""


def _text(content: Any) -> str:
    """Plain text, or the text parts of a list; whatever no database could hold is replaced."""
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    text = "" if content is None else str(content)
    return text.encode("utf-8", "replace").decode().translate(STORABLE)


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first_token(logprobs: Any) -> dict[str, float]:
    """The first token's alternatives with their log-probabilities; empty where the reply has none."""
    try:
        alternatives = logprobs["content"][0]["top_logprobs"]
        return {_text(item["token"]): float(item["logprob"]) for item in alternatives}
    except (TypeError, KeyError, IndexError, ValueError):
        return {}


# --- errors

# Kinds of error that providers name; anything else in an error page is not repeated.
KNOWN_CODES = frozenset(
    [
        "account_deactivated",
        "billing_hard_limit_reached",
        "billing_not_active",
        "content_filter",
        "content_policy_violation",
        "context_length_exceeded",
        "insufficient_quota",
        "invalid_api_key",
        "invalid_request_error",
        "model_not_found",
        "not_found_error",
        "overloaded_error",
        "permission_error",
        "rate_limit_error",
        "rate_limit_exceeded",
        "server_error",
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
    ]
)
QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
UNSUPPORTED = re.compile(
    r"unsupported|not supported?|n.t support|unrecogni[sz]ed|unknown|not permitted|not allowed|unexpected|"
    r"extra (?:inputs|fields)|extra_forbidden|unavailable|not available|not enabled|deprecated"
)
SPELLINGS = {
    "json_schema": ("response_format", "json_schema"),
    "json_object": ("response_format", "json_object"),
    "seed": ("seed",),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "logprobs": ("logprobs", "top_logprobs"),
    "max_tokens": ("max_tokens",),
}


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """What may be known of an error's body: a code from our own list, and words to search for refused fields."""

    code: str = ""
    words: str = ""


def read_error(content: bytes) -> ErrorPage:
    """Return what an error's body says in the formats of OpenAI-compatible servers; empty for any other page."""
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        return ErrorPage()
    payload = payload[0] if isinstance(payload, list) and payload else payload
    if not isinstance(payload, dict):
        return ErrorPage()
    error = payload.get("error", payload)
    if not isinstance(error, dict):
        return ErrorPage(words=str(error).lower())
    named = [error.get("code"), error.get("type"), payload.get("code")]
    code = next((str(name) for name in named if str(name) in KNOWN_CODES), "")
    words = [error.get("message"), error.get("param"), *named, *_details(payload.get("detail"))]
    return ErrorPage(code, " ".join(str(word) for word in words if word).lower()[:4000])


def _details(detail: Any) -> list[Any]:
    """The words of a validation error as FastAPI servers spell it, without the input that it quotes."""
    if not isinstance(detail, list):
        return [detail]
    items = [item for item in detail if isinstance(item, dict)]
    return [word for item in items for word in (item.get("type"), item.get("msg"), *(item.get("loc") or ()))]


def refused_capabilities(page: ErrorPage, *, used: frozenset[str]) -> frozenset[str]:
    """Return which of the used capabilities this 400 says the endpoint does not have."""
    if not UNSUPPORTED.search(page.words):
        return frozenset()
    found = set(re.findall(r"[a-z_]+", page.words))
    return frozenset(name for name in used if not found.isdisjoint(SPELLINGS[name]))
