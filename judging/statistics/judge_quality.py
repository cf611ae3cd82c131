"""How good a judge is: agreement with people, position consistency, readable replies, and what a reveal changes.

Preferences are in system space (1 = A better, 0 = tie, -1 = B better), never by position; None = no usable verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judging.statistics.estimates import Estimate
from judging.statistics.estimators.differences import case_means
from judging.statistics.estimators.shares import census_change
from judging.statistics.intervals import share_of


@dataclass(frozen=True, slots=True)
class PositionReport:
    """How a pairwise judge depends on the order in which answers are shown."""

    consistency: Estimate  # share of pairs given the same preference in both orders
    first_position_rate: Estimate  # share of a pair's decided verdicts for the answer shown first, on average


@dataclass(frozen=True, slots=True)
class ReplyRates:
    """Shares of all verdicts asked for."""

    parsed: Estimate
    refused: Estimate
    unparsed: Estimate
    failed: Estimate


def position_report(in_order: Sequence[int | None], swapped: Sequence[int | None]) -> PositionReport:
    """Return consistency and first-position rate of verdicts in both orders, in system space; A first in `in_order`.

    Raises:
        ValueError: the two orders differ in number.
    """
    both = [(a, b) for a, b in zip(in_order, swapped, strict=True) if a is not None and b is not None]
    for_first = [(float(value == 1), pair) for pair, value in enumerate(in_order) if value]
    for_first += [(float(value == -1), pair) for pair, value in enumerate(swapped) if value]
    values, pairs = [value for value, _ in for_first], [pair for _, pair in for_first]
    return PositionReport(
        consistency=share_of(sum(a == b for a, b in both), len(both)),
        first_position_rate=census_change(list(case_means(values, pairs).values())),
    )


def reply_rates(statuses: Sequence[str]) -> ReplyRates:
    """Return how replies came back, from verdict statuses ok, repaired, refused, unparsed and failed."""
    counts, n = Counter(statuses), len(statuses)
    return ReplyRates(
        parsed=share_of(counts["ok"] + counts["repaired"], n),
        refused=share_of(counts["refused"], n),
        unparsed=share_of(counts["unparsed"], n),
        failed=share_of(counts["failed"], n),
    )


@dataclass(frozen=True, slots=True)
class AnchoringEffect:
    """What people did after the judge's verdict was revealed to them."""

    revised: Estimate  # share of answers that changed
    toward: Estimate  # share of answers that differed from the judge and then became the judge's
    away: Estimate  # share of answers that equalled the judge's and then left it


def anchoring_effect(
    blind: Sequence[Hashable], final: Sequence[Hashable], judge: Sequence[Hashable | None]
) -> AnchoringEffect:
    """Return how often people moved, and how often toward or away from the judge (None = it gave no verdict)."""
    rows = list(zip(blind, final, judge, strict=True))
    differed = [(after, verdict) for before, after, verdict in rows if verdict is not None and before != verdict]
    equalled = [(after, verdict) for before, after, verdict in rows if verdict is not None and before == verdict]
    return AnchoringEffect(
        revised=share_of(sum(before != after for before, after, _ in rows), len(rows)),
        toward=share_of(sum(after == verdict for after, verdict in differed), len(differed)),
        away=share_of(sum(after != verdict for after, verdict in equalled), len(equalled)),
    )
