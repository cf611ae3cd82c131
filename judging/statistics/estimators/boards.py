"""Leaderboards: raw, human-only and corrected means of one estimand, the score on cases like these.

The three differ in what they are given, not in the formula: the judge's scores of all cases, the labels of the audited
cases alone, or both. A missing response counts its null score as label and as judge's score, known without asking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judging.statistics.estimates import Estimate, Floats, Ints
from judging.statistics.estimators.differences import (
    ComparedPair,
    RankSet,
    compared_pairs,
    paired_difference,
    rank_sets,
)
from judging.statistics.estimators.strata import (
    FEWEST_CASES,
    SHARE,
    Bounds,
    Inference,
    Scale,
    Stratum,
    TooFew,
    census_mean,
    look_multiplier,
    make_stratum,
    merged,
    nonresponse_bounds,
    people_only,
    shown_mean,
    stratified_mean,
)

Flags = NDArray[np.bool_]
TOO_FEW_AUDITED = "Too few: {} of {} audited cases."
ONE_SYSTEM = "No other system has a score on the same case."


class MeanKind(StrEnum):
    """Which mean a leaderboard shows."""

    RAW = "raw"
    HUMAN = "human"
    CORRECTED = "corrected"


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
    )


def _inference(parts: _SystemStrata, data: BoardData, *, needed: int) -> Inference | TooFew:
    n = parts.n
    is_census = not any(len(stratum.others) for stratum in parts.sampled)
    if n < needed and not (is_census and n + parts.imputed >= needed):
        return TooFew(n, needed)
    return stratified_mean(
        merged([*parts.sampled, *parts.further]), scale=data.scale, critical=_critical(data, n), own_spread=True
    )


def _unscored(labels: Floats) -> list[Stratum]:
    """Return the responses without a score where people decided two of them or all; else they are left out."""
    decided = labels[~np.isnan(labels)]
    waiting = len(labels) - len(decided)
    return [people_only(decided, others=waiting)] if len(decided) >= 2 or (len(decided) and not waiting) else []


def _critical(data: BoardData, n: int) -> float | None:
    return look_multiplier(n, data.planned) if data.planned and n >= FEWEST_CASES else None


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
    """Return the share of the other systems that each system beats on a case, ties half, by judge and by people."""
    drawn = data.drawn | data.missing
    labels = np.where(drawn, data.labels, np.nan)
    nowhere = np.zeros_like(data.missing)
    return BoardData(
        _beaten_shares(data.judge), _beaten_shares(labels), drawn, nowhere, planned=data.planned, strata=data.strata
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
