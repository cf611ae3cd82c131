"""The usage that a reply reports, in the forms of OpenAI, DeepSeek, xAI, Gemini and OpenRouter."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any

from evalsite.base.json_types import JsonDict
from judging.llm.usage import UsageDetails

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
