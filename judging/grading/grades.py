"""What grading one response yields: dataclasses shared by every rule grader, and their form as JSON.

Everything under `detail` is JSON-like (dict, list, str, int, float, bool, None), so it can be stored and shown as it
is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from evalsite.base.choices import LabelledEnum
from evalsite.base.json_types import JsonDict, JsonObject

ENVIRONMENT = "environment"  # what unit tests ran with: tool or library -> version, and the sandbox's profile
LONGEST_MESSAGE = 500  # characters; messages quote what is at fault, which may be large


class ScoreStatus(LabelledEnum):
    """`incomplete`: something could not be decided or run. `error`: the specification is at fault. Neither is 0."""

    COMPLETE = "complete", "Complete"
    INCOMPLETE = "incomplete", "Incomplete"
    ERROR = "error", "Error"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark about a grade; `code` is a key of `RULES` in tests/parity/divergences.py."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class GradingFault:
    """An error that in InfiBench throws away the whole case."""

    kind: str  # class name of InfiBench's exception, e.g. "KeyError"
    message: str


class BadSpecification(Exception):
    """The grading specification cannot be applied; `kind` names the exception InfiBench raises."""

    def __init__(self, kind: str, message: str, code: str = "13.07") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
        self.code = code


class NotDecided(Exception):
    """A limit was reached, or something needed is not there: the criterion has no score, which is not a zero."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class CriterionGrade:
    """Points for one criterion. `got` is None exactly when the status is incomplete."""

    name: str  # keywords | blank_filling | unit_test | similarity | customized
    got: float | None
    total: float
    status: ScoreStatus = ScoreStatus.COMPLETE
    detail: JsonObject = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    fault: GradingFault | None = None


@dataclass(frozen=True, slots=True)
class ResponseGrade:
    """One attempt graded. `score` is None unless it is known; it is never 0 for want of an answer."""

    got: float | None  # after max_score and min_score
    total: float
    score: float | None  # got / total * full_score
    full_score: float
    status: ScoreStatus
    criteria: tuple[CriterionGrade, ...] = ()
    notes: tuple[Note, ...] = ()
    fault: GradingFault | None = None

    def criterion(self, name: str) -> CriterionGrade | None:
        """Return the named criterion's grade, None where the case does not use it."""
        return next((grade for grade in self.criteria if grade.name == name), None)

    def all_notes(self) -> tuple[Note, ...]:
        """Return the notes of the attempt and of its criteria, in order."""
        return self.notes + tuple(note for grade in self.criteria for note in grade.notes)


@dataclass(frozen=True, slots=True)
class GradingOptions:
    """How to grade. `compat`: do as InfiBench does wherever our default deliberately differs."""

    compat: bool = False
    regex_timeout_seconds: float = 0.25  # for one search
    regex_timeouts_allowed: int = 4  # in one response; later searches are then not tried
    alignment_cells: int = 20_000_000  # template characters x response characters; 8 bytes each
    nodes: int = 10_000  # keyword nodes evaluated in one response


def number(value: object, what: str) -> float:
    """Return `value` as a finite float.

    Raises:
        BadSpecification: it is not a number (text that looks like one included), or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadSpecification("TypeError", f"{what} must be a number, not {value!r}.")
    return finite(value, what)


def finite(value: Any, what: str) -> float:
    """Return `value`, a number or text that reads as one, as a finite float.

    Raises:
        BadSpecification: it is neither, or not finite.
    """
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadSpecification(type(error).__name__, f"{what} must be a number, not {value!r}.") from error
    if not math.isfinite(result):
        raise BadSpecification("ValueError", f"{what} must be finite, not {value!r}.")
    return result


def readable_weight(value: object) -> float:
    """Return a weight as it counts for a criterion that could not be graded: 1 where it is no finite number."""
    try:
        return number(value, "`weight`")
    except BadSpecification:
        return 1.0


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
