"""Import a suite of cases, or questions."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandParser

from evalsite.base.json_types import JsonDict
from judging.management.import_command import ImportCommand, add_map_argument, columns_of, read_suite_path
from judging.services.file_imports.intake import ImportOptions
from judging.specs.files.uploaded_files import Files
from judging.specs.upload_kinds import UploadKind


class Command(ImportCommand):
    """import_suite PATH"""

    help = "Import a suite: a YAML file with the files it names, a folder or ZIP, or questions (JSONL, CSV, XLSX)."
    kinds = (UploadKind.SUITE, UploadKind.QUESTIONS)

    def add_own_arguments(self, parser: CommandParser) -> None:
        super().add_own_arguments(parser)
        parser.add_argument("--name", default="", help="name of a new benchmark")
        add_map_argument(parser)
        parser.add_argument("--allow-missing-files", action="store_true", help="accept missing files")

    def read(self, path: Path) -> Files:
        return read_suite_path(path)

    def options_of(self, options: JsonDict) -> ImportOptions:
        return ImportOptions(
            benchmark=options["benchmark"] or options["name"],
            allow_missing_files=options["allow_missing_files"],
            columns=columns_of(options["map"]),
        )
