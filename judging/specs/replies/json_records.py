"""Records of JSON files as rows of a table: JSON Lines, a list, or the longest fitting list inside a document.

What lies inside a record is addressed by a path with dots: `doc.question`, `output.choices.0.message.content`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line
from judging.specs.files.jsonl_reading import RowLimits, decode_document, readable_rows, storable_row
from judging.specs.replies.column_guesses import guess_fields
from judging.specs.replies.table_columns import ColumnField

JSON_ENDINGS = (".jsonl", ".json", ".ndjson")
MAX_COLUMNS = 80
HEAD_RECORDS = 20  # in which columns are looked for
_HEAD_BYTES = 1024 * 1024
_DEPTH = 5
_ITEMS = 2  # of a list inside a record
_LIST_DEPTH = 3  # at which a document's list of records may lie


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `number` is its line, or its place in the list from 1."""

    number: int
    location: str
    fields: JsonDict


def read_records(bundle: Bundle, path: str, findings: Findings, limits: RowLimits | None = None) -> list[Record]:
    """Return the records of a file that can be read; what cannot is among the findings."""
    document = decode_document(bundle, path)
    if document is None:
        rows = readable_rows(bundle, path, findings, limits)
        return [Record(row.line, at_line(row.line), row.fields) for row in rows]
    list_path, entries = max(_record_lists(document), key=_fit, default=("", [document]))
    records: list[Record] = []
    for number, item in enumerate(entries, 1):
        location = f"{list_path}[{number - 1}]" if list_path else ""
        fields = storable_row(item, path, location, findings)
        if fields is not None:
            records.append(Record(number, location, fields))
    return records


def first_records(bundle: Bundle, path: str) -> list[Record]:
    """Return the first records of a file; of a large one no more is read than they need."""
    data, records = bundle.read(path), list[Record]()
    if len(data) > _HEAD_BYTES and decode_document(bundle, path) is None:
        head = data[:_HEAD_BYTES]
        whole = head if data.lstrip().startswith(b"[") else head[: head.rfind(b"\n") + 1]
        records = read_records(Bundle({path: whole}), path, Findings())
    return (records or read_records(bundle, path, Findings()))[:HEAD_RECORDS]


def _record_lists(document: JsonObject, parent_path: str = "", depth: int = 1) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of objects in a document, by path."""
    for name, value in document.items():
        path = f"{parent_path}.{name}" if parent_path else name
        if isinstance(value, dict) and depth < _LIST_DEPTH:
            yield from _record_lists(value, path, depth + 1)
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            yield path, value


def _fit(candidate: tuple[str, list[Any]]) -> tuple[int, int]:
    """Return how many fields the records of a list seem to have, and how many records there are."""
    guessed = guess_fields(record_columns(candidate[1][:HEAD_RECORDS])).values()
    return len(set(guessed) - {ColumnField.DETAIL, ColumnField.IGNORE}), len(candidate[1])


def record_columns(records: Sequence[JsonObject]) -> list[str]:
    """Return the paths to texts, numbers and lists of texts in records, the least deep first."""
    columns: dict[str, None] = {}
    for record in records:
        columns.update(dict.fromkeys(_paths(record)))
    return sorted(columns, key=lambda path: path.count("."))[:MAX_COLUMNS]


def _paths(value: object, path: str = "", depth: int = 0) -> Iterator[str]:
    inside: list[tuple[str, object]] = []
    if isinstance(value, dict):
        inside = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, list) and not all(isinstance(part, str) for part in value):
        inside = [(str(index), part) for index, part in enumerate(value[:_ITEMS])]
    elif path:
        yield path
    if depth < _DEPTH:
        for name, part in inside:
            yield from _paths(part, f"{path}.{name}" if path else name, depth + 1)


def value_at(value: object, path: str) -> object:
    """Return what lies at a path; None where nothing does. A name may itself have dots."""
    if isinstance(value, dict) and path in value:
        value_here: object = value[path]
        return value_here
    head, dot, rest = path.partition(".")
    while dot:
        part = _part(value, head)
        if part is not None and (value_here := value_at(part, rest)) is not None:
            return value_here
        step, dot, rest = rest.partition(".")
        head = f"{head}.{step}"
    return _part(value, head)


def _part(value: object, name: str) -> object:
    if isinstance(value, dict):
        return value.get(name)
    is_index = isinstance(value, list) and name in map(str, range(min(len(value), _ITEMS)))
    return value[int(name)] if isinstance(value, list) and is_index else None


def text_of(value: object) -> str | None:
    """Return a value as text: a list of texts as its parts, numbers as JSON writes them; None for null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def prompt_of(value: object) -> str | None:
    """Return what was asked as text: of a conversation, which lm-evaluation-harness writes as JSON in a text, the
    messages, each behind its role where they are several."""
    content = value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value
    try:
        messages = json.loads(content) if isinstance(content, str) and content.startswith("[{") else content
    except ValueError:
        messages = content
    if isinstance(messages, list) and len(messages) == 1 and _is_message(messages[0]):
        return str(messages[0]["content"])
    return chat_text(messages) or text_of(value)


def chat_text(value: object) -> str:
    """Return the messages of a chat, each behind its role; an empty text where this is no chat."""
    if not isinstance(value, list) or not all(map(_is_message, value)):
        return ""
    return "\n\n".join(f"{message['role']}: {message['content']}" for message in value)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)
