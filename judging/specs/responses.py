"""Responses of systems: JSON Lines, CSV, and InfiBench's responses folder.

JSON Lines: one object per line with `case_id` (or case, key, id), `system` (or model), `attempt` from 0 (else counted
in order) and `response` (or text, answer, completion, model_answer). Other fields become metadata. Rows without an
id are keyed by place, as in ScaleEval's files: `<category>-<line>` (or the line alone). CSV: the same names as
columns, or `filename` and `completion` as InfiBench's batched mode has them; an empty cell is an empty text. A
responses folder holds `params.yaml` with `answer_paths` beside the files it lists.
"""

from __future__ import annotations

import csv
import io
import posixpath
from dataclasses import dataclass
from typing import Any

from judging.specs.bundles import UNSAFE_PATH, Bundle, UnsafePath, folder_of, join_path
from judging.specs.case_files import MISSING_ERROR, MISSING_WARNING, MissingFiles
from judging.specs.counting import Tell, told, untold
from judging.specs.findings import Findings, at_line, error_rule
from judging.specs.jsonl_reading import ROW_LIMIT, RowLimits, first_text, read_rows
from judging.specs.lint_notes import NOT_A_LIST, NOT_A_MAPPING, NOT_TEXT, Lint
from judging.specs.problems import Parsed
from judging.specs.response_rows import (
    CASE_FIELDS,
    NO_CASE_ID,
    SKIPPED_CASE,
    TEXT_FIELDS,
    Collector,
    KnownCases,
    Origin,
)
from judging.specs.text_reading import decode_text, read_text
from judging.specs.types import ResponseSpec
from judging.specs.yaml_reading import Node, read_yaml

BAD_CSV = error_rule("bad-csv", "Save the table anew as CSV, with a header and fields in double quotes.")
BAD_HEADER = error_rule(
    "csv-header", "Name the columns filename and completion, or case_id, system, attempt, response."
)
NO_FOLDER = error_rule("no-responses-folder", "Add params.yaml with `answer_paths` to the folder.")

MAX_CELL = 16 * 1024 * 1024

Responses = tuple[ResponseSpec, ...]


def system_from_path(path: str) -> str:
    """Return the system's name that a file name gives: `responses_gpt-4.jsonl` -> `gpt-4`."""
    return posixpath.splitext(posixpath.basename(path))[0].removeprefix("responses_")


def parse_responses_jsonl(
    bundle: Bundle,
    path: str,
    *,
    system: str = "",
    known: KnownCases | None = None,
    limits: RowLimits | None = None,
    tell: Tell = untold,
) -> Parsed[Responses]:
    """Return the responses of a JSON Lines file or JSON array.

    `system`, else the file's name, is the system of rows that name none. With `known`, a row for a case that is not
    there is an error.
    """
    rows = read_rows(bundle, path, limits, tell)
    if rows.value is None:
        return Parsed(None, rows.problems)
    findings = Findings()
    findings.extend(rows.problems)
    collector = Collector(findings, system or system_from_path(path), known)
    for number, row in enumerate(rows.value, start=1):
        key = first_text(row.fields, CASE_FIELDS)
        if key is None and "prompt" in row.fields:
            category = first_text(row.fields, ("category", "scenario"))
            key = f"{category}-{number}" if category else str(number)
        if key is None or not key.strip():
            findings.add(
                NO_CASE_ID, path, at_line(row.line), "It is not said which case is answered.", ", ".join(row.fields)
            )
            continue
        collector.add_row(row.fields, Origin(path, at_line(row.line)), key.strip())
    return _result(collector)


def _result(collector: Collector) -> Parsed[Responses]:
    value = None if collector.findings.has_errors else tuple(collector.responses)
    return Parsed(value, collector.findings.as_tuple())


def parse_responses_csv(
    bundle: Bundle,
    path: str,
    *,
    system: str = "",
    known: KnownCases | None = None,
    limits: RowLimits | None = None,
    tell: Tell = untold,
) -> Parsed[Responses]:
    """Return the responses of a CSV table; an empty cell is an empty text, and numbers stay as written."""
    limits = limits or RowLimits()
    findings = Findings()
    text = decode_text(bundle.read(path), path, max_bytes=limits.max_bytes)
    if text.value is None:
        return Parsed(None, text.problems)
    collector = Collector(findings, system or system_from_path(path), known)
    for line, fields in told(_csv_rows(text.value, path, findings, limits), tell):
        key = first_text(fields, CASE_FIELDS)
        if key is None and fields.get("filename"):
            key = (known or KnownCases()).key_for_path(str(fields.pop("filename")))
        if not key:
            findings.add(NO_CASE_ID, path, at_line(line), "It is not said which case is answered.")
            continue
        collector.add_row(fields, Origin(path, at_line(line)), key.strip())
    return _result(collector)


