"""The level cascade: the highest level with a met criterion decides.

Source: LLM-Score of ORD-MMBench. Level 100 gives 100 once; levels 50 and 25 give their value for each met criterion.
Which criteria are met is said by judges and people; here it becomes a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from judging.specs.types import NodeSpec

TOP = 100
STANDARD = frozenset({25, 50, 100})
GRID = 25  # every score of the documented levels is a multiple of this
PARTIAL_STEP = 20  # what the prompt of ORD-MMBench says a level-25 criterion is worth


class BadCascadeOption(ValueError):
    """An option of the cascade has a value that it cannot have."""


@dataclass(frozen=True, slots=True)
class CascadeOptions:
    """The points that the source texts leave open; the defaults follow the recorded scores."""

    level_25_value: int = 25  # 20: as the prompt of ORD-MMBench says
    level_100: str = "any"  # "all": every level-100 criterion must be met
    clip: bool = True  # to 0..100
    off_grid: str = "keep"  # a judge's 20/40/60/80: keep and flag | normalise | reject
    infeasible: str = "keep"  # a judge's score that no set of met criteria gives: keep and flag | reject

    def __post_init__(self) -> None:
        allowed: dict[str, tuple[object, ...]] = {
            "level_25_value": (20, 25),
            "level_100": ("any", "all"),
            "off_grid": ("keep", "normalise", "reject"),
            "infeasible": ("keep", "reject"),
        }
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise BadCascadeOption(f"{name} is one of {', '.join(map(str, values))}, not {getattr(self, name)!r}.")


@dataclass(frozen=True, slots=True)
class CascadeScore:
    """A score from met criteria. `deciding_level` is None where nothing is met."""

    score: int
    deciding_level: int | None


@dataclass(frozen=True, slots=True)
class ReviewedScore:
    """A judge's own number after the checks; `score` is None where an option rejects it."""

    score: int | None
    flags: tuple[str, ...] = ()


def cascade_score(
    counts: Mapping[int, int], met: Mapping[int, int], options: CascadeOptions | None = None
) -> CascadeScore:
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
            return CascadeScore(min(points, TOP) if options.clip else points, level)
    return CascadeScore(0, None)


def feasible_scores(counts: Mapping[int, int], options: CascadeOptions | None = None) -> tuple[int, ...]:
    """Return every score that some set of met criteria gives, ascending; 0 is always one."""
    options = options or CascadeOptions()
    scores = {0}
    for level, count in counts.items():
        for hits in range(1, count + 1):
            points = TOP if level == TOP else hits * level_value(level, options)
            scores.add(min(points, TOP) if options.clip else points)
    return tuple(sorted(scores))


def review_score(score: int, counts: Mapping[int, int] | None, options: CascadeOptions | None = None) -> ReviewedScore:
    """Return a judge's holistic score 0..100 with flags `off_grid`, `normalised` and `infeasible`.

    `counts` is the number of criteria per level; without it feasibility is not checked.
    """
    options = options or CascadeOptions()
    flags: list[str] = []
    grid = GRID if counts is None or STANDARD.issuperset(counts) else gcd(*counts)
    if score % grid:
        flags.append("off_grid")
        if options.off_grid == "reject":
            return ReviewedScore(None, tuple(flags))
        met = score // PARTIAL_STEP
        possible = grid == GRID and score % PARTIAL_STEP == 0 and (counts is None or met <= counts.get(GRID, 0))
        if options.off_grid == "normalise" and possible:
            score = min(met * GRID, TOP)
            flags.append("normalised")
    if counts is not None and score not in feasible_scores(counts, options):
        flags.append("infeasible")
        if options.infeasible == "reject":
            return ReviewedScore(None, tuple(flags))
    return ReviewedScore(score, tuple(flags))


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
