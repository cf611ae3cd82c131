"""Rows of ScaleEval's files, whatever state they are in: arrays, concatenated objects, lines, cut-off ends."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import yaml

from evalsite.base.json_types import JsonObject
from judging.services.storable import storable
from judging.specs.files.problems import Parsed, Problem, Severity

Row = JsonObject
_BETWEEN_ROWS = re.compile(r"[\s,\[\]]*")


@dataclass(frozen=True, slots=True)
class ResponseLine:
    """One line of a responses file."""

    prompt: str
    response: str


def read_rows(path: str, content: bytes) -> Parsed[tuple[Row, ...]]:
    """Return the JSON objects in a file, in order: one array, objects one after another, or one per line.

    An end that was cut off loses its last object and is reported; the objects before it stand.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Parsed(None, (_problem(path, "", f"This file is not UTF-8 text: {error}.", "not-utf8", Severity.ERROR),))
    rows, end = _scan(text)
    if text.lstrip().startswith("[") and not text.rstrip().endswith("]"):
        end = min(end, len(text.rstrip()) - 1)
    problems: list[Problem] = []
    if end < len(text):
        line = text.count("\n", 0, end) + 1
        message = f"From here on the file is cut off or is not valid JSON; the {len(rows)} objects before were read."
        problems.append(_problem(path, f"line {line}", message, "cut-off", offending=text[end : end + 60]))
    elif not text.lstrip().startswith("[") and text.lstrip()[:1] and _is_pretty_printed(text):
        message = (
            "Objects one after another instead of an array: the run that wrote this file did not finish its discussion."
        )
        problems.append(_problem(path, "", message, "concatenated"))
    if not rows:
        problems.append(_problem(path, "", "This file contains no records.", "no-records", Severity.ERROR))
        return Parsed(None, tuple(problems))
    return Parsed(tuple(rows), tuple(problems))


def read_responses(path: str, content: bytes) -> Parsed[tuple[ResponseLine, ...]]:
    """Return a responses file's lines in order; a line without prompt and response keeps its place, empty."""
    parsed = read_rows(path, content)
    if parsed.value is None:
        return Parsed(None, parsed.problems)
    problems = list(parsed.problems)
    lines: list[ResponseLine] = []
    first_seen: dict[str, int] = {}
    for number, row in enumerate(parsed.value, start=1):
        prompt, response = row.get("prompt"), row.get("response")
        if not isinstance(prompt, str) or not isinstance(response, str) or not response:
            problems.append(
                _problem(path, f"line {number}", "This line has no prompt or no response.", "response-missing")
            )
        lines.append(ResponseLine(_text(prompt), _text(response)))
        earlier = first_seen.setdefault(lines[-1].prompt, number)
        if earlier != number:
            message = f"The same prompt as in line {earlier}; items are distinguished by line number."
            problems.append(
                _problem(path, f"line {number}", message, "duplicate-prompt", offending=lines[-1].prompt[:80])
            )
    return Parsed(tuple(lines), tuple(problems))


def read_criteria(path: str, content: bytes) -> Parsed[dict[str, dict[str, str]]]:
    """Return {criterion name: {level: text}} from a criteria file; other top-level keys are ignored."""
    try:
        data = yaml.safe_load(content)
    except yaml.YAMLError as error:
        message = f"This file is not valid YAML: {str(error).splitlines()[0]}."
        return Parsed(None, (_problem(path, "", message, "not-yaml", Severity.ERROR),))
    criteria = data.get("criteria") if isinstance(data, dict) else None
    if not isinstance(criteria, dict):
        return Parsed(None, (_problem(path, "", "This file has no `criteria:` mapping.", "no-criteria"),))
    return Parsed(
        {
            storable(str(name)): {storable(str(level)): storable(str(text)) for level, text in levels.items()}
            for name, levels in criteria.items()
            if isinstance(levels, dict)
        }
    )


def _scan(text: str) -> tuple[list[Row], int]:
    """Return the objects that can be read and the offset where reading ended (the text's length when all could)."""
    decoder, rows, position = json.JSONDecoder(), list[Row](), 0
    while True:
        between = _BETWEEN_ROWS.match(text, position)
        position = between.end() if between else position
        if position >= len(text):
            return rows, len(text)
        try:
            value, position_after = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            return rows, position
        if not isinstance(value, dict):
            return rows, position
        rows.append(storable(value))
        position = position_after


def _is_pretty_printed(text: str) -> bool:
    """Return whether an object spreads over lines, unlike one object per line."""
    first_line = text.lstrip().splitlines()[0].rstrip()
    return first_line == "{"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _problem(
    path: str, location: str, message: str, code: str, severity: Severity = Severity.WARNING, *, offending: str = ""
) -> Problem:
    return Problem(severity, path, location, message, offending=offending, code=code)
