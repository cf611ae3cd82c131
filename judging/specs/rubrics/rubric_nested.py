"""Rubrics from JSON, JSONL and YAML: nested trees and the lists of criteria that public benchmarks publish.

Read: a node list (`nodes` with `id` and `parent`), our own nested tree (`root` with `children`), weighted requirement
trees (`requirements`, `sub_tasks`), lists of signed points (`rubrics`), anchored criteria (`score1_description` or
`{"1": ..., "5": ...}`), lists of criteria with a name and a scale (`criteria`) and guidance checklists (`checklist`).
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from evalsite.base.types import JsonDict, JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.encodings import is_too_deep, read_text
from judging.specs.files.findings import Findings, Parsed, error_rule, warning_rule
from judging.specs.files.yaml_files import Node, read_yaml, yaml_files
from judging.specs.lint import NOT_A_MAPPING, NOT_TEXT, Lint, join
from judging.specs.types import AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec

NAMES = ("name", "criterion", "title", "key")
TEXTS = ("description", "text", "definition")
_RANGE = re.compile(r"\s*(-?\d{1,3})\s*(?:-|\u2013|\.\.|to)\s*(-?\d{1,3})\s*")
_HOW = "Write a range such as 1-5, a list of words from worst to best, or a text for each number."


def criteria_tree(entries: Sequence[object]) -> NodeSpec:
    """Return a root with one node per criterion of `criteria`; its mean is weighted where any has a weight.

    Raises:
        BadNode: an entry has no name of its own, or a scale or weight that cannot be read.
    """
    if not entries:
        raise BadNode("criteria", "The list of criteria is empty.")
    nodes = [_criterion(entry, f"criteria[{index}]") for index, entry in enumerate(entries)]
    keys = [node.key for node in nodes]
    repeated_key = next((key for key in keys if keys.count(key) > 1), None)
    if repeated_key is not None:
        raise BadNode("criteria", "Every criterion needs a name of its own.", repeated_key)
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
        return _levels_by_number(node, scale, location)
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


def _levels_by_number(node: NodeSpec, scale: Mapping[Any, Any], location: str) -> NodeSpec:
    values = [str(value) for value in scale]
    is_read = len(values) > 1 and all(re.fullmatch(r"-?\d{1,3}", value) for value in values)
    if not is_read or not all(isinstance(text, str) for text in scale.values()):
        raise BadNode(location, f"The scale cannot be read. {_HOW}", ", ".join(values)[:80])
    return node._replace(**_described({int(value): text for value, text in scale.items()}))


def _described(levels: Mapping[int, str]) -> JsonDict:
    """Return the scale and the anchors of a node whose levels are described by number."""
    anchors = tuple(AnchorSpec(level, level, levels[level]) for level in sorted(levels))
    return {"scale": ScaleSpec("ordinal", min(levels), max(levels), 1), "anchors": anchors}


KINDS = ("group", "level", "dimension", "check")
SCALE_KINDS = ("boolean", "ordinal", "numeric", "nominal")
AGGREGATORS = ("cascade", "any", "all", "count_times", "sum_over", "weighted_mean", "points_over_positive", "mean")
FACTS = ("has_context",)  # what rules may ask for beside verdicts
RULE_ACTIONS = ("set", "cap", "force_root")
MAX_DEPTH = 40
MAX_NODES = 20_000


@dataclass(eq=False)
class BadNode(ValueError):
    """The data at `location` is not a rubric; the message is written for the file's author."""

    location: str
    message: str
    offending: str = ""

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


def _nested(entry: JsonObject, location: str, depth: int) -> NodeSpec:
    """Return the node that a mapping with `children` describes."""
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


def _requirement(entry: object, location: str, depth: int) -> NodeSpec:
    """Return a weighted tree of requirements: `requirements`, `weight`, `sub_tasks`, leaves with `task_category`."""
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


def _unique(root: NodeSpec) -> NodeSpec:
    """Return a tree in which no key is repeated. Raises: BadNode: one is, or it has too many nodes."""
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
    return root


def _count(root: NodeSpec) -> int:
    return 1 + sum(map(_count, root.children))


ID_KEYS = ("case_key", "prompt_id", "item_id", "case_id", "query_id", "id", "session_id")
BOOLEAN = ScaleSpec("boolean")


