"""Suites of cases in YAML: InfiBench's layout, and one file with everything inline.

InfiBench's layout is a suite file that lists case files, which name prompts, references and tests beside them:

    attempt_reduce_mode: avg_max_10        # avg | max | min | avg_max_<k>
    full_score_per_question: 1.0
    null_score_per_question: 0.0
    version: suite_v2.1.yaml
    cases:
    - cases/eval_0-0-1.yaml                # relative to the suite's folder, else to the top of the upload
    - {path: cases/eval_0-0-4.yaml, weight: 2.0}

The inline form needs no other file. An entry is a case when it has no `path`:

    name: Capitals
    cases:
    - id: france
      prompt: What is the capital of France?
      reference: Paris
      context: France is a country in Europe.    # optional; context_role: reference | supplementary
      scenario: geography
      type: knowledge question-answering
      lang: english
      weight: 1.0
      grading:
        keywords: [Paris]

Both forms may be mixed, and inline cases may name files (`prompt_path`, tests, references) beside the suite.

`CaseRecord.grading` keeps the structure of the YAML mapping. Files are put beside the path that names them: tests with
`path` gain `content`, `prefix_path` gains `prefix_content`, `cleanup_path` gains `cleanup_content`, references with
`path` gain `content`; each is None where the file is missing and `missing_files="warn"`. Sources of post handlers
and custom functions are in `CaseRecord.handlers` by module name as written; a module `cases.handler_x` is the file
`handler_x.py` beside the case.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace

from judging.specs.files.bundles import (
    UNSAFE_PATH,
    Bundle,
    ProgressCallback,
    UnsafePath,
    folder_of,
    join_path,
    no_progress,
    normalise_path,
    with_progress,
)
from judging.specs.files.encodings import read_text
from judging.specs.files.findings import Findings, Parsed, at_line, error_rule, shorten, warning_rule
from judging.specs.files.yaml_files import Node, read_yaml, unreadable_yaml, yaml_files, yaml_paths
from judging.specs.lint import Lint, join
from judging.specs.records.neutral import CaseRecord, SuiteSpec
from judging.specs.suites.cases_yaml import (
    KEPT_KEY,
    NOTE_KEYS,
    CaseFiles,
    CaseSource,
    MissingFiles,
    read_case,
    source_url,
)

NO_SUITE = error_rule("no-suite", "Upload a YAML file with a `cases` list, or case files with `grading`.")
SEVERAL_SUITES = error_rule("several-suites", "Import one suite at a time.")
NO_SUITE_FILE = warning_rule("no-suite-file", "Add a suite file to define order, weights and the attempt mode.")
NO_CASES = error_rule("suite-without-cases", "List at least one case below `cases`.")
BAD_ENTRY = error_rule(
    "bad-case-entry", "Write a path, `{path: …, weight: …}`, or a whole case with `id` and `prompt`."
)
MISSING_CASE = error_rule("missing-case-file", "Add the file; paths are relative to the suite's folder.")
SAME_CASE = error_rule("duplicate-case", "Give each case a unique id, and list each case once.")
BAD_MODE = error_rule("attempt-reduce-mode", "Write avg, max, min or avg_max_<k>, for example avg_max_10.")
NOT_A_CASE_FILE = warning_rule("not-a-case-file", "Add `prompt` and `grading`, or leave the file out.")
BAD_FULL_SCORE = error_rule("bad-full-score", "Write a number such as 1.0, or remove the line.")
SUITE_WEIGHT = warning_rule("suite-weight-ignored", "Remove the weight; the full_score of a case defines its points.")
TOO_MANY_CASES = error_rule("too-many-cases", "Split the suite.")

MAX_CASES = 20_000

_MODE = re.compile(r"^(avg|max|min|avg_max_[1-9][0-9]{0,5})$")
_SUITE_KEYS = frozenset(
    {
        "cases",
        "attempt_reduce_mode",
        "full_score_per_question",
        "null_score_per_question",
        "version",
        "name",
        "metadata",
    }
)


def find_suites(bundle: Bundle) -> list[str]:
    """Return the YAML files that have a list of cases at their top."""
    nodes = ((path, node.get("cases")) for path, node in yaml_files(bundle, b"cases"))
    return [path for path, cases in nodes if cases is not None and cases.is_list]


def find_case_files(bundle: Bundle) -> list[str]:
    """Return the YAML files that are a case themselves: a mapping with a prompt and a `grading` or an `id`."""
    asked = ((path, node.fields.keys()) for path, node in yaml_files(bundle, b"prompt"))
    cases = ((path, keys) for path, keys in asked if keys & {"prompt", "prompt_path"} and keys & {"grading", "id"})
    return [path for path, keys in cases if "cases" not in keys]


def parse_suite(
    bundle: Bundle,
    suite_path: str = "",
    *,
    missing_files: MissingFiles = "error",
    report_progress: ProgressCallback = no_progress,
) -> Parsed[SuiteSpec]:
    """Return the suite of a bundle with every file it names inlined, or the problems that prevent it.

    Without `suite_path` the one YAML file with a `cases` list is taken; where there is none, all case files make a
    suite. `missing_files="warn"` accepts references to files that the upload does not hold.
    """
    findings = Findings()
    findings.extend(unreadable_yaml(bundle))
    if findings.has_errors:
        return Parsed(None, findings.as_tuple())
    reader = _SuiteReader(bundle, findings, missing_files, report_progress)
    suite = reader.suite_at(suite_path) if suite_path else reader.only_suite()
    return Parsed(None if findings.has_errors else suite, findings.as_tuple())


@dataclass(slots=True)
class _SuiteReader:
    bundle: Bundle
    findings: Findings
    missing: MissingFiles
    report_progress: ProgressCallback
    cases: list[CaseRecord] = field(default_factory=list)
    locations: dict[str, str] = field(default_factory=dict)  # case key -> where it was first listed

    def only_suite(self) -> SuiteSpec | None:
        """Return the suite that the bundle holds, found by its content."""
        suites = find_suites(self.bundle)
        if len(suites) > 1:
            message = f"The upload contains {len(suites)} suites: {', '.join(suites)}."
            self.findings.add(SEVERAL_SUITES, suites[0], "", message)
            return None
        if suites:
            return self.suite_at(suites[0])
        paths = find_case_files(self.bundle)
        if not paths:
            self._report_no_suite()
            return None
        count = f"all {len(paths)} case files are" if len(paths) > 1 else "the one case file is"
        self.findings.add(NO_SUITE_FILE, "", "", f"There is no suite file; {count} taken.")
        for path in yaml_paths(self.bundle):
            if path not in paths and posixpath.basename(path) != "params.yaml":
                self.findings.add(NOT_A_CASE_FILE, path, "", self._why_no_suite(path))
        for path in with_progress(sorted(paths, key=_natural), self.report_progress):
            self._add_case_file(path, CaseSource(path), f"the file {path}")
        name = paths[0] if len(paths) == 1 else folder_of(paths[0])
        return SuiteSpec(name=_stem(name) or "cases", version="", cases=tuple(self.cases))

    def _report_no_suite(self) -> None:
        """Report of each YAML file why it is no suite."""
        for path in yaml_paths(self.bundle):
            self.findings.add(NO_SUITE, path, "", self._why_no_suite(path))
        if not self.findings.has_errors:
            self.findings.add(NO_SUITE, "", "", "The upload contains neither a suite nor a case file.")

    def _why_no_suite(self, path: str) -> str:
        """Return a sentence on a YAML file that is neither a suite nor a case."""
        node = read_yaml(self.bundle.read(path), path).value
        if node is None or node.content is None:
            return "The file is empty."
        if not node.is_mapping:
            content = "a list" if node.is_list else "a single value"
            return f"The top level of the file is {content}, not `key: value` lines."
        return f"The file is neither a suite nor a case; its keys are {shorten(', '.join(node.fields))}."

    def suite_at(self, path: str) -> SuiteSpec | None:
        """Return the suite of one file."""
        try:
            path = normalise_path(path)
        except UnsafePath as refusal:
            self.findings.add(UNSAFE_PATH, path, "", str(refusal), path)
            return None
        if path not in self.bundle:
            self.findings.add(NO_SUITE, path, "", "There is no such file in the upload.", path)
            return None
        parsed = read_yaml(self.bundle.read(path), path)
        self.findings.extend(parsed.problems)
        if parsed.value is None:
            return None
        lint = Lint(self.findings, path)
        entries = parsed.value.get("cases")
        if entries is None or not entries.items:
            lint.report(NO_CASES, entries or parsed.value, "cases", "The suite lists no cases.", "")
            return None
        if len(entries.items) > MAX_CASES:
            lint.report(TOO_MANY_CASES, entries, "cases", f"A suite may list {MAX_CASES:,} cases at most.", "")
            return None
        for index, entry in enumerate(with_progress(entries.items, self.report_progress)):
            self._add_entry(lint, entry, f"cases[{index}]")
        self._report_unknown(lint, parsed.value)
        return self._suite(lint, parsed.value, path)

    def _report_unknown(self, lint: Lint, suite: Node) -> None:
        """Warn of keys of the suite that nothing reads."""
        for key, node in suite.fields.items():
            if key not in _SUITE_KEYS | NOTE_KEYS and not lint.misspelt(key, node, _SUITE_KEYS, ""):
                lint.report(KEPT_KEY, node, key, f"`{key}` has no effect; it is kept as metadata of the suite.", key)

    def _suite(self, lint: Lint, suite: Node, path: str) -> SuiteSpec:
        mode = suite.get("attempt_reduce_mode")
        if mode is not None and not _MODE.match(mode.raw):
            lint.report(BAD_MODE, mode, "attempt_reduce_mode", "This attempt mode is unknown.")
        full = lint.number(suite, "full_score_per_question", "", 1.0)
        if full <= 0:
            node = suite.fields["full_score_per_question"]
            lint.report(
                BAD_FULL_SCORE, node, "full_score_per_question", "The full score of a case must be more than 0."
            )
        name, version = suite.get("name"), suite.get("version")
        nested = suite.get("metadata")
        metadata_nodes = {key: node for key, node in suite.fields.items() if key not in _SUITE_KEYS}
        metadata_nodes |= nested.fields if nested is not None else {}
        metadata = {key: node.plain() for key, node in metadata_nodes.items()}
        return SuiteSpec(
            name=name.raw if name is not None and name.raw else _stem(path),
            version=version.raw if version is not None else "",
            cases=tuple(self.cases),
            attempt_reduce_mode=mode.raw if mode is not None else "avg",
            full_score=full,
            null_score=lint.number(suite, "null_score_per_question", "", 0.0),
            metadata=metadata,
        )

    def _add_entry(self, lint: Lint, entry: Node, key_path: str) -> None:
        """Add the case of one entry of `cases`: a path, a path with weight, or a whole case."""
        if not entry.is_mapping and not isinstance(entry.content, str):
            lint.report(BAD_ENTRY, entry, key_path, "An entry of `cases` must be a path or a mapping.")
            return
        weight = lint.weight(entry, key_path)
        if weight != 1.0:
            message = "InfiBench reads the weight of a case but does not use it; it has no effect here either."
            lint.report(SUITE_WEIGHT, entry.fields["weight"], join(key_path, "weight"), message)
        if entry.is_mapping and "path" not in entry.fields:
            files = CaseFiles(self.bundle, lint.file, self.findings, self.missing, folder_of(lint.file))
            case = read_case(entry, files, CaseSource("", weight, key_path))
            self._keep(case, lint.file, at_line(entry.line, key_path))
            return
        path_node = entry.get("path") or entry
        path = self._case_path(lint, path_node, key_path)
        if path is not None:
            source = CaseSource(str(path_node.content), weight)
            self._add_case_file(path, source, at_line(entry.line, key_path), lint.file)

    def _case_path(self, lint: Lint, path_node: Node, key_path: str) -> str | None:
        """Return where a case file lies: below the suite's folder, else below the top of the upload."""
        if not isinstance(path_node.content, str):
            lint.report(BAD_ENTRY, path_node, key_path, "The path of a case must be text.")
            return None
        tried: list[str] = []
        for folder in (folder_of(lint.file), ""):
            try:
                path = join_path(folder, path_node.content)
            except UnsafePath as refusal:
                lint.report(UNSAFE_PATH, path_node, key_path, str(refusal))
                return None
            if path in self.bundle:
                return path
            tried.append(path)
        lint.report(
            MISSING_CASE,
            path_node,
            key_path,
            f"The case file {' or '.join(dict.fromkeys(tried))} is not in the upload.",
        )
        return None

    def _add_case_file(self, path: str, source: CaseSource, location: str, suite_file: str = "") -> None:
        parsed = read_yaml(self.bundle.read(path), path)
        self.findings.extend(parsed.problems)
        if parsed.value is None:
            return
        files = CaseFiles(self.bundle, path, self.findings, self.missing, folder_of(suite_file))
        case = read_case(parsed.value, files, source)
        url = source_url(read_text(self.bundle, path).value or "")
        if case is not None and url:
            case = replace(case, metadata={"source_url": url, **case.metadata})
        self._keep(case, suite_file or path, location)

    def _keep(self, case: CaseRecord | None, file: str, location: str) -> None:
        if case is None:
            return
        if case.key in self.locations:
            message = f"The case {case.key!r} is already listed ({self.locations[case.key]})."
            self.findings.add(SAME_CASE, file, location, message, case.key)
            return
        self.locations[case.key] = location
        self.cases.append(case)


def _natural(path: str) -> list[tuple[int, int | str]]:
    """Sort key under which `eval_0-0-8` stands before `eval_0-0-12`."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", path)]


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
