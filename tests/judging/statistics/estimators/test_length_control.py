"""The win rate at equal length as reports show it."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.estimates import census_mean
from judging.statistics.estimators.judge_bias import length_control, length_controlled_win_rate


def test_length_control_takes_a_preference_for_length_away() -> None:
    # An even match whose longer answers win with log odds of 2: the first is longer in two of three cases.
    random = np.random.default_rng(4)
    longer = random.normal(60, 120, size=400)
    wins = (random.random(400) < 1 / (1 + np.exp(-2 * np.tanh(longer / longer.std())))).astype(float)

    raw, equal_length, effect = length_control(wins, longer, range(400))

    plain, _, _ = length_controlled_win_rate(wins, longer, range(400))
    assert raw == census_mean(wins)
    assert (equal_length, plain.n) == (plain, 400)
    assert raw.value is not None
    assert raw.value > 0.58
    assert equal_length.value == pytest.approx(0.5, abs=0.06)
    assert effect.value == pytest.approx(2, abs=0.5)
    assert effect.low is not None
    assert effect.low > 0


def test_length_control_says_too_few_below_30_cases() -> None:
    raw, equal_length, _ = length_control([1.0, 0.0] * 29, [5.0, -3.0] * 29, [number // 2 for number in range(58)])

    assert (raw.n, raw.value) == (29, 0.5)
    assert (equal_length.value, equal_length.reason) == (None, "Too few: 29 of 30.")


def test_length_control_says_where_nothing_is_known_at_equal_length() -> None:
    _, same, _ = length_control([1.0, 0.0] * 20, [7.0] * 40, range(40))
    _, decided, _ = length_control([1.0, 0.0] * 20, [50.0, -50.0] * 20, range(40))

    assert same.reason == "The differences in length are all the same."
    assert decided.reason == (
        "Length alone decides every comparison, so nothing is known about responses of equal length."
    )
