"""Scores of several attempts and of cases put together.

Two different "±" exist and must not be mixed up: a case's standard deviation over groups of attempts
(`reduce_scores`), and that of a suite's totals over groups (the rows of `suite_report`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judging.grading.grades import Note, ResponseGrade, ScoreStatus

_PLAIN_MODES: dict[str, Callable[[Sequence[float]], float]] = {
    "avg": lambda scores: float(np.mean(scores)),
    "max": max,
    "min": min,
}
_AVG_MAX = re.compile(r"avg_max_([1-9][0-9]{0,8})")


class UnknownReduceMode(ValueError):
    """The attempt_reduce_mode is none of avg, max, min, avg_max_<k>."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """One number for several attempts. `std` is 0 except for avg_max_<k> with two or more groups."""

    score: float
    std: float


@dataclass(frozen=True, slots=True)
class CaseScore:
    """A case in a suite's sums. `score` is None where it is left out of them, for the reason in `notes`."""

    key: str
    score: float | None
    std: float
    full_score: float
    status: ScoreStatus
    attempts: int
    notes: tuple[Note, ...] = ()


def check_reduce_mode(mode: str) -> None:
    """Accept avg, max, min and avg_max_<k>.

    Raises:
        UnknownReduceMode: any other.
    """
    if mode not in _PLAIN_MODES and not _AVG_MAX.fullmatch(mode):
        raise UnknownReduceMode(f"attempt_reduce_mode {mode!r} is unknown; use avg, max, min or avg_max_<k>.")


def reduce_scores(scores: Sequence[float], mode: str) -> Reduced:
    """Return the score of one or more attempts, in their order.

    avg_max_<k>: the best of each consecutive group of k (the last may be short), averaged; std is the sample deviation
    (n - 1) of the group bests.

    Raises:
        UnknownReduceMode: as `check_reduce_mode`.
        ValueError: there are no scores.
    """
    check_reduce_mode(mode)
    if not scores:
        raise ValueError("There are no scores to reduce.")
    grouped = _AVG_MAX.fullmatch(mode)
    if not grouped:
        return Reduced(float(_PLAIN_MODES[mode](scores)), 0.0)
    size = int(grouped[1])
    best = [max(scores[start : start + size]) for start in range(0, len(scores), size)]
    return Reduced(float(np.mean(best)), _sample_std(best))


def score_case(
    key: str, grades: Sequence[ResponseGrade], *, mode: str, full_score: float, null_score: float
) -> CaseScore:
    """Return the case's score over its attempts. Without attempts: the null score as it stands (rules 13.05, 13.06).

    One attempt without a score leaves the case without one: what is not known is not averaged over.
    """
    if not grades:
        note = Note("13.05", f"There are no responses; the null score {null_score:g} counts.")
        return CaseScore(key, null_score, 0.0, full_score, ScoreStatus.COMPLETE, 0, (note,))
    scores = [grade.score for grade in grades if grade.score is not None]
    errors = any(grade.status is ScoreStatus.ERROR for grade in grades)
    if len(scores) == len(grades):
        reduced = reduce_scores(scores, mode)
        status = ScoreStatus.ERROR if errors else ScoreStatus.COMPLETE
        return CaseScore(key, reduced.score, reduced.std, full_score, status, len(grades))
    missing = len(grades) - len(scores)
    code, status = ("13.07", ScoreStatus.ERROR) if errors else ("not-run", ScoreStatus.INCOMPLETE)
    note = Note(code, f"{missing} of {len(grades)} attempts have no score, so the case is left out of the sums.")
    return CaseScore(key, None, 0.0, full_score, status, len(grades), (note,))


def _sample_std(values: Sequence[float]) -> float:
    """Return the standard deviation with n - 1, 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
