"""Import responses of systems."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from judging.management.import_words import ImportCommand
from judging.services.file_imports.intake import ImportOptions
from judging.specs.replies.data_tables import TABLE_ENDINGS
from judging.specs.upload_kinds import UploadKind


class Command(ImportCommand):
    """import_responses PATH"""

    help = "Import responses: JSON Lines, CSV, XLSX, a responses folder with params.yaml, or ScaleEval's files."
    kinds = (
        UploadKind.RESPONSES_JSONL,
        UploadKind.RESPONSES_CSV,
        UploadKind.RESPONSES_FOLDER,
        UploadKind.SCALEEVAL_RESPONSES,
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        super().add_own_arguments(parser)
        parser.add_argument("--suite", type=int, help="id of the suite that is answered; the newest otherwise")
        parser.add_argument("--system", default="", help="who answered, where the file does not say so")
        parser.add_argument("--allow-missing-files", action="store_true", help="accept files that are named but absent")

    def options_of(self, options: dict[str, Any]) -> ImportOptions:
        # Beside a question, `answer` is a reference unless it is said who answered.
        is_table = options["path"].name.lower().endswith(TABLE_ENDINGS)
        return ImportOptions(
            kind=UploadKind.RESPONSES_CSV if is_table and options["system"] else "",
            benchmark=options["benchmark"],
            suite_id=options["suite"],
            system=options["system"],
            allow_missing_files=options["allow_missing_files"],
        )

    def other_kind_hint(self, found: tuple[UploadKind, ...]) -> str:
        if found != (UploadKind.QUESTIONS,):
            return ""
        return " If `answer` holds what a system answered, say which one with --system."
