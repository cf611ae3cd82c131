"""Percent agreement: the share of answer pairs on the same item that are equal."""

from __future__ import annotations

from evalsite.reports.statistics.bootstrap import Bootstrap, bootstrap_interval
from evalsite.reports.statistics.estimates import Estimate, undefined, with_interval
from evalsite.reports.statistics.interpret import NO_PAIRS
from evalsite.reports.statistics.profiles import ItemFeatures, observed_agreement


def percent_of(items: ItemFeatures, *, bootstrap: Bootstrap | None = None) -> Estimate:
    """Return the mean over items of the agreeing share of their pairs, in [0, 1]; n = items with two answers."""
    if not items.n_pairable:
        return undefined(NO_PAIRS)
    value = float(observed_agreement(items.totals)[0])
    plan = bootstrap or Bootstrap()
    interval = bootstrap_interval(observed_agreement, items.features, items.multiplicity, plan=plan)
    return with_interval(value, interval, n=items.n_pairable)
