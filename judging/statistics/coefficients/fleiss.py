"""Fleiss' kappa for any number of raters per item, and Brennan-Prediger's (Randolph's) kappa."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from judging.statistics.coefficients.interpret import NO_PAIRS, ONE_LABEL, SAME_LABEL
from judging.statistics.coefficients.profiles import (
    ItemFeatures,
    chance_corrected,
    count_profiles,
    item_features,
    label_shares,
    observed_agreement,
)
from judging.statistics.coefficients.ratings import RatingTable
from judging.statistics.estimates import Estimate, Floats, undefined


def fleiss_kappa(table: RatingTable) -> Estimate:
    """Return Fleiss' kappa, generalised to unequal numbers of raters; n = items with two answers or more.

    (Po - Pe) / (1 - Pe); Po = mean over items with a pair of their agreeing share of pairs, Pe = sum_k pi_k²,
    pi_k = mean over rated items of the share of raters who chose k. Undefined when one label was used throughout.
    In [-1, 1] where every item has two answers. Items with one answer count in pi_k (Gwet), and many of them bring
    the figure far below -1; reports leave them out where they are the majority (`compared_items`).
    Sources: Fleiss 1971; Gwet, Handbook of Inter-Rater Reliability, for unequal raters. For two it is Scott's pi.
    """
    return fleiss_of(item_features(count_profiles(table)), table.labels)


def fleiss_of(items: ItemFeatures, labels: tuple[str, ...]) -> Estimate:
    """Return Fleiss' kappa from features already gathered."""
    return corrected_agreement(items, labels, fleiss_chance)


def brennan_prediger_of(items: ItemFeatures, labels: tuple[str, ...]) -> Estimate:
    """Return the kappa whose chance agreement is 1/q for q DECLARED labels; undefined for one declared label.

    Sources: Brennan and Prediger 1981; Randolph 2005 (free-marginal kappa).
    """
    return corrected_agreement(items, labels, uniform_chance)


def fleiss_chance(sums: Floats) -> Floats:
    """Return the chance that two answers drawn from the pooled labels are equal, shape (rows of sums,)."""
    chance: Floats = (label_shares(sums) ** 2).sum(axis=1)
    return chance


def uniform_chance(sums: Floats) -> Floats:
    """Return 1/q for q declared labels, shape (rows of sums,)."""
    return np.full(len(sums), 1.0 / (sums.shape[1] - 3))


def corrected_agreement(
    items: ItemFeatures,
    labels: tuple[str, ...],
    chance: Callable[[Floats], Floats],
) -> Estimate:
    """Return agreement beyond `chance` (a function of feature sums), with its interval over items."""

    def coefficient(sums: Floats) -> Floats:
        return chance_corrected(observed_agreement(sums), chance(sums))

    if not items.n_pairable:
        return undefined(NO_PAIRS)
    value = float(coefficient(items.totals)[0])
    if np.isnan(value):
        return undefined(ONE_LABEL if len(labels) == 1 else SAME_LABEL, n=items.n_pairable)
    return items.sums.estimate(coefficient, n=items.n_pairable)
