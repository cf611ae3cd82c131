"""Leaderboards: raw, human-only and corrected means of one estimand, the score on cases like these.

The three differ in what they are given, not in the formula: the judge's scores of all cases, the labels of the audited
cases alone, or both. A missing response counts its null score as label and as judge's score, known without asking.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import NDArray

from evalsite.base.formats import ScoreScale
from judging.statistics.agreement import Weights, cohen_of
from judging.statistics.estimates import (
    DIFFERENCE,
    FEW_FOR_INTERVAL,
    FEWEST_CASES,
    FEWEST_FOR_CLAIMS,
    LEVEL,
    NOTHING,
    SHARE,
    Bounds,
    Estimate,
    Floats,
    Inference,
    Interval,
    Ints,
    MeanKind,
    Scale,
    Stratum,
    TooFew,
    census_mean,
    look_multiplier,
    look_p_value,
    make_stratum,
    merged,
    mid_p_interval,
    nonresponse_bounds,
    people_only,
    share_of,
    shown_mean,
    stratified_mean,
    t_quantile,
    undefined,
    with_interval,
    z_value,
)
from judging.statistics.rank_correlation import tau_of

PSEUDO = 0.5  # of differences: one at each end would halve the power
SIGNIFICANT = 1 - LEVEL


def paired_difference(strata: Sequence[Stratum], *, scale: Scale = DIFFERENCE, planned: int = 0) -> Inference | TooFew:
    """Return the mean of differences by case, or that there are too few labelled cases to tell its sign.

    The scale is that of a difference: from (low - high) to (high - low). `planned` is that of `shown_mean`. Source:
    Agresti and Min 2005.
    """
    return shown_mean(strata, scale=scale, pseudo=PSEUDO, needed=FEWEST_FOR_CLAIMS, planned=planned)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted step-down, in the order given: the running maximum of (m - rank) p (Holm 1979)."""
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate((len(raw) - np.arange(len(raw))) * raw[order]))
    return tuple(float(value) for value in adjusted)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """First minus second. `adjusted_p` is Holm's over all pairs of the board; None where there are too few cases."""

    first: int
    second: int
    difference: Inference | TooFew
    adjusted_p: float | None

    @property
    def better(self) -> int | None:
        """The one shown to be better once all pairs are taken into account; None where they cannot be told apart."""
        if not isinstance(self.difference, Inference) or self.adjusted_p is None or self.adjusted_p > SIGNIFICANT:
            return None
        return self.first if self.difference.centre > 0 else self.second


def compared_pairs(differences: Mapping[tuple[int, int], Inference | TooFew]) -> tuple[ComparedPair, ...]:
    """Return the pairs of a board with p-values corrected for their number."""
    tested = [difference.p_value for difference in differences.values() if isinstance(difference, Inference)]
    adjusted = iter(holm(tested))
    return tuple(
        ComparedPair(first, second, difference, next(adjusted) if isinstance(difference, Inference) else None)
        for (first, second), difference in differences.items()
    )


