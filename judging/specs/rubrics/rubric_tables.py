"""Rubrics from tables and trees: which of the five shapes a file has, and the two criterion tables.

Shapes: levels (one column per level), criteria (one row per criterion, one column per anchor), checklist (item id,
criterion, signed points, tags), assertions (test rows with `__expected*`), nested (JSON or YAML).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalsite.base.types import JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, shorten, visible_key
from judging.specs.rubrics.rubric_nested import parse_nested_rubric
from judging.specs.rubrics.rubric_reading import CellSplit, CountedRows, RubricReading, reading_of, split_cell
from judging.specs.spreadsheets import MAX_COLUMNS, Cell, Grid, bundle_grids, is_blank, is_date, plain_text, text_cell
from judging.specs.types import NOTHING, AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec, node_of

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
        column, written = next((cells[name] for name in ID_COLUMNS if name in cells), (1, ""))
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


Row = tuple[int, list[Cell]]

CASE_NAMES = ("item id", "case id", "query id", "question id", "task id", "prompt id", "test id", "id", "item", "case")
CRITERION_NAMES = (
    "criterion",
    "criterion name",
    "criteria",
    "requirement",
    "dimension",
    "aspect",
    "rubric",
    "check",
    "metric",
)
TEXT_NAMES = ("description", "definition", "text", "details", "explanation")
POINTS_NAMES = ("points", "point", "marks")
WEIGHT_NAMES = ("weight", "weights", "weight %")
TAG_NAMES = ("tags", "tag", "keywords", "axis", "category")
ORDERED_LABELS = (
    ("fail", "borderline", "pass"),
    ("fail", "partial", "pass"),
    ("unacceptable", "poor", "fair", "good", "very good", "excellent"),
    ("no", "partly", "yes"),
)
_ANCHOR = re.compile(r"(?:score|level|rating|anchor)?\s*(-?\d{1,3})(?:\.0)?(?:\s+\D.*|[:=(\u2013].*)?", re.DOTALL)
_FIGURE = re.compile(r"[-+]?\d+(?:[.,]\d+)?\s*%?")
TABLE_ENDINGS = ("xlsx", "xlsm", "csv", "tsv", "tab")
DEFAULT_SCALE = ScaleSpec("ordinal", 1, 5, 1)


@dataclass(frozen=True, slots=True)
class Header:
    """A header row: the names as compared, by column from 1."""

    row: int
    names: tuple[str, ...]
    shown: tuple[str, ...]

    def column(self, names: Sequence[str]) -> int | None:
        """Return the column of the first wanted name that is there."""
        return next((self.names.index(name) + 1 for name in names if name in self.names), None)

    @property
    def anchors(self) -> dict[int, int]:
        """Anchor value -> column, for headers such as 1, "Score 3" or "5 - excellent"."""
        columns: dict[int, int] = {}
        for column, name in enumerate(self.names, 1):
            match = _ANCHOR.fullmatch(name)
            if match and int(match[1]) not in columns:
                columns[int(match[1])] = column
        return columns

    @property
    def labels(self) -> dict[str, int]:
        """Named anchor -> column, worst first, for tables such as Fail | Borderline | Pass."""
        best: list[str] = []
        for words in ORDERED_LABELS:
            present = [word for word in words if word in self.names]
            best = present if len(present) > len(best) else best
        return {self.shown[self.names.index(word)]: self.names.index(word) + 1 for word in best if len(best) > 1}


@dataclass(slots=True)
class _Table:
    """A grid under a header, with what is known of each of its rows."""

    grid: Grid
    header: Header
    findings: Findings
    locations: dict[str, str] = field(default_factory=dict)  # of the criteria of the case that is read

    def text(self, number: int, row: Sequence[Cell], column: int | None) -> str:
        """Return the text of a cell of the row; empty where there is no such column."""
        if column is None or column > len(row):
            return ""
        return text_cell(self.grid, number, column, row[column - 1], self.findings)

    def key(self, number: int, row: Sequence[Cell], column: int | None) -> str:
        """Return the id in a cell of the row."""
        text = self.text(number, row, column)
        return visible_key(text, self.findings, self.grid.file, self.grid.location(number, column or 1)) if text else ""

    def number(self, number: int, row: Sequence[Cell], column: int | None, *, default: float | None) -> float | None:
        """Return a number; 25% is 0.25. A missing or unreadable one is an error unless there is a default."""
        text = self.text(number, row, column).strip()
        if column is None or (not text and default is not None):
            return default
        match = re.fullmatch(r"([+-]?\d+(?:[.,]\d+)?)\s*(%?)", text)
        if match is None:
            location = self.grid.location(number, column)
            name = self.header.shown[column - 1]
            self.findings.error(location, "not-a-number", f"The column {name!r} needs a number.", offending=text)
            return default
        value = float(match[1].replace(",", "."))
        return value / 100 if match[2] else value


def open_rubric(bundle: Bundle, path: str, findings: Findings) -> RubricReading | None:
    """Return the rubric in a file with its items still to be read; None, with an error, where there is none."""
    ending = path.lower().rpartition(".")[2]
    if ending in ("json", "jsonl", "yaml", "yml"):
        parsed = parse_nested_rubric(bundle, path)
        findings.extend(parsed.problems)
        return reading_of(parsed.value) if parsed.value is not None else None
    if ending not in TABLE_ENDINGS:
        findings.error(
            "", "unknown-format", f"A rubric cannot be read from {path!r}.", hint="Use .xlsx, .csv, .json or .yaml."
        )
        return None
    grids = bundle_grids(bundle, path, findings)
    if findings.has_errors:
        return None
    name = path.rpartition("/")[2].rpartition(".")[0]
    for grid in grids:
        header = _find_header(grid)
        if header is not None:
            return _open_table(_Table(grid, header, findings), name)
        if find_level_layout(grid) is not None:
            break
    return open_level_grids(grids, name=name, findings=findings)


def is_rubric_table(bundle: Bundle, path: str) -> bool:
    """Return whether a CSV file or a workbook has a sheet with the header of a rubric."""
    if path.lower().rpartition(".")[2] not in TABLE_ENDINGS:
        return False
    grids = bundle_grids(bundle, path, Findings(path))
    return any(_find_header(grid) is not None or find_level_layout(grid) is not None for grid in grids)


def _find_header(grid: Grid) -> Header | None:
    top = grid.head()
    for index, (number, row) in enumerate(top):
        shown = tuple(plain_text(cell).strip() for cell in row[:MAX_COLUMNS])
        header = Header(number, tuple(re.sub(r"[\s_-]+", " ", name.casefold()).strip() for name in shown), shown)
        texts = [plain_text(below[column - 1]) for _, below in top[index + 1 :] for column in header.anchors.values()]
        said = [text for text in texts if text]
        if _shape(header) and not (said and all(map(_FIGURE.fullmatch, said))):  # words say what a level is
            return header
    return None


def _shape(header: Header) -> str:
    if any(name.startswith("__expected") for name in header.shown) and not set(ID_COLUMNS).isdisjoint(header.shown):
        return "assertions"
    criterion = header.column(CRITERION_NAMES)
    if criterion is None and "name" in header.names and (header.anchors or header.column(WEIGHT_NAMES)):
        return "criteria"
    if criterion is None:
        return ""
    if header.column(POINTS_NAMES):
        return "checklist"
    if header.column(CASE_NAMES) and header.column(WEIGHT_NAMES) and not (header.anchors or header.labels):
        return "checklist"
    described = header.column(TEXT_NAMES) or header.column(WEIGHT_NAMES) or header.column(TAG_NAMES)
    count = len([name for name in header.names if name])
    if header.anchors or header.labels or described or count == 1:
        return "criteria"
    return "checklist" if header.column(CASE_NAMES) and count == 2 else ""


def _open_table(table: _Table, name: str) -> RubricReading | None:
    grid, findings, header = table.grid, table.findings, table.header
    for (top, left_column), (bottom, right_column) in grid.merged:
        if bottom > header.row:
            text = f"The cells {grid.location(top, left_column)} to {grid.location(bottom, right_column)} are merged."
            findings.error(
                grid.location(top, left_column), "merged-cells", text, hint="Unmerge them and fill each cell."
            )
    if findings.has_errors:
        return None
    shape = _shape(header)
    rows = CountedRows(grid.rows, grid.row_count)
    options: dict[str, object] = {"sheet": grid.sheet}
    scope, aggregate = "item", NOTHING
    below = _below(table, rows)
    if shape == "assertions":
        items = read_assertion_rows(grid, below, header.shown, findings)
    elif shape == "criteria":
        case = header.column(tuple(name for name in CASE_NAMES if name != "id"))
        scope = "benchmark" if case is None else "item"
        options |= {"anchors": sorted(header.anchors), "labels": list(header.labels)}
        items = _criteria_items(table, below, case)
    else:
        case = header.column(CASE_NAMES)
        scope, aggregate = "benchmark" if case is None else "item", {"type": "mean", "clip": [0, 1]}
        items = _checklist_items(table, below, case)
    head = RubricSpec(name, shape, scope, (), options=options, benchmark_aggregate=aggregate)
    return RubricReading(head, _not_none(table, items), rows)


def _not_none(table: _Table, items: Iterator[RubricItemSpec]) -> Iterator[RubricItemSpec]:
    is_empty = True
    for item in items:
        is_empty = False
        yield item
    if is_empty and not table.findings.has_errors:
        table.findings.error(table.grid.location(table.header.row, 1), "no-rows", "The table has a header but no rows.")


def _below(table: _Table, rows: Iterable[tuple[int, list[Cell]]]) -> Iterator[Row]:
    """Yield the rows under the header that are not blank; one that is too wide is an error and the last."""
    for number, row in rows:
        if table.grid.is_too_wide(number, row, table.findings):
            return
        if number > table.header.row and not all(map(is_blank, row)):
            yield number, row


def _grouped(table: _Table, below: Iterator[Row], case: int | None) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each case together, in the order in which the cases begin.

    Rows that stand together are handed on as they are read; only where a case comes back later, all are gathered first.
    """
    gathered: dict[str, list[Row]] = {}
    hold = case is not None and _recurs(table, case)
    for number, row in below:
        key = table.key(number, row, case)
        if case is not None and not key:
            table.findings.error(
                table.grid.location(number, case), "missing-id", "The row has a criterion but no item id."
            )
            continue
        if gathered and key not in gathered and not hold:
            yield from gathered.items()
            gathered = {}
        gathered.setdefault(key, []).append((number, row))
    yield from gathered.items()


