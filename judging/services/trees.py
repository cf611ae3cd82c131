"""Converts rubric trees between dataclasses and the JSON that is stored."""

from __future__ import annotations

import json
from dataclasses import fields

from evalsite.base.json_types import JsonDict
from judging.llm.identity import canonical_json
from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

_DEFAULTS = NodeSpec._field_defaults
_SCALE_FIELDS = tuple(field.name for field in fields(ScaleSpec))
_ANCHOR_FIELDS = tuple(field.name for field in fields(AnchorSpec))


def tree_text(node: NodeSpec) -> str:
    """Return a node and everything below it as one canonical JSON text; fields at their default are left out.

    It is what is hashed and what is stored.

    Raises:
        ValueError: a number in the tree is not finite.
    """
    return canonical_json(_tree(node)).decode()


def tree_to_json(node: NodeSpec) -> JsonDict:
    """Return a tree as a database gives it back: what JSON makes of `tree_text`."""
    data: JsonDict = json.loads(tree_text(node))
    return data


def _tree(node: NodeSpec) -> JsonDict:
    data = {name: value for name, value in node._asdict().items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    if node.scale is not None:
        data["scale"] = {name: getattr(node.scale, name) for name in _SCALE_FIELDS}
    if node.anchors:
        data["anchors"] = [{name: getattr(anchor, name) for name in _ANCHOR_FIELDS} for anchor in node.anchors]
    if node.children:
        data["children"] = [_tree(child) for child in node.children]
    return data


def tree_from_json(data: JsonDict) -> NodeSpec:
    """Return the node that `tree_to_json` wrote.

    Raises:
        TypeError: the data holds fields that a node does not have.
    """
    fields = dict(data)
    scale = fields.pop("scale", None)
    return NodeSpec(
        scale=ScaleSpec(**{**scale, "labels": tuple(scale.get("labels", ()))}) if scale else None,
        anchors=tuple(AnchorSpec(**anchor) for anchor in fields.pop("anchors", ())),
        children=tuple(tree_from_json(child) for child in fields.pop("children", ())),
        tags=tuple(fields.pop("tags", ())),
        rules=tuple(fields.pop("rules", ())),
        **fields,
    )
