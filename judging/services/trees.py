"""Rubric trees between dataclasses and the JSON that is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

# A workbook of 100,000 rows holds a million nodes: each field is read once and compared with its default.
_SIMPLE = tuple(
    (field.name, field.default)
    for field in fields(NodeSpec)
    if field.default is not MISSING and field.name not in ("text", "scale", "tags", "anchors", "rules", "children")
)
_simple_values = attrgetter(*(name for name, _ in _SIMPLE))
_SIMPLE_DEFAULTS = tuple(default for _, default in _SIMPLE)
_SCALE_FIELDS = tuple(field.name for field in fields(ScaleSpec) if field.name != "labels")
_ANCHOR_FIELDS = tuple(field.name for field in fields(AnchorSpec))


def tree_to_json(node: NodeSpec) -> dict[str, Any]:
    """Return a node and everything below it as JSON-like data; fields at their default are left out."""
    found: dict[str, Any] = {"key": node.key, "kind": node.kind}
    if node.text:
        found["text"] = node.text
    simple = _simple_values(node)
    if simple != _SIMPLE_DEFAULTS:
        for (name, default), value in zip(_SIMPLE, simple, strict=True):
            if value != default:
                found[name] = _whole(value)
    if node.scale is not None:
        found["scale"] = dict(_scale_json(node.scale))
    for (name, plain), value in zip(_COMPOUND, _compound_values(node), strict=True):
        if value:
            found[name] = plain(value)
    return found


@lru_cache(maxsize=256)  # most nodes of a rubric share one scale
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


_COMPOUND: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("value_map", _listed),
    ("aggregator", _listed),
    ("tags", list),
    ("anchors", _anchors_json),
    ("rules", _listed),
    ("children", lambda children: [tree_to_json(child) for child in children]),
)
_compound_values = attrgetter(*(name for name, _ in _COMPOUND))


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
