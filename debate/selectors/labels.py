"""What people said of debates elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q

from debate.models import DebateSet, OutsideLabel


@dataclass(slots=True)
class LabelSource:
    """The labels of a set that came with one file and that no later file replaced."""

    file: str
    raters: dict[str, int]  # how many labels each of them gave
    blind: int  # labels whose raters had seen neither the debates nor each other's labels
    at: datetime  # when the newest of them was stored

    @property
    def labels(self) -> int:
        return sum(self.raters.values())


def label_sources(debate_set: DebateSet) -> list[LabelSource]:
    """Return the files that labels of a set came with, the newest first. One query."""
    labels = OutsideLabel.objects.filter(debate__debate_set=debate_set).order_by("rater").values("source", "rater")
    sources: dict[str, LabelSource] = {}
    for row in labels.annotate(count=Count("pk"), blind=Count("pk", filter=Q(is_blind=True)), at=Max("created_at")):
        source = sources.setdefault(row["source"], LabelSource(row["source"], {}, 0, row["at"]))
        source.raters[row["rater"]] = row["count"]
        source.blind += row["blind"]
        source.at = max(source.at, row["at"])
    return sorted(sources.values(), key=lambda source: (-source.at.timestamp(), source.file))


def outside_labels(debate_ids: Sequence[int], *, is_blind: bool | None = None) -> list[tuple[int, str, int]]:
    """Return (debate, rater, verdict in system space) of these debates. One query.

    With `is_blind` only those that were given blind, or only the others.
    """
    labels = OutsideLabel.objects.filter(debate__in=debate_ids).order_by("debate_id", "rater")
    if is_blind is not None:
        labels = labels.filter(is_blind=is_blind)
    return list(labels.values_list("debate_id", "rater", "verdict"))
