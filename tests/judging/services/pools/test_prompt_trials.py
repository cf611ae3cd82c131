"""Conversations outside any run: what was answered is kept, and a budget holds."""

from __future__ import annotations

from collections.abc import Generator
from decimal import Decimal

import pytest
from django.db.models import Sum

from judging.llm.chat import ChatReply, ChatRequest, Message
from judging.models import Call
from judging.selectors.endpoints import Target, target_of
from judging.services import pools
from judging.services.pools import TrialRefused, hold_conversation
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db(transaction=True)

Talk = Generator[tuple[ChatRequest, ...], tuple[ChatReply, ...], list[str]]


def asking(*prompts: str) -> Talk:
    """Ask everything at once and return the replies' texts."""
    replies = yield tuple(ChatRequest((Message("user", prompt),), max_tokens=10) for prompt in prompts)
    return [reply.text for reply in replies]


def target(fake_llm: FakeLLM, **fields: object) -> Target:
    return target_of(factories.endpoint(base_url=fake_llm.url, **fields))


def test_hold_keeps_what_was_answered_where_the_rest_does_not_come_in_time(
    fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_llm.config(latency=1)
    llm_target = target(fake_llm)
    monkeypatch.setattr(pools, "WAIT_SECONDS", 1.5)

    with pytest.raises(TrialRefused, match="did not reply in time"):
        hold_conversation(asking("one", "two", "[[fake:latency=20000]]"), llm_target, at=NOON)
    call_count = Call.objects.count()
    _, again = hold_conversation(asking("one", "two"), llm_target, at=NOON)

    assert call_count == 2
    assert [call.reused for call in again] == [True, True]


def test_hold_sends_what_the_budget_carries_and_the_rest_once_replies_cost_less(fake_llm: FakeLLM) -> None:
    # Ten tokens and their longer retry, 10 + 20, cost $15 at most; a reply of 6 characters is 2 tokens and costs $1.
    fake_llm.config(latency=1, reply="twelve")
    llm_target = target(fake_llm, input_price=Decimal(0), output_price=Decimal(500_000))

    result, _ = hold_conversation(
        asking(*(f"question {number}" for number in range(6))), llm_target, at=NOON, budget=Decimal(22)
    )

    assert result == ["twelve"] * 6
    assert Call.objects.aggregate(sum=Sum("cost"))["sum"] == 6


def test_hold_refuses_the_rest_where_the_budget_does_not_carry_one_request_more(fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=1, reply="twelve")
    llm_target = target(fake_llm, input_price=Decimal(0), output_price=Decimal(500_000))

    with pytest.raises(TrialRefused, match=r"The budget of \$16 does not cover the 4 remaining requests"):
        hold_conversation(
            asking(*(f"question {number}" for number in range(6))), llm_target, at=NOON, budget=Decimal(16)
        )

    assert (fake_llm.stats()["calls"], Call.objects.aggregate(sum=Sum("cost"))["sum"]) == (2, 2)
