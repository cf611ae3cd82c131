"""`export_scores --run ID | --suite ID --format csv|xlsx|jsonl --output FILE`: every score, streamed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evalsite.reports.exports import FORMATS, Table, score_table, table_bytes
from evalsite.reports.selectors.leaderboards import suite_named
from judging.exports import write_esi_files
from judging.management.base import BadInput, JsonCommand
from judging.models import Run, RunKind
from judging.signals import acted


class Command(JsonCommand):
    """Write every score of a run or a suite to a file."""

    help = "Write every score of a run, or of all runs over a suite, as CSV, XLSX or JSONL."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to write and where."""
        parser.add_argument("--run", type=int, help="id of the run")
        parser.add_argument("--suite", default="", help="id of the suite, or slug of a benchmark (its newest suite)")
        parser.add_argument("--format", choices=FORMATS, default="csv", dest="format_name")
        parser.add_argument(
            "--layout",
            choices=("scores", "esi"),
            default="scores",
            help="esi: an index run in the original's three files for each system, with --output a folder",
        )
        parser.add_argument("--output", required=True, help="file to write; - for standard output (without --json)")

    def run(self, **options: Any) -> dict[str, Any]:
        """Write the file and say what it holds."""
        if options["layout"] == "esi":
            return _write_esi(options)
        table, subject, subject_id = _scores(options)
        counted = _Counted(table)
        output = options["output"]
        if output == "-" and options["as_json"]:
            raise BadInput("Give --output a file: with --json, standard output is taken by the result.")
        pieces = table_bytes(Table(table.name, table.columns, counted), options["format_name"])
        written = 0
        if output == "-":
            for piece in pieces:
                written += sys.stdout.buffer.write(piece)
        else:
            written = _write(Path(output), pieces)
        detail = {"table": "scores", "format": options["format_name"], "rows": counted.rows}
        acted.send(
            sender=Table,
            actor_id=None,
            action="report.exported",
            subject=subject[:200],
            subject_id=subject_id,
            detail=detail,
        )
        return {"output": output, "format": options["format_name"], "rows": counted.rows, "bytes": written}

    def summary(self, result: dict[str, Any]) -> str:
        """Say nothing on standard output where the table itself is there."""
        return "" if result["output"] == "-" else super().summary(result)


def _write_esi(options: dict[str, Any]) -> dict[str, Any]:
    run = Run.objects.select_related("suite").filter(pk=options["run"] or 0, kind=RunKind.ESI).first()
    if run is None:
        raise BadInput("Name an index run with --run; other runs have no such files.")
    folder = Path(options["output"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = write_esi_files(run=run, folder=folder)
    except OSError as error:
        raise BadInput(f"Cannot write to {folder}: {error.strerror}.") from error
    acted.send(
        sender=Run,
        actor_id=None,
        action="report.exported",
        subject=run.name,
        subject_id=run.pk,
        detail={"table": "esi", "format": "files", "files": len(written)},
    )
    return {"output": str(folder), "files": [path.name for path in written]}


class _Counted:
    """Rows that count themselves as they are written."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.rows = 0

    def __iter__(self) -> Any:
        for row in self._table.rows:
            self.rows += 1
            yield row


def _write(path: Path, pieces: Any) -> int:
    try:
        with path.open("wb") as file:
            return sum(file.write(piece) for piece in pieces)
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror}.") from error


def _scores(options: dict[str, Any]) -> tuple[Table, str, int]:
    if options["run"] is not None:
        run = Run.objects.select_related("suite").filter(pk=options["run"]).first()
        if run is None:
            raise BadInput(f"There is no run {options['run']}.")
        return score_table(run=run), run.name, run.pk
    suite = suite_named(options["suite"])
    if suite is None:
        raise BadInput("Name a run (--run) or a suite (--suite, its id or its benchmark's slug).")
    return score_table(suite=suite), str(suite), suite.pk
