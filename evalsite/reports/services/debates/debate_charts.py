"""The meta-evaluation made ready for its page: bars, shades and rows with one entry per evaluator."""

from __future__ import annotations

from collections.abc import Sequence

from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.shown_rows import shade
from judging.statistics.debate_rows import NEVER, PEOPLE

BAR_WIDTH = 600  # of the whole of all debates, in the drawing's units
GAP = 2
CHARACTER_WIDTH = 7  # at most, of the words under a bar
MOST_PERCENT = " 100%"


def round_bars(rows: Sequence[ReportContent]) -> list[ReportContent]:
    """Return one rectangle per round side by side, as wide as its share of the debates, with its words."""
    total = sum(row["n"] for row in rows)
    bars, x = [], 0.0
    for row in rows:
        width = BAR_WIDTH * row["n"] / total if total else 0.0
        number = row["round"]
        name = "never" if number is None else "independent round" if number == 0 else f"round {number}"
        share = row["n"] / total if total else 0.0
        bars.append(
            {
                "x": round(x, 1),
                "width": round(max(width - GAP, 0.0), 1),
                "middle": round(x + width / 2, 1),
                "n": row["n"],
                "name": name,
                "share": share,
                "key": NEVER if number is None else str(number),
                "tone": "none" if number is None else str(min(int(number), 3)),
                "fits": width > CHARACTER_WIDTH * len(name + MOST_PERCENT),
            }
        )
        x += width
    return bars


def cell_rows(content: ReportContent) -> list[ReportContent]:
    """Return the cells with one entry per evaluator but the debate: its agreement, shaded, and the system level."""
    keys = [evaluator["key"] for evaluator in content["evaluators"]]
    return [
        cell
        | {
            "entries": [_entry(key, cell["evaluators"].get(key)) for key in keys if key != "debate"],
            "people_entries": [_entry(key, cell["people"].get(key)) for key in keys],
        }
        for cell in content["cells"]
    ]


def _entry(key: str, agreement: ReportContent | None) -> ReportContent | None:
    if agreement is None:
        return None
    return agreement | {"key": key, "shade": shade(agreement["example"]["value"])}


def win_rows(content: ReportContent) -> list[ReportContent]:
    """Return A's win rates by pair: one row per source with its interval, people first where they have spoken."""
    names = {evaluator["key"]: evaluator["name"] for evaluator in content["evaluators"]}
    rows = []
    for pair in content["wins"]:
        sources = [(key, names[key], figure) for key, figure in pair["evaluators"].items() if figure["n"]]
        if pair["people"]["n"]:
            sources.insert(0, (PEOPLE, "People", pair["people"]))
        rows.append({"pair": pair["pair"], "sources": sources})
    return rows
