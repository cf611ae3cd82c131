from __future__ import annotations

import json
from dataclasses import replace

import pytest

from judging.llm.bodies import build_body
from judging.llm.chat import ChatRequest, Message
from judging.llm.endpoints import Capabilities, EndpointConfig


def asking(prompt: str, **fields: object) -> ChatRequest:
    return replace(ChatRequest((Message("user", prompt),)), **fields)  # type: ignore[arg-type]


def test_build_body_sends_what_was_asked() -> None:
    request = asking("a {brace}", seed=3, top_p=0.5, top_logprobs=2, response_format={"type": "json_object"})
    endpoint = EndpointConfig("a", "https://x.org/v1", "m", extra={"reasoning_effort": "low", "model": "smuggled"})

    body = build_body(endpoint, request, Capabilities(), max_tokens=9)

    assert json.loads(body.content) == {
        "model": "m",
        "messages": [{"role": "user", "content": "a {brace}"}],
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 3,
        "logprobs": True,
        "top_logprobs": 2,
        "max_tokens": 9,
        "response_format": {"type": "json_object"},
        "reasoning_effort": "low",
    }
    assert body.used == {"temperature", "top_p", "seed", "logprobs", "max_tokens", "json_object"}


@pytest.mark.parametrize(
    ("capabilities", "response_format"),
    [
        (Capabilities(), {"type": "json_schema", "json_schema": {"name": "v"}}),
        (Capabilities(json_schema=False), {"type": "json_object"}),
        (Capabilities(json_schema=False, json_object=False), None),
    ],
)
def test_build_body_steps_down_to_what_the_endpoint_takes(
    capabilities: Capabilities, response_format: dict[str, object] | None
) -> None:
    request = asking("hello", response_format={"type": "json_schema", "json_schema": {"name": "v"}})

    body = build_body(EndpointConfig("a"), request, capabilities, max_tokens=None)

    assert json.loads(body.content).get("response_format") == response_format


def test_build_body_leaves_out_what_the_endpoint_refuses() -> None:
    refusing = Capabilities(
        temperature=False, seed=False, random_seed=False, logprobs=False, top_p=False, max_tokens=False
    )
    request = asking("hello", seed=3, top_p=0.5, top_logprobs=2)

    body = build_body(EndpointConfig("a", model="m"), request, refusing, max_tokens=9)

    assert json.loads(body.content) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "max_completion_tokens": 9,
    }
    assert body.used == {"max_completion_tokens"}


@pytest.mark.parametrize(
    ("capabilities", "spelt"),
    [
        (Capabilities(), {"seed": 3, "max_tokens": 9}),
        (Capabilities(seed=False, max_tokens=False), {"random_seed": 3, "max_completion_tokens": 9}),
        (Capabilities(seed=False, random_seed=False, max_tokens=False, max_completion_tokens=False), {}),
        (Capabilities(max_completion_tokens=False), {"seed": 3, "max_tokens": 9}),
    ],
)
def test_build_body_spells_limit_and_seed_as_the_endpoint_takes_them(
    capabilities: Capabilities, spelt: dict[str, int]
) -> None:
    body = build_body(EndpointConfig("a", model="m"), asking("hello", seed=3), capabilities, max_tokens=9)

    fields = json.loads(body.content)
    assert {name: fields[name] for name in fields if "max" in name or "seed" in name} == spelt


def test_build_body_folds_the_system_into_the_user_where_it_is_refused() -> None:
    messages = (
        Message("system", "Be brief."),
        Message("user", "Hello"),
        Message("assistant", "?"),
        Message("user", "B"),
    )
    request = ChatRequest(messages)
    endpoint = EndpointConfig("a", model="m")

    as_asked = build_body(endpoint, request, Capabilities(), max_tokens=9)
    body = build_body(endpoint, request, Capabilities(system_role=False), max_tokens=9)

    assert "system_role" in as_asked.used
    assert "messages" not in as_asked.sent
    assert "system_role" not in body.used
    assert json.loads(body.content)["messages"] == [
        {"role": "user", "content": "Be brief.\n\nHello"},
        {"role": "assistant", "content": "?"},
        {"role": "user", "content": "B"},
    ]
    assert body.sent == json.loads(body.content)


def test_build_body_folds_a_system_without_a_user() -> None:
    request = ChatRequest((Message("system", "Be brief."),))

    body = build_body(EndpointConfig("a", model="m"), request, Capabilities(system_role=False), max_tokens=None)

    assert json.loads(body.content)["messages"] == [{"role": "user", "content": "Be brief."}]
