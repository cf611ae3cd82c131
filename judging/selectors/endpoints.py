"""Reads endpoints: calls, errors, spending, the limiter's state, and each as the engine calls it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from urllib.parse import quote

from django.conf import settings
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from redis.exceptions import RedisError

from evalsite.base.types import JsonDict, JsonObject
from judging.judges.judge_kinds import IMPORTED_JUDGE
from judging.judges.kinds import lexical
from judging.llm import lanes
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus, kept_message
from judging.llm.endpoints import (
    NO_PROXY,
    SERVER_FIELDS,
    AddressPolicy,
    Capabilities,
    EndpointConfig,
    EndpointKind,
    KeyHeader,
    key_variable_refusal,
    login_variable_refusal,
)
from judging.llm.limiter import connect, endpoint_status
from judging.llm.limits import LimiterStatus
from judging.models import UNREPORTED_KINDS, Call, CallHour, Judge, ModelEndpoint

RECENT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """One endpoint with its last day."""

    endpoint: ModelEndpoint
    judges: int
    calls: int
    errors: int
    spent: Decimal | None
    latency: float | None  # seconds, mean
    key_is_set: bool | None
    has_price: bool


@dataclass(frozen=True, slots=True)
class RateState:
    """An endpoint with rate limits, and what they come to now."""

    endpoint: ModelEndpoint
    wait_seconds: float  # 0: no request waits for them
    calls_per_minute: float  # that they allow, with replies as long as those of the last minute

    @property
    def words(self) -> str:
        """The limits, for people."""
        limits = [
            f"{limit:,} {unit}"
            for limit, unit in (
                (self.endpoint.requests_per_minute, "requests"),
                (self.endpoint.tokens_per_minute, "tokens"),
            )
            if limit
        ]
        return f"{' and '.join(limits)} per minute"


def list_endpoints(*, at: datetime) -> list[EndpointRow]:
    """Return every endpoint with figures of the last 24 hours."""
    endpoints = list(ModelEndpoint.objects.order_by("-is_active", "name"))
    judges = dict(Judge.objects.order_by().values_list("endpoint_id").annotate(n=Count("pk")))
    hours = CallHour.objects.filter(endpoint__in=endpoints, hour__gte=at - RECENT, calls__gt=0).order_by()
    recent: dict[int, JsonDict] = {
        row["endpoint_id"]: dict(row)
        for row in hours.values("endpoint_id").annotate(
            n=Sum("calls"), n_errors=Sum("errors"), spent=Sum("cost"), latency=Sum("seconds") / Sum("calls")
        )
    }
    return [_row(endpoint, judges.get(endpoint.pk, 0), recent.get(endpoint.pk, {})) for endpoint in endpoints]


def _row(endpoint: ModelEndpoint, judges: int, recent: JsonObject) -> EndpointRow:
    return EndpointRow(
        endpoint=endpoint,
        judges=judges,
        calls=recent.get("n", 0),
        errors=recent.get("n_errors", 0),
        spent=recent.get("spent"),
        latency=recent.get("latency"),
        key_is_set=key_is_set(endpoint),
        has_price=endpoint.is_baseline or target_of(endpoint).price is not None,
    )


def limiter_state(endpoint: ModelEndpoint) -> LimiterStatus | None:
    """Return the shared limiter's state; None for baselines and where the broker does not answer."""
    if endpoint.is_baseline:
        return None
    try:
        return endpoint_status(connect(settings.REDIS_URL), target_of(endpoint).config)
    except (RedisError, OSError):
        return None


def rate_states(endpoints: Iterable[ModelEndpoint]) -> list[RateState]:
    """Return the state of the endpoints that have rate limits; none where the broker does not answer."""
    states = []
    for endpoint in endpoints:
        config = target_of(endpoint).config
        status = limiter_state(endpoint) if config.rate_limits else None
        if status is not None:
            each = status.tokens_counted / status.requests_counted if status.requests_counted else 0.0
            rates = [float(limit) for limit in (config.requests_per_minute,) if limit]
            rates += [limit / each for limit in (config.tokens_per_minute,) if limit and each]
            states.append(RateState(endpoint, status.rate_wait_seconds, min(rates, default=math.inf)))
    return states


