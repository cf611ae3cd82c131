"""How good judges and annotators are: agreement with people, position consistency, readable replies, errors.

Preferences are in system space (1 = A better, 0 = tie, -1 = B better), never by position; None = no usable verdict.

Selective prediction says from which confidence on a judge may decide alone, with a bound on how often it is wrong. The
alternative annotator test says whether a judge may replace people; the model of Dawid and Skene, how often each errs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import scipy

from judging.statistics.estimates import (
    FEWEST_CASES,
    Estimate,
    Floats,
    Interval,
    Ints,
    cluster_codes,
    mid_p_interval,
    people_only,
    share_of,
    with_interval,
)
from judging.statistics.estimators.boards import case_means, census_change, shown_share
from judging.statistics.ratings import MISSING, RatingTable, distinct_rows

PEOPLE_NEEDED = 3
CASES_NEEDED = 30
FALSE_DISCOVERY_RATE = 0.05
WINNING_RATE_NEEDED = 0.5
PEOPLE_LISTED = 5


class Annotators(StrEnum):
    """Who the people are; the more they cost, the larger the advantage that they must show over the judge."""

    EXPERTS = "experts"
    SKILLED = "skilled"
    CROWD = "crowd"

    @property
    def margin(self) -> float:
        """The epsilon of the test."""
        return {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}[self.value]


class Closeness(StrEnum):
    """How near an annotation is to the remaining people's."""

    EQUAL_LABELS = "equal labels"  # share of the remaining people who gave the same label
    NEAR_VALUES = "near values"  # minus the root mean squared distance to their values


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """The judge against one person, both compared with everyone else."""

    person: str
    n: int  # cases
    judge_wins: float  # share of cases on which the judge is at least as close as the person
    person_wins: float
    p_value: float
    is_matched: bool  # the judge is at least as good, less the margin, after Benjamini-Yekutieli


@dataclass(frozen=True, slots=True)
class AnnotatorTest:
    """`passed` is None when the test could not be held; `reason` says why, or what the result means."""

    passed: bool | None
    winning_rate: float | None  # share of people whom the judge matches
    advantage: float | None  # chance that the judge is at least as close as a person drawn at random
    people: tuple[AnnotatorComparison, ...]
    reason: str


def alternative_annotator_test(
    table: RatingTable,
    judge: Sequence[str | None],
    annotators: Annotators,
    *,
    cases: Sequence[Hashable],
    closeness: Closeness = Closeness.EQUAL_LABELS,
) -> AnnotatorTest:
    """Return whether the judge passes against the people of `table` (one judge label per item, None = no verdict).

    For each person j and item that j, the judge and someone else answered: W_f = 1 when the judge is at least as close
    to the others as j, W_h the other way round. H0: mean(W_h - W_f) >= margin, one-sided t-test over cases (the items
    of a case, `cases` gives it for each item, are averaged first); Benjamini-Yekutieli at 0.05 over people; the judge
    passes when it matches at least half. Needs 3 people with items of 30 cases each.
    Source: Calderon, Reichart and Dror 2025, "The Alternative Annotator Test".

    Raises:
        ValueError: the judge did not label as many items as the table has, or a label is off the scale.
    """
    judged = np.array([MISSING if label is None else table.labels.index(label) for label in judge], dtype=np.int64)
    if not len(judged) == len(cases) == len(table.items):
        raise ValueError(f"{len(judged)} verdicts and {len(cases)} cases for {len(table.items)} items")
    if closeness is Closeness.NEAR_VALUES and table.values is None:
        reason = "The labels are not numbers, so distances between them mean nothing."
        return AnnotatorTest(None, None, None, (), reason)
    codes = cluster_codes(cases)
    wins = {person: _wins(table, judged, index, closeness, codes) for index, person in enumerate(table.raters)}
    comparable = {person: person_wins for person, person_wins in wins.items() if len(person_wins[0]) >= CASES_NEEDED}
    reason_not_run = why_not_run({person: len(of_judge) for person, (of_judge, _) in wins.items()})
    if not table.raters_known or reason_not_run:
        return AnnotatorTest(None, None, None, (), reason_not_run)
    p_values = [_p_value(of_person - of_judge, annotators.margin) for of_judge, of_person in comparable.values()]
    matched = (scipy.stats.false_discovery_control(p_values, method="by") <= FALSE_DISCOVERY_RATE).tolist()
    people = tuple(
        AnnotatorComparison(
            person,
            len(of_judge),
            float(of_judge.mean()),
            float(of_person.mean()),
            p_value,
            is_matched,
        )
        for (person, (of_judge, of_person)), p_value, is_matched in zip(
            comparable.items(), p_values, matched, strict=True
        )
    )
    rate = sum(matched) / len(people)
    advantage = sum(person.judge_wins for person in people) / len(people)
    passed = rate >= WINNING_RATE_NEEDED
    reason = (
        f"The judge agrees with the others at least as well as {sum(matched)} of {len(people)} annotators "
        f"({annotators.value}: margin {annotators.margin:g})."
    )
    return AnnotatorTest(passed, rate, advantage, people, reason)


