"""Where each answer of an ESI run ended. Source: Lunar-Bench: an accuracy error wins over an integrity error."""

from __future__ import annotations

from enum import StrEnum


class EsiStatus(StrEnum):
    """The original's words for where an item ended."""

    COMPLETED = "COMPLETED"
    WORKER_ERROR = "ERROR_WORKER_API"
    ACCURACY_ERROR = "ERROR_ACCURACY_JUDGE"
    INTEGRITY_ERROR = "ERROR_INTEGRITY_JUDGE"
    BAD_INPUT = "ERROR_INPUT_JSON_DECODE"
    INCOMPLETE_INPUT = "SKIPPED_DATA_INCOMPLETE"
    UNEXPECTED = "ERROR_UNEXPECTED_PIPELINE"


def judged_status(*, accuracy_failed: bool, integrity_failed: bool) -> EsiStatus:
    """Return the status of an answer that both judges were asked about."""
    if accuracy_failed:
        return EsiStatus.ACCURACY_ERROR
    return EsiStatus.INTEGRITY_ERROR if integrity_failed else EsiStatus.COMPLETED
