"""Reliability diagram: how often a judge agrees with people at each level of its measured confidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judging.statistics.estimates import Estimate
from judging.statistics.estimators.shares import shown_share
from judging.statistics.estimators.strata import FEWEST_CASES, people_only
from judging.statistics.risk_coverage import AuditedVerdict

MOST_BINS = 20


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Verdicts of similar confidence."""

    low: float  # the lowest and the highest confidence in it
    high: float
    confidence: float  # mean
    agreement: Estimate  # share equal to people's labels; n = cases


def reliability(verdicts: Sequence[AuditedVerdict]) -> tuple[ReliabilityBin, ...]:
    """Return up to twenty bins of at least 20 cases each, the least confident first; none of fewer cases in all.

    Equal confidences stay together. Unit: the case.
    """
    fewest = max(FEWEST_CASES, len({verdict.case for verdict in verdicts}) // MOST_BINS)
    bins: list[list[AuditedVerdict]] = [[]]
    cases: list[set[Hashable]] = [set()]
    last = None
    for verdict in sorted(verdicts, key=lambda verdict: verdict.confidence):
        if len(cases[-1]) >= fewest and verdict.confidence != last:
            bins.append([])
            cases.append(set())
        last = verdict.confidence
        bins[-1].append(verdict)
        cases[-1].add(verdict.case)
    if len(bins) > 1 and len(cases[-1]) < fewest:
        bins[-2:], cases[-2:] = [bins[-2] + bins[-1]], [cases[-2] | cases[-1]]
    return tuple(_bin(part) for part, bin_cases in zip(bins, cases, strict=True) if len(bin_cases) >= FEWEST_CASES)


def _bin(verdicts: Sequence[AuditedVerdict]) -> ReliabilityBin:
    confidences = [verdict.confidence for verdict in verdicts]
    agreeing: dict[Hashable, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        agreeing[verdict.case].append(verdict.is_correct)
    shares = [sum(case) / len(case) for case in agreeing.values()]
    mean = sum(confidences) / len(confidences)
    return ReliabilityBin(min(confidences), max(confidences), mean, shown_share([people_only(shares)]).estimate)
