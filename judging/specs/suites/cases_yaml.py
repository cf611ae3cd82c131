"""One case of a suite, from its own YAML file or inline in the suite."""

from __future__ import annotations

import copy
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evalsite.base.types import JsonDict, JsonObject, objects
from judging.specs.files.bundles import UNSAFE_PATH, Bundle, UnsafePath, folder_of, join_path
from judging.specs.files.encodings import read_text
from judging.specs.files.findings import Findings, Parsed, Rule, at_line, error_rule, warning_rule
from judging.specs.files.yaml_files import Node, read_yaml, yaml_text
from judging.specs.lint import (
    NO_WORDS,
    NOT_A_MAPPING,
    NOT_TEXT,
    Lint,
    as_number,
    handlers_of,
    join,
    lint_case,
    unread_words,
)
from judging.specs.pictures import IMAGE_FIELDS, RESPONSE_IMAGE_FIELDS, ImageSource, read_images
from judging.specs.records.neutral import CaseRecord, ResponseRecord, given
from judging.specs.turns import MESSAGE_FIELDS, RESPONSE_MESSAGE_FIELDS, ReadTurns, RowMessage, read_turns
from judging.specs.types import CONTEXT_ROLES, StoredTurn

MissingFiles = Literal["error", "warn"]

MISSING_ERROR = error_rule(
    "missing-file", "Add the file to the upload; paths are relative to the file that names them."
)
MISSING_WARNING = warning_rule("missing-file", "Tests that need the file are reported as not run.")
HANDLER_HINT = "Add the module's .py file next to the case file."

_NUMBER_KEYS = frozenset({"weight", "max_score", "min_score", "timeout"})
_TEST_FILES = {"path": "content", "prefix_path": "prefix_content", "cleanup_path": "cleanup_content"}


@dataclass(slots=True)
class CaseFiles:
    """Reads the files that one YAML file names."""

    bundle: Bundle
    file: str  # the naming file
    findings: Findings
    missing: MissingFiles = "error"
    top: str = ""  # the suite's folder, where handler modules are looked for too
    handlers: dict[str, str] = field(default_factory=dict)  # module as written -> source

    def read(self, node: Node, key_path: str) -> str | None:
        """Return the text of the file named at a node; None, with a finding, where it cannot be read."""
        if not isinstance(node.content, str):
            return None  # the linter has said so
        try:
            path = join_path(folder_of(self.file), node.content)
        except UnsafePath as refusal:
            self.findings.add(UNSAFE_PATH, self.file, at_line(node.line, key_path), str(refusal), node.content)
            return None
        if path not in self.bundle:
            self._report_missing(node, key_path, f"The file {path} is not in the upload.")
            return None
        text = read_text(self.bundle, path)
        self.findings.extend(text.problems)
        return text.value

    def _report_missing(self, node: Node, key_path: str, message: str, hint: str = "") -> None:
        rule = MISSING_ERROR if self.missing == "error" else MISSING_WARNING
        if hint and rule is MISSING_ERROR:
            rule = Rule(rule.code, rule.severity, hint)
        self.findings.add(rule, self.file, at_line(node.line, key_path), message, node.raw)

    def grading(self, node: Node, key_path: str) -> JsonDict:
        """Return a `grading` mapping as plain data with every named file put next to its path."""
        grading = node.plain()
        if not isinstance(grading, dict):
            return {}
        _read_numbers(grading)
        self._put_tests(node, grading, key_path)
        self._put_references(node, grading, key_path)
        for handler_path, handler in handlers_of(node, key_path):
            self._take_handler(handler, handler_path)
        custom = node.get("customized")
        if custom is not None:
            self._take_handler(custom, join(key_path, "customized"))
        return grading

    def _put_tests(self, grading: Node, plain_grading: JsonDict, key_path: str) -> None:
        unit_test = grading.get("unit_test")
        tests = unit_test.get("tests") if unit_test is not None else None
        for index, test in enumerate(tests.items if tests is not None else ()):
            for key, target in _TEST_FILES.items():
                path_node = test.get(key)
                if path_node is not None:
                    test_path = f"{key_path}.unit_test.tests[{index}].{key}"
                    plain_grading["unit_test"]["tests"][index][target] = self.read(path_node, test_path)

    def _put_references(self, grading: Node, plain_grading: JsonDict, key_path: str) -> None:
        similarity = grading.get("similarity")
        for number, metric in enumerate(similarity.items if similarity is not None else ()):
            references = metric.get("references")
            for index, reference in enumerate(references.items if references is not None else ()):
                path_node = reference.get("path")
                if path_node is not None:
                    reference_path = f"{key_path}.similarity[{number}].references[{index}].path"
                    text = self.read(path_node, reference_path)
                    plain_grading["similarity"][number]["references"][index]["content"] = text
                    if text is not None and (message := unread_words(text)):
                        self.findings.add(
                            NO_WORDS, self.file, at_line(path_node.line, reference_path), message, path_node.raw
                        )

    def _take_handler(self, handler: Node, key_path: str) -> None:
        module = handler.get("module")
        if module is None or not isinstance(module.content, str) or not module.content:
            return
        for path in self._module_paths(module.content):
            if path in self.bundle:
                source = read_text(self.bundle, path)
                self.findings.extend(source.problems)
                if source.value is not None:
                    self.handlers[module.content] = source.value
                return
        message = f"The module {module.content} is not in the upload."
        self._report_missing(module, join(key_path, "module"), message, HANDLER_HINT)

    def _module_paths(self, module: str) -> list[str]:
        """Return where a module's source may be: next to the case, or by its dotted name below suite or top."""
        dotted = module.replace(".", "/") + ".py"
        folders = ((folder_of(self.file), module.rsplit(".", 1)[-1] + ".py"), (self.top, dotted), ("", dotted))
        paths: list[str] = []
        for folder, name in folders:
            try:
                paths.append(join_path(folder, name))
            except UnsafePath:
                continue
        return paths


