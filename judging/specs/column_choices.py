"""Which tables of an upload are read by columns, and what each of their columns is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, error_rule
from judging.specs.files.jsonl_reading import decode_document
from judging.specs.files.named_files import named_files
from judging.specs.files.yaml_reading import yaml_paths
from judging.specs.replies.column_guesses import (
    guess_fields,
    has_provider_columns,
    holds_mapped_questions,
    holds_mapped_responses,
)
from judging.specs.replies.data_tables import TABLE_ENDINGS, TableHead, table_head
from judging.specs.replies.json_records import JSON_ENDINGS
from judging.specs.replies.response_formats import RESPONSE_FORMATS
from judging.specs.replies.scaleeval_responses import scaleeval_files
from judging.specs.replies.table_columns import LABELS, ColumnField
from judging.specs.rubrics.rubric_tables import is_rubric_table
from judging.specs.upload_kinds import UploadKind, kind_of_table

UNKNOWN_COLUMN = error_rule("unknown-column", "Write the column as the header of the file does.")
SAME_FIELD = error_rule("same-field", "Choose one of them and keep the others as details, or ignore them.")
MISSING_FIELD = error_rule(
    "missing-field",
    "Responses need a column for the response and one for the case ID or the prompt, questions a prompt.",
)
READ_KINDS = frozenset({UploadKind.QUESTIONS, *RESPONSE_FORMATS})  # whose tables may be read by columns
GUESSED_FROM = 20  # rows that guesses look at
SAMPLES = 3  # rows whose cells are shown
SAMPLE_CHARACTERS = 120

_REPEATED = frozenset({ColumnField.DETAIL, ColumnField.IGNORE, ColumnField.RESPONSES_OF})  # by any number of columns
_CONTENT_FIELDS = frozenset({ColumnField.PROMPT, ColumnField.RESPONSE, ColumnField.RESPONSES_OF})  # of no rubric
_RUBRIC_KEYS = frozenset(
    {"criteria", "criterion", "root", "nodes", "rubrics", "rubric", "requirements", "score_rubric", "checklist"}
)


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """One column, or one that several tables share: what it is, and its first cells."""

    name: str
    field: ColumnField
    guess: ColumnField
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """The columns of the tables of an upload that can be read by columns."""

    columns: tuple[ColumnChoice, ...] = ()
    fields: Mapping[str, Mapping[str, ColumnField]] = field(default_factory=dict)  # by path
    used: frozenset[str] = frozenset()  # the tables that are read by columns


@dataclass(frozen=True, slots=True)
class _ReadTable:
    path: str
    head: TableHead
    guess: Mapping[str, ColumnField]
    fields: Mapping[str, ColumnField]
    is_used: bool


def choose_columns(
    bundle: Bundle, kinds: Collection[str], chosen: Mapping[str, str], findings: Findings
) -> ColumnChoices:
    """Return the columns of an upload's tables, for its readers and for a person to look at.

    A table is read by columns where `chosen` names one of them, or where nothing else can be made of it and its
    columns look like those of responses or of questions. `kinds` are what the upload is known to hold.
    """
    tables = [table for path in _candidates(bundle, kinds) if (table := _look(bundle, path, chosen)) is not None]
    table_columns = {name for table in tables for name in table.fields}
    for name in chosen:
        if name not in table_columns:
            findings.add(UNKNOWN_COLUMN, "", "", f"No table of the upload has a column {name!r}.", name)
    for table in tables:
        _check_fields(table, findings)
    return _choices(tables)


def _candidates(bundle: Bundle, kinds: Collection[str]) -> list[str]:
    """Return the tables that may be read by columns: beside a suite those at the top that it does not name."""
    tables = [path for path in bundle if path.lower().endswith((*TABLE_ENDINGS, *JSON_ENDINGS))]
    others = set(kinds) - {UploadKind.LEVEL_RUBRIC, UploadKind.QUESTIONS, *RESPONSE_FORMATS}
    excluded_paths = set(scaleeval_files(bundle)) if UploadKind.SCALEEVAL_RESPONSES in others else set()
    if tables and others:
        excluded_paths |= {name for path in yaml_paths(bundle) for name in named_files(bundle.read(path), path)}
        tables = [path for path in tables if "/" not in path]
    return [path for path in tables if path not in excluded_paths]


def _look(bundle: Bundle, path: str, chosen: Mapping[str, str]) -> _ReadTable | None:
    """Return a table and what its columns are; None for one that is a rubric or none at all."""
    head = table_head(bundle, path, GUESSED_FROM)
    if head is None or not any(head.names):
        return None
    is_known = kind_of_table(bundle, path) is not None
    guess = guess_fields(head.names, head.samples, is_known=is_known)
    chosen_fields = {name: ColumnField(field) for name, field in chosen.items() if name in guess}
    fields = {**_without_taken(guess, chosen_fields), **chosen_fields}
    is_data = is_known or has_provider_columns(head.names) or not _CONTENT_FIELDS.isdisjoint(chosen_fields.values())
    if not is_data and _is_rubric(bundle, path, head):
        return None
    is_wide = ColumnField.RESPONSES_OF in guess.values()
    is_fit = holds_mapped_responses(fields) or holds_mapped_questions(fields)
    return _ReadTable(path, head, guess, fields, is_used=bool(chosen_fields) or (is_fit and (is_wide or not is_known)))


def _check_fields(table: _ReadTable, findings: Findings) -> None:
    """Note two columns that cannot both be what was chosen for them, and what is missing."""
    if not table.is_used:
        return
    columns: dict[ColumnField, list[str]] = defaultdict(list)
    for name, column_field in table.fields.items():
        columns[column_field].append(name)
    for column_field in set(columns) - _REPEATED:
        if len(columns[column_field]) > 1:
            message = f"{len(columns[column_field])} columns are read as {LABELS[column_field].lower()}."
            findings.add(SAME_FIELD, table.path, "", message, ", ".join(columns[column_field]))
    both = columns[ColumnField.RESPONSE] + columns[ColumnField.RESPONSES_OF]
    if columns[ColumnField.RESPONSE] and columns[ColumnField.RESPONSES_OF]:
        message = "A column of responses stands beside columns of the responses of single systems."
        findings.add(SAME_FIELD, table.path, "", message, ", ".join(both))
    if not (holds_mapped_responses(table.fields) or holds_mapped_questions(table.fields)):
        message = "The columns are those of neither responses nor questions."
        findings.add(MISSING_FIELD, table.path, "", message, ", ".join(table.head.names))


def _is_rubric(bundle: Bundle, path: str, head: TableHead) -> bool:
    if not path.lower().endswith(JSON_ENDINGS):
        return is_rubric_table(bundle, path)
    names = {name.partition(".")[0] for name in head.names} | set(decode_document(bundle, path) or ())
    return not _RUBRIC_KEYS.isdisjoint(names)


def _without_taken(
    guess: Mapping[str, ColumnField], chosen_fields: Mapping[str, ColumnField]
) -> dict[str, ColumnField]:
    """Return a guess without the fields that were given to other columns."""
    chosen_once = set(chosen_fields.values()) - _REPEATED
    return {name: ColumnField.DETAIL if field in chosen_once else field for name, field in guess.items()}


def _choices(tables: list[_ReadTable]) -> ColumnChoices:
    columns: dict[str, ColumnChoice] = {}
    for table in tables:
        for position, name in enumerate(table.head.names):
            if name and name not in columns:
                cells = (row[position] for row in table.head.samples[:SAMPLES] if position < len(row))
                samples = tuple(_cut(cell) for cell in cells if cell.strip())
                columns[name] = ColumnChoice(name, table.fields[name], table.guess[name], samples)
    return ColumnChoices(
        tuple(columns.values()),
        {table.path: table.fields for table in tables},
        frozenset(table.path for table in tables if table.is_used),
    )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SAMPLE_CHARACTERS else line[: SAMPLE_CHARACTERS - 1] + "…"
