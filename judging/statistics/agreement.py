"""Agreement between people: on labels, on their order, and on what they marked in texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TypeVar

import numpy as np
import scipy

from judging.specs.types import Mark
from judging.statistics.estimates import (
    LEVEL,
    ONE_UNIT,
    Estimate,
    Floats,
    Interval,
    Ints,
    share_of,
    t_quantile,
    undefined,
    with_interval,
)
from judging.statistics.ratings import (
    MISSING,
    PSEUDO_ITEMS,
    Features,
    ItemSums,
    Profiles,
    RatingTable,
    chance_corrected,
    count_profiles,
    disagreement,
    distinct_rows,
    divide,
    item_features,
    label_shares,
    observed_agreement,
    pair_rows,
    pairable_items,
)
from judging.statistics.texts import UNMARKED, stretches

T = TypeVar("T")


def longest_run(labels: Sequence[T]) -> tuple[T, int] | None:
    """Return the label that somebody gave most often in a row, and how often; the first of equals, None of nothing."""
    if not labels:
        return None
    values = np.asarray(labels)
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    lengths = np.diff(np.append(starts, len(values)))
    return labels[starts[lengths.argmax()]], int(lengths.max())


def chance_of_run(n: int, length: int, share: float) -> float:
    """Return the chance that n independent labels hold a run of `length` or more of one that has a share of all.

    Exact: a[i] is the chance of none among the first i, a[i] = a[i-1] - (1 - p) p^L a[i-L-1]. Source: Feller 1968,
    XIII.7.
    """
    if length > n:
        return 0.0
    run = share**length
    none = [1.0] * length + [1.0 - run]
    for place in range(length + 1, n + 1):
        none.append(none[place - 1] - (1 - share) * run * none[place - length - 1])
    return min(1.0, max(0.0, 1.0 - none[n]))


def confusion_counts(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable]
) -> list[list[int]]:
    """Return how often one side gave each label (rows) where the other gave each (columns).

    Raises:
        KeyError: a label is off the scale.
    """
    position = {label: index for index, label in enumerate(labels)}
    counts = [[0] * len(labels) for _ in labels]
    for row_label, column_label in zip(first, second, strict=True):
        counts[position[row_label]][position[column_label]] += 1
    return counts


def disagreeing_items(table: RatingTable) -> tuple[tuple[str, float], ...]:
    """Return (item, share of its answer pairs that differ), the most disputed first, unanimous items left out."""
    differing = disagreement(table.counts())
    order = np.argsort(-differing, kind="stable")
    return tuple((table.items[i], float(differing[i])) for i in order if differing[i] > 0)


NO_PAIRS = "No item has two or more annotations, so agreement cannot be computed."
ONE_LABEL = "The scale declares a single label, so agreement beyond chance has no meaning."
SAME_LABEL = "Everyone chose the same label; chance-corrected agreement is undefined."  # kappa and alpha are 0/0
NO_VALUES = "The labels are not numbers; interval and ratio agreement need a number for each label."
NEGATIVE_RATIO = "Ratio agreement needs numbers that are not negative."

UNEQUAL_RATERS = (
    "Items have different numbers of annotations, so this is the form for unequal raters (Gwet), not that of "
    "statsmodels, which takes items with all annotations only."
)

HIGH_AGREEMENT = 0.8
PREVALENCE_GAP = 0.2  # between AC1 and kappa
FEW_ITEMS = 30


def describe_reliability(estimate: Estimate) -> str:
    """Say what a chance-corrected agreement allows (Krippendorff's .667 and .8), judged by the interval's lower end.

    The lower end decides because a figure of .82 known to within ±.1 does not yet show that .8 is reached.
    """
    if estimate.value is None:
        return estimate.reason
    floor = estimate.value if estimate.low is None else estimate.low
    if estimate.value <= 0:
        words = "No better than chance: these labels cannot be used as they are."
    elif floor >= 0.8:
        words = "Reliable: conclusions may rest on these labels."
    elif floor >= 0.667:
        words = "Good enough for tentative conclusions."
    elif estimate.value >= 0.667:
        words = "Possibly usable, but the interval extends below 0.667: more items are needed."
    else:
        words = "Too low for conclusions: improve the guidelines or adjudicate the disagreements."
    return words + _caution(estimate)


def fleiss_form(answers_per_item: Iterable[tuple[int, int]]) -> str:
    """Say which form of Fleiss' kappa a table has, from (annotations, items); empty where all items have as many."""
    sizes = [answers for answers, items in answers_per_item if answers > 1 and items]
    return UNEQUAL_RATERS if len(sizes) > 1 else ""


def _caution(estimate: Estimate) -> str:
    if estimate.n < FEW_ITEMS:
        noun = "item" if estimate.n == 1 else "items"
        return f" Based on only {estimate.n} {noun}."
    return ""


def prevalence_warning(percent: Estimate, kappa: Estimate, ac1: Estimate) -> str:
    """Return a sentence when kappa is low only because one label dominates, else an empty string.

    Source: Feinstein and Cicchetti 1990 (the paradox), Gwet 2008 (AC1 beside it).
    """
    if percent.value is None or ac1.value is None or percent.value < HIGH_AGREEMENT:
        return ""
    share = f"{percent.value:.0%} of annotations agree"
    if kappa.value is None:
        return f"{share}, but kappa is undefined because one label was used throughout; read AC1 ({ac1.value:.2f})."
    if ac1.value - kappa.value < PREVALENCE_GAP:
        return ""
    return (
        f"{share}, yet kappa is {kappa.value:.2f}: one label dominates, and kappa counts most agreement as chance. "
        f"Read AC1 ({ac1.value:.2f}) as well."
    )


class Metric(StrEnum):
    """How far apart two labels are."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"
    MASI = "masi"  # of sets of labels, written with SET_SEPARATOR between them


ORDERED_LABELS = 3  # from so many values on, their order says something
ORDINAL_VALUES = 7  # of a scale of more, the distances count


def metric_of_scale(values: Sequence[float] | None) -> Metric:
    """Return how far apart the labels of a scale are from what they are worth; None for names."""
    if values is None or len(values) < ORDERED_LABELS:
        return Metric.NOMINAL
    return Metric.ORDINAL if len(values) <= ORDINAL_VALUES else Metric.INTERVAL


def alpha_of(profiles: Profiles, table: RatingTable, metric: Metric) -> Estimate:
    """Return alpha = 1 - Do/De, at most 1, with its interval; n = items with two answers or more.

    With n_uk answers k on item u of m_u answers, N = sum_u m_u and n_k = sum_u n_uk over the items with two answers or
    more, Do = sum_u sum_ck n_uc (n_uk - [c=k]) d²_ck / (m_u - 1) / N and
    De = sum_ck n_c (n_k - [c=k]) d²_ck / (N (N - 1)). d² is 1 (nominal), the squared answers between two ranks
    (ordinal, in the declared order), the squared difference (interval), ((c - k) / (c + k))² (ratio), or the distance
    of two sets (MASI). Undefined when one label was used throughout. Source: Krippendorff 2011, "Computing
    Krippendorff's alpha-reliability".

    Fixed distances need one observed disagreement per item; ordinal distances depend on the labels drawn, so they need
    the whole coincidence matrix, kept sparse. Items with one answer have features of zero. Pseudo-items have as many
    answers as items on average.
    """
    counts = np.where((profiles.rows.sum(axis=1) >= 2)[:, None], profiles.rows, 0).astype(np.float64)
    n = int(profiles.multiplicity[counts.any(axis=1)].sum())
    reason = NO_PAIRS if not n else _why_unfit(table, metric)
    if reason:
        return undefined(reason, n=n)
    pseudo, weights = pair_rows(table.n_labels)
    pairs = pseudo.astype(np.float64)
    if metric is Metric.ORDINAL:
        features, pseudo_features, coefficient = _coincidences(counts), _coincidences(pairs), _ordinal_alpha(table)
    else:
        distances = _fixed_distances(table, metric)
        features, pseudo_features = _disagreements(counts, distances), _disagreements(pairs, distances)
        coefficient = _fixed_alpha(distances)
    per_label = profiles.multiplicity @ counts
    sums = ItemSums(features, profiles.multiplicity, pseudo_features * (per_label.sum() / n / 2), weights)
    if np.isnan(coefficient(sums.totals)[0]):
        return undefined(SAME_LABEL, n=n)
    return sums.estimate(coefficient, n=n)


def _disagreements(counts: Floats, distances: Floats) -> Floats:
    others = np.maximum(counts.sum(axis=1) - 1, 1)[:, None]
    observed = ((counts @ distances) * counts / others).sum(axis=1)  # d²_kk = 0, so equal pairs add nothing
    return np.column_stack([observed, counts])


def _coincidences(counts: Floats) -> Features:
    n_rows, q = counts.shape
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    sparse_counts = scipy.sparse.csr_array(counts)
    rows = np.repeat(np.arange(n_rows), np.diff(sparse_counts.indptr))
    # Every pair of labels within one row: repeat each stored cell once per stored cell of its row.
    width = np.diff(sparse_counts.indptr)[rows]
    left = np.repeat(np.arange(len(rows)), width)
    start = np.repeat(sparse_counts.indptr[rows], width)
    within = np.arange(len(left)) - np.repeat(np.cumsum(width) - width, width)
    right = start + within
    first, second = sparse_counts.indices[left], sparse_counts.indices[right]
    amount = sparse_counts.data[left] * (sparse_counts.data[right] - (first == second)) / others[rows[left]]
    pairs = scipy.sparse.csr_array((amount, (rows[left], first * q + second)), shape=(n_rows, q * q))
    return scipy.sparse.csr_array(scipy.sparse.hstack([pairs, sparse_counts]))


def _fixed_alpha(distances: Floats) -> Callable[[Floats], Floats]:
    def coefficient(sums: Floats) -> Floats:
        marginals = sums[:, 1:]
        expected = ((marginals @ distances) * marginals).sum(axis=1)
        return 1 - divide((marginals.sum(axis=1) - 1) * sums[:, 0], expected)

    return coefficient


def _ordinal_alpha(table: RatingTable) -> Callable[[Floats], Floats]:
    n_labels = table.n_labels

    def coefficient(sums: Floats) -> Floats:
        pairs, marginals = sums[:, : n_labels**2], sums[:, n_labels**2 :]
        ranks = marginals.cumsum(axis=1) - marginals / 2
        distances = (ranks[:, :, None] - ranks[:, None, :]) ** 2
        observed = (pairs * distances.reshape(len(sums), -1)).sum(axis=1)
        expected = np.einsum("bc,bck,bk->b", marginals, distances, marginals, optimize=True)
        return 1 - divide((marginals.sum(axis=1) - 1) * observed, expected)

    return coefficient


SET_SEPARATOR = ","


def masi_distance(first: frozenset[str], second: frozenset[str]) -> float:
    """Return how far apart two sets of labels are, from 0 (equal) to 1 (nothing in common).

    1 - J M: J is Jaccard's index, M is 1 for equal sets, 2/3 where one holds the other, 1/3 where they share some.
    Source: Passonneau 2006, "Measuring agreement on set-valued items" (MASI).
    """
    shared = len(first & second)
    if first == second or not shared:
        return 0.0 if first == second else 1.0
    monotonicity = 2 / 3 if shared == min(len(first), len(second)) else 1 / 3
    return 1 - shared / len(first | second) * monotonicity


def _fixed_distances(table: RatingTable, metric: Metric) -> Floats:
    if metric is Metric.NOMINAL:
        return 1.0 - np.eye(table.n_labels)
    if metric is Metric.MASI:
        sets = [frozenset(label.split(SET_SEPARATOR)) for label in table.labels]
        return np.array([[masi_distance(one, other) for other in sets] for one in sets])
    values = np.array(table.values, dtype=np.float64)
    difference = values[:, None] - values[None, :]
    if metric is Metric.INTERVAL:
        return difference**2
    total = values[:, None] + values[None, :]
    return np.where(total > 0, difference / np.where(total > 0, total, 1.0), 0.0) ** 2


def _why_unfit(table: RatingTable, metric: Metric) -> str:
    if metric in (Metric.NOMINAL, Metric.ORDINAL, Metric.MASI):
        return ""
    if table.values is None:
        return NO_VALUES
    if metric is Metric.RATIO and min(table.values) < 0:
        return NEGATIVE_RATIO
    return ""


GAPS = "Too many annotations are missing: the raters' label frequencies are of different items."
PAIR = 2  # answers that can be compared


class Weights(StrEnum):
    """What a disagreement costs: all the same, by the steps between labels in the declared order, or their square."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


def contingency(table: RatingTable, first: str, second: str) -> Ints:
    """Return the square matrix of label pairs (rows = first rater) over the items both answered."""
    a, b = table.column(first), table.column(second)
    both = (a != MISSING) & (b != MISSING)
    q = table.n_labels
    return np.bincount(a[both] * q + b[both], minlength=q * q).reshape(q, q).astype(np.int64)


def cohen_of(matrix: Ints, labels: tuple[str, ...], weights: Weights = Weights.NONE) -> Estimate:
    """Return kappa of a contingency matrix, in [-1, 1]: (po - pe) / (1 - pe), pe from the raters' own label shares.

    Undefined (0/0) when both raters used one and the same label throughout. Source: Cohen 1960, 1968.
    """
    n = int(matrix.sum())
    if n == 0:
        return undefined(NO_PAIRS)
    if len(labels) == 1:
        return undefined(ONE_LABEL, n=n)
    agreement = agreement_weights(len(labels), weights)
    shares = matrix / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((shares * agreement).sum()), float(rows @ agreement @ columns)
    if 1 - expected < 1e-12:
        return undefined(SAME_LABEL, n=n)
    kappa = min(1.0, max(-1.0, (observed - expected) / (1 - expected)))  # rounding leaves the range
    return with_interval(kappa, _interval(matrix, agreement), n=n)


def agreement_weights(n_labels: int, weights: Weights) -> Floats:
    """Return 1 on the diagonal, falling to 0 at the far corner (linear, quadratic) or at once (none)."""
    if weights is Weights.NONE:
        return np.eye(n_labels)
    steps = np.abs(np.arange(n_labels)[:, None] - np.arange(n_labels)[None, :]) / max(n_labels - 1, 1)
    cost: Floats = steps if weights is Weights.LINEAR else steps**2
    return 1 - cost


def _interval(matrix: Ints, agreement: Floats) -> Interval:
    """Return the interval of kappa with pseudo-items spread evenly over the cells, by Student's t."""
    n = int(matrix.sum())
    if n < 2:
        return Interval(None, None, ONE_UNIT)
    size = n + PSEUDO_ITEMS
    shares = (matrix + PSEUDO_ITEMS / matrix.size) / size
    expected = float(shares.sum(axis=1) @ agreement @ shares.sum(axis=0))
    centre = (float((shares * agreement).sum()) - expected) / (1 - expected)
    reach = t_quantile(n - 1) * cohen_error(shares, agreement, centre, size - 1)
    return Interval(max(-1.0, centre - reach), min(1.0, centre + reach))


def cohen_error(shares: Floats, agreement: Floats, kappa: float, n: int) -> float:
    """Return the standard error of kappa over n items, from the shares of the pairs of labels.

    Source: Fleiss, Cohen and Everitt 1969, with weights of agreement, 1 on the diagonal.
    """
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ agreement @ columns)
    average = (agreement @ columns)[:, None] + (rows @ agreement)[None, :]
    spread = float((shares * (agreement - average * (1 - kappa)) ** 2).sum()) - (kappa - expected * (1 - kappa)) ** 2
    return math.sqrt(max(spread, 0.0)) / ((1 - expected) * math.sqrt(n))


