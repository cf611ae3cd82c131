"""What charts of scores are drawn from: counts by score, responses by length, the Pareto front. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.reports.services.results.comparisons import by_case
from judging.statistics.coefficients.rank_correlation import spearman_of
from judging.statistics.estimates import Estimate, Floats, Ints
from judging.statistics.estimators.strata import census_mean

BINS = 10
STEPS = 1000  # shares are counted as rounded to 1 / STEPS
BANDS = 5
MAX_POINTS = 600
HIGHEST_DRAWN = 99  # percentile of lengths at which the axis ends


def counts_by_score(shares: Floats) -> list[int]:
    """Return how many shares lie in each tenth of the scale; a bound counts upwards, what lies outside at the ends."""
    places = np.rint(shares[~np.isnan(shares)] * STEPS) // (STEPS // BINS)
    counts: list[int] = np.bincount(np.clip(places, 0, BINS - 1).astype(np.int64), minlength=BINS).tolist()
    return counts


def quartiles(shares: Floats) -> list[float] | None:
    """Return the quartiles of what is known; None for nothing."""
    numbers = shares[~np.isnan(shares)]
    return [round(float(cut), 6) for cut in np.quantile(numbers, [0.25, 0.5, 0.75])] if len(numbers) else None


@dataclass(frozen=True, slots=True)
class LengthBand:
    """Responses of about one length: a fifth of them, with the mean score over their cases."""

    low: int  # characters
    high: int
    n: int  # responses
    mean: Estimate


def length_bands(lengths: Floats, shares: Floats, cases: Ints) -> list[LengthBand]:
    """Return up to five bands of responses by length; none where all are of one length."""
    cuts = np.unique(np.quantile(lengths, np.linspace(0, 1, BANDS + 1))) if len(lengths) else np.empty(0)
    if len(cuts) < 2:
        return []
    places = np.clip(np.searchsorted(cuts, lengths, side="left") - 1, 0, len(cuts) - 2)
    return [
        LengthBand(
            int(lengths[places == band].min()),
            int(lengths[places == band].max()),
            int((places == band).sum()),
            census_mean(by_case(shares[places == band], cases[places == band])),
        )
        for band in np.unique(places).tolist()
    ]


def length_correlation(lengths: Floats, shares: Floats, cases: Ints) -> Estimate:
    """Return the rank correlation of length and score over cases, several attempts at one as their mean."""
    return spearman_of(by_case(lengths, cases), by_case(shares, cases))


def drawn_points(lengths: Floats, shares: Floats) -> list[tuple[int, float]]:
    """Return at most `MAX_POINTS` pairs of length and share, taken at even steps from the shortest to the longest."""
    order = np.lexsort((shares, lengths))
    if len(order) > MAX_POINTS:
        order = order[np.rint(np.linspace(0, len(order) - 1, MAX_POINTS)).astype(np.int64)]
    return [(int(lengths[index]), round(float(shares[index]), 4)) for index in order.tolist()]


def longest_drawn(lengths: Floats) -> int:
    """Return where the axis of lengths ends, so that a few very long responses do not press the others together."""
    return max(1, int(np.ceil(np.percentile(lengths, HIGHEST_DRAWN)))) if len(lengths) else 1


def pareto_front(costs: Sequence[float], scores: Sequence[float]) -> list[bool]:
    """Return for each whether no other costs as little or less and scores as much or more, and differs in one."""
    return [
        not any(
            cost <= own_cost and score >= own_score and (cost < own_cost or score > own_score)
            for cost, score in zip(costs, scores, strict=True)
        )
        for own_cost, own_score in zip(costs, scores, strict=True)
    ]
