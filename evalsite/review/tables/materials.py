"""Reads questions with one or two answers each, to be reviewed by people: CSV, XLSX or JSONL, one row per item."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalsite.review.tables.rows import CellRow, problem, read_rows, remark
from judging.specs.files.problems import Parsed, Problem

NAMES = {  # what a column may be called, the first that occurs is taken
    "key": ("id", "key", "case_id", "case", "item", "idx"),
    "question": ("question", "prompt", "instruction", "input"),
    "context": ("context", "material", "document"),
    "reference": ("reference", "reference_answer"),
    "response_a": ("response_a", "answer_a", "a", "response1", "answer1"),
    "response_b": ("response_b", "answer_b", "b", "response2", "answer2"),
    "response": ("response", "answer", "output"),
    "system_a": ("system_a", "model_a", "system1", "model1", "system", "model"),
    "system_b": ("system_b", "model_b", "system2", "model2"),
    "criterion": ("criterion",),
    "criterion_text": ("criterion_text", "rubric", "criterion_description"),
    "scenario": ("scenario", "task", "domain"),
    "language": ("language", "lang"),
}
LIMITS = {"key": 200, "criterion": 100, "scenario": 100, "language": 20, "system_a": 200, "system_b": 200}
TEXT_LIMIT = 200_000
MOST_PROBLEMS = 200


@dataclass(frozen=True, slots=True)
class MaterialRow:
    """One item of a file; `response_b` is None for a single response."""

    key: str
    question: str
    response_a: str
    response_b: str | None = None
    context: str = ""
    reference: str = ""
    system_a: str = ""
    system_b: str = ""
    criterion: str = ""
    criterion_text: str = ""
    scenario: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class MaterialFile:
    """The items of a file, all pairs or all single responses."""

    rows: tuple[MaterialRow, ...]
    is_pair: bool


def read_materials(data: bytes, name: str, *, has_scale: bool = False) -> Parsed[MaterialFile]:
    """Return the items of a file; rows without a key are numbered.

    What is not read is warned of: columns that mean nothing here, and a scale that was given (`has_scale`) for pairs.
    """
    parsed = read_rows(data, name)
    if parsed.value is None:
        return Parsed(None, parsed.problems)
    columns_by_name = {column.lower(): column for column in parsed.value.columns}
    columns = {
        what: next((columns_by_name[alias] for alias in names if alias in columns_by_name), "")
        for what, names in NAMES.items()
    }
    is_pair = bool(columns["response_a"] and columns["response_b"])
    if not columns["question"] or not (is_pair or columns["response"]):
        text = "No columns for questions and responses were recognised."
        hint = "Use question with response_a and response_b for pairs, or question with response."
        return Parsed(None, (*parsed.problems, problem(name, "line 1", text, hint=hint, code="queue-columns")))
    problems: list[Problem] = []
    rows: list[MaterialRow] = []
    used_keys: set[str] = set()
    for number, row in enumerate(parsed.value.rows, start=1):
        wrong = _why_unfit(row, columns, used_keys, is_pair=is_pair)
        if wrong:
            problems.append(problem(name, row.location, wrong, code="queue-row"))
        else:
            rows.append(_material(row.cells, columns, number, is_pair=is_pair))
            used_keys.add(rows[-1].key)
    if not rows and not problems:
        problems.append(problem(name, "", "The table has no rows.", code="queue-empty"))
    if problems:
        return Parsed(None, (*parsed.problems, *problems[:MOST_PROBLEMS]))
    remarks = [*_unread(parsed.value.columns, columns, name, is_pair=is_pair), *_unused_scale(name, has_scale, is_pair)]
    return Parsed(MaterialFile(tuple(rows), is_pair), (*parsed.problems, *remarks))


def _unread(file_columns: Sequence[str], columns: Mapping[str, str], name: str, *, is_pair: bool) -> Iterator[Problem]:
    """Yield a warning for each column of the file that nobody will see."""
    other = {"response"} if is_pair else {"response_a", "response_b"}
    read = {column for what, column in columns.items() if what not in other}
    names = sorted({name for names in NAMES.values() for name in names})
    for column in file_columns:
        if column not in read:
            near = difflib.get_close_matches(column.lower(), names, n=1, cutoff=0.8)
            hint = (
                f"Did you mean {near[0]!r}?"
                if near and near[0] not in file_columns
                else "Ignore this if it is intended."
            )
            yield remark(
                name, "", f"The column {column!r} is not read.", offending=column, hint=hint, code="unread-column"
            )


def _unused_scale(name: str, has_scale: bool, is_pair: bool) -> Iterator[Problem]:
    if has_scale and is_pair:
        text = "The declared labels are not used: for pairs, annotators choose the better response."
        yield remark(name, "", text, hint="Give one response per row to use them.", code="unused-labels")


def _why_unfit(row: CellRow, columns: Mapping[str, str], used_keys: set[str], *, is_pair: bool) -> str:
    key = row.cells.get(columns["key"], "")
    if key and key in used_keys:
        return f"The id {key!r} occurs twice."
    for what in ("question", *(("response_a", "response_b") if is_pair else ("response",))):
        if not row.cells.get(columns[what], "").strip():
            return f"The {what.replace('_', ' ')} is empty."
    for what, column in columns.items():
        if column and len(row.cells.get(column, "")) > LIMITS.get(what, TEXT_LIMIT):
            return f"The {what.replace('_', ' ')} has more than {LIMITS.get(what, TEXT_LIMIT):,} characters."
    return ""


def _material(cells: Mapping[str, str], columns: Mapping[str, str], number: int, *, is_pair: bool) -> MaterialRow:
    texts = {what: cells.get(column, "") for what, column in columns.items() if column}
    only = texts.pop("response", "")
    first = texts.pop("response_a", "") if is_pair else only
    second = texts.pop("response_b", "") if is_pair else None
    texts.pop("response_a", None)
    texts.pop("response_b", None)
    key = texts.pop("key", "") or str(number)
    return MaterialRow(key=key, response_a=first, response_b=second, **texts)
