"""Import responses of systems."""

from __future__ import annotations

from django.core.management.base import CommandParser

from evalsite.base.json_types import JsonDict
from judging.management.import_command import ImportCommand, add_map_argument, columns_of
from judging.services.file_imports.intake import ImportOptions
from judging.specs.replies.data_tables import TABLE_ENDINGS
from judging.specs.replies.response_formats import RESPONSE_FORMATS, TABLES
from judging.specs.upload_kinds import UploadKind


class Command(ImportCommand):
    """import_responses PATH"""

    help = "Import responses: JSON Lines, CSV, XLSX, a responses folder with params.yaml, or ScaleEval's files."
    kinds = (
        *RESPONSE_FORMATS,
        UploadKind.RESPONSES_FOLDER,
        UploadKind.SCALEEVAL_RESPONSES,
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        super().add_own_arguments(parser)
        parser.add_argument("--suite", type=int, help="id of the suite of the responses; default: the newest")
        parser.add_argument("--system", default="", help="system of the responses if the file does not name it")
        add_map_argument(parser)
        parser.add_argument("--allow-missing-files", action="store_true", help="accept missing files")

    def options_of(self, options: JsonDict) -> ImportOptions:
        # Beside a question, `answer` is a reference unless it is said who answered.
        is_table = options["path"].name.lower().endswith(TABLE_ENDINGS) and not options["map"]
        return ImportOptions(
            kind=TABLES.kind if is_table and options["system"] else "",
            benchmark=options["benchmark"],
            suite_id=options["suite"],
            system=options["system"],
            allow_missing_files=options["allow_missing_files"],
            columns=columns_of(options["map"]),
        )

    def other_kind_hint(self, kinds: tuple[str, ...]) -> str:
        if kinds != (UploadKind.QUESTIONS,):
            return ""
        return " If the column `answer` contains responses of a system, name the system with --system."
