"""Files that a case names, found in the bundle and put in place.

A file is looked for beside the file that names it. What is missing is an error, or a warning where the importer was
told that the bundle is a cut one; then the content is None, so that a grader says "not run" and never scores 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evalsite.base.json_types import JsonDict
from judging.specs.files.bundles import UNSAFE_PATH, Bundle, UnsafePath, folder_of, join_path
from judging.specs.files.findings import Findings, Rule, at_line, error_rule, warning_rule
from judging.specs.files.text_reading import read_text
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_notes import as_number, join
from judging.specs.lint.lint_similarity import NO_WORDS, has_words
from judging.specs.lint.suite_lint import handlers_of

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
                    if text is not None and not has_words(text):
                        message = "The reference has no words that ROUGE can read, so every score is 0."
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
