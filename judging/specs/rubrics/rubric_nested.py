"""Rubrics from JSON, JSONL and YAML: nested trees and the lists of criteria that public benchmarks publish.

Read: a node list (`nodes` with `id` and `parent`), our own nested tree (`root` with `children`), weighted requirement
trees (`requirements`, `sub_tasks`), lists of signed points (`rubrics`), anchored criteria (`score1_description` or
`{"1": ..., "5": ...}`), lists of criteria with a name and a scale (`criteria`) and guidance checklists (`checklist`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from evalsite.base.json_types import JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.files.json_depth import nests_too_deep
from judging.specs.files.problems import Parsed
from judging.specs.files.text_reading import read_text
from judging.specs.files.yaml_reading import read_yaml
from judging.specs.rubrics.criteria_lists import criteria_tree
from judging.specs.rubrics.nested_nodes import BadNode, linked_tree, nested_tree, requirement_tree
from judging.specs.types import AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec

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
    if nests_too_deep(text):
        findings.error(f"line {line}", "bad-json", "The JSON is nested too deeply.")
        return None
    try:
        return json.loads(text, parse_constant=_refuse_constant)
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
        return _built((RubricItemSpec("", criteria_tree(data["criteria"], "criteria")),), data, name)
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
        return RubricItemSpec("", requirement_tree(entry, location), source=location, metadata=metadata)
    return RubricItemSpec(key, _root(entry, location), source=location, metadata=metadata)


def _root(entry: JsonObject, location: str) -> NodeSpec:
    inner = f"{location}." if location else ""
    if isinstance(entry.get("root"), Mapping):
        return nested_tree(entry["root"], f"{inner}root")
    if isinstance(entry.get("rubric"), Mapping) and "nodes" in entry["rubric"]:
        return linked_tree(entry["rubric"], f"{inner}rubric")
    if isinstance(entry.get("nodes"), list):
        return linked_tree(entry, location)
    if isinstance(entry.get("rubrics"), list):
        return _points_list(entry["rubrics"], f"{inner}rubrics")
    if isinstance(entry.get("score_rubric"), Mapping):
        children = (_anchored(entry["score_rubric"], f"{inner}score_rubric", "overall"),)
        return NodeSpec("root", "group", aggregator={"type": "mean"}, children=children)
    if isinstance(entry.get("checklist"), list):
        return _guidance(entry["checklist"], f"{inner}checklist")
    raise BadNode(
        location,
        "No rubric found: expected criteria, root, nodes, rubrics, requirements, score_rubric or checklist.",
        ", ".join(entry)[:80],
    )


def _points_list(entries: Sequence[object], location: str) -> NodeSpec:
    return NodeSpec(
        "root", "group", aggregator={"type": "points_over_positive"}, children=tuple(_point_nodes(entries, location))
    )


def _point_nodes(entries: Sequence[object], location: str) -> Iterator[NodeSpec]:
    for index, entry in enumerate(entries):
        location_of_entry = f"{location}[{index}]"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("criterion"), str):
            raise BadNode(location_of_entry, "A criterion needs a text under `criterion`.", str(entry)[:80])
        points = entry.get("points", entry.get("weight", 1))
        if isinstance(points, bool) or not isinstance(points, (int, float)):
            raise BadNode(f"{location_of_entry}.points", "Points are a number.", str(points))
        tags = entry.get("tags") or [entry[key] for key in ("axis", "category") if entry.get(key)]
        yield NodeSpec(
            f"c{index}",
            "check",
            text=entry["criterion"],
            points=float(points),
            tags=tuple(map(str, tags)),
            scale=BOOLEAN,
        )


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


def _anchored(entry: JsonObject, location: str, key: str) -> NodeSpec:
    anchors = tuple(
        AnchorSpec(value, value, str(entry[f"score{value}_description"]))
        for value in range(11)
        if entry.get(f"score{value}_description")
    )
    if not anchors:
        raise BadNode(
            location, "An anchored criterion needs score1_description, score2_description...", ", ".join(entry)[:80]
        )
    scale = ScaleSpec("ordinal", anchors[0].low, anchors[-1].high, 1)
    return NodeSpec(key, "dimension", text=str(entry.get("criteria", "")), scale=scale, anchors=anchors)


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
        anchors = tuple(
            AnchorSpec(int(key), int(key), text) for key, text in sorted(levels.items(), key=lambda pair: int(pair[0]))
        )
        scale = ScaleSpec("ordinal", anchors[0].low, anchors[-1].high, 1)
        children.append(NodeSpec(name, "dimension", text=name, scale=scale, anchors=anchors))
    return NodeSpec("root", "group", aggregator={"type": "mean"}, children=tuple(children))
