"""Rubric trees and grading rules as outlines for people to read. Pure; texts are kept to the character."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsite.base.types import JsonDict, JsonObject

DEEPEST = 40  # below this, what remains is shown as JSON
LONGEST = 4000

_AGGREGATES = {
    "cascade": "the highest level with a met criterion decides",
    "any": "full when any criterion is met",
    "mean": "mean of the parts",
    "weighted_mean": "weighted mean of the parts",
    "points_over_positive": "points reached of the positive points",
    "sum_over": "sum of the parts",
    "all": "full when every part is",
}


@dataclass(frozen=True, slots=True)
class Outline:
    """One line of an outline with what stands below it."""

    label: str = ""
    text: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[Outline, ...] = ()
    mark: str = ""  # beside another outline: removed | added

    def as_json(self) -> JsonDict:
        """Return the outline as JSON-like data, as templates read it."""
        return {
            "label": self.label,
            "text": self.text,
            "facts": list(self.facts),
            "children": [child.as_json() for child in self.children],
        }


Line = tuple[str, str, tuple[str, ...], tuple[str, ...]]  # label, text, facts, and the labels above it


def outline_table(outlines: Sequence[Outline]) -> tuple[tuple[str, ...], list[list[tuple[str, ...]]]]:
    """Return the parts of trees as columns, and what each tree says in each of them: the texts from the top down."""
    columns = tuple(dict.fromkeys(part.label for outline in outlines for part in outline.children))
    rows = []
    for outline in outlines:
        cells: dict[str, tuple[str, ...]] = {}
        for part in outline.children:
            cells[part.label] = cells.get(part.label, ()) + tuple(_texts(part))
        rows.append([cells.get(column, ()) for column in columns])
    return columns, rows


def _texts(outline: Outline) -> Iterator[str]:
    if outline.text:
        yield outline.text
    for child in outline.children:
        yield from _texts(child)


def mark_differences(before: Outline, after: Outline) -> tuple[Outline, Outline]:
    """Return both outlines with the lines marked that the other does not have in the same place."""
    return _marked(before, _lines(after), "removed"), _marked(after, _lines(before), "added")


def _lines(outline: Outline, above: tuple[str, ...] = ()) -> set[Line]:
    below = (*above, outline.label)
    line = (outline.label, outline.text, outline.facts, above)
    return {line}.union(*(_lines(child, below) for child in outline.children))


def _marked(outline: Outline, others: set[Line], mark: str, above: tuple[str, ...] = ()) -> Outline:
    below = (*above, outline.label)
    is_there = (outline.label, outline.text, outline.facts, above) in others
    children = tuple(_marked(child, others, mark, below) for child in outline.children)
    return replace(outline, children=children, mark="" if is_there else mark)


def outline_of_tree(node: JsonObject, *, depth: int = 0) -> Outline:
    """Return the outline of a rubric node as `judging.grading.rubric_tree.tree_to_json` stores it."""
    if depth > DEEPEST:
        return Outline("deeper", _short_json(node))
    text, key, kind = str(node.get("text", "")), str(node.get("key", "")), str(node.get("kind", ""))
    anchors = tuple(
        Outline(_range(anchor), str(anchor.get("text", ""))) for anchor in _mappings(node.get("anchors", ()))
    )
    children = tuple(outline_of_tree(child, depth=depth + 1) for child in _mappings(node.get("children", ())))
    rules = tuple(Outline("rule", _short_json(rule)) for rule in _mappings(node.get("rules", ())))
    return Outline(
        label=_node_label(key, kind, depth),
        text="" if text == key else text,
        facts=tuple(_node_facts(node)),
        children=anchors + children + rules,
    )


def _node_label(key: str, kind: str, depth: int) -> str:
    if depth == 0 and key in ("root", ""):
        return "Score"
    return f"Level {key}" if kind == "level" else key


def _node_facts(node: JsonObject) -> Iterable[str]:
    if node.get("points") is not None:
        yield f"{_number(node['points'], signed=True)} points"
    if node.get("weight", 1.0) != 1.0:
        yield f"weight {_number(node['weight'])}"
    if node.get("role") == "guidance":
        yield "guidance, not scored"
    if node.get("source") == "computed":
        yield "computed, not judged"
    yield from _scale_facts(node.get("scale"))
    yield from _aggregate_facts(node.get("aggregator"))
    yield from (str(tag) for tag in node.get("tags", ()))


def _scale_facts(scale: object) -> Iterable[str]:
    if not isinstance(scale, Mapping):
        return
    if scale.get("kind") == "boolean":
        return  # met or not, as a criterion without a scale is understood
    if scale.get("labels"):
        yield " / ".join(str(label) for label in scale["labels"])
    elif scale.get("minimum") is not None and scale.get("maximum") is not None:
        yield f"{_number(scale['minimum'])} to {_number(scale['maximum'])}"


def _aggregate_facts(aggregator: object) -> Iterable[str]:
    if not isinstance(aggregator, Mapping) or not aggregator.get("type"):
        return
    kind = str(aggregator["type"])
    if kind == "count_times":
        yield f"{_number(aggregator.get('value'))} points for each criterion met"
        return
    value = f": {_number(aggregator['value'])} points" if aggregator.get("value") is not None else ""
    yield _AGGREGATES.get(kind, kind.replace("_", " ")) + value


def outline_of_grading(grading: JsonObject) -> Outline:
    """Return the outline of a case's `grading` mapping; an empty one where there are no rules."""
    children: list[Outline] = []
    facts = [
        f"{name.replace('_', ' ')} {_number(grading[name])}" for name in ("max_score", "min_score") if name in grading
    ]
    for name, value in grading.items():
        if name == "keywords":
            children.append(Outline("Keywords", children=_each(value, _keyword_rule)))
        elif name == "blank_filling" and isinstance(value, Mapping):
            children.append(_blanks(value))
        elif name == "unit_test" and isinstance(value, Mapping):
            children.append(_unit_tests(value))
        elif name == "similarity":
            children.append(Outline("Similarity", children=_each(value, _metric)))
        elif name not in ("max_score", "min_score"):
            children.append(outline_of_data(name, value))
    return Outline("Grading" if children else "", facts=tuple(facts), children=tuple(children))


