"""How good a judge is: agreement with people, position consistency, readable replies, and what a reveal changes.

Preferences are in system space (1 = A better, 0 = tie, -1 = B better), never by position; None = no usable verdict.

Selective prediction says from which confidence on a judge may decide alone, with a bound on how often it is wrong.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from judging.statistics.estimates import FEWEST_CASES, Estimate, Floats, people_only, share_of
from judging.statistics.estimators.boards import case_means, census_change, shown_share


def position_report(in_order: Sequence[int | None], swapped: Sequence[int | None]) -> tuple[Estimate, Estimate]:
    """Return consistency and first-position rate of verdicts in both orders, in system space; A first in `in_order`.

    Consistency is the share of pairs given the same preference in both orders, the other the share of a pair's decided
    verdicts for the answer shown first, on average.

    Raises:
        ValueError: the two orders differ in number.
    """
    both = [(a, b) for a, b in zip(in_order, swapped, strict=True) if a is not None and b is not None]
    for_first = [(float(value == 1), pair) for pair, value in enumerate(in_order) if value]
    for_first += [(float(value == -1), pair) for pair, value in enumerate(swapped) if value]
    values, pairs = [value for value, _ in for_first], [pair for _, pair in for_first]
    first_position = census_change(list(case_means(values, pairs).values()))
    return share_of(sum(a == b for a, b in both), len(both)), first_position


def parsed_share(counts: Mapping[str, int]) -> Estimate:
    """Return the share of replies with a verdict, from their numbers by status: ok, repaired, or any other."""
    return share_of(counts.get("ok", 0) + counts.get("repaired", 0), sum(counts.values()))


def anchoring_effect(
    blind: Sequence[Hashable], final: Sequence[Hashable], judge: Sequence[Hashable | None]
) -> tuple[Estimate, Estimate, Estimate]:
    """Return what people did after a judge's verdict (None = it gave none) was revealed to them, as three shares:
    of answers that changed, of answers off the judge's that became the judge's, and of the judge's that left it."""
    rows = list(zip(blind, final, judge, strict=True))
    differed = [(after, verdict) for before, after, verdict in rows if verdict is not None and before != verdict]
    equalled = [(after, verdict) for before, after, verdict in rows if verdict is not None and before == verdict]
    revised = share_of(sum(before != after for before, after, _ in rows), len(rows))
    toward = share_of(sum(after == verdict for after, verdict in differed), len(differed))
    return revised, toward, share_of(sum(after != verdict for after, verdict in equalled), len(equalled))


FEWEST = 20  # responses that both members of a pair gave a vote on, for their correlation to count
ONE_MEMBER = "A panel of one judge has no pairs."
NO_PAIRS = f"No two members have {FEWEST} responses in common on which both of them vary."


@dataclass(frozen=True, slots=True)
class EffectiveJudges:
    """The effective number, from 1 to the number of members; None with the reason where it is undefined."""

    value: float | None
    correlation: float | None  # mean over the pairs, -1..1
    pairs: int  # that it is the mean of
    n: int  # rows on which at least two members voted
    reason: str = ""


def effective_judges(votes: Floats) -> EffectiveJudges:
    """Return the effective number of judges of votes or errors; shape (responses, members), NaN where there is none.

    n_eff = k / (1 + (k - 1) r) with k members and r the mean Pearson correlation over their pairs: Kish's design effect
    of k observations that correlate by r (Kish 1965, Survey Sampling, section 5.4). Of errors (vote less people's
    label) it says how many independent judges would err as little on average; of votes it is smaller, since members
    that are right agree too. A negative r counts as 0: a panel is worth no more than its members. Pairs in which one
    member never varies, or with fewer than FEWEST common rows, have no correlation and are left out. Undefined with
    one member or without any pair left.
    """
    members = votes.shape[1]
    n = int((np.sum(~np.isnan(votes), axis=1) > 1).sum())
    if members < 2:
        return EffectiveJudges(None, None, 0, n, ONE_MEMBER)
    correlations = [value for value in _correlations(votes) if value is not None]
    if not correlations:
        return EffectiveJudges(None, None, 0, n, NO_PAIRS)
    mean = float(np.mean(correlations))
    return EffectiveJudges(members / (1 + (members - 1) * max(0.0, mean)), mean, len(correlations), n)


