"""One response graded by rules: criteria in their fixed order, then max_score, min_score and the case's full score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.base.types import JsonObject
from judging.grading import blanks, keywords, unit_tests
from judging.grading.blanks import Alignment
from judging.grading.contexts import GradingContext, Handlers, ProgramRunner, make_context
from judging.grading.grades import (
    BadSpecification,
    CriterionGrade,
    GradingFault,
    GradingOptions,
    NotDecided,
    Note,
    ResponseGrade,
    number,
)
from judging.grading.rubric_tree import ScoreStatus
from judging.specs.files.encodings import normalise_newlines

CRITERIA = ("keywords", "blank_filling", "unit_test", "similarity", "customized")


@dataclass(frozen=True, slots=True)
class GradedCase:
    """What grading needs of a case."""

    grading: JsonObject
    lang: str = ""
    full_score: float = 1.0
    handlers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Attempt:
    case: GradedCase
    text: str
    context: GradingContext
    runner: ProgramRunner | None
    alignment: Alignment | None


def grade_responses(
    case: GradedCase, texts: Sequence[str], *, options: GradingOptions, runner: ProgramRunner | None = None
) -> list[ResponseGrade]:
    """Return the grade of each response to one case; faster than one by one where blanks are aligned.

    Line ends are normalised to newlines first, and places in a detail count in the normalised text. Never raises for
    anything in case or response: a faulty specification gives `status` error. By default its criterion then scores 0;
    in compat mode the score is None, which drops the case from a suite's sums. Whatever could not be run or decided
    makes the grade incomplete: its score is None, not 0.
    """
    normal = [normalise_newlines(text) for text in texts]
    alignments = _align(case, normal, options)
    handlers = Handlers(case.handlers, runner)
    return [
        _grade(_Attempt(case, text, make_context(options, handlers), runner, alignment))
        for text, alignment in zip(normal, alignments, strict=True)
    ]


def _align(case: GradedCase, texts: list[str], options: GradingOptions) -> list[Alignment | None]:
    if "blank_filling" not in case.grading:
        return [None] * len(texts)
    try:
        return blanks.align_responses(case.grading["blank_filling"], texts, options)
    except BadSpecification:  # told again, and kept, when the criterion itself is graded
        return [None] * len(texts)


def _grade(attempt: _Attempt) -> ResponseGrade:
    graders: dict[str, Callable[[_Attempt], CriterionGrade]] = {
        "keywords": lambda job: keywords.grade_keywords(job.case.grading["keywords"], job.text, job.context),
        "blank_filling": lambda job: blanks.grade_blanks(
            job.case.grading["blank_filling"], job.text, job.context, job.alignment
        ),
        "unit_test": lambda job: unit_tests.grade_unit_tests(
            job.case.grading["unit_test"], job.text, job.case.lang, job.context.options, job.runner
        ),
        "similarity": lambda job: keywords.grade_similarity(job.case.grading["similarity"], job.text),
        "customized": _grade_custom,
    }
    criteria = [_guarded(name, graders[name], attempt) for name in CRITERIA if name in attempt.case.grading]
    return _sum_up(attempt, tuple(criteria))


def _grade_custom(attempt: _Attempt) -> CriterionGrade:
    spec = attempt.case.grading["customized"]
    if not isinstance(spec, Mapping):
        raise BadSpecification("TypeError", "`customized` must be a mapping.")
    reply = attempt.context.handlers.grade(spec, attempt.text)
    detail = {"detail": reply.detail, "real_metric_type": spec.get("real_metric_type", "custom")}
    return CriterionGrade("customized", reply.got, reply.total, detail=detail)


def _guarded(name: str, grade: Callable[[_Attempt], CriterionGrade], attempt: _Attempt) -> CriterionGrade:
    """Return the criterion's grade, with a faulty specification or an exceeded limit turned into one."""
    spec = attempt.case.grading[name]
    try:
        return grade(attempt)
    except (NotDecided, RecursionError, MemoryError) as reason:
        note = Note("limit.size", "The specification is nested too deeply or too large.")
        if isinstance(reason, NotDecided):
            note = Note(reason.code, reason.message)
        return CriterionGrade(name, None, _nominal_total(name, spec), ScoreStatus.INCOMPLETE, {}, (note,))
    except BadSpecification as fault:
        note = Note(fault.code, fault.message)
        error = GradingFault(fault.kind, fault.message)
        return CriterionGrade(name, 0.0, _nominal_total(name, spec), ScoreStatus.ERROR, {}, (note,), error)


def _nominal_total(name: str, spec: object) -> float:
    """Return the points a criterion that could not be graded counts for in the attempt's total."""
    totals: dict[str, Callable[[Any], float]] = {
        "keywords": keywords.nominal_total,
        "blank_filling": blanks.nominal_total,
        "unit_test": unit_tests.nominal_total,
        "similarity": keywords.similarity_total,
    }
    return totals[name](spec) if name in totals else 1.0


def _sum_up(attempt: _Attempt, criteria: tuple[CriterionGrade, ...]) -> ResponseGrade:
    full_score = attempt.case.full_score
    total = sum(grade.total for grade in criteria)
    fault = next((grade.fault for grade in criteria if grade.fault), None)
    if fault and attempt.context.options.compat:
        return ResponseGrade(None, total, None, full_score, ScoreStatus.ERROR, criteria, (), fault)
    is_bare = not (attempt.case.grading or attempt.context.options.compat)  # the original divides by 0 there
    if is_bare or any(grade.status is ScoreStatus.INCOMPLETE for grade in criteria):
        return ResponseGrade(None, total, None, full_score, ScoreStatus.INCOMPLETE, criteria)
    got = sum(grade.got or 0.0 for grade in criteria)
    try:
        got, total = _clip(attempt.case.grading, got, total)
        score = _share(got, total) * full_score
    except BadSpecification as error:
        return _void(attempt, criteria, total, error)
    status = ScoreStatus.ERROR if fault else ScoreStatus.COMPLETE
    return ResponseGrade(got, total, score, full_score, status, criteria, (), fault)


def _clip(grading: JsonObject, got: float, total: float) -> tuple[float, float]:
    """Return got and total after max_score, which replaces the total, and min_score, a floor that comes after it."""
    if "max_score" in grading:
        total = number(grading["max_score"], "`max_score`")
        got = min(got, total)
    if "min_score" in grading:
        got = max(got, number(grading["min_score"], "`min_score`"))
    return got, total


def _share(got: float, total: float) -> float:
    if total == 0:
        raise BadSpecification("ZeroDivisionError", "The full score is 0, so there is no share of it.")
    if not (math.isfinite(got) and math.isfinite(total)):
        raise BadSpecification("ValueError", "Weights or scores are not finite numbers.")
    return got / total


def _void(
    attempt: _Attempt, criteria: tuple[CriterionGrade, ...], total: float, error: BadSpecification
) -> ResponseGrade:
    """Return the grade of an attempt whose points cannot be shared out: no score in compat mode, else 0."""
    compat = attempt.context.options.compat
    got = score = None if compat else 0.0
    fault, note = GradingFault(error.kind, error.message), Note(error.code, error.message)
    return ResponseGrade(got, total, score, attempt.case.full_score, ScoreStatus.ERROR, criteria, (note,), fault)
