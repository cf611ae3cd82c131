"""What was counted in one cell: how often figures held the truth, and how far they were off."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import scipy

CERTAINTY = 0.99
LEAST_OVERALL, MOST_OVERALL, LEAST_OF_A_CELL = 0.94, 0.98, 0.915
LEAST_OF_BOUND = 0.90  # that is said to hold with 90% certainty
MOST_FALSE, MOST_BIAS, MOST_OFF_PLAN, MOST_WIDTH = 0.05, 0.01, 0.10, 1.02


class Claim(StrEnum):
    """What a kind of figure promises."""

    INTERVAL = "95% interval"
    BOUND = "holds at least 95% of the time"
    CERTAINTY = "holds at least 90% of the time"
    FALSE = "wrong at most 5% of the time"
    BIAS = "off by at most 1 point on average"
    WIDTH = "narrower than people alone, at most 2% wider in a cell"  # a judge that says nothing costs a little
    PLAN = "as planned, within 10%"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of shown figure; `name` is what the table calls it."""

    name: str
    claim: Claim = Claim.INTERVAL


@dataclass(slots=True)
class Tally:
    """Values by kind and board: 1 or 0 for what held or was wrong, an error, or a ratio."""

    board: int = 0
    values: dict[Kind, dict[int, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    noted: dict[tuple[Kind, Any], dict[int, Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, kind: Kind, value: float) -> None:
        """Count one value on the present board."""
        self.values[kind][self.board].append(float(value))

    def interval(self, kind: Kind, figure: Mapping[str, Any] | None, truth: float) -> None:
        """Count whether an interval holds the truth; a figure without one counts for nothing."""
        if figure is not None and figure["low"] is not None and figure["high"] is not None:
            self.add(kind, figure["low"] <= truth <= figure["high"])

    def note(self, kind: Kind, name: Any, figure: Mapping[str, Any]) -> None:
        """Keep one share of the present board until it is known what is true."""
        if figure["value"] is not None:
            self.noted[kind, name][self.board] = figure

    def count_pooled(self) -> None:
        """Count the shares that were kept; the truth is their share over all boards."""
        for (kind, _), figures in self.noted.items():
            n = sum(figure["n"] for figure in figures.values())
            truth = sum(figure["value"] * figure["n"] for figure in figures.values()) / n
            for self.board, figure in figures.items():
                self.interval(kind, figure, truth)

    def counts(self) -> dict[Kind, Count]:
        """Return what each kind comes to."""
        return {kind: Count.of(list(boards.values())) for kind, boards in self.values.items()}


Seen = tuple[Kind, Any, Mapping[str, Any] | None, float]  # a figure by its name at one look, and what is true


class Watch:
    """Whether each figure of one board held at every look at which it was shown."""

    def __init__(self) -> None:
        self.held: dict[tuple[Kind, Any], list[bool]] = defaultdict(list)

    def look(self, figures: Iterator[Seen]) -> None:
        """Note what holds now; a figure without an interval is not shown."""
        for kind, name, figure, truth in figures:
            if figure is not None and figure["low"] is not None:
                self.held[kind, name].append(bool(figure["low"] <= truth <= figure["high"]))

    def count(self, tally: Tally) -> None:
        """Count each figure once."""
        for (kind, _), held in self.held.items():
            tally.add(kind, all(held))


@dataclass(frozen=True, slots=True)
class Count:
    """The mean of n values, and its standard error: values of one board hang together."""

    mean: float
    n: int
    boards: int
    error: float

    @classmethod
    def of(cls, boards: list[list[float]]) -> Count:
        """Return the count of values by board."""
        values = np.concatenate([np.asarray(board, dtype=np.float64) for board in boards])
        mean, count = float(values.mean()), len(boards)
        sums = np.array([sum(board) - mean * len(board) for board in boards])
        error = float(np.sqrt((sums**2).sum() * count / max(count - 1, 1))) / len(values)
        return cls(mean, len(values), count, error)

    def misses(self, claim: Claim) -> bool:
        """Whether the cell breaks what the kind promises, by more than chance."""
        if claim in (Claim.INTERVAL, Claim.BOUND):
            return self.is_below(LEAST_OF_A_CELL)
        if claim is Claim.CERTAINTY:
            return self.is_below(LEAST_OF_BOUND)
        if claim is Claim.FALSE:
            return Count(1 - self.mean, self.n, self.boards, self.error).is_below(1 - MOST_FALSE)
        reach = float(scipy.special.ndtri(CERTAINTY)) * self.error
        if claim is Claim.BIAS:
            return abs(self.mean) > MOST_BIAS + reach
        if claim is Claim.WIDTH:
            return self.mean > MOST_WIDTH + reach
        return abs(self.mean - 1) > MOST_OFF_PLAN + reach

    def is_below(self, share: float) -> bool:
        """Whether the values, 1 or 0, show that the share is not reached: a binomial test, less what hangs together."""
        plain = self.mean * (1 - self.mean) / self.n
        effect = max(1.0, self.error**2 / plain) if plain else 1.0
        n = self.n / effect
        return bool(scipy.special.bdtr(round(self.mean * n), max(1, round(n)), share) < 1 - CERTAINTY)

    @property
    def is_doubtful(self) -> bool:
        """Whether so few intervals hold that more boards should say whether it is by chance."""
        return self.mean < LEAST_OF_A_CELL


def pooled(counts: list[Count]) -> Count:
    """Return all cells of a kind as one, each value counted once."""
    n = sum(count.n for count in counts)
    mean = sum(count.mean * count.n for count in counts) / n
    error = float(np.sqrt(sum((count.error * count.n) ** 2 for count in counts))) / n
    return Count(mean, n, sum(count.boards for count in counts), error)