def spend_by_day(endpoint: ModelEndpoint, *, at: datetime, days: int = 14) -> list[tuple[date, int, Decimal | None]]:
    """Return calls and cost of each of the last days that had any, newest first."""
    rows = (
        CallHour.objects.filter(endpoint=endpoint, hour__gte=at - timedelta(days=days), calls__gt=0)
        .annotate(day=TruncDate("hour"))
        .values("day")
        .annotate(n=Sum("calls"), cost_sum=Sum("cost"))
        .order_by("-day")
    )
    return list(rows.values_list("day", "n", "cost_sum"))


def recent_errors(endpoint: ModelEndpoint) -> QuerySet[Call]:
    """Return the latest calls without a finished reply."""
    calls = Call.objects.filter(endpoint=endpoint).exclude(status="finished").order_by("-finished_at", "-pk")
    return calls.defer("request", "text")[:20]


def active_judges() -> QuerySet[Judge]:
    """Return the judges that new runs and trials are offered, with their endpoints."""
    usable = Q(endpoint=None) | Q(endpoint__is_active=True)
    return Judge.objects.filter(usable, is_active=True).exclude(kind=IMPORTED_JUDGE).select_related("endpoint")


def list_judges() -> QuerySet[Judge]:
    """Return every judge with its endpoint and `run_count`, the runs that reports know of."""
    runs = Count("evaluators__run", filter=~Q(evaluators__run__kind__in=UNREPORTED_KINDS), distinct=True)
    return Judge.objects.select_related("endpoint").annotate(run_count=runs).order_by("-is_active", "name")