def parse_nested_rubric(bundle: Bundle, path: str) -> Parsed[RubricSpec]:
    """Return the rubric in a .json, .jsonl, .yaml or .yml file of the bundle."""
    findings = Findings(path)
    if path.lower().endswith((".yaml", ".yml")):
        parsed = read_yaml(bundle.read(path), path)
        findings.extend(parsed.problems)
        data = parsed.value.plain() if parsed.value else None
    else:
        data = _read_json(bundle, path, findings)
    if findings.has_errors:
        return Parsed(None, findings.as_tuple())
    name = path.rpartition("/")[2].rpartition(".")[0]
    if isinstance(data, Mapping) and "contract" in data:
        message = "`contract` has no effect: the judge of a run defines how its replies are parsed."
        findings.warning("contract", "contract-ignored", message, offending=str(data["contract"])[:80])
    try:
        rubric = _rubric(data, name)
    except BadNode as problem:
        findings.error(problem.location, "bad-rubric", problem.message, offending=problem.offending)
        return Parsed(None, findings.as_tuple())
    return Parsed(rubric, findings.as_tuple())


def _read_json(bundle: Bundle, path: str, findings: Findings) -> Any:
    text = read_text(bundle, path)
    findings.extend(text.problems)
    if text.value is None:
        return None
    if not path.lower().endswith(".jsonl"):
        return _load(text.value, 1, findings)
    rows = [(n, line) for n, line in enumerate(text.value.split("\n"), 1) if line.strip()]
    return [_load(line, number, findings) for number, line in rows]


def _load(text: str, line: int, findings: Findings) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if not is_too_deep(text, value):
            return value
        findings.error(f"line {line}", "bad-json", "The JSON is nested too deeply.")
    except RecursionError:
        findings.error(f"line {line}", "bad-json", "The JSON is nested too deeply.")
    except json.JSONDecodeError as problem:
        location = f"line {line + problem.lineno - 1}, column {problem.colno}"
        findings.error(location, "bad-json", f"This is not valid JSON: {problem.msg}.")
    except ValueError as problem:
        findings.error(f"line {line}", "bad-json", f"The JSON cannot be used: {problem}.")
    return None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _rubric(data: object, name: str) -> RubricSpec:
    if isinstance(data, Mapping) and isinstance(data.get("items"), list):
        items = tuple(_item(entry, f"items[{index}]") for index, entry in enumerate(data["items"]))
        return _built(items, data, name)
    if isinstance(data, list):
        if not data:
            raise BadNode("", "The list is empty; a rubric needs at least one entry.")
        if all(isinstance(entry, Mapping) and "criterion" in entry for entry in data):
            data = {"rubrics": data}
        else:
            return _built(tuple(_item(entry, f"[{index}]") for index, entry in enumerate(data)), {}, name)
    if not isinstance(data, Mapping):
        raise BadNode("", "A rubric file contains a mapping or a list.", str(data)[:80])
    if isinstance(data.get("criteria"), list):
        return _built((RubricItemSpec("", criteria_tree(data["criteria"])),), data, name)
    if _is_criteria_map(data):
        return RubricSpec(name, "nested", "benchmark", (RubricItemSpec("", _criteria_map(data)),))
    item = _item(data, "")
    return _built((item,), data, name)


def _built(items: tuple[RubricItemSpec, ...], data: JsonObject, name: str) -> RubricSpec:
    keys = [item.case_key for item in items]
    repeated = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if repeated is not None:
        raise BadNode("", "Every entry needs an id of its own.", repeated)
    scope = "item" if any(keys) else "benchmark"
    has_points = any(item.root.aggregator.get("type") == "points_over_positive" for item in items)
    aggregate = _aggregate(data.get("benchmark_aggregate") or (POINTS if has_points else {}))
    return RubricSpec(
        name=str(data.get("name") or name),
        shape=str(data.get("shape") or "nested"),
        scope=scope,
        items=items,
        options=data["options"] if isinstance(data.get("options"), Mapping) else {},
        licence=str(data.get("licence") or data.get("license") or ""),
        benchmark_aggregate=aggregate,
    )


POINTS = {"type": "mean", "clip": [0, 1]}  # points may be negative: only the mean over the benchmark is cut


def _aggregate(rule: Any) -> JsonObject:
    """Return how the items' scores become the benchmark's; anything but a mean, clipped or not, is refused."""
    if rule == "mean":
        return {"type": "mean"}
    is_mean = isinstance(rule, Mapping) and set(rule) <= {"type", "clip"} and rule.get("type", "mean") == "mean"
    if not is_mean or list(rule.get("clip", (0, 1))) != [0, 1]:
        message = "The aggregate of a benchmark is a mean of its items: `type: mean`, with `clip: [0, 1]` if it is cut."
        raise BadNode("benchmark_aggregate", message, str(rule)[:80])
    return {**rule}


def _item(entry: object, location: str) -> RubricItemSpec:
    if not isinstance(entry, Mapping):
        raise BadNode(location, "An entry is a mapping.", str(entry)[:80])
    key = next((str(entry[name]) for name in ID_KEYS if entry.get(name) not in (None, "")), "")
    metadata = entry["metadata"] if isinstance(entry.get("metadata"), Mapping) else {}
    if "requirements" in entry or "sub_tasks" in entry:
        return RubricItemSpec("", _unique(_requirement(entry, location, 0)), source=location, metadata=metadata)
    return RubricItemSpec(key, _root(entry, location), source=location, metadata=metadata)


