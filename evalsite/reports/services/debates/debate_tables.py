"""Tables of the reports on debates as columns and rows, laid out as in the paper, for CSV, XLSX and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import fmean

from evalsite.reports.services.debates.debate_basis import debate_basis
from evalsite.reports.services.paper_tables import Basis, PaperTable, Row
from evalsite.reports.services.report_content import ReportContent

CELL = ("pair", "criterion", "scenario")
ALL_PAIRS = "all pairs of systems"
KINDS = {"independent": "single judge in the debates", "method": "baseline", "scores": "scores", "debate": "debate"}


def debate_tables(content: ReportContent) -> dict[str, PaperTable]:
    """Return the tables of a meta-evaluation by name; the first three are the paper's."""
    basis = debate_basis(content)
    return {
        "judges": _agreement_table(content, basis),
        "people": _people_table(content, basis),
        "fleiss": _fleiss_table(content, basis),
        "evaluators": _evaluator_table(content, basis),
        "differences": PaperTable(
            f"Paired differences in agreement with {content['reference']}",
            basis,
            ("first", "second", "difference", "p_value", "holm_p", "separated", "cost_difference"),
            content["pairs"],
            figures=("difference",),
            keys=2,
        ),
    }


def column_names(content: ReportContent) -> dict[str, str]:
    """Return one name per evaluator that no other has: its own, with its kind where two share it."""
    names = [evaluator["name"] for evaluator in content["evaluators"]]
    return {
        evaluator["key"]: evaluator["name"]
        if names.count(evaluator["name"]) == 1
        else f"{evaluator['name']} ({KINDS[evaluator['kind']]})"
        for evaluator in content["evaluators"]
    }


def _agreement_table(content: ReportContent, basis: Basis) -> PaperTable:
    """Return the paper's table of agreement by cell: its denominator is `pairs`, `n` counts those with an outcome."""
    names = {key: name for key, name in column_names(content).items() if key != "debate"}
    rows = []
    for cell in content["cells"]:
        figures = {name: _example(cell["evaluators"].get(key)) for key, name in names.items()}
        rows.append({column: cell[column] for column in CELL} | {"pairs": cell["n"], "n": cell["resolved"]} | figures)
    return PaperTable(
        "Example-level agreement with the outcomes of debates",
        basis,
        (*CELL, "pairs", "n", *names.values()),
        _with_averages(rows, counts=("pairs", "n"), columns=list(names.values())),
        figures=tuple(names.values()),
        are_counted=True,
        keys=4,
        panel="pair",
    )


def _people_table(content: ReportContent, basis: Basis) -> PaperTable:
    """Return how debate and every other evaluator agree with people, item by item and system by system."""
    names = column_names(content)
    ordered = ["debate", *(key for key in names if key != "debate")] if names else []
    rows = []
    for cell in content["cells"]:
        row = {column: cell[column] for column in CELL} | {"n": cell["labelled"]}
        for key in ordered:
            agreement = cell["people"].get(key)
            row[f"{names[key]}: example"] = _example(agreement)
            level = None if agreement is None else agreement["system"]
            row[f"{names[key]}: system"] = None if level is None else int(level)
        rows.append(row)
    columns = [f"{names[key]}: {level}" for key in ordered for level in ("example", "system")]
    return PaperTable(
        "Agreement with people: debate and other evaluators",
        basis,
        (*CELL, "n", *columns),
        _with_averages(rows, counts=("n",), columns=columns),
        figures=tuple(f"{names[key]}: example" for key in ordered),
        are_counted=True,
        keys=3,
        panel="pair",
    )


def _fleiss_table(content: ReportContent, basis: Basis) -> PaperTable:
    rows: list[Row] = [
        {column: cell[column] for column in CELL} | {"kappa": cell["fleiss"], "reason": cell["fleiss"]["reason"]}
        for cell in content["cells"]
    ]
    whole = content["people"]["fleiss"]
    rows.append({"pair": ALL_PAIRS, "kappa": whole, "reason": whole["reason"]})
    return PaperTable("Fleiss' kappa among people", basis, (*CELL, "kappa", "reason"), rows, ("kappa",), keys=3)


