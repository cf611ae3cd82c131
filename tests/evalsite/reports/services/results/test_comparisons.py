"""Two columns against each other, on figures worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evalsite.reports.services.results import comparisons
from evalsite.reports.services.results.cells import ResultGrid
from evalsite.reports.services.results.comparisons import compare_columns

NAN = np.nan


def grid(shares: list[list[float]], cases: list[int]) -> ResultGrid:
    """Return a grid of these scores; nothing else of it counts here."""
    values = np.array(shares, dtype=np.float32)
    return ResultGrid(
        shares=values,
        labels=np.full(values.shape, NAN),
        responses=np.ones(values.shape, dtype=np.int64),
        attempts=np.ones(values.shape, dtype=np.uint8),
        cases=np.array(cases),
        systems=np.zeros(len(cases), dtype=np.int64),
    )


def test_compare_columns_counts_rows_and_averages_over_cases() -> None:
    # two responses to each of three cases; differences 1, 0 | 0, -0.5 | 0.5 (the last has one score only)
    (found,) = compare_columns(
        grid([[0, 1, 0.5, 1, 0, 1], [1, 1, 0.5, 0.5, 0.5, NAN]], [0, 0, 1, 1, 2, 2]),
    )

    assert (found.other, found.n, found.higher, found.same, found.lower) == (1, 5, 2, 2, 1)
    assert found.difference.value == pytest.approx((0.5 - 0.25 + 0.5) / 3)
    assert (found.difference.n, found.difference.low) == (3, None)  # too few cases for an interval
    assert found.levels == (0.0, 0.5, 1.0)
    assert found.counts == ((0, 1, 1), (0, 1, 0), (0, 1, 1))
    assert found.pairs == ()


def test_compare_columns_of_equal_columns() -> None:
    values = [0.0, 0.25, 1.0, 1.0] * 10
    (found,) = compare_columns(grid([values, values], list(range(40))))

    assert (found.higher, found.lower) == (0, 0)
    assert found.tau == pytest.approx(1)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(1)
    assert found.difference.value == 0
    assert found.difference.low is not None


def test_compare_columns_of_many_levels_has_no_kappa() -> None:
    values = [place / 40 for place in range(40)]
    (found,) = compare_columns(grid([values, values[::-1]], list(range(40))))

    assert (found.kappa, found.levels, found.counts) == (None, (), ())
    assert found.tau == pytest.approx(-1)
    assert found.pairs == tuple((place / 40, (39 - place) / 40, 1) for place in range(40))


def test_compare_columns_draws_many_pairs_on_a_coarser_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MOST_PAIRS", 8)
    values = [0.0, 0.01, 0.02, 0.2, 0.21, 0.4, 0.6, 0.8, 1.0]  # nine scores; on a grid of twentieths six

    (found,) = compare_columns(grid([values, values], list(range(9))))

    assert found.pairs == ((0, 0, 3), (0.2, 0.2, 2), (0.4, 0.4, 1), (0.6, 0.6, 1), (0.8, 0.8, 1), (1, 1, 1))


def test_compare_columns_without_common_rows_says_so() -> None:
    (found,) = compare_columns(grid([[1.0, NAN], [NAN, 1.0]], [0, 1]))

    assert (found.n, found.tau, found.kappa) == (0, None, None)
    assert found.difference.value is None
    assert found.difference.reason


def test_compare_columns_of_a_very_large_grid_compares_the_first_two(monkeypatch: pytest.MonkeyPatch) -> None:
    three = grid([[0, 1], [1, 1], [0, 0]], [0, 1])
    assert [found.other for found in compare_columns(three)] == [1, 2]

    monkeypatch.setattr(comparisons, "MANY_CELLS", 5)
    assert [found.other for found in compare_columns(three)] == [1]
