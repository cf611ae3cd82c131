"""Our own functions that compute a score, by the names that suites call them with under `customized`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.base.json_types import JsonObject
from judging.grading.grades import SpecFault


@dataclass(frozen=True, slots=True)
class HandlerReply:
    """What a post handler or custom function returns."""

    got: float
    total: float
    detail: Any = None


def valid_json(text: str, arguments: JsonObject) -> HandlerReply:
    """Return 1 of 1 where the whole response, code fences aside, is JSON."""
    lines = [line for line in text.strip().split("\n") if not line.lstrip().startswith("```")]
    try:
        json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        return HandlerReply(0.0, 1.0, f"not JSON: {error}")
    return HandlerReply(1.0, 1.0, "valid JSON")


def word_limit(text: str, arguments: JsonObject) -> HandlerReply:
    """Return 1 of 1 where the response has at most `arguments.limit` words (100 where none is given)."""
    limit = arguments.get("limit", 100)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        raise SpecFault("TypeError", f"`limit` must be a number, not {limit!r}.")
    words = len(text.split())
    return HandlerReply(float(words <= limit), 1.0, f"{words} words, {limit} allowed")


CustomFunction = Callable[[str, JsonObject], HandlerReply]
METRICS: Mapping[tuple[str, str], CustomFunction] = {
    ("builtin", "valid_json"): valid_json,
    ("builtin", "word_limit"): word_limit,
}
