"""Rank agreement: Spearman's correlation with its interval, Kendall's tau-b, and Kendall's W of several rankings.

A ranking is a list of tied groups of letters, the best first: ["b", "ac"].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import scipy

from judging.statistics.estimates import (
    LEVEL,
    ONE_UNIT,
    Estimate,
    Floats,
    Ints,
    around,
    t_quantile,
    undefined,
    within,
    z_value,
)


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


def mid_ranks(ranking: Sequence[str]) -> dict[str, float]:
    """Return the rank of each thing of a ranking, counted from 1; tied ones share the mean of their places."""
    ranks: dict[str, float] = {}
    for group in ranking:
        ranks |= dict.fromkeys(group, len(ranks) + (len(group) + 1) / 2)
    return ranks


def tau_of_rankings(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same things; None where either ties them all."""
    places = [{thing: place for place, group in enumerate(ranking) for thing in group} for ranking in (first, second)]
    table = np.zeros((len(first), len(second)), dtype=np.int64)
    for thing, place in places[0].items():
        table[place, places[1][thing]] += 1
    return tau_of(table)


def mean_tau_of(rankings: Sequence[Sequence[str]]) -> float | None:
    """Return the mean tau-b over all pairs of rankings of the same things; None where no pair has one."""
    taus = [tau_of_rankings(first, second) for first, second in combinations(rankings, 2)]
    known = [tau for tau in taus if tau is not None]
    return sum(known) / len(known) if known else None


def kendall_w(ranks: Sequence[Mapping[str, float]]) -> float | None:
    """Return Kendall's coefficient of concordance of several people's ranks of the same things, in [0, 1].

    W = 12 S / (m² (n³ - n) - m T): m people, n things, S the squared deviations of the rank sums from their mean, T the
    sum of t³ - t over the ties of each person. Undefined (None) with fewer than two people or where everybody ties all.
    Source: Kendall and Babington Smith 1939; Kendall 1970, Rank Correlation Methods, ch. 6.
    """
    m, things = len(ranks), list(ranks[0]) if ranks else []
    n = len(things)
    ties = sum(size**3 - size for row in ranks for size in Counter(row.values()).values())
    room = m**2 * (n**3 - n) - m * ties
    if m < 2 or room <= 0:
        return None
    deviations = (sum(row[thing] for row in ranks) - m * (n + 1) / 2 for thing in things)
    return 12 * sum(deviation**2 for deviation in deviations) / room


NO_RANKINGS = "No item was ordered by two people or more in a way that can be compared."


def mean_over_items(values: Iterable[float | None], *, lowest: float) -> Estimate:
    """Return the mean of a coefficient over the items that have one, with the interval of Student's t; n = items."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    n = len(known)
    if not n:
        return undefined(NO_RANKINGS)
    mean = float(known.mean())
    if n == 1:
        return Estimate(mean, None, None, n, ONE_UNIT)
    return within(around(mean, float(known.std(ddof=1)) / math.sqrt(n), n=n, critical=t_quantile(n - 1)), lowest, 1.0)


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


def correlations_of(first: Floats, second: Floats) -> tuple[float | None, float | None, float | None]:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b of two columns; None where one is the same everywhere."""
    if len(first) < 2 or not np.ptp(first) or not np.ptp(second):
        return None, None, None
    tests = (scipy.stats.pearsonr, scipy.stats.spearmanr, scipy.stats.kendalltau)
    pearson, spearman, kendall = (float(test(first, second).statistic) for test in tests)
    return pearson, spearman, kendall
