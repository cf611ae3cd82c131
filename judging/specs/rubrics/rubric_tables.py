"""Rubrics from tables and trees: which of the five shapes a file has, and the two criterion tables.

Shapes: levels (one column per level), criteria (one row per criterion, one column per anchor), checklist (item id,
criterion, signed points, tags), assertions (test rows with `__expected*`), nested (JSON or YAML).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from judging.specs.case_keys import visible_key
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.rubrics.assertion_rows import read_assertion_rows
from judging.specs.rubrics.level_rubrics_xlsx import BOOLEAN, find_level_layout, open_level_grids
from judging.specs.rubrics.rubric_nested import parse_nested_rubric
from judging.specs.rubrics.rubric_reading import CountedRows, RubricReading, reading_of
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import MAX_COLUMNS, Grid, bundle_grids, is_blank, plain_text, text_cell
from judging.specs.types import NOTHING, AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec

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
    for number, row in grid.head():
        shown = tuple(plain_text(cell).strip() for cell in row[:MAX_COLUMNS])
        header = Header(number, tuple(re.sub(r"[\s_-]+", " ", name.casefold()).strip() for name in shown), shown)
        if _shape(header):
            return header
    return None


def _shape(header: Header) -> str:
    if any(name.startswith("__expected") for name in header.shown):
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
    if header.anchors or header.labels or described or len([name for name in header.names if name]) == 1:
        return "criteria"
    return "checklist" if header.column(CASE_NAMES) else ""


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
