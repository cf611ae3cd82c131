"""How annotators did: on gold items, how steadily and fast they label, what their labels tell of the true ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil

import numpy as np
from django.utils import timezone

from evalsite.reports.selectors.annotations import PersonDay, QueueAnswers, QueueWork, read_answers
from evalsite.reports.selectors.leaderboards import Options
from evalsite.review.models import PausedPerson, Queue, Team
from evalsite.review.selectors.gold import GoldScore, gold_scores
from evalsite.review.selectors.pages import remembered
from evalsite.review.selectors.waiting_items import workload_of
from judging.statistics.agreement import agreement_report, chance_of_run, longest_run, marks_of_the_rest
from judging.statistics.estimates import Estimate, Ints, share_of
from judging.statistics.judge_quality import EstimatedRates, estimated_rates
from judging.statistics.ratings import MISSING, RatingTable

UNLIKELY_RUN = 0.001
FEWEST_LABELS = 20  # of one person, before their halves and runs are shown
FEWEST_PEOPLE = 3
FEWEST_ITEMS = 30  # that two people or more labelled
ITEMS_SHOWN = 50
TIED = -2  # no label that most people gave


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


@dataclass(frozen=True, slots=True)
class Steadiness:
    """One label many times in a row, and agreement with the others in the first and the second half of the labels.

    `chance`: of so long a run, or a longer one, where each label came with the share that it has among the others'.
    """

    name: str
    run: int
    text: str
    chance: float
    first_half: Estimate
    second_half: Estimate

    @property
    def is_suspicious(self) -> bool:
        """Whether the run is longer than chance explains."""
        return self.chance < UNLIKELY_RUN


def steadiness_of(answers: QueueAnswers) -> list[Steadiness]:
    """Return by name how steadily each person labelled who gave enough labels; the answers are in the order of time."""
    table = answers.table
    marks = np.full(table.codes.shape, MISSING)
    items, raters, found = marks_of_the_rest(table)
    marks[items, raters] = found
    totals = np.bincount(table.codes[table.codes != MISSING], minlength=table.n_labels)
    rows = []
    for name, labelled in sorted(answers.order.items()):
        rater = table.raters.index(name)
        codes, same = table.codes[labelled, rater], marks[labelled, rater]
        run = longest_run(codes.tolist())
        if run is None or len(codes) < FEWEST_LABELS:
            continue
        code, length = run
        others = int(totals.sum()) - len(codes)
        share = (int(totals[code] - (codes == code).sum()) + 0.5) / (others + 1)
        same = same[same != MISSING]
        halves = (same[: len(same) // 2], same[len(same) // 2 :])
        chance = chance_of_run(len(codes), length, share)
        shares = (share_of(int(half.sum()), len(half)) for half in halves)
        rows.append(Steadiness(name, length, answers.texts[table.labels[code]], chance, *shares))
    return rows


@dataclass(frozen=True, slots=True)
class EstimatedPerson:
    """How often a person is right, by the estimate."""

    name: str
    answers: int
    right: Estimate


@dataclass(frozen=True, slots=True)
class EstimatedShare:
    """The share of a label among the items: by their majorities, those without one left out, and by the estimate."""

    value: str
    text: str
    majority: float | None
    estimated: Estimate


@dataclass(frozen=True, slots=True)
class EstimatedItem:
    """An item whose most probable label is not that of a majority; `majority` is empty where two labels tie."""

    id: int
    majority: str
    estimated: str
    chance: float


@dataclass(frozen=True, slots=True)
class EstimatedReport:
    """What is shown beside the majority; of the items that differ, the surest ones."""

    people: list[EstimatedPerson]
    shares: list[EstimatedShare]
    items: list[EstimatedItem]
    n_items: int
    n_other: int
    n_tied: int
    resamples: int


def estimated_report(table: RatingTable, texts: Mapping[str, str]) -> EstimatedReport | None:
    """Return the estimates of a table, of the items with two labels or more; None where too few people or items are."""
    shared = table.with_pairs()
    keep = np.flatnonzero((shared.codes != MISSING).any(axis=0)).tolist()
    if len(keep) < FEWEST_PEOPLE or len(shared.items) < FEWEST_ITEMS:
        return None
    read = shared.of_raters(keep)
    found, majority = estimated_rates(read, seed=0), _majorities(read)
    best = found.labels.chances.argmax(axis=1)
    named = [texts[label] for label in read.labels]
    items = [
        EstimatedItem(int(read.items[row]), named[said] if said != TIED else "", named[code], chance)
        for row, said, code, chance in _differing(majority, best, found)
    ]
    return EstimatedReport(
        people=[
            EstimatedPerson(name, estimate.n, estimate) for name, estimate in zip(read.raters, found.right, strict=True)
        ],
        shares=_shares(read, texts, majority, found),
        items=items[:ITEMS_SHOWN],
        n_items=len(read.items),
        n_other=int(((majority != best) & (majority != TIED)).sum()),
        n_tied=int((majority == TIED).sum()),
        resamples=found.resamples,
    )


def _majorities(table: RatingTable) -> Ints:
    """Return the label that most people gave to each item, TIED where two have the same number, shape (items,)."""
    counts = table.counts()
    highest = counts.max(axis=1, keepdims=True)
    is_tied = (counts == highest).sum(axis=1) > 1
    majorities: Ints = np.where(is_tied, TIED, counts.argmax(axis=1))
    return majorities


def _differing(majority: Ints, best: Ints, found: EstimatedRates) -> list[tuple[int, int, int, float]]:
    """Return (row, majority, estimate, its chance) of the items that differ, the surest first."""
    rows = np.flatnonzero(majority != best)
    chances = found.labels.chances[rows, best[rows]]
    order = np.argsort(-chances, kind="stable")
    return [(int(rows[i]), int(majority[rows[i]]), int(best[rows[i]]), float(chances[i])) for i in order]


def _shares(
    table: RatingTable, texts: Mapping[str, str], majority: Ints, found: EstimatedRates
) -> list[EstimatedShare]:
    decided = majority[majority != TIED]
    counts = np.bincount(decided, minlength=table.n_labels).tolist()
    return [
        EstimatedShare(label, texts[label], count / len(decided) if len(decided) else None, estimate)
        for label, count, estimate in zip(table.labels, counts, found.shares, strict=True)
    ]


RECENT_DAYS = 7  # that the pace is taken from


@dataclass(frozen=True, slots=True)
class TeamDay(PersonDay):
    """What the people of one team, which has the name, did on one day; who is in two teams counts in both."""

    people: int


@dataclass(frozen=True, slots=True)
class BurnDownDay:
    """How much was left at the end of a day on which somebody annotated."""

    day: date
    annotations: int  # that count, of that day
    left: int  # annotations that are missing after them, by what the items need today


@dataclass(frozen=True, slots=True)
class QueuePace:
    """The pace of a queue. `per_day` is the mean of the last days until today; None while nobody annotated in them."""

    queue: str
    left: int
    stuck: int  # of those left, the ones that nobody is left to give; they do not keep the queue from its last day
    per_day: float | None
    finishes_on: date | None
    people: tuple[PersonDay, ...]  # the newest day first
    teams: tuple[TeamDay, ...]  # likewise; of those that its annotators are in today
    burn_down: tuple[BurnDownDay, ...]  # the oldest day first

    @property
    def hours(self) -> float:
        """Time at work of these people."""
        return sum(row.hours for row in self.people)


def pace_of_queue(queue: Queue, work: QueueWork, *, team: Team | None = None, at: datetime) -> QueuePace:
    """Return how fast people work in a queue, of one team only where it is given; what is left is everybody's."""
    members: dict[str, set[str]] = defaultdict(set)
    teams = Team.objects.filter(members__isnull=False) if team is None else Team.objects.filter(pk=team.pk)
    for name, person in teams.values_list("name", "members__username"):
        members[name].add(person)
    people = [row for row in work.people if team is None or row.name in members[team.name]]
    work_left = remembered("workload", queue, lambda: workload_of(queue=queue))
    left = remaining = work_left.answers_left
    burn_down: list[BurnDownDay] = []
    for day, count in reversed(work.counted):
        if count:
            burn_down.append(BurnDownDay(day, count, remaining))
            remaining += count
    today = timezone.localdate(at)
    recent = sum(row.annotations for row in burn_down if today - timedelta(days=RECENT_DAYS) < row.day <= today)
    per_day = recent / min(RECENT_DAYS, (today - burn_down[-1].day).days + 1) if recent else None
    return QueuePace(
        queue=queue.name,
        left=left,
        per_day=per_day,
        stuck=work_left.answers_stuck,
        finishes_on=today + timedelta(days=ceil(work_left.answers_to_come / per_day))
        if per_day and work_left.answers_to_come
        else None,
        people=tuple(sorted(people, key=_newest_first)),
        teams=tuple(sorted(_team_days(people, members), key=_newest_first)),
        burn_down=tuple(reversed(burn_down)),
    )


def _team_days(people: Sequence[PersonDay], members: Mapping[str, Collection[str]]) -> Iterator[TeamDay]:
    days: dict[tuple[date, str], list[PersonDay]] = defaultdict(list)
    for row in people:
        for team, names in members.items():
            if row.name in names:
                days[row.day, team].append(row)
    for (day, team), rows in days.items():
        items, unable = sum(row.items for row in rows), sum(row.cannot_judge for row in rows)
        yield TeamDay(day, team, items, unable, sum(row.hours for row in rows), len(rows))


def _newest_first(row: PersonDay) -> tuple[int, str]:
    return -row.day.toordinal(), row.name