@dataclass(frozen=True, slots=True)
class RankSet:
    """The ranks that a system may have: all of them hold at once with 95% certainty. Source: Mogstad et al. 2024."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_sets(systems: Iterable[int], pairs: Iterable[ComparedPair]) -> dict[int, RankSet]:
    """Return the ranks of each system: behind those shown to be better, before those shown to be worse."""
    shown = [(pair.better, pair.second if pair.better == pair.first else pair.first) for pair in pairs]
    return ranks_of(systems, [(better, worse) for better, worse in shown if better is not None])


def ranks_of(systems: Iterable[int], shown: Iterable[tuple[int, int]]) -> dict[int, RankSet]:
    """Return the ranks of each system from the pairs (better, worse) that were told apart."""
    numbers = list(systems)
    above, below = dict.fromkeys(numbers, 0), dict.fromkeys(numbers, 0)
    for better, worse in shown:
        below[better] += 1
        above[worse] += 1
    return {system: RankSet(1 + above[system], len(numbers) - below[system]) for system in numbers}


def case_means(values: Sequence[float] | Floats, cases: Sequence[Hashable]) -> dict[Hashable, float]:
    """Return the mean of the values of each case, cases in the order of first appearance.

    Attempts, responses and criteria of one case are no independent observations.

    Raises:
        ValueError: values and cases differ in number.
    """
    sums: dict[Hashable, list[float]] = {}
    for value, case in zip(values, cases, strict=True):
        sums.setdefault(case, []).append(float(value))
    return {case: sum(case_values) / len(case_values) for case, case_values in sums.items()}


def mean_of_cases(values: Sequence[float] | Floats, cases: Sequence[Hashable], *, scale: Scale = SHARE) -> Estimate:
    """Return the mean of all cases, each the mean of its values, as `census_mean`; n = cases."""
    return census_mean(list(case_means(values, cases).values()), scale=scale)


SAME = 0.005  # scores that differ by no more print alike
STEPS = 1000  # scores closer together than 1 / STEPS count as one level
MAX_LEVELS = 7  # of a scale that kappa and a table of counts make sense for
MAX_PAIRS = 500  # that a scatter plot draws one by one; more are drawn on a coarser grid
COARSE = 20  # steps of that grid in each direction
MANY_CELLS = 500_000  # from which on the first two columns alone are compared
TWO = 2


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """A column compared with the first one, over the rows on which both have a score."""

    other: int  # the place of the column
    n: int
    difference: Estimate  # this one minus the first, over cases
    higher: int  # rows on which this one is higher
    same: int
    lower: int
    tau: float | None
    kappa: Estimate | None  # on a scale of few levels, quadratic weights where they are more than two
    levels: tuple[float, ...]  # of that scale
    counts: tuple[tuple[int, ...], ...]  # by level of the first column and of this one
    apart: str  # why scores on two scales have no difference; then only their ranks are compared
    pairs: tuple[tuple[float, float, int], ...]  # without such a scale: score of the first, of this one, how many rows


def compare_columns(shares: np.ndarray, cases: Ints, scales: Sequence[ScoreScale]) -> list[ColumnComparison]:
    """Return the first column against each of the others; of a very large grid against the second alone.

    `shares` are scores from 0 to 1 of the shape (columns, rows), NaN: none; `cases` says whose case each row is, and
    `scales` are those of the columns. Scores on different ones are never subtracted.
    """
    columns = range(1, len(shares))
    return [
        _compared(shares, cases, other, scales[0].why_apart(scales[other]))
        for other in (columns if shares.size <= MANY_CELLS else columns[:1])
    ]


def _compared(shares: np.ndarray, cases: Ints, other: int, apart: str) -> ColumnComparison:
    both = ~np.isnan(shares[[0, other]]).any(axis=0)
    first, second = shares[0, both], shares[other, both]
    differences = second.astype(np.float64) - first
    higher, lower = int((differences > SAME).sum()), int((differences < -SAME).sum())
    table, levels = _table(first, second)
    is_scale = 1 < len(levels) <= MAX_LEVELS and not apart
    weights = Weights.QUADRATIC if len(levels) > TWO else Weights.NONE
    return ColumnComparison(
        other=other,
        n=len(differences),
        difference=undefined(apart, n=len(differences))
        if apart
        else census_mean(by_case(differences, cases[both]), scale=DIFFERENCE),
        higher=higher,
        same=len(differences) - higher - lower,
        lower=lower,
        tau=tau_of(table),
        kappa=cohen_of(table, tuple(map(str, levels)), weights) if is_scale else None,
        levels=levels if is_scale else (),
        counts=tuple(map(tuple, table.tolist())) if is_scale else (),
        apart=apart,
        pairs=() if is_scale else _pairs(table, levels),
    )


def _pairs(table: Ints, levels: tuple[float, ...]) -> tuple[tuple[float, float, int], ...]:
    """Return each pair of scores with how often it occurs, in steps of 1 / COARSE where there are too many."""
    rows, columns = np.nonzero(table)
    scores, counts = np.array(levels), table[rows, columns]
    if len(counts) > MAX_PAIRS:
        steps = np.rint(scores * COARSE).astype(np.int64)
        lowest, width = steps[0], steps[-1] - steps[0] + 1
        coarse = np.zeros((width, width), dtype=np.int64)
        np.add.at(coarse, (steps[rows] - lowest, steps[columns] - lowest), counts)
        rows, columns = np.nonzero(coarse)
        scores, counts = (np.arange(width) + lowest) / COARSE, coarse[rows, columns]
    return tuple((float(scores[x]), float(scores[y]), int(n)) for x, y, n in zip(rows, columns, counts, strict=True))


def by_case(values: Floats, cases: Ints) -> Floats:
    """Return the mean of each case that has a value, in the order of the cases."""
    counts = np.bincount(cases)
    sums = np.bincount(cases, weights=values, minlength=len(counts))
    return np.asarray(sums[counts > 0] / counts[counts > 0])


def _table(first: np.ndarray, second: np.ndarray) -> tuple[Ints, tuple[float, ...]]:
    """Return the table of counts of pairs of scores, and the scores in ascending order."""
    steps = np.rint(np.concatenate([first, second]) * STEPS).astype(np.int32)
    if not len(steps):
        return np.zeros((0, 0), dtype=np.int64), ()
    lowest = int(steps.min())
    levels = np.flatnonzero(np.bincount(steps - lowest))
    places = np.zeros(int(levels[-1]) + 1, dtype=np.int32)
    places[levels] = np.arange(len(levels))
    rows, columns = np.split(places[steps - lowest], 2)
    table = np.bincount(rows * len(levels) + columns, minlength=len(levels) ** 2).reshape(len(levels), len(levels))
    return table, tuple(float(step) for step in (levels + lowest) / STEPS)


NEAR_PRIOR, FAR_PRIOR = 0.6, 0.4  # of the one prior case of a class: at the end that a limit lies towards, and beyond
LITTLE_PULL = 0.4  # standard errors
RARE = 2  # labels
FAR_PART = 0.1


def is_pass_fail(strata: Sequence[Stratum], scale: Scale) -> bool:
    """Return whether every label and every score of the judge lies at an end of the scale."""
    arrays = [values for stratum in strata for values in (stratum.labels, stratum.judge, stratum.others)]
    return all(bool(np.isin(values, (scale.low, scale.high)).all()) for values in arrays)


def pass_fail_limits(strata: Sequence[Stratum], inference: Inference, *, scale: Scale) -> tuple[float, float]:
    """Return the interval to show for a mean over strata of passes and fails, at least one of which is sampled.

    It is that of `inference` where pseudo-cases hardly move the centre, as near a rate of a half: there it covers, and
    is the narrower one if the judge is good. Elsewhere it is that of `two_class_limits`, whose tiny classes say too
    much where people gave a label twice or less: then the limit at the near end of the scale is the outer one of both,
    and the other one moves only a part of the way.
    """
    inner, outer = (inference.low, inference.high), two_class_limits(strata, scale=scale)
    if abs(inference.unbounded - inference.centre) <= LITTLE_PULL * inference.error:
        return inner
    passed = sum(float(_passed(stratum.labels, scale).sum()) for stratum in strata if len(stratum.others))
    labelled = sum(len(stratum.labels) for stratum in strata if len(stratum.others))
    low, high = outer
    if min(passed, labelled - passed) <= RARE:
        wide = min(inner[0], low), max(inner[1], high)
        part = [(1 - FAR_PART) * own + FAR_PART * other for own, other in zip(inner, wide, strict=True)]
        low, high = (part[0], wide[1]) if 2 * passed > labelled else (wide[0], part[1])
    return min(low, inference.point), max(high, inference.point)


def two_class_limits(strata: Sequence[Stratum], *, scale: Scale) -> tuple[float, float]:
    """Return both limits of the mean over the cases of all strata.

    The cases that the judge passes and those that it fails are two classes. Of those with a label in a class the share
    that people pass has a Beta posterior; the mean over classes is again taken as a Beta of its mean and variance, in
    which (1 - n/K) counts the sample and S²/K the cases. The prior case of each class leans outwards, to the lower end
    for the lower limit. With pseudo-cases at the ends of the scale instead, 30 labels of which the judge disagrees with
    few show too little spread: pass rate .9, wrong in 5%: such intervals cover 81 to 91%, these 98%, and are as wide.
    """
    tail, width = (1 - LEVEL) / 2, scale.high - scale.low
    low = _limit(strata, scale, passes=FAR_PRIOR, fails=NEAR_PRIOR, tail=tail)
    high = _limit(strata, scale, passes=NEAR_PRIOR, fails=FAR_PRIOR, tail=1 - tail)
    return scale.low + width * low, scale.low + width * high


def _limit(strata: Sequence[Stratum], scale: Scale, *, passes: float, fails: float, tail: float) -> float:
    total = sum(stratum.size for stratum in strata)
    mean = variance = 0.0
    for stratum in strata:
        if not len(stratum.others):  # known without a sample
            mean += float(_passed(stratum.labels, scale).sum()) / total
            continue
        judged = _passed(np.concatenate([stratum.judge, stratum.others]), scale)
        labels, judge = _passed(stratum.labels, scale), _passed(stratum.judge, scale)
        for is_passed in (0.0, 1.0):
            weight = float((judged == is_passed).sum()) / total
            of_class = labels[judge == is_passed]
            alpha, beta = float(of_class.sum()) + passes, float((1 - of_class).sum()) + fails
            share = alpha / (alpha + beta)
            mean += weight * share
            sampled = 1 - len(stratum.labels) / stratum.size
            variance += sampled * weight**2 * share * (1 - share) / (alpha + beta + 1)
    spread = mean * (1 - mean)
    cases = spread / (variance + spread / total) - 1
    return float(scipy.special.betaincinv(mean * cases, (1 - mean) * cases, tail))


def _passed(values: Floats, scale: Scale) -> Floats:
    passed: Floats = (values == scale.high).astype(np.float64)
    return passed


Flags = NDArray[np.bool_]
TOO_FEW_AUDITED = "Too few: {} of {} audited cases."
ONE_SYSTEM = "No other system has a score on the same case."


@dataclass(frozen=True, slots=True, eq=False)
class BoardData:
    """Systems x cases. A missing response has its null score in `judge` and `labels`, or NaN where it is left out."""

    judge: Floats  # NaN: no score
    labels: Floats  # NaN: no label, or one that was not asked for by audit; of unscored responses any label counts
    drawn: Flags  # audited: a response of the system to a drawn case
    missing: Flags
    scale: Scale = SHARE
    planned: int = 0  # drawn cases, fixed before the first look; above 0: intervals that hold at every look
    strata: Ints | None = None  # by case, the stratum from which the audit drew; None: one

    def only(self, columns: Flags) -> BoardData:
        """Return some of the cases."""
        parts = (self.judge[:, columns], self.labels[:, columns], self.drawn[:, columns], self.missing[:, columns])
        planned = int(parts[2].any(axis=0).sum()) if self.planned else 0
        return BoardData(*parts, self.scale, planned, None if self.strata is None else self.strata[columns])

    def systems(self, rows: Sequence[int]) -> BoardData:
        """Return some of the systems, in this order."""
        parts = (self.judge[rows], self.labels[rows], self.drawn[rows], self.missing[rows])
        return BoardData(*parts, self.scale, self.planned, self.strata)

    def by_stratum(self) -> list[Flags]:
        """Return which cases each stratum holds."""
        if self.strata is None:
            return [np.ones(self.judge.shape[1], dtype=bool)]
        return [self.strata == stratum for stratum in np.unique(self.strata)]


@dataclass(frozen=True, slots=True)
class SystemFigure:
    """A system's mean; n = cases of a raw mean, audited and decided cases of the others."""

    estimate: Estimate
    bounds: Bounds | None = None  # where not all drawn cases are decided


