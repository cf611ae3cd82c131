"""The answers a queue offers."""

from __future__ import annotations

from typing import Any

import pytest

from evalsite.base.formats import SHARE, WINS, ScaleKind, ScoreScale, rating
from evalsite.review.questions.scales import (
    COMPARED,
    JUDGEMENT,
    PREFERENCE,
    Label,
    is_number_scale,
    joined_scale,
    key_of,
    label_on,
    labels_from_json,
    labels_to_json,
    level_scale,
    meaning_of,
    nearest_label,
    points_scale,
    reads_highest_first,
    scale_from_words,
    score_scale_of_labels,
    short_of,
    shown_label,
    words_about_worth,
    words_of,
)

pytestmark = pytest.mark.backend_free


def test_points_scale_is_stored_by_its_steps_and_read_back() -> None:
    scale = points_scale(30)

    assert [label.value for label in scale[:4]] == ["0", "3", "7", "10"]
    assert scale[19] == Label("63", "63.3%", 19 / 30)
    assert labels_to_json(scale) == [{"points": 30}]
    assert labels_from_json([{"points": 30}]) == scale
    assert len(labels_to_json(points_scale(4))) == 5  # short ones are written out


def test_joined_scale_unites_levels_and_leaves_worth_out_where_scales_differ() -> None:
    levels = joined_scale([level_scale([50]), level_scale([25, 75])])

    assert [label.value for label in levels] == ["0", "25", "50", "75", "100"]
    eighths_and_halves = joined_scale([points_scale(8), points_scale(2)])
    assert [(label.value, label.text) for label in eighths_and_halves][3:6] == [
        ("38", "37.5%"),
        ("50", "50.0%"),
        ("62", "62.5%"),
    ]
    assert {label.share for label in joined_scale([points_scale(8), points_scale(4, rating(1, 5))])} == {None}
    mixed = joined_scale([level_scale([50]), points_scale(4, rating(1, 5))])
    assert [label.text for label in mixed] == [
        *("0 of 100 or 0.00 of 5", "50 of 100 or 2.50 of 5", "100 of 100 or 5.00 of 5"),
        *("1.25 of 5", "3.75 of 5"),
    ]
    assert joined_scale([JUDGEMENT, JUDGEMENT]) == JUDGEMENT
    assert joined_scale([JUDGEMENT[:2], scale_from_words(["1", "2"])]) == (
        Label("right", "Right"),
        Label("partly", "Partly right"),
        Label("1", "1"),
        Label("2", "2"),
    )
    assert joined_scale([]) == JUDGEMENT


@pytest.mark.parametrize(
    ("value", "labels", "swapped", "expected"),
    [
        ("1", PREFERENCE, True, "-1"),
        ("-1", PREFERENCE, True, "1"),
        ("0", PREFERENCE, True, "0"),
        ("1", PREFERENCE, False, "1"),
        ("right", JUDGEMENT, True, "right"),
        ("1", level_scale([1]), True, "1"),
    ],
)
def test_shown_label_turns_preferences_only(
    value: str, labels: tuple[Label, ...], swapped: bool, expected: str
) -> None:
    assert shown_label(value, labels, swapped=swapped) == expected


def test_key_of_follows_the_spec_for_preferences_and_counts_for_scales() -> None:
    assert [key_of(place, PREFERENCE) for place in range(3)] == ["1", "0", "2"]
    assert [key_of(place, level_scale(range(11))) for place in (0, 8, 9, 10)] == ["1", "9", "0", ""]


@pytest.mark.parametrize(("share", "expected"), [(0.0, "wrong"), (0.25, "wrong"), (0.26, "partly"), (1.0, "right")])
def test_nearest_label_takes_the_lower_at_a_tie(share: float, expected: str) -> None:
    assert nearest_label(share, JUDGEMENT) == expected


def test_nearest_label_of_a_scale_without_worth_is_empty() -> None:
    assert nearest_label(0.5, PREFERENCE) == ""


def test_labels_survive_storage() -> None:
    labels = (*JUDGEMENT, *PREFERENCE)

    assert labels_from_json(labels_to_json(labels)) == labels


def test_words_of_takes_a_list_as_people_type_it() -> None:
    assert words_of(" good, fair ,,good,  very bad") == ("good", "fair", "very bad")
    assert words_of(" , ") == ()


def test_given_scale_keeps_what_a_label_means() -> None:
    scale = scale_from_words(("1 = useless", "2", "3", "4=complete"))

    assert scale == (
        Label("1", "1: useless", 0.0),
        Label("2", "2", 1 / 3),
        Label("3", "3", 2 / 3),
        Label("4", "4: complete", 1.0),
    )
    assert [(short_of(label), meaning_of(label)) for label in scale] == [
        ("1", "useless"),
        ("2", ""),
        ("3", ""),
        ("4", "complete"),
    ]
    assert is_number_scale(scale)
    assert not is_number_scale(JUDGEMENT)


