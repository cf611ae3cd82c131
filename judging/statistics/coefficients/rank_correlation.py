"""Rank agreement: Spearman's correlation with its interval, and Kendall's tau-b."""

from __future__ import annotations

import math

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats, Ints, undefined
from judging.statistics.intervals import LEVEL, z_value


def tau_of(matrix: Ints) -> float | None:
    """Return Kendall's tau-b of a table of counts whose rows and columns are in ascending order, in [-1, 1].

    Undefined (None) where either side has one value only. Source: Kendall 1945; Agresti, Categorical Data Analysis.
    """
    counts = matrix.astype(np.float64)
    n = counts.sum()
    pairs = n * (n - 1) / 2
    tied_rows, tied_columns = (_pairs_within(counts.sum(axis=axis)) for axis in (1, 0))
    untied = (pairs - tied_rows) * (pairs - tied_columns)
    if untied <= 0:
        return None
    return (_concordant(counts) - _concordant(counts[:, ::-1])) / math.sqrt(untied)


def _pairs_within(totals: np.ndarray) -> float:
    return float((totals * (totals - 1) / 2).sum())


def _concordant(counts: np.ndarray) -> float:
    """Return how many pairs differ in the same direction on both sides."""
    above = counts[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return float((counts[:-1, :-1] * above[1:, 1:]).sum())


FEWEST_PAIRS = 20  # behind an interval
FEW_PAIRS = "Too few pairs for an interval: {} of {}."
ONE_VALUE = "One of the two is the same everywhere."


def spearman_of(first: Floats, second: Floats) -> Estimate:
    """Return rho of two columns of independent pairs, from -1 to 1; n = pairs.

    The interval is Fisher's with the variance (1 + rho² / 2) / (n - 3) (Bonett and Wright 2000).
    """
    n = len(first)
    if n < 2 or not np.ptp(first) or not np.ptp(second):
        return undefined(ONE_VALUE, n=n)
    ranks = [scipy.stats.rankdata(column) for column in (first, second)]
    rho = min(1.0, max(-1.0, float(np.corrcoef(*ranks)[0, 1])))
    if n < FEWEST_PAIRS:
        return Estimate(rho, None, None, n, FEW_PAIRS.format(n, FEWEST_PAIRS))
    if abs(rho) == 1.0:
        return Estimate(rho, rho, rho, n)
    centre = math.atanh(rho)
    reach = z_value(LEVEL) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return Estimate(rho, math.tanh(centre - reach), math.tanh(centre + reach), n)