def conger_parts(table: RatingTable) -> tuple[ItemSums, Callable[[Floats], Floats]]:
    """Return what the distinct rated rows add to the sums behind Conger's kappa, and the figure of these sums.

    Features: agreeing share of pairs, 1 when there is a pair, 1, then for each rater and label 1 where chosen. In a
    pseudo-item every rater chose each of its two labels half.
    """
    rated = (table.codes != MISSING).any(axis=1)
    profiles = distinct_rows(table.codes[rated])
    n_raters, q = len(table.raters), table.n_labels
    chosen = (profiles.rows[:, :, None] == np.arange(q)).astype(np.float64)
    counts = chosen.sum(axis=1)
    per_item = counts.sum(axis=1)
    agreeing = np.nan_to_num(divide((counts * (counts - 1)).sum(axis=1), per_item * (per_item - 1)))
    leading = [agreeing, (per_item >= 2).astype(np.float64), np.ones(len(per_item))]
    features = np.column_stack([*leading, chosen.reshape(len(per_item), n_raters * q)])
    pseudo, weights = pair_rows(q)
    equal = (pseudo.max(axis=1) == PAIR).astype(np.float64)
    ones = np.ones((len(equal), 2))
    pseudo_features = np.column_stack([equal, ones, np.tile(pseudo / PAIR, n_raters)])

    def coefficient(sums: Floats) -> Floats:
        votes = sums[:, 3:].reshape(len(sums), n_raters, q)
        shares = divide(votes, votes.sum(axis=2, keepdims=True))
        mean = shares.mean(axis=1)
        spread = shares.var(axis=1, ddof=1)
        expected = (mean**2).sum(axis=1) - spread.sum(axis=1) / n_raters
        return chance_corrected(divide(sums[:, 0], sums[:, 1]), expected)

    return ItemSums(features, profiles.multiplicity, pseudo_features, weights), coefficient


