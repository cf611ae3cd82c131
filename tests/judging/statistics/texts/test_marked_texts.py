"""Marked parts of texts and their F1, worked out by hand."""

from __future__ import annotations

import pytest

from judging.specs.types import Mark
from judging.statistics.texts import f1_of, mean_f1_of, stretches

#          0123456789
# first    mmmm--MM--
# second   --mm--MMM-
FIRST = (Mark(0, 4, "minor"), Mark(6, 8, "major"))
SECOND = (Mark(2, 4, "minor"), Mark(6, 9, "major"))


def test_stretches_are_the_parts_between_any_two_ends() -> None:
    assert list(stretches((FIRST, SECOND), 10)) == [
        (0, 2, ["minor", ""]),
        (2, 4, ["minor", "minor"]),
        (4, 6, ["", ""]),
        (6, 8, ["major", "major"]),
        (8, 9, ["", "major"]),
        (9, 10, ["", ""]),
    ]


def test_f1_counts_characters_with_the_same_label() -> None:
    # 6 and 5 characters marked, 4 of them alike: 8 / 11
    assert f1_of(FIRST, SECOND) == pytest.approx(8 / 11)
    assert f1_of(FIRST, ()) == 0.0
    assert f1_of((), ()) == 1.0
    assert f1_of((Mark(0, 4, "minor"),), (Mark(0, 4, "major"),)) == 0.0
    # split otherwise: the same characters
    assert f1_of((Mark(0, 2, "minor"), Mark(2, 4, "minor")), (Mark(0, 4, "minor"),)) == 1.0


def test_the_mean_f1_is_over_pairs() -> None:
    assert mean_f1_of((FIRST, SECOND, ())) == pytest.approx((8 / 11 + 0 + 0) / 3)
    assert mean_f1_of((FIRST,)) is None