def _csv_rows(text: str, path: str, findings: Findings, limits: RowLimits) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows of a table with the line each starts on."""
    if csv.field_size_limit() < MAX_CELL:
        csv.field_size_limit(MAX_CELL)
    rows: list[tuple[int, dict[str, Any]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if not _is_response_header(header):
            findings.add(BAD_HEADER, path, at_line(1), "The columns do not say case and response.", ", ".join(header))
            return []
        start = reader.line_num + 1
        for cells in reader:
            if len(cells) != len(header) and cells:
                message = f"The row has {len(cells)} cells, the header {len(header)}."
                findings.add(BAD_CSV, path, at_line(start), message, ", ".join(cells))
            elif cells:
                rows.append((start, dict(zip(header, cells, strict=True))))
            start = reader.line_num + 1
            if len(rows) > limits.max_rows:
                findings.add(ROW_LIMIT, path, at_line(start), f"The table has more than {limits.max_rows:,} rows.")
                return []
    except csv.Error as failure:
        findings.add(BAD_CSV, path, at_line(reader.line_num), f"The table cannot be read: {failure}.")
    return rows


def _is_response_header(header: list[str]) -> bool:
    names = set(header)
    return bool(names & {"filename", *CASE_FIELDS}) and bool(names & set(TEXT_FIELDS)) and len(names) == len(header)


def find_response_folders(bundle: Bundle) -> list[str]:
    """Return the `params.yaml` files of a bundle that list answers."""
    paths = (path for path in bundle if posixpath.basename(path) == "params.yaml")
    return [path for path in paths if b"answer_paths" in bundle.read(path)]


def parse_responses_folder(
    bundle: Bundle,
    *,
    system: str = "",
    known: KnownCases | None = None,
    missing_files: MissingFiles = "error",
    tell: Tell = untold,
) -> Parsed[Responses]:
    """Return the responses that every `params.yaml` of the bundle lists, in the order of its lists.

    The system is `system`, else `model_name` in params.yaml, else the folder's name; where two folders name the same
    model, the folders' names are taken. With `known`, cases that the suite does not hold are skipped with a warning,
    as in the original.
    """
    findings = Findings()
    collector = Collector(findings, system, known, SKIPPED_CASE)
    folders: list[_Folder] = []
    for path in find_response_folders(bundle):
        parsed = read_yaml(bundle.read(path), path)
        findings.extend(parsed.problems)
        if parsed.value is not None:
            folders.append(_Folder(path, parsed.value))
    if not folders and not findings.has_errors:
        findings.add(NO_FOLDER, "", "", "The upload holds no params.yaml that lists answers.")
    models = [folder.model for folder in folders]
    for folder in folders:
        name = folder.model if models.count(folder.model) == 1 else posixpath.basename(folder_of(folder.path))
        _read_folder(_Reading(bundle, collector, missing_files, tell), folder, system or name or "responses")
    return _result(collector)


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str  # of params.yaml
    params: Node

    @property
    def model(self) -> str:
        node = self.params.get("model_name")
        named = node.raw.strip() if node is not None and node.content is not None else ""
        return named or posixpath.basename(folder_of(self.path))

    @property
    def metadata(self) -> dict[str, Any]:
        """The scalar settings that the answers were made with."""
        fields = self.params.fields.items()
        return {key: node.content for key, node in fields if not node.is_mapping and not node.is_list}


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where answers are read from, and where they go."""

    bundle: Bundle
    collector: Collector
    missing: MissingFiles
    tell: Tell


def _read_folder(reading: _Reading, folder: _Folder, system: str) -> None:
    collector = reading.collector
    lint = Lint(collector.findings, folder.path)
    answers = folder.params.get("answer_paths")
    if answers is None or not answers.is_mapping:
        lint.say(
            NOT_A_MAPPING, answers or folder.params, "answer_paths", "`answer_paths` must map case paths to files."
        )
        return
    metadata = folder.metadata
    for case_path, listed in told(list(answers.fields.items()), reading.tell):
        key = (collector.known or KnownCases()).key_for_path(case_path)
        if not listed.is_list:
            lint.say(NOT_A_LIST, listed, f"answer_paths.{case_path}", "The answers to a case must be a list of files.")
        for attempt, named in enumerate(listed.items):
            path, text = _read_answer(reading.bundle, lint, named, reading.missing)
            if text is not None:
                response = ResponseSpec(key, system, attempt, text, path, metadata)
                collector.add(response, Origin(folder.path, at_line(named.line)))


def _read_answer(bundle: Bundle, lint: Lint, named: Node, missing: MissingFiles) -> tuple[str, str | None]:
    """Return the path and text of one answer file; no text, with a finding, where it cannot be read."""
    if not isinstance(named.content, str):
        lint.say(NOT_TEXT, named, "answer_paths", "The name of an answer file must be text.")
        return "", None
    try:
        path = join_path(folder_of(lint.file), named.content)
    except UnsafePath as refusal:
        lint.say(UNSAFE_PATH, named, "answer_paths", str(refusal))
        return "", None
    if path not in bundle:
        rule = MISSING_ERROR if missing == "error" else MISSING_WARNING
        lint.say(rule, named, "answer_paths", f"The file {path} is not in the upload.")
        return path, None
    text = read_text(bundle, path)
    lint.findings.extend(text.problems)
    return path, text.value
