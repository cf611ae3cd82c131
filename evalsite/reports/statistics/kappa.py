"""Cohen's kappa for a pair of raters (plain, linear, quadratic), and Conger's for several."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy

from evalsite.reports.statistics.bootstrap import Bootstrap, bootstrap_interval
from evalsite.reports.statistics.estimates import Estimate, Floats, Ints, undefined, with_interval
from evalsite.reports.statistics.interpret import NO_PAIRS, ONE_LABEL, everyone_chose
from evalsite.reports.statistics.intervals import LEVEL, z_value
from evalsite.reports.statistics.profiles import chance_corrected, distinct_rows, divide
from evalsite.reports.statistics.ratings import MISSING, RatingTable


class Weights(StrEnum):
    """What a disagreement costs: all the same, by the steps between labels in the declared order, or their square."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


@dataclass(frozen=True, slots=True)
class CohenKappa:
    """Cohen's kappa of two raters: bootstrap interval in `estimate`, closed-form interval and errors beside it."""

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


def cohen_of(
    matrix: Ints, labels: tuple[str, ...], weights: Weights = Weights.NONE, *, bootstrap: Bootstrap | None = None
) -> CohenKappa:
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
        return CohenKappa(undefined(everyone_chose(labels[int(np.argmax(rows))]), n=n), observed, expected)
    kappa = (observed - expected) / (1 - expected)
    used = np.flatnonzero(matrix.reshape(-1))
    cells = (np.ones(len(used)), (np.arange(len(used)), used))
    features = scipy.sparse.csr_array(cells, shape=(len(used), matrix.size))  # a scale of 101 points has 10,201 cells
    interval = bootstrap_interval(
        _kappa_of_cells(agreement), features, matrix.reshape(-1)[used], plan=bootstrap or Bootstrap()
    )
    error, error_null = _errors(shares, agreement, kappa, n)
    return CohenKappa(
        with_interval(kappa, interval, n=n),
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


def _kappa_of_cells(agreement: Floats) -> Callable[[Floats], Floats]:
    """Return kappa as a function of flattened matrices, shape (resamples, labels²)."""

    def coefficient(cells: Floats) -> Floats:
        matrices = cells.reshape(len(cells), *agreement.shape)
        n = cells.sum(axis=1)
        observed = divide((matrices * agreement).sum(axis=(1, 2)), n)
        expected = divide(((matrices.sum(axis=2) @ agreement) * matrices.sum(axis=1)).sum(axis=1), n**2)
        return chance_corrected(observed, expected)

    return coefficient


def _errors(shares: Floats, agreement: Floats, kappa: float, n: int) -> tuple[float, float]:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ agreement @ columns)
    average = (agreement @ columns)[:, None] + (rows @ agreement)[None, :]
    spread = float((shares * (agreement - average * (1 - kappa)) ** 2).sum()) - (kappa - expected * (1 - kappa)) ** 2
    spread_null = float((np.outer(rows, columns) * (agreement - average) ** 2).sum()) - expected**2
    scale = (1 - expected) * math.sqrt(n)
    return math.sqrt(max(spread, 0.0)) / scale, math.sqrt(max(spread_null, 0.0)) / scale


def conger_parts(table: RatingTable) -> tuple[Floats, Ints, Callable[[Floats], Floats]]:
    """Return features of the distinct rated rows, their multiplicity, and Conger's kappa of the features' sums.

    Features: agreeing share of pairs, 1 when there is a pair, 1, then for each rater and label 1 where chosen.
    """
    rated = (table.codes != MISSING).any(axis=1)
    profiles = distinct_rows(table.codes[rated])
    n_raters, q = len(table.raters), table.n_labels
    chosen = (profiles.rows[:, :, None] == np.arange(q)).astype(np.float64)
    counts = chosen.sum(axis=1)
    given = counts.sum(axis=1)
    agreeing = np.nan_to_num(divide((counts * (counts - 1)).sum(axis=1), given * (given - 1)))
    leading = [agreeing, (given >= 2).astype(np.float64), np.ones(len(given))]
    features = np.column_stack([*leading, chosen.reshape(len(given), n_raters * q)])

    def coefficient(sums: Floats) -> Floats:
        votes = sums[:, 3:].reshape(len(sums), n_raters, q)
        shares = divide(votes, votes.sum(axis=2, keepdims=True))
        mean = shares.mean(axis=1)
        spread = shares.var(axis=1, ddof=1)
        expected = (mean**2).sum(axis=1) - spread.sum(axis=1) / n_raters
        return chance_corrected(divide(sums[:, 0], sums[:, 1]), expected)

    return features, profiles.multiplicity, coefficient


def conger_kappa(table: RatingTable, *, bootstrap: Bootstrap | None = None) -> Estimate:
    """Return Conger's kappa, Cohen's for several named raters; n = items with two answers or more.

    Pe = sum_k (mean_g p_gk² - s²_k / r): each of r raters keeps their own label shares p_g. It equals Cohen's kappa for
    two raters without gaps. Source: Conger 1980; Gwet's Handbook for gaps. Undefined as Cohen's, and when a rater gave
    no answer or the table does not know its raters.
    """
    if not table.raters_known:
        return undefined("Conger's kappa needs to know who gave which answer.")
    if ((table.codes != MISSING).sum(axis=1) < 2).all():
        return undefined(NO_PAIRS)
    if (table.codes == MISSING).all(axis=0).any():
        return undefined("A rater gave no answer, so their habits are unknown.")
    features, multiplicity, coefficient = conger_parts(table)
    totals = (multiplicity @ features)[None, :]
    n = int(totals[0, 1])
    value = float(coefficient(totals)[0])
    if np.isnan(value):
        label = table.labels[int(table.codes.max())]
        return undefined(everyone_chose(label), n=n)
    interval = bootstrap_interval(coefficient, features, multiplicity, plan=bootstrap or Bootstrap())
    return with_interval(value, interval, n=n)