@dataclass(frozen=True, slots=True)
class Board:
    """Figures, ranks (None without a figure) and win rates by system, and every pair."""

    figures: tuple[SystemFigure, ...]
    ranks: tuple[RankSet | None, ...]
    wins: tuple[Estimate, ...]
    pairs: tuple[ComparedPair, ...]


def board(data: BoardData, mode: MeanKind) -> Board:
    """Return the leaderboard of one mode."""
    systems = range(len(data.judge))
    figures = tuple(system_mean(data, system, mode) for system in systems)
    shown = [system for system in systems if figures[system].estimate.is_defined]
    pairs = compared_pairs({pair: pair_difference(data, *pair, mode) for pair in combinations(shown, 2)})
    ranks = rank_sets(shown, pairs)
    wins = _win_data(data)
    return Board(
        figures,
        tuple(ranks.get(system) for system in systems),
        tuple(_win_rate(wins, system, mode) for system in systems),
        pairs,
    )


def audited(data: BoardData, system: int) -> tuple[int, int]:
    """Return how many cases were decided, and how many were drawn, of a system's responses."""
    drawn = data.drawn[system] & ~data.missing[system]
    return int((drawn & ~np.isnan(data.labels[system])).sum()), int(drawn.sum())


def system_mean(data: BoardData, system: int, mode: MeanKind) -> SystemFigure:
    """Return a system's mean, or why there is none."""
    if mode is MeanKind.RAW:
        judge = data.judge[system]
        return SystemFigure(census_mean(judge[~np.isnan(judge)], scale=data.scale))
    parts = _parts(data, system, mode)
    n = parts.n
    inference = _inference(parts, data, needed=FEWEST_CASES)
    if isinstance(inference, TooFew):
        return SystemFigure(Estimate(None, None, None, n, TOO_FEW_AUDITED.format(n, inference.needed)))
    estimate = Estimate(inference.point, inference.low, inference.high, n)
    if not any(len(waiting) for _, waiting in parts.undecided):
        return SystemFigure(estimate)
    bounds = nonresponse_bounds(parts.undecided, further=parts.further, scale=data.scale)
    return SystemFigure(estimate, bounds)