def _root(entry: JsonObject, location: str) -> NodeSpec:
    inner = f"{location}." if location else ""
    if isinstance(entry.get("root"), Mapping):
        return _unique(_nested(entry["root"], f"{inner}root", 0))
    if isinstance(entry.get("rubric"), Mapping) and "nodes" in entry["rubric"]:
        return linked_tree(entry["rubric"], f"{inner}rubric")
    if isinstance(entry.get("nodes"), list):
        return linked_tree(entry, location)
    if isinstance(entry.get("rubrics"), list):
        return _points_list(entry["rubrics"], f"{inner}rubrics")
    if isinstance(entry.get("score_rubric"), Mapping):
        children = (_anchored(entry["score_rubric"], f"{inner}score_rubric"),)
        return NodeSpec("root", "group", aggregator={"type": "mean"}, children=children)
    if isinstance(entry.get("checklist"), list):
        return _guidance(entry["checklist"], f"{inner}checklist")
    raise BadNode(
        location,
        "No rubric found: expected criteria, root, nodes, rubrics, requirements, score_rubric or checklist.",
        ", ".join(entry)[:80],
    )


def _points_list(entries: Sequence[object], location: str) -> NodeSpec:
    nodes = []
    for index, entry in enumerate(entries):
        location_of_entry = f"{location}[{index}]"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("criterion"), str):
            raise BadNode(location_of_entry, "A criterion needs a text under `criterion`.", str(entry)[:80])
        points = entry.get("points", entry.get("weight", 1))
        if isinstance(points, bool) or not isinstance(points, (int, float)):
            raise BadNode(f"{location_of_entry}.points", "Points are a number.", str(points))
        tags = entry.get("tags") or [entry[key] for key in ("axis", "category") if entry.get(key)]
        node = NodeSpec(f"c{index}", "check", text=entry["criterion"], points=float(points), scale=BOOLEAN)
        nodes.append(node._replace(tags=tuple(map(str, tags))))
    return NodeSpec("root", "group", aggregator={"type": "points_over_positive"}, children=tuple(nodes))


def _guidance(entries: Sequence[Any], location: str) -> NodeSpec:
    """Return one 1..10 score guided by a list of questions that carry no weight."""
    bad = next((i for i, entry in enumerate(entries) if not isinstance(entry, str)), None)
    if bad is not None:
        raise BadNode(f"{location}[{bad}]", "A checklist contains texts.", str(entries[bad])[:80])
    overall = NodeSpec("overall", "dimension", text="Overall quality", scale=ScaleSpec("numeric", 1, 10, 1))
    guidance = (
        NodeSpec(f"g{i}", "check", text=text, role="guidance", scale=BOOLEAN) for i, text in enumerate(entries, 1)
    )
    return NodeSpec("root", "group", aggregator={"type": "sum_over", "by": 1}, children=(overall, *guidance))


def _anchored(entry: JsonObject, location: str) -> NodeSpec:
    given = {value: entry.get(f"score{value}_description") for value in range(11)}
    levels = {value: str(text) for value, text in given.items() if text}
    if not levels:
        raise BadNode(
            location, "An anchored criterion needs score1_description, score2_description...", ", ".join(entry)[:80]
        )
    return NodeSpec("overall", "dimension", text=str(entry.get("criteria", "")), **_described(levels))


def _is_criteria_map(data: JsonObject) -> bool:
    return bool(data) and all(
        isinstance(levels, Mapping) and len(levels) > 1 and all(str(key).isdigit() for key in levels)
        for levels in data.values()
    )


def _criteria_map(data: JsonObject) -> NodeSpec:
    children = []
    for name, levels in data.items():
        bad = next((key for key, text in levels.items() if not isinstance(text, str)), None)
        if bad is not None:
            raise BadNode(f"{name}.{bad}", "The description of a level is a text.", str(levels[bad])[:80])
        described = _described({int(level): text for level, text in levels.items()})
        children.append(NodeSpec(name, "dimension", text=name, **described))
    return NodeSpec("root", "group", aggregator={"type": "mean"}, children=tuple(children))


NO_CRITERIA = error_rule("no-criteria", "Start the file with `criteria:` and a name for each criterion.")
NO_LEVELS = error_rule("criterion-without-levels", 'Give the levels: "1": text, "2": text, …')
BAD_LEVEL = error_rule("bad-level", "Name levels by whole numbers, such as 1 to 5.")
MISSING_LEVEL = error_rule("missing-level", "Describe every level between the lowest and the highest.")
EMPTY_LEVEL = error_rule("empty-level", "Describe what this level means.")
STRAY_KEY = warning_rule("stray-key", "No action is needed; it is kept with the rubric but has no effect.")

