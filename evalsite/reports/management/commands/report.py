"""`report`: the figures of a page (leaderboard, agreement, judges, debates, arena, robustness, spend) as text."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.verdicts import VerdictReading
from evalsite.base.command_base import JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import table_bytes
from evalsite.reports.management.report_sources import REPORTS
from judging.statistics.estimators.boards import MeanKind


class Command(JsonCommand):
    """Print a report: all its figures, or one of its tables as CSV or LaTeX."""

    help = "Print a leaderboard, agreement between people, judge quality, debates, the arena, robustness, or spending."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to report, on what and in which form."""
        parser.add_argument("what", choices=tuple(REPORTS))
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--csv", action="store_true", help="print one table as CSV")
        form.add_argument("--tex", action="store_true", help="print one table for LaTeX, with booktabs rules")
        parser.add_argument("--table", default="", help="name of the table for --csv or --tex; default: the main one")
        parser.add_argument("--suite", default="", help="leaderboard: id of a suite, or slug of a benchmark (newest)")
        parser.add_argument("--run", type=int, help="leaderboard: the suite and evaluators of this run")
        parser.add_argument("--evaluator", default="", help="leaderboard: name of the grader or judge")
        parser.add_argument(
            "--mode",
            choices=[mode.value for mode in MeanKind],
            default=MeanKind.RAW.value,
            help="leaderboard: of the tables",
        )
        parser.add_argument(
            "--looks", choices=("once", "every"), default="once", help="leaderboard: intervals valid at every look"
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
            choices=[one.value for one in VerdictReading],
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
        if not options["csv"] and not options["tex"]:
            super().handle(*args, **options)
            return
        table = REPORTS[options["what"]](options).table(options["table"], is_paper=options["tex"])
        for piece in table_bytes(table, "tex" if options["tex"] else "csv"):
            self.stdout.write(piece.decode("utf-8"), ending="")
