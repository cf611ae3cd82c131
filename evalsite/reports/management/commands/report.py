"""`report`: the figures of a page as text; each page shows its own command under Copy."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.verdicts import VerdictReading
from evalsite.base.command_base import JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import PAPER_TYPES, table_bytes
from evalsite.reports.management.report_sources import REPORTS
from judging.statistics.estimators.boards import MeanKind


class Command(JsonCommand):
    """Print a report: all its figures, or one of its tables as CSV, LaTeX or Markdown."""

    help = "Print the figures of a report; each page of a report shows its command under Copy."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to report, on what and in which form."""
        parser.add_argument("what", choices=tuple(REPORTS))
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--csv", action="store_true", help="print one table as CSV")
        form.add_argument("--tex", action="store_true", help="print one table for LaTeX, with booktabs rules")
        form.add_argument("--md", action="store_true", help="print one table as Markdown")
        parser.add_argument("--table", default="", help="name of the table; default: the main one")
        parser.add_argument(
            "--suite",
            default="",
            help="leaderboard, board, charts, results, comparison: id of a suite, or slug of a benchmark (newest)",
        )
        parser.add_argument(
            "--query", default="", help="charts, results, comparison: what the page's address says after ?"
        )
        parser.add_argument("--view", default="", help="results: name of a saved view")
        parser.add_argument("--run", type=int, help="leaderboard: the suite and evaluators of this run")
        parser.add_argument("--evaluator", default="", help="leaderboard: name of the grader or judge")
        parser.add_argument(
            "--mode",
            choices=[mode.value for mode in MeanKind],
            default=MeanKind.RAW.value,
            help="leaderboard: of the tables",
        )
        parser.add_argument(
            "--looks",
            choices=("once", "every"),
            default="once",
            help="leaderboard, judges, debates: intervals valid at every look",
        )
        parser.add_argument("--set", type=int, help="debates, arena: id of one set; default: all sets")
        parser.add_argument(
            "--experiment", type=int, help="arena, robustness: id of the experiment; robustness by default: the newest"
        )
        parser.add_argument(
            "--rule",
            choices=[rule.value for rule in OutcomeRule],
            default="",
            help="debates, arena: rule for the outcome",
        )
        parser.add_argument(
            "--reading",
            choices=[reading.value for reading in VerdictReading],
            default="",
            help="debates, arena: reading of verdicts",
        )
        parser.add_argument("--queue", default="", help="agreement: the queue's slug")
        parser.add_argument("--labels", default="", help="agreement: the slug of a table of imported labels")
        parser.add_argument("--from", default="", help="spend: the first day that is counted, such as 2026-01-31")
        parser.add_argument("--to", default="", help="spend: the last day that is counted")
        for name in ("scenario", "lang", "type", "criterion", "language"):
            parser.add_argument(f"--{name}", default="", help=f"include only this {name}")
        parser.add_argument("--skip-missing", action="store_true", help="leave out cases without a response")

    def run(self, **options: Any) -> JsonDict:
        """Return the report."""
        return REPORTS[options["what"]](options).content

    def handle(self, *args: object, **options: Any) -> None:
        """Print the report, or one of its tables."""
        format_name = next((name for name in ("csv", *PAPER_TYPES) if options[name]), "")
        if not format_name:
            super().handle(*args, **options)
            return
        table = REPORTS[options["what"]](options).table(options["table"], is_paper=format_name in PAPER_TYPES)
        for piece in table_bytes(table, format_name):
            self.stdout.write(piece.decode("utf-8"), ending="")
