"""How people did on the gold items of a queue, and how far everybody agrees with and without those who were paused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from evalsite.reports.selectors.annotations import read_answers
from evalsite.reports.selectors.options import Options
from evalsite.review.models import PausedPerson, Queue
from evalsite.review.selectors.gold import GoldScore, gold_scores
from judging.statistics.coefficients.agreement import agreement_report
from judging.statistics.coefficients.ratings import RatingTable
from judging.statistics.estimates import Estimate


@dataclass(frozen=True, slots=True)
class GoldPerson:
    """What one person answered to gold items; a gold item is right where each of its questions is."""

    name: str
    right: int
    answered: int
    share: Estimate
    state: str


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure of agreement with everybody, and without the people who were paused."""

    name: str
    everybody: Estimate
    without: Estimate


@dataclass(frozen=True, slots=True)
class GoldReport:
    """The people who answered gold items, and what those who were paused do to agreement; no figures without any."""

    mark: float
    people: list[GoldPerson]
    paused: list[str]
    figures: list[ComparedFigure]


def gold_report(queue: Queue, options: Options) -> GoldReport | None:
    """Return the report of a queue with gold items."""
    if not queue.gold_count:
        return None
    pauses = PausedPerson.objects.filter(queue=queue, in_training=False).order_by("person__username")
    paused = list(dict.fromkeys(pauses.values_list("person__username", flat=True)))
    people = [_person(score) for score in gold_scores(queue)]
    return GoldReport(queue.gold_mark, people, paused, _compared(queue, options, paused) if paused else [])


def _person(score: GoldScore) -> GoldPerson:
    state = "annotates"
    if score.pause is not None:
        state = f"paused; labels: {score.pause.get_labels_display().lower()}"
    return GoldPerson(score.person.username, score.right, score.answered, score.share, state)


def _compared(queue: Queue, options: Options, paused: Collection[str]) -> list[ComparedFigure]:
    """Return agreement over all labels, those that were left out included, and over those of the others."""
    answers = read_answers(queue, options, with_left_out=True)
    tables = (answers.table, without_people(answers.table, paused))
    everybody, without = (agreement_report(table.nameless(), metrics=(answers.metric,)) for table in tables)
    return [
        ComparedFigure("Percent agreement", everybody.percent, without.percent),
        ComparedFigure("Fleiss' kappa", everybody.fleiss, without.fleiss),
        ComparedFigure(f"Krippendorff's alpha, {answers.metric}", everybody.alpha[0][1], without.alpha[0][1]),
    ]


def without_people(table: RatingTable, names: Collection[str]) -> RatingTable:
    """Return a table of labels without the columns of some people."""
    return table.of_raters([column for column, name in enumerate(table.raters) if name not in names])
