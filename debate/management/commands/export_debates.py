"""`export_debates SET --format csv|jsonl|zip --output FILE`: debates with all that was said, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.management.base import CommandParser

from debate.actions.references import DEBATE_SET
from debate.models import DebateSet
from debate.selectors import sets_by_id
from debate.services.set_tables import TABLE_FORMATS, TABLES, debate_table, replication_archive
from evalsite.accounts.audit import record
from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Table, table_bytes
from judging.management.output import ProgressRows, check_output, write_output
from judging.management.progress import progress_bar


class Command(JsonCommand):
    """Write one table of some sets of debates, or everything in a ZIP archive."""

    help = "Write debates, votes, statements, orders or costs as CSV or JSONL, or all tables as a ZIP archive."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to write and where."""
        parser.add_argument("sets", nargs="+", metavar="SET", help="ids or names of sets of debates")
        parser.add_argument("--format", choices=(*TABLE_FORMATS, "zip"), default="csv", dest="format_name")
        parser.add_argument("--table", choices=TABLES, help="table to write as csv or jsonl; default: debates")
        parser.add_argument("--output", required=True, help="file to write; - for standard output (without --json)")

    def run(self, **options: Any) -> JsonDict:
        """Write the file and say what it holds."""
        check_output(options["output"], as_json=options["as_json"])
        sets = _sets(options["sets"])
        if options["format_name"] == "zip" and options["table"]:
            raise BadInput("A ZIP archive contains every table; leave out --table, or choose csv or jsonl.")
        counted: dict[str, ProgressRows] = {}
        with progress_bar(shown=not options["as_json"] and options["output"] != "-") as watch:

            def count(table: Table) -> Table:
                counted[table.name] = ProgressRows(table, watch)
                return counted[table.name].table

            written = write_output(options["output"], _pieces(sets, options, count))
        rows = {name: counted_table.rows for name, counted_table in counted.items()}
        for debate_set in sets:
            record(None, "report.exported", debate_set, format=options["format_name"], rows=rows)
        return {"output": options["output"], "format": options["format_name"], "rows": rows, "bytes": written}

    def summary(self, result: JsonDict) -> str:
        """Say nothing on standard output where the table itself is there."""
        if result["output"] == "-":
            return ""
        rows = ", ".join(f"{count:,} {name}" for name, count in result["rows"].items())
        return f"{result['output']}: {rows}, {result['bytes']:,} bytes."


def _pieces(sets: list[DebateSet], options: JsonDict, count: Callable[[Table], Table]) -> Iterable[bytes]:
    if options["format_name"] == "zip":
        return replication_archive(sets, watch=count)
    return table_bytes(count(debate_table(options["table"] or "debates", sets)), options["format_name"])


def _sets(named: list[str]) -> list[DebateSet]:
    return sets_by_id([DEBATE_SET.named(text).pk for text in named])
