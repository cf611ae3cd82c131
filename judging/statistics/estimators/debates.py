"""Win rates and strengths of systems from debates: agreed ones, some of them audited, and those that people decided.

Whether a judge's agreement falls when the text of its criterion is perturbed, and whether it changes over time.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import NDArray

from judging.statistics.estimates import (
    FEW_FOR_INTERVAL,
    FEWEST_CASES,
    FEWEST_FOR_CLAIMS,
    LEVEL,
    Estimate,
    Floats,
    Inference,
    Ints,
    TooFew,
    census_mean,
    cluster_codes,
    look_multiplier,
    look_p_value,
    make_stratum,
    shown_mean,
    t_quantile,
)
from judging.statistics.estimators.boards import RankSet, holm, mean_change, ranks_of

Label = int | None
OUTCOME, PEOPLE = "outcome", "people"
NEVER = "never"


@dataclass(frozen=True, slots=True)
class DebateRow:
    """One debate with every label of it, in system space; `labels` holds those that were asked, by evaluator's key."""

    pk: int
    pair: str
    criterion: str
    scenario: str
    agreed_in: int | None  # the first round in which all agreed
    outcome: Label
    people: Label
    labels: dict[str, Label]


@dataclass(frozen=True, slots=True)
class DebateFigure:
    """One figure of the report; what is empty chooses nothing."""

    pair: str = ""
    criterion: str = ""
    scenario: str = ""
    round: str = ""  # a number, or `NEVER`
    evaluator: str = ""
    other: str = ""  # a second evaluator, of a paired difference
    against: str = ""  # OUTCOME or PEOPLE: what the evaluator is compared with


def pack(rows: Iterable[DebateRow]) -> bytes:
    """Return rows as bytes that `unpack` reads."""
    return zlib.compress(json.dumps([list(asdict(row).values()) for row in rows]).encode())


def unpack(data: bytes) -> list[DebateRow]:
    """Return the rows that were packed."""
    return [DebateRow(*values) for values in json.loads(zlib.decompress(data))]


def reference_of(row: DebateRow, figure: DebateFigure) -> Label:
    """Return what the evaluator's label is compared with."""
    return row.people if figure.against == PEOPLE else row.outcome


def differs(row: DebateRow, figure: DebateFigure) -> bool:
    """Whether the evaluator does not say what it is compared with; of two, whether just one of them does."""
    if not figure.evaluator or not figure.against:
        return False
    reference = reference_of(row, figure)
    says_so = row.labels.get(figure.evaluator) == reference
    return says_so != (row.labels.get(figure.other) == reference) if figure.other else not says_so


def debates_of_figure(rows: Sequence[DebateRow], figure: DebateFigure) -> list[DebateRow]:
    """Return the debates that a figure counts, those on which the two sides differ first."""
    debates = [row for row in rows if _is_in_group(row, figure) and _is_counted(row, figure)]
    return sorted(debates, key=lambda row: (not differs(row, figure), row.pk))


def _is_in_group(row: DebateRow, figure: DebateFigure) -> bool:
    agreed_in = NEVER if row.agreed_in is None else str(row.agreed_in)
    return (
        figure.pair in ("", row.pair)
        and figure.criterion in ("", row.criterion)
        and figure.scenario in ("", row.scenario)
        and figure.round in ("", agreed_in)
    )


def _is_counted(row: DebateRow, figure: DebateFigure) -> bool:
    """A missing label counts where it is compared with something, as one that equals nothing."""
    if figure.against:
        return reference_of(row, figure) is not None and all(
            key in row.labels for key in (figure.evaluator, figure.other) if key
        )
    return not figure.evaluator or row.labels.get(figure.evaluator) is not None


MARGIN = 0.1  # a fall in agreement that is small enough to be called none
SIGNIFICANT = 0.025  # one-sided
FEWEST_FOR_SEVERAL = 50  # pairs, where five perturbations are compared