def system_inference(data: BoardData, system: int, mode: MeanKind, *, needed: int) -> Inference | TooFew:
    """Return a system's mean with what tests need, or that it has fewer than `needed` cases, audited where it counts.

    `n` of the raw mean are its scored cases.
    """
    if mode is not MeanKind.RAW:
        return _inference(_parts(data, system, mode), data, needed=needed)
    judge = data.judge[system]
    scores = judge[~np.isnan(judge)]
    return shown_mean([people_only(scores)], scale=data.scale, needed=needed)


@dataclass(frozen=True, slots=True, eq=False)
class _SystemStrata:
    """A system's cases as strata: those with a score, audited or not, and those known or decided in another way."""

    sampled: list[Stratum]
    undecided: list[tuple[Stratum, Floats]]  # without the drawn cases that wait for a decision, and the scores of these
    further: list[Stratum]
    imputed: int  # missing responses with a null score
    is_corrected: bool  # with the judge's scores

    @property
    def n(self) -> int:
        return sum(len(stratum.labels) for stratum in self.sampled)


def _parts(data: BoardData, system: int, mode: MeanKind) -> _SystemStrata:
    judge, missing, labels = data.judge[system], data.missing[system], data.labels[system]
    scored = ~missing & ~np.isnan(judge)
    decided = scored & data.drawn[system] & ~np.isnan(labels)
    is_imputed = missing & ~np.isnan(judge)
    values = judge if mode is MeanKind.CORRECTED else np.zeros(len(judge))
    sampled, undecided = [], []
    for in_stratum in data.by_stratum():
        labelled = labels[in_stratum & decided], values[in_stratum & decided]
        undrawn = in_stratum & scored & ~data.drawn[system]
        sampled.append(make_stratum(*labelled, values[in_stratum & scored & ~decided]))
        undecided.append(
            (make_stratum(*labelled, values[undrawn]), values[in_stratum & scored & data.drawn[system] & ~decided])
        )
    return _SystemStrata(
        sampled,
        undecided,
        [make_stratum(judge[is_imputed], judge[is_imputed]), *_unscored(labels[~missing & np.isnan(judge)])],
        int(is_imputed.sum()),
        mode is MeanKind.CORRECTED,
    )


