"""Stores endpoints, and tests them with two cheap calls: what works, which features took effect."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from random import SystemRandom
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.base.rows import assign
from evalsite.base.types import JsonObject, Refused
from judging.llm.chat import Attempt, AttemptOutcome, ChatRequest, Message, MessagePart, ReplyStatus, canonical_json
from judging.llm.endpoints import (
    NO_PROXY,
    PRESETS,
    SERVER_FIELDS,
    Capabilities,
    EndpointConfig,
    EndpointKind,
    EndpointRefused,
    KeyHeader,
    certificates_refusal,
    check_base_url,
    check_proxy_url,
    login_variable_refusal,
)
from judging.llm.lanes import cost_of, estimate_tokens
from judging.llm.limits import Results
from judging.models import DayHold, ModelEndpoint
from judging.selectors.endpoints import (
    Target,
    address_policy,
    key_refusal,
    price_missing,
    target_of,
    unchanged_endpoints,
)
from judging.services import day_budgets

if TYPE_CHECKING:
    from judging.llm.client import ChatClient

PRICES = ("input_price", "output_price", "cached_price", "reasoning_price")  # USD per million tokens
MAX_EXTRA = 4_000  # characters
EXTRA_EXAMPLE = '{"reasoning_effort": "low"}'
HEADERS_EXAMPLE = '{"X-Title": "Evalsite"}'
MAX_TOKENS = 1_000_000
MAX_DAYS = 3_650
SHORTEST_WAIT, LONGEST_WAIT = 10, 1_800  # seconds for a reply
QUERY = re.compile(r"(?:[\w.~-]+=[\w.~%:+-]*(?:&[\w.~-]+=[\w.~%:+-]*)*)?", re.ASCII)
HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}")
HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,498}[\x21-\x7e])?")
SECRET_HEADER = re.compile(r"key|token|secret|authori[sz]ation|cookie", re.IGNORECASE)
RESERVED_HEADERS = frozenset(
    [
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "te", "trailer", "transfer-encoding", "upgrade"),
    ]
)
RESERVED_FIELDS = frozenset(
    [
        "model",
        "messages",
        "stream",
        "stream_options",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "seed",
        "random_seed",
        "logprobs",
        "top_logprobs",
        "response_format",
        "tools",
        "functions",
    ]
)


class EndpointNotValid(Refused):
    """The endpoint cannot be stored; the message says what to change."""


@dataclass(frozen=True, slots=True)
class EndpointFields:
    """What a person enters of an endpoint."""

    name: str
    base_url: str
    model: str
    key_variable: str = ""
    reasoning: bool = False
    min_output_tokens: int | None = None
    reuse_days: int | None = None
    preset: str = ""
    key_header: str = KeyHeader.BEARER
    query: str = ""
    headers: JsonObject = field(default_factory=dict)
    read_timeout: int | None = None  # seconds
    extra: JsonObject = field(default_factory=dict)
    max_concurrency: int = 50
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    cached_price: Decimal | None = None
    reasoning_price: Decimal | None = None
    stated_images: bool | None = None
    is_active: bool = True
    stream: bool = False
    ca_certificates: str = ""
    proxy: str = ""
    proxy_login_variable: str = ""


@transaction.atomic
def save_endpoint(*, endpoint: ModelEndpoint | None, fields: EndpointFields, actor: User | None) -> ModelEndpoint:
    """Store a new endpoint, or new fields of an old one. A new address or model forgets what was learned;
    what its preset is known to refuse is not tried.

    Raises:
        EndpointNotValid: an address that may not be called, a key variable, header or query that is not one, or another
            address or model for an endpoint that has answered already.
    """
    fields = replace(fields, base_url=_checked(fields), proxy=_checked_proxy(fields))
    row = endpoint or ModelEndpoint(kind=EndpointKind.OPENAI)
    if endpoint is not None:
        _check_unused(endpoint, fields.base_url, fields.model)
    if any(getattr(row, name) != getattr(fields, name) for name in (*SERVER_FIELDS, "preset")):
        preset = PRESETS.get(fields.preset)
        row.capabilities, row.last_test = preset.known if preset else {}, {}
    changes = assign(row, {entered.name: getattr(fields, entered.name) for entered in dataclass_fields(fields)})
    row.save()
    if endpoint is None:
        record(actor, "endpoint.added", row, base_url=row.base_url, model=row.model, key_variable=row.key_variable)
    elif changes:
        record(actor, "endpoint.changed", row, **changes)
    return row


def _check_unused(endpoint: ModelEndpoint, url: str, model: str) -> None:
    """Pass where the endpoint stays what it was, or has never answered: results name it as the one that gave them."""
    if (endpoint.base_url, endpoint.model) == (url, model):
        return
    if endpoint.calls.filter(status=ReplyStatus.FINISHED).exists():
        raise EndpointNotValid(
            f"{endpoint.name} has been used for calls, so its address and model cannot change: its replies would "
            "otherwise be attributed to another model. Add a new endpoint instead, and deactivate this one."
        )


def _checked(fields: EndpointFields) -> str:
    refusal = key_refusal(fields.key_variable) if fields.key_variable else ""
    if refusal:
        raise EndpointNotValid(refusal)
    _check_object("Extra fields", fields.extra, EXTRA_EXAMPLE)
    _check_object("Headers", fields.headers, HEADERS_EXAMPLE)
    reserved = sorted(RESERVED_FIELDS.intersection(fields.extra))
    if reserved:
        raise EndpointNotValid(f"Extra fields cannot set {', '.join(reserved)}: the judge or this form sets them.")
    _check_sending(fields)
    _check_headers(fields.headers)
    if fields.min_output_tokens is not None and fields.min_output_tokens > MAX_TOKENS:
        raise EndpointNotValid(f"The minimum output limit can be at most {MAX_TOKENS:,} tokens.")
    if fields.reuse_days is not None and not 1 <= fields.reuse_days <= MAX_DAYS:
        raise EndpointNotValid(f"Replies can be reused for 1 to {MAX_DAYS:,} days; leave the field empty for no limit.")
    _check_prices(fields)
    try:
        return check_base_url(fields.base_url, address_policy())
    except EndpointRefused as refused:
        raise EndpointNotValid(str(refused)) from None


def _check_prices(fields: EndpointFields) -> None:
    if any((getattr(fields, name) or 0) < 0 for name in PRICES):
        raise EndpointNotValid("A price is 0 USD or more.")
    if (fields.input_price is None) != (fields.output_price is None):
        raise EndpointNotValid("Enter both prices or neither.")
    if fields.input_price is None and (fields.cached_price is not None or fields.reasoning_price is not None):
        raise EndpointNotValid("Enter the input and the output price too: the other prices only refine them.")


def _checked_proxy(fields: EndpointFields) -> str:
    if fields.ca_certificates and certificates_refusal(fields.ca_certificates):
        raise EndpointNotValid(certificates_refusal(fields.ca_certificates))
    if fields.proxy_login_variable and login_variable_refusal(fields.proxy_login_variable):
        raise EndpointNotValid(login_variable_refusal(fields.proxy_login_variable))
    if fields.proxy_login_variable and fields.proxy in ("", NO_PROXY):
        raise EndpointNotValid("Enter the proxy that the login is for, or remove the login variable.")
    try:
        return check_proxy_url(fields.proxy, address_policy())
    except EndpointRefused as refused:
        raise EndpointNotValid(str(refused)) from None


def _check_sending(fields: EndpointFields) -> None:
    if fields.preset and fields.preset not in PRESETS:
        raise EndpointNotValid(f"There is no preset {fields.preset!r}; there are {', '.join(PRESETS)}.")
    if fields.key_header not in set(KeyHeader):
        raise EndpointNotValid(f"The header of the key is {' or '.join(KeyHeader)}, not {fields.key_header!r}.")
    if QUERY.fullmatch(fields.query) is None:
        raise EndpointNotValid("Enter the query as NAME=VALUE, such as api-version=2024-10-21, without the ?.")
    if fields.read_timeout is not None and not SHORTEST_WAIT <= fields.read_timeout <= LONGEST_WAIT:
        raise EndpointNotValid(f"The reply timeout is from {SHORTEST_WAIT} to {LONGEST_WAIT:,} seconds.")


def _check_object(title: str, value: object, example: str) -> None:
    if not isinstance(value, Mapping):
        raise EndpointNotValid(f"{title} must be a JSON object, such as {example}.")
    if len(canonical_json(value)) > MAX_EXTRA:
        raise EndpointNotValid(f"{title} can have at most {MAX_EXTRA:,} characters.")


def _check_headers(headers: JsonObject) -> None:
    for name, value in headers.items():
        if HEADER.fullmatch(name) is None or not isinstance(value, str) or HEADER_VALUE.fullmatch(value) is None:
            raise EndpointNotValid(
                f"{name!r} is no header: names are letters, digits and dashes, values are ASCII text."
            )
        if name.lower() in RESERVED_HEADERS or SECRET_HEADER.search(name):
            raise EndpointNotValid(f"The header {name} cannot be set here: keys are named by their variable only.")


@transaction.atomic
def forget_capabilities(*, endpoint: ModelEndpoint, actor: User | None) -> None:
    """Forget what the endpoint refused and took, so that the next calls try everything again."""
    ModelEndpoint.objects.filter(pk=endpoint.pk).update(capabilities={})
    record(actor, "endpoint.forgotten", endpoint, capabilities=endpoint.capabilities)


COLOURS = {
    "red": (220, 20, 30),
    "green": (20, 150, 50),
    "blue": (30, 60, 220),
    "yellow": (250, 220, 30),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
STRIPES = 4
STRIPE_SIZE = (80, 160)  # pixels
QUESTION = (
    f"The picture has {STRIPES} vertical stripes. Name their colours from left to right, separated by commas, and "
    f"write nothing else. The colours are among {', '.join(COLOURS)}."
)
_WORD = re.compile(r"\b(" + "|".join(COLOURS) + r")\b", re.IGNORECASE)


def new_vision_test() -> tuple[ChatRequest, list[str]]:
    """Return a request with a picture, and the colours that a right answer names in their order; a guess is right once
    in 360."""
    from PIL import Image

    colours = SystemRandom().sample(sorted(COLOURS), STRIPES)
    width, height = STRIPE_SIZE
    picture = Image.new("RGB", (width * STRIPES, height))
    for index, colour in enumerate(colours):
        picture.paste(COLOURS[colour], (index * width, 0, (index + 1) * width, height))
    out = io.BytesIO()
    picture.save(out, "PNG")
    data = out.getvalue()
    part = MessagePart(digest=sha256(data).hexdigest(), media_type="image/png", data=data)
    return ChatRequest((Message("user", QUESTION, (part,)),), temperature=None, max_tokens=200), colours


TEST_SECONDS = 20.0
TEST_SECONDS_REASONING = 45.0  # the page that waits for it is cut off after 60
TEST_TRIES = 12  # each leaves out what the one before was refused for
ANSWER_NAME = "water_is_wet"  # the schema alone names it: an answer with it followed the schema
SCHEMA = {
    "type": "object",
    "properties": {ANSWER_NAME: {"type": "boolean"}},
    "required": [ANSWER_NAME],
    "additionalProperties": False,
}
TRIAL = ChatRequest(
    messages=(
        Message("system", "Answer with one short JSON object and nothing else."),
        Message("user", "Is water wet?"),
    ),
    max_tokens=200,
    seed=7,
    top_logprobs=2,
    response_format={"type": "json_schema", "json_schema": {"name": "trial", "strict": True, "schema": SCHEMA}},
)
RATE_USED_UP = "The calls that this endpoint takes at once, or a minute, are used up. Test it again in {seconds} s."
SHOWING = frozenset({"json_schema", "json_object", "logprobs", "stream"})  # whose effect an answer shows
ANSWERED = frozenset(
    {AttemptOutcome.FINISHED, AttemptOutcome.TRUNCATED, AttemptOutcome.REFUSED, AttemptOutcome.UNUSABLE}
)
PAGE_SECONDS = 50.0  # of both calls together: the page that waits for them is cut off after 60


@dataclass(frozen=True, slots=True)
class EndpointTrial:
    """What one cheap call showed, as the endpoint keeps it."""

    works: bool
    seconds: float = 0.0
    reply: str = ""
    problem: str = ""
    provider_text: str = ""  # the provider's own sentence, for administrators
    model_served: str = ""
    verified: tuple[str, ...] = ()  # the answer shows that these had their effect
    not_refused: tuple[str, ...] = ()  # taken without an error; whether they have an effect cannot be seen
    ignored: tuple[str, ...] = ()  # taken without an error and without effect
    refused: tuple[str, ...] = ()
    sight_reply: str = ""  # to the picture, or why there was none
    at: str = ""  # ISO time


def try_endpoint(*, endpoint: ModelEndpoint, at: datetime, actor: User | None = None) -> EndpointTrial:
    """Send a short request and one with a picture, and return what the endpoint takes; the result is kept."""
    target = target_of(endpoint)
    config = target.config
    if target.missing_key:
        trial, capabilities = EndpointTrial(works=False, problem=target.missing_key), config.capabilities
    else:
        trial, capabilities = _ask(target, at)
    trial = replace(trial, at=at.isoformat())
    endpoint.last_test, endpoint.capabilities = asdict(trial), asdict(capabilities)
    rows = unchanged_endpoints(config).filter(pk=endpoint.pk)  # none where it was edited meanwhile
    rows.update(capabilities=endpoint.capabilities, last_test=json.loads(json.dumps(endpoint.last_test)))
    record(actor, "endpoint.tested", endpoint, works=trial.works)
    return trial


class _NotSent(Exception):
    """A call of the test may not be made now; the message says why."""


@dataclass(frozen=True, slots=True)
class _Caller:
    """Sends the calls of a test, within the limits of the endpoint and the budgets of the day."""

    client: ChatClient
    target: Target
    at: datetime

    def send(self, config: EndpointConfig, request: ChatRequest, capabilities: Capabilities) -> Attempt:
        """Send one call and count what it cost.

        Raises:
            _NotSent: the rates are used up, or the budgets of the day do not carry it.
        """
        wait = _wait_for_rates(config)
        if wait:
            raise _NotSent(RATE_USED_UP.format(seconds=math.ceil(wait)))
        hold = self._hold(request)
        spent = hold.amount  # where no answer comes
        try:
            attempt = self.client.send(config, request, capabilities=capabilities)
            spent = self._cost(attempt, hold.amount)
        finally:
            day_budgets.book_outside_runs(holds=[hold], spent=spent, at=self.at)
        return attempt

    def _hold(self, request: ChatRequest) -> DayHold:
        endpoint_id, worst = self.target.endpoint_id, self.target.worst_case(request, truncation_retry=False)
        if worst is None and day_budgets.limited_endpoints([endpoint_id]):
            raise _NotSent(price_missing([self.target.config.name]))
        hold = day_budgets.hold_outside_runs(endpoint_id=endpoint_id, amount=worst or Decimal(0), at=self.at)
        if hold is None:
            raise _NotSent(day_budgets.refusal(endpoint_id=endpoint_id, at=self.at))
        return hold

    def _cost(self, attempt: Attempt, most: Decimal) -> Decimal:
        """Return what an attempt cost, as far as that can be known, else the most that it can have cost."""
        if attempt.outcome not in ANSWERED and not attempt.is_paid:
            return Decimal(0)
        counted = {"prompt_tokens": attempt.prompt_tokens, "completion_tokens": attempt.completion_tokens}
        cost = None if attempt.is_unheard else cost_of(self.target.price, **counted, usage=attempt.usage)
        return most if cost is None else cost


def _ask(target: Target, at: datetime) -> tuple[EndpointTrial, Capabilities]:
    config = target.config
    config = replace(config, read_timeout=TEST_SECONDS_REASONING if config.reasoning else TEST_SECONDS)
    capabilities, used = config.capabilities, frozenset[str]()
    attempt = Attempt(AttemptOutcome.PARAMETER_REFUSED)
    from judging.llm.client import ChatClient, proxy_of

    client = ChatClient(threads=1, policy=address_policy(), proxy=proxy_of(settings.PROXY))
    caller = _Caller(client, target, at)
    try:
        for _ in range(TEST_TRIES):
            attempt = caller.send(config, TRIAL, capabilities)
            used = used_by(attempt)
            capabilities = capabilities.learn(refused=attempt.refused)
            if attempt.outcome is not AttemptOutcome.PARAMETER_REFUSED:
                break
        trial = judge_attempt(attempt, used, config)
        capabilities = capabilities.learn(accepted=frozenset([*trial.verified, *trial.not_refused]))
        if trial.works:
            trial, capabilities = _show_picture(caller, config, trial, capabilities)
    except _NotSent as refusal:
        return EndpointTrial(works=False, problem=str(refusal)), capabilities
    finally:
        client.close()
    refused = [name for name, accepted in asdict(capabilities).items() if accepted is False and name != "images"]
    return replace(trial, refused=tuple(sorted(refused))), capabilities


def _wait_for_rates(config: EndpointConfig) -> float:
    """Count one more call against the rate limits; return the seconds to wait where they are used up."""
    if not config.rate_limits:
        return 0.0
    from judging.llm.limiter import LimiterFactory, connect

    limiter = LimiterFactory(connect(settings.REDIS_URL))(config)
    most = estimate_tokens(TRIAL.messages) + (config.output_limit(TRIAL.max_tokens) or 0)
    grant = limiter.exchange(held=0, want=1, results=Results(), tokens=[most])
    limiter.leave()
    return 0.0 if grant.slots else max(1.0, grant.rate_wait_seconds)


def _show_picture(
    caller: _Caller, config: EndpointConfig, trial: EndpointTrial, capabilities: Capabilities
) -> tuple[EndpointTrial, Capabilities]:
    """Return a trial that works with what a picture showed; where its answer did not come, sight stays as it was."""
    request, colours = new_vision_test()
    config = replace(config, read_timeout=min(config.read_seconds, max(5.0, PAGE_SECONDS - trial.seconds)))
    try:
        attempt = caller.send(config, request, capabilities)
    except _NotSent as refusal:
        return replace(trial, sight_reply=str(refusal)[:300]), capabilities
    if attempt.outcome is AttemptOutcome.FINISHED:
        trial = replace(trial, sight_reply=attempt.text[:300])
        named = [word.lower() for word in _WORD.findall(attempt.text)]
        return trial, replace(capabilities, images=named == colours)
    trial = replace(trial, sight_reply=(attempt.error_text or "The endpoint did not reply.")[:300])
    if attempt.outcome in (AttemptOutcome.PARAMETER_REFUSED, AttemptOutcome.CLIENT_ERROR):
        return trial, replace(capabilities, images=False)
    return trial, capabilities


def used_by(attempt: Attempt) -> frozenset[str]:
    """Return the optional fields that an attempt was sent with."""
    names = {name for name in attempt.sent if name in Capabilities.__slots__}
    names |= {str(attempt.sent.get("response_format", {}).get("type", ""))} & SHOWING
    if "messages" not in attempt.sent:  # else the system's were folded into the user's
        names.add("system_role")
    return frozenset(names)


def judge_attempt(attempt: Attempt, used: frozenset[str], config: EndpointConfig) -> EndpointTrial:
    """Return what the last attempt of a trial shows."""
    answered = attempt.outcome is AttemptOutcome.FINISHED or (
        attempt.outcome is AttemptOutcome.TRUNCATED and attempt.text.strip()
    )
    attempt_fields = {
        "seconds": attempt.seconds,
        "provider_text": attempt.provider_text,
        "model_served": attempt.head.get("model", ""),
    }
    if not answered:
        return EndpointTrial(works=False, problem=_problem(attempt, config), **attempt_fields)  # type: ignore[arg-type]
    verified = used & SHOWING & _shown(attempt)
    return EndpointTrial(
        works=True,
        reply=attempt.text[:300],
        verified=tuple(sorted(verified)),
        not_refused=tuple(sorted(used - SHOWING)),
        ignored=tuple(sorted(used & SHOWING - verified)),
        **attempt_fields,  # type: ignore[arg-type]
    )


def _shown(attempt: Attempt) -> frozenset[str]:
    """Return what the answer shows to have been followed."""
    try:
        answer = json.loads(attempt.text)
    except (ValueError, RecursionError):
        answer = None
    shown = {"stream"} & attempt.accepted | ({"logprobs"} if attempt.label_logprobs else set())
    if isinstance(answer, dict):
        shown.add("json_object")
        if set(answer) == {ANSWER_NAME} and isinstance(answer[ANSWER_NAME], bool):
            shown.add("json_schema")
    return frozenset(shown)


def _problem(attempt: Attempt, config: EndpointConfig) -> str:
    problem = attempt.error_text or "The endpoint did not reply."
    if attempt.error_kind == "address" and re.search(r"/v\d", urlsplit(config.base_url).path) is None:
        return f"{problem} The address has no /v1; most servers use {config.base_url}/v1."
    if attempt.outcome is AttemptOutcome.TRUNCATED and not config.reasoning:
        return f"{problem} It may be a reasoning model: mark it as one, or raise its minimum output limit."
    if attempt.error_kind == "timeout":
        return f"{problem} The test waits {config.read_seconds:.0f} seconds; a run waits longer."
    return problem
