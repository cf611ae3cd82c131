"""One case of a suite, from its own YAML file or inline in the suite."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict
from judging.specs.files.findings import at_line, error_rule, warning_rule
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_notes import NOT_A_MAPPING, NOT_TEXT, Lint, join
from judging.specs.lint.suite_lint import lint_case
from judging.specs.pictures.picture_rows import IMAGE_FIELDS, ImageSource, read_images
from judging.specs.suites.case_files import CaseFiles
from judging.specs.turns import ReadTurns, read_turns
from judging.specs.types import CaseSpec

NO_KEY = error_rule("case-without-id", "Give the case an `id` that is unique in the suite.")
NO_PROMPT = error_rule(
    "case-without-prompt",
    "Give `prompt_path` (a file next to the case), `prompt` (the text itself) or `messages` (a conversation).",
)
EMPTY_PROMPT = warning_rule("empty-prompt", "Write the question into the prompt.")
BOTH_GIVEN = warning_rule("text-and-path", "Keep one of the two; the file wins.")
WEIGHT_IN_CASE = warning_rule("weight-in-case-file", "Remove it; the full_score of a case defines its points.")
KEPT_KEY = warning_rule(
    "kept-as-metadata", "No action is needed if this is intended; under `metadata` it is kept without this remark."
)
BAD_ROLE = error_rule("context-role", "Write reference or supplementary.")

CONTEXT_ROLES = ("", "reference", "supplementary")

_KNOWN = frozenset(
    {"id", "prompt", "prompt_path", "type", "lang", "full_score", "null_score", "grading", "reference"}
    | {"reference_path", "context", "context_path", "context_role", "scenario", "weight", "metadata", "path"}
    | {*IMAGE_FIELDS, "messages"}
)
# What authors note down; nothing computes with it, and it is kept.
NOTE_KEYS = frozenset(
    {"author", "authors", "comment", "description", "licence", "license", "note", "notes", "source", "url"}
)
_FILE_NAME = re.compile(r"^eval_(.+)$")
_SOURCE = re.compile(r"^#.*?(https?://\S+)")


@dataclass(frozen=True, slots=True)
class CaseSource:
    """Where a case was found: path as written in the suite, weight there, key path of an inline case."""

    source_path: str
    weight: float = 1.0
    key_path: str = ""


def key_from_path(path: str) -> str:
    """Return the key that a file name gives: `cases/eval_0-0-4.yaml` -> `0-0-4`."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    match = _FILE_NAME.match(stem)
    return match.group(1) if match else stem


def source_url(text: str) -> str:
    """Return the address in the comment that opens a case file: where its question comes from."""
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            return ""
        match = _SOURCE.match(line)
        if match:
            return match.group(1)
    return ""


def read_case(case: Node, files: CaseFiles, source: CaseSource) -> CaseSpec | None:
    """Return the case at a node with every named file inlined; None, with findings, where it has no identity.

    Keys that nothing reads become metadata, as InfiBench carries them into its results.
    """
    lint = Lint(files.findings, files.file)
    if not case.is_mapping:
        lint.report(NOT_A_MAPPING, case, source.key_path, "A case must be a mapping.")
        return None
    key = _key(case, lint, source)
    _report_unknown(case, lint, source)
    if "weight" in case.fields and not source.key_path:
        message = "A weight in a case file has no effect."
        lint.report(WEIGHT_IN_CASE, case.fields["weight"], "weight", message)
    lint_case(lint, case, source.key_path)
    files.handlers = {}
    grading_node = case.get("grading")
    grading_path = join(source.key_path, "grading")
    grading = files.grading(grading_node, grading_path) if grading_node is not None else {}
    turns = _turns(case, files, source, key)
    spec = CaseSpec(
        key=key,
        prompt=turns.text if turns.messages else _prompt(case, files, lint, source),
        grading=grading,
        reference=_text_or_file(case, "reference", files, source.key_path) or _first_reference(grading),
        context=_text_or_file(case, "context", files, source.key_path) or "",
        context_role=_role(case, lint, source),
        scenario=_word(case, "scenario"),
        question_type=_word(case, "type"),
        lang=_word(case, "lang"),
        full_score=_optional_number(case, "full_score", lint, source.key_path),
        null_score=_optional_number(case, "null_score", lint, source.key_path),
        weight=source.weight,
        source_path=source.source_path,
        metadata=_metadata(case),
        handlers=files.handlers,
        images=turns.images,
        messages=turns.messages,
    )
    return spec if key else None


