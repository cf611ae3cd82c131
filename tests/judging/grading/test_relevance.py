"""The relevance score: rules, options and exactness. Reading replies is tested with the judge."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from judging.grading.relevance import (
    BadRelevanceOption,
    Dimensions,
    RelevanceOptions,
    final_disagrees,
    relevance_score,
)


# Rows of the specification: A, C, P as given, with a context or not, marks after the rules, score with one decimal.
@pytest.mark.parametrize(
    ("raw", "has_context", "marks", "shown"),
    [
        ((5, 4, 5), True, (5, 4, 5), 0.5),
        ((2, 9, 8), True, (2, 4, 4), 0.3),
        ((3, 9, 8), True, (3, 9, 8), 0.7),
        ((0, 10, 10), True, (0, 4, 4), 0.3),
        ((8, 7, 9), False, (8, 7, 0), 0.5),
        ((2, 9, 9), False, (2, 4, 0), 0.2),
        ((10, 10, 10), True, (10, 10, 10), 1.0),
        ((8, 7, None), False, (8, 7, 0), 0.5),
    ],
)
def test_relevance_score_applies_the_rules_in_order(
    raw: tuple[int, int, int | None], has_context: bool, marks: tuple[int, int, int], shown: float
) -> None:
    score = relevance_score(Dimensions(*raw), has_context=has_context)

    assert (score.dimensions, score.raw, score.shown()) == (Dimensions(*marks), Dimensions(*raw), shown)


def test_relevance_score_is_exact_and_names_what_it_changed() -> None:
    assert relevance_score(Dimensions(5, 4, 5), has_context=True).final == Fraction(14, 30)
    assert relevance_score(Dimensions(2, 9, 8), has_context=True).flags == (
        "capped:comprehensiveness",
        "capped:context_precision",
    )
    assert relevance_score(Dimensions(2, 4, 9), has_context=False).flags == ("no_context_forced_0",)


def test_relevance_score_trusts_the_judge_where_the_option_says_so() -> None:
    score = relevance_score(Dimensions(2, 9, 9), has_context=False, options=RelevanceOptions(enforce_rules=False))

    assert (score.final, score.flags) == (Fraction(20, 30), ())


def test_relevance_score_can_leave_a_missing_context_out() -> None:
    score = relevance_score(
        Dimensions(10, 10, None), has_context=False, options=RelevanceOptions(without_context="drop")
    )

    assert (score.final, score.flags) == (Fraction(1), ("no_context",))


def test_relevance_score_shows_the_same_decimal_as_rounding_half_up() -> None:
    # Python rounds halves to even; no sum of three marks over 30 ever meets a half, so the two agree.
    for total in range(31):
        marks = Dimensions(min(total, 10), max(0, min(total - 10, 10)), max(0, total - 20))
        score = relevance_score(marks, has_context=True, options=RelevanceOptions(enforce_rules=False))
        assert score.shown(1) == math.floor(score.final * 10 + Fraction(1, 2)) / 10
        assert score.shown(2) == math.floor(score.final * 100 + Fraction(1, 2)) / 100


@pytest.mark.parametrize("raw", [(11, 0, 0), (0, -1, 0), (0, 0, None)])
def test_relevance_score_refuses_impossible_scores(raw: tuple[int, int, int | None]) -> None:
    with pytest.raises(ValueError, match=r"score|missing"):
        relevance_score(Dimensions(*raw), has_context=True)


def test_final_disagrees_beyond_a_twentieth() -> None:
    score = relevance_score(Dimensions(8, 7, 9), has_context=True)  # 0.8

    assert [final_disagrees(stated, score) for stated in (0.8, 0.83, 0.85, 0.86, 24.0)] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_relevance_options_refuse_unknown_values() -> None:
    with pytest.raises(BadRelevanceOption, match="zero or drop"):
        RelevanceOptions(without_context="ignore")
