"""Stores verdicts and scores. What a retry replaces is kept as past; the row that people's work points to stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from judging.models import PastScore, PastVerdict, Score, Verdict

VERDICT_FIELDS = (
    "status",
    "value",
    "rationale",
    "confidence",
    "flags",
    "reason",
    "call_ids",
    "votes",
    "parser_version",
    "created_at",
)
SCORE_FIELDS = ("status", "value", "full", "share", "detail", "flags", "created_at")
Row = TypeVar("Row", Verdict, Score)


def store_verdicts(*, rows: Sequence[Verdict], at: datetime) -> list[Verdict]:
    """Store verdicts, each in the row of the one it supersedes, and return the superseded ones as they were."""
    current = Verdict.objects.filter(
        evaluator__in={row.evaluator_id for row in rows}, response__in={row.response_id for row in rows}
    )
    superseded = _take_rows(rows, current)
    PastVerdict.objects.bulk_create(
        PastVerdict(verdict=old, superseded_at=at, **{name: getattr(old, name) for name in VERDICT_FIELDS})
        for old in superseded
    )
    Verdict.objects.bulk_update([row for row in rows if row.pk is not None], VERDICT_FIELDS)
    Verdict.objects.bulk_create([row for row in rows if row.pk is None])
    return superseded


def store_scores(*, rows: Sequence[Score], at: datetime) -> None:
    """Store scores, each in the row of the one it supersedes."""
    current = Score.objects.filter(
        evaluator__in={row.evaluator_id for row in rows}, response__in={row.response_id for row in rows}
    )
    superseded = _take_rows(rows, current)
    PastScore.objects.bulk_create(
        PastScore(score=old, superseded_at=at, **{name: getattr(old, name) for name in SCORE_FIELDS})
        for old in superseded
    )
    Score.objects.bulk_update([row for row in rows if row.pk is not None], [*SCORE_FIELDS, "verdict"])
    Score.objects.bulk_create([row for row in rows if row.pk is None])


def _take_rows(rows: Sequence[Row], current: Iterable[Row]) -> list[Row]:
    """Give each new row the key of the old one about the same response; return the old ones."""
    by_subject = {(old.evaluator_id, old.response_id): old for old in current}
    superseded: list[Row] = []
    for row in rows:
        old = by_subject.get((row.evaluator_id, row.response_id))
        if old is not None:
            row.pk = old.pk
            superseded.append(old)
    return superseded
