"""The criteria that a rubric's tree offers to a debate: a name and the text of its levels."""

from __future__ import annotations

from collections.abc import Iterator

from debate.protocol.setups import Criterion
from evalsite.base.json_types import JsonObject

OVERALL = "overall"
Tree = JsonObject  # as judging.services.trees writes it


def criteria_in(tree: Tree) -> dict[str, Criterion]:
    """Return the criteria of a tree by name: its dimensions, or the whole tree as `overall` where it has none.

    Levels come from a dimension's anchors, lowest first, or else are its text. Of a tree of levels and checks the
    levels are the checks' texts.
    """
    dimensions = {
        str(node["key"]): Criterion(str(node["key"]), _anchor_texts(node))
        for node in _nodes(tree)
        if node.get("kind") == "dimension"
    }
    return dimensions or {OVERALL: Criterion(OVERALL, _check_texts(tree))}


def _anchor_texts(node: Tree) -> dict[str, str]:
    anchors = sorted(node.get("anchors", ()), key=lambda anchor: (anchor["low"], anchor["high"]))
    if anchors:
        return {_range(anchor["low"], anchor["high"]): str(anchor["text"]) for anchor in anchors}
    return {"meaning": str(node["text"])} if node.get("text", "") not in ("", node["key"]) else {}


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _check_texts(tree: Tree) -> dict[str, str]:
    """Return the texts below a tree: by level where there are levels, else by check."""
    levels = [node for node in _nodes(tree) if node.get("kind") == "level"]
    if levels:
        return {str(level["key"]): "; ".join(_texts(level)) for level in levels}
    return {str(node["key"]): str(node["text"]) for node in _nodes(tree) if node.get("text")}


def _texts(tree: Tree) -> list[str]:
    return [str(node["text"]) for node in _nodes(tree) if node.get("text")]


def _nodes(tree: Tree) -> Iterator[Tree]:
    """Yield a node and everything below it, in the order written."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.get("children", ())))