_LEVEL = re.compile(r"^-?[0-9]{1,4}$")
MAX_CRITERIA = 1000


def find_criteria(bundle: Bundle) -> list[str]:
    """Return the YAML files that have `criteria` at their top."""
    nodes = ((path, node.get("criteria")) for path, node in yaml_files(bundle, b"criteria"))
    return [path for path, criteria in nodes if criteria is not None and not criteria.is_list]


def find_criteria_lists(bundle: Bundle) -> list[str]:
    """Return the YAML files with a list under `criteria`, which are rubrics of another shape."""
    nodes = ((path, node.get("criteria")) for path, node in yaml_files(bundle, b"criteria"))
    return [path for path, criteria in nodes if criteria is not None and criteria.is_list]


def parse_criteria(bundle: Bundle, path: str = "") -> Parsed[RubricSpec]:
    """Return the rubric that a criteria file holds; without `path`, the first criteria file of the bundle.

    Shape `scaleeval`, scope `benchmark`; the name is the file's. Keys beside `criteria` are kept under
    `options["stray"]`.
    """
    findings = Findings()
    path = path or next(iter(find_criteria(bundle)), "")
    if path not in bundle:
        findings.add(NO_CRITERIA, path, "", "There is no criteria file in the upload.")
        return Parsed(None, findings.as_tuple())
    parsed = read_yaml(bundle.read(path), path)
    findings.extend(parsed.problems)
    if parsed.value is None:
        return Parsed(None, findings.as_tuple())
    lint = Lint(findings, path)
    criteria = parsed.value.get("criteria")
    if criteria is None or not criteria.fields:
        lint.report(NO_CRITERIA, criteria or parsed.value, "criteria", "The file contains no criteria.", "")
        return Parsed(None, findings.as_tuple())
    if len(criteria.fields) > MAX_CRITERIA:
        lint.report(NO_CRITERIA, criteria, "criteria", f"At most {MAX_CRITERIA} criteria are read from one file.", "")
        return Parsed(None, findings.as_tuple())
    children = tuple(_scaleeval_criterion(lint, key, node) for key, node in criteria.fields.items())
    stray = _stray(lint, parsed.value)
    root = NodeSpec(key="root", kind="group", aggregator={"type": "mean"}, children=children)
    rubric = RubricSpec(
        name=posixpath.splitext(posixpath.basename(path))[0],
        shape="scaleeval",
        scope="benchmark",
        items=(RubricItemSpec(case_key="", root=root, source=path),),
        options={"stray": stray} if stray else {},
    )
    return Parsed(None if findings.has_errors else rubric, findings.as_tuple())


def _stray(lint: Lint, document: Node) -> dict[str, object]:
    stray: dict[str, object] = {}
    for key, node in document.fields.items():
        if key != "criteria":
            lint.report(STRAY_KEY, node, key, f"`{key}` next to `criteria` has no effect here.", key)
            stray[key] = node.plain()
    return stray


def _scaleeval_criterion(lint: Lint, key: str, node: Node) -> NodeSpec:
    """Return the node of one criterion; what is wrong with its levels goes to the findings."""
    path = join("criteria", key)
    if not node.is_mapping:
        lint.report(NOT_A_MAPPING, node, path, "A criterion must map levels to their texts.")
        return NodeSpec(key=key, kind="dimension")
    if not node.fields:
        lint.report(NO_LEVELS, node, path, "The criterion has no levels.", "{}")
        return NodeSpec(key=key, kind="dimension")
    levels = {int(level): text for level, text in _levels(lint, node, path)}
    if not levels:
        return NodeSpec(key=key, kind="dimension")
    low, high = min(levels), max(levels)
    missing = [level for level in range(low, high + 1) if level not in levels][:20]
    if missing or low == high:
        missing_levels = ", ".join(str(level) for level in missing) or str(low + 1)
        lint.report(
            MISSING_LEVEL, node, path, f"Between level {low} and the highest, {missing_levels} is missing.", key
        )
    return NodeSpec(key=key, kind="dimension", text=key, **_described(levels))


def _levels(lint: Lint, criterion: Node, path: str) -> list[tuple[str, str]]:
    """Return the readable levels with their texts."""
    levels: list[tuple[str, str]] = []
    for level, node in criterion.fields.items():
        level_path = join(path, level)
        if not _LEVEL.match(level.strip()):
            lint.report(BAD_LEVEL, node, level_path, f"{level!r} is not a level.", level)
        elif not isinstance(node.content, str):
            lint.report(
                EMPTY_LEVEL if node.content is None else NOT_TEXT, node, level_path, "The level has no text.", level
            )
        elif not node.content.strip():
            lint.report(EMPTY_LEVEL, node, level_path, "The level has no text.", level)
        else:
            levels.append((level, node.content))
    return levels
