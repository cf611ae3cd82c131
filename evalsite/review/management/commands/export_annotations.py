"""`export_annotations QUEUE --output FILE`: all that people said in a queue, as `queue import-annotations` reads it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsite.accounts.audit import record
from evalsite.base.command_base import JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES, table_bytes
from evalsite.review.actions.references import QUEUE
from evalsite.review.selectors.annotation_exports import LABEL_STUDIO, annotations_table, label_studio_json
from judging.management.output import ProgressRows, check_output, write_output
from judging.management.progress import progress_bar


class Command(JsonCommand):
    """Write the file that a queue's page offers."""

    help = (
        "Write every annotation, skip and flag of a queue: who gave it, when, what it was about, what it led to. "
        "--format label-studio writes tasks as Label Studio exports them."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", help="slug of the queue")
        formats = (*CONTENT_TYPES, *DATA_TYPES, LABEL_STUDIO)
        parser.add_argument("--format", choices=formats, default="csv", dest="format_name")
        parser.add_argument("--output", required=True, help="file to write; - for standard output (without --json)")

    def run(self, **options: Any) -> JsonDict:
        check_output(options["output"], as_json=options["as_json"])
        queue = QUEUE.named(options["queue"])
        with progress_bar(shown=not options["as_json"] and options["output"] != "-") as watch:
            rows = ProgressRows(annotations_table(queue), watch)
            is_table = options["format_name"] != LABEL_STUDIO
            pieces = table_bytes(rows.table, options["format_name"]) if is_table else label_studio_json(queue)
            written = write_output(options["output"], pieces)
        record(None, "annotations.exported", queue, format=options["format_name"])
        counts = {"rows": rows.rows} if is_table else {}
        return {"queue": queue.slug, "output": options["output"], **counts, "bytes": written}

    def summary(self, result: JsonDict) -> str:
        """Say nothing on standard output where the table itself is there."""
        return "" if result["output"] == "-" else super().summary(result)
