from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from judging.llm.chat import ChatReply, ChatRequest, Message, ReplyStatus
from judging.llm.endpoints import EndpointConfig, EndpointKind
from judging.models import ModelEndpoint
from judging.selectors.endpoints import Target, target_of
from judging.services import pools
from tests import factories
from tests.fake_llm.fixture import FakeLLM

BALANCE = Target(1, EndpointConfig("balance", model="criterion", kind=EndpointKind.LEXICAL), None)
MATERIAL = {
    "task": "accuracy",
    "strictness": "L1",
    "question": "Which command?",
    "reference": "Use chmod.",
    "response": "Use chmod.",
}


def asking(number: int, **material: Any) -> ChatRequest:
    return ChatRequest((Message("user", f"question {number}"),), material=material)


def test_pool_computes_baselines_without_a_call() -> None:
    pool = pools.open_pool(threads=1)
    share = pool.share()
    share.submit("read", BALANCE, asking(1, **MATERIAL))
    share.submit("not read", BALANCE, asking(2))

    pool.wait(0.0)

    replies = {result.token: replace(result.reply, seconds=0.0) for result in share.take_results()}
    assert replies["not read"] == ChatReply(
        ReplyStatus.FAILED, error_kind="internal", error_text="The lexical baseline failed."
    )
    assert replace(replies["read"], text="") == ChatReply(
        ReplyStatus.FINISHED, "", "stop", prompt_tokens=0, completion_tokens=0
    )
    assert json.loads(replies["read"].text) == {
        "is_judged_correct": True,
        "reasoning": "Lexical baseline, lens criterion: no model, only shares of content terms. Share 1.00 of the "
        "terms looked for, 0.40 needed at L1; 0 of the reference's 0 figures are missing.",
    }
    pool.pool.end()


def test_pool_takes_back_the_baselines_of_one_share_that_were_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LEXICAL_SLICE_SECONDS", 0.0)
    pool = pools.open_pool(threads=1)
    share, other = pool.share(), pool.share()
    for each in (share, other):
        each.submit("waits", BALANCE, asking(1, **MATERIAL))
    pool.wait(0.0)

    share.withdraw()

    assert [(result.token, result.requeue_seconds, result.paid) for result in share.take_results()] == [
        ("waits", 0.0, ())
    ]
    assert (share.take_results(), other.take_results(), len(other.lexical)) == ([], [], 1)
    pool.pool.end()


@pytest.mark.django_db
@pytest.mark.parametrize(("edited", "seed"), [({}, False), ({"extra": {"effort": "low"}}, None)])
def test_pool_stores_what_it_learns_at_once_unless_the_endpoint_was_edited(
    fake_llm: FakeLLM, edited: dict[str, Any], seed: bool | None
) -> None:
    fake_llm.config(reject="seed")
    endpoint = factories.endpoint(base_url=fake_llm.url)
    pool = pools.open_pool(threads=1)
    share = pool.share()
    share.submit("one", target_of(endpoint), replace(asking(1), seed=1))
    ModelEndpoint.objects.filter(pk=endpoint.pk).update(**edited)

    until = time.monotonic() + 120
    while not share.take_results() and time.monotonic() < until:
        pool.wait(0.2)

    endpoint.refresh_from_db()  # the pool is open still
    assert endpoint.capabilities.get("seed") is seed
    pool.pool.end()
