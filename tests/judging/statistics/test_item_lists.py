"""The items behind each figure, worked out by hand."""

from __future__ import annotations

import pytest

from judging.statistics.ratings import (
    AnswerRows,
    Cell,
    Events,
    Grouping,
    NoSuchCell,
    from_rows,
    items_of_cell,
    pack,
    pair_counts,
    rows_of_table,
    unpack,
)

#        ann  ben  cat
TABLE: list[list[str | None]] = [
    ["a", "a", "a"],  # 10: all agree
    ["a", "b", "a"],  # 20: two of three pairs differ
    ["a", "b", None],  # 30: all pairs differ
    ["b", None, None],  # 40: one answer
]


@pytest.fixture
def rows() -> AnswerRows:
    table = from_rows(TABLE, ["a", "b"], raters=["ann", "ben", "cat"], items=["10", "20", "30", "40"])
    groups = {"criterion": Grouping.of(["clarity", "clarity", "depth", ""])}
    events = {"skipped": Events.of([(20, "ann"), (50, "ben"), (50, "ann")])}
    return rows_of_table(table, groups=groups, events=events)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (Cell("answers"), {30: 2, 20: 3, 10: 3, 40: 1}),
        (Cell("single"), {40: 1}),
        (Cell("pairable"), {30: 1, 20: 1, 10: 1}),
        (Cell("unanimous"), {10: 1}),
        (Cell("no-majority"), {30: 1}),
        (Cell("disputed"), {30: 1, 20: 1}),
        (Cell("disputed", by="criterion", name="clarity"), {20: 1}),
        (Cell("answers", by="criterion", name=""), {40: 1}),
        (Cell("person", first="cat"), {20: 1, 10: 1}),
        (Cell("pair", first="ann", second="cat"), {20: 1, 10: 1}),
        (Cell("pair", first="ann", second="ben", one="a", other="b"), {30: 1, 20: 1}),
        (Cell("pair-differs", first="ben", second="cat"), {20: 1}),
        # ordered pairs: 3 x 2 on item 10, 2 x 1 on item 20; item 30 has one answer a only
        (Cell("together", one="a", other="a"), {20: 2, 10: 6}),
        (Cell("together", one="b", other="a"), {30: 1, 20: 2}),
        # of ben's items, the others have a majority on all three; of cat's, ann and ben tie on item 20
        (Cell("rest", first="ben"), {30: 1, 20: 1, 10: 1}),
        (Cell("rest-differs", first="ben"), {30: 1, 20: 1}),
        (Cell("rest", first="cat"), {10: 1}),
        (Cell("skipped"), {20: 1, 50: 2}),
        (Cell("skipped", first="ann"), {20: 1, 50: 1}),
    ],
)
def test_items_of_a_cell_are_the_disputed_ones_first(rows: AnswerRows, cell: Cell, expected: dict[int, int]) -> None:
    items, weights = items_of_cell(rows, cell)

    assert list(zip(items.tolist(), weights.tolist(), strict=True)) == list(expected.items())


@pytest.mark.parametrize(
    "cell",
    [
        Cell("everything"),
        Cell("person", first="dan"),
        Cell("pair", first="ann", second="ben", one="c"),
        Cell("pairable", by="criterion", name="breadth"),
        Cell("pairable", by="colour", name="red"),
    ],
)
def test_items_behind_refuses_a_cell_that_is_not_there(rows: AnswerRows, cell: Cell) -> None:
    with pytest.raises(NoSuchCell):
        items_of_cell(rows, cell)


def test_pair_counts_are_a_confusion_matrix(rows: AnswerRows) -> None:
    assert pair_counts(rows, "ann", "ben").tolist() == [[1, 2], [0, 0]]


def test_unpack_returns_what_was_packed(rows: AnswerRows) -> None:
    unpacked = unpack(pack(rows))

    assert (unpacked.items.tolist(), unpacked.raters, unpacked.labels) == (
        [10, 20, 30, 40],
        ("ann", "ben", "cat"),
        ("a", "b"),
    )
    assert unpacked.answers_of([20, 40, 50]) == {
        20: [("ann", "a"), ("ben", "b"), ("cat", "a")],
        40: [("ann", "b")],
        50: [],
    }
    assert (unpacked.groups["criterion"].names, unpacked.groups["criterion"].codes.tolist()) == (
        ("", "clarity", "depth"),
        [1, 1, 2, 0],
    )
    assert (unpacked.events["skipped"].items.tolist(), unpacked.events["skipped"].people) == (
        [20, 50, 50],
        ("ann", "ben", "ann"),
    )


def test_a_report_without_answers_has_empty_lists() -> None:
    table = from_rows([], ["a", "b"], raters=[], items=[])
    unpacked = unpack(pack(rows_of_table(table, groups={}, events={"skipped": Events.of([(7, "ann")])})))

    assert [part.tolist() for part in items_of_cell(unpacked, Cell("pairable"))] == [[], []]
    assert [part.tolist() for part in items_of_cell(unpacked, Cell("skipped"))] == [[7], [1]]