class Finding(StrEnum):
    """What can be said of a judge under a perturbed criterion."""

    HOLDS = "holds"
    SMALL_FALL = "holds, small fall"
    FALLS = "falls"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Drop:
    """Fall in agreement under one perturbation, with its interval and the tests corrected over all perturbations."""

    drop: float
    low: float
    high: float
    p_holds: float  # of a fall as large as the margin
    p_falls: float  # of no fall
    verdict: Finding
    n: int


def fewest_pairs(perturbations: int) -> int:
    """Return how many pairs are needed before "holds" may be said of any of so many perturbations."""
    return FEWEST_FOR_CLAIMS if perturbations == 1 else FEWEST_FOR_SEVERAL


def robustness(
    intact: Sequence[Sequence[float] | Floats],
    perturbed: Sequence[Sequence[float] | Floats],
    *,
    margin: float = MARGIN,
    can_hold: bool = True,
) -> tuple[Drop, ...]:
    """Return what each perturbation does to agreement by case (1 = agrees) with the same fixed labels.

    `can_hold` is False for a judge whose intact agreement is no better than naming the commonest label.
    "Holds" is shown, not assumed: the fall is significantly smaller than the margin, from enough pairs. Source:
    Schuirmann 1987.

    Raises:
        ValueError: fewer than two pairs under a perturbation.
    """
    falls = [
        mean_change(np.asarray(before, dtype=np.float64) - np.asarray(after, dtype=np.float64))
        for before, after in zip(intact, perturbed, strict=True)
    ]
    p_holds = holm([float(scipy.special.stdtr(f.degrees, (f.centre - margin) / f.error)) for f in falls])
    p_falls = holm([float(scipy.special.stdtr(f.degrees, -f.centre / f.error)) for f in falls])
    needed = fewest_pairs(len(falls))
    return tuple(
        Drop(
            fall.unbounded,
            fall.low,
            fall.high,
            p_held,
            p_fell,
            _verdict(p_held, p_fell, can_hold=can_hold and fall.n >= needed),
            fall.n,
        )
        for fall, p_held, p_fell in zip(falls, p_holds, p_falls, strict=True)
    )


def _verdict(p_holds: float, p_falls: float, *, can_hold: bool) -> Finding:
    holds, falls = p_holds <= SIGNIFICANT and can_hold, p_falls <= SIGNIFICANT
    if holds:
        return Finding.SMALL_FALL if falls else Finding.HOLDS
    return Finding.FALLS if falls else Finding.CANNOT_TELL


Flags = NDArray[np.bool_]
LEAST_POINTS = 0.25  # of either side of a pair: keeps strengths finite
NO_DEBATES = "No debate has an outcome."
NO_AUDIT = "No agreed debate was audited, so it is unknown how annotators would have decided them."
WAITING = "Debates without agreement that wait for annotations: {}. A ranking by human labels needs all of them."
TOO_FEW_AUDITED = "Too few: {} of {} audited cases of debates that agreed."


@dataclass(frozen=True, slots=True)
class DebatedPair:
    """One debate: points of the first system by the debate (None: no agreement) and by people (None: no label)."""

    case: Hashable
    first: str
    second: str
    debate: float | None  # 1 = the first system won, 0.5 = tie, 0 = it lost
    people: float | None
    rate: float = 0.0  # at which the audit draws it, if it agreed; debates drawn at different rates are strata apart


