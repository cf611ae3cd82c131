"""How long calls to an endpoint take: at the latency of its latest calls, and within its rate limits."""

from __future__ import annotations

from django.db.models import Avg

from judging.llm.rates import WINDOW_SECONDS
from judging.models import Call, ModelEndpoint
from judging.selectors.targets import Target

TYPICAL_REPLY_TOKENS = 250
TYPICAL_REASONING_TOKENS = 2_000  # with a reasoning model's thinking, which is paid for too
LATENCY_CALLS = 50  # the endpoint's latest calls, whose mean latency is taken


def typical_tokens(target: Target) -> int:
    """Return how many tokens a reply of the endpoint usually has."""
    return TYPICAL_REASONING_TOKENS if target.config.reasoning else TYPICAL_REPLY_TOKENS


def seconds_of_calls(target: Target, calls: int, tokens: int, threads: int) -> float | None:
    """Return how long calls with so many tokens in take, at the endpoint's latency and within its rate limits.

    None: nothing is known of the endpoint's latency.
    """
    if target.is_lexical:
        return calls * 0.002
    latency = latency_of(target)
    if latency is None:
        return None
    used = tokens + calls * typical_tokens(target)
    return seconds_at(target, latency=latency, calls=calls, tokens=used, threads=threads)


def seconds_at(target: Target, *, latency: float, calls: int, tokens: int, threads: int, in_turn: int = 1) -> float:
    """Return how long calls take that use so many tokens, replies included, at a latency and within the rate limits.

    `in_turn`: how many of the calls wait for one another.
    """
    if not calls:
        return 0.0
    at_once = max(1, min(threads, target.config.max_concurrency))
    steps = max(-(-calls // at_once), in_turn)
    return max(float(steps * latency), _seconds_by_rates(target, calls, tokens))


def _seconds_by_rates(target: Target, calls: int, tokens: int) -> float:
    """Return how long rate limits make so many calls and tokens take: the first of them go at once."""
    limits = target.config.rate_limits
    demands = ((limits.requests, calls), (limits.tokens, tokens))
    windows = [-(-amount // limit) - 1 for limit, amount in demands if limit and amount]
    return WINDOW_SECONDS * max(windows, default=0)


def latency_of(target: Target) -> float | None:
    """Return the mean seconds of the endpoint's latest calls, else those of its test; None where neither is known."""
    latest = Call.objects.filter(endpoint_id=target.endpoint_id).order_by("-finished_at")[:LATENCY_CALLS]
    latency = Call.objects.filter(pk__in=[call.pk for call in latest.only("pk")]).aggregate(mean=Avg("seconds"))["mean"]
    return _tested_seconds(target) if latency is None else latency


def _tested_seconds(target: Target) -> float | None:
    """Return how long the endpoint's last test took; None where it failed or there was none."""
    tested = ModelEndpoint.objects.values_list("last_test", flat=True).get(pk=target.endpoint_id)
    return tested["seconds"] if tested.get("works") else None
