"""How good a judge is: agreement with people, position consistency, readable replies, and what a reveal changes.

Preferences are in system space (1 = A better, 0 = tie, -1 = B better), never by position; None = no usable verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.intervals import clustered_mean, mean_interval, of_share, wilson


@dataclass(frozen=True, slots=True)
class ExampleAgreement:
    """Agreement item by item; the items behind it are linked, the disagreeing ones first."""

    estimate: Estimate
    agreeing: tuple[str, ...]
    disagreeing: tuple[str, ...]
    n_missing: int  # items that one side or both left open


@dataclass(frozen=True, slots=True)
class SystemAgreement:
    """Do two sources of preferences pick the same system overall? None where a source does not pick one."""

    first_mode: int | None
    second_mode: int | None
    same_mode: bool | None  # eq. 5 of the debate paper
    first_win_rate: Estimate  # of A, ties half
    second_win_rate: Estimate
    same_direction: bool | None  # both win rates above one half, both below, or both exactly one half
    reason: str


@dataclass(frozen=True, slots=True)
class PositionReport:
    """How a pairwise judge depends on the order in which answers are shown."""

    consistency: Estimate  # share of pairs given the same preference in both orders
    first_position_rate: Estimate  # share of decided verdicts for the answer shown first; n = pairs


@dataclass(frozen=True, slots=True)
class ReplyRates:
    """Shares of all verdicts asked for."""

    parsed: Estimate
    refused: Estimate
    unparsed: Estimate
    failed: Estimate


def example_agreement(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None], items: Sequence[str]
) -> ExampleAgreement:
    """Return the share of items with equal labels, with Wilson's interval; items open on a side are left out, counted.

    Raises:
        ValueError: the sides or the items differ in number.
    """
    triples = list(zip(first, second, items, strict=True))
    both = [(a, b, item) for a, b, item in triples if a is not None and b is not None]
    agreeing = tuple(item for a, b, item in both if a == b)
    disagreeing = tuple(item for a, b, item in both if a != b)
    return ExampleAgreement(wilson(len(agreeing), len(both)), agreeing, disagreeing, len(triples) - len(both))


def grouped_agreement(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None], items: Sequence[str], groups: Sequence[str]
) -> dict[str, ExampleAgreement]:
    """Return example agreement per group (scenario, criterion, language), groups in order of first appearance."""
    rows: dict[str, list[tuple[Hashable | None, Hashable | None, str]]] = {}
    for a, b, item, group in zip(first, second, items, groups, strict=True):
        rows.setdefault(group, []).append((a, b, item))
    return {group: example_agreement(*zip(*found, strict=True)) for group, found in rows.items()}


def modal_preference(preferences: Sequence[int | None]) -> int | None:
    """Return the preference given most often among 1, 0 and -1; None when two share the lead or there is none."""
    ranked = Counter(value for value in preferences if value is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def win_rate(preferences: Sequence[int | None]) -> Estimate:
    """Return A's share of wins, ties half, with a t interval; n = usable preferences."""
    return of_share(mean_interval([(1 + value) / 2 for value in preferences if value is not None]))


def system_agreement(first: Sequence[int | None], second: Sequence[int | None]) -> SystemAgreement:
    """Return whether both sources pick the same system, by eq. 5 (the modal label) and by the direction of win rate."""
    modes = modal_preference(first), modal_preference(second)
    rates = win_rate(first), win_rate(second)
    same_mode = None if None in modes else modes[0] == modes[1]
    same_direction = None
    if rates[0].value is not None and rates[1].value is not None:
        same_direction = bool(np.sign(rates[0].value - 0.5) == np.sign(rates[1].value - 0.5))
    reason = (
        "" if same_mode is not None else "One side's most frequent label is tied or missing, so eq. 5 is undefined."
    )
    return SystemAgreement(*modes, same_mode, *rates, same_direction, reason)


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
        consistency=wilson(sum(a == b for a, b in both), len(both)),
        first_position_rate=of_share(clustered_mean(values, pairs)),  # both orders of a pair hang together
    )


def reply_rates(statuses: Sequence[str]) -> ReplyRates:
    """Return how replies came back, from verdict statuses ok, repaired, refused, unparsed and failed."""
    counts, n = Counter(statuses), len(statuses)
    return ReplyRates(
        parsed=wilson(counts["ok"] + counts["repaired"], n),
        refused=wilson(counts["refused"], n),
        unparsed=wilson(counts["unparsed"], n),
        failed=wilson(counts["failed"], n),
    )


@dataclass(frozen=True, slots=True)
class Sway:
    """What people did after the judge's verdict was revealed to them."""

    revised: Estimate  # share of answers that changed
    toward: Estimate  # share of answers that differed from the judge and then became the judge's
    away: Estimate  # share of answers that equalled the judge's and then left it


def sway(blind: Sequence[Hashable], final: Sequence[Hashable], judge: Sequence[Hashable | None]) -> Sway:
    """Return how often people moved, and how often toward or away from the judge (None = it gave no verdict)."""
    rows = list(zip(blind, final, judge, strict=True))
    differed = [(after, verdict) for before, after, verdict in rows if verdict is not None and before != verdict]
    equalled = [(after, verdict) for before, after, verdict in rows if verdict is not None and before == verdict]
    return Sway(
        revised=wilson(sum(before != after for before, after, _ in rows), len(rows)),
        toward=wilson(sum(after == verdict for after, verdict in differed), len(differed)),
        away=wilson(sum(after != verdict for after, verdict in equalled), len(equalled)),
    )
