"""What a table of imported labels says beside agreement: which systems people prefer, which metrics order as they do,
and how often raters say the known answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

import numpy as np
from django.db.models import QuerySet

from evalsite.base.rows import batches, grouped
from evalsite.reports.selectors.leaderboards import Options, chosen
from evalsite.review.models import ImportedLabel, LabelTable
from evalsite.review.questions.scales import PREFERENCE_SHARES
from judging.models import SCORED_KINDS, Response, Score
from judging.models.runs import BASELINE
from judging.specs.records.names import Holds, strongest
from judging.statistics.estimates import Estimate, Floats, Scale, share_of
from judging.statistics.estimators.boards import mean_of_cases
from judging.statistics.estimators.debates import DebatedPair, outcome_win_rate, ranked_by_outcomes
from judging.statistics.judge_quality import dawid_skene
from judging.statistics.rank_correlation import correlations_of
from judging.statistics.ratings import MISSING, RatingTable

MEAN_RATING, POINTS = 1000, 400 / log(10)  # of Elo's scale: 400 points are odds of 10 to 1


@dataclass(frozen=True, slots=True)
class VotedSystem:
    """One system: the ranks that it may have, its Bradley-Terry strength in log odds, and its win rate."""

    name: str
    first: int
    last: int
    rating: float  # the strength on Elo's scale
    strength: Estimate
    win_rate: Estimate  # over all systems that it met; unit: the case
    votes: int


@dataclass(frozen=True, slots=True)
class VotedRanking:
    """All systems of a table, best first, or why they have no common ranking."""

    systems: list[VotedSystem]
    votes: int
    reason: str


def _labels(table: LabelTable, options: Options) -> QuerySet[ImportedLabel]:
    filters = {f"item__{name}": chosen(options, name) for name in ("criterion", "scenario", "language")}
    return table.imported_labels.filter(**{name: value for name, value in filters.items() if value})


def voted_ranking(table: LabelTable, options: Options) -> VotedRanking | None:
    """Return the ranking by all votes of a table, each for itself and ties half; None where none is about two systems.

    Options: criterion, scenario, language.
    """
    labels = _labels(table, options).filter(item__about__has_key="a", label__in=PREFERENCE_SHARES)
    pairs, met = list[DebatedPair](), defaultdict[str, list[DebatedPair]](list)
    for about, label in labels.order_by("pk").values_list("item__about", "label").iterator(chunk_size=5000):
        case, a, b, points = about["case"], about["a"], about["b"], PREFERENCE_SHARES[label]
        if a != b:
            pairs.append(DebatedPair(case, a, b, points, points))
            met[a].append(pairs[-1])
            met[b].append(DebatedPair(case, b, a, 1 - points, 1 - points))
    if not pairs:
        return None
    ranking = ranked_by_outcomes(pairs)
    systems = [
        VotedSystem(
            name,
            ranks.first,
            ranks.last,
            MEAN_RATING + POINTS * (strength.value or 0.0),
            strength,
            outcome_win_rate(met[name]),
            strength.n,
        )
        for name, strength, ranks in ranking.systems
    ]
    return VotedRanking(systems, len(pairs), ranking.reason)


RESPONSES, CASES, SYSTEMS = "responses", "cases", "systems"
CHUNK = 500  # responses at a time


@dataclass(frozen=True, slots=True)
class MetricCorrelation:
    """How far a metric or judge orders as people do: over all responses, within a case, or between systems.

    Of cases it is the mean of the coefficients of those that have one. None where either side never differs.
    """

    metric: str
    level: str
    n: int  # responses, cases or systems
    pearson: float | None
    spearman: float | None
    kendall: float | None


@dataclass(frozen=True, slots=True)
class SystemMean:
    """The mean of what people gave a system's responses, each the mean of its labels; unit: the case."""

    system: str
    mean: Estimate  # on the scale of the labels
    responses: int
    labels: int


@dataclass(frozen=True, slots=True)
class NumbersOfPeople:
    """What people's numbers say of systems and of metrics."""

    systems: list[SystemMean]
    metrics: list[MetricCorrelation]