def _recurs(table: _Table, case: int) -> bool:
    ended_keys: set[str] = set()
    last = ""
    for number, row in table.grid.rows:
        if number <= table.header.row or case > len(row):
            continue
        key = plain_text(row[case - 1]).strip()
        if key and key != last:
            if key in ended_keys:
                return True
            ended_keys.add(last)
            last = key
    return False


def _criteria_items(table: _Table, below: Iterator[Row], case: int | None) -> Iterator[RubricItemSpec]:
    header = table.header
    column = header.column(CRITERION_NAMES) or header.column(("name",)) or 1
    weighted = header.column(WEIGHT_NAMES) is not None
    aggregator = {"type": "weighted_mean" if weighted else "mean"}
    for key, rows in _grouped(table, below, case):
        table.locations.clear()
        nodes = [node for number, row in rows if (node := _criterion(table, number, row, column)) is not None]
        root = NodeSpec("root", "group", aggregator=aggregator, children=tuple(nodes))
        if nodes:
            _note_weights(table, rows[0][0], nodes)
            yield RubricItemSpec(key, root, source=table.grid.location(rows[0][0], column))
    if not (header.anchors or header.labels):
        table.findings.warning(
            table.grid.location(header.row, 1),
            "default-scale",
            "No anchor columns; every criterion is rated from 1 to 5.",
            hint="Add columns headed 1 to 5, or Fail and Pass.",
        )


