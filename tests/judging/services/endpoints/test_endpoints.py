"""Endpoints and judges: what is refused, what a change forgets, what one cheap call shows."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalsite.accounts.models import AuditEntry
from judging.models import Call, Judge, ModelEndpoint
from judging.selectors.endpoints import config_of
from judging.services.endpoints import EndpointFields, EndpointNotValid, forget_capabilities, save_endpoint
from judging.services.judges import JudgeNotValid, save_judge
from tests import factories

pytestmark = pytest.mark.django_db

FIELDS = EndpointFields(name="local", base_url="http://127.0.0.1:11434/v1/", model="small")


def acts() -> list[tuple[str, str]]:
    """Return what the audit log says of whom."""
    return list(AuditEntry.objects.order_by("pk").values_list("action", "subject"))


def test_save_endpoint_stores_and_enters_it_in_the_audit_log() -> None:
    row = save_endpoint(endpoint=None, fields=FIELDS, actor=None)

    stored = ModelEndpoint.objects.get(pk=row.pk)
    assert (stored.base_url, stored.kind, stored.capabilities) == ("http://127.0.0.1:11434/v1", "openai", {})
    assert acts() == [("endpoint.added", "local")]


def test_endpoints_take_keys_only_from_variables_that_the_site_allows(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "a-key")
    row = save_endpoint(endpoint=None, fields=replace(FIELDS, key_variable="OTHER_API_KEY"), actor=None)
    before = config_of(row).api_key

    settings.KEY_VARIABLES = ["OPENAI_API_KEY"]

    assert (before, config_of(row).api_key) == ("a-key", "")
    with pytest.raises(EndpointNotValid, match="This site sends only the keys in OPENAI_API_KEY to models"):
        save_endpoint(endpoint=row, fields=replace(FIELDS, key_variable="OTHER_API_KEY"), actor=None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"key_variable": "sk-123456"}, "NAME of an environment variable"),
        ({"key_variable": "EVALSITE_SECRET_KEY"}, "secrets of this site"),
        ({"key_variable": "PGPASSWORD"}, "secrets of this site"),
        ({"input_price": Decimal(1)}, "both prices or neither"),
        ({"base_url": "ftp://somewhere/v1"}, "starting with https"),
        ({"base_url": "https://name:word@host/v1"}, "user name and password"),
        ({"extra": ["reasoning_effort"]}, "must be a JSON object"),
        ({"extra": {"max_completion_tokens": 9, "model": "x"}}, "cannot set max_completion_tokens, model"),
        ({"extra": {"stop": "x" * 5000}}, "at most 4,000 characters"),
        ({"min_output_tokens": 2_000_000}, "at most 1,000,000 tokens"),
        ({"preset": "openia"}, "no preset 'openia'; there are openai, azure"),
        ({"key_header": "X-Key"}, "Authorization or api-key, not 'X-Key'"),
        ({"query": "?api-version=1"}, "NAME=VALUE"),
        ({"query": "a=1#b"}, "NAME=VALUE"),
        ({"query": "a=1\r\nHost: b"}, "NAME=VALUE"),
        ({"read_timeout": 5}, "from 10 to 1,800 seconds"),
        ({"headers": ["X-Title"]}, "must be a JSON object"),
        ({"headers": {"X-Title": "a\r\nHost: b"}}, "'X-Title' is no header"),
        ({"headers": {"X-Title": 1}}, "'X-Title' is no header"),
        ({"headers": {"X Title": "a"}}, "'X Title' is no header"),
        ({"headers": {"Host": "a"}}, "The header Host cannot be set here"),
        ({"headers": {"X-Api-Key": "sk-1"}}, "The header X-Api-Key cannot be set here"),
        ({"headers": {f"X-{number}": "x" * 500 for number in range(9)}}, "at most 4,000 characters"),
        ({"proxy": "http://me:secret@cache:3128"}, "Remove the user name and password from the proxy"),
        ({"proxy": "https://cache:3128"}, "Enter the proxy as http://host:port"),
        ({"proxy": "http://169.254.169.254:80"}, "The proxy: 169.254.169.254 is never called"),
        ({"proxy": "http://cache:3128", "proxy_login_variable": "AWS_PROXY_LOGIN"}, "ends in _PROXY_LOGIN"),
        ({"proxy_login_variable": "OUR_PROXY_LOGIN"}, "Enter the proxy that the login is for"),
        ({"ca_certificates": "trust me"}, "Enter certificates in PEM"),
        ({"ca_certificates": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"}, "cannot be read"),
        ({"ca_certificates": "-----BEGIN PRIVATE KEY-----"}, "Remove the private key"),
        ({"cached_price": Decimal(1)}, "Enter the input and the output price too"),
    ],
)
def test_save_endpoint_refuses(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(EndpointNotValid, match=says):
        save_endpoint(endpoint=None, fields=replace(FIELDS, **changes), actor=None)

    assert not ModelEndpoint.objects.exclude(kind="lexical").exists()


def test_save_endpoint_forgets_what_another_model_taught() -> None:
    row = factories.endpoint(base_url="http://127.0.0.1:9/v1", model="one", capabilities={"seed": False})

    same_model = save_endpoint(
        endpoint=row, fields=replace(FIELDS, name="new name", base_url=row.base_url, model="one"), actor=None
    )
    assert same_model.capabilities == {"seed": False}
    changed = save_endpoint(endpoint=row, fields=replace(FIELDS, base_url=row.base_url, model="two"), actor=None)
    assert changed.capabilities == {}
    ModelEndpoint.objects.update(capabilities={"seed": False})
    effort = replace(FIELDS, base_url=row.base_url, model="two", extra={"reasoning_effort": "low"})
    row.refresh_from_db()
    assert save_endpoint(endpoint=row, fields=effort, actor=None).capabilities == {}
    assert acts() == [("endpoint.changed", "new name")] + [("endpoint.changed", "local")] * 2


def test_the_log_says_what_was_changed_of_an_endpoint_and_nothing_where_nothing_was() -> None:
    row = save_endpoint(endpoint=None, fields=FIELDS, actor=None)
    priced = replace(FIELDS, input_price=Decimal(1), output_price=Decimal(2))
    AuditEntry.objects.all().delete()

    for fields in (priced, priced, replace(priced, input_price=Decimal("1.5"))):
        save_endpoint(endpoint=row, fields=fields, actor=None)

    assert list(AuditEntry.objects.order_by("pk").values_list("action", "detail")) == [
        ("endpoint.changed", {"input_price": [None, "1"], "output_price": [None, "2"]}),
        ("endpoint.changed", {"input_price": ["1", "1.5"]}),
    ]


@pytest.mark.parametrize("change", [{"model": "two"}, {"base_url": "http://127.0.0.1:2/v1"}])
def test_save_endpoint_keeps_address_and_model_of_one_that_has_answered(change: dict[str, Any]) -> None:
    row = save_endpoint(endpoint=None, fields=FIELDS, actor=None)
    Call.objects.create(key="a", endpoint=row, status="failed", request={}, finished_at=factories.NOON)
    save_endpoint(endpoint=row, fields=replace(FIELDS, **change), actor=None)  # a slip that never worked
    save_endpoint(endpoint=row, fields=FIELDS, actor=None)
    Call.objects.create(key="b", endpoint=row, status="finished", request={}, finished_at=factories.NOON)

    with pytest.raises(EndpointNotValid, match="has been used for calls, so its address and model cannot change"):
        save_endpoint(endpoint=row, fields=replace(FIELDS, **change), actor=None)

    assert save_endpoint(endpoint=row, fields=replace(FIELDS, max_concurrency=3), actor=None).max_concurrency == 3


def test_save_judge_completes_options_and_refuses_strange_ones() -> None:
    endpoint = factories.endpoint()

    judge = save_judge(
        judge=Judge(name="strict", endpoint=endpoint, description="Is it right?", kind="accuracy"),
        options={"strictness": "L3"},
        actor=None,
    )
    assert (judge.endpoint, judge.description) == (endpoint, "Is it right?")
    assert (judge.options["strictness"], judge.options["temperature"]) == ("L3", 0.0)
    for strictness in ("L3", "L2"):  # the first changes nothing
        save_judge(judge=judge, options={"strictness": strictness}, actor=None)
    assert acts() == [("judge.added", "strict"), ("judge.changed", "strict")]
    assert AuditEntry.objects.latest("pk").detail["changed"] == ["strictness"]
    for kind, options, says in (
        ("accuracy", {"strictness": "L9"}, "L1, L2, L3"),
        ("accuracy", {"colour": "red"}, "no option 'colour'"),
        ("oracle", {}, "no judge 'oracle'"),
    ):
        with pytest.raises(JudgeNotValid, match=says):
            save_judge(judge=Judge(name="other", endpoint=endpoint, kind=kind), options=options, actor=None)
    assert Judge.objects.count() == 1


def test_save_judge_refuses_a_prompt_without_its_placeholders() -> None:
    with pytest.raises(JudgeNotValid, match="placeholders"):
        save_judge(
            judge=Judge(name="edited", endpoint=factories.endpoint(), kind="accuracy"),
            options={"prompt_text": "Is {{response}} right?"},
            actor=None,
        )


def test_forget_capabilities_lets_everything_be_tried_again() -> None:
    row = factories.endpoint(capabilities={"seed": False})

    forget_capabilities(endpoint=row, actor=None)

    row.refresh_from_db()
    assert (row.capabilities, acts()) == ({}, [("endpoint.forgotten", row.name)])


def test_save_endpoint_does_not_try_what_its_preset_is_known_to_refuse() -> None:
    added = save_endpoint(endpoint=None, fields=replace(FIELDS, preset="mistral"), actor=None)
    preset_capabilities = dict(added.capabilities)

    added.capabilities = {**preset_capabilities, "json_schema": True}
    added.save()
    saved_again = save_endpoint(endpoint=added, fields=replace(FIELDS, preset="mistral", max_concurrency=9), actor=None)
    assert saved_again.capabilities == {"max_completion_tokens": False, "seed": False, "json_schema": True}
    changed = save_endpoint(endpoint=added, fields=replace(FIELDS, preset="mistral", query="v=2"), actor=None)

    assert preset_capabilities == changed.capabilities == {"max_completion_tokens": False, "seed": False}
