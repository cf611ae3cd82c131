"""Kendall's tau-b against scipy's and a worked table."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from judging.statistics.coefficients.rank_agreement import tau_of


def test_tau_of_a_table_worked_by_hand() -> None:
    # concordant 3 * 4, discordant 1 * 2; of 45 pairs 6 + 15 tie in rows (4 and 6), 10 + 10 in columns (5 and 5)
    assert tau_of(np.array([[3, 1], [2, 4]])) == pytest.approx((12 - 2) / ((45 - 21) * (45 - 20)) ** 0.5)


@pytest.mark.parametrize("seed", range(20))
def test_tau_of_is_that_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = random.integers(0, 6, size=(2, 80))
    table = np.zeros((6, 6), dtype=np.int64)
    np.add.at(table, (first, second), 1)

    assert tau_of(table) == pytest.approx(scipy.stats.kendalltau(first, second).statistic, abs=1e-12)


def test_tau_of_one_value_is_undefined() -> None:
    assert tau_of(np.array([[4, 0], [3, 0]])) is None
    assert tau_of(np.zeros((2, 2), dtype=np.int64)) is None
