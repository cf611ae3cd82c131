"""How the votes of a panel's members become one score, and how far apart they lie. Pure numbers, exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class PanelRule(StrEnum):
    """How votes are combined."""

    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"
    WEIGHTED = "weighted"
    LOWEST = "min"
    HIGHEST = "max"


@dataclass(frozen=True, slots=True)
class PanelVote:
    """What one member gave, and how much it counts under the rule `weighted`."""

    value: Fraction
    weight: Fraction = Fraction(1)


def combine_votes(votes: Sequence[PanelVote], rule: PanelRule) -> Fraction | None:
    """Return one value of at least one vote; None where the rule gives none.

    mean: the sum over the number. median: the middle value, of an even number the mean of both middle ones.
    majority: the value with most votes, each vote counting once; two values with equally many are a tie, which has no
    majority, so there is no value. weighted: the sum of weight times value over the sum of weights. min, max: the
    lowest and the highest value.

    Raises:
        ValueError: there are no votes.
    """
    if not votes:
        raise ValueError("There are no votes to combine.")
    values = sorted(vote.value for vote in votes)
    match rule:
        case PanelRule.MEAN:
            return sum(values, Fraction(0)) / len(values)
        case PanelRule.MEDIAN:
            return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        case PanelRule.MAJORITY:
            return _most_frequent(values)
        case PanelRule.WEIGHTED:
            return sum((vote.weight * vote.value for vote in votes), Fraction(0)) / sum(vote.weight for vote in votes)
        case PanelRule.LOWEST:
            return values[0]
        case PanelRule.HIGHEST:
            return values[-1]


def _most_frequent(values: Sequence[Fraction]) -> Fraction | None:
    (first, most), *others = Counter(values).most_common()
    return None if others and others[0][1] == most else first


def votes_range(votes: Sequence[PanelVote], full: Fraction) -> Fraction:
    """Return how far the highest vote lies above the lowest, as a part of a full score; 0 without a full score.

    Raises:
        ValueError: there are no votes.
    """
    values = [vote.value for vote in votes]
    return (max(values) - min(values)) / full if full else Fraction(0)


def majority_of(members: int) -> int:
    """Return the smallest number that is more than half of the members."""
    return members // 2 + 1
