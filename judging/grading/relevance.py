"""The relevance score: accuracy, comprehensiveness and context precision, each 0..10, with caps.

Source: Advanced Relevance Evaluator. Rules in order: no context -> context precision 0; accuracy at most 2 -> the
other two at most 4. The judge's own final number is never the score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

LOW_ACCURACY = 2
CAP = 4
MAXIMUM = 10
FINAL_TOLERANCE = 0.05


class BadRelevanceOption(ValueError):
    """An option of the relevance score has a value that it cannot have."""


@dataclass(frozen=True, slots=True)
class RelevanceOptions:
    """The points that the source leaves open."""

    enforce_rules: bool = True  # False: trust that the judge applied them
    without_context: str = "zero"  # "drop": the mean of the other two, so that 1.0 can be reached
    decimals: int = 1  # shown; the score itself stays exact

    def __post_init__(self) -> None:
        if self.without_context not in ("zero", "drop") or self.decimals not in (1, 2):
            raise BadRelevanceOption("without_context is zero or drop; decimals is 1 or 2.")


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The three scores, each 0..10. Context precision may be None where there is no context."""

    accuracy: int
    comprehensiveness: int
    context_precision: int | None


@dataclass(frozen=True, slots=True)
class RelevanceScore:
    """`final` is exact, 0..1; `dimensions` are after the rules, `raw` as the judge gave them."""

    final: Fraction
    dimensions: Dimensions
    raw: Dimensions
    flags: tuple[str, ...] = ()

    def shown(self, decimals: int = 1) -> float:
        """Return the score rounded for display; a third never ends in 5, so the rounding mode cannot matter."""
        return float(round(self.final, decimals))


def relevance_score(raw: Dimensions, *, has_context: bool, options: RelevanceOptions | None = None) -> RelevanceScore:
    """Return the exact score (A + C + P) / 30, or (A + C) / 20 where the option drops a missing context.

    Raises:
        ValueError: a score outside 0..10, or no context precision although there is a context.
    """
    options = options or RelevanceOptions()
    if has_context and raw.context_precision is None:
        raise ValueError("Context precision is missing although there is a context.")
    for score in (raw.accuracy, raw.comprehensiveness, raw.context_precision or 0):
        if not 0 <= score <= MAXIMUM:
            raise ValueError(f"A score is from 0 to {MAXIMUM}, not {score}.")
    flags: list[str] = []
    dimensions = replace(raw, context_precision=raw.context_precision or 0)
    if options.enforce_rules:
        dimensions = _apply_rules(dimensions, has_context=has_context, flags=flags)
    if not has_context and options.without_context == "drop":
        return RelevanceScore(
            Fraction(dimensions.accuracy + dimensions.comprehensiveness, 20), dimensions, raw, (*flags, "no_context")
        )
    total = dimensions.accuracy + dimensions.comprehensiveness + (dimensions.context_precision or 0)
    return RelevanceScore(Fraction(total, 30), dimensions, raw, tuple(flags))


def _apply_rules(dimensions: Dimensions, *, has_context: bool, flags: list[str]) -> Dimensions:
    if not has_context and dimensions.context_precision:
        dimensions = replace(dimensions, context_precision=0)
        flags.append("no_context_forced_0")
    if dimensions.accuracy > LOW_ACCURACY:
        return dimensions
    if dimensions.comprehensiveness > CAP:
        dimensions = replace(dimensions, comprehensiveness=CAP)
        flags.append("capped:comprehensiveness")
    if (dimensions.context_precision or 0) > CAP:
        dimensions = replace(dimensions, context_precision=CAP)
        flags.append("capped:context_precision")
    return dimensions


def final_disagrees(stated: float, score: RelevanceScore) -> bool:
    """Return whether the judge's own final number is more than 0.05 from the computed one."""
    return abs(stated - float(score.final)) > FINAL_TOLERANCE + 1e-9
