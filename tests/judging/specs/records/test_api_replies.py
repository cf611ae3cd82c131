"""Replies of APIs that a file keeps whole, as their documentation shows them, in place of the text of the response."""

from __future__ import annotations

import json

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import Document, lines, read, reading, refused, response

ASSISTANT: JsonDict = {"role": "assistant", "content": "Elbe."}
CALL: JsonDict = {"id": "c1", "type": "function", "function": {"name": "map_of", "arguments": '{"river": "Elbe"}'}}


def chat(*contents: str, **more: object) -> JsonDict:
    """Return a reply of a chat completion with a choice for each text, the last one first."""
    choices = [
        {"index": n, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        for n, content in enumerate(contents)
    ]
    return {"object": "chat.completion", "choices": choices[::-1], **more}


def replied(reply: object, **more: object) -> Document:
    return read(lines({"prompt": "Which?", "model": "oak", "response": reply, **more}), "t.jsonl")


@pytest.mark.parametrize(
    ("reply", "stored"),
    [
        (chat("Elbe.", usage={"completion_tokens": 4}), {"stop": "stop", "metadata": {"completion_tokens": 4}}),
        (
            {
                "type": "message",
                **ASSISTANT,
                "content": [
                    {"type": "thinking", "thinking": "North?"},
                    {"type": "text", "text": "El"},
                    {"type": "text", "text": "be."},
                ],
                "stop_reason": "max_tokens",
                "usage": {"output_tokens": 9},
            },
            {"stop": "max_tokens", "metadata": {"completion_tokens": 9}},
        ),
        (
            {
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": [{"text": "North?", "thought": True}, {"text": "El"}, {"text": "be."}],
                        },
                        "finishReason": "MAX_TOKENS",
                    }
                ],
                "usageMetadata": {"candidatesTokenCount": 7},
            },
            {"stop": "MAX_TOKENS", "metadata": {"completion_tokens": 7}},
        ),
        (
            {
                "object": "response",
                "output": [
                    {"type": "reasoning", "summary": []},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Elbe."}]},
                ],
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            {"stop": "max_output_tokens"},
        ),
        (
            {"message": ASSISTANT, "done_reason": "stop", "eval_count": 3},
            {"stop": "stop", "metadata": {"completion_tokens": 3}},
        ),
        (
            {"output": {"message": {"role": "assistant", "content": [{"text": "Elbe."}]}}, "stopReason": "end_turn"},
            {"stop": "end_turn"},
        ),
        ({"choices": [{"message": {"role": "assistant", "content": None, "refusal": "Elbe."}}]}, {}),
        (json.dumps(chat("Elbe.")), {"stop": "stop"}),
        (json.dumps({"type": "message", **ASSISTANT, "stop_reason": "end_turn"}), {"stop": "end_turn"}),
        (json.dumps({"message": ASSISTANT, "done_reason": "stop", "done": True}), {"stop": "stop"}),
    ],
)
def test_reads_takes_text_stop_reason_and_tokens_of_a_reply(reply: object, stored: JsonDict) -> None:
    assert replied(reply)["responses"] == [response("oak", "Elbe.", **stored)]


def test_reads_asks_for_the_text_of_an_object_that_no_api_replies() -> None:
    (said,) = refused(
        lines({"prompt": "Which?", "model": "oak", "response": {"output": [{"river": "Elbe"}]}}), "t.jsonl"
    )

    assert said.startswith("t.jsonl: response holds objects. Which entry is the response? They have: output.")


def test_reads_takes_each_choice_of_a_reply_for_an_attempt() -> None:
    assert replied(chat("Elbe.", "Oder."))["responses"] == [
        response("oak", "Elbe.", stop="stop"),
        response("oak", "Oder.", attempt=1, stop="stop"),
    ]


@pytest.mark.parametrize(
    "reply",
    [
        chat("Elbe.", id="c-1", model="oak"),
        {"id": "m", "type": "message", "model": "oak", **ASSISTANT},
        {"model": "oak", "created_at": "2024-01-01T00:00:00Z", "message": ASSISTANT, "done": True},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Elbe."}]}}], "modelVersion": "oak"},
    ],
)
def test_reads_refuses_replies_beside_which_nothing_says_what_was_asked(reply: JsonDict) -> None:
    said = "these are replies of a model's API, which do not say what was asked. Bring a row for each: id, prompt, and "

    for rows in (reply, [reply, reply], {"a": reply, "b": reply}):
        (sentence,) = refused(json.dumps(rows), "t.json")
        assert sentence.partition(": ")[2] == f"{said}the reply as response."
    stored = read(lines({"question": "Which?", **reply}), "t.jsonl")
    assert [(row["system"], row["text"]) for row in stored["responses"]] == [("oak", "Elbe.")]


def test_reads_names_the_system_after_the_model_in_the_reply_where_the_row_names_none() -> None:
    document = read(lines({"prompt": "Which?", "response": chat("Elbe.", model="oak-7b")}), "t.jsonl")

    assert (document["systems"], document["warnings"]) == (["oak-7b"], {"ids-made": 1, "no-reference": 1})


def test_reads_takes_a_call_of_a_tool_for_a_step_of_the_response() -> None:
    (row,) = replied({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]})[
        "responses"
    ]

    assert row["messages"] == [{"role": "assistant", "text": '\n[calls map_of({"river": "Elbe"})]'}]


def test_reads_counts_an_error_in_place_of_a_reply_as_a_failed_sample() -> None:
    rows = [
        {"id": "1", "prompt": "Which?", "model": "oak", "response": chat("Elbe.")},
        {"id": "2", "prompt": "Where?", "model": "oak", "response": {"error": {"message": "too many requests"}}},
    ]
    collected = reading({"t.jsonl": lines(*rows)}).collected

    assert collected is not None
    assert [row["text"] for row in collected.document()["responses"]] == ["Elbe."]
    assert collected.left_out() == [("response", "2: too many requests", 1)]


def test_reads_counts_further_choices_beside_responses_of_others() -> None:
    row = {"prompt": "Which?", "gpt-4o": chat("Elbe.", "Oder."), "claude-3": {"error": {"message": "overloaded"}}}
    collected = reading(
        {"t.jsonl": lines(row)}, columns={"gpt-4o": "responses of", "claude-3": "responses of"}
    ).collected

    assert collected is not None
    assert [(row["system"], row["text"]) for row in collected.document()["responses"]] == [("gpt-4o", "Elbe.")]
    assert collected.left_out() == [
        ("response", "beside other responses the first choice of a reply is read", 1),
        ("response", "overloaded", 1),
    ]


@pytest.mark.parametrize(
    ("request_name", "reply_name"), [("modelInput", "modelOutput"), ("request_body", "response_body")]
)
def test_reads_takes_requests_and_replies_as_gateways_log_them(request_name: str, reply_name: str) -> None:
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": "Which river?"}]}
    reply = {"type": "message", "model": "oak-7b", **ASSISTANT, "stop_reason": "end_turn"}

    document = read(lines({"recordId": "r1", request_name: asked, reply_name: reply}), "t.jsonl")

    assert [row["prompt"] for row in document["cases"]] == ["Which river?"]
    assert [(row["system"], row["text"], row["stop"]) for row in document["responses"]] == [
        ("oak-7b", "Elbe.", "end_turn")
    ]