def conger_kappa(table: RatingTable) -> Estimate:
    """Return Conger's kappa, Cohen's for several named raters; n = items with two answers or more.

    Pe = sum_k (mean_g p_gk² - s²_k / r): each of r raters keeps their own label shares p_g. It equals Cohen's kappa for
    two raters without gaps. Source: Conger 1980; Gwet's Handbook for gaps. Undefined as Cohen's, when a rater gave no
    answer or the table does not know its raters, and where gaps bring it below -1.
    """
    if not table.raters_known:
        return undefined("Conger's kappa needs to know which rater gave which label.")
    if ((table.codes != MISSING).sum(axis=1) < PAIR).all():
        return undefined(NO_PAIRS)
    if (table.codes == MISSING).all(axis=0).any():
        return undefined("A rater gave no label, so their label frequencies are unknown.")
    sums, coefficient = conger_parts(table)
    n = int(sums.totals[0, 1])
    if np.isnan(coefficient(sums.totals)[0]):
        return undefined(SAME_LABEL, n=n)
    estimate = sums.estimate(coefficient, n=n)
    return undefined(GAPS, n=n) if estimate.value is not None and estimate.value < -1 else estimate


def fleiss_kappa(table: RatingTable) -> Estimate:
    """Return Fleiss' kappa, generalised to unequal numbers of raters; n = items with two answers or more.

    (Po - Pe) / (1 - Pe); Po = mean over items with a pair of their agreeing share of pairs, Pe = sum_k pi_k²,
    pi_k = mean over rated items of the share of raters who chose k. Undefined when one label was used throughout.
    In [-1, 1] where every item has two answers. Items with one answer count in pi_k (Gwet), and many of them bring
    the figure far below -1; reports leave them out (`agreement_report`).
    Sources: Fleiss 1971; Gwet, Handbook of Inter-Rater Reliability, for unequal raters. For two it is Scott's pi.
    """
    return fleiss_of(item_features(count_profiles(table)), table.labels)


