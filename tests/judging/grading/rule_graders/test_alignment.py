"""The alignment against a direct transcription of its definition."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.grading.rule_graders import alignment
from judging.grading.rule_graders.alignment import Alignment, align, align_many


def define(template: str, response: str) -> Alignment:
    """Return the alignment cell by cell, as the definition in the module's docstring reads."""
    columns = len(response)
    f = [[0] * columns for _ in template]
    s = [[0] * columns for _ in template]
    for i, template_character in enumerate(template):
        for j, response_character in enumerate(response):
            if template_character == response_character:
                f[i][j], s[i][j] = (f[i - 1][j - 1] if i and j else 0) + 1, j
            elif i and j:
                f[i][j], s[i][j] = max((f[i][j - 1], s[i][j - 1]), (f[i - 1][j], s[i - 1][j]))
    positions = [0] * len(template)
    position = s[-1][-1]
    for i in range(len(template) - 1, -1, -1):
        if template[i] == response[position]:
            positions[i] = position
            position = s[i - 1][position - 1] if i else position
        else:
            positions[i] = position + 1
    return Alignment(f[-1][-1], tuple(positions))


TEXTS = st.text(alphabet="ab[] é\U0001f600\0", min_size=1, max_size=30)
WORDS = st.lists(st.sampled_from(["call", "the", "method", "[blank]", "a", "to", "set,"]), min_size=1, max_size=40).map(
    " ".join
)


@pytest.mark.parametrize("narrow_below", [0, alignment.NARROW_BELOW])  # keys this small fit 32 bits otherwise
@pytest.mark.parametrize("deep_from", [1, alignment.DEEP_FROM])  # texts this short are kept flat otherwise
@given(template=TEXTS, responses=st.lists(TEXTS, min_size=1, max_size=4))
def test_align_many_follows_the_definition(
    deep_from: int, narrow_below: int, template: str, responses: list[str]
) -> None:
    with patch.multiple(alignment, DEEP_FROM=deep_from, NARROW_BELOW=narrow_below):
        assert align_many(template, responses) == [define(template, response) for response in responses]


@settings(max_examples=40, deadline=None)
@given(template=WORDS, responses=st.lists(WORDS, min_size=1, max_size=6))
def test_align_many_follows_the_definition_below_the_rows_that_fall(template: str, responses: list[str]) -> None:
    assert align_many(template, responses) == [define(template, response) for response in responses]


def test_align_does_not_inherit_along_the_border() -> None:
    # row 0 of "ab" in "ab b": 1 0 0 0; the last b restarts from f(0, 2) = 0, so the length falls back to 1
    assert align("ab", "ab b").length == 1


def test_align_prefers_the_later_of_equal_matches() -> None:
    # "x" and "y" both give length 2 with the "a"; on the tie the later response index wins
    assert align("axy", "ayx") == define("axy", "ayx")
    assert align("axy", "ayx").positions == (0, 2, 3)


def test_align_wraps_to_the_last_column_when_it_walks_off_the_front() -> None:
    # "c" matches at 1, "b" at 0; from there the walk looks at s(0, -1), the last column, where "x" matches at 2
    assert align("xbc", "bcx").positions == (2, 0, 1)
