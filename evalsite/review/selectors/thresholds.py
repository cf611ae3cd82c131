"""From which confidence on judges decide alone: what was chosen for their version, else the site's default."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from evalsite.review.models import EvaluatorThreshold
from judging.models import RunEvaluator, Verdict
from judging.selectors.judges.judge_versions import versions_of


def thresholds_of(evaluators: Sequence[RunEvaluator]) -> dict[int, float]:
    """Return the threshold in force of each evaluator by its key, with two queries."""
    keys = {pk: version.key for pk, version in versions_of(evaluators).items()}
    saved = EvaluatorThreshold.objects.filter(version_key__in=keys.values())
    chosen = dict(saved.values_list("version_key", "threshold"))
    return {pk: chosen.get(key, settings.REVIEW_CONFIDENCE_THRESHOLD) for pk, key in keys.items()}


def unsure_verdicts(verdicts: Sequence[Verdict]) -> frozenset[int]:
    """Return the keys of the verdicts whose measured confidence is below the threshold of their evaluator."""
    measured = [verdict for verdict in verdicts if verdict.confidence is not None]
    if not measured:
        return frozenset()
    thresholds = thresholds_of(list({verdict.evaluator_id: verdict.evaluator for verdict in measured}.values()))
    return frozenset(
        verdict.pk
        for verdict in measured
        if verdict.confidence is not None and verdict.confidence < thresholds[verdict.evaluator_id]
    )
