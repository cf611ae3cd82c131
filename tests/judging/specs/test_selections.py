"""Parts of a suite: what is named, what is drawn, and what is refused."""

from __future__ import annotations

import pytest

from judging.specs.selections import (
    ALL_CASES,
    CaseSelection,
    SelectionRefused,
    check_names,
    draw_keys,
    names_in,
    selection_from_json,
)

KEYS = [f"case-{number}" for number in range(40)]


def test_draw_keys_keeps_the_order_and_adds_to_a_smaller_draw() -> None:
    five, ten = draw_keys(KEYS, limit=5, seed=3), draw_keys(KEYS, limit=10, seed=3)

    assert (len(five), len(ten), set(five) <= set(ten)) == (5, 10, True)
    assert ten == [key for key in KEYS if key in ten]
    assert draw_keys(reversed(KEYS), limit=5, seed=3) == five[::-1]
    assert draw_keys(KEYS, limit=5, seed=4) != five


def test_draw_keys_takes_all_where_fewer_are_there() -> None:
    assert draw_keys(["b", "a", "b"], limit=5, seed=0) == ["b", "a"]
    assert draw_keys(["b", "a"], limit=None, seed=0) == ["b", "a"]


def test_case_selection_says_what_part_it_is() -> None:
    many = tuple(f"c{number}" for number in range(10))

    assert [ALL_CASES.words, CaseSelection(limit=1, seed=7).words] == ["", "1 case drawn with seed 7"]
    assert (
        CaseSelection(limit=5, scenarios=("write", "code")).words
        == "5 cases drawn with seed 0 of scenarios write, code"
    )
    assert CaseSelection(cases=many).words == "cases c0, c1, c2, c3, c4, c5, c6, c7 and 2 more"


def test_case_selection_says_how_large_its_part_is() -> None:
    drawn = CaseSelection(limit=20, seed=7)
    of_scenario = CaseSelection(limit=5, scenarios=("code",), cases=("a", "b"))

    assert ALL_CASES.part_words(count=300, total=300) == ""
    assert drawn.part_words(count=20, total=300) == "20 of 300 cases, drawn with seed 7"
    assert of_scenario.part_words(count=2, total=300) == "2 of 300 cases, drawn with seed 0, scenario code, among a, b"
    assert CaseSelection(cases=("a",)).part_words(count=1, total=1) == "1 of 1 case, only a"


def test_selection_from_json_reads_back_what_was_stored() -> None:
    stored = CaseSelection(cases=("a",), scenarios=("s",), limit=2, seed=5, drawn=("a",))

    assert selection_from_json(stored.to_json()) == stored
    assert selection_from_json({}) == ALL_CASES


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_case_selection_refuses_a_number_that_cannot_be_drawn(limit: int) -> None:
    with pytest.raises(SelectionRefused, match="Draw 1 to 10,000 cases"):
        CaseSelection(limit=limit)


def test_check_names_says_what_is_missing_and_what_is_close() -> None:
    with pytest.raises(SelectionRefused) as close:
        check_names(["writing", "code"], ["write", "code"], what="scenario", owner="S v1")
    with pytest.raises(SelectionRefused) as far:
        check_names(["xyz"], ["write", "code"], what="scenario", owner="S v1")

    assert str(close.value) == "S v1 has no scenario writing. Did you mean write?"
    assert str(far.value) == "S v1 has no scenario xyz. There are: write, code."


def test_names_in_reads_commas_and_lines_once_each() -> None:
    assert names_in(" a, b\nc,,a\n") == ("a", "b", "c")
