"""Intervals in closed form: Wilson for shares, t for means, cluster-robust means."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats, Interval, Ints, undefined, with_interval

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
    return Estimate(successes / n, *_score_interval(successes / n, n, level), n)


def wilson_of_cases(values: Sequence[bool], cases: Sequence[Hashable], *, level: float = LEVEL) -> Estimate:
    """Return the share of values that hold, with Wilson's interval of as many values as there are cases; n = values.

    Values of one case are taken to hold together, so that criteria and pairs of one case do not pass for independent
    observations: exact where a case has one value, wider than needed where its values are independent.

    Raises:
        ValueError: values and cases differ in number.
    """
    if len(values) != len(cases):
        raise ValueError(f"{len(values)} values of {len(cases)} cases")
    if not values:
        return undefined("Nothing to count yet.")
    share = sum(values) / len(values)
    return Estimate(share, *_score_interval(share, len(set(cases)), level), len(values))


def _score_interval(share: float, n: int, level: float) -> tuple[float, float]:
    z = z_value(level)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends the formula gives 0 and 1 exactly; rounding must not.
    low = (centre - half) / scale if share > 0 else 0.0
    high = (centre + half) / scale if share < 1 else 1.0
    return low, high


def of_share(estimate: Estimate) -> Estimate:
    """Return an estimate of a share with its interval cut at 0 and 1, where no share lies; coverage stays the same."""
    if estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(0.0, estimate.low), high=min(1.0, estimate.high))


def normal_interval(value: float, error: float, *, n: int, level: float = LEVEL) -> Estimate:
    """Return value ± z * error, for estimators whose standard error is known by theory."""
    return around(value, error, n=n, critical=z_value(level))


def effective_size(values: Floats, clusters: Sequence[Hashable]) -> float:
    """Return how many independent values, 1 or 0, would leave their share as uncertain as these do.

    It is their number over the design effect, the cluster-robust variance over the binomial one, which is never taken
    to be below 1. Where all values are equal nothing shows how far they hang together, and a cluster counts as one.

    Raises:
        ValueError: values and clusters differ in length.
    """
    n = len(values)
    if len(clusters) != n:
        raise ValueError(f"{n} values in {len(clusters)} clusters")
    codes = cluster_codes(clusters)
    count = int(codes.max()) + 1 if n else 0
    mean = float(values.mean()) if n else 0.0
    plain = mean * (1 - mean) / n if n else 0.0
    if count in (0, 1, n) or plain == 0:
        return float(count)
    sums = np.bincount(codes, weights=values - mean)
    robust = count / (count - 1) * float((sums**2).sum()) / n**2
    return n / max(1.0, robust / plain)


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
    return around(mean, math.sqrt(variance), n=n_clusters, critical=t_quantile(n_clusters - 1, level))


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


def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t."""
    return float(scipy.special.stdtrit(degrees, 0.5 + level / 2))
