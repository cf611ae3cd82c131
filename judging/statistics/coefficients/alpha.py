"""Krippendorff's alpha for nominal, ordinal, interval and ratio labels with gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np
import scipy

from judging.statistics.coefficients.interpret import NEGATIVE_RATIO, NO_PAIRS, NO_VALUES, SAME_LABEL
from judging.statistics.coefficients.item_intervals import Features, ItemSums, pair_rows
from judging.statistics.coefficients.profiles import Profiles, divide
from judging.statistics.coefficients.ratings import RatingTable
from judging.statistics.estimates import Estimate, Floats, undefined


class Metric(StrEnum):
    """How far apart two labels are."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


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
    (ordinal, in the declared order), the squared difference (interval), or ((c - k) / (c + k))² (ratio). Undefined when
    one label was used throughout. Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability".

    Fixed distances need one observed disagreement per item; ordinal distances depend on the labels drawn, so they need
    the whole coincidence matrix, kept sparse. Items with one answer have features of zero. Pseudo-items have as many
    answers as items on average.
    """
    counts = np.where((profiles.rows.sum(axis=1) >= 2)[:, None], profiles.rows, 0).astype(np.float64)
    n = int(profiles.multiplicity[counts.any(axis=1)].sum())
    reason = NO_PAIRS if not n else _why_unfit(table, metric)
    if reason:
        return undefined(reason, n=n)
    pseudo = pair_rows(table.n_labels)
    pairs = pseudo.rows.astype(np.float64)
    if metric is Metric.ORDINAL:
        features, pseudo_features, coefficient = _coincidences(counts), _coincidences(pairs), _ordinal_alpha(table)
    else:
        distances = _fixed_distances(table, metric)
        features, pseudo_features = _disagreements(counts, distances), _disagreements(pairs, distances)
        coefficient = _fixed_alpha(distances)
    per_label = profiles.multiplicity @ counts
    sums = ItemSums(features, profiles.multiplicity, pseudo_features * (per_label.sum() / n / 2), pseudo.weights)
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


def _fixed_distances(table: RatingTable, metric: Metric) -> Floats:
    if metric is Metric.NOMINAL:
        return 1.0 - np.eye(table.n_labels)
    values = np.array(table.values, dtype=np.float64)
    difference = values[:, None] - values[None, :]
    if metric is Metric.INTERVAL:
        return difference**2
    total = values[:, None] + values[None, :]
    return np.where(total > 0, difference / np.where(total > 0, total, 1.0), 0.0) ** 2


def _why_unfit(table: RatingTable, metric: Metric) -> str:
    if metric in (Metric.NOMINAL, Metric.ORDINAL):
        return ""
    if table.values is None:
        return NO_VALUES
    if metric is Metric.RATIO and min(table.values) < 0:
        return NEGATIVE_RATIO
    return ""
