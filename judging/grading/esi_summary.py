"""Where each answer of an index run ended, and the averages over those that completed.

Source: Lunar-Bench. Averages cover completed items only; an accuracy error wins over an integrity error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from judging.grading.esi import SUB_SCORES, EsiScore


class EsiStatus(StrEnum):
    """The original's words for where an item ended."""

    COMPLETED = "COMPLETED"
    WORKER_ERROR = "ERROR_WORKER_API"
    ACCURACY_ERROR = "ERROR_ACCURACY_JUDGE"
    INTEGRITY_ERROR = "ERROR_INTEGRITY_JUDGE"
    BAD_INPUT = "ERROR_INPUT_JSON_DECODE"
    INCOMPLETE_INPUT = "SKIPPED_DATA_INCOMPLETE"
    UNEXPECTED = "ERROR_UNEXPECTED_PIPELINE"


@dataclass(frozen=True, slots=True)
class EsiItem:
    """One line of the input with its end and its scores, which only a judged answer has."""

    status: EsiStatus
    score: EsiScore | None = None


@dataclass(frozen=True, slots=True)
class EsiSummary:
    """Counts by status and two-decimal averages over completed items; None where none completed."""

    total: int
    counts: dict[EsiStatus, int]
    averages: dict[str, float | None]


def judged_status(*, accuracy_failed: bool, integrity_failed: bool) -> EsiStatus:
    """Return the status of an answer that both judges were asked about."""
    if accuracy_failed:
        return EsiStatus.ACCURACY_ERROR
    return EsiStatus.INTEGRITY_ERROR if integrity_failed else EsiStatus.COMPLETED


def summarise(items: Sequence[EsiItem]) -> EsiSummary:
    """Return counts and averages of a run; scores of items that did not complete are left out, not zero."""
    counts = Counter(item.status for item in items)
    scores = [item.score for item in items if item.status is EsiStatus.COMPLETED and item.score is not None]
    averages = {name: _average([getattr(score, name) for score in scores]) for name in (*SUB_SCORES, "esi")}
    return EsiSummary(len(items), {status: counts[status] for status in EsiStatus}, averages)


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 2) if known else None
