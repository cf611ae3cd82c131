"""Agreement of a judge or of debates with people, from items that people were asked about for different reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judging.statistics.agreement import SAME_LABEL
from judging.statistics.estimates import (
    FEWEST_FOR_CLAIMS,
    Estimate,
    Floats,
    Inference,
    Interval,
    Ints,
    Stratum,
    TooFew,
    cluster_codes,
    look_multiplier,
    make_stratum,
    t_quantile,
    undefined,
    with_interval,
)
from judging.statistics.estimators.boards import paired_difference, shown_share

PSEUDO_CASES = 2.0
SHOWN_PSEUDO_CASES = 3.0  # of what pages show: see `weighted_kappa`


@dataclass(frozen=True, slots=True)
class ComparedItem:
    """One item that a judge labelled. Unrouted items with a label from people are a random sample of the unrouted."""

    case: Hashable
    judge: int | None  # position of the label on the scale; None: no usable verdict
    people: int | None  # None: no final label
    is_routed: bool  # sent to people by a rule, so certain to be asked about; else drawn for the audit, or not asked
    rate: float = 0.0  # at which the audit draws it, if not routed; items drawn at different rates are strata apart


_Valued = tuple[ComparedItem, float | None]  # an item and what is estimated of it; None: not known


def share_equal(items: Iterable[ComparedItem], *, planned: int = 0) -> Inference | TooFew:
    """Return the share of judged items on which people say the same, over all items, routed and audited ones weighted.

    Unit: the case, with the mean over its items. Cases whose items were all routed are a stratum of their own; in the
    others what is known of routed items serves as the judge's score does in a corrected mean. `planned` is that of
    `shown_share`.
    """
    judged = [(item, _equal(item)) for item in items if item.judge is not None]
    return shown_share(_strata(judged), planned=planned)


def agreement_difference(
    first: Iterable[ComparedItem], second: Iterable[ComparedItem], *, planned: int = 0
) -> Inference | TooFew:
    """Return by how much more often the first judge says what people say, over the items both were asked about.

    A missing verdict agrees with nothing. Both list the same items in the same order.
    """
    items: list[_Valued] = []
    for item, other in zip(first, second, strict=True):
        values = _equal(item), _equal(other)
        items.append((item, None if values[0] is None or values[1] is None else values[0] - values[1]))
    return paired_difference(_strata(items), planned=planned)


def _equal(item: ComparedItem) -> float | None:
    return None if item.people is None else float(item.judge == item.people)


def _strata(items: Iterable[_Valued]) -> list[Stratum]:
    by_case: dict[Hashable, list[_Valued]] = defaultdict(list)
    for item, value in items:
        by_case[item.case].append((item, value))
    routed: tuple[list[float], list[float], list[float]] = ([], [], [])
    others: dict[float, tuple[list[float], list[float], list[float]]] = {}  # by the highest rate of a case's items
    for case_items in by_case.values():
        mean, of_routed = _case_value(case_items)
        rates = [item.rate for item, _ in case_items if not item.is_routed]
        values, judge, rest = others.setdefault(max(rates), ([], [], [])) if rates else routed
        if mean is None:
            rest.append(of_routed)
        else:
            values.append(mean)
            judge.append(of_routed)
    return [make_stratum(*part) for part in (*others.values(), routed)]


def _case_value(items: Sequence[_Valued]) -> tuple[float | None, float]:
    """Return the mean value of a case (None where it is not known), and what is known of it from routed items."""
    routed = [value for item, value in items if item.is_routed]
    drawn_values = [value for item, value in items if not item.is_routed and value is not None]
    unrouted = len(items) - len(routed)
    of_routed = sum(value for value in routed if value is not None)
    known_part = of_routed / len(items) if unrouted else 0.0
    if None in routed or (unrouted and not drawn_values):
        return None, known_part
    mean = sum(drawn_values) / len(drawn_values) if drawn_values else 0.0
    return (of_routed + mean * unrouted) / len(items), known_part


@dataclass(frozen=True, slots=True)
class KappaInference:
    """Cohen's kappa; `point` is None where only one label was used."""

    point: float | None
    centre: float
    error: float
    low: float
    high: float
    n: int  # items with both labels

    @property
    def estimate(self) -> Estimate:
        """The figure as reports show it."""
        if self.point is None:
            return undefined(SAME_LABEL, n=self.n)
        return with_interval(self.point, Interval(self.low, self.high), n=self.n)


