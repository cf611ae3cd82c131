"""`lint_suite`: list the problems of a suite without importing it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from evalsite.management.import_command import read_paths
from judging.services.file_imports.imports import refusal_message
from judging.specs.files.findings import Problem, Severity
from judging.specs.records.file_records import bundle_of
from judging.specs.suites.suites_yaml import parse_suite


class Command(JsonCommand):
    """lint_suite PATH"""

    help = "Check a suite and its cases; exit with status 2 if there are errors. Nothing is stored."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a file, a ZIP archive or a folder")
        parser.add_argument("--allow-missing-files", action="store_true", help="accept missing files")

    def run(self, **options: Any) -> JsonDict:
        """Return the problems; raise where one is an error."""
        bundle = bundle_of(read_paths([options["path"]]))
        missing = options["allow_missing_files"]
        problems = bundle.problems
        if bundle.value is not None:
            problems += parse_suite(bundle.value, missing_files="warn" if missing else "error").problems
        errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
        if errors:
            for problem in problems:
                self.stderr.write(f"{problem.severity}: {problem}")
            raise BadInput(refusal_message(errors))
        return {"errors": 0, "warnings": len(problems), "problems": [asdict(problem) for problem in problems]}

    def summary(self, result: JsonDict) -> str:
        """Return one line per warning and a last one that counts."""
        lines = [str(Problem(**entry)) for entry in result["problems"]]
        count = result["warnings"]
        return "\n".join([*lines, f"No errors, {count} warning{'' if count == 1 else 's'}."])