def fleiss_of(items: ItemSums, labels: tuple[str, ...]) -> Estimate:
    """Return Fleiss' kappa from features already gathered."""
    return corrected_agreement(items, labels, fleiss_chance)


def brennan_prediger_of(items: ItemSums, labels: tuple[str, ...]) -> Estimate:
    """Return the kappa whose chance agreement is 1/q for q DECLARED labels; undefined for one declared label.

    Sources: Brennan and Prediger 1981; Randolph 2005 (free-marginal kappa).
    """
    return corrected_agreement(items, labels, lambda sums: np.full(len(sums), 1.0 / (sums.shape[1] - 3)))


def fleiss_chance(sums: Floats) -> Floats:
    """Return the chance that two answers drawn from the pooled labels are equal, shape (rows of sums,)."""
    chance: Floats = (label_shares(sums) ** 2).sum(axis=1)
    return chance


def corrected_agreement(
    items: ItemSums,
    labels: tuple[str, ...],
    chance: Callable[[Floats], Floats],
) -> Estimate:
    """Return agreement beyond `chance` (a function of feature sums), with its interval over items."""

    def coefficient(sums: Floats) -> Floats:
        return chance_corrected(observed_agreement(sums), chance(sums))

    if not pairable_items(items):
        return undefined(NO_PAIRS)
    value = float(coefficient(items.totals)[0])
    if np.isnan(value):
        return undefined(ONE_LABEL if len(labels) == 1 else SAME_LABEL, n=pairable_items(items))
    return items.estimate(coefficient, n=pairable_items(items))


