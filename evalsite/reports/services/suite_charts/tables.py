"""The tables beside the charts of a suite, for programs."""

from __future__ import annotations

from collections.abc import Iterator

from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Table
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.suite_charts.figures import BINS

FIGURE = ("value", "low", "high", "n")
BIN_COLUMNS = tuple(f"from_{place * 100 // BINS}" for place in range(BINS))
RUN_COLUMNS = ("at", "suite", "run_id", "run")


def chart_tables(content: ReportContent) -> dict[str, Table]:
    """Return the table of each chart by name, the distribution first."""
    quartiles = ("lower_quartile", "median", "upper_quartile")
    return {
        "distribution": Table(
            "distribution", ("system", *FIGURE, "scored", *quartiles, *BIN_COLUMNS), _distribution(content)
        ),
        "runs": Table("runs", (*RUN_COLUMNS, "system", *FIGURE), _runs(content)),
        "lengths": Table("lengths", ("from", "to", "responses", *FIGURE), _bands(content)),
        "length-correlation": Table(
            "length-correlation", ("system", "responses", "mean_length", *FIGURE), _correlations(content)
        ),
        "tokens": Table("tokens", ("system", "tokens", "is_recorded", "is_on_front", *FIGURE), _tokens(content)),
        "agreement": Table("agreement", (*RUN_COLUMNS, "labelled", *FIGURE), _agreement(content)),
    }


def _figure(figure: ReportContent) -> JsonDict:
    return {name: figure[name] for name in FIGURE}


def _distribution(content: ReportContent) -> Iterator[JsonDict]:
    for row in content["distribution"]:
        lower, median, upper = row["quartiles"] or (None, None, None)
        facts = {"system": row["system"], "scored": row["n"], "lower_quartile": lower, "median": median}
        counts = dict(zip(BIN_COLUMNS, row["counts"], strict=True))
        yield facts | {"upper_quartile": upper} | _figure(row["mean"]) | counts


def _runs(content: ReportContent) -> Iterator[JsonDict]:
    for run in content["runs"]:
        for pk, figure in run["figures"].items():
            yield {name: run[name] for name in RUN_COLUMNS} | {"system": run["systems"][pk]} | _figure(figure)


def _bands(content: ReportContent) -> Iterator[JsonDict]:
    for band in content["lengths"]["bands"]:
        yield {"from": band["low"], "to": band["high"], "responses": band["n"]} | _figure(band["mean"])


def _correlations(content: ReportContent) -> Iterator[JsonDict]:
    for row in content["lengths"]["systems"]:
        facts = {"system": row["system"], "responses": row["n"], "mean_length": row["mean_length"]}
        yield facts | _figure(row["correlation"])


def _tokens(content: ReportContent) -> Iterator[JsonDict]:
    for row in content["tokens"]:
        facts = {name: row[name] for name in ("system", "tokens", "is_recorded", "is_on_front")}
        yield facts | _figure(row["mean"])


def _agreement(content: ReportContent) -> Iterator[JsonDict]:
    for row in content["agreement"]:
        facts = {name: row[name] for name in RUN_COLUMNS} | {"labelled": row["labelled"]}
        yield facts | _figure(row["agreement"])
