"""Example files of each kind, small and ready to import."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from openpyxl import Workbook

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SUITE = """\
name: My benchmark
cases:
- id: q1
  prompt: What is the capital of France?
  reference: Paris
  scenario: geography
  type: knowledge question-answering
  lang: english
  grading:
    keywords: [Paris]
- id: q2
  prompt: Name a command that lists files.
  reference: ls
  scenario: shell
  type: knowledge question-answering
  lang: bash
  grading:
    keywords: [ls]
"""
_RUBRIC = """\
name: My rubric
criteria:
- name: correct
  description: The response answers the question correctly.
  weight: 2
  scale: 1-5
- name: clear
  description: A reader understands the response at once.
  weight: 1
  scale: 1-5
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A file to fill in: a text, or the rows of a workbook's sheet."""

    name: str  # in the address
    label: str
    file_name: str
    text: str = ""
    rows: Sequence[Sequence[str | int]] = ()

    @property
    def content_type(self) -> str:
        return _XLSX if self.rows else "text/plain; charset=utf-8"

    def data(self) -> bytes:
        """Return the file's bytes."""
        if not self.rows:
            return self.text.encode()
        book = Workbook(write_only=True)
        sheet = book.create_sheet("Sheet1")
        for row in self.rows:
            sheet.append(list(row))
        buffer = io.BytesIO()
        book.save(buffer)
        return buffer.getvalue()


EXAMPLES = {
    example.name: example
    for example in (
        Example("suite", "suite of cases (YAML)", "suite.yaml", _SUITE),
        Example(
            "questions",
            "questions (XLSX)",
            "questions.xlsx",
            rows=(
                ("id", "question", "reference", "scenario"),
                ("q1", "What is the capital of France?", "Paris", "geography"),
                ("q2", "Name a command that lists files.", "ls", "shell"),
            ),
        ),
        Example(
            "responses",
            "responses (XLSX)",
            "responses.xlsx",
            rows=(
                ("case_id", "system", "attempt", "response"),
                ("q1", "my-model", 0, "The capital of France is Paris."),
                ("q2", "my-model", 0, "Use ls."),
            ),
        ),
        Example(
            "levels",
            "level rubric (XLSX)",
            "level-rubric.xlsx",
            rows=(
                ("query id", 25, 50, 100),
                ("q1", "(1) names a city\n(2) names a country", "(1) names a French city", "(1) names Paris"),
                ("q2", "(1) names a command", "(1) names a shell command", "(1) names ls"),
            ),
        ),
        Example("criteria", "rubric of criteria (YAML)", "rubric.yaml", _RUBRIC),
    )
}
