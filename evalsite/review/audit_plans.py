"""What an audit of a given size buys: half-widths of means, and the smallest difference told apart. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from judging.statistics.estimates import t_quantile

LEVEL = 0.95
FEWEST_CASES = 20  # audited ones of a system, from which on its corrected mean is shown
ENOUGH_CASES = 50  # from which on an interval is not said to rest on few
MOST_VARIANCE = 0.25  # of labels from 0 to 1: assumed where no pilot says otherwise


@dataclass(frozen=True, slots=True)
class Pilot:
    """What is known before the audit: mean and variance of labels, and their squared correlation with the judge."""

    mean: float = 0.5
    variance: float = MOST_VARIANCE
    explained: float = 0.0


def _error(pilot: Pilot, *, n: int, cases: int, lowest: float, pseudo: float) -> float:
    """Return the standard error expected of a corrected mean on a scale from `lowest` to 1, with pseudo-cases."""
    effective_n = n + 2 * pseudo
    centre = (n * pilot.mean + pseudo * (lowest + 1)) / effective_n
    ends = (lowest - centre) ** 2 + (1 - centre) ** 2
    extra = n * (pilot.mean - centre) ** 2 + pseudo * ends
    residual = (n - 2) * pilot.variance * (1 - pilot.explained) + extra
    spread = (n - 1) * pilot.variance + extra
    return math.sqrt((1 - n / cases) * residual / (effective_n - 1) / effective_n + spread / (effective_n - 1) / cases)


def planned_half_width(pilot: Pilot, *, n: int, cases: int) -> float:
    """Return how far the interval of a system's corrected mean is expected to reach each way; 2 <= n <= cases."""
    return t_quantile(n - 1, LEVEL) * _error(pilot, n=n, cases=cases, lowest=0.0, pseudo=1.0)


def width_with_more(share: float, width: float, *, n: int, more: int, cases: int) -> float:
    """Return how wide an interval of this width over n audited cases is expected to be over `more` of all cases.

    Both are planned for a mean of `share`; where the judge makes the interval narrower it is taken to do so alike.
    """
    pilot = Pilot(share, share * (1 - share))
    return width * planned_half_width(pilot, n=more, cases=cases) / planned_half_width(pilot, n=n, cases=cases)


def detectable_difference(pilot: Pilot, *, n: int, cases: int) -> float:
    """Return the smallest difference of two systems that n audited of all cases would tell apart with a power of 80%.

    `pilot` is that of the difference by case.
    """
    quantiles = t_quantile(n - 1, LEVEL) + t_quantile(n - 1, 2 * 0.8 - 1)
    difference = 0.1
    for _ in range(200):
        expected = Pilot(difference, max(pilot.variance, difference - difference**2), pilot.explained)
        error = _error(expected, n=n, cases=cases, lowest=-1.0, pseudo=0.5)
        before, difference = difference, 0.5 * difference + 0.5 * quantiles * error
        if abs(difference - before) < 1e-14:
            break
    return difference


def cases_for(half_width: float, *, cases: int) -> int:
    """Return the fewest audited cases whose half-width is at most `half_width` at the widest; all where none is.

    Raises:
        ValueError: the wanted half-width is not positive.
    """
    if half_width <= 0:
        raise ValueError("the half-width must be above 0")
    sizes = range(2, cases + 1)
    return next((n for n in sizes if planned_half_width(Pilot(), n=n, cases=cases) <= half_width), cases)


@dataclass(frozen=True, slots=True)
class AuditOffer:
    """What an audit of so many cases costs and buys; widths are None below two cases, as is a difference
    that no two systems can have."""

    size: int  # cases
    population: int  # cases
    worst: float | None  # half-width of a system's corrected mean at its widest
    assumed: float | None  # the same at the mean that is expected
    difference: float | None  # of two systems that would be told apart with 80% power; None: none there can be
    subjects: int  # responses or debates that people are asked about, those with a label included
    answers: int
    seconds: float | None  # of people's time; None while nobody's time per answer is known

    @property
    def probability(self) -> float:
        """The chance with which each case is drawn."""
        return self.size / self.population

    @property
    def is_rough(self) -> bool:
        """Whether it is too small for corrected figures to be shown."""
        return self.size < FEWEST_CASES


def audit_offer(
    size: int, *, population: int, share: float, per_case: float, quorum: int, seconds_per_answer: float | None
) -> AuditOffer:
    """Return what auditing `size` of `population` cases costs and buys, where a mean of `share` is expected.

    Of each case people are asked about `per_case` responses. The judge is taken to tell nothing, so that a useful one
    makes the figures narrower than said here, and the labels of two systems to be independent.

    Raises:
        ValueError: the size is not within 0 and the population, or there is no population.
    """
    if not 0 <= size <= population or not population:
        raise ValueError(f"audit {size} of {population}")
    worst = assumed = difference = None
    if size > 1:
        worst = planned_half_width(Pilot(), n=size, cases=population)
        assumed = planned_half_width(Pilot(share, share * (1 - share)), n=size, cases=population)
        least = detectable_difference(Pilot(0.0, 2 * share * (1 - share)), n=size, cases=population)
        difference = least if least <= 1 else None  # no two systems differ by more than all points
    subjects = round(size * per_case)
    answers = subjects * quorum
    seconds = None if seconds_per_answer is None else answers * seconds_per_answer
    return AuditOffer(size, population, worst, assumed, difference, subjects, answers, seconds)
