"""Rubric trees between dataclasses and the JSON that is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from judging.specs.types import AnchorSpec, JsonObject, NodeSpec, ScaleSpec

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
    if node[_SCALE + 1 :] == _PLAIN_END and node[_TEXT + 1 : _SCALE] == _PLAIN_MIDDLE:
        scale = f',"scale":{_scale_text(node.scale)}' if node.scale is not None else ""
        text = f',"text":{quoted(node.text)}' if node.text else ""
        return f'{{"key":{quoted(node.key)},"kind":{quoted(node.kind)}{scale}{text}}}'
    if node[_TEXT : _SCALE + 2] == _GROUP_MIDDLE and not (node.anchors or node.rules):
        return _group_text(node)
    return _dumped(tree_to_json(node))


_TEXT, _SCALE = NodeSpec._fields.index("text"), NodeSpec._fields.index("scale")
_EMPTY = NodeSpec("", "")
_PLAIN_MIDDLE, _PLAIN_END = _EMPTY[_TEXT + 1 : _SCALE], _EMPTY[_SCALE + 1 :]
_GROUP_MIDDLE = _EMPTY[_TEXT : _SCALE + 2]  # text to value_map


def _group_text(node: NodeSpec) -> str:
    """Return the text of a node that only holds others together."""
    aggregator = f'"aggregator":{_shared_text(node.aggregator)},' if node.aggregator else ""
    children = f'"children":[{",".join([tree_text(child) for child in node.children])}],' if node.children else ""
    return f'{{{aggregator}{children}"key":{quoted(node.key)},"kind":{quoted(node.kind)}}}'


_shared: dict[int, tuple[JsonObject, str]] = {}  # by identity; holding the object keeps the identity its own


def _shared_text(value: JsonObject) -> str:
    """Return the text of a mapping that many nodes share, written once."""
    known = _shared.get(id(value))
    if known is None:
        if len(_shared) >= MOST_SHARED:
            _shared.clear()
        known = _shared[id(value)] = (value, _dumped(_listed(value)))
    return known[1]


def _dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@lru_cache(maxsize=256)  # most nodes of a rubric share one scale
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
