"""The kinds of content in an upload, recognized by what its files hold, not by their names."""

from __future__ import annotations

from enum import StrEnum

from judging.specs.files.bundles import Bundle
from judging.specs.files.named_files import named_files
from judging.specs.files.yaml_reading import yaml_paths
from judging.specs.replies.column_guesses import holds_mapped_responses
from judging.specs.replies.data_tables import SHEET_ENDINGS, TABLE_ENDINGS
from judging.specs.replies.response_formats import RESPONSE_FORMATS, TABLES, first_fields
from judging.specs.replies.responses import find_response_folders
from judging.specs.replies.scaleeval_responses import scaleeval_files
from judging.specs.rubrics.criteria_yaml import find_criteria, find_criteria_lists
from judging.specs.rubrics.rubric_tables import is_rubric_table
from judging.specs.suites.suites_yaml import find_case_files, find_suites


class UploadKind(StrEnum):
    """The kinds of upload that there are importers for, beside the formats of responses in `RESPONSE_FORMATS`."""

    SUITE = "suite"
    RESPONSES_FOLDER = "responses_folder"
    SCALEEVAL_RESPONSES = "scaleeval_responses"
    CRITERIA = "criteria"
    LEVEL_RUBRIC = "level_rubric"
    QUESTIONS = "questions"
    UNKNOWN = "unknown"


def sniff_all(bundle: Bundle) -> tuple[str, ...]:
    """Return every kind of thing that an upload holds, the one that the others build on first."""
    kinds: list[str] = []
    if find_suites(bundle) or find_case_files(bundle):
        kinds.append(UploadKind.SUITE)
    if find_response_folders(bundle):
        kinds.append(UploadKind.RESPONSES_FOLDER)
    scaleeval = [path for path in scaleeval_files(bundle) if first_fields(bundle, path) >= {"prompt", "response"}]
    if scaleeval:
        kinds.append(UploadKind.SCALEEVAL_RESPONSES)
    if find_rubric_tables(bundle) or find_criteria_lists(bundle):
        kinds.append(UploadKind.LEVEL_RUBRIC)
    if find_criteria(bundle):
        kinds.append(UploadKind.CRITERIA)
    kinds += [kind for path in bundle if path not in scaleeval and (kind := kind_of_table(bundle, path))]
    return tuple(dict.fromkeys(kinds))


def find_rubric_tables(bundle: Bundle) -> list[str]:
    """Return the workbooks that hold nothing else, and the CSV files with the header of a rubric.

    CSV files in folders or named by a YAML file are data of cases.
    """
    tables = [path for path in bundle if path.lower().endswith(TABLE_ENDINGS) and kind_of_table(bundle, path) is None]
    books = [path for path in tables if path.lower().endswith(SHEET_ENDINGS)]
    loose = [path for path in tables if path not in books and "/" not in path and is_rubric_table(bundle, path)]
    named_paths = (
        {name for path in yaml_paths(bundle) for name in named_files(bundle.read(path), path)} if loose else set()
    )
    return books + [path for path in loose if path not in named_paths]


def kind_of_table(bundle: Bundle, path: str) -> str | None:
    """Return what the rows of one file are, responses of a format or questions; None where they are neither."""
    if path in bundle.columns:
        fields = bundle.columns[path]
        return TABLES.kind if holds_mapped_responses(fields) else UploadKind.QUESTIONS
    formats = [form for form in RESPONSE_FORMATS.values() if path.lower().endswith(form.endings)]
    read = [(form, form.names(bundle, path)) for form in formats]
    responses = next((form.kind for form, names in read if form.holds(names)), None)
    return responses or (UploadKind.QUESTIONS if any(form.asks(names) for form, names in read) else None)
