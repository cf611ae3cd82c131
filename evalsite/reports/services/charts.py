"""Line charts as geometry: what templates draw as SVG, on a page or as a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from evalsite.base.formats import SHARE, ScoreScale
from evalsite.reports.services.snapshots import ReportContent

if TYPE_CHECKING:
    from evalsite.reports.services.annotators import QueuePace

WIDTH, HEIGHT = 480, 280
LEFT, RIGHT, TOP, BOTTOM = 58, 22, 30, 46  # margins
DRAWN = HEIGHT - TOP - BOTTOM  # how high the field of the values is, whatever stands above it
MAX_TICKS = 6
STEPS = (1, 2, 2.5, 5, 10)
CLOSEST = 0.08  # part of an axis that lies between two of its ticks at least


DOT, LARGEST_DOT = 3.5, 14.0  # radii


@dataclass(frozen=True, slots=True)
class Point:
    """One point with its interval, if it has one, its words, and a label that stands beside it."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    says: str = ""
    label: str = ""
    weight: float = 0.0  # what it stands for, of the most that a point of the chart stands for: 0 to 1

    @property
    def radius(self) -> float:
        """The radius of its dot; areas, not widths, are compared."""
        return round(DOT + (LARGEST_DOT - DOT) * math.sqrt(self.weight), 1)


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; `tone` is one of TONES, cloud (of many dots) or guide. Guides have no dots."""

    name: str
    points: Sequence[Point]
    tone: str = "main"
    has_dots: bool = False
    has_line: bool = True


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart with its ticks: positions and their words."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Line:
    """A series in the drawing's units, and where its entry of the legend begins."""

    name: str
    tone: str
    path: str  # the points of a polyline; empty where dots stand alone
    dots: tuple[Point, ...]
    legend_x: float
    legend_y: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick in the drawing's units."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart ready to be drawn."""

    title: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM
    middle: int = (TOP + HEIGHT - BOTTOM) // 2


TONES = ("main", "second", "third", "fourth", "fifth", "sixth")
LETTER = 7.0  # about as wide as a letter of the legend
SAMPLE = 30.0  # of a line in the legend, with its gaps
LEGEND_Y, LEGEND_ROW = 12.0, 16


def draw(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> Chart:
    """Return the chart of some series; what lies outside the axes is cut to them."""
    places = _legend_places([line.name for line in series])
    top = TOP + int(places[-1][1] - LEGEND_Y if places else 0)
    bottom = top + DRAWN
    lines: list[Line] = []
    for line, legend in zip(series, places, strict=True):
        dots = tuple(_placed(point, x, y, bottom) for point in line.points)
        path = " ".join(f"{dot.x},{dot.y}" for dot in dots) if line.has_line else ""
        lines.append(Line(line.name, line.tone, path, dots if line.has_dots else (), *legend))
    return Chart(
        title=title,
        x_title=x.title,
        y_title=y.title,
        x_ticks=tuple(Tick(_x(at, x), text) for at, text in x.ticks),
        y_ticks=tuple(Tick(_y(at, y, bottom), text) for at, text in y.ticks),
        lines=tuple(lines),
        height=bottom + BOTTOM,
        top=top,
        bottom=bottom,
        middle=(top + bottom) // 2,
    )


def _legend_places(names: Sequence[str]) -> list[tuple[float, float]]:
    """Return where the entry of each name begins; one that does not fit into the row begins the next."""
    places, x, y = list[tuple[float, float]](), float(LEFT), LEGEND_Y
    for name in names:
        width = SAMPLE + LETTER * len(name)
        if x > LEFT and x + width > WIDTH:
            x, y = float(LEFT), y + LEGEND_ROW
        places.append((x, y))
        x += width
    return places


def percent_axis(title: str, *, low: float = 0.0, high: float = 1.0) -> Axis:
    """Return an axis from `low`, or 0, to `high` with ticks in round percent."""
    return round_axis(title, low=low, high=high, word=lambda at: f"{at * 100:g}%")


def score_axis(title: str, scale: ScoreScale, *, low: float = 1.0, high: float = 1.0) -> Axis:
    """Return an axis of shares with ticks at round numbers of their scale, from its lowest or `low` to `high`."""
    if not scale.is_rating:
        return percent_axis(title, low=low, high=high)
    lowest, highest = scale.number(min(low, scale.lowest_share)), scale.number(high)
    step = round_step(highest - lowest)
    first, last = math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9)
    numbers = sorted({lowest, highest, *(k * step for k in range(first, last + 1))})
    width = highest - lowest
    shown = [
        number
        for number in numbers
        if number in (lowest, highest) or min(number - lowest, highest - number) >= CLOSEST * width
    ]
    return Axis(
        title + scale.title, scale.share(lowest), high, [(scale.share(number), f"{number:g}") for number in shown]
    )


def round_step(width: float) -> float:
    """Return a round step of which at most `MAX_TICKS` - 1 fit into a width above 0."""
    rough = width / (MAX_TICKS - 1)
    power = 10 ** math.floor(math.log10(rough))
    return float(next(factor * power for factor in STEPS if factor * power >= rough - 1e-12))


