"""Tables of responses or questions, one per row, in CSV files and workbooks: which columns, and the rows by name."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line, error_rule
from judging.specs.files.jsonl_reading import ROW_LIMIT, JsonLine, RowLimits
from judging.specs.files.text_reading import normalise_newlines
from judging.specs.replies.response_rows import CASE_FIELDS, SYSTEM_FIELDS, TEXT_FIELDS
from judging.specs.spreadsheets.cell_values import Cell
from judging.specs.spreadsheets.grids import Grid, bundle_grids, is_blank, plain_text, text_cell
from judging.specs.spreadsheets.table_texts import CSV_ENDINGS, header_of, open_table
from judging.specs.suites.questions_jsonl import ANSWER_FIELDS, QUESTION_FIELDS

BAD_CSV = error_rule("bad-csv", "Save the table again as CSV, with a header and fields in double quotes.")
BAD_HEADER = error_rule(
    "csv-header", "Name the columns case_id, system, attempt, response; or filename and completion."
)

SHEET_ENDINGS = (".xlsx", ".xlsm")
TABLE_ENDINGS = (*CSV_ENDINGS, *SHEET_ENDINGS)
FILE_COLUMN = "filename"

_ASKING = frozenset({*QUESTION_FIELDS, "instruction"})
_SAME = {
    **dict.fromkeys(("query_id", "item_id", "prompt_id", "task_id", "test_id"), "case_id"),
    **dict.fromkeys(("model_output", "model_response", "reply", "prediction", "generation"), "response"),
    **dict.fromkeys(("model_id", "system_name"), "system"),
}
_OF_RUBRICS = re.compile(r"\d{1,3}(\.0)?%?|__expected\d*|criteri(on|a)|requirement|rubric|points")


def column_names(cells: Iterable[Cell]) -> list[str]:
    """Return the names of columns as they are compared: "Case ID" is case_id, and so is query_id."""
    names = [re.sub(r"[\s-]+", "_", plain_text(cell).strip().lower()) for cell in cells]
    return [_SAME[name] if name in _SAME and _SAME[name] not in names else name for name in names]


def holds_responses(names: Collection[str]) -> bool:
    """Return whether columns are those of responses: which case, or which question, and what was answered."""
    found = set(names)
    if any(map(_OF_RUBRICS.fullmatch, found)):
        return False
    # `answer` beside a question is the reference, unless the row says who answered.
    texts = set(TEXT_FIELDS) - ({"answer"} if found & _ASKING and not found & set(SYSTEM_FIELDS) else set())
    return bool(found & texts and found & {FILE_COLUMN, *CASE_FIELDS, *QUESTION_FIELDS})


def holds_questions(names: Sequence[str]) -> bool:
    """Return whether columns are those of questions with references."""
    found = set(names)
    return bool(found & _ASKING and found & set(ANSWER_FIELDS)) and not any(map(_OF_RUBRICS.fullmatch, found))


def header_names(bundle: Bundle, path: str) -> list[str]:
    """Return the columns of a file of responses or questions; empty where it has no such header."""
    if path.lower().endswith(CSV_ENDINGS):
        names = column_names(header_of(bundle.read(path)))
        return names if holds_responses(names) or holds_questions(names) else []
    grids = bundle_grids(bundle, path, Findings(path))
    return next((header[1] for grid in grids if (header := _sheet_header(grid)) is not None), [])


def _sheet_header(grid: Grid) -> tuple[int, list[str]] | None:
    """Return the number of the row that names columns of responses or questions, and these names."""
    for number, row in grid.head():
        names = column_names(row)
        if holds_responses(names) or holds_questions(names):
            return number, names
    return None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row with what it says by column; `number` is its line or row."""

    number: int
    place: str
    fields: JsonDict


def table_rows(bundle: Bundle, path: str, findings: Findings, limits: RowLimits) -> list[TableRow]:
    """Return the rows of a table. An empty cell is an empty text, and numbers of a CSV stay as written."""
    is_csv = path.lower().endswith(CSV_ENDINGS)
    rows: list[TableRow] = []
    for row in _csv_rows(bundle, path, findings) if is_csv else _sheet_rows(bundle, path, findings):
        rows.append(row)
        if len(rows) > limits.max_rows:
            findings.add(ROW_LIMIT, path, row.place, f"The table has more than {limits.max_rows:,} rows.")
            return []
    return rows


def question_rows(bundle: Bundle, path: str, findings: Findings) -> list[JsonLine]:
    """Return the rows of a table of questions, without their empty cells."""
    rows = table_rows(bundle, path, findings, RowLimits())
    return [JsonLine(row.number, {name: text for name, text in row.fields.items() if text.strip()}) for row in rows]


def _csv_rows(bundle: Bundle, path: str, findings: Findings) -> Iterator[TableRow]:
    table = open_table(bundle.read(path), path, findings)
    if table is None:
        return
    reader = csv.reader(table.lines(), delimiter=table.delimiter, strict=True)
    try:
        names = column_names(next(reader, []))
        if not _check_names(names, path, at_line(1), findings):
            return
        start = reader.line_num + 1
        for cells in reader:
            if len(cells) != len(names) and cells:
                message = f"The row has {len(cells)} cells, the header {len(names)}."
                findings.add(BAD_CSV, path, at_line(start), message, ", ".join(cells))
            elif cells:
                yield TableRow(start, at_line(start), dict(zip(names, map(normalise_newlines, cells), strict=True)))
            start = reader.line_num + 1
    except csv.Error as failure:
        findings.add(BAD_CSV, path, at_line(reader.line_num), f"The table cannot be read: {failure}.")


def _check_names(names: Sequence[str], path: str, place: str, findings: Findings) -> bool:
    named = [name for name in names if name]
    message = ""
    if not (holds_responses(names) or holds_questions(names)):
        message = "There are no columns for case and response."
    elif len(set(named)) < len(named):
        message = "Two columns have the same name."
    if message:
        findings.add(BAD_HEADER, path, place, message, ", ".join(names))
    return not message


def _sheet_rows(bundle: Bundle, path: str, findings: Findings) -> Iterator[TableRow]:
    of_file = Findings(path)
    try:
        grids = bundle_grids(bundle, path, of_file)
        found = next(((grid, *header) for grid in grids if (header := _sheet_header(grid)) is not None), None)
        if found is None:
            if not of_file.has_errors:
                of_file.add(BAD_HEADER, path, "", "No visible sheet has columns for case and response.")
            return
        grid, row, names = found
        if _check_names(names, path, grid.place(row, 1), of_file):
            yield from _rows_below(grid, row, names, of_file)
    finally:
        findings.extend(of_file.as_tuple())


def _rows_below(grid: Grid, header: int, names: list[str], findings: Findings) -> Iterator[TableRow]:
    for number, row in grid.rows:
        if number <= header or all(map(is_blank, row)):
            continue
        if grid.is_too_wide(number, row, findings):
            return
        fields = {
            name: text_cell(grid, number, column, value, findings)
            for column, (name, value) in enumerate(zip(names, row, strict=False), 1)
            if name
        }
        yield TableRow(number, grid.place(number, 1), fields)
