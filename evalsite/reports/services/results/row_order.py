"""Which rows of a grid of results are shown, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evalsite.reports.services.results.cells import ResultGrid, Shares
from judging.statistics.estimates import Ints

SAME = 0.005  # shares that differ by no more print alike
HALF = 0.5  # a score below it is a low one
CASE_ORDER = "case"
SPREAD = "spread"


class RowFilter(StrEnum):
    """Which rows are wanted."""

    ALL = ""
    DIFFER = "differ"
    LOW = "low"
    UNSCORED = "unscored"
    OVERRULED = "overruled"
    LABELLED = "labelled"
    HIGHER = "higher"  # a column above the first
    LOWER = "lower"


COMPARED = (RowFilter.HIGHER, RowFilter.LOWER)


@dataclass(frozen=True, slots=True)
class RowChoice:
    """What the reader asks for; the names of a column, scenario or language are places in lists."""

    shown: RowFilter = RowFilter.ALL
    other: int = 1  # the place of the column that HIGHER and LOWER compare with the first
    scenario: int | None = None
    language: int | None = None
    least: float | None = None  # a score that some column reaches
    most: float | None = None  # a score that some column stays at or below
    matches: np.ndarray | None = None  # whether a search found the row; None: nothing was searched for
    sort: str = CASE_ORDER  # CASE_ORDER, SPREAD or the place of a column, with - in front for the other way


def spread_of(shares: Shares) -> np.ndarray:
    """Return how far the scores of each row lie apart; 0 where fewer than two columns have one. Shape (rows,)."""
    return np.asarray(np.nan_to_num(np.fmax.reduce(shares, axis=0) - np.fmin.reduce(shares, axis=0)))


def choose_rows(grid: ResultGrid, choice: RowChoice, *, scenarios: np.ndarray, languages: np.ndarray) -> Ints:
    """Return the places of the wanted rows in order; `scenarios` and `languages` are those of each case."""
    needs_spread = choice.shown == RowFilter.DIFFER or choice.sort.removeprefix("-") == SPREAD
    spread = spread_of(grid.shares) if needs_spread else grid.shares[0]
    if choice.shown == RowFilter.DIFFER:
        is_chosen = spread > SAME
    else:
        is_chosen = _compared(grid, choice) if choice.shown in COMPARED else _FILTERS[choice.shown](grid)
    for chosen, codes in ((choice.scenario, scenarios), (choice.language, languages)):
        if chosen is not None:
            is_chosen &= codes[grid.cases] == chosen
    if choice.least is not None or choice.most is not None:
        least = -np.inf if choice.least is None else choice.least - SAME
        most = np.inf if choice.most is None else choice.most + SAME
        with np.errstate(invalid="ignore"):
            is_chosen &= ((grid.shares >= least) & (grid.shares <= most)).any(axis=0)
    if choice.matches is not None:
        is_chosen &= choice.matches
    rows = np.flatnonzero(is_chosen)
    name = choice.sort.removeprefix("-")
    turned = -1.0 if choice.sort.startswith("-") else 1.0
    if name != SPREAD and not (name.isdigit() and int(name) < len(grid.shares)):
        return rows[:: int(turned)]
    values = spread if name == SPREAD else grid.shares[int(name)]
    return rows[np.argsort(turned * values[rows], kind="stable")]  # NaN last, equals as in the suite


def _compared(grid: ResultGrid, choice: RowChoice) -> np.ndarray:
    """Return where another column is higher, or lower, than the first; nowhere if there is no such column."""
    if not 0 < choice.other < len(grid.shares):
        return np.zeros(len(grid.cases), dtype=bool)
    difference = grid.shares[choice.other] - grid.shares[0]
    with np.errstate(invalid="ignore"):
        return np.asarray(difference > SAME if choice.shown == RowFilter.HIGHER else difference < -SAME)


def _is_low(grid: ResultGrid) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray((grid.shares < HALF).any(axis=0))


def _lacks_score(grid: ResultGrid) -> np.ndarray:
    return np.asarray(((grid.responses > 0) & np.isnan(grid.shares)).any(axis=0))


def _is_overruled(grid: ResultGrid) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(grid.labels - grid.shares) > SAME).any(axis=0))


_FILTERS: Mapping[RowFilter, Callable[[ResultGrid], np.ndarray]] = {
    RowFilter.ALL: lambda grid: np.ones(len(grid.cases), dtype=bool),
    RowFilter.LOW: _is_low,
    RowFilter.UNSCORED: _lacks_score,
    RowFilter.OVERRULED: _is_overruled,
    RowFilter.LABELLED: lambda grid: ~np.isnan(grid.labels).all(axis=0),
}
