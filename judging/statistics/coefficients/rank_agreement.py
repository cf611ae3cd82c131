"""Whether two graders put things into the same order."""

from __future__ import annotations

import math

import numpy as np

from judging.statistics.estimates import Ints


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
