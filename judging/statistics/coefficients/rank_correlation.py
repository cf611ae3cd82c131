"""Spearman's rank correlation with its interval."""

from __future__ import annotations

import math

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats, undefined
from judging.statistics.intervals import LEVEL, z_value

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
