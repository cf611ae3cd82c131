"""Import a rubric."""

from __future__ import annotations

from django.core.management.base import CommandParser

from evalsite.base.json_types import JsonDict
from judging.management.import_command import ImportCommand
from judging.services.file_imports.intake import ImportOptions
from judging.specs.upload_kinds import UploadKind


class Command(ImportCommand):
    """import_rubric PATH"""

    help = "Import a rubric: a level workbook or table of criteria (XLSX, CSV), or a tree (YAML, JSON)."
    kinds = (UploadKind.LEVEL_RUBRIC,)

    def add_own_arguments(self, parser: CommandParser) -> None:
        super().add_own_arguments(parser)
        parser.add_argument("--name", default="", help="name of the rubric; an existing name adds a version")

    def options_of(self, options: JsonDict) -> ImportOptions:
        return ImportOptions(kind=UploadKind.LEVEL_RUBRIC, benchmark=options["benchmark"], rubric=options["name"])