def _correlations(votes: Floats) -> Iterator[float | None]:
    for first, second in combinations(range(votes.shape[1]), 2):
        yield correlation_of(votes[:, first], votes[:, second])


def correlation_of(first: Floats, second: Floats) -> float | None:
    """Return Pearson's correlation over the rows that both have; None with fewer than FEWEST, or where one is constant.

    Both have the shape (responses,), NaN where there is no vote.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    first_votes, second_votes = first[both], second[both]
    if len(first_votes) < FEWEST or not np.ptp(first_votes) or not np.ptp(second_votes):
        return None
    return float(np.clip(np.corrcoef(first_votes, second_votes)[0, 1], -1.0, 1.0))


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


ALPHA = 0.1  # tolerated error rate among accepted verdicts
DELTA = 0.1  # tolerated chance that the guarantee fails
MOST_LABELS = 10_000  # that anybody would be told to collect
LATE_START = 2  # times the fewest cases that could pass: where the walk starts
MANY_CASES = 8  # times the fewest, from which on it starts there; with fewer cases that accepts less


@dataclass(frozen=True, slots=True)
class AuditedVerdict:
    """A verdict of the audit arm that people have decided."""

    confidence: float  # 0..1, measured
    is_correct: bool  # the judge's label is people's
    case: Hashable
    weight: float = 1.0  # 1 / the probability with which the audit of its run drew the case


@dataclass(frozen=True, slots=True)
class Step:
    """One point of the risk-coverage curve: what is accepted at or above a confidence."""

    threshold: float
    accepted: int  # verdicts
    errors: int
    cases: int  # that the accepted verdicts are about
    proving: int  # cases drawn at one rate that would prove as much: fewer than `cases` where rates differ
    coverage: float  # share accepted of all verdicts that the audited ones stand for
    risk: float  # share wrong of all accepted verdicts that the audited ones stand for

    def bound(self, delta: float) -> float:
        """Return what the error rate among accepted verdicts is below with probability 1 - delta.

        Verdicts on one case err together, so a case counts once: the bound is that of n cases with the error rate of
        the accepted verdicts, which is exact where each case has one verdict and wider than needed where verdicts on a
        case are independent.
        """
        return error_bound(math.ceil(self.risk * self.proving - 1e-9), self.proving, delta=delta)


@dataclass(frozen=True, slots=True)
class ThresholdDecision:
    """Verdicts at or above the threshold of `chosen` stand; None: no threshold keeps the error rate."""

    chosen: Step | None
    labels_needed: int | None  # further audited cases, if errors stay as rare; None: no number would do
    reason: str  # why there is none; empty where there is one


def risk_coverage(verdicts: Sequence[AuditedVerdict]) -> tuple[Step, ...]:
    """Return one step for each confidence that occurs, the strictest first.

    Runs of one version whose audits drew at different rates are pooled by weight, and n is then Kish's effective number
    of cases, (sum w)² / sum w². Source: Korn and Graubard 1998.
    """
    steps: list[Step] = []
    ranked = sorted(verdicts, key=lambda verdict: -verdict.confidence)
    total = sum(verdict.weight for verdict in ranked)
    errors, weight, wrong, cases = 0, 0.0, 0.0, dict[Hashable, float]()
    sums, squares = 0.0, 0.0  # of the weights of cases
    for rank, verdict in enumerate(ranked, start=1):
        weight += verdict.weight
        if not verdict.is_correct:
            errors, wrong = errors + 1, wrong + verdict.weight
        before = cases.get(verdict.case, 0.0)
        heaviest = cases[verdict.case] = max(before, verdict.weight)
        sums, squares = sums + heaviest - before, squares + heaviest**2 - before**2
        if rank == len(ranked) or ranked[rank].confidence != verdict.confidence:  # equal ones are accepted together
            proving, risk = math.floor(sums**2 / squares + 1e-9), wrong / weight
            steps.append(Step(verdict.confidence, rank, errors, len(cases), proving, weight / total, risk))
    return tuple(steps)


def fewest_cases(*, alpha: float, delta: float) -> int:
    """Return how many accepted cases pass if none is wrong: below so many audited cases no look can succeed."""
    return labels_needed(0.0, alpha=alpha, delta=delta)


def start_of_walk(cases: int, *, alpha: float, delta: float) -> int:
    """Return the accepted cases at which the walk starts: a choice that looks at counts only, never at errors.

    A late start keeps one error among the most confident verdicts from ending the walk at once, and costs less than it
    gains once there are many audited cases.
    """
    fewest = fewest_cases(alpha=alpha, delta=delta)
    return LATE_START * fewest if cases >= MANY_CASES * fewest else fewest


def choose_threshold(
    steps: Sequence[Step], *, alpha: float = ALPHA, delta: float = DELTA, wrong: str = "wrong"
) -> ThresholdDecision:
    """Return the smallest threshold whose bound, and that of every stricter one, is at most alpha.

    `steps` come from `risk_coverage` over the audit arm only: on verdicts chosen for low confidence the guarantee does
    not hold. It holds for one look; each of several has a part of delta. `wrong` says in words what an error
    is. The walk starts at the strictest threshold that accepts enough cases (`start_of_walk`), and stops at the first
    failure, so that no correction for many thresholds is needed. Source: fixed-sequence testing as in Jung, Brahman
    and Choi 2024, "Trust or Escalate".
    """
    fewest = fewest_cases(alpha=alpha, delta=delta)
    total = steps[-1].proving if steps else 0
    if total < fewest:
        return ThresholdDecision(None, fewest - total, f"{total} audited cases; at least {fewest} are needed.")
    start = start_of_walk(total, alpha=alpha, delta=delta)
    walk = [step for step in steps if step.proving >= start]
    chosen = None
    for step in walk:
        if step.bound(delta) > alpha:
            break
        chosen = step
    if chosen is not None:
        return ThresholdDecision(chosen, 0, "")
    needed = _further_labels(walk[0], total, alpha=alpha, delta=delta)
    return ThresholdDecision(None, needed, f"Even the most confident verdicts are {wrong} too often.")


def _further_labels(strictest: Step, total: int, *, alpha: float, delta: float) -> int | None:
    """Return how many further audited cases would give the strictest threshold its proof, at its present error rate."""
    if strictest.risk >= alpha:
        return None
    try:
        accepted = labels_needed(strictest.risk, alpha=alpha, delta=delta)
    except ValueError:
        return None
    return max(1, math.ceil(accepted * total / strictest.proving) - total)


def error_bound(errors: int, n: int, *, delta: float = DELTA) -> float:
    """Return the Clopper-Pearson upper bound of an error rate: beta.ppf(1 - delta, errors + 1, n - errors)."""
    if errors >= n:
        return 1.0
    return float(scipy.special.betaincinv(errors + 1, n - errors, 1 - delta))


def labels_needed(error_rate: float, *, alpha: float = ALPHA, delta: float = DELTA, limit: int = MOST_LABELS) -> int:
    """Return how many labels above a threshold prove an error rate below alpha when `error_rate` of them are wrong.

    The errors expected are rounded up.

    Raises:
        ValueError: no number up to `limit` is enough (error_rate is too close to alpha or above it).
    """
    for n in range(1, limit + 1):
        if error_bound(math.ceil(error_rate * n - 1e-9), n, delta=delta) <= alpha:
            return n
    raise ValueError(f"an error rate of {error_rate:.1%} cannot be shown to lie below {alpha:.1%}")
