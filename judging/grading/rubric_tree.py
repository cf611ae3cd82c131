"""The score of a rubric's tree from verdicts on its nodes, in exact fractions.

One model for every rubric: leaves hold verdicts, inner nodes aggregate, rules set, cap or force. A missing scored
verdict makes every node above it incomplete; it is never a zero.

Lunar-style cascades of levels are scored at the end of the module.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import Any

from evalsite.base.formats import SHARE, ScoreScale, rating
from evalsite.base.types import JsonDict, JsonObject, LabelledEnum
from judging.specs.types import NodeSpec, ScaleSpec

Value = bool | int | float | str
COMPARISONS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


class ScoreStatus(LabelledEnum):
    """`incomplete`: something could not be decided or run. `error`: the specification is at fault. Neither is 0."""

    COMPLETE = "complete", "Complete"
    INCOMPLETE = "incomplete", "Incomplete"
    ERROR = "error", "Error"


class BadRubric(ValueError):
    """The tree cannot be scored: an unknown aggregator, or a rule on a node that does not exist."""


@dataclass(frozen=True, slots=True)
class TreeScore:
    """`score` is None unless every scored leaf has a verdict on its scale; `missing` names those that have none."""

    score: Fraction | None
    missing: tuple[str, ...] = ()
    deciding: str = ""  # key of the child that decided a cascade at the root
    flags: tuple[str, ...] = ()
    nodes: Mapping[str, Fraction | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Work:
    values: dict[str, Fraction | None]
    flags: list[str]
    deciding: dict[str, str] = field(default_factory=dict)


def score_tree(root: NodeSpec, verdicts: Mapping[str, Value], facts: Mapping[str, Value] | None = None) -> TreeScore:
    """Return the exact score of the tree.

    `verdicts` maps node keys to a truth value, a number or a label; `facts` are what rules may ask for, such as
    `has_context`. A verdict that is not on its node's scale is flagged `off_scale:key`, one that the node's value map
    lacks `unmapped:key`; both count as missing.

    Raises:
        BadRubric: an aggregator or rule that the tree cannot carry out.
    """
    work = _Work({}, [])
    leaves = [node for node in walk(root) if is_scored_leaf(node)]
    for node in leaves:
        work.values[node.key] = _leaf_value(node, verdicts.get(node.key), work.flags)
    forced = _apply_rules([rule for node in walk(root) for rule in node.rules], work, facts or {})
    missing = tuple(node.key for node in leaves if work.values[node.key] is None)
    score = _score(root, work)
    if forced is not None and score is not None:
        score = forced
        work.flags.append("forced_root")
    return TreeScore(score, missing, work.deciding.get(root.key, ""), tuple(work.flags), dict(work.values))


def walk(root: NodeSpec) -> Iterator[NodeSpec]:
    """Yield the nodes of a tree, parents first, in order."""
    yield root
    for child in root.children:
        yield from walk(child)


def is_scored_leaf(node: NodeSpec) -> bool:
    """Return whether a verdict on the node takes part in the score."""
    return not node.children and node.role == "scored" and node.kind in ("check", "dimension")


def is_rated(node: NodeSpec) -> bool:
    """Return whether a judge or a person has to rate the node."""
    return is_scored_leaf(node) and node.source == "rater"


def exact(number: float) -> Fraction:
    """Return a number as its author wrote it: 0.3 is 3/10, not its binary neighbour."""
    return Fraction(str(number))


def on_scale(value: Value, scale: ScaleSpec | None) -> bool:
    """Return whether a verdict is one that the scale allows; NaN and infinity never are."""
    if scale is None:
        return isinstance(value, (bool, int, float)) and math.isfinite(value)
    if scale.kind == "boolean":
        return isinstance(value, bool)
    if scale.kind == "nominal":
        return isinstance(value, str) and value in scale.labels
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return False
    number = exact(value)
    if (scale.minimum is not None and number < exact(scale.minimum)) or (
        scale.maximum is not None and number > exact(scale.maximum)
    ):
        return False
    start = exact(scale.minimum or 0)
    return not scale.step or ((number - start) / exact(scale.step)).denominator == 1


def _leaf_value(node: NodeSpec, verdict: Value | None, flags: list[str]) -> Fraction | None:
    if verdict is None:
        return None
    if not on_scale(verdict, node.scale):
        flags.append(f"off_scale:{node.key}")
        return None
    if node.value_map:
        name = next((name for name in _names_of(verdict) if name in node.value_map), None)
        if name is None:
            flags.append(f"unmapped:{node.key}")
            return None
        return exact(node.value_map[name])
    if isinstance(verdict, str):
        raise BadRubric(f"The label {verdict!r} of {node.key!r} has no value in the rubric's value map.")
    return exact(int(verdict) if isinstance(verdict, bool) else verdict)


def _names_of(verdict: Value) -> tuple[str, ...]:
    """Return the keys that a value map may have for a verdict: 3 and 3.0 are one value."""
    if isinstance(verdict, bool):
        return (str(verdict).lower(),)
    if isinstance(verdict, (int, float)) and verdict == int(verdict):
        return str(int(verdict)), f"{int(verdict)}.0"
    return (str(verdict),)


def _apply_rules(rules: Sequence[JsonObject], work: _Work, facts: Mapping[str, Value]) -> Fraction | None:
    """Apply the rules in order to the leaf values; return what the root is forced to, if it is."""
    forced: Fraction | None = None
    for rule in rules:
        if not _holds(rule["if"], work, facts):
            continue
        to = exact(rule["to"])
        if rule["do"] == "force_root":
            forced = to
            continue
        for target in rule.get("targets", ()):
            if target not in work.values:
                raise BadRubric(f"A rule names the node {target!r}, which the rubric does not score.")
            before = work.values[target]
            if rule["do"] == "set" or (before is not None and before > to):
                work.values[target] = to
                if before != to:
                    work.flags.append(f"{rule['do']}:{target}")
    return forced


def _holds(condition: JsonObject, work: _Work, facts: Mapping[str, Value]) -> bool:
    if "fact" in condition:
        return condition["fact"] in facts and facts[condition["fact"]] == condition.get("is", True)
    compare = COMPARISONS.get(str(condition.get("op")))
    if compare is None or condition.get("node") not in work.values:
        raise BadRubric(f"A rule's condition cannot be read: {dict(condition)!r}.")
    value = work.values[condition["node"]]
    return value is not None and compare(value, exact(condition["value"]))


def _score(node: NodeSpec, work: _Work) -> Fraction | None:
    if not node.children:
        return work.values.get(node.key)
    children = [
        child for child in node.children if child.role == "scored" and (child.children or is_scored_leaf(child))
    ]
    scored = [(child, _score(child, work)) for child in children]
    valued = [(child, value) for child, value in scored if value is not None]
    result = _aggregate(node, valued, work) if valued and len(valued) == len(scored) else None
    work.values[node.key] = result
    return result


def _aggregate(node: NodeSpec, valued: Sequence[tuple[NodeSpec, Fraction]], work: _Work) -> Fraction | None:
    kind = str(node.aggregator.get("type", "mean"))
    if kind == "cascade":
        child, value = next(((c, v) for c, v in valued if v > 0), (None, Fraction(0)))
        work.deciding[node.key] = child.key if child else ""
        return _clipped(value, node.aggregator.get("clip"))
    if kind == "weighted_mean":
        return _ratio(valued, lambda child: exact(child.weight), node, work)
    if kind == "points_over_positive":
        return _points(node, valued, work)
    values = [value for _, value in valued]
    if kind not in _SIMPLE:
        raise BadRubric(f"The aggregator {kind!r} of {node.key!r} is not known.")
    return _clipped(_SIMPLE[kind](values, node.aggregator), node.aggregator.get("clip"))


_SIMPLE: Mapping[str, Callable[[list[Fraction], JsonObject], Fraction]] = {
    "any": lambda values, facts: exact(facts.get("value", 1)) * any(value > 0 for value in values),
    "all": lambda values, facts: exact(facts.get("value", 1)) * all(value > 0 for value in values),
    "count_times": lambda values, facts: exact(facts.get("value", 1)) * sum(value > 0 for value in values),
    "sum_over": lambda values, facts: sum(values, Fraction(0)) / exact(facts.get("by", 1)),
    "mean": lambda values, facts: sum(values, Fraction(0)) / len(values),
}


def _ratio(
    valued: Sequence[tuple[NodeSpec, Fraction]], weigh: Callable[[NodeSpec], Fraction], node: NodeSpec, work: _Work
) -> Fraction | None:
    total = sum((weigh(child) for child, _ in valued), Fraction(0))
    if total == 0:
        work.flags.append(f"no_weight:{node.key}")
        return None
    return sum((weigh(child) * value for child, value in valued), Fraction(0)) / total


def _points(node: NodeSpec, valued: Sequence[tuple[NodeSpec, Fraction]], work: _Work) -> Fraction | None:
    """Points met over the sum of positive points; not clipped for one item (HealthBench, DRACO)."""
    points = [(exact(child.points if child.points is not None else child.weight), value) for child, value in valued]
    positive = sum((worth for worth, _ in points if worth > 0), Fraction(0))
    if positive == 0:
        work.flags.append(f"no_positive_points:{node.key}")
        return None
    return sum((worth * value for worth, value in points), Fraction(0)) / positive


def _clipped(value: Fraction, clip: Any) -> Fraction:
    return min(max(value, exact(clip[0])), exact(clip[1])) if clip else value


# The level cascade: the highest level with a met criterion decides.
#
# Source: LLM-Score of ORD-MMBench. Level 100 gives 100 once; levels 50 and 25 give their value for each met criterion.
# Which criteria are met is said by judges and people; here it becomes a score.

TOP = 100
STANDARD = frozenset({25, 50, 100})
GRID = 25  # every score of the documented levels is a multiple of this
PARTIAL_STEP = 20  # what the prompt of ORD-MMBench says a level-25 criterion is worth


@dataclass(frozen=True, slots=True)
class CascadeOptions:
    """The points that the source texts leave open; the defaults follow the recorded scores."""

    level_25_value: int = 25  # 20: as the prompt of ORD-MMBench says
    level_100: str = "any"  # "all": every level-100 criterion must be met
    clip: bool = True  # to 0..100
    off_grid: str = "keep"  # a judge's 20/40/60/80: keep and flag | normalise | reject
    infeasible: str = "keep"  # a judge's score that no set of met criteria gives: keep and flag | reject


def cascade_score(counts: Mapping[int, int], met: Mapping[int, int], options: CascadeOptions | None = None) -> int:
    """Return the score in points 0..100 (more without clipping) from criteria per level and how many of them are met.

    Levels are tried from the highest; one without criteria is skipped; lower levels never add to a higher one.

    Raises:
        ValueError: more criteria met at a level than it has, or a negative count.
    """
    options = options or CascadeOptions()
    for level, hits in met.items():
        if not 0 <= hits <= counts.get(level, 0):
            raise ValueError(f"Level {level} has {counts.get(level, 0)} criteria; {hits} cannot be met.")
    for level in sorted(counts, reverse=True):
        hits = met.get(level, 0)
        if level == TOP and options.level_100 == "all" and hits < counts[level]:
            continue
        if hits:
            points = TOP if level == TOP else hits * level_value(level, options)
            return min(points, TOP) if options.clip else points
    return 0


def feasible_scores(counts: Mapping[int, int], options: CascadeOptions | None = None) -> tuple[int, ...]:
    """Return every score that some set of met criteria gives, ascending; 0 is always one."""
    options = options or CascadeOptions()
    scores = {0}
    for level, count in counts.items():
        for hits in range(1, count + 1):
            points = TOP if level == TOP else hits * level_value(level, options)
            scores.add(min(points, TOP) if options.clip else points)
    return tuple(sorted(scores))


def review_score(
    score: int, counts: Mapping[int, int] | None, options: CascadeOptions | None = None
) -> tuple[int | None, tuple[str, ...]]:
    """Return a judge's holistic score 0..100, None where an option rejects it, and flags.

    Flags are `off_grid`, `normalised` and `infeasible`. `counts` is the number of criteria per level; without it
    feasibility is not checked.
    """
    options = options or CascadeOptions()
    flags: list[str] = []
    grid = GRID if counts is None or STANDARD.issuperset(counts) else gcd(*counts)
    if score % grid:
        flags.append("off_grid")
        if options.off_grid == "reject":
            return None, tuple(flags)
        met = score // PARTIAL_STEP
        possible = grid == GRID and score % PARTIAL_STEP == 0 and (counts is None or met <= counts.get(GRID, 0))
        if options.off_grid == "normalise" and possible:
            score = min(met * GRID, TOP)
            flags.append("normalised")
    if counts is not None and score not in feasible_scores(counts, options):
        flags.append("infeasible")
        if options.infeasible == "reject":
            return None, tuple(flags)
    return score, tuple(flags)


def criteria_counts(root: NodeSpec) -> dict[int, int]:
    """Return level -> number of criteria for the tree of a level rubric; levels without criteria are absent."""
    return {int(level.key): len(level.children) for level in root.children if level.kind == "level" and level.children}


def with_cascade_options(root: NodeSpec, options: CascadeOptions) -> NodeSpec:
    """Return the tree of a level rubric with its aggregators set by the options, for `rubric_tree.score_tree`."""
    levels = []
    for level in root.children:
        kind = options.level_100 if int(level.key) == TOP else "count_times"
        value = TOP if int(level.key) == TOP else level_value(int(level.key), options)
        levels.append(level._replace(aggregator={"type": kind, "value": value}))
    clip = {"clip": [0, TOP]} if options.clip else {}
    return root._replace(aggregator={"type": "cascade", **clip}, children=tuple(levels))


def level_value(level: int, options: CascadeOptions) -> int:
    """Return what a met criterion of a level is worth; level 100 counts once."""
    return options.level_25_value if level == GRID else level


def full_score(node: NodeSpec) -> Fraction:
    """Return the best score that a tree can give, for showing a share; 1 where it cannot be told."""
    best: JsonDict = {}
    for leaf in walk(node):
        if is_scored_leaf(leaf):
            worth = leaf.points if leaf.points is not None else 1
            best[leaf.key] = _best_value(leaf, is_gain=worth > 0)
    score = score_tree(node, best).score if all(value is not None for value in best.values()) else None
    return score if score is not None and score > 0 else Fraction(1)


def scale_of_tree(tree: NodeSpec | None) -> ScoreScale:
    """Return the scale that all criteria of a tree share, where scores of the whole keep to it; else shares."""
    leaves = [node for node in walk(tree) if is_scored_leaf(node)] if tree is not None else []
    ends = {(leaf.scale.minimum, leaf.scale.maximum) if leaf.scale is not None else (None, None) for leaf in leaves}
    low, high = ends.pop() if len(ends) == 1 else (None, None)
    if tree is None or low is None or high is None or full_score(tree) != exact(high):
        return SHARE
    worst = score_tree(tree, {leaf.key: low for leaf in leaves}).score
    return rating(low, high) if worst == exact(low) else SHARE


def _best_value(leaf: NodeSpec, *, is_gain: bool) -> Any:
    scale = leaf.scale or ScaleSpec("boolean")  # as a judge is told, and its reply read
    if scale.kind == "boolean":
        return is_gain
    if scale.kind == "nominal":
        return max(scale.labels, key=lambda label: leaf.value_map.get(label, 0))
    return scale.maximum if is_gain else scale.minimum
