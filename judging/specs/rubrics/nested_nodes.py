"""Nodes of a rubric's tree from plain JSON data, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.base.json_types import JsonObject
from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

KINDS = ("group", "level", "dimension", "check")
SCALE_KINDS = ("boolean", "ordinal", "numeric", "nominal")
AGGREGATORS = (
    "cascade",
    "any",
    "all",
    "count_times",
    "sum_over",
    "weighted_mean",
    "points_over_positive",
    "mean",
)
FACTS = ("has_context",)  # what rules may ask for beside verdicts
RULE_ACTIONS = ("set", "cap", "force_root")
MAX_DEPTH = 40
MAX_NODES = 20_000
BOOLEAN = ScaleSpec("boolean")


@dataclass(eq=False)
class BadNode(ValueError):
    """The data at `location` is not a rubric; the message is written for the file's author."""

    location: str
    message: str
    offending: str = ""

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


def nested_tree(entry: JsonObject, location: str, depth: int = 0) -> NodeSpec:
    """Return the node that a mapping with `children` describes.

    Raises:
        BadNode: a field is missing or of the wrong kind, a key is repeated, or the tree is too deep.
    """
    root = _nested(entry, location, depth)
    _check_unique(root)
    return root


def _nested(entry: JsonObject, location: str, depth: int) -> NodeSpec:
    if depth > MAX_DEPTH:
        raise BadNode(location, f"The tree is deeper than {MAX_DEPTH} levels.")
    children = entry.get("children") or ()
    if not isinstance(children, (list, tuple)):
        raise BadNode(f"{location}.children", "Children are a list.")
    parts = []
    for index, child in enumerate(children):
        child_location = f"{location}.children[{index}]"
        if not isinstance(child, Mapping):
            raise BadNode(child_location, "A node is a mapping.", str(child)[:80])
        parts.append(_nested(child, child_location, depth + 1))
    return _node(entry, tuple(parts), location)


def linked_tree(entry: JsonObject, location: str) -> NodeSpec:
    """Return the tree of a node list in which each node names its `parent`; exactly one has none.

    Raises:
        BadNode: no root or several, an unknown parent, a circle, or a bad field.
    """
    nodes_location = f"{location}.nodes" if location else "nodes"
    nodes = entry["nodes"]
    by_parent: dict[str, list[tuple[str, JsonObject]]] = {}
    ids: set[str] = set()
    for index, node in enumerate(nodes):
        node_location = f"{nodes_location}[{index}]"
        if not isinstance(node, Mapping) or not str(node.get("id", "")):
            raise BadNode(node_location, "A node is a mapping with an `id`.", str(node)[:80])
        if str(node["id"]) in ids:
            raise BadNode(node_location, "The id of a node is repeated.", str(node["id"]))
        ids.add(str(node["id"]))
        by_parent.setdefault(str(node.get("parent") or ""), []).append((node_location, node))
    roots = by_parent.get("", [])
    if len(roots) != 1:
        raise BadNode(nodes_location, f"Exactly one node has no parent; found {len(roots)}.")
    unknown = set(by_parent) - ids - {""}
    if unknown:
        raise BadNode(nodes_location, "A node names a parent that does not exist.", min(unknown))
    root = _link(roots[0], by_parent, _rules(entry.get("rules"), location), 0)
    if _count(root) != len(nodes):
        raise BadNode(nodes_location, "Some nodes form a circle and cannot be reached from the root.")
    return root


def _link(
    located_node: tuple[str, JsonObject],
    by_parent: Mapping[str, list[tuple[str, JsonObject]]],
    rules: tuple[JsonObject, ...],
    depth: int,
) -> NodeSpec:
    location, node = located_node
    if depth > MAX_DEPTH:
        raise BadNode(location, f"The tree is deeper than {MAX_DEPTH} levels.")
    below = sorted(by_parent.get(str(node["id"]), []), key=lambda pair: pair[1].get("order", 0))
    children = tuple(_link(child, by_parent, (), depth + 1) for child in below)
    return _node({**node, "key": node["id"], **({"rules": rules} if rules else {})}, children, location)


def requirement_tree(entry: JsonObject, location: str, depth: int = 0) -> NodeSpec:
    """Return a weighted tree of requirements: `requirements`, `weight`, `sub_tasks`, leaves with `task_category`."""
    root = _requirement(entry, location, depth)
    _check_unique(root)
    return root


def _requirement(entry: object, location: str, depth: int) -> NodeSpec:
    if not isinstance(entry, Mapping) or depth > MAX_DEPTH:
        raise BadNode(location, "A sub-task is a mapping, nested at most 40 deep.", str(entry)[:80])
    tasks = entry.get("sub_tasks") or []
    if not isinstance(tasks, list):
        raise BadNode(f"{location}.sub_tasks", "Sub-tasks are a list.")
    children = tuple(_requirement(task, f"{location}.sub_tasks[{i}]", depth + 1) for i, task in enumerate(tasks))
    category = entry.get("task_category")
    return NodeSpec(
        str(entry.get("id") or ("root" if depth == 0 else location)),
        "group" if children else "check",
        text=str(entry.get("requirements", "")),
        weight=_number(entry, "weight", location, default=1.0, low=0.0),
        tags=(str(category),) if category else (),
        scale=None if children else BOOLEAN,
        aggregator={"type": "weighted_mean"} if children else {},
        children=children,
    )


