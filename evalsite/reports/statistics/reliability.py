"""Reliability diagram: how often a judge agrees with people at each level of its measured confidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.estimators.strata import FEWEST_CASES, people_only, shown_mean
from evalsite.reports.statistics.risk_coverage import AuditedVerdict


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Verdicts of similar confidence."""

    low: float  # the lowest and the highest confidence in it
    high: float
    confidence: float  # mean
    agreement: Estimate  # share equal to people's labels; n = cases


def reliability(verdicts: Sequence[AuditedVerdict]) -> tuple[ReliabilityBin, ...]:
    """Return bins of at least 20 cases each, the least confident first; none where there are fewer cases in all.

    Equal confidences stay together. Unit: the case.
    """
    bins: list[list[AuditedVerdict]] = [[]]
    ranked = sorted(verdicts, key=lambda verdict: verdict.confidence)
    for place, verdict in enumerate(ranked):
        is_full = len({one.case for one in bins[-1]}) >= FEWEST_CASES
        if is_full and verdict.confidence != ranked[place - 1].confidence:
            bins.append([])
        bins[-1].append(verdict)
    if len(bins) > 1 and len({one.case for one in bins[-1]}) < FEWEST_CASES:
        bins[-2:] = [bins[-2] + bins[-1]]
    return tuple(_bin(part) for part in bins if len({one.case for one in part}) >= FEWEST_CASES)


def _bin(verdicts: Sequence[AuditedVerdict]) -> ReliabilityBin:
    confidences = [verdict.confidence for verdict in verdicts]
    agreeing: dict[Hashable, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        agreeing[verdict.case].append(verdict.is_correct)
    shares = [sum(case) / len(case) for case in agreeing.values()]
    mean = sum(confidences) / len(confidences)
    return ReliabilityBin(min(confidences), max(confidences), mean, shown_mean([people_only(shares)]).estimate)
