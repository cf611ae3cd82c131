"""The fake server itself: what its fixture promises to other tests."""

from __future__ import annotations

import requests

from tests.fake_llm.fixture import FakeLLM


def ask(server: FakeLLM, prompt: str) -> requests.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    return requests.post(f"{server.url}/chat/completions", json=body, timeout=5)


def test_log_tells_when_each_request_came_and_how_it_was_answered(fake_llm: FakeLLM) -> None:
    ask(fake_llm, "[[fake:429]][[fake:retry_after=30]]")
    ask(fake_llm, "hello")

    lines = [(line["status"], line["fault"], line["retry_after"]) for line in fake_llm.log()]
    assert lines == [(429, "429", 30.0), (200, None, None)]


def test_retry_after_violations_finds_the_call_made_too_early(fake_llm: FakeLLM) -> None:
    ask(fake_llm, "[[fake:429]][[fake:retry_after=30]]")
    ask(fake_llm, "too early")

    violations = fake_llm.retry_after_violations(slack_seconds=0)

    assert [line["status"] for line in violations] == [200]


def test_script_answers_in_order_and_repeats_its_last_reply() -> None:
    rules = [{"model": "^m$", "match": "capital", "reply": ["Paris", "Rome"]}]
    with FakeLLM(latency=1, script=rules) as server:
        answers = [ask(server, "the capital?").json()["choices"][0]["message"]["content"] for _ in range(3)]

    assert answers == ["Paris", "Rome", "Rome"]
