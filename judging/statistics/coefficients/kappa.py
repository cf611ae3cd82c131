"""Cohen's kappa for a pair of raters (plain, linear, quadratic), and Conger's for several."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from judging.statistics.coefficients.interpret import NO_PAIRS, ONE_LABEL, SAME_LABEL
from judging.statistics.coefficients.item_intervals import PSEUDO_ITEMS, ItemSums, pair_rows
from judging.statistics.coefficients.profiles import chance_corrected, distinct_rows, divide
from judging.statistics.coefficients.ratings import MISSING, RatingTable
from judging.statistics.estimates import Estimate, Floats, Interval, Ints, undefined, with_interval
from judging.statistics.intervals import LEVEL, ONE_UNIT, t_quantile, z_value

PAIR = 2  # answers that can be compared


class Weights(StrEnum):
    """What a disagreement costs: all the same, by the steps between labels in the declared order, or their square."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


@dataclass(frozen=True, slots=True)
class CohenKappa:
    """Cohen's kappa of two raters: interval with pseudo-items in `estimate`, the plain one and its errors beside it."""

    estimate: Estimate
    observed: float | None = None  # weighted agreement in [0, 1]
    expected: float | None = None
    maximum: float | None = None  # the largest kappa that these marginals allow (unweighted only)
    error: float | None = None
    error_null: float | None = None  # under independence, for a test against 0
    asymptotic_low: float | None = None
    asymptotic_high: float | None = None


def contingency(table: RatingTable, first: str, second: str) -> Ints:
    """Return the square matrix of label pairs (rows = first rater) over the items both answered."""
    a, b = table.column(first), table.column(second)
    both = (a != MISSING) & (b != MISSING)
    q = table.n_labels
    return np.bincount(a[both] * q + b[both], minlength=q * q).reshape(q, q).astype(np.int64)


def cohen_of(matrix: Ints, labels: tuple[str, ...], weights: Weights = Weights.NONE) -> CohenKappa:
    """Return kappa of a contingency matrix, in [-1, 1]: (po - pe) / (1 - pe), pe from the raters' own label shares.

    Undefined (0/0) when both raters used one and the same label throughout. The closed-form error is that of Fleiss,
    Cohen and Everitt 1969 (weights as agreement weights, 1 on the diagonal). Source: Cohen 1960, 1968.
    """
    n = int(matrix.sum())
    if n == 0:
        return CohenKappa(undefined(NO_PAIRS))
    if len(labels) == 1:
        return CohenKappa(undefined(ONE_LABEL, n=n))
    agreement = agreement_weights(len(labels), weights)
    shares = matrix / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((shares * agreement).sum()), float(rows @ agreement @ columns)
    if 1 - expected < 1e-12:
        return CohenKappa(undefined(SAME_LABEL, n=n), observed, expected)
    kappa = (observed - expected) / (1 - expected)
    error, error_null = _errors(shares, agreement, kappa, n)
    return CohenKappa(
        with_interval(kappa, _interval(matrix, agreement), n=n),
        observed,
        expected,
        (float(np.minimum(rows, columns).sum()) - expected) / (1 - expected) if weights is Weights.NONE else None,
        error,
        error_null,
        kappa - z_value(LEVEL) * error,
        kappa + z_value(LEVEL) * error,
    )


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
    error, _ = _errors(shares, agreement, centre, size - 1)
    reach = t_quantile(n - 1) * error
    return Interval(max(-1.0, centre - reach), min(1.0, centre + reach))


def _errors(shares: Floats, agreement: Floats, kappa: float, n: int) -> tuple[float, float]:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ agreement @ columns)
    average = (agreement @ columns)[:, None] + (rows @ agreement)[None, :]
    spread = float((shares * (agreement - average * (1 - kappa)) ** 2).sum()) - (kappa - expected * (1 - kappa)) ** 2
    spread_null = float((np.outer(rows, columns) * (agreement - average) ** 2).sum()) - expected**2
    scale = (1 - expected) * math.sqrt(n)
    return math.sqrt(max(spread, 0.0)) / scale, math.sqrt(max(spread_null, 0.0)) / scale


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
    pseudo = pair_rows(q)
    equal = (pseudo.rows.max(axis=1) == PAIR).astype(np.float64)
    ones = np.ones((len(equal), 2))
    pseudo_features = np.column_stack([equal, ones, np.tile(pseudo.rows / PAIR, n_raters)])

    def coefficient(sums: Floats) -> Floats:
        votes = sums[:, 3:].reshape(len(sums), n_raters, q)
        shares = divide(votes, votes.sum(axis=2, keepdims=True))
        mean = shares.mean(axis=1)
        spread = shares.var(axis=1, ddof=1)
        expected = (mean**2).sum(axis=1) - spread.sum(axis=1) / n_raters
        return chance_corrected(divide(sums[:, 0], sums[:, 1]), expected)

    return ItemSums(features, profiles.multiplicity, pseudo_features, pseudo.weights), coefficient


def conger_kappa(table: RatingTable) -> Estimate:
    """Return Conger's kappa, Cohen's for several named raters; n = items with two answers or more.

    Pe = sum_k (mean_g p_gk² - s²_k / r): each of r raters keeps their own label shares p_g. It equals Cohen's kappa for
    two raters without gaps. Source: Conger 1980; Gwet's Handbook for gaps. Undefined as Cohen's, and when a rater gave
    no answer or the table does not know its raters.
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
    return sums.estimate(coefficient, n=n)