FIGURES = ("example", "of_all", "system", "direction", "people", "people_system", "leave_one_out", "first")
COUNTS = (
    *("asked", "missing", "matches", "a", "tie", "b", "statements", "refused", "unread", "disagreements"),
    *("calls", "cost", "calls_per_decision", "cost_per_decision", "agreements_per_dollar"),
)


def _evaluator_table(content: ReportContent, basis: Basis) -> PaperTable:
    rows = [
        {"name": evaluator["name"], "kind": KINDS[evaluator["kind"]]}
        | {name: evaluator[name] for name in (*COUNTS, *FIGURES)}
        for evaluator in content["evaluators"]
    ]
    columns = ("name", "kind", *COUNTS, *FIGURES)
    return PaperTable("Evaluators compared with debates", basis, columns, rows, FIGURES, keys=2)


def arena_tables(content: ReportContent) -> dict[str, PaperTable]:
    """Return the ranking (whole, by scenario) and the pairs behind it."""
    columns = ("part", "name", "rank_first", "rank_last", "system", "strength", "win_rate", "comparisons")
    parts = [("all", "", content["whole"])]
    parts += [("scenario", part["name"], part) for part in content["by_scenario"]]
    rows = [
        {"part": part, "name": name} | row | {"rank_first": row["ranks"][0], "rank_last": row["ranks"][1]}
        for part, name, result in parts
        for row in result["rows"]
    ]
    sums = ("wins", "ties", "losses", "undecided")
    figures = ("strength", "win_rate")
    basis = debate_basis(content)
    return {
        "ranking": PaperTable("Bradley-Terry ranking from debates", basis, columns, rows, figures, keys=2),
        "pairs": PaperTable(
            "Outcomes by pair; the win rate at equal length is descriptive only",
            basis,
            ("first", "second", *sums, "win_rate", "equal_length"),
            content["pairs"],
            ("win_rate", "equal_length"),
            keys=2,
        ),
    }


def robustness_tables(content: ReportContent) -> dict[str, PaperTable]:
    """Return agreement by perturbation as in the paper's table, and everything behind it."""
    names = tuple(perturbation["name"] for perturbation in content["perturbations"])
    short = [
        {"judge": row["judge"]}
        | {cell["perturbation"]: cell["agreement"] for cell in row["cells"]}
        | {"finding": row["verdict"]}
        for row in content["judges"]
    ]
    counts = ("n", "missing", "refused", "unread", "drop", "p_holds", "p_falls", "verdict")
    long = [{"judge": row["judge"]} | cell for row in content["judges"] for cell in row["cells"]]
    columns = ("judge", "perturbation", *counts, "agreement", "same")
    basis = Basis({"reference": content["reference"]}, f"Compared with: {content['reference'] or 'no outcome'}.")
    return {
        "variants": PaperTable(
            "Agreement by perturbation of the criterion", basis, ("judge", *names, "finding"), short, figures=names
        ),
        "details": PaperTable(
            "Judges under perturbed criteria", basis, columns, long, figures=("agreement", "same", "drop"), keys=2
        ),
    }


def _example(cell: ReportContent | None) -> ReportContent | None:
    return None if cell is None else cell["example"]


def _with_averages(rows: Sequence[Row], *, counts: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Return the rows of each pair of systems followed by their averages, then those of all pairs where several are."""
    with_averages: list[Row] = []
    by_pair = [(pair, list(pair_rows)) for pair, pair_rows in groupby(rows, key=lambda row: row["pair"])]
    for pair, pair_rows in by_pair:
        with_averages += [*pair_rows, _averages(pair, pair_rows, counts, columns)]
    return with_averages if len(by_pair) == 1 else [*with_averages, _averages(ALL_PAIRS, rows, counts, columns)]


def _averages(pair: str, rows: Sequence[Row], counts: Sequence[str], columns: Sequence[str]) -> Row:
    """Return the mean of each column over the cells that have a figure, each cell counting alike."""
    average: Row = {"pair": pair, "criterion": "average"} | {name: sum(row[name] for row in rows) for name in counts}
    for column in columns:
        cells = [row[column] for row in rows if row.get(column) is not None]
        figures = any(isinstance(cell, dict) for cell in cells)
        numbers = [value for cell in cells if (value := cell["value"] if figures else cell) is not None]
        mean = fmean(numbers) if numbers else None
        average[column] = {"value": mean, "low": None, "high": None, "n": None} if figures else mean
    return average
