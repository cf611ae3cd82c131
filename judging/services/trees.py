"""Rubric trees between dataclasses and the JSON that is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

MOST_SHARED = 256

_FIELDS = tuple(sorted(name for name in NodeSpec._fields if name not in ("key", "kind")))
_DEFAULTS = NodeSpec._field_defaults
_SCALE_FIELDS = tuple(field.name for field in fields(ScaleSpec) if field.name != "labels")
_ANCHOR_FIELDS = tuple(field.name for field in fields(AnchorSpec))
quoted = json.encoder.encode_basestring_ascii


def tree_to_json(node: NodeSpec) -> dict[str, Any]:
    """Return a node and everything below it as JSON-like data; fields at their default are left out."""
    found: dict[str, Any] = {"key": node.key, "kind": node.kind}
    for name in _FIELDS:
        value = getattr(node, name)
        if value != _DEFAULTS[name]:
            found[name] = _AS_JSON.get(name, _listed)(value)
    return found


def tree_text(node: NodeSpec) -> str:
    """Return `tree_to_json` as one canonical JSON text: sorted keys, no spaces, ASCII only.

    It is what is hashed and what is stored. A workbook of 100,000 rows has a million nodes, of which most are a
    criterion with a text and a scale: those are written out here.

    Raises:
        ValueError: a number in the tree is not finite.
    """
    if node[_AFTER_SCALE] == _PLAIN_END and node[_BEFORE_SCALE] == _PLAIN_MIDDLE:
        scale = f',"scale":{_known_text(node.scale, _scale_text)}' if node.scale is not None else ""
        text = f',"text":{quoted(node.text)}' if node.text else ""
        return f'{{"key":{quoted(node.key)},"kind":{quoted(node.kind)}{scale}{text}}}'
    if node[_GROUP_FIELDS] == _GROUP_MIDDLE and not (node.anchors or node.rules):
        return _group_text(node)
    return _dumped(tree_to_json(node))


_TEXT, _SCALE = NodeSpec._fields.index("text"), NodeSpec._fields.index("scale")
_BEFORE_SCALE, _AFTER_SCALE = slice(_TEXT + 1, _SCALE), slice(_SCALE + 1, None)
_GROUP_FIELDS = slice(_TEXT, _SCALE + 2)  # text to value_map
_EMPTY = NodeSpec("", "")
_PLAIN_MIDDLE, _PLAIN_END = _EMPTY[_BEFORE_SCALE], _EMPTY[_AFTER_SCALE]
_GROUP_MIDDLE = _EMPTY[_GROUP_FIELDS]


def _group_text(node: NodeSpec) -> str:
    """Return the text of a node that only holds others together."""
    aggregator = f'"aggregator":{_known_text(node.aggregator, _mapping_text)},' if node.aggregator else ""
    children = f'"children":[{",".join(map(tree_text, node.children))}],' if node.children else ""
    return f'{{{aggregator}{children}"key":{quoted(node.key)},"kind":{quoted(node.kind)}}}'


# By identity; holding the object keeps the identity its own.
_known: dict[int, tuple[Any, str]] = {}


def _known_text(value: Any, as_text: Callable[[Any], str]) -> str:
    """Return the text of a scale or a mapping that many nodes share, written once."""
    known = _known.get(id(value))
    if known is None:
        if len(_known) >= MOST_SHARED:
            _known.clear()
        known = _known[id(value)] = (value, as_text(value))
    return known[1]


def _dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _mapping_text(value: Any) -> str:
    return _dumped(_listed(value))


@lru_cache(maxsize=256)  # some readers make an equal scale for each node
def _scale_text(scale: ScaleSpec) -> str:
    return _dumped(_scale_json(scale))


def _scale_json(scale: ScaleSpec) -> dict[str, Any]:
    return {**{name: _whole(getattr(scale, name)) for name in _SCALE_FIELDS}, "labels": list(scale.labels)}


def _listed(value: Any) -> Any:
    """Return JSON-like data as a database gives it back: lists, no tuples, keys as text."""
    if type(value) is str or type(value) is int:
        return value
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if hasattr(value, "items"):
        return {str(key): _listed(item) for key, item in value.items()}
    return _whole(value)


def _whole(value: Any) -> Any:
    """Return 1.0 as 1: equal numbers are written alike, whichever format they came from."""
    return int(value) if type(value) is float and value.is_integer() else value


def _anchors_json(anchors: tuple[AnchorSpec, ...]) -> list[dict[str, Any]]:
    return [{name: _whole(getattr(anchor, name)) for name in _ANCHOR_FIELDS} for anchor in anchors]


_AS_JSON: dict[str, Callable[[Any], Any]] = {
    "scale": _scale_json,
    "anchors": _anchors_json,
    "children": lambda children: [tree_to_json(child) for child in children],
}


def tree_from_json(data: dict[str, Any]) -> NodeSpec:
    """Return the node that `tree_to_json` wrote.

    Raises:
        TypeError: the data holds fields that a node does not have.
    """
    given = dict(data)
    scale = given.pop("scale", None)
    return NodeSpec(
        scale=ScaleSpec(**{**scale, "labels": tuple(scale.get("labels", ()))}) if scale else None,
        anchors=tuple(AnchorSpec(**anchor) for anchor in given.pop("anchors", ())),
        children=tuple(tree_from_json(child) for child in given.pop("children", ())),
        tags=tuple(given.pop("tags", ())),
        rules=tuple(given.pop("rules", ())),
        **given,
    )
