"""Labels beside the majority: what people's labels tell of the true ones once it is weighed how often each errs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from judging.statistics.coefficients.dawid_skene import EstimatedRates, estimated_rates
from judging.statistics.coefficients.ratings import MISSING, RatingTable
from judging.statistics.estimates import Estimate, Ints

FEWEST_PEOPLE = 3
FEWEST_ITEMS = 30  # that two people or more labelled
ITEMS_SHOWN = 50
TIED = -2  # no label that most people gave


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
