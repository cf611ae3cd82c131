"""Leaderboards of two strata: the estimate is made within each."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.estimates import MeanKind, people_only, stratified_mean
from judging.statistics.estimators.boards import BoardData, board


def test_board_estimates_within_strata() -> None:
    # 40 old cases of which 20 are drawn, 10 right; 20 new ones of which 10 are drawn, all right: (40 * .5 + 20) / 60.
    labels = np.array([[1.0] * 10 + [0.0] * 10 + [np.nan] * 20 + [1.0] * 10 + [np.nan] * 10])
    strata = np.repeat([0, 1], [40, 20])
    data = BoardData(np.zeros((1, 60)), labels, ~np.isnan(labels), np.zeros((1, 60), dtype=bool), strata=strata)

    (figure,) = board(data, MeanKind.HUMAN).figures

    parts = [people_only([1.0] * 10 + [0.0] * 10, others=20), people_only([1.0] * 10, others=10)]
    assert figure.estimate == stratified_mean(parts).estimate
    assert figure.estimate.value == pytest.approx(2 / 3)


def test_board_joins_a_stratum_with_one_label_to_the_others() -> None:
    labels = np.array([[1.0] * 10 + [0.0] * 10 + [np.nan] * 20 + [1.0] + [np.nan] * 2])
    strata = np.repeat([0, 1], [40, 3])
    data = BoardData(np.zeros((1, 43)), labels, ~np.isnan(labels), np.zeros((1, 43), dtype=bool), strata=strata)

    (figure,) = board(data, MeanKind.HUMAN).figures

    assert figure.estimate == stratified_mean([people_only([1.0] * 10 + [0.0] * 10 + [1.0], others=22)]).estimate


@pytest.mark.parametrize("audited", [0, 25])
def test_win_rates_take_cases_that_no_system_answered_for_known_and_not_for_audited(audited: int) -> None:
    missing, drawn = np.zeros((2, 60), bool), np.zeros((2, 60), bool)
    missing[:, :25], drawn[:, 25 : 25 + audited] = True, True
    scores = np.vstack([np.where(missing[0], 0.0, 1.0), np.zeros(60)])
    data = BoardData(scores, np.where(missing | drawn, scores, np.nan), drawn, missing)

    first, second = board(data, MeanKind.HUMAN).wins

    # 25 ties and 35 wins of the first, as the audited cases say too: 12.5 and 35 of 60 points
    assert [(wins.n, wins.reason) for wins in (first, second)] == [
        (audited, "" if audited else "Too few: 0 of 20 audited cases.")
    ] * 2
    assert [first.value, second.value] == (
        [pytest.approx(47.5 / 60), pytest.approx(12.5 / 60)] if audited else [None] * 2
    )
