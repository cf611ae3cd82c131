"""A level rubric's items as people answer them, and the score that they come to."""

from __future__ import annotations

import pytest

from evalsite.review.level_items import ItemsOpen, LevelItem, level_items, level_label, read_items, words_of_items
from evalsite.review.scales import JUDGEMENT, scale_of
from judging.specs.types import NodeSpec, ScaleSpec

pytestmark = pytest.mark.backend_free


def check(key: str) -> NodeSpec:
    return NodeSpec(key, "check", text=f"Item {key}.", scale=ScaleSpec("boolean"))


TREE = NodeSpec(
    "root",
    "group",
    aggregator={"type": "cascade", "clip": [0, 100]},
    children=(
        NodeSpec("100", "level", children=(check("100.1"),)),
        NodeSpec("50", "level", children=(check("50.1"), check("50.2"))),
        NodeSpec("25", "level", children=(check("25.1"),)),
    ),
)
ITEMS = level_items(TREE, scale_of(TREE))


def test_level_items_are_those_of_a_level_rubric_on_its_own_scale() -> None:
    assert (
        LevelItem("100.1", "100", "Item 100.1."),
        LevelItem("50.1", "50", "Item 50.1."),
        LevelItem("50.2", "50", "Item 50.2."),
        LevelItem("25.1", "25", "Item 25.1."),
    ) == ITEMS
    assert level_items(TREE, JUDGEMENT) == ()
    assert level_items(NodeSpec("root", "group", children=TREE.children), scale_of(TREE)) == ()
    assert level_items(None, JUDGEMENT) == ()


@pytest.mark.parametrize(
    ("met", "label"),
    [
        ((), "0"),
        (("25.1",), "25"),
        (("50.1", "25.1"), "50"),  # a lower level adds nothing
        (("50.1", "50.2"), "100"),  # 2 x 50
        (("100.1",), "100"),
    ],
)
def test_level_label_is_the_score_of_the_highest_level_met(met: tuple[str, ...], label: str) -> None:
    said = {item.key: "met" if item.key in met else "not met" for item in ITEMS}

    assert level_label(TREE, read_items(ITEMS, said)) == label


@pytest.mark.parametrize("said", [{}, {"100.1": "met", "50.1": "perhaps", "50.2": "met", "25.1": "met"}])
def test_read_items_wants_a_word_on_each(said: dict[str, str]) -> None:
    with pytest.raises(ItemsOpen, match=r"Say of each item whether it is met: .*50\.1"):
        read_items(ITEMS, said)


def test_words_of_items_name_what_is_met_and_what_is_not() -> None:
    assert words_of_items({"100.1": False, "50.1": True, "50.2": True}) == "Met: 50.1, 50.2; Not met: 100.1"
    assert words_of_items({}) == ""
