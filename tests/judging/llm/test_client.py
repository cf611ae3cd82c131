from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from judging.llm.attempts import Attempt, Outcome
from judging.llm.bodies import ErrorPage, build_body, read_completion, read_error, refused_capabilities
from judging.llm.chat import ChatRequest, Message
from judging.llm.client import ChatClient
from judging.llm.endpoints import AddressPolicy, Capabilities, EndpointConfig
from tests.fake_llm.fixture import FakeLLM

USED = frozenset({"temperature", "max_tokens"})


def asking(prompt: str, **fields: object) -> ChatRequest:
    return replace(ChatRequest((Message("user", prompt),)), **fields)  # type: ignore[arg-type]


@pytest.fixture
def client() -> Iterator[ChatClient]:
    client = ChatClient(threads=2, policy=AddressPolicy(allow_loopback=True))
    yield client
    client.close()


@pytest.fixture
def endpoint(fake_llm: FakeLLM) -> EndpointConfig:
    return EndpointConfig("fake", fake_llm.url, "m", api_key="sk-1234")


# What each fault of the fake server is taken for; tokens are len // 4 + 1 of prompt and reply.
FAULTS = {
    "[[fake:reply=yes]]": Attempt(
        Outcome.FINISHED, 200, accepted=USED, text="yes", finish_reason="stop", prompt_tokens=5, completion_tokens=1
    ),
    "[[fake:reply=0123456789]][[fake:truncated]]": Attempt(
        Outcome.TRUNCATED,
        200,
        "truncated",
        "The answer reached the token limit.",
        accepted=USED,
        text="01234",
        finish_reason="length",
        prompt_tokens=11,
        completion_tokens=2,
    ),
    "[[fake:filter]]": Attempt(
        Outcome.REFUSED,
        200,
        "content-filter",
        "The provider's content filter stopped the answer.",
        accepted=USED,
        finish_reason="content_filter",
        prompt_tokens=4,
        completion_tokens=1,
    ),
    "[[fake:refusal]]": Attempt(
        Outcome.REFUSED,
        200,
        "refusal",
        "The model refused to answer.",
        accepted=USED,
        text="I cannot help with that.",
        finish_reason="stop",
        prompt_tokens=5,
        completion_tokens=1,
    ),
    "[[fake:429]][[fake:retry_after=7]]": Attempt(
        Outcome.RATE_LIMITED,
        429,
        "rate-limited",
        "The endpoint allows no more calls for now.",
        retry_after_seconds=7.0,
    ),
    "[[fake:429]][[fake:retry_after=-1]]": Attempt(
        Outcome.RATE_LIMITED, 429, "rate-limited", "The endpoint allows no more calls for now."
    ),
    "[[fake:quota]]": Attempt(Outcome.QUOTA, 429, "quota", "The endpoint's account has no credit left."),
    "[[fake:500]]": Attempt(Outcome.SERVER_ERROR, 500, "http-500", "The endpoint answered HTTP 500 (server_error)."),
    "[[fake:503]]": Attempt(Outcome.SERVER_ERROR, 503, "http-503", "The endpoint answered HTTP 503 (server_error)."),
    "[[fake:408]]": Attempt(
        Outcome.PASSING, 408, "http-408", "The endpoint answered HTTP 408 (invalid_request_error)."
    ),
    "[[fake:409]]": Attempt(
        Outcome.PASSING, 409, "http-409", "The endpoint answered HTTP 409 (invalid_request_error)."
    ),
    "[[fake:400]]": Attempt(
        Outcome.CLIENT_ERROR, 400, "http-400", "The endpoint answered HTTP 400 (invalid_request_error)."
    ),
    "[[fake:401]]": Attempt(
        Outcome.CLIENT_ERROR, 401, "http-401", "The endpoint answered HTTP 401 (invalid_request_error)."
    ),
    "[[fake:402]]": Attempt(Outcome.QUOTA, 402, "quota", "The endpoint's account has no credit left."),
    "[[fake:redirect]]": Attempt(
        Outcome.CLIENT_ERROR, 302, "redirect", "The endpoint redirects; redirects are not followed."
    ),
    "[[fake:html]]": Attempt(Outcome.PASSING, 200, "bad-reply", "The endpoint's answer is not a chat completion."),
    "[[fake:drop]]": Attempt(
        Outcome.PASSING, None, "connection", "The connection to the endpoint failed or broke off."
    ),
    "[[fake:hang]]": Attempt(Outcome.PASSING, None, "timeout", "The endpoint did not answer in time."),
}


@pytest.mark.parametrize(("prompt", "expected"), FAULTS.items(), ids=FAULTS)
def test_send_classifies_every_fault(
    client: ChatClient, endpoint: EndpointConfig, prompt: str, expected: Attempt
) -> None:
    attempt = client.send(replace(endpoint, read_timeout=0.5), asking(prompt))

    assert replace(attempt, seconds=0.0) == expected


def test_send_follows_no_redirect_and_sends_its_key(
    client: ChatClient, endpoint: EndpointConfig, fake_llm: FakeLLM
) -> None:
    client.send(endpoint, asking("[[fake:redirect]]"))

    stats = fake_llm.stats()
    assert (stats["calls"], stats["api_key"]) == (1, {"1234": 1})


def test_send_reads_label_logprobs(client: ChatClient, endpoint: EndpointConfig) -> None:
    attempt = client.send(endpoint, asking("[[fake:reply=2]]", top_logprobs=3))

    assert set(attempt.label_logprobs) == {"0", "1", "2"}
    assert max(attempt.label_logprobs, key=attempt.label_logprobs.__getitem__) == "2"


