"""Percent agreement: the share of answer pairs on the same item that are equal."""

from __future__ import annotations

from judging.statistics.coefficients.interpret import NO_PAIRS
from judging.statistics.coefficients.profiles import ItemFeatures, observed_agreement
from judging.statistics.estimates import Estimate, undefined


def percent_of(items: ItemFeatures) -> Estimate:
    """Return the mean over items of the agreeing share of their pairs, in [0, 1]; n = items with two answers."""
    if not items.n_pairable:
        return undefined(NO_PAIRS)
    return items.sums.estimate(observed_agreement, n=items.n_pairable, lowest=0.0)