def round_axis(title: str, *, high: float, word: Callable[[float], str], low: float = 0.0) -> Axis:
    """Return an axis from `low`, or 0, to `high`, which is above 0, with ticks at round values as `word` says them."""
    step = round_step(high - min(low, 0.0))
    first, last = math.floor(min(low, 0.0) / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(title, first * step, last * step, [(k * step, word(k * step)) for k in range(first, last + 1)])


def thinned(points: Sequence[Point], most: int = 200) -> list[Point]:
    """Return at most about `most` of the points, first and last among them."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(k * step)] for k in range(most)]


def highest(values: Iterable[float], *, least: float) -> float:
    """Return the highest of the values, `least` where all are lower."""
    return max([least, *values])


def burn_down_chart(pace: QueuePace) -> Chart | None:
    """Return what was left of a queue by day, and a guide to the day that finishes it; None before the first day."""
    if not pace.burn_down:
        return None
    first, last = pace.burn_down[0], pace.burn_down[-1]
    start = first.day - timedelta(days=1)
    left = [Point(start.toordinal(), first.left + first.annotations)]
    left += [Point(row.day.toordinal(), row.left, says=f"{row.day:%d %b %Y}: {row.left:,}") for row in pace.burn_down]
    series = [Series("left at the end of the day", left, has_dots=True)]
    end = last.day
    if pace.finishes_on is not None:
        end = max(last.day, pace.finishes_on)
        series.append(Series("at this pace", [left[-1], Point(end.toordinal(), pace.stuck)], tone="guide"))
    shown = sorted({start, end} | ({last.day} if 4 * (end - last.day) > end - start else set()))
    days = Axis("Day", start.toordinal(), end.toordinal(), [(day.toordinal(), f"{day:%d %b}") for day in shown])
    annotations = round_axis("Annotations left", high=max(left[0].y, 1.0), word=lambda at: f"{at:,g}")
    return draw("Burn-down", days, annotations, series)


def _placed(point: Point, x: Axis, y: Axis, bottom: int) -> Point:
    low = None if point.low is None else _y(point.low, y, bottom)
    high = None if point.high is None else _y(point.high, y, bottom)
    return replace(point, x=_x(point.x, x), y=_y(point.y, y, bottom), low=low, high=high)


def _x(value: float, axis: Axis) -> float:
    return round(LEFT + _share(value, axis) * (WIDTH - LEFT - RIGHT), 1)


def _y(value: float, axis: Axis, bottom: int) -> float:
    return round(bottom - _share(value, axis) * DRAWN, 1)


def _share(value: float, axis: Axis) -> float:
    width = axis.high - axis.low
    return min(1.0, max(0.0, (value - axis.low) / width)) if width else 0.5


AXIS_STEP = 0.05
SHADES = 10
BAR_WIDTH, BAR_HEIGHT = 9, 28


@dataclass(frozen=True, slots=True)
class SharedAxis:
    """The two ends of the axis that all intervals of a table share."""

    low: float
    high: float


def common_axis(figures: Sequence[ReportContent]) -> SharedAxis:
    """Return an axis in steps of 0.05 that holds every figure and interval; from 0 to 1 where there are none."""
    ends = [figure[end] for figure in figures for end in ("value", "low", "high") if figure[end] is not None]
    if not ends:
        return SharedAxis(0.0, 1.0)
    low, high = math.floor(min(ends) / AXIS_STEP) * AXIS_STEP, math.ceil(max(ends) / AXIS_STEP) * AXIS_STEP
    return SharedAxis(round(low, 2), round(max(high, low + AXIS_STEP), 2))


def difference_axis(figure: ReportContent) -> SharedAxis:
    """Return an axis in steps of 0.05 that holds a difference and its interval, with zero in the middle."""
    ends = [abs(figure[end]) for end in ("value", "low", "high") if figure[end] is not None]
    reach = round(max(1, math.ceil(max(ends, default=1.0) / AXIS_STEP)) * AXIS_STEP, 2)
    return SharedAxis(-reach, reach)


def shade(value: float | None) -> int | None:
    """Return 0..10 for a value within 0..1, what lies outside taken to its ends; None for no value."""
    return None if value is None else round(min(1.0, max(0.0, value)) * SHADES)


def square(labels: Sequence[object], counts: Sequence[Sequence[int]]) -> list[ReportContent]:
    """Return a confusion matrix by row, each cell shaded by its share of the row and with the label of its column."""
    rows = []
    for label, row in zip(labels, counts, strict=True):
        total = sum(row)
        cells = [
            {"n": n, "shade": shade(n / total) if total else None, "other": other}
            for n, other in zip(row, labels, strict=True)
        ]
        rows.append({"label": label, "cells": cells, "total": total})
    return rows


def bars(counts: Sequence[int], scale: ScoreScale = SHARE) -> list[ReportContent]:
    """Return the bars of a small histogram as rectangles; the highest fills the drawing."""
    most = max(counts, default=0)
    rectangles = []
    for index, n in enumerate(counts):
        height = round(BAR_HEIGHT * n / most, 1) if most else 0.0
        height = max(height, 1.0) if n else 0.0
        low, high = index / len(counts), (index + 1) / len(counts)
        rectangles.append(
            {
                "x": index * BAR_WIDTH,
                "y": round(BAR_HEIGHT - height, 1),
                "height": height,
                "n": n,
                "range": f"{scale.tick(low)} to {scale.tick(high)}",
                "says": f"{scale.tick(low)} to {scale.tick(high)}: {n}",
            }
        )
    return rectangles