UNSENT = frozenset({"messages", "endpoint", "material", "is_probe", "extra"})
SENT = tuple(field.name for field in fields(ChatRequest) if field.name not in UNSENT)
FREE = Decimal(0)
BILLED = "provider"  # the source of a cost that the provider itself reported


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint as the engine needs it: its row, how to reach it, and what a call costs."""

    endpoint_id: int
    config: EndpointConfig
    price: lanes.Price | None
    key_variable: str = ""  # of the environment; empty: usually without a key

    @property
    def missing_key(self) -> str:
        """Why the key that the endpoint names is not there where this process runs; empty where it is or none is."""
        if not self.key_variable or self.config.api_key:
            return ""
        return key_refusal(self.key_variable) or (
            f"The environment variable {self.key_variable} is not set in the environment of the site."
        )

    @property
    def is_lexical(self) -> bool:
        return self.config.kind is EndpointKind.LEXICAL

    def cost(self, reply: ChatReply) -> Decimal | None:
        """Return what a reply cost in USD; None where price or tokens are unknown. Baselines are free.

        So is a failure, unless an attempt on the way to it was answered and counted, such as one that was cut off.
        """
        if self.is_lexical or (reply.status == ReplyStatus.FAILED and not reply.was_counted):
            return FREE
        return lanes.cost_of(
            self.price,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            usage=reply.usage,
        )

    def worst_case(self, request: ChatRequest, *, truncation_retry: bool = True) -> Decimal | None:
        """Return the most that a request can cost in USD, the longer retry included; None: the price is unknown."""
        if self.is_lexical:
            return FREE
        limit = self.config.output_limit(request.max_tokens)
        bare = replace(request, max_tokens=limit, material={})
        return lanes.worst_case_cost(self.price, bare, truncation_retry=truncation_retry)

    def prices_of(self, reply: ChatReply) -> dict[str, str]:
        """Return what the ledger keeps of the price: USD per million tokens, and whose figures they are; of a reply
        that says what it cost, only that the provider said so."""
        if reply.usage.billed is not None:
            return {"source": BILLED}
        if self.price is None:
            return {}
        each = {
            "input": self.price.input_per_million,
            "cached": self.price.cached_per_million,
            "output": self.price.output_per_million,
            "reasoning": self.price.reasoning_per_million,
        }
        shown = {name: f"{amount.normalize():f}" for name, amount in each.items() if amount is not None}
        return shown | {"source": self.price.source}


def config_of(endpoint: ModelEndpoint) -> EndpointConfig:
    """Return how to reach an endpoint, with the key read from the environment variable that it names."""
    kind = EndpointKind(endpoint.kind)
    return EndpointConfig(
        name=endpoint.name,
        base_url=endpoint.base_url,
        model=endpoint.model,
        kind=kind,
        api_key="" if key_refusal(endpoint.key_variable) else os.environ.get(endpoint.key_variable, ""),
        key_header=KeyHeader(endpoint.key_header),
        query=endpoint.query,
        headers=endpoint.headers,
        read_timeout=endpoint.read_timeout,
        ca_bundle=str(settings.CA_BUNDLE or ""),
        ca_certificates=endpoint.ca_certificates,
        proxy=_proxy_url(endpoint),
        stream=endpoint.stream,
        reasoning=endpoint.reasoning,
        max_concurrency=endpoint.max_concurrency,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
        capabilities=Capabilities(**endpoint.capabilities),
        extra={"lexical_version": lexical.VERSION} if kind is EndpointKind.LEXICAL else endpoint.extra,
        min_output_tokens=endpoint.min_output_tokens,
    )


def _proxy_url(endpoint: ModelEndpoint) -> str | None:
    """Return the endpoint's own proxy with the login that its variable holds; empty for none, None for the site's."""
    if endpoint.proxy in ("", NO_PROXY):
        return "" if endpoint.proxy else None
    name = endpoint.proxy_login_variable
    login = "" if not name or login_variable_refusal(name) else os.environ.get(name, "")
    user, _, password = login.partition(":")
    credentials = f"{quote(user, safe='')}:{quote(password, safe='')}@" if login else ""
    return endpoint.proxy.replace("://", f"://{credentials}", 1)


def unchanged_endpoints(config: EndpointConfig) -> QuerySet[ModelEndpoint]:
    """Return the endpoints that are still asked as this one was, so that what it taught holds for them."""
    return ModelEndpoint.objects.filter(**{name: getattr(config, name) for name in SERVER_FIELDS})


def target_of(endpoint: ModelEndpoint) -> Target:
    """Return an endpoint with its price: its own where set, else the listed one, else unknown."""
    override = None
    if endpoint.input_price is not None and endpoint.output_price is not None:
        override = lanes.Price(
            endpoint.input_price,
            endpoint.output_price,
            cached_per_million=endpoint.cached_price,
            reasoning_per_million=endpoint.reasoning_price,
        )
    config = config_of(endpoint)
    price = None
    if config.kind is EndpointKind.OPENAI:
        price = lanes.price_for(base_url=config.base_url, model=config.model, override=override)
    return Target(endpoint_id=endpoint.pk, config=config, price=price, key_variable=endpoint.key_variable)


def unpriced(targets: Iterable[Target]) -> list[str]:
    """Return the names of the endpoints whose price is unknown, each once; baselines are free."""
    return list(
        dict.fromkeys(target.config.name for target in targets if target.price is None and not target.is_lexical)
    )


def price_missing(names: Iterable[str]) -> str:
    """Say that a budget cannot be kept for these endpoints."""
    return (
        f"A budget needs a price, and the price of {', '.join(names)} is unknown. Enter it on the page of the endpoint."
    )


def budget_refusal(targets: Iterable[Target]) -> str:
    """Say that the budget asked for cannot be kept, since a price is unknown; an empty text where it can."""
    names = unpriced(targets)
    return f"{price_missing(names)} Or leave the budget empty." if names else ""


def key_refusal(variable: str) -> str:
    """Return why this site takes no key from an environment variable of this name; empty where it does."""
    return key_variable_refusal(variable, allowed=settings.KEY_VARIABLES)


def address_policy() -> AddressPolicy:
    """Return which addresses may be called on this site."""
    allowed = settings.ALLOW_PRIVATE_ENDPOINTS
    return AddressPolicy(allow_private=allowed, allow_loopback=allowed)


def request_body(request: ChatRequest) -> JsonDict:
    """Return a request as it was asked; what was sent of it, `judging.services.ledger` takes from the reply."""
    body: JsonDict = {"messages": [kept_message(message) for message in request.messages]}
    for name in SENT:  # not `asdict`, which copies the whole material of a request with every call
        value = getattr(request, name)
        if value is not None:
            body[name] = value
    return {**request.extra, **body}


def key_is_set(endpoint: ModelEndpoint) -> bool | None:
    """Return whether the endpoint's key can be had where this process runs; None where it names none."""
    return bool(config_of(endpoint).api_key) if endpoint.key_variable else None
