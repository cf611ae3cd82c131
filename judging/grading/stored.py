"""Grades as JSON and back, so that a stored score can be compared and shown without grading again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from judging.grading.marks import CriterionGrade, Fault, GradeStatus, Note, ResponseGrade

ENVIRONMENT = "environment"  # what unit tests ran with: tool or library -> version, and the sandbox's profile


def grade_to_json(grade: ResponseGrade) -> dict[str, Any]:
    """Return everything of a grade but its score, full score and status, which have columns of their own."""
    criteria = [_criterion_to_json(criterion) for criterion in grade.criteria]
    detail: dict[str, Any] = {"criteria": criteria, "got": grade.got, "total": grade.total}
    for criterion in criteria:
        if ENVIRONMENT in criterion["detail"]:  # at the top, where an export finds it without reading the rest
            detail[ENVIRONMENT] = criterion["detail"].pop(ENVIRONMENT)
    if grade.notes:
        detail["notes"] = [asdict(note) for note in grade.notes]
    if grade.fault:
        detail["fault"] = asdict(grade.fault)
    return detail


def _criterion_to_json(criterion: CriterionGrade) -> dict[str, Any]:
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


def grade_from_json(
    detail: Mapping[str, Any], *, status: str, score: float | None, full_score: float | None
) -> ResponseGrade:
    """Return the grade that `grade_to_json` made JSON of."""
    return ResponseGrade(
        got=detail.get("got"),
        total=float(detail.get("total") or 0.0),
        score=score,
        full_score=1.0 if full_score is None else full_score,
        status=GradeStatus(status),
        criteria=tuple(_criterion(entry, detail.get(ENVIRONMENT)) for entry in detail.get("criteria", ())),
        notes=_notes(detail),
        fault=_fault(detail),
    )


def _criterion(entry: Mapping[str, Any], environment: Any) -> CriterionGrade:
    is_program = environment is not None and "tests" in entry["detail"]
    return CriterionGrade(
        name=str(entry["name"]),
        got=entry["got"],
        total=float(entry["total"] or 0.0),
        status=GradeStatus(entry["status"]),
        detail=entry["detail"] | ({ENVIRONMENT: environment} if is_program else {}),
        notes=_notes(entry),
        fault=_fault(entry),
    )


def _notes(owner: Mapping[str, Any]) -> tuple[Note, ...]:
    return tuple(Note(note["code"], note["text"]) for note in owner.get("notes") or ())


def _fault(owner: Mapping[str, Any]) -> Fault | None:
    fault = owner.get("fault")
    return Fault(fault["kind"], fault["message"]) if fault else None
