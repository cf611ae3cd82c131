"""Versions of judges, from what runs froze."""

from __future__ import annotations

from collections.abc import Sequence

from judging.judges.versions import JudgeVersion, version_of_options
from judging.models import Rubric, RunEvaluator


def versions_of(evaluators: Sequence[RunEvaluator]) -> dict[int, JudgeVersion]:
    """Return the version of each evaluator by its key, with one query for the hashes of all rubrics."""
    rubric_ids = {evaluator.rubric_id for evaluator in evaluators if evaluator.rubric_id is not None}
    hashes = dict(Rubric.objects.filter(pk__in=rubric_ids).values_list("pk", "content_hash")) if rubric_ids else {}
    return {
        evaluator.pk: version_of_options(
            evaluator.options, rubric_hash=hashes.get(evaluator.rubric_id or 0, ""), criterion=evaluator.criterion
        )
        for evaluator in evaluators
    }
