"""The usage of a reply, in every provider's form."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from judging.llm.replies.usage_reports import read_usage
from judging.llm.usage import NO_DETAILS, UsageDetails

OPENAI = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 40},
}


@pytest.mark.parametrize(
    ("usage", "tokens", "details"),
    [
        (OPENAI, (100, 50), UsageDetails(64, 40)),
        # DeepSeek names its cache apart
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 8}, (9, 2), UsageDetails(8)),
        # xAI counts thinking on top: 100 + 50 + 40 = 190 in all
        (OPENAI | {"total_tokens": 190}, (100, 90), UsageDetails(64, 40, 40)),
        # without a total, more thinking than completion shows the same
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 30}},
            (9, 32),
            UsageDetails(None, 30, 30),
        ),
        # Gemini does not name its thinking: 100 - 9 - 2
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 100}, (9, 91), UsageDetails(None, 89, 89)),
        # OpenRouter says what it charged
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.00014},
            (9, 2),
            UsageDetails(billed=Decimal("0.00014")),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 2, "cost": float("nan")}, (9, 2), NO_DETAILS),
        ({"prompt_tokens": 9, "completion_tokens": 2, "cost": -1}, (9, 2), NO_DETAILS),
        # no more can come from the cache than was sent
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 80}, (9, None), UsageDetails(9)),
        ({"prompt_tokens": 2**31, "completion_tokens": 10**30}, (None, None), NO_DETAILS),
        ({"prompt_tokens": True, "completion_tokens": "2"}, (None, None), NO_DETAILS),
        ("many", (None, None), NO_DETAILS),
    ],
)
def test_read_usage(usage: Any, tokens: tuple[int | None, int | None], details: UsageDetails) -> None:
    assert read_usage(usage) == {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "usage": details}