def win_rate(debates: Iterable[DebatedPair], *, needed: int = FEWEST_CASES, planned: int = 0) -> Inference | TooFew:
    """Return the first system's win rate by people's word over all debates of one pair, ties half; unit: the case.

    Agreed debates that were audited stand for the agreed ones; debates without agreement are all sent to people.
    `planned` is that of `shown_mean`.
    """
    by_case: dict[Hashable, list[DebatedPair]] = defaultdict(list)
    for debate in debates:
        by_case[debate.case].append(debate)
    agreed: dict[float, tuple[list[float], list[float], list[float]]] = {}  # by the highest rate of a case's debates
    decided_by_people: tuple[list[float], list[float], list[float]] = ([], [], [])
    for case_debates in by_case.values():
        rates = [debate.rate for debate in case_debates if debate.debate is not None]
        judge = sum(_known_points(debate) for debate in case_debates) / len(case_debates) if rates else 0.0
        labels, judged, rest = agreed.setdefault(max(rates), ([], [], [])) if rates else decided_by_people
        decided = [debate.people for debate in case_debates if debate.people is not None]
        if len(decided) == len(case_debates):
            labels.append(sum(decided) / len(case_debates))
            judged.append(judge)
        else:
            rest.append(judge)
    strata = [make_stratum(*part) for part in (*agreed.values(), decided_by_people)]
    return shown_mean(strata, needed=needed, planned=planned)


def _known_points(debate: DebatedPair) -> float:
    points = debate.debate if debate.debate is not None else debate.people
    return 0.5 if points is None else points


def outcome_win_rate(debates: Iterable[DebatedPair]) -> Estimate:
    """Return the first system's win rate over the debates that have an outcome, ties half; the unit is the case."""
    by_case: dict[Hashable, list[float]] = defaultdict(list)
    for debate in debates:
        if debate.debate is not None:
            by_case[debate.case].append(debate.debate)
    means = [sum(points) / len(points) for points in by_case.values()]
    return census_mean(means)


@dataclass(frozen=True, slots=True, eq=False)
class DebateArrays:
    """Debates as arrays: cases, positions of the two systems, the first one's points by debate and people (or NaN)."""

    cases: Ints
    first: Ints
    second: Ints
    debate: Floats
    people: Floats
    rates: Floats | None = None  # at which audits drew them; None: at one


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """Log odds against an average system (their mean is 0), and their covariance."""

    values: Floats
    covariance: Floats
    degrees: int
    inclusion: float  # share of the agreed debates that was audited
    planned: int = 0  # audited cases, fixed before the first look; above 0: intervals and tests hold at every look

    @property
    def errors(self) -> Floats:
        errors: Floats = np.sqrt(np.diag(self.covariance))
        return errors

    def interval(self, position: int, level: float = LEVEL) -> tuple[float, float]:
        n = self.degrees + 1
        critical = look_multiplier(n, self.planned, level) if self.planned else t_quantile(self.degrees, level)
        reach = critical * float(self.errors[position])
        value = float(self.values[position])
        return value - reach, value + reach

    def p_value(self, first: int, second: int) -> float:
        """Return the two-sided p-value of equal strengths."""
        variance = self.covariance[first, first] + self.covariance[second, second]
        error = float(np.sqrt(max(variance - 2 * self.covariance[first, second], 1e-30)))
        gap = abs(float(self.values[first] - self.values[second]))
        if self.planned:
            return look_p_value(gap, error, n=self.degrees + 1, planned=self.planned)
        return float(2 * scipy.special.stdtr(self.degrees, -gap / error))


