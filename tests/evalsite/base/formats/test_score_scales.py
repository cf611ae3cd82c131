"""Scores keep the numbers of their scale: what is shown is what the judge said, on every scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.base.formats import (
    SHARE,
    WINS,
    ScoreScale,
    figure_in_numbers,
    in_numbers,
    rating,
    read_scale,
    scale_of_figure,
    scale_through,
)

FIVE = scale_through(
    {1: 0.0, 2: 0.25, 3: 0.5, 4: 0.75, 5: 1.0}
)  # labels of a queue: worth their place between the ends


@pytest.mark.parametrize(
    ("scale", "share", "words", "whole", "range_words"),
    [
        # an own prompt stores 7 of 1 to 10 as 7/10, so a 1 is a tenth and a mean of 5.66 is 0.566
        (rating(1, 10), 0.566, "5.66", "5.66 of 10", "1 to 10"),
        (rating(1, 10), 0.1, "1.00", "1.00 of 10", "1 to 10"),
        (rating(1, 5), 0.2, "1.00", "1.00 of 5", "1 to 5"),
        (rating(0, 10), 0.0, "0.00", "0.00 of 10", "0 to 10"),
        (rating(0, 100), 0.625, "62.5", "62.5 of 100", "0 to 100"),
        (FIVE, 0.0, "1.00", "1.00 of 5", "1 to 5"),
        (FIVE, 0.5, "3.00", "3.00 of 5", "1 to 5"),
        (rating(-1, 1, zero=-1), 0.5, "0.00", "0.00 of 1", "-1 to 1"),
        (rating(0, 1), 0.555, "55.5%", "55.5%", "share"),  # a share is a share, whoever calls it a rating
        (SHARE, 0.555, "55.5%", "55.5%", "share"),
        (WINS, 0.5, "50.0%", "50.0%", "win rate"),
    ],
)
def test_a_share_is_shown_on_its_scale(
    scale: ScoreScale, share: float, words: str, whole: str, range_words: str
) -> None:
    assert (scale.words(share), scale.whole_words(share), scale.range_words) == (words, whole, range_words)
    assert read_scale(scale.to_json()) == scale


@given(low=st.integers(0, 20), width=st.integers(2, 100), data=st.data())
def test_every_whole_number_comes_back_as_it_was_given(low: int, width: int, data: st.DataObject) -> None:
    high = low + width
    number = data.draw(st.integers(low, high))
    scale = rating(low, high)
    share = float(number) / high  # as an own prompt's score is stored

    assert scale.number(share) == number
    assert scale.number(scale.share(number)) == number
    assert low <= scale.number(scale.lowest_share) == low


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_difference_is_that_of_the_numbers(first: float, second: float) -> None:
    for scale in (rating(1, 10), FIVE, rating(0, 100), SHARE):
        apart = scale.number(first) - scale.number(second)

        assert scale.differences.number(first - second) == pytest.approx(apart, abs=1e-6)


@pytest.mark.parametrize(
    ("shares", "scale"),
    [
        ({n: n / 10 for n in range(1, 11)}, rating(1, 10)),
        ({0: 0.0, 50: 0.5, 100: 1.0}, rating(0, 100)),
        ({1: 0.0, 3: 0.5, 5: 1.0}, rating(1, 5, zero=1)),
        ({0: 0.0, 1: 1.0}, SHARE),  # pass and fail
        ({1: 0.2, 2: 0.2, 5: 1.0}, SHARE),  # worth that does not follow the numbers
        ({1: 1.0, 5: 0.0}, SHARE),  # the highest is worth nothing
        ({3: 1.0}, SHARE),
        ({}, SHARE),
    ],
)
def test_labels_that_are_numbers_have_the_scale_that_their_worth_follows(
    shares: dict[float, float], scale: ScoreScale
) -> None:
    assert scale_through(shares) == scale


def test_scores_on_two_scales_have_no_difference_and_words_say_why() -> None:
    assert rating(1, 10).why_apart(rating(1, 10)) == SHARE.why_apart(SHARE) == ""
    assert rating(1, 10).why_apart(WINS) == "No difference: the first is a rating from 1 to 10, the other a win rate."
    assert SHARE.why_apart(rating(1, 5)) == (
        "No difference: the first is a share of the full score, the other a rating from 1 to 5."
    )


def test_a_figure_for_programs_has_its_numbers_and_its_share() -> None:
    figure = {"value": 0.566, "low": 0.49, "high": 0.64, "n": 80, "reason": "", "scale": rating(1, 10).to_json()}

    assert figure_in_numbers(figure) == {
        "value": 5.66,
        "low": 4.9,
        "high": 6.4,
        "n": 80,
        "reason": "",
        "share": 0.566,
        "scale": "1 to 10",
    }
    assert scale_of_figure({"value": None}) == SHARE


@pytest.mark.parametrize("scale", [[None, None], [1.0, 10.0], ["A", "B"], [], {"kind": "ordinal"}])
def test_what_a_judge_keeps_as_its_scale_stays_as_it_is_beside_figures(scale: object) -> None:
    figure = {"value": 0.566, "low": None, "high": None, "scale": rating(1, 10).to_json()}

    numbers = in_numbers({"options": {"imported": {"scale": scale}}, "scale": rating(1, 10).to_json(), "mean": figure})

    shown = {"value": 5.66, "low": None, "high": None, "share": 0.566, "scale": "1 to 10"}
    assert numbers == {"options": {"imported": {"scale": scale}}, "scale": "1 to 10", "mean": shown}
