"""Responses of systems: JSON Lines, CSV, workbooks, and InfiBench's responses folder.

JSON Lines: one object per line with `case_id` (or case, key, id), `system` (or model), `attempt` from 0 (else counted
in order) and `response` (or text, answer, completion, model_answer). Other fields become metadata. Rows without an
id are keyed by place, as in ScaleEval's files: `<category>-<line>` (or the line alone). CSV and XLSX: the same names
as columns, or `question` in place of an id, or `filename` and `completion` as InfiBench's batched mode has them; an
empty cell is an empty text. A responses folder holds `params.yaml` with `answer_paths` beside the files it lists.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict
from judging.specs.files.bundles import UNSAFE_PATH, Bundle, UnsafePath, folder_of, join_path
from judging.specs.files.findings import Findings, at_line, error_rule
from judging.specs.files.jsonl_reading import RowLimits, first_text, readable_rows
from judging.specs.files.problems import Parsed
from judging.specs.files.row_counts import ProgressCallback, no_progress, with_progress
from judging.specs.files.text_reading import read_text
from judging.specs.files.yaml_reading import Node, read_yaml
from judging.specs.lint.lint_notes import NOT_A_LIST, NOT_A_MAPPING, NOT_TEXT, Lint
from judging.specs.replies.data_tables import table_rows
from judging.specs.replies.response_rows import (
    CASE_FIELDS,
    NO_CASE_ID,
    SKIPPED_CASE,
    Collector,
    KnownCases,
    Origin,
)
from judging.specs.replies.table_columns import FILE_COLUMN, OF_CASES
from judging.specs.suites.case_files import MISSING_ERROR, MISSING_WARNING, MissingFiles
from judging.specs.suites.questions_jsonl import QUESTION_FIELDS
from judging.specs.types import ResponseSpec

NO_FOLDER = error_rule("no-responses-folder", "Add params.yaml with `answer_paths` to the folder.")

Responses = tuple[ResponseSpec, ...]


def system_from_path(path: str) -> str:
    """Return the system's name that a file name gives: `responses_gpt-4.jsonl` -> `gpt-4`."""
    return posixpath.splitext(posixpath.basename(path))[0].removeprefix("responses_")


def parse_responses_jsonl(
    bundle: Bundle,
    path: str,
    *,
    system: str = "",
    known_cases: KnownCases | None = None,
    limits: RowLimits | None = None,
    report_progress: ProgressCallback = no_progress,
) -> Parsed[Responses]:
    """Return the responses of a JSON Lines file or JSON array.

    `system`, else the file's name, is the system of rows that name none. With `known_cases`, a row for a case that is
    not there is an error.
    """
    if path in bundle.columns:
        return parse_responses_table(
            bundle, path, system=system, known_cases=known_cases, limits=limits, report_progress=report_progress
        )
    findings = Findings()
    collector = Collector(findings, system or system_from_path(path), known_cases, bundle=bundle)
    for number, row in enumerate(readable_rows(bundle, path, findings, limits, report_progress), start=1):
        key = first_text(row.fields, CASE_FIELDS)
        if key is None and "prompt" in row.fields:
            category = first_text(row.fields, ("category", "scenario"))
            key = f"{category}-{number}" if category else str(number)
        if key is None or not key.strip():
            findings.add(
                NO_CASE_ID, path, at_line(row.line), "The case of the response is not given.", ", ".join(row.fields)
            )
            continue
        collector.add_row(row.fields, Origin(path, at_line(row.line)), key.strip())
    return _result(collector)


def _result(collector: Collector) -> Parsed[Responses]:
    value = None if collector.findings.has_errors else tuple(collector.responses)
    return Parsed(value, collector.findings.as_tuple())


def parse_responses_table(
    bundle: Bundle,
    path: str,
    *,
    system: str = "",
    known_cases: KnownCases | None = None,
    limits: RowLimits | None = None,
    report_progress: ProgressCallback = no_progress,
) -> Parsed[Responses]:
    """Return the responses of a CSV table, a workbook, or any file for whose columns the bundle says what they are.

    Without a column for the case, `question` says which it is, by its text or its id.
    """
    findings = Findings()
    collector = Collector(findings, system or system_from_path(path), known_cases, bundle=bundle)
    of_cases = OF_CASES if path in bundle.columns else ()  # no details of a response
    for row in with_progress(table_rows(bundle, path, findings, limits or RowLimits()), report_progress):
        key = _case_of(row.fields, known_cases or KnownCases())
        if key:
            fields = {name: value for name, value in row.fields.items() if name not in of_cases}
            collector.add_row(fields, Origin(path, row.location), key.strip())
        else:
            findings.add(NO_CASE_ID, path, row.location, "The case of the response is not given.")
    return _result(collector)