def _each(value: Any, show: Any) -> tuple[Outline, ...]:
    return tuple(show(entry) for entry in value) if isinstance(value, list | tuple) else (outline_of_data("", value),)


def _keyword_rule(rule: object) -> Outline:
    if not isinstance(rule, Mapping):
        return Outline(text=str(rule))
    facts = _rule_facts(rule)
    if "post_handler" in rule:
        return outline_of_data("post handler", rule["post_handler"])
    branch = next((name for name in ("content", "or", "and") if name in rule), "")
    body = rule.get("content") if branch == "content" else {branch: rule.get(branch)}
    inner = _keyword_node(body, 0)
    return Outline(inner.label, inner.text, (*facts, *inner.facts), inner.children)


def _rule_facts(rule: JsonObject) -> tuple[str, ...]:
    facts = [f"weight {_number(rule['weight'])}"] if rule.get("weight", 1.0) not in (1, 1.0) else []
    facts += ["deducts points"] if rule.get("neg") else []
    facts += ["case-insensitive"] if rule.get("to_lower") else []
    return tuple(facts)


def _keyword_node(node: object, depth: int) -> Outline:
    if not isinstance(node, Mapping) or depth > DEEPEST:
        return Outline(text=node if isinstance(node, str) else _short_json(node))
    facts = (["regular expression"] if node.get("regex") else []) + ([f"if {node['cond']}"] if "cond" in node else [])
    if "content" in node:
        inner = _keyword_node(node["content"], depth + 1)
        return Outline(inner.label, inner.text, (*facts, *inner.facts), inner.children)
    branch = "or" if "or" in node else "and"
    listed = node.get(branch)
    children = tuple(_keyword_node(child, depth + 1) for child in listed) if isinstance(listed, list | tuple) else ()
    return Outline("any of" if branch == "or" else "all of", facts=tuple(facts), children=children)


def _blanks(value: JsonObject) -> Outline:
    template = Outline("template", str(value.get("template", "")))
    targets = value.get("targets", value.get("blanks", ()))
    shown = Outline("blanks", children=_each(targets, lambda target: outline_of_data("", target)))
    rest = {k: v for k, v in value.items() if k not in ("template", "targets", "blanks")}
    return Outline("Blank filling", children=(template, shown, *(outline_of_data(k, v) for k, v in rest.items())))


def _unit_tests(value: JsonObject) -> Outline:
    facts = (str(value["lang"]),) if value.get("lang") else ()
    rest = tuple(outline_of_data(k, v) for k, v in value.items() if k not in ("tests", "lang"))
    return Outline("Unit tests", facts=facts, children=(*_each(value.get("tests", ()), _unit_test), *rest))


def _unit_test(test: object) -> Outline:
    if not isinstance(test, Mapping):
        return outline_of_data("", test)
    facts = [f"weight {_number(test['weight'])}"] if "weight" in test else []
    facts += ["file missing, so not run"] if "content" in test and test["content"] is None else []
    source = test.get("content") or test.get("code") or test.get("test") or ""
    return Outline(str(test.get("path", "test")), _cut(str(source)), tuple(facts))


def _metric(metric: object) -> Outline:
    if not isinstance(metric, Mapping):
        return outline_of_data("", metric)
    facts = tuple(f"{k.replace('_', ' ')} {_scalar(v)}" for k, v in metric.items() if _is_scalar(v) and k != "metric")
    references = tuple(
        Outline(str(entry.get("path", "reference")), _cut(str(entry.get("content") or entry.get("text") or "")))
        for entry in _mappings(metric.get("references", ()))
    )
    return Outline(str(metric.get("metric", "metric")), facts=facts, children=references)


def outline_of_data(label: str, value: Any, depth: int = 0) -> Outline:
    """Return the outline of any JSON-like value."""
    if _is_scalar(value):
        return Outline(label.replace("_", " "), _cut(_scalar(value)))
    if depth > DEEPEST:
        return Outline(label, _short_json(value))
    named = value.items() if isinstance(value, Mapping) else (("", entry) for entry in value)
    children = tuple(outline_of_data(str(name), entry, depth + 1) for name, entry in named)
    return Outline(label.replace("_", " "), children=children)


def _is_scalar(value: object) -> bool:
    return not isinstance(value, Mapping | list | tuple)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value)
    return "none" if value is None else str(value)


def _number(value: object, *, signed: bool = False) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:+g}" if signed else f"{value:g}"


def _range(anchor: JsonObject) -> str:
    low, high = anchor.get("low"), anchor.get("high")
    span = _number(low) if low == high else f"{_number(low)} to {_number(high)}"
    return f"{span} ({anchor['variant']})" if anchor.get("variant") else span


def _mappings(values: object) -> Iterable[JsonObject]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list | tuple) else []


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _short_json(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))