def bradley_terry(outcomes: DebateArrays, *, systems: int, degrees: int) -> Strengths:
    """Return strengths s with P(i beats j) = 1 / (1 + exp(s_j - s_i)), ties half, by people's word where it was asked.

    An agreed debate counts its outcome, and an audited one the difference to people's word, divided by the inclusion
    probability, besides; debates drawn at different rates have probabilities of their own. The covariance is a sandwich
    clustered by case (Liang and Zeger 1986); one wrong outcome more keeps it honest while few were found.
    Strengths: Ford 1957.

    Raises:
        ValueError: a debate has neither outcome nor label.
    """
    agreed = ~np.isnan(outcomes.debate)
    audited = agreed & ~np.isnan(outcomes.people)
    if (~agreed & np.isnan(outcomes.people)).any():
        raise ValueError("a debate has neither an outcome nor a label by people")
    inclusion = float(audited.sum() / agreed.sum()) if agreed.any() else 1.0
    debate, people = np.nan_to_num(outcomes.debate), np.nan_to_num(outcomes.people)
    chances = _chances(agreed, audited, outcomes.rates)
    corrected = debate + np.where(audited, (people - debate) / np.where(audited, chances, 1.0), 0.0)
    points = np.where(agreed, corrected, people)
    design = np.zeros((len(points), systems))
    rows = np.arange(len(points))
    design[rows, outcomes.first], design[rows, outcomes.second] = 1.0, -1.0
    pairs, which = np.unique(design, axis=0, return_inverse=True)
    values, curvature = _fit(pairs, which.ravel(), points)
    middle = np.ones((systems, systems)) / systems
    bread = np.linalg.inv(curvature + middle) - middle
    clusters = cluster_codes(outcomes.cases.tolist())
    count = int(clusters.max()) + 1
    scores = np.zeros((count, systems))
    np.add.at(scores, clusters, (points - scipy.special.expit(design @ values))[:, None] * design)
    meat = count / max(count - 1, 1) * scores.T @ scores
    if inclusion:
        least = float(chances[audited].min()) if audited.any() else inclusion
        meat = meat + (1 - least) / least**2 * (pairs.T @ pairs) / len(pairs)
    return Strengths(values, bread @ meat @ bread, degrees, inclusion)


def _chances(agreed: Flags, audited: Flags, rates: Floats | None) -> Floats:
    """Return the share of the agreed debates of the same rate that was audited, by debate; 0 where none was."""
    _, groups = np.unique(np.zeros(len(agreed)) if rates is None else rates, return_inverse=True)
    sizes = np.bincount(groups, weights=agreed)
    shares: Floats = np.bincount(groups, weights=audited) / np.maximum(sizes, 1)
    return shares[groups]


def _fit(pairs: Floats, which: Ints, points: Floats) -> tuple[Floats, Floats]:
    """Return the strengths with mean 0 and the curvature there, by Newton steps of at most 1."""
    played = np.bincount(which)
    won = np.clip(np.bincount(which, weights=points), LEAST_POINTS, played - LEAST_POINTS)
    systems = pairs.shape[1]
    values, middle = np.zeros(systems), np.ones((systems, systems)) / systems
    for _ in range(100):
        expected = scipy.special.expit(pairs @ values)
        curvature = (pairs * (played * expected * (1 - expected))[:, None]).T @ pairs
        step = np.linalg.solve(curvature + middle, pairs.T @ (won - played * expected))
        values = values + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-13:
            break
    values = values - values.mean()
    expected = scipy.special.expit(pairs @ values)
    return values, (pairs * (played * expected * (1 - expected))[:, None]).T @ pairs


@dataclass(frozen=True, slots=True)
class Ranking:
    """Systems, best first; or, where they have no common ranking, the groups that can be compared and the reason."""

    systems: tuple[tuple[str, Estimate, RankSet], ...]  # with their strengths and the ranks that they may have
    groups: tuple[tuple[str, ...], ...]
    reason: str
    inclusion: float = 1.0


def ranked_by_outcomes(debates: Sequence[DebatedPair]) -> Ranking:
    """Return the ranking by the debates' own outcomes; debates without one are left out."""
    decided = [debate for debate in debates if debate.debate is not None]
    without_people = [DebatedPair(d.case, d.first, d.second, d.debate, d.debate) for d in decided]
    return _ranked(without_people, cases={debate.case for debate in decided})


