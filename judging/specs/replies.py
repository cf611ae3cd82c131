"""Responses from files, by row or by document."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.base.types import JsonDict
from judging.specs.files.bundles import (
    UNSAFE_PATH,
    Bundle,
    ProgressCallback,
    UnsafePath,
    folder_of,
    join_path,
    no_progress,
    with_progress,
)
from judging.specs.files.encodings import opens_too_deep, read_text
from judging.specs.files.findings import Findings, Parsed, at_line, error_rule, shorten, warning_rule
from judging.specs.files.yaml_files import Node, read_yaml
from judging.specs.lint import NOT_A_LIST, NOT_A_MAPPING, NOT_TEXT, Lint
from judging.specs.records.files.json_parts import json_rows
from judging.specs.records.neutral import CaseRecord, Place, ResponseRecord, SuiteSpec, given
from judging.specs.records.parts import Row
from judging.specs.suites.cases_yaml import MISSING_ERROR, MISSING_WARNING, MissingFiles, key_from_path

NOT_JSON = "ERROR_INPUT_JSON_DECODE"
INCOMPLETE = "SKIPPED_DATA_INCOMPLETE"
SHOWN = 200  # characters of a bad line that are kept


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line without an item. `status` is the word of Lunar-Bench's program."""

    line: int
    status: str
    reason: str
    text: str


