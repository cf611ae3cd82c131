from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from judging.llm.chat import NO_DETAILS, Attempt, AttemptOutcome, UsageDetails
from judging.llm.completions import read_completion, read_usage
from judging.llm.errors import RequestFields

NOON = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


def read(payload: Any, *, used: frozenset[str] = frozenset()) -> Attempt:
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return read_completion(content, sent=RequestFields(used), headers={}, at=NOON)


def reply(content: Any, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("payload", "outcome", "kind"),
    [
        *((reply("yes", finish), AttemptOutcome.FINISHED, "") for finish in ("stop", "eos", "end_turn", "", None)),
        *(
            (reply("ye", finish), AttemptOutcome.TRUNCATED, "truncated")
            for finish in ("length", "MAX_TOKENS", "model_length")
        ),
        *(
            (reply("y", finish), AttemptOutcome.REFUSED, "content-filter")
            for finish in ("content_filter", "SAFETY", "RECITATION", "sensitive")
        ),
        *(
            (reply("half", finish), AttemptOutcome.PASSING, "broken-off")
            for finish in ("error", "abort", "insufficient_system_resource", "network_error")
        ),
        *(
            (reply("half", finish), AttemptOutcome.UNUSABLE, "finish-reason")
            for finish in ("tool_calls", "repetition", "never heard of")
        ),
        (reply("", refusal="I will not."), AttemptOutcome.REFUSED, "refusal"),
        (reply(""), AttemptOutcome.UNUSABLE, "empty"),
        (reply(" \n\t "), AttemptOutcome.UNUSABLE, "empty"),
        (reply(None, reasoning_content="Let me see"), AttemptOutcome.TRUNCATED, "truncated"),
        (reply("<think>Let me see"), AttemptOutcome.TRUNCATED, "truncated"),
        (reply("<think>Let me see</think>\n"), AttemptOutcome.TRUNCATED, "truncated"),
        (reply([{"type": "thinking", "thinking": []}]), AttemptOutcome.TRUNCATED, "truncated"),
        ({"choices": []}, AttemptOutcome.REFUSED, "no-choices"),
        ({"error": {"code": 429, "message": "x"}}, AttemptOutcome.RATE_LIMITED, "rate-limited"),
        ({"error": {"code": 402, "message": "x"}}, AttemptOutcome.QUOTA, "quota"),
        ({"error": "overloaded"}, AttemptOutcome.SERVER_ERROR, "http-500"),
        ({"choices": [{"error": {"code": 503}, "message": {}}]}, AttemptOutcome.SERVER_ERROR, "http-503"),
        (b"<!DOCTYPE html><p>Sign in", AttemptOutcome.SETUP, "address"),
        (b"\n\n\n" + json.dumps(reply("yes")).encode(), AttemptOutcome.FINISHED, ""),
        *(
            (body, AttemptOutcome.PASSING, "bad-reply")
            for body in (b"", b"null", b"[]", b"{}", b'{"choices": [{}]}', b'{"choices": [{"message": "x"}]}', b"\xff")
        ),
    ],
)
def test_read_completion_takes_for_finished_only_what_is_an_answer(
    payload: Any, outcome: AttemptOutcome, kind: str
) -> None:
    attempt = read(payload)

    assert (attempt.outcome, attempt.error_kind) == (outcome, kind)


def test_read_completion_does_not_double_what_fills_the_context() -> None:
    assert [read(reply("y", finish)).can_double for finish in ("length", "model_length")] == [True, False]


def test_read_completion_blames_json_mode_only_where_it_was_used() -> None:
    empty = reply("")

    assert [read(empty, used=frozenset(used)).json_at_fault for used in ([], ["json_object"])] == [False, True]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "a"}, "b", {"text": 1}]}, "ab"),
        ({"content": {"type": "text", "text": "a"}}, "a"),
        ({"content": "nul \x00 and half a pair \ud83d"}, "nul \ufffd and half a pair ?"),
    ],
)
def test_read_completion_keeps_only_text_that_can_be_stored(message: dict[str, object], text: str) -> None:
    usage = {"prompt_tokens": -1, "completion_tokens": 1e30}

    attempt = read({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

    assert attempt == Attempt(AttemptOutcome.FINISHED, 200, text=text, finish_reason="stop")


def test_read_completion_accepts_only_what_it_sees_work() -> None:
    used_fields = frozenset({"json_schema", "logprobs", "temperature"})
    top = {"content": [{"top_logprobs": [{"token": "1", "logprob": -0.1}]}]}
    full = reply('{"a": 1}')
    full["choices"][0]["logprobs"] = top

    assert read(reply("plain text"), used=used_fields).accepted == {"temperature"}
    assert read(full, used=used_fields).accepted == used_fields


def test_read_completion_keeps_the_head_of_the_reply() -> None:
    payload = {**reply("yes"), "id": "c-1", "model": "m-2026", "system_fingerprint": None, "provider": "x" * 999}
    payload["choices"][0]["native_finish_reason"] = "STOP"

    attempt = read_completion(
        json.dumps(payload).encode(), sent=RequestFields(), headers={"x-request-id": "r-1"}, at=NOON
    )

    assert attempt.head == {
        "id": "c-1",
        "model": "m-2026",
        "provider": "x" * 200,
        "request_id": "r-1",
        "native_finish_reason": "STOP",
    }


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
