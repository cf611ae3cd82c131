"""The level workbook: one row per query, one column of criteria per level (25, 50, 100).

Each row becomes a cascade: the highest level with a met criterion decides. Computing the score belongs to
`judging.grading.cascade`; the other table shapes to `rubric_tables`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from judging.specs.bundles import Bundle
from judging.specs.criteria_cells import split_cell
from judging.specs.grids import MAX_COLUMNS, Cell, Findings, Grid, is_blank, is_date, plain_text, read_grids, text_cell
from judging.specs.problems import Parsed
from judging.specs.types import JsonObject, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec

HEADER_ROWS = 10  # the header is looked for in this many rows
STANDARD_LEVELS = (25, 50, 100)
MAX_LEVEL = 100
ITEMS_WORTH_A_LOOK = 4
CASCADE: JsonObject = {"type": "cascade", "clip": [0, 100]}
BOOLEAN = ScaleSpec("boolean")

_ID_HEADER = re.compile(r"\s*(?:(?:query|question|item|case)[\s_-]*)?id\s*", re.IGNORECASE)
_LEVEL_HEADER = re.compile(r"\s*(\d{1,4}(?:\.\d+)?)(?![\d.])\s*(.*)", re.DOTALL)
_FLAG_MESSAGES = {
    "inline_markers": "The markers (1), (2)... stand on one line; the cell was split at each.",
    "other_markers": "The criteria are numbered 1. or 1) instead of (1).",
    "bullets": "The criteria are bulleted instead of numbered (1), (2)...",
    "no_marker": "The cell has no (1) at its start; it was read as one criterion.",
}


@dataclass(slots=True)
class _Layout:
    """Where the columns are; columns count from 1."""

    header_row: int
    id_column: int
    levels: dict[int, int]  # level -> column
    metadata: dict[int, str]  # column -> name
    rows: int = 1  # rows that the header takes
    seen: dict[str, int] = field(default_factory=dict)  # case key -> row


def parse_level_workbook(bundle: Bundle, path: str) -> Parsed[RubricSpec]:
    """Return the rubric in a level workbook (.xlsx) or the same layout as .csv; a cascade for each query."""
    findings = Findings(path)
    grids = read_grids(bundle.read(path), path, findings)
    if findings.failed:
        return Parsed(None, findings.listed())
    return parse_level_grids(grids, name=_stem(path), findings=findings)


def parse_level_grids(grids: Sequence[Grid], *, name: str, findings: Findings) -> Parsed[RubricSpec]:
    """Return the rubric in the first sheet that has an id column and a level column."""
    chosen: Grid | None = None
    items: tuple[RubricItemSpec, ...] = ()
    levels: tuple[int, ...] = ()
    for grid in grids:
        layout = find_level_layout(grid)
        if layout is None:
            continue
        if chosen is not None:
            findings.warning(
                grid.sheet, "other-sheet", f"The sheet {grid.sheet!r} also looks like a rubric; it was not read."
            )
            continue
        chosen = grid
        levels = tuple(sorted(layout.levels, reverse=True))
        items = _read_items(grid, layout, findings)
    if chosen is None:
        findings.error(
            "",
            "no-level-sheet",
            "No visible sheet has a header with an id column and a level column.",
            hint='Write "query id" and levels such as 25, 50, 100 in one row.',
        )
    elif not items and not findings.failed:
        findings.error(chosen.sheet, "no-rows", "The sheet has a header but no row with criteria.")
    if findings.failed:
        return Parsed(None, findings.listed())
    rubric = RubricSpec(
        name=name,
        shape="levels",
        scope="item",
        items=items,
        contract="level_cascade",
        options={"levels": list(levels), "sheet": chosen.sheet if chosen else ""},
        benchmark_aggregate={"type": "mean"},
    )
    return Parsed(rubric, findings.listed())


def find_level_layout(grid: Grid) -> _Layout | None:
    """Return where the header is, or None where the sheet has none in its first ten rows."""
    top: list[tuple[int, list[Cell]]] = []
    for number, row in grid.rows:
        if number > HEADER_ROWS:
            break
        top.append((number, row))
    for index, (number, row) in enumerate(top):
        id_column = next((c for c, cell in enumerate(row, 1) if _is_id_header(cell)), None)
        if id_column is None:
            continue
        if any(_level_of(cell) for cell in row):
            return _layout(number, row, id_column)
        below = top[index + 1][1] if index + 1 < len(top) else []
        if any(_level_of(cell) for cell in below) and is_blank(below[id_column - 1]):
            merged = [low if _level_of(low) or is_blank(high) else high for high, low in zip(row, below, strict=False)]
            layout = _layout(number, merged, id_column)
            layout.rows = 2
            return layout
    return None


def _is_id_header(cell: Cell) -> bool:
    return isinstance(cell, str) and _ID_HEADER.fullmatch(cell) is not None


def _level_of(cell: Cell) -> int | None:
    """Return the level that a header names: 25, "25 points", 100.0; None for other headers."""
    if isinstance(cell, bool) or is_date(cell):
        return None
    match = _LEVEL_HEADER.fullmatch(plain_text(cell))
    number = float(match[1]) if match else 0.0
    return int(number) if number.is_integer() and 0 < number <= MAX_LEVEL else None


def _layout(number: int, row: Sequence[Cell], id_column: int) -> _Layout:
    layout = _Layout(number, id_column, {}, {})
    for column, cell in enumerate(row, 1):
        level = _level_of(cell)
        if column == id_column:
            continue
        if level is not None and level not in layout.levels:
            layout.levels[level] = column
        elif not is_blank(cell):
            layout.metadata[column] = plain_text(cell).strip()
    return layout


def _read_items(grid: Grid, layout: _Layout, findings: Findings) -> tuple[RubricItemSpec, ...]:
    _check_layout(grid, layout, findings)
    if findings.failed:
        return ()
    items: list[RubricItemSpec] = []
    for number, row in grid.rows:
        if number < layout.header_row:
            if any(not is_blank(cell) for cell in row):
                findings.warning(grid.place(number, 1), "above-header", "The row above the header was not read.")
            continue
        if number < layout.header_row + layout.rows or all(map(is_blank, row)):
            continue
        item = _read_row(grid, layout, number, row, findings)
        if item is not None:
            items.append(item)
    return tuple(items)


def _check_layout(grid: Grid, layout: _Layout, findings: Findings) -> None:
    if grid.columns > MAX_COLUMNS:
        findings.error(
            grid.place(layout.header_row, MAX_COLUMNS + 1),
            "too-many-columns",
            f"The sheet has {grid.columns:,} columns; at most {MAX_COLUMNS} are read.",
            hint="Delete the unused ones.",
        )
    for number, row in grid.rows:
        if number >= layout.header_row + layout.rows:
            break
        if number >= layout.header_row:
            _check_header(grid, layout, number, row, findings)
    last_header = layout.header_row + layout.rows - 1
    used = {layout.id_column, *layout.levels.values()}
    for (top, left), (bottom, right) in grid.merged:
        if bottom > last_header and any(left <= column <= right for column in used):
            findings.error(
                grid.place(top, left),
                "merged-cells",
                f"The cells {grid.place(top, left)} to {grid.place(bottom, right)} are merged; "
                "which rows the text applies to cannot be told.",
                hint="Unmerge them and fill each cell.",
            )


def _check_header(grid: Grid, layout: _Layout, number: int, row: Sequence[Cell], findings: Findings) -> None:
    for column, cell in enumerate(row[:MAX_COLUMNS], 1):
        level, place, shown = _level_of(cell), grid.place(number, column), plain_text(cell)
        if level is not None and layout.levels.get(level, column) != column:
            findings.error(place, "duplicate-level", f"The level {level} has two columns.", offending=shown)
        elif level is not None and level not in STANDARD_LEVELS:
            findings.warning(
                place, "unusual-level", f"The level {level} is not one of 25, 50 and 100.", offending=shown
            )
        elif column != layout.id_column and _is_id_header(cell):
            findings.warning(place, "second-id", "A second id column was kept as metadata.", offending=shown)


def _read_row(
    grid: Grid, layout: _Layout, number: int, row: Sequence[Cell], findings: Findings
) -> RubricItemSpec | None:
    key = _case_key(grid, layout, number, row, findings)
    levels = [
        node
        for level, column in sorted(layout.levels.items(), reverse=True)
        if column <= len(row)
        and (node := _level_node(grid, layout, level, (number, column), row[column - 1], findings))
    ]
    if key is None:
        return None
    place = grid.place(number, layout.id_column)
    if not levels:
        findings.warning(place, "no-criteria", f"The query {key!r} has no criterion at any level; it cannot be scored.")
    metadata = {
        name: text_cell(grid, number, column, row[column - 1], findings)
        for column, name in layout.metadata.items()
        if column <= len(row) and not is_blank(row[column - 1])
    }
    root = NodeSpec("root", "group", aggregator=CASCADE, children=tuple(levels))
    return RubricItemSpec(key, root, source=place, metadata=metadata)


def _case_key(grid: Grid, layout: _Layout, number: int, row: Sequence[Cell], findings: Findings) -> str | None:
    value, place = row[layout.id_column - 1], grid.place(number, layout.id_column)
    if _is_id_header(value):
        findings.error(
            place, "second-header", "The header is repeated.", offending=plain_text(value), hint="Delete the row."
        )
        return None
    if is_date(value):
        findings.error(
            place,
            "date-as-id",
            f"The id is stored as a date ({plain_text(value)}), not as a number or text.",
            offending=plain_text(value),
            hint="Format the column as text and type the ids again.",
        )
        return None
    if isinstance(value, float) and abs(value) >= 1e15:
        findings.error(
            place, "long-number-id", "The id has more digits than a spreadsheet keeps.", hint="Store it as text."
        )
        return None
    key = text_cell(grid, number, layout.id_column, value, findings).strip()
    if re.fullmatch(r"\d+\.0", key):
        key = key[:-2]
    if not key:
        findings.error(place, "missing-id", "The row has content but no id.", hint="Write the query's id.")
        return None
    if key in layout.seen:
        other = grid.place(layout.seen[key], layout.id_column)
        findings.error(place, "duplicate-id", f"The id {key!r} already stands at {other}.", offending=key)
        return None
    layout.seen[key] = number
    return key


def _level_node(
    grid: Grid, layout: _Layout, level: int, at: tuple[int, int], value: Cell, findings: Findings
) -> NodeSpec | None:
    if value == "":
        text_cell(grid, *at, value, findings)
        return None
    text, place = text_cell(grid, *at, value, findings), grid.place(*at)
    if text.strip() and not isinstance(value, str):
        findings.warning(place, "number-as-criterion", "The criterion is a bare number or TRUE/FALSE.", offending=text)
    split = split_cell(text)
    if split.flag:
        findings.warning(place, split.flag, _FLAG_MESSAGES[split.flag], offending=text)
    if split.numbering_gap:
        findings.warning(place, "numbering-gap", "The numbering skips or repeats a number.", offending=text)
    if any(not item for item in split.items):
        findings.error(place, "empty-criterion", "A numbered criterion in the cell has no text.", offending=text)
    top = level == max(layout.levels)
    _check_count(place, level, len(split.items), top=top, findings=findings)
    if not split.items:
        return None
    checks = tuple(
        NodeSpec(_check_key(level, index), "check", text=item, scale=BOOLEAN)
        for index, item in enumerate(split.items, 1)
    )
    return NodeSpec(_level_key(level), "level", aggregator=_level_aggregator(level, top=top), children=checks)


# Shared by all rows: a workbook of 100,000 rows has a million nodes.
@cache
def _check_key(level: int, index: int) -> str:
    return f"{level}.{index}"


@cache
def _level_key(level: int) -> str:
    return str(level)


@cache
def _level_aggregator(level: int, *, top: bool) -> JsonObject:
    return {"type": "any" if top else "count_times", "value": level}


def _check_count(place: str, level: int, count: int, *, top: bool, findings: Findings) -> None:
    if count > ITEMS_WORTH_A_LOOK:
        findings.warning(
            place, "many-criteria", f"The level {level} has {count} criteria; was the cell split as meant?"
        )
    if not top and count * level > MAX_LEVEL:
        findings.warning(
            place, "above-100", f"{count} criteria of {level} points reach {count * level}; clipped at 100."
        )


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0] or path
