"""Grades as JSON, so that a stored score can be shown without grading again."""

from __future__ import annotations

from dataclasses import asdict

from evalsite.base.json_types import JsonDict
from judging.grading.grades import CriterionGrade, ResponseGrade

ENVIRONMENT = "environment"  # what unit tests ran with: tool or library -> version, and the sandbox's profile


def grade_to_json(grade: ResponseGrade) -> JsonDict:
    """Return everything of a grade but its score, full score and status, which have columns of their own."""
    criteria = [_criterion_to_json(criterion) for criterion in grade.criteria]
    detail: JsonDict = {"criteria": criteria, "got": grade.got, "total": grade.total}
    for criterion in criteria:
        if ENVIRONMENT in criterion["detail"]:  # at the top, where an export finds it without reading the rest
            detail[ENVIRONMENT] = criterion["detail"].pop(ENVIRONMENT)
    if grade.notes:
        detail["notes"] = [asdict(note) for note in grade.notes]
    if grade.fault:
        detail["fault"] = asdict(grade.fault)
    return detail


def _criterion_to_json(criterion: CriterionGrade) -> JsonDict:
    # Not asdict, which copies the details leaf by leaf: for a rule grade that takes as long as all the rest.
    return {
        "name": criterion.name,
        "got": criterion.got,
        "total": criterion.total,
        "status": criterion.status,
        "detail": dict(criterion.detail),
        "notes": [asdict(note) for note in criterion.notes],
        "fault": asdict(criterion.fault) if criterion.fault else None,
    }