def why_not_run(shared: Mapping[str, int]) -> str:
    """Return what the test lacks, "" for nothing, by person: cases that they, the judge and somebody else labelled."""
    people_with_enough = sum(n >= CASES_NEEDED for n in shared.values())
    if people_with_enough >= PEOPLE_NEEDED:
        return ""
    each = ", ".join(f"{person} {n}" for person, n in sorted(shared.items(), key=lambda pair: -pair[1])[:PEOPLE_LISTED])
    return (
        f"{people_with_enough} of {PEOPLE_NEEDED} people needed share {CASES_NEEDED} cases with the judge "
        f"and somebody else ({each or 'nobody has one'})."
    )


def _wins(table: RatingTable, judged: Ints, person: int, closeness: Closeness, cases: Ints) -> tuple[Floats, Floats]:
    """Return W_f (judge) and W_h (person), the means of each case, over the items that can be compared."""
    codes = table.codes[:, person]
    others = np.delete(table.codes, person, axis=1)
    usable = (codes != MISSING) & (judged != MISSING) & (others != MISSING).any(axis=1)
    codes, others, verdicts = codes[usable], others[usable], judged[usable]
    closeness_of = _share_equal if closeness is Closeness.EQUAL_LABELS else _nearness
    judge_score, person_score = closeness_of(verdicts, others, table), closeness_of(codes, others, table)
    # Scores that are equal in exact arithmetic must tie although their sums were rounded differently.
    tie = np.isclose(judge_score, person_score, rtol=0, atol=1e-12)
    _, clusters = np.unique(cases[usable], return_inverse=True)
    sizes = np.bincount(clusters)
    return (
        np.bincount(clusters, weights=tie | (judge_score > person_score)) / sizes,
        np.bincount(clusters, weights=tie | (person_score > judge_score)) / sizes,
    )


def _share_equal(answers: Ints, others: Ints, _table: RatingTable) -> Floats:
    present = others != MISSING
    share: Floats = ((others == answers[:, None]) & present).sum(axis=1) / present.sum(axis=1)
    return share


def _nearness(answers: Ints, others: Ints, table: RatingTable) -> Floats:
    values = np.array(table.values, dtype=np.float64)
    present = others != MISSING
    squares = np.where(present, (values[others] - values[answers][:, None]) ** 2, 0.0)
    nearness: Floats = -np.sqrt(squares.sum(axis=1) / present.sum(axis=1))
    return nearness


def _p_value(differences: Floats, margin: float) -> float:
    """Return the chance of a mean this small if the true mean were the margin."""
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread == 0:
        return 0.0 if mean < margin else 1.0
    statistic = (mean - margin) / (spread / math.sqrt(len(differences)))
    return float(scipy.special.stdtr(len(differences) - 1, statistic))


RESAMPLES = 200
FEWEST_RESAMPLES = 50
MOST_WORK = 6_000_000  # labels read by all resamples: large tables, whose intervals are narrow, are drawn less often
TOLERANCE = 1e-6  # growth of the log-likelihood by so large a part of itself
MOST_ROUNDS = 1000
SMALLEST = 1e-10  # a probability that is never below it has a logarithm


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedLabels:
    """What is estimated of a table of labels.

    `chances` of shape (items, labels): how probable each label is as the true one. `shares` of shape (labels,): of the
    true labels. `matrices` of shape (raters, labels, labels): how often a person says the second label where the first
    is true.
    """

    chances: Floats
    shares: Floats
    matrices: Floats

    @property
    def right(self) -> Floats:
        """The share of labels that each person gets right where all items were theirs, shape (raters,)."""
        hits: Floats = np.einsum("rkk,k->r", self.matrices, self.shares)
        return hits


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedRates:
    """The labels, with the shares of right labels and of true labels, each with an interval by resampled items."""

    labels: EstimatedLabels
    right: list[Estimate]
    shares: list[Estimate]
    resamples: int


def dawid_skene(table: RatingTable, *, pseudo_count: float = 1.0, tolerance: float = TOLERANCE) -> EstimatedLabels:
    """Return the estimates of expectation maximisation that begins with the shares of each item's labels.

    `pseudo_count` answers, spread evenly over the labels, are added to each row of each person's matrix, so that
    nobody is taken for infallible after two labels. Items without a label have the shares as chances.
    """
    answers, places = _Answers.of(table)
    found = _repeated(answers, answers.votes(), answers.counts, pseudo_count, tolerance)
    return replace(found, chances=found.chances[places])


