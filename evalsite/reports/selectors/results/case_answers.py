"""The responses to one case with the scores of graders and judges and the labels of people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import QuerySet
from django.db.models.functions import Substr

from evalsite.reports.selectors.graders import Grader
from evalsite.reports.selectors.results.result_texts import FIRST_WORDS
from evalsite.review.selectors.labels.final_labels import SubjectLabel, criterion_of, labels_on_case
from judging.models import Case, Response, RunEvaluator, Score


def answers_to(case: Case) -> QuerySet[Response]:
    """Return the current responses to a case by system and attempt, each with its first `words`, without its text."""
    return (
        Response.objects.filter(prompt=case.prompt_id, superseded_at__isnull=True)
        .select_related("system")
        .only("pk", "attempt", "completion_tokens", "prompt_id", "system__name")
        .annotate(words=Substr("text", 1, FIRST_WORDS))
        .order_by("system__name", "system_id", "attempt", "pk")
    )


def answers_named(case: Case, response_ids: Sequence[int]) -> list[Response]:
    """Return the responses to a case that have these keys, with their texts, in the order of the keys."""
    rows = Response.objects.filter(prompt=case.prompt_id).select_related("system").in_bulk(list(response_ids))
    return [rows[pk] for pk in response_ids if pk in rows]


def newest_scores(graders: Sequence[Grader], response_ids: Iterable[int]) -> dict[tuple[int, int], Score]:
    """Return the score that counts, by grader and response: the newest with a share, else the newest. One query."""
    rank_and_grader = {row.pk: (rank, grader.key) for grader in graders for rank, row in enumerate(grader.evaluators)}
    rows = Score.objects.filter(evaluator__in=rank_and_grader, response__in=list(response_ids)).order_by("-pk")
    rows = rows.select_related("verdict").only(
        *("pk", "evaluator_id", "response_id", "share", "status", "flags", "verdict_id"),
        *("verdict__rationale", "verdict__reason", "verdict__status"),
    )
    scores: dict[tuple[int, int], Score] = {}
    for score in sorted(rows, key=lambda row: (row.share is None, rank_and_grader[row.evaluator_id][0])):
        scores.setdefault((rank_and_grader[score.evaluator_id][1], score.response_id), score)
    return scores


def labels_of_people(
    graders: Sequence[Grader], case: Case, response_ids: Sequence[int]
) -> Mapping[int, Sequence[SubjectLabel]]:
    """Return people's labels by response: one for each criterion that a grader scores."""
    by_criterion: dict[object, list[RunEvaluator]] = {}
    for evaluator in sorted((row for grader in graders for row in grader.evaluators), key=lambda row: -row.run_id):
        by_criterion.setdefault(criterion_of(evaluator), []).append(evaluator)
    labels: dict[int, list[SubjectLabel]] = {}
    for evaluators in by_criterion.values():
        for label in labels_on_case(evaluators, case, response_ids):
            labels.setdefault(label.response_ids[0], []).append(label)
    return labels