def numbers_of_people(table: LabelTable, options: Options) -> NumbersOfPeople | None:
    """Return what a table of numbers of single responses says; None for any other.

    Options: criterion, scenario, language.
    """
    labels = _labels(table, options).filter(item__response__isnull=False, item__response_b__isnull=True)
    numbers: dict[int, list[float]] = defaultdict(list)
    for response_id, label in labels.values_list("item__response_id", "label").iterator(chunk_size=5000):
        try:
            numbers[response_id or 0].append(float(label))
        except ValueError:
            return None
    if not numbers:
        return None
    people = {pk: fmean(values) for pk, values in numbers.items()}
    facts: dict[int, tuple[int, str]] = {}
    for ids in batches(people, CHUNK):
        found = Response.objects.filter(pk__in=ids).values_list("pk", "prompt_id", "system__name")
        facts |= {pk: (prompt_id, system) for pk, prompt_id, system in found}
    worths = [float(label["value"]) for label in table.labels]
    scale = Scale(min(worths), max(worths))
    systems = []
    for name, ids in _grouped(people, lambda pk: facts[pk][1]).items():
        mean = mean_of_cases(_column(people, ids), [facts[pk][0] for pk in ids], scale=scale)
        systems.append(SystemMean(name, mean, len(ids), sum(len(numbers[pk]) for pk in ids)))
    systems.sort(key=lambda row: (-(row.mean.value or 0.0), row.system))
    metrics = (_compared(name, values, people, facts) for name, values in _scores(people).items())
    return NumbersOfPeople(systems, [row for rows in metrics for row in rows])


def _scores(people: Mapping[int, float]) -> dict[str, dict[int, float]]:
    """Return the newest value of each response by each grader or judge of single responses, by its name.

    A value whose scale is not known is as good as a share where order is all that counts.
    """
    values: dict[str, dict[int, float]] = defaultdict(dict)
    fields = ("evaluator__name", "response_id", "value", "share")
    for ids in batches(people, CHUNK):
        scores = Score.objects.filter(response__in=ids, value__isnull=False, run__kind__in=SCORED_KINDS)
        scores = scores.exclude(evaluator__options__has_key=BASELINE).order_by("evaluator__name", "run_id", "pk")
        for name, response_id, value, share in scores.values_list(*fields):
            values[name][response_id] = float(value if share is None else share)
    return values


def _compared(
    metric: str, values: Mapping[int, float], people: Mapping[int, float], facts: Mapping[int, tuple[int, str]]
) -> Iterator[MetricCorrelation]:
    ids = list(values)
    by_case, by_system = _grouped(ids, lambda pk: facts[pk][0]), _grouped(ids, lambda pk: facts[pk][1])
    yield MetricCorrelation(metric, RESPONSES, len(ids), *correlations_of(_column(values, ids), _column(people, ids)))
    within = [correlations_of(_column(values, group), _column(people, group)) for group in by_case.values()]
    known = [[part or 0.0 for part in found] for found in within if found[0] is not None]
    means = np.array(known).mean(axis=0).tolist() if known else [None] * 3
    yield MetricCorrelation(metric, CASES, len(known), *means)
    sides = (np.array([fmean(side[pk] for pk in group) for group in by_system.values()]) for side in (values, people))
    yield MetricCorrelation(metric, SYSTEMS, len(by_system), *correlations_of(*sides))


def _grouped(ids: Iterable[int], key: Callable[[int], Hashable]) -> dict[str, list[int]]:
    return grouped((str(key(pk)), pk) for pk in ids)


def _column(values: Mapping[int, float], ids: Sequence[int]) -> Floats:
    return np.array([values[pk] for pk in ids])


MAJORITY, ESTIMATED = "majority", "Dawid and Skene's estimate"


@dataclass(frozen=True, slots=True)
class KnownShare:
    """The share of the items whose answer is known on which somebody, or all together, said it."""

    name: str
    right: Estimate


def known_shares(table: LabelTable, labels: RatingTable) -> list[KnownShare]:
    """Return the share of the majority (a tie is right in parts), of the estimate, and of each rater.

    Empty where no column holds known answers (`gold`, `truth`, `target` and the like) or no label is one of them.
    """
    details = dict(table.items.filter(pk__in=map(int, labels.items)).values_list("pk", "details"))
    column = strongest(dict.fromkeys(name for row in details.values() for name in row), Holds.REFERENCE)
    places = {label: code for code, label in enumerate(labels.labels)}
    answers = (str(details.get(int(item), {}).get(column, "")) for item in labels.items)
    known = np.array([places.get(answer, MISSING) for answer in answers], dtype=np.int64)
    rows = np.flatnonzero((known != MISSING) & (labels.codes != MISSING).any(axis=1))
    if not column or not len(rows):
        return []
    counts, right = labels.counts()[rows], known[rows]
    is_most = counts == counts.max(axis=1, keepdims=True)
    majority = float((is_most[np.arange(len(rows)), right] / is_most.sum(axis=1)).sum())
    estimated = int((dawid_skene(labels).chances.argmax(axis=1)[rows] == right).sum())
    shares = [
        KnownShare(MAJORITY, share_of(majority, len(rows))),
        KnownShare(ESTIMATED, share_of(estimated, len(rows))),
    ]
    for position, name in enumerate(labels.raters):
        said = labels.codes[rows, position]
        n = int((said != MISSING).sum())
        if n:
            shares.append(KnownShare(name, share_of(int((said == right).sum()), n)))
    return shares