def estimated_rates(table: RatingTable, *, seed: int) -> EstimatedRates:
    """Return the estimates with intervals that items drawn anew tell, meant to hold in 95 of 100 tables.

    In trials of 60 to 400 items, three to five people and two or three labels they hold the share that a person gets
    right 92 times in 100; of the best of four on 150 items 83 times, since pseudo-counts take 2.5 points off them.
    """
    answers, found = _Answers.of(table)[0], dawid_skene(table)
    chances, _ = _expected(answers, found.shares, found.matrices, len(answers.counts))
    n, draw = len(table.items), np.random.default_rng(seed)
    resamples = min(RESAMPLES, max(FEWEST_RESAMPLES, MOST_WORK // len(answers.cells)))
    right, shares = [], []
    for _ in range(resamples):
        weights = draw.multinomial(n, answers.counts / n).astype(np.float64)
        again = _repeated(answers, chances, weights, 1.0, TOLERANCE)
        right.append(again.right)
        shares.append(again.shares)
    counts = (table.codes != MISSING).sum(axis=0).tolist()
    estimates = (_estimates(found.right, right, counts), _estimates(found.shares, shares, [n] * table.n_labels))
    return EstimatedRates(found, *estimates, resamples)


def _estimates(values: Floats, drawn: list[Floats], counts: list[int]) -> list[Estimate]:
    """Return shares with the wider of two intervals: that of the draws, and that of so many labels known for sure.

    Where nobody ever errs, every draw is the same; that does not make the share certain.
    """
    rows = zip(values.tolist(), *np.percentile(np.array(drawn), [2.5, 97.5], axis=0).tolist(), counts, strict=True)
    estimates = []
    for value, low, high, n in rows:
        sure_low, sure_high = mid_p_interval(value, n) if n else (0.0, 1.0)
        estimates.append(with_interval(value, Interval(min(low, sure_low), max(high, sure_high)), n=n))
    return estimates


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The labels that were given, one a position: whose (`cells`: rater and label in one number), of which items.

    Items that everybody labelled alike are one, `counts` says how many; all that is estimated of them is the same.
    """

    items: Ints
    cells: Ints
    counts: Floats
    shape: tuple[int, int]  # raters, labels

    @classmethod
    def of(cls, table: RatingTable) -> tuple[_Answers, Ints]:
        """Return the answers, and the place of each item of the table among theirs."""
        alike = distinct_rows(table.codes)
        items, raters = np.nonzero(alike.rows != MISSING)
        cells = raters * table.n_labels + alike.rows[items, raters]
        shape = (len(table.raters), table.n_labels)
        return cls(items, cells, alike.multiplicity.astype(np.float64), shape), alike.which

    def votes(self) -> Floats:
        """Return the share of each label among an item's labels, even ones where it has none."""
        labels = self.shape[1]
        places = self.items * labels + self.cells % labels
        votes = np.bincount(places, minlength=len(self.counts) * labels).reshape(-1, labels)
        totals = votes.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(votes, totals, out=np.full(votes.shape, 1 / labels), where=totals > 0)
        return shares


def _repeated(
    answers: _Answers, chances: Floats, weights: Floats, pseudo_count: float, tolerance: float
) -> EstimatedLabels:
    """Repeat both steps until the log-likelihood of all answers, pseudo-answers too, hardly grows."""
    before = -np.inf
    for _ in range(MOST_ROUNDS):
        shares, matrices = _maximised(answers, chances, weights, pseudo_count)
        chances, likelihoods = _expected(answers, shares, matrices, len(chances))
        now = float(weights @ likelihoods + pseudo_count / len(shares) * np.log(matrices).sum())
        if now - before < tolerance * abs(now):
            break
        before = now
    return EstimatedLabels(chances, shares, matrices)


def _maximised(answers: _Answers, chances: Floats, weights: Floats, pseudo_count: float) -> tuple[Floats, Floats]:
    """Return the shares of true labels and each person's matrix that fit the chances best."""
    raters, labels = answers.shape
    weighted = chances * weights[:, None]
    of_answers = weighted[answers.items]
    said = np.array([np.bincount(answers.cells, of_answers[:, label], raters * labels) for label in range(labels)])
    matrices = said.reshape(labels, raters, labels).transpose(1, 0, 2) + pseudo_count / labels
    matrices = np.maximum(matrices, SMALLEST)
    return weighted.sum(axis=0) / weights.sum(), matrices / matrices.sum(axis=2, keepdims=True)


def _expected(answers: _Answers, shares: Floats, matrices: Floats, items: int) -> tuple[Floats, Floats]:
    """Return the chances of each item's labels, and the log-likelihood of its answers, shape (items,)."""
    raters, labels = answers.shape
    by_cell = np.log(matrices).transpose(0, 2, 1).reshape(raters * labels, labels)[answers.cells]
    logs = np.array([np.bincount(answers.items, by_cell[:, label], items) for label in range(labels)]).T
    logs += np.log(np.maximum(shares, SMALLEST))
    highest = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - highest)
    totals = parts.sum(axis=1, keepdims=True)
    return parts / totals, (highest + np.log(totals))[:, 0]


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
