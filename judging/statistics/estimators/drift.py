"""Whether a judge agrees with people more or less than it did before, on the same labelled items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from judging.statistics.estimates import Floats
from judging.statistics.estimators.shares import mean_change
from judging.statistics.estimators.strata import FEWEST_CASES, TooFew


@dataclass(frozen=True, slots=True)
class Drift:
    """Change of agreement from before to after, with its interval; `flips` is the share of items that changed."""

    change: float
    low: float
    high: float
    p_value: float
    flips: float
    n: int


def drift(before: Sequence[float] | Floats, after: Sequence[float] | Floats) -> Drift | TooFew:
    """Return how agreement with the labels (1 = agrees, 0 = does not) changed over the same items.

    Raises:
        ValueError: the two differ in number.
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} items before, {len(after)} after")
    if len(before) < FEWEST_CASES:
        return TooFew(len(before), FEWEST_CASES)
    changes = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    change = mean_change(changes)
    p_value = mcnemar_mid_p(int((changes > 0).sum()), int((changes < 0).sum()))
    return Drift(float(changes.mean()), change.low, change.high, p_value, float((changes != 0).mean()), len(changes))


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """Return the two-sided mid-p value of McNemar's test from the discordant counts. Source: Fagerland et al. 2013."""
    n, fewer = gained + lost, min(gained, lost)
    if gained == lost:
        return 1.0
    k = np.arange(fewer + 1)
    logs = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    chances = np.exp(logs - n * np.log(2))
    return min(1.0, float(2 * chances.sum() - chances[-1]))
