"""The kinds of files with readers of their own, recognised by what the files hold, not by their names."""

from __future__ import annotations

import json
from collections.abc import Collection
from enum import StrEnum

from evalsite.base.types import JsonDict, objects
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.files.yaml_files import named_files, read_yaml, yaml_paths
from judging.specs.records.files.json_parts import is_dict_of_columns
from judging.specs.records.files.otlp import OTLP_ENDINGS
from judging.specs.records.names import Holds, are_models, is_model, is_strong, rank
from judging.specs.replies import find_response_folders, scaleeval_files, scaleeval_results
from judging.specs.rubrics.rubric_nested import find_criteria, find_criteria_lists
from judging.specs.rubrics.rubric_tables import is_rubric_table
from judging.specs.spreadsheets import bundle_grids
from judging.specs.suites.suites_yaml import find_case_files, find_suites


class UploadKind(StrEnum):
    """The kinds of files with readers of their own; the kinds of all others are those of shapes."""

    SUITE = "suite"
    RESPONSES_FOLDER = "responses_folder"
    SCALEEVAL_RESPONSES = "scaleeval_responses"
    CRITERIA = "criteria"
    LEVEL_RUBRIC = "level_rubric"


_RUBRIC_KEYS = frozenset(
    {"criteria", "criterion", "root", "nodes", "rubrics", "rubric", "requirements", "sub_tasks", "score_rubric"}
    | {"checklist"}
)
_OF_LISTS = _RUBRIC_KEYS - {"criterion", "rubric", "score_rubric"}  # hold lists or objects in a rubric
_OF_RESPONSES = (Holds.SYSTEM, Holds.RESPONSE, Holds.RESPONSE_A, Holds.RATER, Holds.JUDGE, Holds.LABEL)
_ANSWERS = (Holds.REFERENCE, Holds.ANSWER)
_MOST_LEVELS, _LONGEST_LEVEL = 11, 1_000  # of a criterion; characters of its description
_HEAD_BYTES = 2**20
LONGEST_NAME = 100
DATA_ENDINGS = (
    *(".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".arrow", ".feather"),
    *(*OTLP_ENDINGS, ".gz", ".zst", ".eval"),
)


def own_kinds(bundle: Bundle) -> list[UploadKind]:
    """Return the kinds with readers of their own that an upload holds, the one that the others build on first.

    Rubrics in tables and JSON are not among them: they are told from records part by part (`is_rubric`).
    """
    kinds: list[UploadKind] = []
    if find_suites(bundle) or find_case_files(bundle):
        kinds.append(UploadKind.SUITE)
    if find_response_folders(bundle):
        kinds.append(UploadKind.RESPONSES_FOLDER)
    if any(_holds_scaleeval(bundle, path) for path in scaleeval_files(bundle)):
        kinds.append(UploadKind.SCALEEVAL_RESPONSES)
    if find_criteria(bundle):
        kinds.append(UploadKind.CRITERIA)
    return kinds


def own_paths(bundle: Bundle, kinds: Collection[UploadKind]) -> set[str]:
    """Return the files that readers of their own take: beside a suite or folder of responses, all that lies in folders
    and all that its YAML files name."""
    paths: set[str] = set(find_criteria(bundle)) if UploadKind.CRITERIA in kinds else set()
    if UploadKind.SCALEEVAL_RESPONSES in kinds:
        paths |= {*scaleeval_files(bundle), *scaleeval_results(bundle)}
    if {UploadKind.SUITE, UploadKind.RESPONSES_FOLDER} & set(kinds):
        for path in yaml_paths(bundle):
            paths |= {path, *named_files(bundle.read(path), path)}
        paths |= {path for path in bundle if "/" in path or not path.lower().endswith(DATA_ENDINGS)}
    return paths & set(bundle)


def is_rubric(bundle: Bundle, path: str) -> bool:
    """Return whether a table, JSON or YAML file has the structure of a rubric, and says nothing of responses."""
    lower = path.lower()
    if lower.endswith((".csv", ".tsv", ".tab", ".xlsx", ".xlsm")):
        return is_rubric_table(bundle, path) and not _is_about_responses(bundle, path)
    if lower.endswith((".yaml", ".yml")):
        node = read_yaml(bundle.read(path), path).value
        return path in find_criteria_lists(bundle) or (node is not None and _names_rubric(set(node.fields)))
    if not lower.endswith((".json", ".jsonl")):
        return False
    document = _document(bundle.read(path)) if lower.endswith(".json") else {}
    if document:
        items = document.get("items")
        first = items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}
        return _has_rubric(document | first) or _is_criteria_map(document)
    return _has_rubric(_first_object(bundle.read(path)))