def _inference(parts: _SystemStrata, data: BoardData, *, needed: int) -> Inference | TooFew:
    n = parts.n
    is_census = not any(len(stratum.others) for stratum in parts.sampled)
    if n < needed and not (is_census and n + parts.imputed >= needed):
        return TooFew(n, needed)
    strata = merged([*parts.sampled, *parts.further])
    critical = look_multiplier(n, data.planned) if data.planned and n >= FEWEST_CASES else None
    inference = stratified_mean(strata, scale=data.scale, critical=critical, own_spread=True)
    if is_census or critical is not None or not parts.is_corrected or not is_pass_fail(strata, data.scale):
        return inference
    low, high = pass_fail_limits(strata, inference, scale=data.scale)
    return replace(inference, low=low, high=high)


def _unscored(labels: Floats) -> list[Stratum]:
    """Return the responses without a score where people decided two of them or all; else they are left out."""
    decided = labels[~np.isnan(labels)]
    waiting = len(labels) - len(decided)
    return [people_only(decided, others=waiting)] if len(decided) >= 2 or (len(decided) and not waiting) else []


def pair_difference(data: BoardData, first: int, second: int, mode: MeanKind) -> Inference | TooFew:
    """Return first minus second over the cases on which both have a score."""
    judge = data.judge[first] - data.judge[second]
    scored = ~np.isnan(judge)
    width = data.scale.high - data.scale.low
    scale = Scale(-width, width)
    if mode is MeanKind.RAW:
        return paired_difference([people_only(judge[scored])], scale=scale)
    labels = data.labels[first] - data.labels[second]
    absent = data.missing[[first, second]].all(axis=0) & scored
    is_drawn = (data.drawn[[first, second]] | data.missing[[first, second]]).all(axis=0)
    decided = scored & ~absent & is_drawn & ~np.isnan(labels)
    values = judge if mode is MeanKind.CORRECTED else np.zeros(len(judge))
    sampled = [
        make_stratum(
            labels[in_stratum & decided], values[in_stratum & decided], values[in_stratum & scored & ~absent & ~decided]
        )
        for in_stratum in data.by_stratum()
    ]
    of_absent = make_stratum(judge[absent], judge[absent])
    return paired_difference([*sampled, of_absent], scale=scale, planned=data.planned)


