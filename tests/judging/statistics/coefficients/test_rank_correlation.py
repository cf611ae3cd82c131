"""Spearman's rank correlation, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from judging.statistics.coefficients.rank_correlation import FEW_PAIRS, ONE_VALUE, spearman_of, tau_of


def test_spearman_of_few_pairs_has_no_interval() -> None:
    # ranks 1 2 3 4 and 2 1 4 3: differences 1 1 1 1, rho = 1 - 6 * 4 / (4 * 15) = 0.6
    correlation = spearman_of(np.array([10.0, 20, 30, 40]), np.array([0.2, 0.1, 0.9, 0.5]))

    assert correlation.value == pytest.approx(0.6)
    assert (correlation.low, correlation.high) == (None, None)
    assert (correlation.n, correlation.reason) == (4, FEW_PAIRS.format(4, 20))


def test_spearman_of_ties_takes_mean_ranks() -> None:
    # ranks 1.5 1.5 3 and 1 2 3: covariances (-0.5 * -1 + -0.5 * 0 + 1 * 1) = 1.5, squares 1.5 and 2: 1.5 / sqrt(3)
    correlation = spearman_of(np.array([5.0, 5, 7]), np.array([1.0, 2, 3]))

    assert correlation.value == pytest.approx(1.5 / math.sqrt(3))


def test_spearman_of_many_pairs_has_the_interval_of_bonett_and_wright() -> None:
    # 20 pairs in order but for ten swaps of neighbours: the squares of the differences of ranks add up to 20, so that
    # rho = 1 - 6 * 20 / (20 * 399)
    first = np.arange(20.0)
    rho = 1 - 120 / 7980
    reach = 1.959964 * math.sqrt((1 + rho**2 / 2) / 17)

    correlation = spearman_of(first, first.reshape(10, 2)[:, ::-1].reshape(-1))

    assert correlation.value == pytest.approx(rho)
    assert correlation.low == pytest.approx(math.tanh(math.atanh(rho) - reach), abs=1e-6)
    assert correlation.high == pytest.approx(math.tanh(math.atanh(rho) + reach), abs=1e-6)


def test_spearman_of_equal_orders_is_one() -> None:
    correlation = spearman_of(np.arange(30.0), np.arange(30.0) ** 3)

    assert [correlation.value, correlation.low, correlation.high] == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0])])
def test_spearman_of_one_value_is_undefined(first: list[float], second: list[float]) -> None:
    correlation = spearman_of(np.array(first), np.array(second))

    assert (correlation.value, correlation.reason, correlation.n) == (None, ONE_VALUE, len(first))


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