def _has_rubric(entry: JsonDict) -> bool:
    return _names_rubric(
        {key for key, value in entry.items() if key not in _OF_LISTS or _may_be_of_a_rubric(key, value)}
    )


def _may_be_of_a_rubric(key: str, value: object) -> bool:
    """Return whether a value may be the part of a rubric that its key names: of nodes, one names its parent."""
    if key != "nodes":
        return isinstance(value, list | dict)
    return any("parent" in node for node in objects(value))


def _names_rubric(keys: set[str]) -> bool:
    asks = any(rank(key, Holds.PROMPT) or rank(key, Holds.TURNS) for key in keys)
    return not _RUBRIC_KEYS.isdisjoint(keys) and not asks and not _speak_of_responses(keys)


def _speak_of_responses(names: Collection[str]) -> bool:
    """Return whether any of these columns says what somebody responded or said of that, or whether they ask and
    answer."""
    said = {role for name in names for role in Holds if name != "category" and is_strong(name, role)}
    return not said.isdisjoint(_OF_RESPONSES) or (Holds.PROMPT in said and not said.isdisjoint(_ANSWERS))


def _is_about_responses(bundle: Bundle, path: str) -> bool:
    """Return whether the header of a table, in its first rows, speaks of responses, or its rows are systems."""
    tops = [[row for _, row in grid.head()] for grid in bundle_grids(bundle, path, Findings(path))]
    headers = [str(cell) for top in tops for row in top[:2] for cell in row if len(str(cell)) < LONGEST_NAME]
    return _speak_of_responses(headers) or any(are_models([str(row[0]) for row in top[1:] if row]) for top in tops)


def _is_criteria_map(document: JsonDict) -> bool:
    """Return whether an object is criteria by name, each with texts by level."""
    if any(rank(name, Holds.PROMPT) for name in document) or _speak_of_responses(document):
        return False  # a table, written column by column
    levels = [value for value in document.values() if isinstance(value, dict) and 1 < len(value) <= _MOST_LEVELS]
    texts = [text for value in levels for text in value.values()]
    are_levels = all(key.isdigit() for value in levels for key in value) and not any(map(is_model, document))
    are_short = all(isinstance(text, str) and len(text) <= _LONGEST_LEVEL for text in texts)
    return bool(levels) and len(levels) == len(document) and are_levels and are_short


def may_be_columns(data: bytes) -> bool:
    """Return whether criteria by name are so written that they may be a table of pandas, column by column."""
    document = _document(data)
    return _is_criteria_map(document) and is_dict_of_columns(document) and "0" in next(iter(document.values()))


def _document(data: bytes) -> JsonDict:
    """Return the one object that a JSON file is; an empty one where it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _first_object(data: bytes) -> JsonDict:
    """Return the first object of JSON Lines or of a list; an empty one where there is none."""
    text = data[:_HEAD_BYTES].decode("utf-8-sig", "replace").lstrip().removeprefix("[").lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _holds_scaleeval(bundle: Bundle, path: str) -> bool:
    """Return whether a file has rows of ScaleEval, and no columns that its reader leaves unread."""
    return {"prompt", "response"} <= _first_object(bundle.read(path)).keys() <= {"prompt", "response", "category"}