def gwet_of(items: ItemSums, labels: tuple[str, ...]) -> Estimate:
    """Return AC1; n = items with two answers or more. It depends on how many labels are DECLARED.

    (Po - Pe) / (1 - Pe) with Po as in Fleiss' kappa and Pe = sum_k pi_k (1 - pi_k) / (q - 1) for q declared labels, so
    that it is 1 when everyone chose the same label. Source: Gwet 2008, eq. for AC1 with many raters.
    """
    if len(labels) == 1 and pairable_items(items):
        return undefined(ONE_LABEL, n=pairable_items(items))
    return corrected_agreement(items, labels, gwet_chance)


def gwet_chance(sums: Floats) -> Floats:
    """Return sum_k pi_k (1 - pi_k) / (q - 1), shape (rows of sums,); NaN for one declared label."""
    shares = label_shares(sums)
    return divide((shares * (1 - shares)).sum(axis=1), np.array([float(shares.shape[1] - 1)]))


def percent_of(items: ItemSums) -> Estimate:
    """Return the mean over items of the agreeing share of their pairs, in [0, 1]; n = items with two answers.

    On a scale of one label the pseudo-items agree, too: then the interval is that of a counted share.
    """
    if not pairable_items(items):
        return undefined(NO_PAIRS)
    percent = items.estimate(observed_agreement, n=pairable_items(items), lowest=0.0)
    return share_of(percent.n, percent.n) if percent.low is not None and percent.low > 1 - 1e-6 else percent


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
    answers_per_item: tuple[tuple[int, int], ...]  # (answers, items)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters over the items both answered."""

    first: str
    second: str
    percent: Estimate
    kappa: Estimate


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
    most = counts.max(axis=1, initial=0)
    majority = pairable & (2 * most > per_item)
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
        answers_per_item=tuple(zip(sizes.tolist(), items.tolist(), strict=True)),
    )


