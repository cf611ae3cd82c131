"""The chart of a leaderboard: the three means of each system as dots with their intervals, one row a system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.reports.services.charts import STEPS, Tick
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.shown_rows import SharedAxis, common_axis
from judging.statistics.estimators.boards import MeanKind

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640, 190, 24, 34, 40
ROW_HEIGHT, GAP = 44, 11  # of a system's row, and between its three means
MAX_SYSTEMS = 50  # the best; the table has all
NAME_LETTERS = 26
MAX_TICKS = 6
LEGEND = {
    MeanKind.RAW: (LEFT, "Raw"),
    MeanKind.HUMAN: (LEFT + 70, "Human only"),
    MeanKind.CORRECTED: (LEFT + 175, "Corrected"),
}


@dataclass(frozen=True, slots=True)
class Dot:
    """One mean in the drawing's units; without an interval `low` and `high` are None."""

    mode: str
    x: float
    y: float
    low: float | None
    high: float | None
    says: str


@dataclass(frozen=True, slots=True)
class BoardRow:
    """The dots of one system; `ranks` and `audited` stand below its name."""

    name: str
    says: str
    y: float
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend."""

    mode: str
    x: float
    name: str


@dataclass(frozen=True, slots=True)
class BoardChart:
    """A chart ready to be drawn."""

    title: str
    rows: tuple[BoardRow, ...]
    ticks: tuple[Tick, ...]
    keys: tuple[Key, ...]
    left_out: int  # systems that are not drawn
    height: int
    width: int = WIDTH
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP

    @property
    def bottom(self) -> int:
        """Where the axis is."""
        return self.height - BOTTOM


def board_chart(rows: Sequence[ReportContent]) -> BoardChart | None:
    """Return the chart of the rows of `shown_rows.leaderboard_rows`, in their order; None without any mean."""
    drawn = [row for row in rows if any(row["figures"][mode]["value"] is not None for mode in MeanKind)][:MAX_SYSTEMS]
    if not drawn:
        return None
    axis = common_axis([row["figures"][mode] for row in drawn for mode in MeanKind])
    return BoardChart(
        title="Raw, human-only and corrected means",
        rows=tuple(_row(row, position, axis) for position, row in enumerate(drawn)),
        ticks=tuple(Tick(_x(at, axis), f"{at * 100:g}%") for at in _ticks(axis)),
        keys=tuple(Key(mode.value, x, name) for mode, (x, name) in LEGEND.items()),
        left_out=len(rows) - len(drawn),
        height=TOP + ROW_HEIGHT * len(drawn) + BOTTOM,
    )


def _row(row: ReportContent, position: int, axis: SharedAxis) -> BoardRow:
    middle = TOP + ROW_HEIGHT * (position + 0.5)
    dots = [
        _dot(row, mode, middle + GAP * (number - 1), axis)
        for number, mode in enumerate(MeanKind)
        if row["figures"][mode]["value"] is not None
    ]
    name = row["system"] if len(row["system"]) <= NAME_LETTERS else f"{row['system'][: NAME_LETTERS - 1]}…"
    facts = [f"rank {rank_words(row['ranks'])}"] if row["ranks"] else []
    facts.append(f"{row['decided']} audited of {row['drawn']}" if row["drawn"] else "not audited")
    return BoardRow(name, ", ".join(facts), middle, tuple(dots))


def rank_words(ranks: Sequence[int] | None) -> str:
    """Return a rank as pages show it: "2", or "2-4" for all the ranks that a system may have; "" for none."""
    if ranks is None:
        return ""
    first, last = ranks
    return str(first) if first == last else f"{first}-{last}"


def _dot(row: ReportContent, mode: MeanKind, y: float, axis: SharedAxis) -> Dot:
    mean, name = row["figures"][mode], LEGEND[mode][1]
    says = f"{row['system']}, {name.lower()}: {mean['value']:.1%}"
    if mean["low"] is None:
        return Dot(mode.value, _x(mean["value"], axis), y, None, None, says)
    says = f"{says}, {mean['low']:.1%} to {mean['high']:.1%}"
    return Dot(mode.value, _x(mean["value"], axis), y, _x(mean["low"], axis), _x(mean["high"], axis), says)


def _x(value: float, axis: SharedAxis) -> float:
    share = (value - axis.low) / (axis.high - axis.low)
    return round(LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT), 1)


def _ticks(axis: SharedAxis) -> list[float]:
    """Return at most six round values within an axis."""
    rough = (axis.high - axis.low) / (MAX_TICKS - 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in STEPS if factor * power >= rough - 1e-12)
    first = math.ceil(axis.low / step - 1e-9)
    last = math.floor(axis.high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]
