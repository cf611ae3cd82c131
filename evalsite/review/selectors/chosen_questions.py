"""Responses that a researcher chose for people, by the run that scored them, and what of them people have already."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q

from evalsite.review.models import FinalLabel, Queue, Referral
from evalsite.review.selectors.labels.audits import DEFAULT_QUORUM
from evalsite.review.selectors.pace import pace_of
from judging.models import Response, Run, RunEvaluator, Score, Verdict
from judging.specs.people_choices import AskedWork


@dataclass(frozen=True, slots=True)
class ChosenQuestion:
    """A response under the criterion of the evaluator whose newest score or verdict of it was seen."""

    evaluator: RunEvaluator
    response_id: int

    @property
    def key(self) -> tuple[int, str]:
        """What people are asked about: the response and the criterion."""
        return self.response_id, self.evaluator.criterion


@dataclass(frozen=True, slots=True)
class ChosenOfRun:
    """What was chosen of one run."""

    run: Run
    queue: Queue | None  # None: sending makes it
    total: int
    asked: int  # are in review or were decided there
    labelled: int  # have a label, so that nobody is asked

    @property
    def new(self) -> int:
        """How many items sending makes, unless an equal response has its label or waits in a queue of equal terms."""
        return self.total - self.asked - self.labelled

    @property
    def quorum(self) -> int:
        """How many people each item asks."""
        return self.queue.quorum if self.queue is not None else DEFAULT_QUORUM

    @property
    def annotations(self) -> int:
        """How many annotations its new items ask for, at most."""
        return self.new * self.quorum


def work_of_chosen(runs: Sequence[ChosenOfRun], questions: Sequence[ChosenQuestion]) -> AskedWork:
    """Return what sending these questions of runs asks of people."""
    is_pair = bool(questions) and all(question.evaluator.compared_with for question in questions)
    return AskedWork(sum(run.annotations for run in runs), pace=pace_of(is_pair=is_pair))


def most_annotations(responses: int, *, run_ids: Collection[int]) -> int:
    """Return how many annotations these responses of runs ask for at the most. One query."""
    quorums = dict(Queue.objects.filter(run__in=run_ids).values_list("run_id", "quorum"))
    return responses * max((quorums.get(pk, DEFAULT_QUORUM) for pk in run_ids), default=DEFAULT_QUORUM)


def chosen_questions(cells: Sequence[tuple[Sequence[int], int]]) -> list[ChosenQuestion]:
    """Return the questions behind cells, given as evaluators (the newest first) and a response. Four queries.

    Left out: responses that were replaced, and cells without a score or verdict.
    """
    ids, keys = {response for _, response in cells}, {pk for evaluators, _ in cells for pk in evaluators}
    current = set(Response.objects.filter(pk__in=ids, superseded_at__isnull=True).values_list("pk", flat=True))
    judged = {
        pair
        for model in (Score, Verdict)
        for pair in model.objects.filter(response__in=ids, evaluator__in=keys).values_list(
            "evaluator_id", "response_id"
        )
    }
    rows = RunEvaluator.objects.select_related("run__suite").in_bulk(keys)
    by_key = dict[tuple[int, str], ChosenQuestion]()
    for evaluators, response in cells:
        newest = next((pk for pk in evaluators if (pk, response) in judged), None)
        if newest is not None and response in current:
            question = ChosenQuestion(rows[newest], response)
            by_key.setdefault(question.key, question)
    return list(by_key.values())


def chosen_by_run(questions: Sequence[ChosenQuestion]) -> list[ChosenOfRun]:
    """Return how much of each run was chosen, and what of it people have already. Three queries."""
    runs = {question.evaluator.run.pk: question.evaluator.run for question in questions}
    chosen = {(question.evaluator.run_id, *question.key) for question in questions}
    referrals = Referral.objects.filter(
        Q(run__in=runs) & Q(response__in={question.response_id for question in questions})
    )
    rows = list(referrals.values_list("run_id", "response_id", "subject__criterion", "subject_id", "item_id"))
    labels = FinalLabel.objects.filter(subject__in={row[3] for row in rows if row[4] is None})
    labelled_subjects = set(labels.values_list("subject_id", flat=True))
    asked = {row[:3] for row in rows if row[4] is not None} & chosen
    labelled = ({row[:3] for row in rows if row[3] in labelled_subjects} & chosen) - asked
    queues = {queue.run_id: queue for queue in Queue.objects.filter(run__in=runs).prefetch_related("members")}
    return [
        ChosenOfRun(
            run,
            queues.get(pk),
            *(sum(key[0] == pk for key in keys) for keys in (chosen, asked, labelled)),
        )
        for pk, run in sorted(runs.items())
    ]
