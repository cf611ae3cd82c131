"""Standard errors in closed form (linearised), beside the bootstrap, for comparison with other tools."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalsite.reports.statistics.estimates import Estimate, Floats, Ints, undefined
from evalsite.reports.statistics.intervals import LEVEL, t_value
from evalsite.reports.statistics.profiles import (
    ItemFeatures,
    Profiles,
    chance_corrected,
    label_shares,
    observed_agreement,
)

STEP = 1e-6  # of the weight moved onto one item when a slope is measured


@dataclass(frozen=True, slots=True)
class Linearised:
    """A coefficient with its standard error and a t interval whose upper end stops at 1."""

    estimate: Estimate
    error: float | None


def linearised_gwet(items: ItemFeatures) -> Linearised:
    """Return AC1 with Gwet's variance. Source: Gwet, Handbook of Inter-Rater Reliability, 4th ed., ch. 5."""
    shares = label_shares(items.totals)[0]
    scale = max(len(shares) - 1, 1)
    per_item = items.features[:, 3:] @ (1 - shares) / scale
    return _with_chance(items, float((shares * (1 - shares)).sum()) / scale, per_item, chance_varies=True)


def linearised_fleiss(items: ItemFeatures) -> Linearised:
    """Return Fleiss' kappa with Gwet's variance. Source: as `linearised_gwet`."""
    shares = label_shares(items.totals)[0]
    return _with_chance(items, float((shares**2).sum()), items.features[:, 3:] @ shares, chance_varies=True)


def linearised_brennan_prediger(items: ItemFeatures) -> Linearised:
    """Return Brennan-Prediger's kappa with Gwet's variance; its chance term is constant. Source: `linearised_gwet`."""
    chance = 1.0 / (items.features.shape[1] - 3)
    return _with_chance(items, chance, np.full(len(items.features), chance), chance_varies=False)


def _with_chance(items: ItemFeatures, chance: float, per_item: Floats, *, chance_varies: bool) -> Linearised:
    """Return the coefficient and its error: items' own coefficients, less twice the slope of the chance term."""
    n, pairable = float(items.totals[0, 2]), float(items.totals[0, 1])
    value = float(chance_corrected(observed_agreement(items.totals), np.array([chance]))[0]) if pairable else math.nan
    if math.isnan(value):
        return Linearised(undefined("Undefined, so it has no standard error.", n=int(pairable)), None)
    own = (n / pairable) * (items.features[:, 0] - chance * items.features[:, 1]) / (1 - chance)
    if chance_varies:
        own = own - 2 * (1 - value) * (per_item - chance) / (1 - chance)
    return _linearised(value, own - value, items.multiplicity, n_items=items.n_pairable)


def linearised_slope(statistic: Callable[[Floats], Floats], features: Floats, multiplicity: Ints) -> Linearised:
    """Return any coefficient of feature sums with its infinitesimal-jackknife error (Efron 1982, ch. 6).

    Each distinct item's influence is the slope of the coefficient when weight moves onto it; shapes as in
    `intervals.bootstrap_interval`.
    """
    n = int(multiplicity.sum())
    totals = (multiplicity @ features)[None, :]
    value = float(statistic(totals)[0])
    if math.isnan(value):
        return Linearised(undefined("Undefined, so it has no standard error.", n=n), None)
    towards = n * features - totals
    slopes = (statistic(totals + STEP * towards) - statistic(totals - STEP * towards)) / (2 * STEP)
    return _linearised(value, slopes, multiplicity, n_items=n)


def _linearised(value: float, influence: Floats, multiplicity: Ints, *, n_items: int) -> Linearised:
    n = int(multiplicity.sum())
    if n < 2:
        return Linearised(Estimate(value, None, None, n_items, "One item has no interval."), None)
    error = math.sqrt(float((multiplicity * influence**2).sum()) / (n * (n - 1)))
    half = t_value(LEVEL, n - 1) * error
    return Linearised(Estimate(value, value - half, min(1.0, value + half), n_items), error)


def linearised_alpha(profiles: Profiles) -> Linearised:
    """Return nominal alpha with Gwet's variance over items with two answers or more. Source: as `linearised_gwet`.

    With r_i answers on item i and r their mean, alpha is (Pa (1 - e) + e - Pe) / (1 - Pe), e = 1 / (n r).
    """
    pairable = profiles.rows.sum(axis=1) >= 2
    counts, multiplicity = profiles.rows[pairable].astype(np.float64), profiles.multiplicity[pairable]
    n = int(multiplicity.sum())
    if not n:
        return Linearised(undefined("Undefined, so it has no standard error."), None)
    given = counts.sum(axis=1)
    mean_given = float(multiplicity @ given) / n
    excess = (given - mean_given) / mean_given
    shares = (multiplicity @ counts) / (n * mean_given)
    chance = float((shares**2).sum())
    if 1 - chance < 1e-12:
        return Linearised(undefined("Undefined, so it has no standard error.", n=n), None)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (mean_given * (given - 1))
    observed = float(multiplicity @ agreeing) / n
    small = 1 / (n * mean_given)
    value = (observed * (1 - small) + small - chance) / (1 - chance)
    own = (agreeing - observed * excess - chance) / (1 - chance)
    slope = counts @ shares / mean_given - chance * (1 + excess)
    return _linearised(value, own - 2 * (1 - value) * slope / (1 - chance) - value, multiplicity, n_items=n)
