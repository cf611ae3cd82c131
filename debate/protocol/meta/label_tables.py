"""Tables of what people said of debates elsewhere: one row per item and rater, read from CSV or a workbook.

Columns by header: `item`, `rater`, `label`, and `set` where items of several sets are in one table. A label names a
system, never a place: A, B, tie; 1 stands for A, 2 or -1 for B, 0 for a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judging.specs.files.findings import Findings
from judging.specs.files.problems import Parsed
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import Grid, plain_text, read_grids

LABELS = {
    **dict.fromkeys(("a", "1", "a better", "a is better", "system a"), 1),
    **dict.fromkeys(("b", "2", "-1", "b better", "b is better", "system b"), -1),
    **dict.fromkeys(("0", "tie", "neither", "neither is better", "equal", "="), 0),
}
COLUMNS = {
    "item": ("item", "item_id", "id", "debate"),
    "rater": ("rater", "annotator", "person", "judge", "user"),
    "label": ("label", "verdict", "answer", "preference"),
    "set": ("set", "set_id", "file", "cell"),
}
NEEDED = ("item", "rater", "label")
HEADER_ROWS = 20
HINT = "Write A, B or tie; or 1 (A), 2 or -1 (B), 0 (tie)."


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One person's answer to one item, in system space."""

    place: str  # where it stands in its file
    item: str
    rater: str
    verdict: int  # 1 = A better, 0 = neither, -1 = B better
    set_name: str = ""


def parse_labels(data: bytes, file: str) -> Parsed[tuple[LabelRow, ...]]:
    """Return the answers of a table; a row that cannot be read is an error by cell and nothing is returned."""
    findings = Findings(file)
    for grid in read_grids(data, file, findings):
        header = _header(grid)
        if header is not None:
            rows = _rows(grid, *header, findings)
            if not rows and not findings.has_errors:
                findings.error("", "no-labels", "The table has a header but no rows.")
            return Parsed(None if findings.has_errors else rows, findings.as_tuple())
    if not findings.has_errors:
        findings.error(
            "", "no-label-header", "There is no header with the columns item, rater and label.",
            hint="Name three columns item, rater and label, and write one row for each label of a person.",
        )  # fmt: skip
    return Parsed(None, findings.as_tuple())


def _header(grid: Grid) -> tuple[int, dict[str, int]] | None:
    """Return the header's row and the place of each column in it."""
    for index, (number, cells) in enumerate(grid.rows):
        if index == HEADER_ROWS:
            return None
        names = [plain_text(cell).strip().lower().replace(" ", "_") for cell in cells]
        columns = {
            column: next((names.index(name) for name in accepted if name in names), -1)
            for column, accepted in COLUMNS.items()
        }
        if all(columns[column] >= 0 for column in NEEDED):
            return number, columns
    return None


def _rows(grid: Grid, header: int, columns: dict[str, int], findings: Findings) -> tuple[LabelRow, ...]:
    label_rows: list[LabelRow] = []
    places: dict[tuple[str, str, str], str] = {}
    for number, cells in grid.rows:
        texts = {name: _text(cells, place) for name, place in columns.items()}
        if number <= header or not any(texts.values()):
            continue
        verdict = LABELS.get(texts["label"].lower())
        place = grid.location(number, columns["label"] + 1)
        if not texts["item"] or not texts["rater"]:
            findings.error(place, "label-without-owner", "The row has no item or no rater.")
            continue
        if verdict is None:
            findings.error(place, "unknown-label", "The label is unknown.", offending=texts["label"], hint=HINT)
            continue
        key = (texts["set"], texts["item"], texts["rater"])
        if key in places:
            findings.error(
                place, "label-twice", f"{texts['rater']} already has a label for item {texts['item']} at {places[key]}."
            )
            continue
        places[key] = place
        label_rows.append(LabelRow(place, texts["item"], texts["rater"], verdict, texts["set"]))
    return tuple(label_rows)


def _text(cells: Sequence[Cell], index: int) -> str:
    return plain_text(cells[index]).strip() if 0 <= index < len(cells) else ""
