"""Comparing answers word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from debate.protocol.differences import MOST_WORDS, Differences, Piece, compare


def test_compare_marks_the_words_that_differ() -> None:
    assert compare("The red fox", "The blue fox") == Differences(
        a=(Piece("The ", False), Piece("red", True), Piece(" fox", False)),
        b=(Piece("The ", False), Piece("blue", True), Piece(" fox", False)),
    )


def test_compare_marks_nothing_in_equal_texts() -> None:
    assert compare("Same.", "Same.") == Differences((Piece("Same.", False),), (Piece("Same.", False),))


def test_compare_leaves_very_long_texts_alone() -> None:
    assert compare("a " * MOST_WORDS, "b") is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_compare_keeps_both_texts_to_the_character(a: str, b: str) -> None:
    found = compare(a, b)

    assert found is not None
    assert ("".join(piece.text for piece in found.a), "".join(piece.text for piece in found.b)) == (a, b)