def _read_numbers(value: object) -> None:
    """Turn quoted numbers such as `weight: "2"` into numbers, in place, as InfiBench's float() does."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, list):
            stack.extend(part)
        elif isinstance(part, dict):
            for key, child in part.items():
                number = as_number(Node(0, child)) if key in _NUMBER_KEYS and isinstance(child, str) else None
                if number is not None:
                    part[key] = number
            stack.extend(part.values())


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


def read_case(case: Node, files: CaseFiles, source: CaseSource) -> CaseRecord | None:
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
    spec = CaseRecord(
        key=key,
        prompt=turns.text if turns.messages else _prompt(case, files, lint, source),
        grading=grading,
        references=given([_text_or_file(case, "reference", files, source.key_path) or _first_reference(grading)]),
        context=given([_text_or_file(case, "context", files, source.key_path)]),
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


FOLDER = "images"
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg"}
_OWN = frozenset({*IMAGE_FIELDS, *RESPONSE_IMAGE_FIELDS, *MESSAGE_FIELDS, *RESPONSE_MESSAGE_FIELDS})


def image_file(image: JsonObject) -> str:
    """Return the path of an image among the files of an export: its hash, by which it is known when it comes back."""
    return f"{FOLDER}/{image['digest']}.{_ENDINGS[image['media_type']]}"


def question_row(case: CaseRecord, images: Sequence[JsonObject]) -> JsonDict:
    """Return a case as a row of `judging.specs.records.tables`."""
    row: JsonDict = {name: value for name, value in case.details.items() if name not in _OWN}
    parts = [row.get("instruction"), row.get("question")]
    if "instruction" in row and "\n\n".join(filter(None, parts)) != case.prompt:
        del row["instruction"]
    if "instruction" not in row:
        row["question"] = case.prompt
    fields = {
        "id": case.key,
        "answer": case.reference,
        "context": case.whole_context,
        "context_role": case.context_role,
        "scenario": case.scenario,
        "type": case.question_type,
        "lang": case.lang,
    }
    row |= {name: value for name, value in fields.items() if value}
    if case.messages:
        row["messages"] = messages_of(case.messages, images)
        row.pop("question", None)
    further_images = _further(case.messages, images)
    return row | ({"images": further_images} if further_images else {})


def response_row(response: ResponseRecord, images: Sequence[JsonObject]) -> JsonDict:
    """Return a response as a row of `judging.specs.records.tables`."""
    row: JsonDict = {
        "case_id": response.case_key,
        "system": response.system,
        "attempt": response.attempt,
        "response": response.text,
    }
    if response.messages:
        row["response_messages"] = messages_of(response.messages, images)
    further_images = _further(response.messages, images)
    return row | ({"response_images": further_images} if further_images else {})


def media_fields(owner: str, images: Sequence[JsonObject], turns: Sequence[StoredTurn]) -> JsonDict:
    """Return the columns of an export that say what a case or response has beside its text: hashes, and messages."""
    hashes = [image["digest"] for image in images]
    return {f"{owner}_images": hashes, f"{owner}_messages": messages_of(turns, images)}


def messages_of(turns: Sequence[StoredTurn], images: Sequence[JsonObject]) -> list[RowMessage]:
    """Return a conversation in the form of chat completions; images are paths among the files of the export."""
    return [_message(turn, images) for turn in turns]


def _message(turn: StoredTurn, images: Sequence[JsonObject]) -> RowMessage:
    parts = [
        {"type": "text", "text": part["text"]} if "text" in part else {"type": "image", **_named(images[part["image"]])}
        for part in turn["parts"]
    ]
    message: RowMessage = {"role": turn["role"], "content": parts or None}
    if turn.get("calls"):
        message["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {name: call[name] for name in ("name", "arguments")}}
            for call in turn["calls"]
        ]
    if turn.get("call_id"):
        message["tool_call_id"] = turn["call_id"]
    if turn.get("name"):
        message["name"] = turn["name"]
    return message


def _further(turns: Sequence[StoredTurn], images: Sequence[JsonObject]) -> list[dict[str, str]]:
    """Return the images that no turn shows."""
    shown = {part.get("image") for turn in turns for part in turn["parts"]}
    return [_named(image) for index, image in enumerate(images) if index not in shown]


def _named(image: JsonObject) -> dict[str, str]:
    return {"path": image_file(image)} | ({"alt": image["alt"]} if image.get("alt") else {})


NOT_EDITABLE = error_rule(
    "not-editable",
    "Only type, lang, full_score, null_score and grading can be edited here; import the suite to change anything else.",
)
NOT_A_CASE = error_rule("not-a-case", "Write `grading:` with the rules below it, as shown before.")

FIELDS = ("type", "lang", "full_score", "null_score", "grading")
_EDITED = ("grading", "question_type", "lang", "full_score", "null_score")


def case_to_yaml(case: CaseRecord) -> str:
    """Return the editable part of a case."""
    grading = copy.deepcopy(dict(case.grading))
    for owner in _owners(grading):
        for path_key, content_key in _TEST_FILES.items():
            if owner.get(path_key) is not None:
                owner.pop(content_key, None)
    values = (case.question_type, case.lang, case.full_score, case.null_score, grading)
    document = {
        name: value for name, value in zip(FIELDS, values, strict=True) if value not in (None, "") or name == "grading"
    }
    return yaml_text(document)


def case_from_yaml(text: str, case: CaseRecord) -> Parsed[CaseRecord]:
    """Return `case` graded as `text` says, with every remark of the linter; None where it has errors."""
    file = case.source_path or "case.yaml"
    parsed = read_yaml(text.encode("utf-8", "replace"), file)
    findings = Findings()
    findings.extend(parsed.problems)
    if parsed.value is None:
        return Parsed(None, findings.as_tuple())
    if not parsed.value.is_mapping:
        findings.add(NOT_A_CASE, file, at_line(parsed.value.line), "The text must be a mapping.", parsed.value.raw)
        return Parsed(None, findings.as_tuple())
    for name, node in parsed.value.fields.items():
        if name not in FIELDS:
            findings.add(NOT_EDITABLE, file, at_line(node.line, name), f"`{name}` cannot be changed here.", node.raw)
    files = CaseFiles(Bundle(_stored_files(case, file)), file, findings, "warn")
    edited_fields = {name: node for name, node in parsed.value.fields.items() if name in FIELDS}
    whole = {"id": _scalar(case.key), "prompt": _scalar(case.prompt or "-"), **edited_fields}
    read = read_case(replace(parsed.value, content=whole), files, CaseSource(case.source_path, case.weight))
    if read is None or findings.has_errors:
        return Parsed(None, findings.as_tuple())
    edited = {name: getattr(read, name) for name in _EDITED} | {"handlers": {**case.handlers, **read.handlers}}
    return Parsed(replace(case, **edited), findings.as_tuple())


def _scalar(text: str) -> Node:
    return Node(1, text, raw=text)


def _owners(grading: JsonObject) -> Iterator[JsonDict]:
    """Yield the tests and references of a grading mapping that may name files."""
    unit_test = grading.get("unit_test")
    tests = unit_test.get("tests") if isinstance(unit_test, Mapping) else None
    yield from objects(tests)
    for metric in objects(grading.get("similarity")):
        yield from objects(metric.get("references"))


def _stored_files(case: CaseRecord, file: str) -> dict[str, bytes]:
    """Return the files stored with a case, where the reader looks for them."""
    stored: list[tuple[str, Any]] = [
        (owner[named], owner.get(content))
        for owner in _owners(case.grading)
        for named, content in _TEST_FILES.items()
        if isinstance(owner.get(named), str)
    ]
    stored += [(module.rsplit(".", 1)[-1] + ".py", source) for module, source in case.handlers.items()]
    files: dict[str, bytes] = {}
    for name, content in stored:
        if isinstance(content, str):
            try:
                files[join_path(folder_of(file), name)] = content.encode("utf-8", "replace")
            except UnsafePath:
                continue
    return files
