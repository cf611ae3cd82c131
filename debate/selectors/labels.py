"""What people said of debates elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count

from debate.models import DebateSet, OutsideLabel


def raters_of(debate_set: DebateSet) -> list[tuple[str, int]]:
    """Return who has labelled debates of a set elsewhere, and how many."""
    labels = OutsideLabel.objects.filter(debate__debate_set=debate_set).order_by("rater")
    return list(labels.values_list("rater").annotate(count=Count("pk")))


def outside_labels(debate_ids: Sequence[int], *, is_blind: bool | None = None) -> list[tuple[int, str, int]]:
    """Return (debate, rater, verdict in system space) of these debates. One query.

    With `is_blind` only those that were given blind, or only the others.
    """
    labels = OutsideLabel.objects.filter(debate__in=debate_ids).order_by("debate_id", "rater")
    if is_blind is not None:
        labels = labels.filter(is_blind=is_blind)
    return list(labels.values_list("debate_id", "rater", "verdict"))