@pytest.mark.parametrize("words", [("1 = a", "1 = b"), ("1 = " + "x" * 81, "2")])
def test_given_scale_refuses_what_cannot_be_shown(words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="label"):
        scale_from_words(words)


def test_key_of_a_scale_from_0_to_10_is_its_own_digit_and_t_for_ten() -> None:
    scale = scale_from_words(tuple(str(number) for number in range(11)))

    assert [key_of(place, scale) for place in range(11)] == [*"0123456789", "t"]
    assert [key_of(place, scale_from_words(("0", "12", "34"))) for place in range(3)] == ["1", "2", "3"]


def test_words_about_worth_relate_the_choices_to_the_rubric() -> None:
    assert words_about_worth(JUDGEMENT) == "Share of the points: Right = 100%, Partly right = 50%, Wrong = 0%."
    assert words_about_worth(PREFERENCE) == "Compare the two by the rubric: the better response fulfils more of it."
    assert words_about_worth(level_scale([50])) == (
        "The choices are the scores from 0 to 100 that the rubric's levels allow."
    )
    assert words_about_worth(scale_from_words(("1", "2", "3"))) == ""


@pytest.mark.parametrize(
    ("words", "is_upside_down"),
    [
        (["1 = best", "2", "3", "4 = worst"], True),
        (["1 = worst", "2", "3", "4 = best"], False),
        (["4 = best", "3", "2", "1 = worst"], False),  # numbers are worth their value, however they are typed
        (["good", "ok", "bad"], True),
        (["bad", "ok", "good"], False),
        (["1 = excellent", "2", "3"], True),  # one end is enough
        (["1", "2", "3 = useless"], True),
        (["not good", "good"], False),
        (["1", "2", "3"], False),
        (["cat", "dog"], False),
    ],
)
def test_a_scale_typed_highest_first_is_noticed(words: list[str], is_upside_down: bool) -> None:
    assert reads_highest_first(scale_from_words(words)) is is_upside_down


def test_labels_without_worth_are_never_upside_down() -> None:
    assert not reads_highest_first([Label("best", "best"), Label("worst", "worst")])


@pytest.mark.parametrize(
    ("labels", "scale"),
    [
        (scale_from_words(["1 = useless", "2", "3", "4", "5 = complete"]), rating(1, 5, zero=1)),
        (level_scale([25, 50]), rating(0, 100)),
        (points_scale(30), SHARE),
        (points_scale(20, rating(0, 100)), rating(0, 100)),
        (JUDGEMENT, SHARE),
        (PREFERENCE, WINS),
        (COMPARED, WINS),
        (scale_from_words(["bad", "good"]), SHARE),
    ],
)
def test_the_worth_of_labels_is_shown_on_their_own_scale(labels: tuple[Label, ...], scale: ScoreScale) -> None:
    assert score_scale_of_labels(labels) == scale


@pytest.mark.parametrize(
    ("scale", "words", "stored"),
    [
        (SHARE, "63.3%", [{"points": 30}]),
        (rating(0, 100), "63.3 of 100", [{"points": 30, "scale": ["rating", 0.0, 100.0, 0.0, False]}]),
        (ScoreScale(ScaleKind.RATING, 0, 1), "0.63 of 1", [{"points": 30, "scale": ["rating", 0.0, 1.0, 0.0, False]}]),
        (rating(1, 5), "3.17 of 5", [{"points": 30, "scale": ["rating", 0.0, 5.0, 0.0, False]}]),  # 19 / 30 of 5
        (rating(1, 5, zero=1), "3.53 of 5", [{"points": 30, "scale": ["rating", 1.0, 5.0, 1.0, False]}]),
    ],
)
def test_scores_of_a_form_are_worded_on_the_scale_of_the_judge_and_stored_so(
    scale: ScoreScale, words: str, stored: list[dict[str, Any]]
) -> None:
    labels = points_scale(30, scale)

    assert labels[19] == Label("63", words, 19 / 30)
    assert labels_to_json(labels) == stored
    assert labels_from_json(stored) == labels
    assert score_scale_of_labels(labels).whole_words(19 / 30) == words
    assert joined_scale([points_scale(30), labels]) == labels  # one scale, in other words


def test_labels_that_a_judge_numbers_from_0_to_100_keep_their_own_words() -> None:
    labels = tuple(Label(str(n), str(n), n / 100) for n in range(101))

    assert labels_from_json(labels_to_json(labels)) == labels
    assert score_scale_of_labels(labels) == rating(0, 100)


@pytest.mark.parametrize(
    ("word", "value"), [("Bill", "Bill"), ("bill", "bill"), ("BILL", "Bill"), ("b", "b"), ("B", "a")]
)
def test_label_on_takes_a_spelling_as_it_is_before_one_that_differs_in_case(word: str, value: str) -> None:
    scale = (Label("Bill", "Billing"), Label("bill", "A bill"), Label("a", "B"), Label("b", "C"))

    assert label_on(scale, word) == value
