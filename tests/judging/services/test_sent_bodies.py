"""What the ledger says of a call is what the endpoint got, who answered, and what it cost."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from judging.llm.chat import ChatReply, ChatRequest, Message, ReplyStatus
from judging.models import Call
from judging.selectors.targets import request_body, target_of
from judging.services.ledger import sent_body
from judging.services.trying import hold
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.run_rows import judged_run, work

pytestmark = pytest.mark.django_db(transaction=True)

REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "How?")), max_tokens=100, seed=3)


def talk(request: ChatRequest):  # type: ignore[no-untyped-def]  # a conversation of one call
    (reply,) = yield (request,)
    return reply


def test_a_stored_call_holds_the_body_that_was_sent_and_who_answered(fake_llm: FakeLLM) -> None:
    fake_llm.config(reject="temperature,max_tokens", reply="So.")
    endpoint = factories.endpoint(
        base_url=fake_llm.url,
        extra={"reasoning_effort": "low"},
        min_output_tokens=300,
        input_price=Decimal("0.50"),
        output_price=Decimal(2),
    )

    hold(talk(REQUEST), target_of(endpoint), at=NOON)

    call = Call.objects.get()
    assert call.body == {
        "model": "fake",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How?"}],
        "reasoning_effort": "low",
        "seed": 3,
        "max_completion_tokens": 300,
    }
    assert set(call.request) - {"model"} == set(fake_llm.log()[-1]["sent"])
    assert (call.reply_head["model"], call.reply_head["request_id"]) == ("fake", "fake")
    assert call.prices == {"input": "0.5", "output": "2", "source": "override"}
    # prompt (9 + 1 + 4) // 4 + 1 = 4 tokens at 0.5, reply 3 // 4 + 1 = 1 at 2 USD per million
    assert call.cost == Decimal("0.000004")


def test_a_run_stores_prices_and_heads_of_its_calls(fake_llm: FakeLLM) -> None:
    work(judged_run(url=fake_llm.url, input_price=Decimal(1), output_price=Decimal(2)))

    calls = list(Call.objects.all())
    assert {call.reply_head["model"] for call in calls} == {"fake"}
    assert {json.dumps(call.prices, sort_keys=True) for call in calls} == {
        '{"input": "1", "output": "2", "source": "override"}'
    }
    assert {call.request["model"] for call in calls} == {"fake"}


def test_a_failed_call_keeps_the_sentence_of_the_provider(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="[[never]]")
    hold(
        talk(ChatRequest((Message("user", "[[fake:404]]"),))),
        target_of(factories.endpoint(base_url=fake_llm.url)),
        at=NOON,
    )

    call = Call.objects.get()
    assert (call.error_text, call.provider_text) == (
        "Nothing at the endpoint's address answers chat completions (HTTP 404).",
        "asked for 404",
    )


def test_sent_body_is_the_request_where_nothing_was_sent() -> None:
    asked = request_body(REQUEST)

    assert sent_body(asked, ChatReply(ReplyStatus.FAILED, error_kind="deadline")) == asked
    folded = {"model": "m", "messages": [{"role": "user", "content": "Be brief.\n\nHow?"}]}
    assert sent_body(asked, ChatReply(ReplyStatus.FINISHED, sent=folded)) == folded
