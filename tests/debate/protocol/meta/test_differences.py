"""Comparing answers word by word."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from debate.protocol.meta.differences import MOST_WORDS, Differences, Piece, compare


def test_compare_marks_the_words_that_differ() -> None:
    assert compare("The red fox", "The blue fox") == Differences(
        a=(Piece("The ", False), Piece("red ", True), Piece("fox", False)),
        b=(Piece("The ", False), Piece("blue ", True), Piece("fox", False)),
    )


def test_compare_marks_what_only_one_text_has() -> None:
    assert compare("It is done.", "It is not done.") == Differences(
        a=(Piece("It is done.", False),),
        b=(Piece("It is ", False), Piece("not ", True), Piece("done.", False)),
    )


def test_compare_takes_a_lone_shared_word_between_differences_for_chance() -> None:
    assert compare("Start: one, two; end here.", "Start: three, four; end here.") == Differences(
        a=(Piece("Start: ", False), Piece("one, two", True), Piece("; end here.", False)),
        b=(Piece("Start: ", False), Piece("three, four", True), Piece("; end here.", False)),
    )


def test_compare_reads_scripts_without_spaces_letter_by_letter() -> None:
    assert compare("北京很大", "北京很小") == Differences(
        a=(Piece("北京很", False), Piece("大", True)),
        b=(Piece("北京很", False), Piece("小", True)),
    )


def test_compare_marks_nothing_in_texts_that_differ_in_spaces_alone() -> None:
    assert compare("a  b\nc", "a b c") == Differences((Piece("a  b\nc", False),), (Piece("a b c", False),))


def test_compare_marks_nothing_in_equal_texts() -> None:
    assert compare("Same.", "Same.") == Differences((Piece("Same.", False),), (Piece("Same.", False),))


def test_compare_leaves_very_long_texts_alone() -> None:
    assert compare("a " * MOST_WORDS, "b") is None


def test_compare_of_the_longest_texts_without_a_word_in_common_ends_in_time() -> None:
    half = MOST_WORDS // 2
    a, b = " ".join(f"a{n}" for n in range(half)), " ".join(f"b{n} x" for n in range(half // 2))
    began = time.thread_time()

    found = compare(a, b)

    assert time.thread_time() - began < 2
    assert found == Differences((Piece(a, True),), (Piece(b, True),))


@given(st.text(max_size=60), st.text(max_size=60))
def test_compare_keeps_both_texts_to_the_character(a: str, b: str) -> None:
    found = compare(a, b)

    assert found is not None
    assert ("".join(piece.text for piece in found.a), "".join(piece.text for piece in found.b)) == (a, b)
