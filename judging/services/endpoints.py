"""Keeps endpoints and judges, and tries an endpoint with one cheap call."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from judging import signals
from judging.judges.prompt_texts import BadPrompt
from judging.judges.registry import BadJudgeOption, UnknownJudge, judge_kind
from judging.llm.attempts import Attempt, Outcome
from judging.llm.chat import ChatRequest, Message
from judging.llm.client import ChatClient
from judging.llm.endpoints import EndpointRefused, check_base_url
from judging.models import EndpointKind, Judge, ModelEndpoint
from judging.selectors.targets import address_policy, config_of

TEST_SECONDS = 20.0
TEST_TRIES = 5
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
FORBIDDEN_PREFIX = "EVALSITE_"  # the site's own secrets are never sent to an endpoint


class EndpointNotValid(ValueError):
    """The endpoint cannot be stored; the message says what to change."""


class JudgeNotValid(ValueError):
    """The judge cannot be stored; the message says what to change."""


@dataclass(frozen=True, slots=True)
class EndpointFields:
    """What a person enters of an endpoint."""

    name: str
    base_url: str
    model: str
    key_variable: str = ""
    reasoning: bool = False
    max_concurrency: int = 50
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class EndpointTrial:
    """What one cheap call showed."""

    works: bool
    seconds: float
    reply: str
    problem: str
    accepts: dict[str, bool]  # json_schema, seed, logprobs, ... as far as the call tried them


@transaction.atomic
def save_endpoint(*, endpoint: ModelEndpoint | None, fields: EndpointFields, actor: User | None) -> ModelEndpoint:
    """Store a new endpoint, or new fields of an old one. A new address or model forgets what was learned.

    Raises:
        EndpointNotValid: an address that may not be called, or a key variable that is not one.
    """
    url = _checked(fields)
    row = endpoint or ModelEndpoint(kind=EndpointKind.OPENAI)
    if (row.base_url, row.model) != (url, fields.model):
        row.capabilities = {}
    for name, value in asdict(fields).items():
        setattr(row, name, value)
    row.base_url = url
    row.save()
    signals.acted.send(
        sender=ModelEndpoint,
        actor_id=actor.pk if actor else None,
        action="endpoint.changed" if endpoint else "endpoint.added",
        subject=row.name,
        subject_id=row.pk,
        detail={"base_url": row.base_url, "model": row.model, "key_variable": row.key_variable},
    )
    return row


def _checked(fields: EndpointFields) -> str:
    if fields.key_variable and not VARIABLE.fullmatch(fields.key_variable):
        raise EndpointNotValid(
            "Enter the NAME of an environment variable, such as OPENAI_API_KEY, never the key itself."
        )
    if fields.key_variable.startswith(FORBIDDEN_PREFIX):
        raise EndpointNotValid("Variables that start with EVALSITE_ are the site's own and are never sent out.")
    if (fields.input_price is None) != (fields.output_price is None):
        raise EndpointNotValid("Enter both prices or neither.")
    try:
        return check_base_url(fields.base_url, address_policy())
    except EndpointRefused as refusal:
        raise EndpointNotValid(str(refusal)) from None


@transaction.atomic
def save_judge(
    *, judge: Judge | None, name: str, kind: str, endpoint: ModelEndpoint, options: dict[str, Any], actor: User | None
) -> Judge:
    """Store a judge. Runs keep what they were started with.

    Raises:
        JudgeNotValid: no such kind, options that it does not take, or a prompt without its placeholders.
    """
    try:
        complete = judge_kind(kind).complete_options(options)
        judge_kind(kind).prompt_hash(complete)  # reads the prompt, and with it an edited one's placeholders
    except (BadJudgeOption, BadPrompt, UnknownJudge) as error:
        raise JudgeNotValid(str(error)) from None
    row = judge or Judge()
    row.name, row.kind, row.endpoint, row.options = name, kind, endpoint, complete
    row.save()
    signals.acted.send(
        sender=Judge,
        actor_id=actor.pk if actor else None,
        action="judge.changed" if judge else "judge.added",
        subject=row.name,
        subject_id=row.pk,
        detail={"kind": kind, "endpoint": endpoint.name},
    )
    return row


def try_endpoint(*, endpoint: ModelEndpoint) -> EndpointTrial:
    """Send one short request and return what the endpoint accepts; what it refuses is remembered."""
    config = replace(config_of(endpoint), read_timeout=TEST_SECONDS)
    if endpoint.key_variable and not config.api_key:
        problem = f"The environment variable {endpoint.key_variable} is not set where the site runs."
        return EndpointTrial(False, 0.0, "", problem, {})
    client = ChatClient(threads=1, policy=address_policy())
    capabilities = config.capabilities
    attempt = Attempt(Outcome.PARAMETER_REFUSED)
    try:
        for _ in range(TEST_TRIES):
            attempt = client.send(config, _trial_request(), capabilities=capabilities)
            capabilities = capabilities.learn(accepted=attempt.accepted, refused=attempt.refused)
            if attempt.outcome is not Outcome.PARAMETER_REFUSED:
                break
    finally:
        client.close()
    ModelEndpoint.objects.filter(pk=endpoint.pk).update(capabilities=asdict(capabilities))
    answered = attempt.outcome in {Outcome.FINISHED, Outcome.TRUNCATED}
    return EndpointTrial(
        works=answered,
        seconds=attempt.seconds,
        reply=attempt.text[:300],
        problem="" if answered else (attempt.error_text or attempt.error_kind or "The endpoint did not answer."),
        accepts={name: value for name, value in asdict(capabilities).items() if value is not None},
    )


def _trial_request() -> ChatRequest:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    return ChatRequest(
        messages=(Message("user", 'Reply with this JSON object and nothing else: {"ok": true}'),),
        max_tokens=30,
        seed=7,
        top_logprobs=2,
        response_format={"type": "json_schema", "json_schema": {"name": "trial", "schema": schema}},
    )
