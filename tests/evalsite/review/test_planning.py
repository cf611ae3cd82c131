"""What an audit buys; the published numbers are among the vectors of the estimators."""

from __future__ import annotations

from evalsite.review.planning import Pilot, detectable_difference, planned_half_width


def test_detectable_difference_is_that_of_the_specification() -> None:
    # estimators.md, section 8: judge wrong in 10%, variance of the difference .25, 1,000 cases.
    pilot = Pilot(variance=0.25, explained=0.47)

    found = [round(100 * detectable_difference(pilot, n=n, cases=1000), 1) for n in (30, 50, 100, 200)]

    assert found == [21.0, 15.7, 11.0, 7.9]


def test_planned_half_width_of_all_cases_is_that_of_the_raw_mean() -> None:
    # 100 cases and one pseudo-case at each end, all drawn: t(99) sqrt((99 * .25 + .5) / 101 / 100).
    assert round(planned_half_width(Pilot(), n=100, cases=100), 4) == 0.0992