def _note_weights(table: _Table, number: int, nodes: Sequence[NodeSpec]) -> None:
    """Note weights that look like parts of 1 and are not; they are divided by their sum all the same."""
    total = sum(Fraction(str(node.weight)) for node in nodes)
    column = table.header.column(WEIGHT_NAMES)
    if column is None or total == 1 or any(node.weight >= 1 for node in nodes):
        return
    message = f"The weights sum to {float(total):g}, not to 1; each counts by its share of that sum."
    table.findings.warning(
        table.grid.location(number, column), "weight-sum", message, hint="Check for a missing criterion."
    )


def _criterion(table: _Table, number: int, row: Sequence[Cell], column: int) -> NodeSpec | None:
    header, location = table.header, table.grid.location(number, column)
    key = table.text(number, row, column).strip()
    if not key or key == "root":
        table.findings.error(location, "missing-criterion", "The row has no criterion name.", offending=key)
        return None
    if key in table.locations:
        table.findings.error(
            location, "duplicate-criterion", f"The criterion {key!r} already occurs at {table.locations[key]}."
        )
        return None
    table.locations[key] = location
    weight = table.number(number, row, header.column(WEIGHT_NAMES), default=1.0)
    if weight is not None and weight < 0:
        weight_place = table.grid.location(number, header.column(WEIGHT_NAMES) or 1)
        table.findings.error(
            weight_place, "negative-weight", "A weight cannot be negative.", hint='Head the column "points".'
        )
    scale, anchors, value_map = _scale(table, number, row)
    return NodeSpec(
        key,
        "dimension",
        text=table.text(number, row, header.column(TEXT_NAMES)) or key,
        weight=weight or 0.0,
        tags=_tags(table.text(number, row, header.column(TAG_NAMES))),
        scale=scale,
        anchors=anchors,
        value_map=value_map,
    )


