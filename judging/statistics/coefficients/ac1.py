"""Gwet's AC1: agreement beyond chance that stays sensible when one label dominates."""

from __future__ import annotations

import numpy as np

from judging.statistics.coefficients.fleiss import corrected_agreement
from judging.statistics.coefficients.interpret import ONE_LABEL
from judging.statistics.coefficients.profiles import ItemFeatures, divide, label_shares
from judging.statistics.estimates import Estimate, Floats, undefined


def gwet_of(items: ItemFeatures, labels: tuple[str, ...]) -> Estimate:
    """Return AC1; n = items with two answers or more. It depends on how many labels are DECLARED.

    (Po - Pe) / (1 - Pe) with Po as in Fleiss' kappa and Pe = sum_k pi_k (1 - pi_k) / (q - 1) for q declared labels, so
    that it is 1 when everyone chose the same label. Source: Gwet 2008, eq. for AC1 with many raters.
    """
    if len(labels) == 1 and items.n_pairable:
        return undefined(ONE_LABEL, n=items.n_pairable)
    return corrected_agreement(items, labels, gwet_chance)


def gwet_chance(sums: Floats) -> Floats:
    """Return sum_k pi_k (1 - pi_k) / (q - 1), shape (rows of sums,); NaN for one declared label."""
    shares = label_shares(sums)
    return divide((shares * (1 - shares)).sum(axis=1), np.array([float(shares.shape[1] - 1)]))
