"""The level workbook: one row per query, one column of criteria per level (25, 50, 100).

Each row becomes a cascade: the highest level with a met criterion decides. Computing the score belongs to
`judging.grading.cascade`; the other table shapes to `rubric_tables`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonObject
from judging.specs.case_keys import visible_key
from judging.specs.files.findings import Findings, shorten
from judging.specs.rubrics.criteria_cells import CellSplit, split_cell
from judging.specs.rubrics.rubric_reading import CountedRows, RubricReading
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import Grid, is_blank, is_date, plain_text, text_cell
from judging.specs.types import NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec, node_of

STANDARD_LEVELS = (25, 50, 100)
MAX_LEVEL = 100
LONG_NUMBER = 1e15  # a spreadsheet keeps no more digits
ITEMS_WORTH_A_LOOK = 4
HEADERS_SHOWN = 12
CASCADE: JsonObject = {"type": "cascade", "clip": [0, 100]}
BOOLEAN = ScaleSpec("boolean")
_ROOT = NodeSpec("root", "group", aggregator=CASCADE)[:-1]  # all but its children
_AFTER_TEXT = NodeSpec("", "check", scale=BOOLEAN)[3:]  # what all criteria share

_ID_HEADER = re.compile(r"\s*(?:(?:query|question|item|case)[\s_-]*)?id\s*", re.IGNORECASE)
_LEVEL_HEADER = re.compile(r"\s*(\d{1,4}(?:\.\d+)?)(?![\d.])\s*(.*)", re.DOTALL)
_FLAG_MESSAGES = {
    "inline_markers": "The numbers (1), (2)... are on one line; the cell was split at each number.",
    "other_markers": "The criteria are numbered 1. or 1) instead of (1).",
    "bullets": "The criteria are bulleted instead of numbered (1), (2)...",
    "no_marker": "The cell does not start with (1); it was read as one criterion.",
}


@dataclass(slots=True)
class _LevelColumn:
    """One column of criteria, with what all of its nodes share."""

    level: int
    column: int
    is_top: bool = False
    key: str = ""
    aggregator: JsonObject = field(default_factory=dict)
    check_keys: list[str] = field(default_factory=list)
    most: int = 0  # criteria that a cell may have before something is to be said
    after_key: tuple[object, ...] = ()  # the fields of a node between its key and its children

    def __post_init__(self) -> None:
        self.most = ITEMS_WORTH_A_LOOK if self.is_top else min(ITEMS_WORTH_A_LOOK, MAX_LEVEL // self.level)
        self.after_key = NodeSpec(self.key, "level", aggregator=self.aggregator)[1:-1]

    def node(self, items: Sequence[str]) -> NodeSpec:
        """Return the level with its criteria, whose keys are 25.1, 25.2..."""
        keys = self.check_keys
        while len(keys) < len(items):
            keys.append(f"{self.level}.{len(keys) + 1}")
        checks = [node_of((key, "check", item, *_AFTER_TEXT)) for key, item in zip(keys, items, strict=False)]
        return node_of((self.key, *self.after_key, tuple(checks)))


@dataclass(slots=True)
class _Layout:
    """Where the columns are; columns count from 1."""

    header_row: int
    id_column: int
    levels: dict[int, int]  # level -> column
    metadata: dict[int, str]  # column -> name
    rows: int = 1  # rows that the header takes

    def level_columns(self) -> list[_LevelColumn]:
        """Return the columns of criteria, the highest level first."""
        top = max(self.levels)
        return [
            _LevelColumn(
                level,
                column,
                level == top,
                str(level),
                {"type": "any" if level == top else "count_times", "value": level},
            )
            for level, column in sorted(self.levels.items(), reverse=True)
        ]


def open_level_grids(grids: Sequence[Grid], *, name: str, findings: Findings) -> RubricReading | None:
    """Return the rubric in the first sheet that has an id column and a level column; None, with an error, without."""
    level_grids = [(grid, layout) for grid in grids if (layout := find_level_layout(grid)) is not None]
    for grid, _ in level_grids[1:]:
        message = f"The sheet {grid.sheet!r} also looks like a rubric but was not read."
        findings.warning(grid.sheet, "other-sheet", message)
    if not level_grids:
        if not findings.has_errors:
            findings.error(
                "",
                "no-level-sheet",
                "No visible sheet has a header with an id column and a level column." + _headers_seen(grids),
                hint='Write "query id" and levels such as 25, 50, 100 in one row.',
            )
        return None
    grid, layout = level_grids[0]
    head = RubricSpec(
        name=name,
        shape="levels",
        scope="item",
        items=(),
        options={"levels": sorted(layout.levels, reverse=True), "sheet": grid.sheet},
        benchmark_aggregate={"type": "mean"},
    )
    rows = CountedRows(grid.rows, grid.row_count)
    return RubricReading(head, _read_items(grid, rows, layout, findings), rows)


def _headers_seen(grids: Sequence[Grid]) -> str:
    """Return a sentence with the first row of each sheet that is not blank; empty where all are."""
    sheet_headers = []
    for grid in grids:
        names = next((row for _, row in grid.head() if not all(map(is_blank, row))), [])
        shown = ", ".join(shorten(plain_text(cell)) for cell in names[:HEADERS_SHOWN] if not is_blank(cell))
        if shown:
            sheet_headers.append(f"{grid.sheet}: {shown}" if grid.sheet else shown)
    return f" The headers seen are: {'; '.join(sheet_headers)}." if sheet_headers else ""


def find_level_layout(grid: Grid) -> _Layout | None:
    """Return where the header is, or None where the sheet has none in its first ten rows."""
    top = grid.head()
    for index, (number, row) in enumerate(top):
        id_column = next((c for c, cell in enumerate(row, 1) if _is_id_header(cell)), None)
        if id_column is None:
            continue
        if any(_level_of(cell) for cell in row):
            return _layout(number, row, id_column)
        below = top[index + 1][1] if index + 1 < len(top) else []
        if any(_level_of(cell) for cell in below) and is_blank(below[id_column - 1]):
            merged = [low if _level_of(low) or is_blank(high) else high for high, low in zip(row, below, strict=True)]
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


def _read_items(
    grid: Grid, rows: Iterable[tuple[int, list[Cell]]], layout: _Layout, findings: Findings
) -> Iterator[RubricItemSpec]:
    _check_layout(grid, layout, findings)
    if findings.has_errors:
        return
    reader = _RowReader(grid, layout, findings, layout.level_columns())
    is_empty = True
    for number, row in rows:
        if grid.is_too_wide(number, row, findings):
            return
        item = reader.item(number, row) if reader.is_content(number, row) else None
        if item is not None:
            is_empty = False
            yield item
    if is_empty and not findings.has_errors:
        findings.error(grid.sheet, "no-rows", "The sheet has a header but no row with criteria.")


def _check_layout(grid: Grid, layout: _Layout, findings: Findings) -> None:
    for number, row in grid.head():
        if layout.header_row <= number < layout.header_row + layout.rows and not grid.is_too_wide(
            number, row, findings
        ):
            _check_header(grid, layout, number, row, findings)
    last_header = layout.header_row + layout.rows - 1
    used_columns = {layout.id_column, *layout.levels.values()}
    for (top, left_column), (bottom, right_column) in grid.merged:
        if bottom > last_header and any(left_column <= column <= right_column for column in used_columns):
            findings.error(
                grid.location(top, left_column),
                "merged-cells",
                f"The cells {grid.location(top, left_column)} to {grid.location(bottom, right_column)} are merged; "
                "it is unclear to which rows the text applies.",
                hint="Unmerge them and fill each cell.",
            )


def _check_header(grid: Grid, layout: _Layout, number: int, row: Sequence[Cell], findings: Findings) -> None:
    for column, cell in enumerate(row, 1):
        level, location, shown = _level_of(cell), grid.location(number, column), plain_text(cell)
        if level is not None and layout.levels.get(level, column) != column:
            findings.error(location, "duplicate-level", f"The level {level} has two columns.", offending=shown)
        elif level is not None and level not in STANDARD_LEVELS:
            findings.warning(
                location,
                "unusual-level",
                f"The level {level} is not one of 25, 50 and 100.",
                offending=shown,
                hint=f"The prompt says that each criterion met at this level counts {level} points.",
            )
        elif column != layout.id_column and _is_id_header(cell):
            findings.warning(location, "second-id", "A second id column was kept as metadata.", offending=shown)


@dataclass(slots=True)
class _RowReader:
    """Reads one row after the other. Places are only written out where something is to be said about them."""

    grid: Grid
    layout: _Layout
    findings: Findings
    columns: list[_LevelColumn]

    def is_content(self, number: int, row: list[Cell]) -> bool:
        """Return whether a row stands below the header and says something."""
        if all(map(is_blank, row)):
            return False
        if number < self.layout.header_row:
            location = self.grid.location(number, 1)
            self.findings.warning(location, "above-header", "The row above the header was not read.")
        return number >= self.layout.header_row + self.layout.rows

    def item(self, number: int, row: list[Cell]) -> RubricItemSpec | None:
        """Return the cascade of a row; None, with an error, where it has no usable id."""
        key = self._case_key(number, row[self.layout.id_column - 1])
        levels = []
        for column in self.columns:
            value = row[column.column - 1] if column.column <= len(row) else ""
            if value != "":
                node = self._level(column, number, value)
                if node is not None:
                    levels.append(node)
            elif type(value) is not str:  # an error or a lost result
                text_cell(self.grid, number, column.column, value, self.findings)
        if key is None:
            return None
        location = self.grid.location(number, self.layout.id_column)
        if not levels:
            message = f"The query {key!r} has no criterion at any level; it cannot be scored."
            self.findings.warning(location, "no-criteria", message)
        root = node_of((*_ROOT, tuple(levels)))
        return RubricItemSpec(key, root, location, self._metadata(number, row))

    def _metadata(self, number: int, row: list[Cell]) -> dict[str, str]:
        metadata = {}
        for column, name in self.layout.metadata.items():
            value = row[column - 1] if column <= len(row) else ""
            if not is_blank(value):
                metadata[name] = text_cell(self.grid, number, column, value, self.findings)
        return metadata

    def _case_key(self, number: int, value: Cell) -> str | None:
        if type(value) is float and value.is_integer() and abs(value) < LONG_NUMBER:
            return str(int(value))
        location, shown = self.grid.location(number, self.layout.id_column), plain_text(value)
        if _is_id_header(value):
            self.findings.error(
                location, "second-header", "The header is repeated.", offending=shown, hint="Delete the row."
            )
            return None
        if is_date(value):
            self.findings.error(
                location,
                "date-as-id",
                f"The id is stored as a date ({shown}), not as a number or text.",
                offending=shown,
                hint="Format the column as text and type the ids again.",
            )
            return None
        if isinstance(value, float) and abs(value) >= LONG_NUMBER:
            message = "The id has more digits than a spreadsheet keeps."
            self.findings.error(location, "long-number-id", message, hint="Store it as text.")
            return None
        written = text_cell(self.grid, number, self.layout.id_column, value, self.findings)
        key = visible_key(written, self.findings, self.grid.file, location)
        if re.fullmatch(r"\d+\.0", key):
            key = key[:-2]
        if not key:
            self.findings.error(location, "missing-id", "The row has content but no id.", hint="Write the query's id.")
            return None
        return key

    def _level(self, column: _LevelColumn, number: int, value: Cell) -> NodeSpec | None:
        text = text_cell(self.grid, number, column.column, value, self.findings)
        split = split_cell(text)
        items = split.items
        if split.flag or split.numbering_gap or len(items) > column.most or "" in items or not isinstance(value, str):
            self._judge(column, self.grid.location(number, column.column), value, split, text)
        return column.node(items) if items else None

    def _judge(self, column: _LevelColumn, location: str, value: Cell, split: CellSplit, text: str) -> None:
        warning, level, count = self.findings.warning, column.level, len(split.items)
        if count and not isinstance(value, str):
            warning(location, "number-as-criterion", "The criterion is a bare number or TRUE/FALSE.", offending=text)
        if split.flag:
            warning(location, split.flag, _FLAG_MESSAGES[split.flag], offending=text)
        if split.numbering_gap:
            warning(location, "numbering-gap", "The numbering skips or repeats a number.", offending=text)
        if "" in split.items:
            message = "A numbered criterion in the cell has no text."
            self.findings.error(location, "empty-criterion", message, offending=text)
        if count > ITEMS_WORTH_A_LOOK:
            warning(
                location,
                "many-criteria",
                f"The level {level} has {count} criteria; check whether the cell was split as intended.",
            )
        if not column.is_top and count * level > MAX_LEVEL:
            message = f"{count} criteria of {level} points reach {count * level}; clipped at 100."
            warning(location, "above-100", message)
