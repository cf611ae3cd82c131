"""Intervals in closed form: Wilson for shares, t and normal for means, cluster-robust means."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import scipy

from evalsite.reports.statistics.estimates import Estimate, Floats, Interval, Ints, undefined, with_interval

LEVEL = 0.95
NO_SPREAD = 1e-12
EQUAL = "All {n} are equal, so their spread says nothing about how far the mean may be off."


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Estimate:
    """Return the share successes/n with Wilson's score interval, within [0, 1]; undefined for n = 0.

    Source: Wilson 1927, (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n).

    Raises:
        ValueError: successes is not within 0..n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return undefined("Nothing to count yet.")
    z = z_value(level)
    share = successes / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends the formula gives 0 and 1 exactly; rounding must not.
    low = (centre - half) / scale if successes else 0.0
    high = (centre + half) / scale if successes < n else 1.0
    return Estimate(share, low, high, n)


def mean_interval(values: Sequence[float] | Floats, *, level: float = LEVEL) -> Estimate:
    """Return the mean with Student's t interval; n = number of values. One or equal values have no interval."""
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        return undefined("No scores yet.")
    if data.size == 1:
        return with_interval(float(data[0]), Interval(None, None, "One score has no interval."), n=1)
    if np.ptp(data) < NO_SPREAD:
        return with_interval(float(data[0]), Interval(None, None, EQUAL.format(n=data.size)), n=data.size)
    error = float(data.std(ddof=1)) / math.sqrt(data.size)
    return around(float(data.mean()), error, n=data.size, critical=t_value(level, data.size - 1))


def of_share(estimate: Estimate) -> Estimate:
    """Return an estimate of a share with its interval cut at 0 and 1, where no share lies; coverage stays the same."""
    if estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(0.0, estimate.low), high=min(1.0, estimate.high))


def normal_interval(value: float, error: float, *, n: int, level: float = LEVEL) -> Estimate:
    """Return value ± z * error, for estimators whose standard error is known by theory."""
    return around(value, error, n=n, critical=z_value(level))


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable], *, level: float = LEVEL) -> Estimate:
    """Return the mean of all values with an interval robust to dependence within a cluster (attempts of one case).

    Source: cluster-robust variance of a mean, C/(C-1) * sum_c (sum_{i in c} (x_i - mean))² / n², t with C-1 degrees of
    freedom (Miller 2024, "Adding error bars to evals"). `n` is the number of clusters, which is what buys precision.

    Raises:
        ValueError: values and clusters differ in length.
    """
    data = np.asarray(values, dtype=np.float64)
    if len(clusters) != data.size:
        raise ValueError(f"{data.size} values in {len(clusters)} clusters")
    if data.size == 0:
        return undefined("No scores yet.")
    groups = cluster_codes(clusters)
    n_clusters = int(groups.max()) + 1
    mean = float(data.mean())
    if n_clusters == 1:
        return with_interval(mean, Interval(None, None, "One case has no interval."), n=1)
    sums = np.bincount(groups, weights=data - mean, minlength=n_clusters)
    if np.abs(sums).max() < NO_SPREAD * data.size:
        return with_interval(mean, Interval(None, None, EQUAL.format(n=n_clusters)), n=n_clusters)
    variance = n_clusters / (n_clusters - 1) * float((sums**2).sum()) / data.size**2
    return around(mean, math.sqrt(variance), n=n_clusters, critical=t_value(level, n_clusters - 1))


def cluster_codes(clusters: Sequence[Hashable]) -> Ints:
    """Return 0, 1, 2, ... for each cluster, numbered in the order of first appearance."""
    position: dict[Hashable, int] = {}
    return np.array([position.setdefault(cluster, len(position)) for cluster in clusters], dtype=np.int64)


def around(value: float, error: float, *, n: int, critical: float) -> Estimate:
    """Return value ± critical * error."""
    return Estimate(value, value - critical * error, value + critical * error, n)


def z_value(level: float) -> float:
    """Return the two-sided normal quantile, 1.95996 for 0.95."""
    return float(scipy.special.ndtri(0.5 + level / 2))


def t_value(level: float, degrees: int) -> float:
    """Return the two-sided quantile of Student's t."""
    return float(scipy.special.stdtrit(degrees, 0.5 + level / 2))