def agreement_report(table: RatingTable, *, metrics: Sequence[Metric] = (Metric.NOMINAL,)) -> AgreementReport:
    """Return every figure of agreement.

    An item with one answer enters no figure, unlike in irrCAC, where it counts in what Fleiss' kappa and AC1 expect by
    chance: a queue at work has many of them, which would move the figures up and down, and below -1.
    """
    profiles = count_profiles(table.with_pairs())
    items = item_features(profiles)
    percent, fleiss, ac1 = percent_of(items), fleiss_of(items, table.labels), gwet_of(items, table.labels)
    return AgreementReport(
        summary=summarise(table),
        percent=percent,
        fleiss=fleiss,
        ac1=ac1,
        brennan_prediger=brennan_prediger_of(items, table.labels),
        alpha=tuple((metric, alpha_of(profiles, table, metric)) for metric in metrics),
        pairs=pair_agreements(table),
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


def marks_of_the_rest(table: RatingTable) -> tuple[Ints, Ints, Ints]:
    """Return (item, rater, mark) of each label: 1 where more than half of the others give it, 0 where another one.

    MISSING where the others have no such label. Labels are counted once for all raters, and a rater's own is taken from
    the counts of the two most frequent: one pass over the table and one over its answers, however many gave them.
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
    return items, raters, np.where(agrees, 1, np.where(differs, 0, MISSING))


def against_the_rest(table: RatingTable) -> dict[str, Estimate]:
    """Return by rater how often they give the label that more than half of the others give; n = such items."""
    _, raters, marks = marks_of_the_rest(table)
    agreeing = np.bincount(raters[marks == 1], minlength=len(table.raters)).tolist()
    compared = np.bincount(raters[marks != MISSING], minlength=len(table.raters)).tolist()
    return {
        rater: share_of(equal, n) if n else undefined(f"The others have no majority on any item that {rater} labelled.")
        for rater, equal, n in zip(table.raters, agreeing, compared, strict=True)
    }


DRAWS = 1_000  # resamples of the items behind an interval


def character_coincidences(people: Sequence[Sequence[Mark]], *, length: int, labels: Sequence[str]) -> Floats:
    """Return how often the pairs of labels that people give a character occur in one text, shape (1 + labels,) * 2.

    The first row and column are those of characters without a mark. A character with m labels counts m in all.
    """
    position = {label: number for number, label in enumerate((UNMARKED, *labels))}
    counts = np.zeros((len(position), len(position)))
    for start, end, given in stretches(people, length):
        votes = np.bincount([position[label] for label in given], minlength=len(position)).astype(np.float64)
        counts += (end - start) / (len(people) - 1) * (np.outer(votes, votes) - np.diag(votes))
    return counts


def character_alpha(coincidences: Sequence[Floats]) -> Estimate:
    """Return Krippendorff's alpha over the characters of all texts, for labels without an order; n = texts.

    alpha = 1 - (n - 1) (n - sum of o_cc) / (n² - sum of n_c²) of the summed coincidences o, where "unmarked" is one of
    the labels. The interval is that of percentiles over 1,000 resamples of the texts, since characters of one text are
    not independent. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    n = len(coincidences)
    if not n:
        return undefined("No text was marked by two people or more.")
    texts = np.stack(coincidences).reshape(n, -1)
    alpha = _alpha(texts.sum(axis=0))
    if alpha is None:
        return undefined("Every character has the same label, so agreement beyond chance has no meaning.", n=n)
    if n == 1:
        return with_interval(alpha, Interval(None, None, ONE_UNIT), n=n)
    random = np.random.default_rng(0)
    drawn = (_alpha(random.multinomial(n, np.full(n, 1 / n)) @ texts) for _ in range(DRAWS))
    low, high = np.quantile([value for value in drawn if value is not None], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return with_interval(alpha, Interval(float(low), float(high)), n=n)


def _alpha(flat: Floats) -> float | None:
    size = round(len(flat) ** 0.5)
    counts = flat.reshape(size, size)
    totals = counts.sum(axis=0)
    n = totals.sum()
    expected = n**2 - (totals**2).sum()
    return None if expected <= 0 else float(1 - (n - 1) * (n - np.trace(counts)) / expected)


def against_the_other_labels(counts: Floats, position: int) -> Floats:
    """Return coincidences of one label against everything else, shape (2, 2)."""
    own, total = counts[position, position], counts[position].sum()
    return np.array([[counts.sum() - 2 * total + own, total - own], [total - own, own]])
