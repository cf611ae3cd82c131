"""The API keeps its contract: its description holds for made-up requests, and clients of before still work."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi import checks

from evalsite.accounts.roles import Role, Scope
from evalsite.api.tokens import make_token
from tests import factories
from tests.evalsite.api.contract import STORED, breaks, contract, described
from tests.evalsite.api.doors import Example
from tests.evalsite.api.test_doors import EXAMPLES
from tests.sizes import IS_WHOLE, sized

STORE = "Store the new contract with `python -m tests.evalsite.api.contract` and say the change in CHANGELOG.md."
REQUESTS = sized(1, whole=10)  # made up for each operation and kind of request
BOUNDED = settings(
    max_examples=REQUESTS,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


def test_no_client_of_the_stored_contract_breaks() -> None:
    stored, now = json.loads(STORED.read_text()), contract(described())

    assert breaks(stored, now) == [], f"Scripts that work today would fail. If that is meant: {STORE}"
    assert stored == now, f"The API offers more than the stored contract. {STORE}"


def test_breaks_says_what_a_client_loses() -> None:
    text = {"type": "string"}
    old = {
        "address": "POST /runs",
        "parameters": {"q": text},
        "body": {"application/json": {"a": text, "b": {"type": "string", "enum": ["x", "y"]}}},
        "answers": ["201", "422"],
    }
    new = {
        "address": "POST /run",
        "parameters": {},
        "body": {"application/json": {"b": {"type": "string", "enum": ["x"]}, "c": text}},
        "answers": ["202", "422"],
    }

    assert breaks({"run-create": old, "run-stop": old}, {"run-create": new}) == [
        "run-create was POST /runs and is POST /run.",
        "run-create no longer takes “a”.",
        'run-create: “b” no longer takes "y".',
        "run-create no longer takes “q”.",
        "run-create no longer answers 201.",
        "run-create may now answer 202.",
        "run-stop is gone.",
    ]
    assert breaks({"run-create": old}, {"run-create": old, "run-stop": new}) == []


OPERATIONS: dict[str, Any] = {
    found.ok().definition.raw["operationId"]: found.ok()
    for found in schemathesis.openapi.from_dict(described()).get_all_operations()
}
KEYS: dict[str, Callable[[], Example]] = {name.replace(" ", "-", 1): make for name, make in EXAMPLES.items()}


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Keep the connection of the test through requests, as Django's own client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.sized
@pytest.mark.django_db
@pytest.mark.usefixtures("one_connection")
@pytest.mark.parametrize(
    "name",
    [
        # what a column of PostgreSQL refuses is refused before it, for all alike: a fifth shows it
        pytest.param(name, marks=pytest.mark.backend_free if number % 5 else ())
        for number, name in enumerate(sorted(OPERATIONS))
    ],
)
def test_made_up_requests_get_no_500_and_no_answer_that_is_not_declared(name: str) -> None:
    for role in Role:
        factories.user(role.value, role)
    example = KEYS[name]() if name in KEYS else None
    key = example.subject.pk if example is not None and example.subject is not None else 1
    person = factories.user("schema", Role.ADMIN)
    token = make_token(owner=person, name="schema", scopes=Scope, days=1, at=timezone.now()).secret
    operation = OPERATIONS[name]
    operation.app = get_wsgi_application()
    modes = [*schemathesis.GenerationMode]  # in the gate each operation meets one, the next operation the next one

    def ask(case: schemathesis.Case[Any]) -> None:
        if isinstance(case.path_parameters.get("key"), int):
            case.path_parameters["key"] = key
        with transaction.atomic():
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)
            transaction.set_rollback(True)

    gc.disable()  # Hypothesis parses code, and Python miscounts where a collection parses some more in the middle
    try:
        for mode in modes if IS_WHOLE else [modes[[*OPERATIONS].index(name) % len(modes)]]:
            BOUNDED(given(case=operation.as_strategy(generation_mode=mode))(ask))()
    finally:
        gc.enable()


def test_the_description_stands_at_its_address() -> None:
    assert Client().get("/api/v1/openapi.json").json() == described()


def test_no_name_stands_twice_in_the_description(client: Client) -> None:
    def once(pairs: list[tuple[str, object]]) -> list[tuple[str, object]]:
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return pairs

    json.loads(client.get("/api/v1/openapi.json").content, object_pairs_hook=once)
