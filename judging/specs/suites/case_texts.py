"""How a stored case is graded, as YAML for a person to edit, and read back.

The text holds `type`, `lang`, `full_score`, `null_score` and `grading`. Files that the rules name (tests, references,
handlers) stay as stored with the case: the text names them, and their content is put back when it is read.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml
from yaml.emitter import ScalarAnalysis
from yaml.reader import Reader

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.files.bundles import Bundle, UnsafePath, folder_of, join_path
from judging.specs.files.findings import Findings, at_line, error_rule
from judging.specs.files.problems import Parsed
from judging.specs.files.yaml_reading import Node, read_yaml
from judging.specs.suites.case_files import CaseFiles
from judging.specs.suites.cases_yaml import CaseSource, read_case
from judging.specs.types import CaseSpec

NOT_EDITABLE = error_rule(
    "not-editable",
    "Only type, lang, full_score, null_score and grading can be edited here; import the suite to change anything else.",
)
NOT_A_CASE = error_rule("not-a-case", "Write `grading:` with the rules below it, as shown before.")

FIELDS = ("type", "lang", "full_score", "null_score", "grading")
_FILES = {"path": "content", "prefix_path": "prefix_content", "cleanup_path": "cleanup_content"}


_ODD_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as blocks, and never by reference."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        """Return what the emitter may do: blocks also where lines end in spaces, which reading keeps."""
        analysis = super().analyze_scalar(scalar)
        if analysis.multiline and not Reader.NON_PRINTABLE.search(scalar) and not _ODD_BREAKS.search(scalar):
            analysis.allow_block = True
        return analysis


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def case_to_yaml(case: CaseSpec) -> str:
    """Return the editable part of a case."""
    grading = copy.deepcopy(dict(case.grading))
    for owner in _owners(grading):
        for path_key, content_key in _FILES.items():
            if owner.get(path_key) is not None:
                owner.pop(content_key, None)
    values = (case.question_type, case.lang, case.full_score, case.null_score, grading)
    document = {
        name: value for name, value in zip(FIELDS, values, strict=True) if value not in (None, "") or name == "grading"
    }
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def case_from_yaml(text: str, case: CaseSpec) -> Parsed[CaseSpec]:
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
    edited = replace(
        case,
        grading=read.grading,
        question_type=read.question_type,
        lang=read.lang,
        full_score=read.full_score,
        null_score=read.null_score,
        handlers={**case.handlers, **read.handlers},
    )
    return Parsed(edited, findings.as_tuple())


def _scalar(text: str) -> Node:
    return Node(1, text, raw=text)


def _owners(grading: JsonObject) -> Iterator[JsonDict]:
    """Yield the tests and references of a grading mapping that may name files."""
    unit_test = grading.get("unit_test")
    tests = unit_test.get("tests") if isinstance(unit_test, Mapping) else None
    yield from _mappings(tests)
    for metric in _mappings(grading.get("similarity")):
        yield from _mappings(metric.get("references"))


def _mappings(value: object) -> list[JsonDict]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _stored_files(case: CaseSpec, file: str) -> dict[str, bytes]:
    """Return the files stored with a case, where the reader looks for them."""
    stored: list[tuple[str, Any]] = [
        (owner[named], owner.get(content))
        for owner in _owners(case.grading)
        for named, content in _FILES.items()
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
