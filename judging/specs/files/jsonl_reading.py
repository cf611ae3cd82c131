"""Rows of a JSON Lines file, or of a JSON array, with their line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evalsite.base.json_types import JsonDict
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line, error_rule, warning_rule
from judging.specs.files.json_depth import nests_too_deep
from judging.specs.files.problems import Parsed
from judging.specs.files.row_counts import ProgressCallback, no_progress, with_progress
from judging.specs.files.text_reading import decode_text

BAD_JSON = error_rule("bad-json", "Write one JSON object per line.")
NOT_AN_OBJECT = error_rule("not-an-object", 'Write an object in braces, such as {"id": "1"}.')
ROW_LIMIT = error_rule("row-limit", "Split the file.")
NO_ROWS = error_rule("no-rows", "Is this the right file?")
REPAIRED_TEXT = warning_rule("unstorable-character", "No action is needed unless every character of the text matters.")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_DEPTH = 60
_GAP = re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class RowLimits:
    """How large a file of rows may be."""

    max_bytes: int = 256 * 1024 * 1024
    max_rows: int = 500_000


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One object with the line it starts on (from 1)."""

    line: int
    fields: JsonDict


class _BadValue(ValueError):
    """Something that Python reads as JSON and we do not."""


def _refuse_constant(name: str) -> Any:
    raise _BadValue(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def read_rows(
    bundle: Bundle, path: str, limits: RowLimits | None = None, report_progress: ProgressCallback = no_progress
) -> Parsed[tuple[JsonLine, ...]]:
    """Return the objects of a JSON Lines file or a JSON array; blank lines are skipped.

    Characters that no database stores (NUL, lone surrogates) are replaced by U+FFFD, with a warning. Other texts are
    kept to the character: escapes such as \\r inside a JSON string are the author's.
    """
    findings = Findings()
    rows = readable_rows(bundle, path, findings, limits, report_progress)
    return Parsed(None if findings.has_errors else tuple(rows), findings.as_tuple())


def readable_rows(
    bundle: Bundle,
    path: str,
    findings: Findings,
    limits: RowLimits | None = None,
    report_progress: ProgressCallback = no_progress,
) -> list[JsonLine]:
    """Return the objects that can be read, as `read_rows` does; what is wrong with the others is among the findings."""
    limits = limits or RowLimits()
    before = Findings()
    text = decode_text(bundle.read(path), path, max_bytes=limits.max_bytes)
    before.extend(text.problems)
    rows: list[JsonLine] = []
    if text.value is not None:
        if text.value.lstrip().startswith("["):
            rows = _array_rows(text.value, path, before)
        else:
            rows = _line_rows(with_progress(text.value.split("\n"), report_progress), path, before, limits)
        if len(rows) > limits.max_rows:
            before.add(ROW_LIMIT, path, "", f"The file has more than {limits.max_rows:,} rows.")
        if not rows and not before.has_errors:
            before.add(NO_ROWS, path, "", "The file contains no rows.")
    findings.extend(before.as_tuple())
    return rows


def decode_document(bundle: Bundle, path: str) -> JsonDict | None:
    """Return the one object that a JSON file is; None where it is none, such as JSON Lines."""
    return bundle.once(path, _decode_document) if path.lower().endswith(".json") else None


def _decode_document(data: bytes) -> JsonDict | None:
    text = decode_text(data, "", max_bytes=RowLimits().max_bytes).value or ""
    if not text.lstrip().startswith("{") or nests_too_deep(text):
        return None
    try:
        document = _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _line_rows(lines: Iterable[str], path: str, findings: Findings, limits: RowLimits) -> list[JsonLine]:
    rows: list[JsonLine] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if len(rows) > limits.max_rows:
            break
        try:
            value = _DECODER.decode(line.strip())
        except (ValueError, RecursionError) as failure:
            findings.add(BAD_JSON, path, at_line(number), f"This line is not JSON: {_reason(failure)}.", line)
            continue
        _keep(rows, value, number, path, findings)
    return rows


def _array_rows(text: str, path: str, findings: Findings) -> list[JsonLine]:
    rows: list[JsonLine] = []
    position = text.index("[") + 1
    line = text.count("\n", 0, position) + 1
    while True:
        start = _end_of_gap(text, position)
        line += text.count("\n", position, start)
        if start >= len(text):
            findings.add(BAD_JSON, path, at_line(line), "The list is not closed by a bracket.")
            return rows
        if text[start] == "]":
            return rows
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as failure:
            findings.add(
                BAD_JSON, path, at_line(line), f"This is not JSON: {_reason(failure)}.", text[start : start + 80]
            )
            return rows
        _keep(rows, value, line, path, findings)
        line += text.count("\n", start, position)


def _end_of_gap(text: str, position: int) -> int:
    match = _GAP.match(text, position)
    return match.end() if match else position


def _reason(failure: Exception) -> str:
    if isinstance(failure, json.JSONDecodeError):
        return f"{failure.msg} at character {failure.colno}"
    return "it is nested too deeply" if isinstance(failure, RecursionError) else str(failure)


def _keep(rows: list[JsonLine], value: object, line: int, path: str, findings: Findings) -> None:
    row = storable_row(value, path, at_line(line), findings)
    if row is not None:
        rows.append(JsonLine(line, row))


def storable_row(value: object, path: str, location: str, findings: Findings) -> JsonDict | None:
    """Return a row as it can be stored; None, with a finding, where it is no object."""
    if not isinstance(value, dict):
        findings.add(NOT_AN_OBJECT, path, location, "The row is not an object.", json.dumps(value)[:200])
        return None
    try:
        cleaned, changed = _storable(value)
    except _BadValue as failure:
        findings.add(BAD_JSON, path, location, f"The row cannot be used: {failure}.")
        return None
    if changed:
        findings.add(REPAIRED_TEXT, path, location, "NUL characters or broken Unicode were replaced by U+FFFD.")
    row: JsonDict = cleaned
    return row


def _storable(value: object, depth: int = 0) -> tuple[Any, bool]:
    """Return the value with characters that cannot be stored replaced, and whether there were any."""
    if depth > _MAX_DEPTH:
        raise _BadValue("it is nested too deeply")
    if isinstance(value, str):
        cleaned, count = _UNSTORABLE.subn("\ufffd", value)
        return cleaned, count > 0
    if isinstance(value, list):
        parts = [_storable(part, depth + 1) for part in value]
        return [part for part, _ in parts], any(changed for _, changed in parts)
    if isinstance(value, dict):
        pairs = {_storable(key)[0]: _storable(part, depth + 1) for key, part in value.items()}
        keys_changed = any(_UNSTORABLE.search(key) for key in value)
        return {key: part for key, (part, _) in pairs.items()}, keys_changed or any(c for _, c in pairs.values())
    return value, False


def first_text(fields: JsonDict, names: tuple[str, ...]) -> str | None:
    """Return the first of the named fields that is text or a whole number, as text; None where there is none."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
    return None