def _win_data(data: BoardData) -> BoardData:
    """Return the share of the other systems that each system beats on a case, ties half, by judge and by people.

    A case to which no system responded is known without people, as a missing response is, and says nothing of others.
    """
    drawn = data.drawn | (data.missing & data.drawn.any(axis=0))
    labels = np.where(drawn, data.labels, np.nan)
    is_known = np.broadcast_to(data.missing.all(axis=0), data.missing.shape)
    return BoardData(
        _beaten_shares(data.judge), _beaten_shares(labels), drawn, is_known, planned=data.planned, strata=data.strata
    )


def _beaten_shares(values: Floats) -> Floats:
    shares = np.full(values.shape, np.nan)
    for system, scores in enumerate(values):
        others = np.delete(values, system, axis=0)
        points = (np.sign(scores - others) + 1) / 2
        met = ~np.isnan(points)
        compared = met.any(axis=0)
        shares[system, compared] = np.where(met, points, 0.0).sum(axis=0)[compared] / met.sum(axis=0)[compared]
    return shares


def _win_rate(wins: BoardData, system: int, mode: MeanKind) -> Estimate:
    if np.isnan(wins.judge[system]).all():
        return Estimate(None, None, None, 0, ONE_SYSTEM)
    return system_mean(wins, system, mode).estimate


BANDS = ("short", "medium", "long")


@dataclass(frozen=True, slots=True)
class Claim:
    """A difference within or against a slice. `holm_p` is Holm's over all claims made together; None: too few cases."""

    difference: Estimate  # n = cases of the slice
    p_value: float | None = None
    holm_p: float | None = None

    @property
    def holds(self) -> bool:
        """Whether its sign is shown once all the others are taken into account."""
        return self.holm_p is not None and self.holm_p <= SIGNIFICANT


