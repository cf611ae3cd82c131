"""`export_rubric RUBRIC PATH`: a stored rubric as the workbook to edit and import again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.actions.references import RUBRIC
from judging.services.rubric_files import RubricNotTable, rubric_json, rubric_workbook_bytes


class Command(JsonCommand):
    """Write the file that a rubric's page offers."""

    help = "Write a rubric as a workbook, or as JSON if its shape is not a table."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("rubric", help="slug (newest version), slug@version or id")
        parser.add_argument("path", type=Path, help="file to write, ending in .xlsx, or .json")

    def run(self, **options: Any) -> JsonDict:
        rubric = RUBRIC.named(options["rubric"])
        path: Path = options["path"]
        ending = path.suffix.lower()
        if ending not in (".xlsx", ".json"):
            raise BadInput(f"{path}: a rubric is written as .xlsx or .json.")
        try:
            data = rubric_workbook_bytes(rubric) if ending == ".xlsx" else rubric_json(rubric)
            path.write_bytes(data)
        except RubricNotTable as refusal:
            raise BadInput(f"{refusal} Write it as .json.") from refusal
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}.") from error
        return {"rubric": rubric.slug, "version": rubric.version, "path": str(path), "bytes": len(data)}
