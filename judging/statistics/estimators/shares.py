"""Intervals of shares and of changes between yes and no, which are narrower than those with pseudo-cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats, Interval, undefined, with_interval
from judging.statistics.estimators.strata import (
    DIFFERENCE,
    FEW_FOR_INTERVAL,
    FEWEST_CASES,
    NOTHING,
    SHARE,
    Inference,
    Scale,
    Stratum,
    TooFew,
    people_only,
    shown_mean,
    stratified_mean,
)
from judging.statistics.intervals import LEVEL, mid_p_interval, share_of, z_value


def shown_share(strata: Sequence[Stratum], *, needed: int = FEWEST_CASES, planned: int = 0) -> Inference | TooFew:
    """Return `shown_mean` of values from 0 to 1 with the mid-p interval of as many cases as would be as uncertain.

    That number is the binomial variance over the variance of the mean, both with the two pseudo-cases, less what these
    add: exactly the labelled cases where these are a plain sample of yes and no. With pseudo-cases alone such intervals
    cover 97 to 99.9% from 20 to 60 cases where nearly all are a yes. With `planned` it is `shown_mean`'s. Source: Korn
    and Graubard 1998.
    """
    inference = shown_mean(strata, needed=needed, planned=planned)
    if planned or isinstance(inference, TooFew) or not inference.error:
        return inference
    cases = sum(stratum.size for stratum in strata)
    n = inference.centre * (1 - inference.centre) / inference.error**2 * (1 + 2 / cases) - 1
    if n <= 1:
        return inference
    low, high = mid_p_interval(inference.point, n)
    return replace(inference, low=low, high=high)


def counted_share(count: float, n: int) -> Estimate:
    """Return count / n of things of which there are few, as pairs of systems; fewer than 20 have no interval."""
    if not 0 < n < FEWEST_CASES:
        return share_of(count, n)
    return with_interval(count / n, Interval(None, None, FEW_FOR_INTERVAL.format(n, FEWEST_CASES)), n=n)


def mean_change(values: Sequence[float] | Floats, *, scale: Scale = DIFFERENCE) -> Inference:
    """Return the mean of values that lie at the ends and in the middle of the scale, with the score interval.

    Such are changes between yes and no (-1, 0, 1). Pseudo-cases make intervals of rare changes cover 98 to 100% at 20
    to 60 cases; half as many, 87% where all go one way. With fewer than 20 cases, with other values, and where all lie
    in the middle, the interval is `stratified_mean`'s. Error and p-value always are. Source: Tango 1998.

    Raises:
        ValueError: fewer than two values.
    """
    data = np.asarray(values, dtype=np.float64)
    inference = stratified_mean([people_only(data)], scale=scale)
    middle, half = (scale.low + scale.high) / 2, (scale.high - scale.low) / 2
    up, down = int((data == scale.high).sum()), int((data == scale.low).sum())
    is_plain = up + down + int((data == middle).sum()) == len(data)
    if len(data) < FEWEST_CASES or not is_plain or not up + down:
        return inference
    low, high = score_interval(up, down, len(data))
    return replace(inference, low=middle + half * low, high=middle + half * high)


def census_change(values: Sequence[float] | Floats) -> Estimate:
    """Return `mean_change` of shares that are 0, a half or 1, known of every case; few cases have no interval."""
    if not len(values):
        return undefined(NOTHING)
    if len(values) >= FEWEST_CASES:
        return mean_change(values, scale=SHARE).estimate
    return with_interval(
        float(np.mean(values)), Interval(None, None, FEW_FOR_INTERVAL.format(len(values), FEWEST_CASES)), n=len(values)
    )


def score_interval(up: int, down: int, n: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Return which mean changes a score test does not refuse, of n pairs of which `up` rose and `down` fell.

    Source: Tango 1998, equations 5 to 7.
    """
    return -_highest_change(down, up, n, z_value(level)), _highest_change(up, down, n, z_value(level))


def _highest_change(up: int, down: int, n: int, reach: float) -> float:
    def gap(change: float) -> float:
        """Return the standardized distance of what was seen from a change, less the reach."""
        slope = (2 * n - up + down) * change - up - down
        fell = (math.sqrt(max(0.0, slope**2 + 8 * n * down * change * (1 - change))) - slope) / (4 * n)
        return reach * math.sqrt(max(0.0, n * (2 * fell + change * (1 - change)))) - (n * change - up + down)

    observed = max((up - down) / n, -1 + 1e-12)  # where all fell, -1 itself solves the equation
    if observed >= 1 or gap(1.0) >= 0:
        return 1.0
    return float(scipy.optimize.brentq(gap, observed, 1.0))