@dataclass(frozen=True, slots=True, eq=False)
class LabelPairs:
    """Labels of a judge and of people as positions on one scale, with the weight 1/pi and the case of each item."""

    first: Ints
    second: Ints
    weights: Floats
    cases: Sequence[Hashable]


def weighted_kappa(
    pairs: LabelPairs,
    *,
    labels: int,
    degrees: int,
    pseudo: float = PSEUDO_CASES,
    critical: float | None = None,
) -> KappaInference:
    """Return Cohen's kappa with an interval from its influence function, summed by case.

    `pseudo` further cases spread evenly over the table enter centre and variance, each with the root of as many items
    as a case has: with one item, intervals of a rare label over cases of 4 or 8 items cover 88 to 91%. With two cases,
    intervals of a label that 1 or 5% have cover 91 to 93% at 50 to 200 cases; with three 95 to 98%, and are as wide.
    `degrees` of freedom: audited cases less one; `critical` replaces the quantile of Student's t. Source: Fleiss, Cohen
    and Everitt 1969.

    Raises:
        ValueError: no item.
    """
    first, second, weights = pairs.first, pairs.second, pairs.weights
    if not len(first):
        raise ValueError("kappa needs at least one item")
    clusters = cluster_codes(pairs.cases)
    heaviest = float(weights.max()) * (len(first) / (clusters.max() + 1)) ** 0.5
    plain_table = _table(pairs, labels, 0.0)
    table = _table(pairs, labels, pseudo * heaviest / labels**2)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    observed, expected = float(np.trace(table)), float(rows @ columns)
    kappa = (observed - expected) / (1 - expected)

    def influence(first_labels: Ints, second_labels: Ints) -> Floats:
        marginal: Floats = columns[first_labels] + rows[second_labels] - 2 * expected
        effect: Floats = ((first_labels == second_labels) - observed) / (1 - expected)
        return effect - (1 - observed) / (1 - expected) ** 2 * marginal

    sums = np.bincount(clusters, weights=weights * influence(first, second))
    cells = (grid.ravel() for grid in np.meshgrid(np.arange(labels), np.arange(labels), indexing="ij"))
    squares = float((sums**2).sum()) + pseudo / labels**2 * float(((heaviest * influence(*cells)) ** 2).sum())
    m = len(sums) + pseudo
    error = float(np.sqrt(squares * m / (m - 1)) / (weights.sum() + pseudo * heaviest))
    reach = (t_quantile(degrees) if critical is None else critical) * error
    chance = float(plain_table.sum(axis=1) @ plain_table.sum(axis=0))
    point = (float(np.trace(plain_table)) - chance) / (1 - chance) if chance < 1 - 1e-12 else None
    return KappaInference(point, kappa, error, max(-1.0, kappa - reach), min(1.0, kappa + reach), len(first))


def _table(pairs: LabelPairs, labels: int, each: float) -> Floats:
    counts: Floats = np.full((labels, labels), each)
    np.add.at(counts, (pairs.first, pairs.second), pairs.weights)
    counts /= counts.sum()
    return counts


def shown_kappa(items: Iterable[ComparedItem], *, labels: int, planned: int = 0) -> KappaInference | TooFew:
    """Return the kappa of a judge and people over all judged items, or that too few cases are labelled.

    A label given to a routed item stands for itself, one given to an audited item for all unrouted items alike: where
    there are such items and none is audited, nothing is known of them.
    `planned` is that of `shown_share`.
    """
    judged = [item for item in items if item.judge is not None]
    both = [item for item in judged if item.people is not None]
    unrouted = sum(not item.is_routed for item in judged)
    audited = sum(not item.is_routed for item in both)
    cases = {item.case for item in both if not (unrouted and item.is_routed)}
    if len(cases) < FEWEST_FOR_CLAIMS:
        return TooFew(len(cases), FEWEST_FOR_CLAIMS)
    pairs = LabelPairs(
        np.array([item.judge for item in both], dtype=np.int64),
        np.array([item.people for item in both], dtype=np.int64),
        np.array([1.0 if item.is_routed else unrouted / audited for item in both]),
        [item.case for item in both],
    )
    critical = look_multiplier(len(cases), planned) if planned else None
    return weighted_kappa(pairs, labels=labels, degrees=len(cases) - 1, pseudo=SHOWN_PSEUDO_CASES, critical=critical)


