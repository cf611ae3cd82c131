"""`manage.py import_label_table PATH --queue NAME`: labels that people gave elsewhere, for the reports on agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.review.scales import words_of
from evalsite.review.services.label_tables import store_labels
from evalsite.review.tables.labels import LabelColumns, read_labels
from judging.management.base import BadInput, JsonCommand
from judging.specs.problems import Severity


class Command(JsonCommand):
    """Imports a whole file or nothing."""

    help = "Import labels from elsewhere: a CSV, XLSX or JSONL table (item, rater, label), or one column per rater."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--queue", default="", help="name of the table in the reports; the file's name otherwise")
        parser.add_argument("--labels", default="", help="the declared scale in its order, separated by commas")
        parser.add_argument("--item", default="", help="column that names the item")
        parser.add_argument("--rater", default="", help="column that names the rater, in a long table")
        parser.add_argument("--label", default="", help="column of the label, in a long table")
        parser.add_argument("--at", default="", help="column of the time, in a long table")
        parser.add_argument("--raters", default="", help="columns of the raters in a wide table, separated by commas")
        parser.add_argument("--dry-run", action="store_true", help="read and check, store nothing")

    def run(self, **options: Any) -> dict[str, Any]:
        """Return what was read and, unless it was a dry run, where its report is."""
        path: Path = options["path"]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
        columns = LabelColumns(
            options["item"], options["rater"], options["label"], options["at"], words_of(options["raters"])
        )
        parsed = read_labels(data, path.name, columns=columns, labels=words_of(options["labels"]))
        told = [str(problem) for problem in parsed.problems]
        if parsed.value is None:
            errors = [one for one in parsed.problems if one.severity is Severity.ERROR]
            raise BadInput("\n".join(f"{one.file} {one.place}: {one.message} {one.hint}".strip() for one in errors))
        found = parsed.value
        facts = {
            "items": len(found.items),
            "labels": found.n_labels,
            "raters": list(found.raters),
            "scale": list(found.labels),
            "warnings": told,
        }
        if options["dry_run"]:
            return {"dry_run": True, **facts}
        name = options["queue"] or path.stem
        table = store_labels(name=name, file_name=path.name, found=found, actor=None, at=timezone.now())
        return {"table": table.slug, "address": table.get_absolute_url(), **facts}