def _node(entry: JsonObject, children: tuple[NodeSpec, ...], location: str) -> NodeSpec:
    kind = str(entry.get("kind", "group" if children else "check"))
    if kind not in KINDS:
        raise BadNode(f"{location}.kind", f"A kind is one of {', '.join(KINDS)}.", kind)
    key = str(entry.get("key") or entry.get("id") or "")
    if not key:
        raise BadNode(location, "A node needs a key.")
    points = entry.get("points")
    scale = _scale(entry.get("scale"), f"{location}.scale")
    if scale is None and kind == "check":
        scale = BOOLEAN
    return NodeSpec(
        key=key,
        kind=kind,
        text=str(entry.get("text", "")),
        role=_choice(entry, "role", ("scored", "guidance"), location),
        source=_choice(entry, "source", ("rater", "computed"), location),
        weight=_number(entry, "weight", location, default=1.0, low=None),
        points=None if points is None else _number(entry, "points", location, default=0.0, low=None),
        tags=tuple(map(str, entry.get("tags") or ())),
        scale=scale,
        value_map=entry["value_map"] if isinstance(entry.get("value_map"), Mapping) else {},
        aggregator=_aggregator(entry.get("aggregator", entry.get("agg")), children, location),
        anchors=_anchors(entry.get("anchors"), f"{location}.anchors"),
        rules=_rules(entry.get("rules"), location),
        children=children,
    )


def _choice(entry: JsonObject, name: str, allowed: Sequence[str], location: str) -> str:
    value = str(entry.get(name) or allowed[0])
    if value not in allowed:
        raise BadNode(f"{location}.{name}", f"The value is one of {', '.join(allowed)}.", value)
    return value


def _number(entry: JsonObject, name: str, location: str, *, default: float, low: float | None) -> float:
    value = entry.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (low is not None and value < low):
        raise BadNode(
            f"{location}.{name}", "A number is needed here" + (" of at least 0." if low == 0 else "."), str(value)
        )
    return float(value)


def _aggregator(data: object, children: tuple[NodeSpec, ...], location: str) -> JsonObject:
    if data is None:
        return {"type": "mean"} if children else {}
    if not isinstance(data, Mapping) or data.get("type") not in AGGREGATORS:
        shown = str(data.get("type") if isinstance(data, Mapping) else data)
        raise BadNode(f"{location}.aggregator", f"The type is one of {', '.join(AGGREGATORS)}.", shown)
    return data


def _scale(data: object, location: str) -> ScaleSpec | None:
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise BadNode(location, "A scale is a mapping with `kind`.", str(data)[:80])
    kind = str(data.get("kind", data.get("type", "")))
    if kind not in SCALE_KINDS:
        raise BadNode(location, f"The kind is one of {', '.join(SCALE_KINDS)}.", kind)
    bounds = [
        data.get(long, data.get(short)) for long, short in (("minimum", "min"), ("maximum", "max"), ("step", "step"))
    ]
    for value in bounds:
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise BadNode(location, "The bounds of a scale are numbers.", str(value))
    labels = tuple(map(str, data.get("labels") or ()))
    if kind == "nominal" and not labels:
        raise BadNode(location, "A nominal scale needs labels.")
    return ScaleSpec(kind, bounds[0], bounds[1], bounds[2], labels)


def _anchors(data: Any, location: str) -> tuple[AnchorSpec, ...]:
    anchors = []
    for index, anchor in enumerate(data or ()):
        if not isinstance(anchor, Mapping):
            raise BadNode(f"{location}[{index}]", "An anchor is a mapping.", str(anchor)[:80])
        low = anchor.get("low", anchor.get("from", anchor.get("value")))
        high = anchor.get("high", anchor.get("to", low))
        if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
            raise BadNode(f"{location}[{index}]", "An anchor needs a value, or from and to.", str(anchor)[:80])
        anchors.append(AnchorSpec(low, high, str(anchor.get("text", "")), str(anchor.get("variant", ""))))
    return tuple(anchors)


def _rules(data: Any, location: str) -> tuple[JsonObject, ...]:
    for index, rule in enumerate(data or ()):
        if (
            not isinstance(rule, Mapping)
            or rule.get("do") not in RULE_ACTIONS
            or not isinstance(rule.get("if"), Mapping)
        ):
            raise BadNode(
                f"{location}.rules[{index}]", "A rule has `if` and `do`: set, cap or force_root.", str(rule)[:80]
            )
        if "fact" in rule["if"] and rule["if"]["fact"] not in FACTS:
            message = f"A rule can ask for {' or '.join(FACTS)} only; nothing else is known about a response."
            raise BadNode(f"{location}.rules[{index}].if.fact", message, str(rule["if"]["fact"])[:80])
        if isinstance(rule.get("to"), bool) or not isinstance(rule.get("to"), (int, float)):
            raise BadNode(f"{location}.rules[{index}].to", "A rule needs a number under `to`.", str(rule.get("to")))
    return tuple(data or ())


def _check_unique(root: NodeSpec) -> None:
    keys: set[str] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.key in keys:
            raise BadNode("", "The key of a node is repeated in the tree.", node.key)
        keys.add(node.key)
        stack.extend(node.children)
    if len(keys) > MAX_NODES:
        raise BadNode("", f"The tree has more than {MAX_NODES:,} nodes.")


def _count(root: NodeSpec) -> int:
    return 1 + sum(map(_count, root.children))
