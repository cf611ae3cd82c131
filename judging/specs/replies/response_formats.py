"""The formats of response files by name: how each is recognized, and which function reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from judging.specs.files.bundles import Bundle
from judging.specs.files.jsonl_reading import RowLimits, read_rows
from judging.specs.files.problems import Parsed
from judging.specs.replies.data_tables import TABLE_ENDINGS, header_names, holds_responses
from judging.specs.replies.response_rows import CASE_FIELDS, SYSTEM_FIELDS, TEXT_FIELDS
from judging.specs.replies.responses import parse_responses_jsonl, parse_responses_table
from judging.specs.suites.questions_jsonl import QUESTION_FIELDS
from judging.specs.turns import MESSAGE_FIELDS, RESPONSE_MESSAGE_FIELDS
from judging.specs.types import ResponseSpec

ROW_ENDINGS = (".jsonl", ".json", ".ndjson")
_HEAD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """One format. `parse` takes a bundle and a path, and by name `system`, `known_cases` and `tell` (progress).

    `names` reads what tells a file from others, such as its columns; `holds` and `asks` look at that alone.
    """

    kind: str
    label: str  # in the list of kinds that a person may choose from
    endings: tuple[str, ...]
    names: Callable[[Bundle, str], Collection[str]]
    holds: Callable[[Collection[str]], bool]  # whether a file with one of the endings has responses in this format
    parse: Callable[..., Parsed[tuple[ResponseSpec, ...]]]
    asks: Callable[[Collection[str]], bool] = lambda _: False  # whether it has questions instead


def first_fields(bundle: Bundle, path: str) -> set[str]:
    """Return the first row's fields that hold no object of their own; empty where there is no readable row."""
    data = bundle.read(path)
    first_line = data.split(b"\n", 1)[0] if not data.lstrip().startswith(b"[") else data[:_HEAD]
    limits = RowLimits(max_bytes=_HEAD)
    rows = read_rows(Bundle({path: first_line}), path, limits).value
    if rows is None:
        rows = read_rows(Bundle({path: data}), path).value
    return {name for name, value in rows[0].fields.items() if not isinstance(value, dict)} if rows else set()


def _rows_ask(fields: Collection[str]) -> bool:
    """Return whether rows have a question, or messages that nobody is said to have answered with."""
    if not {*QUESTION_FIELDS, "instruction"}.isdisjoint(fields):
        return True
    return not set(MESSAGE_FIELDS).isdisjoint(fields) and set(SYSTEM_FIELDS).isdisjoint(fields)


def _rows_hold_responses(names: Collection[str]) -> bool:
    """Return whether rows have a response and say to what. `answer` beside a question is the reference, unless the row
    says who answered."""
    fields = set(names)
    answers = {*TEXT_FIELDS, *RESPONSE_MESSAGE_FIELDS}
    if _rows_ask(fields):
        answers -= {"answer"} if not fields & set(SYSTEM_FIELDS) else set()
    else:
        answers |= set(MESSAGE_FIELDS)
    return bool(fields & answers and fields & {*CASE_FIELDS, "prompt"})


JSON_LINES = ResponseFormat(
    "responses_jsonl",
    "Responses (JSONL)",
    ROW_ENDINGS,
    first_fields,
    _rows_hold_responses,
    parse_responses_jsonl,
    _rows_ask,
)
TABLES = ResponseFormat(
    "responses_csv",
    "Responses (CSV, XLSX)",
    TABLE_ENDINGS,
    header_names,
    holds_responses,
    parse_responses_table,
    bool,  # a header that is none of responses is one of questions
)
RESPONSE_FORMATS: Mapping[str, ResponseFormat] = {form.kind: form for form in (JSON_LINES, TABLES)}