def system_slices(data: BoardData, slices: Sequence[Flags], mode: MeanKind) -> list[list[tuple[Estimate, Claim]]]:
    """Return every system on every slice, shape (systems, slices): its mean there, and how that differs from its mean
    on all other slices; claims by Holm over all of them together.

    `slices` say by case what belongs to each; the rest of one are the others. A mean is shown from 20 cases on (of the
    raw mean any number), a claim from 30 in the slice and in the rest.
    """
    everything = np.logical_or.reduce(slices)
    parts = [(data.only(inside), data.only(everything & ~inside)) for inside in slices]
    rows = [
        [
            (system_mean(inside, system, mode).estimate, _against_rest(inside, rest, system, mode))
            for inside, rest in parts
        ]
        for system in range(len(data.judge))
    ]
    claims = iter(adjusted([claim for row in rows for _, claim in row]))
    return [[(mean, next(claims)) for mean, _ in row] for row in rows]


def pair_slices(data: BoardData, slices: Sequence[Flags], mode: MeanKind) -> tuple[Claim, ...]:
    """Return the first system of the data minus the second within each slice; claims by Holm over the slices."""
    claims = []
    for inside in slices:
        difference = pair_difference(data.only(inside), 0, 1, mode)
        p_value = difference.p_value if isinstance(difference, Inference) else None
        claims.append(Claim(difference.estimate, p_value))
    return adjusted(claims)


