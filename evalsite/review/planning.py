"""What an audit of a given size buys: half-widths of means, and the smallest difference told apart. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy

LEVEL = 0.95
MOST_VARIANCE = 0.25  # of labels from 0 to 1: assumed where no pilot says otherwise


@dataclass(frozen=True, slots=True)
class Pilot:
    """What is known before the audit: mean and variance of labels, and their squared correlation with the judge."""

    mean: float = 0.5
    variance: float = MOST_VARIANCE
    explained: float = 0.0


def _error(pilot: Pilot, *, n: int, cases: int, lowest: float, pseudo: float) -> float:
    """Return the standard error expected of a corrected mean on a scale from `lowest` to 1, with pseudo-cases."""
    seen = n + 2 * pseudo
    centre = (n * pilot.mean + pseudo * (lowest + 1)) / seen
    ends = (lowest - centre) ** 2 + (1 - centre) ** 2
    extra = n * (pilot.mean - centre) ** 2 + pseudo * ends
    residual = (n - 2) * pilot.variance * (1 - pilot.explained) + extra
    spread = (n - 1) * pilot.variance + extra
    return math.sqrt((1 - n / cases) * residual / (seen - 1) / seen + spread / (seen - 1) / cases)


def planned_half_width(pilot: Pilot, *, n: int, cases: int) -> float:
    """Return how far the interval of a system's corrected mean is expected to reach each way; 2 <= n <= cases."""
    return _quantile(n - 1, LEVEL) * _error(pilot, n=n, cases=cases, lowest=0.0, pseudo=1.0)


def detectable_difference(pilot: Pilot, *, n: int, cases: int, power: float = 0.8, level: float = LEVEL) -> float:
    """Return the smallest difference of two systems that n audited of all cases would tell apart with this power.

    `pilot` is that of the difference by case. A board of S systems compares S (S - 1) / 2 pairs: divide 1 - level.
    """
    quantiles = _quantile(n - 1, level) + _quantile(n - 1, 2 * power - 1)
    found = 0.1
    for _ in range(200):
        expected = Pilot(found, max(pilot.variance, found - found**2), pilot.explained)
        error = _error(expected, n=n, cases=cases, lowest=-1.0, pseudo=0.5)
        found = 0.5 * found + 0.5 * quantiles * error
    return found


def _quantile(degrees: int, level: float) -> float:
    return float(scipy.special.stdtrit(degrees, 0.5 + level / 2))
