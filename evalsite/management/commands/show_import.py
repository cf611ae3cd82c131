"""`show_import`: what an import stored, read from the database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from judging.models import ImportStatus, Upload
from judging.services.file_imports.stored_imports import stored_rows


class Command(JsonCommand):
    """show_import ID"""

    help = "Show what an import stored, from the database, in the form of the preview of `import --dry-run --json`."

    def add_own_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("upload", type=int, nargs="?", help="id of the import, as in the address of its page")
        which.add_argument("--last", action="store_true", help="the newest import")

    def run(self, **options: Any) -> JsonDict:
        rows = Upload.objects.filter(status=ImportStatus.DONE).order_by("-pk")
        upload = (rows if options["last"] else rows.filter(pk=options["upload"])).first()
        if upload is None:
            raise BadInput("There is no such import." if not options["last"] else "Nothing was imported yet.")
        return {"import": upload.pk, "file": upload.file_name, "stored": stored_rows(upload)}

    def summary(self, result: JsonDict) -> str:
        """Return the counts."""
        numbers = ((part, sum(1 for _ in rows)) for part, rows in result["stored"].items())
        counts = (f"{number:,} {part}" for part, number in numbers if number)
        return f"Import {result['import']} of {result['file']}: {', '.join(counts) or 'nothing'}."