def adjusted(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims with p-values corrected for their number."""
    corrected = iter(holm([claim.p_value for claim in claims if claim.p_value is not None]))
    return tuple(claim if claim.p_value is None else replace(claim, holm_p=next(corrected)) for claim in claims)


def _against_rest(inside: BoardData, rest: BoardData, system: int, mode: MeanKind) -> Claim:
    """Return slice minus rest, two independent samples of cases: Welch's degrees of freedom."""
    inferences = [system_inference(part, system, mode, needed=FEWEST_FOR_CLAIMS) for part in (inside, rest)]
    slice_mean, rest_mean = inferences
    if isinstance(slice_mean, TooFew) or isinstance(rest_mean, TooFew):
        return Claim(next(part for part in inferences if isinstance(part, TooFew)).estimate)
    squares = slice_mean.error**2, rest_mean.error**2
    error = math.sqrt(sum(squares))
    degrees = error**4 / (squares[0] ** 2 / slice_mean.degrees + squares[1] ** 2 / rest_mean.degrees)
    gap, width = slice_mean.centre - rest_mean.centre, inside.scale.high - inside.scale.low
    planned = 0 if mode is MeanKind.RAW else min(inside.planned, rest.planned)
    if planned:
        n = min(slice_mean.n, rest_mean.n)
        reach, p_value = look_multiplier(n, planned) * error, look_p_value(gap, error, n=n, planned=planned)
    else:
        reach = t_quantile(degrees) * error
        p_value = float(2 * scipy.special.stdtr(degrees, -abs(gap) / error))
    ends = max(-width, gap - reach), min(width, gap + reach)
    return Claim(Estimate(slice_mean.point - rest_mean.point, *ends, slice_mean.n), p_value)


def length_bands(lengths: Floats) -> Mapping[str, Flags]:
    """Return the cases of each third by length (NaN: none), named with its bounds; none where all are about alike."""
    known_lengths = lengths[~np.isnan(lengths)]
    if len(known_lengths) < len(BANDS):
        return {}
    low, high = (round(float(cut)) for cut in np.quantile(known_lengths, [1 / 3, 2 / 3]))
    rounded = np.round(lengths)
    bands = {
        f"{BANDS[0]}, up to {low:,} characters": rounded <= low,
        f"{BANDS[1]}, up to {high:,}": (rounded > low) & (rounded <= high),
        f"{BANDS[2]}, more than {high:,}": rounded > high,
    }
    return bands if all(inside.any() for inside in bands.values()) else {}


def shown_share(strata: Sequence[Stratum], *, needed: int = FEWEST_CASES, planned: int = 0) -> Inference | TooFew:
    """Return `shown_mean` of values from 0 to 1 with the mid-p interval of as many cases as would be as uncertain.

    That number is the binomial variance over the variance of the mean, both with the two pseudo-cases, less what these
    add: exactly the labelled cases where these are a plain sample of yes and no. With pseudo-cases alone such intervals
    cover 97 to 99.9% from 20 to 60 cases where nearly all are a yes. With `planned` it is `shown_mean`'s. Source: Korn
    and Graubard 1998.
    """
    inference = shown_mean(strata, needed=needed, planned=planned)
    if planned or isinstance(inference, TooFew) or not inference.error:
        return inference
    cases = sum(stratum.size for stratum in strata)
    n = inference.centre * (1 - inference.centre) / inference.error**2 * (1 + 2 / cases) - 1
    if n <= 1:
        return inference
    low, high = mid_p_interval(inference.point, n)
    return replace(inference, low=low, high=high)


def counted_share(count: float, n: int) -> Estimate:
    """Return count / n of things of which there are few, as pairs of systems; fewer than 20 have no interval."""
    if not 0 < n < FEWEST_CASES:
        return share_of(count, n)
    return with_interval(count / n, Interval(None, None, FEW_FOR_INTERVAL.format(n, FEWEST_CASES)), n=n)


def mean_change(values: Sequence[float] | Floats, *, scale: Scale = DIFFERENCE) -> Inference:
    """Return the mean of values that lie at the ends and in the middle of the scale, with the score interval.

    Such are changes between yes and no (-1, 0, 1). Pseudo-cases make intervals of rare changes cover 98 to 100% at 20
    to 60 cases; half as many, 87% where all go one way. With fewer than 20 cases, with other values, and where all lie
    in the middle, the interval is `stratified_mean`'s. Error and p-value always are. Source: Tango 1998.

    Raises:
        ValueError: fewer than two values.
    """
    data = np.asarray(values, dtype=np.float64)
    inference = stratified_mean([people_only(data)], scale=scale)
    middle, half = (scale.low + scale.high) / 2, (scale.high - scale.low) / 2
    up, down = int((data == scale.high).sum()), int((data == scale.low).sum())
    is_plain = up + down + int((data == middle).sum()) == len(data)
    if len(data) < FEWEST_CASES or not is_plain or not up + down:
        return inference
    low, high = score_interval(up, down, len(data))
    return replace(inference, low=middle + half * low, high=middle + half * high)


def census_change(values: Sequence[float] | Floats) -> Estimate:
    """Return `mean_change` of shares that are 0, a half or 1, known of every case; few cases have no interval."""
    if not len(values):
        return undefined(NOTHING)
    if len(values) >= FEWEST_CASES:
        return mean_change(values, scale=SHARE).estimate
    return with_interval(
        float(np.mean(values)), Interval(None, None, FEW_FOR_INTERVAL.format(len(values), FEWEST_CASES)), n=len(values)
    )


def score_interval(up: int, down: int, n: int) -> tuple[float, float]:
    """Return which mean changes a score test does not refuse, of n pairs of which `up` rose and `down` fell.

    Source: Tango 1998, equations 5 to 7.
    """
    return -_highest_change(down, up, n), _highest_change(up, down, n)


def _highest_change(up: int, down: int, n: int) -> float:
    reach = z_value(LEVEL)

    def gap(change: float) -> float:
        """Return the standardized distance of what was seen from a change, less the reach."""
        slope = (2 * n - up + down) * change - up - down
        fell = (math.sqrt(max(0.0, slope**2 + 8 * n * down * change * (1 - change))) - slope) / (4 * n)
        return reach * math.sqrt(max(0.0, n * (2 * fell + change * (1 - change)))) - (n * change - up + down)

    observed = max((up - down) / n, -1 + 1e-12)  # where all fell, -1 itself solves the equation
    if observed >= 1 or gap(1.0) >= 0:
        return 1.0
    return float(scipy.optimize.brentq(gap, observed, 1.0))
