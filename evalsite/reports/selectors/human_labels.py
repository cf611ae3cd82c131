"""What people finally said of an evaluator's scores, on the scale from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass

from evalsite.review.selectors.labels.final_labels import labels_of_evaluators
from judging.models import RunEvaluator


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What people were asked about one response. Only audited ones may stand for responses nobody was asked about."""

    response_id: int
    label: str  # final and blind; empty while it is not decided
    share: float | None  # None: not decided, or the scale has no numbers
    is_drawn: bool  # by the audit
    is_routed: bool  # by a rule


def human_labels(evaluator: RunEvaluator) -> list[HumanLabel]:
    """Return what people were asked about this evaluator's scores, by response. `evaluator.run` is loaded."""
    rows = labels_of_evaluators([evaluator])[evaluator.pk]
    return [HumanLabel(row.response_ids[0], row.label or "", row.share, row.is_drawn, row.is_routed) for row in rows]