Flags = NDArray[np.bool_]
NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class ComparedColumns:
    """Items that a judge labelled, as the fields of `ComparedItem`; all of shape (items,)."""

    cases: Ints
    judge: Ints  # position of the label on the scale; NONE: no usable verdict
    people: Ints  # NONE: no final label
    routed: Flags  # sent to people by a rule

    def only(self, is_chosen: Flags) -> ComparedColumns:
        """Return some of the items."""
        return ComparedColumns(
            self.cases[is_chosen], self.judge[is_chosen], self.people[is_chosen], self.routed[is_chosen]
        )


def share_equal_of(items: ComparedColumns, *, planned: int = 0) -> Inference | TooFew:
    """Return the share of judged items on which people say the same, as `agreement.share_equal` does."""
    judged = items.only(items.judge != NONE)
    values = np.where(judged.people == NONE, np.nan, judged.judge == judged.people)
    return shown_share(_column_strata(judged.cases, values, judged.routed), planned=planned)


def audit_alone(items: ComparedColumns, audited: Flags) -> ComparedColumns:
    """Return the items as if rules had sent none and people had labelled the audited ones alone."""
    people = np.where(audited, items.people, NONE)
    return replace(items, people=people, routed=np.zeros(len(people), dtype=bool))


def _column_strata(cases: Ints, values: Floats, routed: Flags) -> list[Stratum]:
    """Return the cases in the order in which they come first: those with unrouted items, and those without."""
    _, first, codes = np.unique(cases, return_index=True, return_inverse=True)
    is_known = ~np.isnan(values)
    sizes, n_routed = np.bincount(codes), np.bincount(codes[routed], minlength=len(first))
    open_routed = np.bincount(codes[routed & ~is_known], minlength=len(first))
    drawn = ~routed & is_known
    n_drawn = np.bincount(codes[drawn], minlength=len(first))
    of_routed = np.bincount(codes[routed & is_known], weights=values[routed & is_known], minlength=len(first))
    of_drawn = np.bincount(codes[drawn], weights=values[drawn], minlength=len(first))
    unrouted = sizes - n_routed
    known_part = np.where(unrouted > 0, of_routed / np.maximum(sizes, 1), 0.0)
    means = np.divide(of_drawn, n_drawn, out=np.zeros(len(first)), where=n_drawn > 0)
    whole = (of_routed + means * unrouted) / np.maximum(sizes, 1)
    decided = (open_routed == 0) & ((unrouted == 0) | (n_drawn > 0))
    order = np.argsort(first)
    is_routed = unrouted[order] == 0
    strata = []
    for part in (order[~is_routed], order[is_routed]):
        is_decided = decided[part]
        strata.append(
            make_stratum(whole[part][is_decided], known_part[part][is_decided], known_part[part][~is_decided])
        )
    return strata


def shown_kappa_of(items: ComparedColumns, *, labels: int, planned: int = 0) -> KappaInference | TooFew:
    """Return the kappa of a judge and people over all judged items, as `agreement.shown_kappa` does."""
    judged = items.only(items.judge != NONE)
    both = judged.only(judged.people != NONE)
    unrouted, audited = int((~judged.routed).sum()), int((~both.routed).sum())
    n = len(np.unique(both.cases[~both.routed] if unrouted else both.cases))
    if n < FEWEST_FOR_CLAIMS:
        return TooFew(n, FEWEST_FOR_CLAIMS)
    weights = np.where(both.routed, 1.0, unrouted / max(audited, 1))
    pairs = LabelPairs(both.judge, both.people, weights, both.cases.tolist())
    critical = look_multiplier(n, planned) if planned else None
    return weighted_kappa(pairs, labels=labels, degrees=n - 1, pseudo=SHOWN_PSEUDO_CASES, critical=critical)
