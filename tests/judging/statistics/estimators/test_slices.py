"""Claims on slices: by hand, and how often they are made where there is nothing to claim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from judging.statistics.estimates import MeanKind
from judging.statistics.estimators.boards import BoardData, length_bands, pair_slices, system_mean, system_slices
from tests.audited_boards import drawn_cases, noisy_judge
from tests.sizes import sized


def audited_data(rates: Any, *, n_drawn: int, seed: int = 1, planned: int = 0) -> BoardData:
    """Return systems x cases with labels of the drawn ones; `rates` say by case how often a system is right."""
    random = np.random.default_rng(seed)
    rates = np.asarray(rates, dtype=float)
    truth = (random.random(rates.shape) < rates).astype(float)
    drawn = drawn_cases(rates.shape[1], n_drawn, random)
    labels = np.where(drawn, truth, np.nan)
    judge = noisy_judge(truth, random, error=0.1)
    drawn = np.broadcast_to(drawn, rates.shape)
    return BoardData(judge, labels, drawn, np.zeros(rates.shape, dtype=bool), planned=planned)


def halves(n: int) -> list[Any]:
    return [np.arange(n) < n // 2, np.arange(n) >= n // 2]


def test_system_slices_show_the_mean_of_each_slice_and_the_difference_to_the_rest() -> None:
    data = audited_data([[0.95] * 300 + [0.4] * 300], n_drawn=300)
    easy, hard = halves(600)

    (figures,) = system_slices(data, [easy, hard], MeanKind.CORRECTED)

    assert [mean for mean, _ in figures] == [
        system_mean(data.only(inside), 0, MeanKind.CORRECTED).estimate for inside in (easy, hard)
    ]
    first, second = (claim for _, claim in figures)
    gap = (figures[0][0].value or 0) - (figures[1][0].value or 0)
    assert first.difference.value == pytest.approx(gap)
    assert second.difference.value == pytest.approx(-gap)
    assert (first.holds, second.holds) == (True, True)
    assert 0.3 < (first.difference.low or 0) < gap
    assert first.holm_p == pytest.approx(2 * (first.p_value or 0))  # both claims have one p, so Holm doubles it


def test_system_slices_claim_nothing_below_30_audited_cases() -> None:
    data = audited_data([[1.0] * 100 + [0.0] * 100], n_drawn=200)
    small = np.arange(200) < 25

    (((mean, first), (_, second)),) = system_slices(data, [small, ~small], MeanKind.HUMAN)

    assert mean.is_defined
    assert first.difference.reason == second.difference.reason == "Too few: 25 of 30."
    assert (first.holm_p, first.holds) == (None, False)
    assert system_slices(data, [np.arange(200) < 12, ~small], MeanKind.HUMAN)[0][0][0].reason == (
        "Too few: 12 of 20 audited cases."
    )


def test_pair_slices_compare_two_systems_on_the_same_cases_of_a_slice() -> None:
    data = audited_data([[0.95] * 300 + [0.5] * 300, [0.5] * 600], n_drawn=400)

    first, second = pair_slices(data, halves(600), MeanKind.CORRECTED)

    assert (first.holds, second.holds) == (True, False)
    assert first.difference.value == pytest.approx(0.45, abs=0.12)
    assert first.holm_p == pytest.approx(2 * (first.p_value or 1))


def test_slices_at_every_look_are_wider() -> None:
    rates = [[0.9] * 300 + [0.6] * 300]
    once = system_slices(audited_data(rates, n_drawn=300), halves(600), MeanKind.CORRECTED)[0][0]
    always = system_slices(audited_data(rates, n_drawn=300, planned=300), halves(600), MeanKind.CORRECTED)[0][0]

    for narrower, wider in ((once[0], always[0]), (once[1].difference, always[1].difference)):
        assert wider.value == narrower.value
        assert (wider.low or 0) < (narrower.low or 0)
        assert (wider.high or 0) > (narrower.high or 0)
    assert (always[1].p_value or 0) > (once[1].p_value or 0)


@pytest.mark.sized
@pytest.mark.parametrize("mode", [MeanKind.RAW, MeanKind.HUMAN, MeanKind.CORRECTED])
def test_slices_of_one_rate_are_claimed_to_differ_in_5_percent_of_tables(mode: MeanKind) -> None:
    # Six slices of one rate and three systems, 240 of 600 cases audited: some claim in at most 5% of tables, give or
    # take 3 standard errors.
    random = np.random.default_rng(6)
    claimed, tables = 0, sized(100, whole=300)
    for seed in range(tables):
        data = audited_data(np.full((3, 600), random.choice([0.5, 0.8, 0.95])), n_drawn=240, seed=seed)
        slices = [np.arange(600) % 6 == part for part in range(6)]
        table = system_slices(data, slices, mode)
        claimed += any(claim.holds for row in table for _, claim in row)

    assert claimed / tables <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / tables)


def test_length_bands_are_thirds_with_their_bounds() -> None:
    lengths = np.array([100.0, 200.0, np.nan, 300.0, 400.0, 500.0, 1600.0])

    bands = length_bands(lengths)

    # thirds of 100..1600: the quantiles are 266.7 and 433.3
    assert list(bands) == ["short, up to 267 characters", "medium, up to 433", "long, more than 433"]
    assert [np.flatnonzero(inside).tolist() for inside in bands.values()] == [[0, 1], [3, 4], [5, 6]]


def test_length_bands_need_lengths_that_differ() -> None:
    assert length_bands(np.array([5.0] * 9)) == {}
    assert length_bands(np.array([5.0, 9.0])) == {}
