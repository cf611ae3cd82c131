"""What templates may say of a rubric's criteria. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evalsite.base.json_types import JsonDict
from judging.grading.rubric_tree import is_scored_leaf, walk
from judging.judges.kinds.generic import scale_words
from judging.specs.types import NodeSpec


def criteria_of(tree: NodeSpec) -> Iterator[JsonDict]:
    """Yield what templates may say of each criterion of a rubric."""
    levels = {child.key: level.key for level in tree.children if level.kind == "level" for child in level.children}
    for node in walk(tree):
        if is_scored_leaf(node):
            yield {
                "key": node.key,
                "text": node.text,
                "level": levels.get(node.key, ""),
                "points": "" if node.points is None else f"{node.points:g}",
                "scale": scale_words(node.scale),
                "anchors": [{"value": anchor.range_words, "text": anchor.text} for anchor in node.anchors],
            }
