"""Endpoints and judges: what is refused, what a change forgets, what one cheap call shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from judging.models import Judge, ModelEndpoint
from judging.services.endpoints import (
    EndpointFields,
    EndpointNotValid,
    JudgeNotValid,
    save_endpoint,
    save_judge,
    try_endpoint,
)
from judging.signals import acted
from tests import factories
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db

FIELDS = EndpointFields(name="local", base_url="http://127.0.0.1:11434/v1/", model="small")


@pytest.fixture
def heard() -> Iterator[list[tuple[str, str]]]:
    """What was announced for the audit log."""
    actions: list[tuple[str, str]] = []

    def hear(**signal: Any) -> None:
        actions.append((signal["action"], signal["subject"]))

    acted.connect(hear, weak=False)
    yield actions
    acted.disconnect(hear)


def test_save_endpoint_stores_and_announces(heard: list[tuple[str, str]]) -> None:
    row = save_endpoint(endpoint=None, fields=FIELDS, actor=None)

    stored = ModelEndpoint.objects.get(pk=row.pk)
    assert (stored.base_url, stored.kind, stored.capabilities) == ("http://127.0.0.1:11434/v1", "openai", {})
    assert heard == [("endpoint.added", "local")]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"key_variable": "sk-123456"}, "NAME of an environment variable"),
        ({"key_variable": "EVALSITE_SECRET_KEY"}, "are the site's own"),
        ({"input_price": Decimal(1)}, "both prices or neither"),
        ({"base_url": "ftp://somewhere/v1"}, "starting with https"),
        ({"base_url": "https://name:word@host/v1"}, "user name and password"),
    ],
)
def test_save_endpoint_refuses(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(EndpointNotValid, match=says):
        save_endpoint(endpoint=None, fields=replace(FIELDS, **changes), actor=None)

    assert not ModelEndpoint.objects.exclude(kind="lexical").exists()


def test_save_endpoint_forgets_what_another_model_taught(heard: list[tuple[str, str]]) -> None:
    row = factories.endpoint(base_url="http://127.0.0.1:9/v1", model="one", capabilities={"seed": False})

    kept = save_endpoint(
        endpoint=row, fields=replace(FIELDS, name="new name", base_url=row.base_url, model="one"), actor=None
    )
    assert kept.capabilities == {"seed": False}
    changed = save_endpoint(endpoint=row, fields=replace(FIELDS, base_url=row.base_url, model="two"), actor=None)
    assert changed.capabilities == {}
    assert heard == [("endpoint.changed", "new name"), ("endpoint.changed", "local")]


def test_save_judge_completes_options_and_refuses_strange_ones(heard: list[tuple[str, str]]) -> None:
    endpoint = factories.endpoint()

    judge = save_judge(
        judge=None, name="strict", kind="accuracy", endpoint=endpoint, options={"strictness": "L3"}, actor=None
    )
    assert (judge.options["strictness"], judge.options["temperature"]) == ("L3", 0.0)
    assert heard == [("judge.added", "strict")]
    for kind, options, says in (
        ("accuracy", {"strictness": "L9"}, "L1, L2, L3"),
        ("accuracy", {"colour": "red"}, "no option 'colour'"),
        ("oracle", {}, "no judge 'oracle'"),
    ):
        with pytest.raises(JudgeNotValid, match=says):
            save_judge(judge=None, name="other", kind=kind, endpoint=endpoint, options=options, actor=None)
    assert Judge.objects.count() == 1


def test_save_judge_refuses_a_prompt_without_its_placeholders() -> None:
    with pytest.raises(JudgeNotValid, match="placeholders"):
        save_judge(
            judge=None,
            name="edited",
            kind="accuracy",
            endpoint=factories.endpoint(),
            options={"prompt_text": "Is {{response}} right?"},
            actor=None,
        )


def test_try_endpoint_shows_and_remembers_what_is_accepted(fake_llm: FakeLLM) -> None:
    fake_llm.config(reject="json_schema,logprobs")
    row = factories.endpoint(base_url=fake_llm.url, model="fake")

    trial = try_endpoint(endpoint=row)

    row.refresh_from_db()
    assert (trial.works, trial.problem) == (True, "")
    assert (trial.accepts["json_schema"], trial.accepts["logprobs"], trial.accepts["seed"]) == (False, False, True)
    assert (row.capabilities["json_schema"], row.capabilities["seed"]) == (False, True)


def test_try_endpoint_names_the_missing_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)

    trial = try_endpoint(endpoint=factories.endpoint(key_variable="NO_SUCH_KEY"))

    assert (trial.works, trial.problem) == (
        False,
        "The environment variable NO_SUCH_KEY is not set where the site runs.",
    )


def test_try_endpoint_says_why_nothing_came_back() -> None:
    trial = try_endpoint(endpoint=factories.endpoint(base_url="http://127.0.0.1:9/v1"))

    assert (trial.works, trial.reply) == (False, "")
    assert "connection" in trial.problem.lower()
