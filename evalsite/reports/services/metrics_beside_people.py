"""Metrics and judges beside the numbers that people gave the same responses elsewhere: rank correlations, and means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from evalsite.reports.selectors.leaderboards import Options, chosen
from evalsite.review.models import LabelTable
from judging.models import Response, Score
from judging.models.runs import BASELINE
from judging.statistics.estimates import Floats
from judging.statistics.rank_correlation import correlations_of

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
    """The mean of what people gave a system's responses, each the mean of its labels."""

    system: str
    mean: float
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
    filters = {f"item__{name}": chosen(options, name) for name in ("criterion", "scenario", "language")}
    labels = table.imported_labels.filter(item__response__isnull=False, item__response_b__isnull=True)
    labels = labels.filter(**{name: value for name, value in filters.items() if value})
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
    for ids in _batches(people):
        found = Response.objects.filter(pk__in=ids).values_list("pk", "prompt_id", "system__name")
        facts |= {pk: (prompt_id, system) for pk, prompt_id, system in found}
    systems = [
        SystemMean(name, fmean(people[pk] for pk in ids), len(ids), sum(len(numbers[pk]) for pk in ids))
        for name, ids in sorted(_grouped(people, lambda pk: facts[pk][1]).items())
    ]
    metrics = (_compared(name, values, people, facts) for name, values in _scores(people).items())
    return NumbersOfPeople(sorted(systems, key=lambda row: -row.mean), [row for rows in metrics for row in rows])


def _batches(people: Mapping[int, float]) -> Iterator[list[int]]:
    ids = list(people)
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))


def _scores(people: Mapping[int, float]) -> dict[str, dict[int, float]]:
    """Return the newest value of each response by each grader or judge of single responses, by its name.

    A value whose scale is not known is as good as a share where order is all that counts.
    """
    values: dict[str, dict[int, float]] = defaultdict(dict)
    fields = ("evaluator__name", "response_id", "value", "share")
    for ids in _batches(people):
        scores = Score.objects.filter(response__in=ids, value__isnull=False)
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
    groups: dict[str, list[int]] = defaultdict(list)
    for pk in ids:
        groups[str(key(pk))].append(pk)
    return groups


def _column(values: Mapping[int, float], ids: Sequence[int]) -> Floats:
    return np.array([values[pk] for pk in ids])
