"""Everything that a report on agreement between people shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judging.statistics.coefficients.alpha import Metric, alpha_of
from judging.statistics.coefficients.fleiss import brennan_prediger_of, corrected_agreement, fleiss_of
from judging.statistics.coefficients.interpret import NO_PAIRS, ONE_LABEL, prevalence_warning
from judging.statistics.coefficients.kappa import CohenKappa, Weights, cohen_of, contingency
from judging.statistics.coefficients.profiles import (
    ItemFeatures,
    count_profiles,
    divide,
    item_features,
    label_shares,
    observed_agreement,
)
from judging.statistics.coefficients.ratings import MISSING, RatingTable
from judging.statistics.estimates import Estimate, Floats, undefined
from judging.statistics.intervals import share_of


def gwet_of(items: ItemFeatures, labels: tuple[str, ...]) -> Estimate:
    """Return AC1; n = items with two answers or more. It depends on how many labels are DECLARED.

    (Po - Pe) / (1 - Pe) with Po as in Fleiss' kappa and Pe = sum_k pi_k (1 - pi_k) / (q - 1) for q declared labels, so
    that it is 1 when everyone chose the same label. Source: Gwet 2008, eq. for AC1 with many raters.
    """
    if len(labels) == 1 and items.n_pairable:
        return undefined(ONE_LABEL, n=items.n_pairable)
    return corrected_agreement(items, labels, gwet_chance)


def gwet_chance(sums: Floats) -> Floats:
    """Return sum_k pi_k (1 - pi_k) / (q - 1), shape (rows of sums,); NaN for one declared label."""
    shares = label_shares(sums)
    return divide((shares * (1 - shares)).sum(axis=1), np.array([float(shares.shape[1] - 1)]))


def percent_of(items: ItemFeatures) -> Estimate:
    """Return the mean over items of the agreeing share of their pairs, in [0, 1]; n = items with two answers."""
    if not items.n_pairable:
        return undefined(NO_PAIRS)
    return items.sums.estimate(observed_agreement, n=items.n_pairable, lowest=0.0)


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What is in a table before any figure is computed."""

    n_items: int
    n_raters: int
    n_answers: int
    n_single: int  # items with one answer: left out of agreement, and counted here
    n_pairable: int
    n_unanimous: int  # of the pairable
    n_no_majority: int  # pairable items on which no label has more than half of the answers
    label_counts: tuple[tuple[str, int], ...]
    majority_counts: tuple[tuple[str, int], ...]  # pairable items by the label that has more than half
    answers_per_item: tuple[tuple[int, int], ...]  # (answers, items)

    @property
    def singles_count_by_chance(self) -> bool:
        """Whether items with one answer enter what some figures expect by chance."""
        return 0 < self.n_single <= self.n_pairable


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters over the items both answered."""

    first: str
    second: str
    percent: Estimate
    kappa: CohenKappa


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Each figure with its interval over items."""

    summary: TableSummary
    percent: Estimate
    fleiss: Estimate
    ac1: Estimate
    brennan_prediger: Estimate
    alpha: tuple[tuple[Metric, Estimate], ...]
    pairs: tuple[PairAgreement, ...]  # none when the table does not know its raters
    warning: str  # when one label dominates, else empty


def summarise(table: RatingTable) -> TableSummary:
    """Return the counts that stand above a report."""
    counts = table.counts()
    per_item = counts.sum(axis=1)
    pairable = per_item >= 2
    top = counts.argmax(axis=1) if len(counts) else np.zeros(0, dtype=np.int64)
    most = counts.max(axis=1, initial=0)
    majority = pairable & (2 * most > per_item)
    majorities = np.bincount(top[majority], minlength=table.n_labels)
    sizes, items = np.unique(per_item, return_counts=True)
    return TableSummary(
        n_items=len(table.items),
        n_raters=len(table.raters),
        n_answers=int(per_item.sum()),
        n_single=int((per_item == 1).sum()),
        n_pairable=int(pairable.sum()),
        n_unanimous=int((pairable & (most == per_item)).sum()),
        n_no_majority=int((pairable & ~majority).sum()),
        label_counts=tuple(zip(table.labels, counts.sum(axis=0).tolist(), strict=True)),
        majority_counts=tuple(zip(table.labels, majorities.tolist(), strict=True)),
        answers_per_item=tuple(zip(sizes.tolist(), items.tolist(), strict=True)),
    )


def compared_items(table: RatingTable) -> RatingTable:
    """Return the table without its items of one answer where these are the majority of those answered."""
    per_item = (table.codes != MISSING).sum(axis=1)
    return table.with_pairs() if (per_item == 1).sum() > (per_item > 1).sum() else table


def agreement_report(
    table: RatingTable, *, metrics: Sequence[Metric] = (Metric.NOMINAL,), weights: Weights = Weights.NONE
) -> AgreementReport:
    """Return every figure of agreement.

    An item with one answer enters no figure but what Fleiss' kappa and AC1 expect by chance, as in irrCAC. Where such
    items are the majority they are left out there too: many of them would drive the figure far below -1.
    """
    profiles = count_profiles(compared_items(table))
    items = item_features(profiles)
    percent, fleiss, ac1 = percent_of(items), fleiss_of(items, table.labels), gwet_of(items, table.labels)
    return AgreementReport(
        summary=summarise(table),
        percent=percent,
        fleiss=fleiss,
        ac1=ac1,
        brennan_prediger=brennan_prediger_of(items, table.labels),
        alpha=tuple((metric, alpha_of(profiles, table, metric)) for metric in metrics),
        pairs=pair_agreements(table, weights=weights),
        warning=prevalence_warning(percent, fleiss, ac1),
    )


def pair_agreements(table: RatingTable, *, weights: Weights = Weights.NONE) -> tuple[PairAgreement, ...]:
    """Return percent agreement and Cohen's kappa of every two raters; empty for tables built from counts."""
    if not table.raters_known:
        return ()
    pairs = []
    for first, second in combinations(table.raters, 2):
        matrix = contingency(table, first, second)
        shared = int(matrix.sum())
        percent = share_of(int(np.trace(matrix)), shared) if shared else undefined(NO_PAIRS)
        pairs.append(PairAgreement(first, second, percent, cohen_of(matrix, table.labels, weights)))
    return tuple(pairs)


def against_the_rest(table: RatingTable) -> dict[str, Estimate]:
    """Return by rater how often they give the label that more than half of the others give; n = items with such a one.

    Labels are counted once for all raters, and a rater's own is taken from the counts of the two most frequent: one
    pass over the table and one over its answers, however many raters gave them.
    """
    counts = table.counts()
    rows = np.arange(len(counts))
    per_item = counts.sum(axis=1)
    leading = counts.argmax(axis=1) if counts.size else np.zeros(len(counts), dtype=np.int64)
    first = counts[rows, leading] if counts.size else np.zeros(len(counts), dtype=np.int64)
    counts[rows, leading] = 0
    second = counts.max(axis=1, initial=0)
    items, raters = np.nonzero(table.codes != MISSING)
    leads = table.codes[items, raters] == leading[items]
    others = per_item[items] - 1
    agrees = leads & (2 * (first[items] - 1) > others)
    differs = np.where(leads, 2 * second[items] > others, 2 * first[items] > others)
    agreeing = np.bincount(raters[agrees], minlength=len(table.raters)).tolist()
    compared = np.bincount(raters[agrees | differs], minlength=len(table.raters)).tolist()
    return {
        rater: share_of(equal, n) if n else undefined(f"The others have no majority on any item that {rater} labelled.")
        for rater, equal, n in zip(table.raters, agreeing, compared, strict=True)
    }
