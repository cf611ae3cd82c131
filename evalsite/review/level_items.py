"""The items of a level rubric as people answer them, each met or not met, and the score that they come to. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsite.review.scales import Label
from judging.grading.cascade import CascadeOptions, with_cascade_options
from judging.grading.rubric_tree import score_tree
from judging.specs.types import NodeSpec

MET, NOT_MET = "met", "not met"
PREFIX = "part-"  # of the fields that hold them in forms and drafts


class ItemsOpen(ValueError):
    """Of some items nobody has said whether they are met; the message names them."""


@dataclass(frozen=True, slots=True)
class LevelItem:
    """One item of a level rubric; `level` is what its level is worth."""

    key: str  # "50.1"
    level: str
    text: str

    @property
    def field(self) -> str:
        """The name of its field in forms and drafts."""
        return f"{PREFIX}{self.key}"


def level_items(tree: NodeSpec | None, labels: Sequence[Label]) -> tuple[LevelItem, ...]:
    """Return the items that people decide on, as the rubric has them; none where its scale is not the levels' scores.

    Subjects of earlier versions have other scales; people answer those with a label.
    """
    if tree is None or tree.aggregator.get("type") != "cascade" or any(label.share is None for label in labels):
        return ()
    if not {"0", "100"} <= {label.value for label in labels}:
        return ()
    levels = [level for level in tree.children if level.kind == "level"]
    return tuple(LevelItem(item.key, level.key, item.text) for level in levels for item in level.children)


def read_items(items: Sequence[LevelItem], said: Mapping[str, str]) -> dict[str, bool]:
    """Return key -> met from what a person said, "met" or "not met" by key.

    Raises:
        ItemsOpen: an item is left out, or something else is said of it.
    """
    left = [item.key for item in items if said.get(item.key) not in (MET, NOT_MET)]
    if left:
        raise ItemsOpen(f"Say of each item whether it is met: {', '.join(left)}.")
    return {item.key: said[item.key] == MET for item in items}


def level_label(tree: NodeSpec, met: Mapping[str, bool]) -> str:
    """Return the score of 0 to 100 as a label, computed as an itemised judge's is with the documented options."""
    score = score_tree(with_cascade_options(tree, CascadeOptions()), met).score
    if score is None:
        raise ItemsOpen("The rubric's items do not come to a score.")
    return str(int(score))


def words_of_items(met: Mapping[str, bool]) -> str:
    """Return which items were met and which not, lower levels first, "" for an answer without them."""
    keys_in_order = sorted(met, key=lambda key: [(len(part), part) for part in key.split(".")])
    found = ((word, [key for key in keys_in_order if met[key] is wanted]) for word, wanted in WORDS)
    return "; ".join(f"{word}: {', '.join(keys)}" for word, keys in found if keys)


WORDS = (("Met", True), ("Not met", False))