def read_esi_lines(text: str, *, name: str) -> tuple[SuiteSpec, list[LineProblem]]:
    """Return the items of a data set as a suite, and every line without one. Lines are numbered from 1."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    cases: list[CaseRecord] = []
    problems: list[LineProblem] = []
    keys: set[str] = set()
    for number, line in enumerate(lines, 1):
        reading = _read(line.rstrip("\r"), number)
        if isinstance(reading, LineProblem):
            problems.append(reading)
            continue
        key = _key(reading, number, keys)
        keys.add(key)
        cases.append(_case(reading, number, key))
    return SuiteSpec(name=name, version="", cases=tuple(cases)), problems


def _read(line: str, number: int) -> JsonDict | LineProblem:
    if opens_too_deep(line):
        return LineProblem(number, NOT_JSON, "The brackets of the line are nested too deeply.", line[:SHOWN])
    try:
        row = json.loads(line)
    except ValueError:
        return LineProblem(number, NOT_JSON, "The line is not JSON.", line[:SHOWN])
    if not isinstance(row, dict):
        return LineProblem(number, NOT_JSON, "The line is not a JSON object.", line[:SHOWN])
    missing_fields = [field for field in ("instruction", "question") if not isinstance(row.get(field), str)]
    if missing_fields:
        return LineProblem(number, INCOMPLETE, f"The line has no {' and no '.join(missing_fields)}.", line[:SHOWN])
    if not f"{row['instruction']}{row['question']}".strip():
        return LineProblem(number, INCOMPLETE, "Instruction and question are empty.", line[:SHOWN])
    return row


def _key(row: JsonDict, number: int, used_keys: set[str]) -> str:
    row_id = row.get("id")
    key = str(row_id).strip() if isinstance(row_id, str | int) and not isinstance(row_id, bool) else ""
    if key and len(key) <= 150 and key not in used_keys:
        return key
    return next(name for name in _line_names(number) if name not in used_keys)


def _line_names(number: int) -> Iterator[str]:
    yield f"line-{number}"
    suffix = 2
    while True:
        yield f"line-{number}-{suffix}"
        suffix += 1


def _case(row: JsonDict, number: int, key: str) -> CaseRecord:
    instruction, question = row["instruction"], row["question"]
    answer, scenario = row.get("answer"), row.get("scenario_code")
    return CaseRecord(
        key=key,
        prompt="\n\n".join(part for part in (instruction, question) if part.strip()),
        references=given([answer if isinstance(answer, str) else ""]),
        scenario=str(scenario)[:100] if isinstance(scenario, str | int | float) else "",
        source_path=f"line {number}",
        metadata={"instruction": instruction, "question": question, "line": number},
    )


DUPLICATE = error_rule("duplicate-response", "Remove one of the two, or give them different attempts or systems.")
SKIPPED_CASE = warning_rule("unknown-case", "No action is needed unless the suite should contain this case.")
_NUMBERED = re.compile(r"_(\d+)$")


@dataclass(frozen=True, slots=True)
class KnownCases:
    """The cases that responses may answer: keys, and keys by the path that the suite gives them."""

    keys: frozenset[str] = frozenset()
    by_path: Mapping[str, str] = field(default_factory=dict)
    by_question: Mapping[str, str] = field(default_factory=dict)  # what `question_hash` gives -> key
    named: list[str] | None = None  # where it is a list, every case is known, and the keys that rows name go there

    @classmethod
    def of(cls, suite: SuiteSpec) -> KnownCases:
        paths = {case.source_path: case.key for case in suite.cases if case.source_path}
        questions = {question_hash(case.prompt): case.key for case in suite.cases}
        return cls(frozenset(case.key for case in suite.cases), paths, questions)

    def has(self, key: str) -> bool:
        """Return whether there is such a case."""
        if self.named is None:
            return key in self.keys
        self.named.append(key)
        return True

    def key_for_question(self, text: str) -> str:
        """Return the key of the case with this prompt, or whose key is written in its place; else the text itself."""
        text = text.strip()
        return text if text in self.keys else self.by_question.get(question_hash(text), text)

    def key_for_path(self, path: str) -> str:
        """Return the key of the case that a file name speaks of: a case file, or a response `<case>_<attempt>.txt`."""
        if path in self.by_path:
            return self.by_path[path]
        stem = posixpath.splitext(posixpath.basename(path.replace("\\", "/")))[0]
        whole, shorter = key_from_path(stem + ".yaml"), key_from_path(_NUMBERED.sub("", stem) + ".yaml")
        if whole in self.keys:
            return whole
        if shorter in self.keys or path.endswith(".txt"):
            return shorter
        return whole


def question_hash(text: str) -> str:
    """Return what stands for a question whose white space does not matter."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class ListedResponses:
    """Gathers responses, leaves out those of unknown cases, and refuses doubles."""

    findings: Findings
    known_cases: KnownCases | None = None
    responses: list[ResponseRecord] = field(default_factory=list)
    origins: dict[tuple[str, str, int], Place] = field(default_factory=dict)

    def add(self, response: ResponseRecord, origin: Place) -> None:
        """Keep a response unless its case is unknown or it is already there."""
        identity, key = response.identity, response.case_key
        if self.known_cases is not None and not self.known_cases.has(key):
            self.findings.add(SKIPPED_CASE, origin.file, origin.at, f"The suite has no case {shorten(key)!r}.", key)
            return
        if identity in self.origins:
            message = (
                f"Attempt {response.attempt} of {response.system!r} at case {key!r} "
                f"is already given in {self.origins[identity]}."
            )
            self.findings.add(DUPLICATE, origin.file, origin.at, message, key)
            return
        self.origins[identity] = origin
        self.responses.append(response)


NO_FOLDER = error_rule("no-responses-folder", "Add params.yaml with `answer_paths` to the folder.")

Responses = tuple[ResponseRecord, ...]


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
    collector = ListedResponses(findings, known_cases)
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
    value = None if collector.findings.has_errors else tuple(collector.responses)
    return Parsed(value, collector.findings.as_tuple())


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
    collector: ListedResponses,
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
                response = ResponseRecord(
                    system, text, attempt=attempt, metadata=metadata, case_key=key, place=Place(path)
                )
                collector.add(response, Place(folder.path, at_line(path_node.line)))


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


NO_FILES = error_rule("no-scaleeval-files", "Name the files responses/<model>/<scenario>.jsonl.")
BAD_ROW = error_rule("scaleeval-row", "Give `prompt` and `response` as text.")
OTHER_PROMPT = error_rule("prompt-mismatch", "Sort the rows so that every model has the same prompt on the same line.")
FEWER_ROWS = warning_rule("fewer-responses", "Only cases with responses of both systems form pairs.")

_PATH = re.compile(r"^(?P<path>(?:.*/)?responses/(?P<model>[^/]+)/(?P<scenario>[^/]+)\.jsonl)$")


