"""What a judge of a kind needs before it can be asked, and whether it is a baseline without a language model."""

from __future__ import annotations

from judging.judges.kinds.panel import members_of
from judging.judges.registry import KINDS, judge_kind
from judging.models import Judge, Rubric

LEVEL_SHAPE = "levels"


def needs_of(judge: Judge) -> frozenset[str]:
    """Return what a judge cannot be asked without; see `JudgeKind`."""
    return judge_kind(judge.kind).needs_with(judge.options)


def is_baseline(judge: Judge) -> bool:
    """Return whether no language model is behind it: by its kind, or as a lexical baseline answers it or a member."""
    by_kind = judge.kind in KINDS and KINDS[judge.kind].is_baseline
    by_member = any(member.get("is_baseline") for member in members_of(judge.options))
    return by_kind or by_member or (judge.endpoint is not None and judge.endpoint.is_baseline)


def needs_rubric(judge: Judge) -> bool:
    """Return whether a judge cannot be asked without a rubric."""
    return bool(needs_of(judge) & {"rubric", "levels", "any_rubric"})


def uses_rubric(judge: Judge, rubric: Rubric) -> bool:
    """Return whether a judge needs a rubric of this shape."""
    if "any_rubric" in needs_of(judge):
        return True
    return needs_rubric(judge) and (rubric.shape == LEVEL_SHAPE) == ("levels" in needs_of(judge))
