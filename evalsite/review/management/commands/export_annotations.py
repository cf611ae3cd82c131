"""`export_annotations QUEUE --output FILE`: all that people said in a queue, as `import_annotations` reads it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsite.accounts.audit import record
from evalsite.base.command_base import JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import CONTENT_TYPES, Table, table_bytes
from evalsite.review.management.lookups import queue_of
from evalsite.review.selectors.labels.provenance import act_rows
from evalsite.review.tables.annotations import COLUMNS
from judging.management.output import ProgressRows, check_output, write_output
from judging.management.progress import progress_bar


class Command(JsonCommand):
    """Write the file that a queue's page offers."""

    help = "Write every annotation, skip and flag of a queue, with who gave it, when, and what it led to."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", help="slug of the queue")
        parser.add_argument("--format", choices=tuple(CONTENT_TYPES), default="csv", dest="format_name")
        parser.add_argument("--output", required=True, help="file to write; - for standard output (without --json)")

    def run(self, **options: Any) -> JsonDict:
        check_output(options["output"], as_json=options["as_json"])
        queue = queue_of(options["queue"])
        with progress_bar(shown=not options["as_json"] and options["output"] != "-") as watch:
            rows = ProgressRows(Table("Annotations", COLUMNS, act_rows(queue)), watch)
            written = write_output(options["output"], table_bytes(rows.table, options["format_name"]))
        record(None, "annotations.exported", queue, format=options["format_name"])
        return {"queue": queue.slug, "output": options["output"], "rows": rows.rows, "bytes": written}

    def summary(self, result: JsonDict) -> str:
        """Say nothing on standard output where the table itself is there."""
        return "" if result["output"] == "-" else super().summary(result)
