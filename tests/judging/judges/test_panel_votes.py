"""How votes become one score: derived by hand, exact."""

from __future__ import annotations

from fractions import Fraction

import pytest

from judging.judges.panel_votes import PanelRule, PanelVote, combine_votes, majority_of, votes_range


def votes(*values: int, weights: tuple[int, ...] = ()) -> list[PanelVote]:
    told = weights or (1,) * len(values)
    return [PanelVote(Fraction(value), Fraction(weight)) for value, weight in zip(values, told, strict=True)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean", Fraction(9, 4)),  # (1 + 1 + 2 + 5) / 4
        ("median", Fraction(3, 2)),  # of 1 1 2 5 the mean of the middle ones, 1 and 2
        ("majority", Fraction(1)),  # twice, the others once
        ("weighted", Fraction(3)),  # (1*1 + 1*1 + 2*2 + 3*5) / (1 + 1 + 2 + 3) = 21/7
        ("min", Fraction(1)),
        ("max", Fraction(5)),
    ],
)
def test_combine_votes_by_each_rule(rule: str, expected: Fraction) -> None:
    assert combine_votes(votes(5, 1, 2, 1, weights=(3, 1, 2, 1)), PanelRule(rule)) == expected


def test_median_of_an_odd_number_is_the_middle_vote() -> None:
    assert combine_votes(votes(0, 10, 4), PanelRule.MEDIAN) == 4


@pytest.mark.parametrize("tied", [(0, 1), (2, 2, 5, 5), (1, 2, 3)])
def test_a_tie_has_no_majority(tied: tuple[int, ...]) -> None:
    assert combine_votes(votes(*tied), PanelRule.MAJORITY) is None


def test_majority_counts_each_vote_once_whatever_its_weight() -> None:
    assert combine_votes(votes(1, 0, 0, weights=(9, 1, 1)), PanelRule.MAJORITY) == 0


def test_nothing_is_combined_without_votes() -> None:
    with pytest.raises(ValueError, match="no votes"):
        combine_votes([], PanelRule.MEAN)


def test_range_is_a_part_of_a_full_score() -> None:
    assert votes_range(votes(2, 9, 5), Fraction(10)) == Fraction(7, 10)
    assert votes_range(votes(2), Fraction(0)) == 0


def test_majority_of_members_is_more_than_half() -> None:
    assert [majority_of(members) for members in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]
