"""ScaleEval's response files: one benchmark and several systems out of `responses/<model>/<scenario>.jsonl`.

Each row is `{prompt, category, response}`. A case is a line of a scenario, since prompts repeat inside a scenario:
its key is `<scenario>-<line>`, the line counted from 1. Every model must have the same prompt on the same line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, at_line, error_rule, warning_rule
from judging.specs.files.jsonl_reading import JsonLine, read_rows
from judging.specs.files.problems import Parsed
from judging.specs.files.row_counts import ProgressCallback, no_progress
from judging.specs.types import CaseSpec, ResponseSpec, SuiteSpec

NO_FILES = error_rule("no-scaleeval-files", "Name the files responses/<model>/<scenario>.jsonl.")
BAD_ROW = error_rule("scaleeval-row", "Give `prompt` and `response` as text.")
OTHER_PROMPT = error_rule("prompt-mismatch", "Sort the rows so that every model has the same prompt on the same line.")
FEWER_ROWS = warning_rule("fewer-responses", "Only cases with responses of both systems form pairs.")

_PATH = re.compile(r"^(?:.*/)?responses/([^/]+)/([^/]+)\.jsonl$")
_SHORT_PATH = re.compile(r"^([^/]+)/([^/]+)\.jsonl$")


@dataclass(frozen=True, slots=True)
class ScaleEvalImport:
    """What the files hold: the cases, and every model's responses to them."""

    suite: SuiteSpec
    responses: tuple[ResponseSpec, ...]


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    model: str
    scenario: str


def scaleeval_files(bundle: Bundle) -> list[str]:
    """Return the response files of a bundle, sorted by path."""
    return [file.path for file in _files(bundle)]


def _files(bundle: Bundle) -> list[_File]:
    """Return `…/responses/<model>/<scenario>.jsonl`; where there is none, `<model>/<scenario>.jsonl`."""
    for pattern in (_PATH, _SHORT_PATH):
        matches = ((path, pattern.match(path)) for path in bundle)
        files = [_File(path, match.group(1), match.group(2)) for path, match in matches if match]
        if files:
            return files
    return []


@dataclass(slots=True)
class _ScaleEvalReader:
    findings: Findings
    cases: dict[str, CaseSpec] = field(default_factory=dict)
    responses: list[ResponseSpec] = field(default_factory=list)

    def read(self, file: _File, rows: tuple[JsonLine, ...]) -> None:
        """Take in the rows of one model's file for one scenario."""
        for number, row in enumerate(rows, start=1):
            prompt, text = row.fields.get("prompt"), row.fields.get("response")
            location = at_line(row.line)
            if not isinstance(prompt, str) or not isinstance(text, str):
                keys = ", ".join(row.fields)
                self.findings.add(
                    BAD_ROW, file.path, location, "The row has no `prompt` or no `response` as text.", keys
                )
                continue
            key = f"{file.scenario}-{number}"
            self._take_case(key, prompt, file, row)
            self.responses.append(ResponseSpec(key, file.model, 0, text, f"{file.path}, {location}"))

    def _take_case(self, key: str, prompt: str, file: _File, row: JsonLine) -> None:
        existing_case = self.cases.get(key)
        if existing_case is None:
            category = row.fields.get("category")
            metadata = {"category": category} if isinstance(category, str) and category != file.scenario else {}
            source = f"{file.path}, {at_line(row.line)}"
            self.cases[key] = CaseSpec(
                key=key, prompt=prompt, scenario=file.scenario, source_path=source, metadata=metadata
            )
        elif existing_case.prompt != prompt:
            message = f"The prompt differs from the one in {existing_case.source_path}."
            self.findings.add(OTHER_PROMPT, file.path, at_line(row.line), message, prompt)


def parse_scaleeval_responses(
    bundle: Bundle, *, name: str = "ScaleEval", report_progress: ProgressCallback = no_progress
) -> Parsed[ScaleEvalImport]:
    """Return the suite and the responses that the response files of a bundle hold.

    Cases stand in the order of scenarios by name, then of lines. Texts are kept to the character.
    """
    findings = Findings()
    files = _files(bundle)
    if not files:
        findings.add(NO_FILES, "", "", "The upload contains no response files.")
    reader = _ScaleEvalReader(findings)
    counts: dict[str, dict[str, int]] = {}
    total = sum(bundle.read(file.path).count(b"\n") for file in files)
    for file in sorted(files, key=lambda file: (file.scenario, file.model)):
        report_progress(len(reader.responses), total)
        rows = read_rows(bundle, file.path)
        findings.extend(rows.problems)
        reader.read(file, rows.value or ())
        counts.setdefault(file.scenario, {})[file.path] = len(rows.value or ())
    _warn_of_gaps(counts, findings)
    if findings.has_errors:
        return Parsed(None, findings.as_tuple())
    order = sorted(reader.cases.values(), key=lambda case: (case.scenario, int(case.key.rsplit("-", 1)[1])))
    suite = SuiteSpec(name=name, version="", cases=tuple(order))
    return Parsed(ScaleEvalImport(suite, tuple(reader.responses)), findings.as_tuple())


def _warn_of_gaps(counts: dict[str, dict[str, int]], findings: Findings) -> None:
    for scenario, by_file in counts.items():
        most = max(by_file.values())
        for path, count in by_file.items():
            if count < most:
                message = f"The file has {count} of the {most} responses of {scenario}."
                findings.add(FEWER_ROWS, path, "", message)