def _case_of(fields: JsonDict, known_cases: KnownCases) -> str:
    key = first_text(fields, CASE_FIELDS)
    if key is None and fields.get(FILE_COLUMN):
        return known_cases.key_for_path(str(fields.pop(FILE_COLUMN)))
    if key is None:
        return known_cases.key_for_question(first_text(fields, QUESTION_FIELDS) or "")
    return key


def find_response_folders(bundle: Bundle) -> list[str]:
    """Return the `params.yaml` files of a bundle that list answers."""
    paths = (path for path in bundle if posixpath.basename(path) == "params.yaml")
    return [path for path in paths if b"answer_paths" in bundle.read(path)]


def parse_responses_folder(
    bundle: Bundle,
    *,
    system: str = "",
    known_cases: KnownCases | None = None,
    missing_files: MissingFiles = "error",
    report_progress: ProgressCallback = no_progress,
) -> Parsed[Responses]:
    """Return the responses that every `params.yaml` of the bundle lists, in the order of its lists.

    The system is `system`, else `model_name` in params.yaml, else the folder's name; where two folders name the same
    model, the folders' names are taken. With `known_cases`, cases that the suite does not hold are skipped with a
    warning, as by InfiBench's own grader.
    """
    findings = Findings()
    collector = Collector(findings, system, known_cases, SKIPPED_CASE, bundle)
    folders: list[_ResponseFolder] = []
    for path in find_response_folders(bundle):
        parsed = read_yaml(bundle.read(path), path)
        findings.extend(parsed.problems)
        if parsed.value is not None:
            folders.append(_ResponseFolder(path, parsed.value))
    if not folders and not findings.has_errors:
        findings.add(NO_FOLDER, "", "", "The upload contains no params.yaml with `answer_paths`.")
    models = [folder.model for folder in folders]
    for folder in folders:
        name = folder.model if models.count(folder.model) == 1 else posixpath.basename(folder_of(folder.path))
        owner = system or name or "responses"
        _read_folder(bundle, folder, owner, collector, missing=missing_files, report_progress=report_progress)
    return _result(collector)


@dataclass(frozen=True, slots=True)
class _ResponseFolder:
    path: str  # of params.yaml
    params: Node

    @property
    def model(self) -> str:
        node = self.params.get("model_name")
        model_name = node.raw.strip() if node is not None and node.content is not None else ""
        return model_name or posixpath.basename(folder_of(self.path))

    @property
    def metadata(self) -> JsonDict:
        """The scalar settings that the answers were made with."""
        fields = self.params.fields.items()
        return {key: node.content for key, node in fields if not node.is_mapping and not node.is_list}


def _read_folder(
    bundle: Bundle,
    folder: _ResponseFolder,
    system: str,
    collector: Collector,
    *,
    missing: MissingFiles,
    report_progress: ProgressCallback,
) -> None:
    lint = Lint(collector.findings, folder.path)
    answers = folder.params.get("answer_paths")
    if answers is None or not answers.is_mapping:
        lint.report(
            NOT_A_MAPPING, answers or folder.params, "answer_paths", "`answer_paths` must map case paths to files."
        )
        return
    metadata = folder.metadata
    for case_path, path_nodes in with_progress(list(answers.fields.items()), report_progress):
        key = (collector.known_cases or KnownCases()).key_for_path(case_path)
        if not path_nodes.is_list:
            lint.report(
                NOT_A_LIST, path_nodes, f"answer_paths.{case_path}", "The responses to a case must be a list of files."
            )
        for attempt, path_node in enumerate(path_nodes.items):
            path, text = _read_answer(bundle, lint, path_node, missing)
            if text is not None:
                response = ResponseSpec(key, system, attempt, text, path, metadata)
                collector.add(response, Origin(folder.path, at_line(path_node.line)))


def _read_answer(bundle: Bundle, lint: Lint, path_node: Node, missing: MissingFiles) -> tuple[str, str | None]:
    """Return the path and text of one answer file; no text, with a finding, where it cannot be read."""
    if not isinstance(path_node.content, str):
        lint.report(NOT_TEXT, path_node, "answer_paths", "The name of a response file must be text.")
        return "", None
    try:
        path = join_path(folder_of(lint.file), path_node.content)
    except UnsafePath as refusal:
        lint.report(UNSAFE_PATH, path_node, "answer_paths", str(refusal))
        return "", None
    if path not in bundle:
        rule = MISSING_ERROR if missing == "error" else MISSING_WARNING
        lint.report(rule, path_node, "answer_paths", f"The file {path} is not in the upload.")
        return path, None
    text = read_text(bundle, path)
    lint.findings.extend(text.problems)
    return path, text.value
