"""`export_scores --run ID | --suite ID --format FORMAT --output FILE`: every score, streamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from debate.models import DebateSet
from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES, Table, table_bytes
from evalsite.reports.actions.tables import SCORES
from judging.actions.references import RUN, SUITE
from judging.management.output import ProgressRows, check_output, write_output
from judging.management.progress import progress_bar
from judging.models import Run, RunKind, Score
from judging.services.esi_files import write_esi_files


class Command(JsonCommand):
    """Write every score of a run or a suite to a file."""

    help = "Export all scores of a run, or of all runs of a suite, as a table of the format that is named."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to write and where."""
        parser.add_argument("--run", help="id or name of the run")
        parser.add_argument("--suite", default="", help="id of the suite, or slug of a benchmark (its newest suite)")
        parser.add_argument("--format", choices=(*CONTENT_TYPES, *DATA_TYPES), default="csv", dest="format_name")
        parser.add_argument(
            "--layout",
            choices=("scores", "esi"),
            default="scores",
            help="esi: an ESI run as three files per system, as Lunar-Bench writes them; --output is a folder",
        )
        parser.add_argument("--output", required=True, help="file to write; - for standard output (without --json)")

    def run(self, **options: Any) -> JsonDict:
        """Write the file and say what it holds."""
        if options["layout"] == "esi":
            return _write_esi(options)
        check_output(options["output"], as_json=options["as_json"])
        table, subject, subject_id = _scores(options)
        with progress_bar(shown=not options["as_json"] and options["output"] != "-") as watch:
            counted = ProgressRows(table, watch)
            written = write_output(options["output"], table_bytes(counted.table, options["format_name"]))
        facts = {"table": "scores", "format": options["format_name"], "rows": counted.rows}
        record(None, "report.exported", NamedSubject(subject, subject_id), **facts)
        return {"output": options["output"], "format": options["format_name"], "rows": counted.rows, "bytes": written}

    def summary(self, result: JsonDict) -> str:
        """Say nothing on standard output where the table itself is there."""
        return "" if result["output"] == "-" else super().summary(result)


def _write_esi(options: JsonDict) -> JsonDict:
    run = RUN.named(options["run"]) if options["run"] is not None else None
    if run is None or run.kind != RunKind.ESI:
        raise BadInput("Choose an ESI run with --run; other runs have no such files.")
    folder = Path(options["output"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with progress_bar(shown=not options["as_json"]) as watch:
            written = write_esi_files(run=run, folder=folder, watch=watch)
    except OSError as error:
        raise BadInput(f"Cannot write to {folder}: {error.strerror}.") from error
    record(None, "report.exported", run, table="esi", format="files", files=len(written))
    return {"output": str(folder), "files": [path.name for path in written]}


def _scores(options: JsonDict) -> tuple[Table, str, int]:
    if options["run"] is not None:
        run = RUN.named(options["run"])
        if run.kind == RunKind.DEBATE:
            raise BadInput(_debates_instead(run))
        return SCORES.data(Score.objects.filter(run=run)), run.name, run.pk
    if not options["suite"]:
        raise BadInput("Name a run (--run) or a suite (--suite).")
    suite = SUITE.named(options["suite"])
    return SCORES.data(Score.objects.filter(run__suite=suite)), str(suite), suite.pk


def _debates_instead(run: Run) -> str:
    set_id = DebateSet.objects.filter(run=run).values_list("pk", flat=True).first()
    return f"Run {run.pk} holds debates, which have votes and no scores. Use export_debates {set_id or 'SET'} instead."
