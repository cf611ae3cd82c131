"""The charts of a suite from their report, ready to be drawn, and the rows of the tables beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.timezone import localtime

from evalsite.base.json_types import JsonDict
from evalsite.reports.services.charts import TONES, Axis, Chart, Point, Series, draw, highest, percent_axis, round_axis
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.shown_rows import bars, shade
from evalsite.reports.services.suite_charts.figures import BINS

MAX_LINES = len(TONES)
NAME_LETTERS = 22
MAX_LABELLED = 30  # dots with a number beside them
LEAST_STEP, MOST_STEP = 0.45, 0.55  # of a percent: Results take 0.5% more at either end, and shares count in 0.1%


@dataclass(frozen=True, slots=True)
class SuiteCharts:
    """What the page of charts shows; None where there is nothing to draw."""

    distribution: list[JsonDict]
    systems: list[JsonDict]  # all, best first
    drawn: list[int]  # systems that have a line
    time: Chart | None
    runs: list[JsonDict]
    lengths: Chart | None
    bands: list[JsonDict]
    length_rows: list[JsonDict]
    points_drawn: int
    points: int
    tokens: Chart | None
    token_rows: list[JsonDict]
    agreement: Chart | None
    agreement_rows: list[JsonDict]


def suite_charts(content: ReportContent, *, chosen: Sequence[int]) -> SuiteCharts:
    """Return the charts; of the systems asked for, else of the best, at most `MAX_LINES` have a line by time."""
    system_ids = [row["system_id"] for row in content["distribution"]]
    drawn = ([pk for pk in system_ids if pk in chosen] or system_ids)[:MAX_LINES]
    runs = [run_row(row, drawn) for row in content["runs"]]
    lengths = content["lengths"]
    agreement = [row | {"at": datetime.fromisoformat(row["at"])} for row in content["agreement"]]
    return SuiteCharts(
        distribution=[_distribution_row(row) for row in content["distribution"]],
        systems=content["distribution"],
        drawn=drawn,
        time=time_chart(content["runs"], drawn),
        runs=runs[::-1],
        lengths=_lengths_chart(lengths),
        bands=lengths["bands"],
        length_rows=lengths["systems"],
        points_drawn=len(lengths["points"]),
        points=lengths["n"],
        tokens=_tokens_chart(content["tokens"]),
        token_rows=content["tokens"],
        agreement=_agreement_chart(agreement),
        agreement_rows=agreement[::-1],
    )


def _distribution_row(row: ReportContent) -> JsonDict:
    total = max(1, row["n"])
    cells = [
        {
            "n": n,
            "shade": shade(n / total) if n else None,
            "least": f"{step * 100 // BINS + LEAST_STEP:g}" if step else "",
            "most": f"{(step + 1) * 100 // BINS - MOST_STEP:g}" if step < BINS - 1 else "",
        }
        for step, n in enumerate(row["counts"])
    ]
    return row | {"bars": bars(row["counts"]), "cells": cells}


def run_row(run: ReportContent, system_ids: Sequence[int]) -> JsonDict:
    """Return a run with the figures of some systems in their order; None where it did not ask about one."""
    figures = [{"system_id": pk, "figure": run["figures"].get(str(pk))} for pk in system_ids]
    return {**run, "at": datetime.fromisoformat(run["at"]), "cells": figures}


def time_chart(runs: Sequence[ReportContent], system_ids: Sequence[int]) -> Chart | None:
    """Return the mean of each system by run, the oldest first; None for fewer than two runs."""
    if len(runs) < 2 or not system_ids:
        return None
    names = {pk: name for run in runs for pk, name in run["systems"].items()}
    series = []
    for tone, pk in zip(TONES, system_ids, strict=False):
        name, points = names.get(str(pk), str(pk)), []
        for position, run in enumerate(runs):
            figure = run["figures"].get(str(pk))
            if figure is not None and figure["value"] is not None:
                says = f"{name}, {run['suite']}, {run['run']}: {figure['value']:.1%}"
                points.append(Point(position, figure["value"], figure["low"], figure["high"], says))
        series.append(Series(_short(name), points, tone=tone, has_dots=True))
    return draw("Score by run", _run_axis(runs), percent_axis("Mean score", high=_top(series)), series)


def _agreement_chart(rows: Sequence[JsonDict]) -> Chart | None:
    measured = [row for row in rows if row["agreement"]["value"] is not None]
    if len(measured) < 2:
        return None
    points = [
        Point(
            position,
            row["agreement"]["value"],
            row["agreement"]["low"],
            row["agreement"]["high"],
            f"{row['suite']}, {row['run']}: {row['agreement']['value']:.0%} agree",
        )
        for position, row in enumerate(measured)
    ]
    series = [Series("Agreement with people, 95% intervals", points, has_dots=True)]
    axis = _run_axis([row | {"at": row["at"].isoformat()} for row in measured])
    return draw("Agreement by run", axis, percent_axis("Agrees with people"), series)


def _run_axis(runs: Sequence[ReportContent]) -> Axis:
    """Return an axis with a place for each run, every few of them named by version and day."""
    step = -(-len(runs) // 5)
    ticks = [(float(position), _day(run)) for position, run in enumerate(runs) if position % step == 0]
    return Axis("Run", -0.5, len(runs) - 0.5, ticks)


def _day(run: ReportContent) -> str:
    return f"{run['suite']}, {localtime(datetime.fromisoformat(run['at'])):%d %b}"


def _lengths_chart(lengths: ReportContent) -> Chart | None:
    if len(lengths["points"]) < 2:
        return None
    longest = lengths["longest_drawn"]
    cloud = [Point(min(x, longest), y, says=f"{x:,} characters: {y:.0%}") for x, y in lengths["points"]]
    means = [
        Point(
            (band["low"] + min(band["high"], longest)) / 2,
            band["mean"]["value"],
            band["mean"]["low"],
            band["mean"]["high"],
            f"{band['low']:,} to {band['high']:,} characters: mean {band['mean']['value']:.1%}",
        )
        for band in lengths["bands"]
    ]
    series = [
        Series("Responses", cloud, tone="cloud", has_dots=True, has_line=False),
        Series("Mean by fifth, 95% intervals", means, tone="second", has_dots=True),
    ]
    x = round_axis("Characters", high=longest, word=lambda at: f"{at:,.0f}")
    return draw("Length and score", x, percent_axis("Score", high=_top(series)), series)


def _tokens_chart(rows: Sequence[ReportContent]) -> Chart | None:
    """Return mean score by mean tokens, a numbered dot for each system, the Pareto front as a line."""
    if len(rows) < 2:
        return None
    dots = [
        Point(
            row["tokens"],
            row["mean"]["value"],
            row["mean"]["low"],
            row["mean"]["high"],
            f"{row['system']}: {row['tokens']:,.0f} tokens, {row['mean']['value']:.1%}",
            str(number) if number <= MAX_LABELLED else "",
        )
        for number, row in enumerate(rows, 1)
    ]
    front = [dot for dot, row in zip(dots, rows, strict=True) if row["is_on_front"]]
    line = [Point(dot.x, dot.y, says=f"{dot.says}, on the Pareto front") for dot in front]
    series = [Series("Systems", dots, has_dots=True, has_line=False)]
    series.append(Series("Pareto front", line, tone="second", has_dots=True))
    x = round_axis("Output tokens", high=highest((dot.x for dot in dots), least=1.0), word=lambda at: f"{at:,.0f}")
    return draw("Tokens and score", x, percent_axis("Mean score", high=_top(series)), series)


def _top(series: Sequence[Series]) -> float:
    """Return where an axis of scores ends: at 100% unless a score lies above."""
    return highest((point.high or point.y for line in series for point in line.points), least=1.0)


def _short(name: str) -> str:
    return name if len(name) <= NAME_LETTERS else f"{name[: NAME_LETTERS - 1]}…"
