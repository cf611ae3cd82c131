"""Criteria as people write them by hand: a list of names, each with a description, a weight and a scale.

criteria:
- {name: correct, description: Answers the question correctly, weight: 2, scale: 1-5}
- {name: tone, scale: [rude, neutral, friendly]}
- {name: depth, scale: {1: shallow, 3: fair, 5: deep}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from judging.specs.rubrics.nested_nodes import BadNode
from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

NAMES = ("name", "criterion", "title", "key")
TEXTS = ("description", "text", "definition")
_RANGE = re.compile(r"\s*(-?\d{1,3})\s*(?:-|\u2013|\.\.|to)\s*(-?\d{1,3})\s*")
_HOW = "Write a range such as 1-5, a list of words from worst to best, or a text for each number."


def criteria_tree(entries: Sequence[object], location: str) -> NodeSpec:
    """Return a root with one node per criterion; its mean is weighted where any has a weight.

    Raises:
        BadNode: an entry has no name of its own, or a scale or weight that cannot be read.
    """
    if not entries:
        raise BadNode(location, "The list of criteria is empty.")
    nodes = [_criterion(entry, f"{location}[{index}]") for index, entry in enumerate(entries)]
    keys = [node.key for node in nodes]
    repeated_key = next((key for key in keys if keys.count(key) > 1), None)
    if repeated_key is not None:
        raise BadNode(location, "Every criterion needs a name of its own.", repeated_key)
    is_weighted = any(isinstance(entry, Mapping) and "weight" in entry for entry in entries)
    return NodeSpec(
        "root", "group", aggregator={"type": "weighted_mean" if is_weighted else "mean"}, children=tuple(nodes)
    )


def _criterion(entry: object, location: str) -> NodeSpec:
    if isinstance(entry, str) and entry.strip():
        entry = {"name": entry}
    if not isinstance(entry, Mapping):
        raise BadNode(location, "A criterion is a name, or a mapping with `name` and `scale`.", str(entry)[:80])
    key = next((str(entry[name]).strip() for name in NAMES if entry.get(name) not in (None, "")), "")
    if not key or key == "root":
        raise BadNode(location, "A criterion needs a `name`.", ", ".join(map(str, entry))[:80])
    weight = entry.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
        raise BadNode(f"{location}.weight", "A weight is a number from 0.", str(weight)[:80])
    text = next((str(entry[name]) for name in TEXTS if entry.get(name)), key)
    node = NodeSpec(key, "dimension", text=text, weight=float(weight))
    return _scaled(node, entry.get("scale"), f"{location}.scale")


def _scaled(node: NodeSpec, scale: object, location: str) -> NodeSpec:
    """Return the criterion with its scale, anchors and values."""
    if scale is None:
        return node._replace(scale=ScaleSpec("ordinal", 1, 5, 1))
    if isinstance(scale, Mapping) and set(scale) == {"min", "max"}:
        scale = [scale["min"], scale["max"]]
    if isinstance(scale, Mapping):
        return _anchored(node, scale, location)
    words = scale if isinstance(scale, list) else []
    if len(words) > 1 and all(isinstance(word, str) for word in words) and len(set(words)) == len(words):
        steps = {word: index / (len(words) - 1) for index, word in enumerate(words)}
        return node._replace(scale=ScaleSpec("nominal", labels=tuple(words)), value_map=steps)
    low, high = _ends(scale, location)
    return node._replace(scale=ScaleSpec("ordinal", low, high, 1))


def _ends(scale: Any, location: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(scale) if isinstance(scale, str) else None
    ends = [int(match[1]), int(match[2])] if match else scale
    is_range = isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)
    if not is_range or not ends[0] < ends[1]:
        raise BadNode(location, f"The scale cannot be read. {_HOW}", str(scale)[:80])
    return ends[0], ends[1]


def _anchored(node: NodeSpec, scale: Mapping[Any, Any], location: str) -> NodeSpec:
    values = [str(value) for value in scale]
    is_read = len(values) > 1 and all(re.fullmatch(r"-?\d{1,3}", value) for value in values)
    if not is_read or not all(isinstance(text, str) for text in scale.values()):
        raise BadNode(location, f"The scale cannot be read. {_HOW}", ", ".join(values)[:80])
    texts = {int(value): text for value, text in scale.items()}
    anchors = tuple(AnchorSpec(value, value, texts[value]) for value in sorted(texts))
    return node._replace(scale=ScaleSpec("ordinal", min(texts), max(texts), 1), anchors=anchors)
