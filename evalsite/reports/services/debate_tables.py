"""Tables of the reports on debates as columns and rows, laid out as in the paper, for CSV, XLSX and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evalsite.reports.services.payloads import Payload

Row = dict[str, Any]
CELL = ("pair", "criterion", "scenario")
KINDS = {"opening": "single judge in the debates", "method": "baseline", "scores": "scores", "debate": "debate"}


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table with its title as a caption."""

    title: str
    columns: tuple[str, ...]
    rows: list[Row]


def debate_tables(payload: Payload) -> dict[str, PaperTable]:
    """Return the tables of a meta-evaluation by name; the first three are the paper's."""
    return {
        "judges": _agreement_table(payload, "evaluators", "Example-level agreement with the outcomes of debates"),
        "people": _people_table(payload),
        "fleiss": _fleiss_table(payload),
        "evaluators": _evaluator_table(payload),
        "differences": PaperTable(
            "Paired differences in agreement",
            ("first", "second", "difference", "low", "high", "n", "p_value", "holm_p", "separated", "cost_difference"),
            [
                {**row, **{end: row["difference"][end] for end in ("low", "high", "n")}}
                | {"difference": row["difference"]["value"]}
                for row in payload["pairs"]
            ],
        ),
    }


def column_names(payload: Payload) -> dict[str, str]:
    """Return one name per evaluator that no other has: its own, with its kind where two share it."""
    names = [one["name"] for one in payload["evaluators"]]
    return {
        one["key"]: one["name"] if names.count(one["name"]) == 1 else f"{one['name']} ({KINDS[one['kind']]})"
        for one in payload["evaluators"]
    }


def _agreement_table(payload: Payload, source: str, title: str) -> PaperTable:
    names = {key: name for key, name in column_names(payload).items() if key != "debate"}
    rows = []
    for cell in payload["cells"]:
        found = {name: _example(cell[source].get(key)) for key, name in names.items()}
        rows.append({column: cell[column] for column in CELL} | {"n": cell["resolved"]} | found)
    rows.append(_averages(rows, list(names.values())))
    return PaperTable(title, (*CELL, "n", *names.values()), rows)


def _people_table(payload: Payload) -> PaperTable:
    """Return how debate and every other evaluator agree with people, item by item and system by system."""
    names = column_names(payload)
    ordered = ["debate", *(key for key in names if key != "debate")] if names else []
    rows = []
    for cell in payload["cells"]:
        row = {column: cell[column] for column in CELL} | {"n": cell["labelled"]}
        for key in ordered:
            found = cell["people"].get(key)
            row[f"{names[key]}: example"] = _example(found)
            level = None if found is None else found["system"]
            row[f"{names[key]}: system"] = None if level is None else int(level)
        rows.append(row)
    figures = [f"{names[key]}: {level}" for key in ordered for level in ("example", "system")]
    rows.append(_averages(rows, figures))
    return PaperTable("Agreement with people: debate and its rivals", (*CELL, "n", *figures), rows)


def _fleiss_table(payload: Payload) -> PaperTable:
    columns = ("kappa", "low", "high", "n", "reason")
    rows = [
        {column: cell[column] for column in CELL}
        | {"kappa": cell["fleiss"]["value"]}
        | {end: cell["fleiss"][end] for end in columns[1:]}
        for cell in payload["cells"]
    ]
    whole = payload["people"]["fleiss"]
    rows.append({"pair": "all", "kappa": whole["value"], **{end: whole[end] for end in columns[1:]}})
    return PaperTable("Fleiss' kappa among people", (*CELL, *columns), rows)


FIGURES = ("example", "of_all", "system", "direction", "people", "people_system", "leave_one_out", "first")
COUNTS = (
    *("asked", "missing", "a", "tie", "b", "statements", "refused", "unread", "disagreements"),
    *("calls", "cost", "calls_per_decision", "cost_per_decision", "agreements_per_dollar"),
)


def _evaluator_table(payload: Payload) -> PaperTable:
    ends = [f"{name}{end}" for name in FIGURES for end in ("", "_low", "_high", "_n")]
    rows = []
    for one in payload["evaluators"]:
        row = {"name": one["name"], "kind": KINDS[one["kind"]]} | {name: one[name] for name in COUNTS}
        for name in FIGURES:
            found = one[name]
            row |= {name: found["value"], f"{name}_low": found["low"], f"{name}_high": found["high"]}
            row[f"{name}_n"] = found["n"]
        rows.append(row)
    return PaperTable("Evaluators beside debates", ("name", "kind", *COUNTS, *ends), rows)


def arena_tables(payload: Payload) -> dict[str, PaperTable]:
    """Return the ranking (whole, by criterion, by scenario) and the pairs behind it."""
    columns = ("rank", "system", "strength", "low", "high", "win_rate", "win_low", "win_high", "comparisons", "tied")
    parts = [("all", "", payload["whole"])]
    parts += [("criterion", part["name"], part) for part in payload["by_criterion"]]
    parts += [("scenario", part["name"], part) for part in payload["by_scenario"]]
    rows = [{"part": part, "name": name} | _strength_row(row) for part, name, found in parts for row in found["rows"]]
    return {
        "ranking": PaperTable("Bradley-Terry ranking from debates", ("part", "name", *columns), rows),
        "pairs": PaperTable(
            "Outcomes by pair", ("first", "second", "wins", "ties", "losses", "undecided"), list(payload["pairs"])
        ),
    }


def _strength_row(row: Payload) -> Row:
    strength, wins = row["strength"], row["win_rate"]
    return {name: row[name] for name in ("rank", "system", "comparisons", "tied")} | {
        "strength": strength["value"],
        "low": strength["low"],
        "high": strength["high"],
        "win_rate": wins["value"],
        "win_low": wins["low"],
        "win_high": wins["high"],
    }


def robustness_tables(payload: Payload) -> dict[str, PaperTable]:
    """Return agreement by damage as in the paper's table, and everything behind it."""
    names = [damage["name"] for damage in payload["damages"]]
    short = [
        {"judge": row["judge"]}
        | {cell["damage"]: cell["agreement"]["value"] for cell in row["cells"]}
        | {"holds": row["holds"]}
        for row in payload["judges"]
    ]
    counts = ("n", "missing", "refused", "unread", "lost", "gained", "p_value", "holds")
    ends = ("agreement", "agreement_low", "agreement_high", "same", "same_low", "same_high")
    long = [
        {"judge": row["judge"], "damage": cell["damage"]}
        | {name: cell[name] for name in counts}
        | {f"{name}{end}": cell[name][key] for name in ("agreement", "same") for end, key in _ENDS}
        for row in payload["judges"]
        for cell in row["cells"]
    ]
    return {
        "variants": PaperTable("Agreement by damage to the criterion", ("judge", *names, "holds"), short),
        "details": PaperTable("Judges under damaged criteria", ("judge", "damage", *counts, *ends), long),
    }


_ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))


def _example(found: Payload | None) -> float | None:
    return None if found is None else found["example"]["value"]


def _averages(rows: Sequence[Row], columns: Sequence[str]) -> Row:
    """Return the mean of each column over the rows that have a figure, each row counting alike."""
    average: Row = {"pair": "average", "n": sum(row["n"] for row in rows)}
    for column in columns:
        known = [row[column] for row in rows if row.get(column) is not None]
        average[column] = fmean(known) if known else None
    return average