def _turns(case: Node, files: CaseFiles, source: CaseSource, key: str) -> ReadTurns:
    """Return the conversation that a case is, with its images, and the images beside its prompt."""
    conversation = case.get("messages")
    turns = ReadTurns((), ())
    if conversation is not None and conversation.content is not None:
        image_source = _image_source(conversation, files, join(source.key_path, "messages"), key)
        turns = read_turns(files.bundle, files.findings, image_source, conversation.plain()) or turns
    images = list(turns.images)
    for name in IMAGE_FIELDS:
        node = case.get(name)
        if node is not None:
            image_source = _image_source(node, files, join(source.key_path, name), key)
            images += read_images(files.bundle, files.findings, image_source, [node.plain()])
    return ReadTurns(turns.messages, tuple(images))


def _image_source(node: Node, files: CaseFiles, key_path: str, key: str) -> ImageSource:
    return ImageSource(files.file, at_line(node.line, key_path), f"Case {key}", files.top)


def _key(case: Node, lint: Lint, source: CaseSource) -> str:
    node = case.get("id")
    if node is not None and not node.is_mapping and not node.is_list and node.raw.strip():
        return node.raw.strip()  # as written: `id: 1:30` is no number of seconds here
    if node is None and source.source_path:
        return key_from_path(source.source_path)
    lint.report(NO_KEY, node or case, join(source.key_path, "id"), "The case has no usable `id`.")
    return ""


def _report_unknown(case: Node, lint: Lint, source: CaseSource) -> None:
    """Warn of keys that nothing reads, once for each name: the same one usually stands in every case."""
    reported_keys = {problem.offending for problem in lint.findings.listed if problem.code == KEPT_KEY.code}
    for key, node in case.fields.items():
        if (
            key not in _KNOWN | NOTE_KEYS
            and not lint.misspelt(key, node, _KNOWN - {"path"}, source.key_path)
            and key not in reported_keys
        ):
            message = f"`{key}` has no effect; it is kept as metadata of the cases that have it."
            lint.report(KEPT_KEY, node, join(source.key_path, key), message, key)


def _word(case: Node, key: str) -> str:
    node = case.get(key)
    return node.raw if node is not None and node.content is not None else ""


def _optional_number(case: Node, key: str, lint: Lint, path: str) -> float | None:
    node = case.get(key)
    if node is None or node.content is None:
        return None
    return lint.number(case, key, path, 0.0)


def _prompt(case: Node, files: CaseFiles, lint: Lint, source: CaseSource) -> str:
    if all(node is None or node.content is None for node in (case.get("prompt"), case.get("prompt_path"))):
        lint.report(NO_PROMPT, case, source.key_path, "The case has no prompt.", "")
        return ""
    prompt = _text_or_file(case, "prompt", files, source.key_path)
    if prompt is not None and not prompt.strip():
        node = case.get("prompt_path") or case.fields["prompt"]
        lint.report(EMPTY_PROMPT, node, join(source.key_path, "prompt"), "The prompt is empty.")
    return prompt or ""


def _text_or_file(case: Node, key: str, files: CaseFiles, path: str) -> str | None:
    """Return the text at `key`, or of the file at `key_path`; None where there is neither."""
    text, path_node = case.get(key), case.get(f"{key}_path")
    lint = Lint(files.findings, files.file)
    if path_node is not None:
        if text is not None:
            lint.report(BOTH_GIVEN, text, join(path, key), f"`{key}` is ignored next to `{key}_path`.")
        if not path_node.is_text:
            lint.report(NOT_TEXT, path_node, join(path, f"{key}_path"), f"`{key}_path` must be text.")
        return files.read(path_node, join(path, f"{key}_path"))
    if text is None or text.content is None:
        return None
    if text.is_mapping or text.is_list:
        lint.report(NOT_TEXT, text, join(path, key), f"`{key}` must be text.")
        return None
    return text.raw


def _role(case: Node, lint: Lint, source: CaseSource) -> str:
    role = _word(case, "context_role").strip().lower()
    if role not in CONTEXT_ROLES:
        node = case.fields["context_role"]
        lint.report(BAD_ROLE, node, join(source.key_path, "context_role"), "The role of a context must be one of two.")
        return ""
    return role


def _first_reference(grading: JsonDict) -> str:
    """Return the first reference answer of a similarity metric, which judges and readers can use too."""
    metrics = grading.get("similarity")
    for metric in metrics if isinstance(metrics, list) else []:
        references = metric.get("references") if isinstance(metric, dict) else None
        for reference in references if isinstance(references, list) else []:
            text = reference.get("content") if isinstance(reference, dict) else reference
            if isinstance(text, str) and text:
                return text
    return ""


def _metadata(case: Node) -> JsonDict:
    """Return the fields that nothing else reads; a `metadata` mapping is merged in."""
    extra: JsonDict = {key: node.plain() for key, node in case.fields.items() if key not in _KNOWN}
    nested = case.get("metadata")
    if nested is not None and nested.is_mapping:
        extra |= {key: node.plain() for key, node in nested.fields.items()}
    return extra
