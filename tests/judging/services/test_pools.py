from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from judging.llm.chat import ChatReply, ChatRequest, Message, ReplyStatus
from judging.llm.endpoints import EndpointConfig, EndpointKind
from judging.selectors.targets import Target
from judging.services import pools
from judging.services.pools import Unsent

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
    pool = pools.open_pool(targets={"balance": BALANCE}, threads=1)
    pool.submit("read", BALANCE, asking(1, **MATERIAL))
    pool.submit("not read", BALANCE, asking(2))

    done = {token: replace(reply, seconds=0.0) for token, reply in pool.completed(0.0)}

    assert done["not read"] == ChatReply(
        ReplyStatus.FAILED, error_kind="internal", error_text="The lexical baseline failed."
    )
    assert replace(done["read"], text="") == ChatReply(
        ReplyStatus.FINISHED, "", "stop", prompt_tokens=0, completion_tokens=0
    )
    assert json.loads(done["read"].text) == {
        "is_judged_correct": True,
        "reasoning": "Lexical baseline, lens criterion: no model, only shares of content terms. Share 1.00 of the "
        "terms looked for, 0.40 needed at L1; 0 of the reference's 0 figures are missing.",
    }
    pool.end()


def test_pool_takes_back_baselines_that_were_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LEXICAL_SLICE_SECONDS", 0.0)
    pool = pools.open_pool(targets={"balance": BALANCE}, threads=1)
    pool.submit("waits", BALANCE, asking(1, **MATERIAL))

    assert (pool.completed(0.0), pool.withdraw(), pool.withdraw()) == ([], [Unsent("waits", None)], [])
    pool.end()