def scaleeval_files(bundle: Bundle) -> list[str]:
    """Return the response files of a bundle, sorted by path."""
    return [file["path"] for file in _files(bundle)]


def scaleeval_results(bundle: Bundle) -> list[str]:
    """Return the files of judges and debates about the responses, which lie in `results/` beside `responses/`."""
    folders = tuple({f"{path.rpartition('responses/')[0]}results/" for path in scaleeval_files(bundle)})
    return [path for path in bundle if path.startswith(folders)]


def _files(bundle: Bundle) -> list[re.Match[str]]:
    """Return path, model and scenario of each `…/responses/<model>/<scenario>.jsonl`."""
    return [match for path in bundle if (match := _PATH.match(path))]


@dataclass(slots=True)
class _ScaleEvalReader:
    findings: Findings
    cases: dict[str, CaseRecord] = field(default_factory=dict)
    responses: list[ResponseRecord] = field(default_factory=list)

    def read(self, file: re.Match[str], rows: Sequence[Row]) -> None:
        """Take in the rows of one model's file for one scenario."""
        for number, row in enumerate(rows, start=1):
            prompt, text = row.fields.get("prompt"), row.fields.get("response")
            location = row.at
            if not isinstance(prompt, str) or not isinstance(text, str):
                keys = ", ".join(row.fields)
                self.findings.add(
                    BAD_ROW, file["path"], location, "The row has no `prompt` or no `response` as text.", keys
                )
                continue
            key = f"{file['scenario']}-{number}"
            self._take_case(key, prompt, file, row)
            place = Place(file["path"], location)
            self.responses.append(ResponseRecord(file["model"], text, attempt=0, case_key=key, place=place))

    def _take_case(self, key: str, prompt: str, file: re.Match[str], row: Row) -> None:
        existing_case = self.cases.get(key)
        if existing_case is None:
            category = row.fields.get("category")
            metadata = {"category": category} if isinstance(category, str) and category != file["scenario"] else {}
            source = f"{file['path']}, {row.at}"
            self.cases[key] = CaseRecord(
                key=key, prompt=prompt, scenario=file["scenario"], source_path=source, metadata=metadata
            )
        elif existing_case.prompt != prompt:
            message = f"The prompt differs from the one in {existing_case.source_path}."
            self.findings.add(OTHER_PROMPT, file["path"], row.at, message, prompt)


def parse_scaleeval_responses(
    bundle: Bundle, *, name: str = "ScaleEval", report_progress: ProgressCallback = no_progress
) -> Parsed[tuple[SuiteSpec, Responses]]:
    """Return the suite and the responses that the response files of a bundle hold.

    Cases stand in the order of scenarios by name, then of lines. Texts are kept to the character.
    """
    findings = Findings()
    files = _files(bundle)
    if not files:
        findings.add(NO_FILES, "", "", "The upload contains no response files.")
    reader = _ScaleEvalReader(findings)
    counts: dict[str, dict[str, int]] = {}
    total = sum(bundle.read(file["path"]).count(b"\n") for file in files)
    for file in sorted(files, key=lambda file: (file["scenario"], file["model"])):
        report_progress(len(reader.responses), total)
        rows = json_rows(bundle.read(file["path"]), file["path"], findings)
        reader.read(file, rows)
        counts.setdefault(file["scenario"], {})[file["path"]] = len(rows)
    _warn_of_gaps(counts, findings)
    if findings.has_errors:
        return Parsed(None, findings.as_tuple())
    order = sorted(reader.cases.values(), key=lambda case: (case.scenario, int(case.key.rsplit("-", 1)[1])))
    suite = SuiteSpec(name=name, version="", cases=tuple(order))
    return Parsed((suite, tuple(reader.responses)), findings.as_tuple())


def _warn_of_gaps(counts: dict[str, dict[str, int]], findings: Findings) -> None:
    for scenario, by_file in counts.items():
        most = max(by_file.values())
        for path, count in by_file.items():
            if count < most:
                message = f"The file has {count} of the {most} responses of {scenario}."
                findings.add(FEWER_ROWS, path, "", message)
