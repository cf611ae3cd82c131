"""Strengths of many tables at once, beside the plain fit."""

from __future__ import annotations

import numpy as np
import pytest

from evalsite.reports.statistics.bootstrap import Bootstrap
from evalsite.reports.statistics.bradley_terry import Comparison, bradley_terry
from evalsite.reports.statistics.strength_batches import fit_strengths, have_strengths


@pytest.mark.parametrize("n_systems", [3, 5, 9])
def test_fit_strengths_agrees_with_the_plain_fit(n_systems: int) -> None:
    random = np.random.default_rng(n_systems)
    counts = random.integers(1, 40, size=(n_systems, n_systems))  # wins of the row's system against the column's
    ties = random.integers(0, 5, size=(n_systems, n_systems))
    points = np.zeros((1, n_systems, n_systems))
    comparisons = []
    for first in range(n_systems):
        for second in range(n_systems):
            if first == second:
                continue
            points[0, first, second] += counts[first, second] + ties[first, second] / 2
            points[0, second, first] += ties[first, second] / 2
            for preference in [1] * counts[first, second] + [0] * ties[first, second]:
                comparisons.append(Comparison("case", str(first), str(second), preference))

    found = bradley_terry(comparisons, bootstrap=Bootstrap(resamples=0))

    plain = {row.system: row.estimate.value for row in found.strengths}
    assert fit_strengths(points)[0] == pytest.approx([plain[str(n)] for n in range(n_systems)], abs=1e-8)


def test_fit_strengths_reaches_strengths_far_apart() -> None:
    # 1,000,000 : 1 are log odds of 13.8; a Newton step that is not held back flies past them.
    points = np.array([[[0.0, 1e6], [1.0, 0.0]]])

    assert fit_strengths(points)[0] == pytest.approx([np.log(1e6) / 2, -np.log(1e6) / 2])


def test_have_strengths_needs_a_chain_of_wins_both_ways() -> None:
    cycle = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    one_sided = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    apart = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]

    assert have_strengths(np.array([cycle, one_sided, apart], dtype=np.float64)).tolist() == [True, False, False]