def _scale(
    table: _Table, number: int, row: Sequence[Cell]
) -> tuple[ScaleSpec, tuple[AnchorSpec, ...], dict[str, float]]:
    """Return scale, anchors and value map of one criterion from its anchor columns."""
    values, labels = table.header.anchors, table.header.labels
    if len(values) > 1:
        texts = {value: table.text(number, row, column) for value, column in sorted(values.items())}
        anchors = tuple(AnchorSpec(value, value, text) for value, text in texts.items() if text.strip())
        return ScaleSpec("ordinal", min(values), max(values), 1), anchors, {}
    if labels:
        steps = {label: index / (len(labels) - 1) for index, label in enumerate(labels)}
        texts_by_label = {label: table.text(number, row, column) for label, column in labels.items()}
        anchors = tuple(
            AnchorSpec(steps[label], steps[label], text) for label, text in texts_by_label.items() if text.strip()
        )
        return ScaleSpec("nominal", labels=tuple(labels)), anchors, steps
    return DEFAULT_SCALE, (), {}


def _checklist_items(table: _Table, below: Iterator[Row], case: int | None) -> Iterator[RubricItemSpec]:
    header, grid = table.header, table.grid
    criterion = header.column(CRITERION_NAMES) or 1
    points_column = header.column(POINTS_NAMES) or header.column(WEIGHT_NAMES)
    tag_column = header.column(TAG_NAMES)
    default = None if points_column else 1.0
    for key, rows in _grouped(table, below, case):
        checks: list[NodeSpec] = []
        for number, row in rows:
            text = table.text(number, row, criterion)
            if not text.strip():
                location = grid.location(number, criterion)
                table.findings.error(location, "missing-criterion", "The row has no criterion text.")
                continue
            points = table.number(number, row, points_column, default=default)
            tags = _tags(table.text(number, row, tag_column))
            checks.append(NodeSpec(f"c{len(checks) + 1}", "check", text=text, points=points, tags=tags, scale=BOOLEAN))
        if checks:
            yield _checklist_item(table, key, checks, grid.location(rows[0][0], case or criterion))


def _checklist_item(table: _Table, key: str, checks: list[NodeSpec], source: str) -> RubricItemSpec:
    if not any((check.points or 0) > 0 for check in checks):
        owner = f"The item {key!r}" if key else "The checklist"
        table.findings.warning(source, "no-positive-points", f"{owner} has no positive points; it has no score.")
    root = NodeSpec("root", "group", aggregator={"type": "points_over_positive"}, children=tuple(checks))
    return RubricItemSpec(key, root, source=source)


def _tags(text: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in re.split(r"[,;|\n]", text) if tag.strip())
