"""Test rows: one test in each row, its checks in `__expected`, `__expected1`... as `type(threshold): value`.

Checks that would run code or load a file from the table are refused by cell; they are never executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalsite.base.json_types import JsonObject
from judging.specs.case_keys import visible_key
from judging.specs.files.findings import Findings
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import Grid, is_blank, text_cell
from judging.specs.types import NodeSpec, RubricItemSpec, ScaleSpec

TEXT_CHECKS = frozenset(
    {"equals", "contains", "icontains", "contains-all", "contains-any", "icontains-all", "icontains-any", "starts-with"}
    | {"regex", "is-json", "contains-json"}
)
RATED_CHECKS = frozenset({"llm-rubric", "factuality", "answer-relevance", "context-faithfulness", "g-eval", "similar"})
CODE_CHECKS = frozenset({"javascript", "python", "ruby", "webhook", "fn", "eval"})
ALIASES = {"grade": "llm-rubric", "model-graded-closedqa": "llm-rubric"}
ID_COLUMNS = ("id", "case_id", "case id", "test_id", "query id")

_TYPED = re.compile(r"\s*(not-)?([a-z][a-z0-9-]*)\s*(?:\(\s*([\d.]+)\s*\))?\s*(?::(.*))?", re.DOTALL | re.IGNORECASE)


def read_assertion_rows(
    grid: Grid, below: Iterable[tuple[int, list[Cell]]], header: Sequence[str], findings: Findings
) -> Iterator[RubricItemSpec]:
    """Yield one group of checks for each row below the header; other columns become metadata."""
    for number, row in below:
        cells = {
            header[column - 1]: (column, text_cell(grid, number, column, value, findings))
            for column, value in enumerate(row[: len(header)], 1)
            if header[column - 1] and not is_blank(value)
        }
        column, written = next((cells[name] for name in ID_COLUMNS if name in cells), (1, f"row-{number}"))
        key = visible_key(written, findings, grid.file, grid.location(number, column))
        yield _item(grid, number, key, cells, findings)


def _item(grid: Grid, number: int, key: str, cells: dict[str, tuple[int, str]], findings: Findings) -> RubricItemSpec:
    checks: list[NodeSpec] = []
    for name, (column, text) in cells.items():
        if re.fullmatch(r"__expected\d*", name):
            node = _check(f"a{len(checks) + 1}", text, grid.location(number, column), findings)
            checks += [node] if node else []
    if not checks:
        findings.warning(
            grid.location(number, 1), "no-criteria", f"The test {key!r} has no check; it cannot be scored."
        )
    metadata = {
        name.removeprefix("__metadata:"): text for name, (_, text) in cells.items() if not name.startswith("__expected")
    }
    aggregator: JsonObject = {"type": "mean"}
    if "__threshold" in cells:
        threshold = _fraction(cells["__threshold"][1])
        location = grid.location(number, cells["__threshold"][0])
        if threshold is None:
            findings.error(
                location, "bad-threshold", "A threshold is a number from 0 to 1.", offending=cells["__threshold"][1]
            )
        else:
            aggregator = {"type": "mean", "threshold": threshold}
    root = NodeSpec("root", "group", aggregator=aggregator, children=tuple(checks))
    return RubricItemSpec(key, root, source=grid.location(number, 1), metadata=metadata)


def _check(key: str, text: str, location: str, findings: Findings) -> NodeSpec | None:
    match = _TYPED.fullmatch(text)
    kind = match[2].lower() if match else ""
    kind = ALIASES.get(kind, kind)
    if kind in CODE_CHECKS or "file://" in text[:200]:
        findings.error(
            location,
            "code-in-table",
            "Checks that run code or load a file are not accepted.",
            offending=text,
            hint="Use contains, regex, is-json or llm-rubric.",
        )
        return None
    if match is None or (kind not in TEXT_CHECKS and kind not in RATED_CHECKS):
        return NodeSpec(key, "check", text=text, source="computed", tags=("type:equals",), scale=ScaleSpec("boolean"))
    threshold = _fraction(match[3]) if match[3] else None
    if match[3] and threshold is None:
        findings.error(location, "bad-threshold", "A threshold is a number from 0 to 1.", offending=match[3])
    value = (match[4] or "").strip()
    if not value and not kind.endswith("-json") and kind not in RATED_CHECKS:
        findings.error(location, "empty-criterion", f"The check {kind!r} has no value after the colon.", offending=text)
    tags = (f"type:{'not-' if match[1] else ''}{kind}", *((f"threshold:{match[3]}",) if match[3] else ()))
    source = "computed" if kind in TEXT_CHECKS else "rater"
    return NodeSpec(key, "check", text=value, source=source, tags=tags, scale=ScaleSpec("boolean"))


def _fraction(text: Cell) -> float | None:
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