def test_send_keeps_one_connection_for_calls_one_after_the_other(
    client: ChatClient, endpoint: EndpointConfig, fake_llm: FakeLLM
) -> None:
    for number in range(10):
        client.send(endpoint, asking(f"question {number}"))

    # the fixture's own /config and /reset come by a connection each, opened before the reset and after
    assert fake_llm.stats()["connections"] <= 3


def test_send_never_reaches_a_forbidden_address(endpoint: EndpointConfig, fake_llm: FakeLLM) -> None:
    attempt = ChatClient(policy=AddressPolicy()).send(endpoint, asking("hello"))
    by_name = replace(endpoint, base_url=endpoint.base_url.replace("127.0.0.1", "localhost"))

    assert (attempt.outcome, attempt.error_kind) == (Outcome.FORBIDDEN, "refused-address")
    assert ChatClient(policy=AddressPolicy()).send(by_name, asking("hello")).outcome is Outcome.FORBIDDEN
    assert fake_llm.stats()["calls"] == 0


@pytest.mark.parametrize(
    "endpoint", [EndpointConfig("a", "nonsense"), EndpointConfig("a", "http://127.0.0.1:1/v1", api_key="k\nX-Evil: 1")]
)
def test_send_reports_a_bad_address_or_key(client: ChatClient, endpoint: EndpointConfig) -> None:
    attempt = client.send(endpoint, asking("hello"))

    assert attempt.outcome is not Outcome.FINISHED
    assert "Evil" not in attempt.error_text


def test_send_ignores_proxies_and_passwords_of_the_environment(
    client: ChatClient, endpoint: EndpointConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert client.send(endpoint, asking("hello")).outcome is Outcome.FINISHED


@contextmanager
def raw_server(chunks: list[bytes], *, pause_seconds: float) -> Iterator[str]:
    """A server that reads one request and answers it in pieces."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            for chunk in chunks:
                try:
                    connection.sendall(chunk)
                except OSError:
                    return
                time.sleep(pause_seconds)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    listener.close()
    thread.join(5)


def test_send_gives_up_on_a_reply_that_trickles(client: ChatClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with raw_server([head, *[b" "] * 100], pause_seconds=0.05) as url:
        attempt = client.send(EndpointConfig("slow", url, "m", read_timeout=0.4), asking("hello"))

    assert (attempt.outcome, attempt.error_kind) == (Outcome.PASSING, "timeout")
    assert 0.4 <= attempt.seconds < 2.0


def test_send_gives_up_on_a_reply_that_floods(client: ChatClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n"
    with raw_server([head, *[b" " * 1_000_000] * 50], pause_seconds=0) as url:
        attempt = client.send(EndpointConfig("flood", url, "m"), asking("hello"))

    assert (attempt.outcome, attempt.error_kind) == (Outcome.PASSING, "too-large")


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
    refusing = Capabilities(temperature=False, seed=False, logprobs=False, top_p=False, max_tokens=False)
    request = asking("hello", seed=3, top_p=0.5, top_logprobs=2)

    body = build_body(EndpointConfig("a", model="m"), request, refusing, max_tokens=9)

    assert json.loads(body.content) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "max_completion_tokens": 9,
    }
    assert body.used == frozenset()


# Error bodies in the wording of several servers -> capabilities that the endpoint lacks
EXTRA = {"type": "extra_forbidden", "loc": ["body", "top_logprobs"], "msg": "Extra inputs are not permitted"}
REFUSALS: list[tuple[object, set[str]]] = [
    ({"error": {"message": "Unsupported parameter: 'seed'.", "param": "seed"}}, {"seed"}),
    ({"error": {"message": "'temperature' does not support 0.", "code": "unsupported_value"}}, {"temperature"}),
    ({"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}}, {"max_tokens"}),
    ({"error": {"message": "This response_format type is unavailable now"}}, {"json_schema"}),
    ({"object": "error", "message": "logprobs is not supported", "code": 400}, {"logprobs"}),
    ({"detail": [{**EXTRA, "input": "seed"}]}, {"logprobs"}),
    ({"error": "unknown field seed"}, {"seed"}),
    ({"error": {"message": "max_tokens is too large: 99999."}}, set()),
    ({"error": {"message": "Invalid schema for response_format 'verdict'.", "param": "response_format"}}, set()),
    ({"error": {"message": "asked for 400"}}, set()),
    ([], set()),
    ("text", set()),
]


@pytest.mark.parametrize(("payload", "refused"), REFUSALS)
def test_refused_capabilities_are_read_from_the_error(payload: object, refused: set[str]) -> None:
    used = frozenset({"seed", "temperature", "max_tokens", "json_schema", "logprobs"})

    assert refused_capabilities(read_error(json.dumps(payload).encode()), used=used) == refused


def test_read_error_repeats_only_codes_of_our_own_list() -> None:
    page = json.dumps({"error": {"code": "internal_host_10_0_0_1", "type": "rate_limit_exceeded"}}).encode()

    assert read_error(page).code == "rate_limit_exceeded"
    assert read_error(b"<html>secret</html>") == ErrorPage()
    assert read_error(b"[" * 100_000) == ErrorPage()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": None}, ""),
        ({"content": "nul \x00 and half a pair \ud83d"}, "nul \ufffd and half a pair ?"),
    ],
)
def test_read_completion_keeps_only_text_that_can_be_stored(message: dict[str, object], text: str) -> None:
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": -1}})

    attempt = read_completion(body.encode(), used=frozenset())

    assert attempt == Attempt(Outcome.FINISHED, 200, text=text, finish_reason="stop")


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [{"message": "x"}]}', b"\xff"],
)
def test_read_completion_takes_other_bodies_for_passing_trouble(body: bytes) -> None:
    assert read_completion(body, used=frozenset()).error_kind == "bad-reply"
