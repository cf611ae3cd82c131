"""What an upload is, told from what it holds and not from what it is called."""

from __future__ import annotations

from enum import StrEnum

from judging.specs.files.bundles import Bundle
from judging.specs.files.jsonl_reading import RowLimits, read_rows
from judging.specs.replies.data_tables import SHEET_ENDINGS, TABLE_ENDINGS, header_names, holds_responses
from judging.specs.replies.response_rows import CASE_FIELDS, SYSTEM_FIELDS, TEXT_FIELDS
from judging.specs.replies.responses import find_response_folders
from judging.specs.replies.scaleeval_responses import scaleeval_files
from judging.specs.rubrics.criteria_yaml import find_criteria, find_criteria_lists
from judging.specs.suites.questions_jsonl import QUESTION_FIELDS
from judging.specs.suites.suites_yaml import find_case_files, find_suites

_HEAD = 1024 * 1024


class UploadKind(StrEnum):
    """The kinds of upload that there are importers for."""

    SUITE = "suite"
    RESPONSES_FOLDER = "responses_folder"
    RESPONSES_JSONL = "responses_jsonl"
    RESPONSES_CSV = "responses_csv"
    SCALEEVAL_RESPONSES = "scaleeval_responses"
    CRITERIA = "criteria"
    LEVEL_RUBRIC = "level_rubric"
    QUESTIONS = "questions"
    UNKNOWN = "unknown"


def sniff_all(bundle: Bundle) -> tuple[UploadKind, ...]:
    """Return every kind of thing that an upload holds, the one that the others build on first."""
    kinds: list[UploadKind] = []
    if find_suites(bundle) or find_case_files(bundle):
        kinds.append(UploadKind.SUITE)
    if find_response_folders(bundle):
        kinds.append(UploadKind.RESPONSES_FOLDER)
    scaleeval = [path for path in scaleeval_files(bundle) if _fields(bundle, path) >= {"prompt", "response"}]
    if scaleeval:
        kinds.append(UploadKind.SCALEEVAL_RESPONSES)
    tables = {path: kind_of_table(bundle, path) for path in bundle if path.lower().endswith(SHEET_ENDINGS)}
    if None in tables.values() or find_criteria_lists(bundle):
        kinds.append(UploadKind.LEVEL_RUBRIC)
    if find_criteria(bundle):
        kinds.append(UploadKind.CRITERIA)
    kinds += [kind for path in bundle if path not in scaleeval and (kind := kind_of_table(bundle, path))]
    return tuple(dict.fromkeys(kinds))


def kind_of_table(bundle: Bundle, path: str) -> UploadKind | None:
    """Return what the rows of one file are, responses or questions; None where they are neither."""
    if path.lower().endswith(TABLE_ENDINGS):
        names = header_names(bundle, path)
        if holds_responses(names):
            return UploadKind.RESPONSES_CSV
        return UploadKind.QUESTIONS if names else None
    if not path.lower().endswith((".jsonl", ".json", ".ndjson")):
        return None
    fields = _fields(bundle, path)
    asks = bool(fields & {*QUESTION_FIELDS, "instruction"})
    # `answer` beside a question is the reference, unless the row says who answered.
    answers = set(TEXT_FIELDS) - ({"answer"} if asks and not fields & set(SYSTEM_FIELDS) else set())
    if fields & answers and fields & {*CASE_FIELDS, "prompt"}:
        return UploadKind.RESPONSES_JSONL
    return UploadKind.QUESTIONS if asks else None


def _fields(bundle: Bundle, path: str) -> set[str]:
    """Return the names of the first row's fields; empty where there is no readable row."""
    data = bundle.read(path)
    first_line = data.split(b"\n", 1)[0] if not data.lstrip().startswith(b"[") else data[:_HEAD]
    limits = RowLimits(max_bytes=_HEAD)
    rows = read_rows(Bundle({path: first_line}), path, limits).value
    if rows is None:
        rows = read_rows(Bundle({path: data}), path).value
    return set(rows[0].fields) if rows else set()