def ranked_by_people(debates: Sequence[DebatedPair], *, planned: int = 0) -> Ranking:
    """Return the ranking by people's word over all debates, those that agreed corrected by their audit.

    `planned` is that of `shown_mean`.
    """
    waiting = sum(debate.debate is None and debate.people is None for debate in debates)
    if waiting:
        return Ranking((), (), WAITING.format(waiting))
    agreed = [debate for debate in debates if debate.debate is not None]
    audited = {debate.case for debate in agreed if debate.people is not None}
    if agreed and not audited:
        return Ranking((), (), NO_AUDIT)
    if agreed and len(audited) < FEWEST_CASES:
        return Ranking((), (), TOO_FEW_AUDITED.format(len(audited), FEWEST_CASES))
    return _ranked(debates, cases=audited or {debate.case for debate in debates}, planned=planned)


def _ranked(debates: Sequence[DebatedPair], *, cases: set[Hashable], planned: int = 0) -> Ranking:
    names = sorted({name for debate in debates for name in (debate.first, debate.second)})
    if not names:
        return Ranking((), (), NO_DEBATES)
    outcomes = _arrays(debates, {name: position for position, name in enumerate(names)})
    groups = _connected(outcomes, names)
    if len(groups) > 1:
        listed = "; ".join(", ".join(group) for group in groups)
        return Ranking((), groups, f"No comparison links these groups, so they have no common ranking: {listed}.")
    is_few = len(cases) < FEWEST_CASES
    strengths = bradley_terry(outcomes, systems=len(names), degrees=len(cases) - 1)
    strengths = replace(strengths, planned=0 if is_few else planned)
    ranks = dict.fromkeys(range(len(names)), RankSet(1, len(names))) if is_few else _rank_sets(strengths)
    played = np.bincount(np.concatenate([outcomes.first, outcomes.second]), minlength=len(names))
    rows = [
        (name, _strength(strengths, i, played=int(played[i]), cases=len(cases)), ranks[i])
        for i, name in enumerate(names)
    ]
    rows.sort(key=lambda row: (-(row[1].value or 0.0), row[0]))
    return Ranking(tuple(rows), groups, "", strengths.inclusion)


def _strength(strengths: Strengths, position: int, *, played: int, cases: int) -> Estimate:
    value = float(strengths.values[position])
    if cases < FEWEST_CASES:
        return Estimate(value, None, None, played, FEW_FOR_INTERVAL.format(cases, FEWEST_CASES))
    return Estimate(value, *strengths.interval(position), played)


def _arrays(debates: Sequence[DebatedPair], positions: Mapping[str, int]) -> DebateArrays:
    """Return the debates as arrays, each pair the same way round."""
    rows = []
    for debate in debates:
        first, second = positions[debate.first], positions[debate.second]
        points = [np.nan if value is None else value for value in (debate.debate, debate.people)]
        rows.append((first, second, *points) if first < second else (second, first, *(1 - value for value in points)))
    table = np.array(rows, dtype=np.float64)
    cases = cluster_codes([debate.case for debate in debates])
    rates = np.array([debate.rate for debate in debates])
    places = table[:, :2].astype(np.int64)
    return DebateArrays(cases, places[:, 0], places[:, 1], table[:, 2], table[:, 3], rates)


def _connected(outcomes: DebateArrays, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    edges = scipy.sparse.coo_array(
        (np.ones(len(outcomes.first)), (outcomes.first, outcomes.second)), shape=(len(names), len(names))
    )
    count, labels = scipy.sparse.csgraph.connected_components(edges, directed=False)
    return tuple(
        tuple(name for name, label in zip(names, labels, strict=True) if label == group) for group in range(count)
    )


def _rank_sets(strengths: Strengths) -> dict[int, RankSet]:
    """Return the ranks that tests of every two strengths allow, with Holm's correction over all pairs."""
    systems = range(len(strengths.values))
    pairs = list(combinations(systems, 2))
    p_values = [strengths.p_value(first, second) for first, second in pairs]
    adjusted = holm(p_values)
    better = [
        (first, second) if strengths.values[first] > strengths.values[second] else (second, first)
        for (first, second), p_value in zip(pairs, adjusted, strict=True)
        if p_value <= 1 - LEVEL
    ]
    return ranks_of(systems, better)
