"""Comparing answers word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.base.formats import MOST_WORDS, Differences, DiffPiece, compare


def test_compare_marks_the_words_that_differ() -> None:
    assert compare("The red fox", "The blue fox") == Differences(
        a=(DiffPiece("The ", ""), DiffPiece("red ", "removed"), DiffPiece("fox", "")),
        b=(DiffPiece("The ", ""), DiffPiece("blue ", "added"), DiffPiece("fox", "")),
    )


def test_compare_marks_what_only_one_text_has() -> None:
    assert compare("It is done.", "It is not done.") == Differences(
        a=(DiffPiece("It is done.", ""),),
        b=(DiffPiece("It is ", ""), DiffPiece("not ", "added"), DiffPiece("done.", "")),
    )


def test_compare_takes_a_lone_shared_word_between_differences_for_chance() -> None:
    assert compare("Start: one, two; end here.", "Start: three, four; end here.") == Differences(
        a=(DiffPiece("Start: ", ""), DiffPiece("one, two", "removed"), DiffPiece("; end here.", "")),
        b=(DiffPiece("Start: ", ""), DiffPiece("three, four", "added"), DiffPiece("; end here.", "")),
    )


def test_compare_reads_scripts_without_spaces_letter_by_letter() -> None:
    assert compare("北京很大", "北京很小") == Differences(
        a=(DiffPiece("北京很", ""), DiffPiece("大", "removed")),
        b=(DiffPiece("北京很", ""), DiffPiece("小", "added")),
    )


def test_compare_marks_nothing_in_texts_that_differ_in_spaces_alone() -> None:
    assert compare("a  b\nc", "a b c") == Differences((DiffPiece("a  b\nc", ""),), (DiffPiece("a b c", ""),))


def test_compare_marks_nothing_in_equal_texts() -> None:
    assert compare("Same.", "Same.") == Differences((DiffPiece("Same.", ""),), (DiffPiece("Same.", ""),))


def test_compare_leaves_very_long_texts_alone() -> None:
    assert compare("a " * MOST_WORDS, "b") is None


@pytest.mark.timeout(60)  # it ends long before; a runaway would not
def test_compare_of_the_longest_texts_without_a_word_in_common_ends_in_time() -> None:
    half = MOST_WORDS // 2
    a, b = " ".join(f"a{n}" for n in range(half)), " ".join(f"b{n} x" for n in range(half // 2))

    found = compare(a, b)

    assert found == Differences((DiffPiece(a, "removed"),), (DiffPiece(b, "added"),))


@given(st.text(max_size=60), st.text(max_size=60))
def test_compare_keeps_both_texts_to_the_character(a: str, b: str) -> None:
    found = compare(a, b)

    assert found is not None
    assert ("".join(piece.text for piece in found.a), "".join(piece.text for piece in found.b)) == (a, b)
