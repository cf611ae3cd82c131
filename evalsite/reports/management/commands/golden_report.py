"""`golden_report SET [--compare A B] [--csv | --tex | --md]`: versions of judges against people, or two of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.base.tables import PAPER_TYPES, Table, table_bytes
from evalsite.reports import jobs
from evalsite.reports.services.golden.golden_comparisons import VersionComparison, compare_versions
from evalsite.reports.services.golden.golden_figures import GOLDEN
from evalsite.reports.services.golden.golden_tables import comparison_tables, version_tables
from evalsite.reports.services.paper_tables import data_table, paper_table
from evalsite.reports.services.report_content import ReportContent
from evalsite.review.management.golden import set_of, version_of
from evalsite.review.models import GoldenSet


class Command(JsonCommand):
    """Of the test it has figures only of versions that it was opened for."""

    help = "Print how versions of judges agree with people on a golden set, or how two of them differ."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the set and the two versions."""
        parser.add_argument("golden_set", help="name of the golden set")
        parser.add_argument(
            "--compare",
            nargs=2,
            metavar=("BEFORE", "AFTER"),
            help="two versions on development: the name of a judge (its newest version) or the beginning of a key",
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--csv", action="store_true", help="print one table as CSV")
        form.add_argument("--tex", action="store_true", help="print one table for LaTeX, with booktabs rules")
        form.add_argument("--md", action="store_true", help="print one table as Markdown")
        parser.add_argument(
            "--table",
            default="",
            help="development, development-labels, test or test-labels; with --compare: comparison or flips",
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Print the figures, or one table."""
        format_name = next((name for name in ("csv", *PAPER_TYPES) if options[name]), "")
        if not format_name:
            super().handle(*args, **options)
            return
        for piece in table_bytes(_table(options, is_paper=format_name in PAPER_TYPES), format_name):
            self.stdout.write(piece.decode("utf-8"), ending="")

    def run(self, **options: Any) -> JsonDict:
        """Return the figures."""
        golden_set = set_of(options["golden_set"])
        if options["compare"]:
            before, after = (version_of(golden_set, name) for name in options["compare"])
            comparison = compare_versions(golden_set, before.evaluator, after.evaluator)
            return {"before": before.key, "after": after.key} | comparison_facts(comparison)
        return {"golden_set": golden_set.name} | _content(golden_set)

    def summary(self, result: JsonDict) -> str:
        """Return a line for each version; the flips are left to --json."""
        if "flips" in result:
            return super().summary({key: value for key, value in result.items() if key != "flips"})
        lines = []
        for part in ("development", "test"):
            for row in result[part]:
                agreement, kappa = (row[name]["value"] for name in ("agreement", "kappa"))
                opened = f", opened {row['opened_before']} times before" if part == "test" else ""
                shown = [f"{value:.3f}" if value is not None else "too few" for value in (agreement, kappa)]
                lines.append(
                    f"{part}{opened}: {row['name']} ({row['key'][:12]}): agreement {shown[0]}, kappa {shown[1]}, "
                    f"{row['items']} responses, {row['unread']} unread"
                )
        return "\n".join(lines) or "No version has been run on this golden set yet."


def _content(golden_set: GoldenSet) -> ReportContent:
    return jobs.require(GOLDEN, subject_id=golden_set.pk, options={}, at=timezone.now())


def _table(options: JsonDict, *, is_paper: bool) -> Table:
    golden_set = set_of(options["golden_set"])
    if options["compare"]:
        before, after = (version_of(golden_set, name) for name in options["compare"])
        comparison = compare_versions(golden_set, before.evaluator, after.evaluator)
        tables = comparison_tables(golden_set, before, after, comparison)
    else:
        tables = version_tables(golden_set, _content(golden_set))
    table_name = options["table"] or next(iter(tables))
    if table_name not in tables:
        raise BadInput(f"There is no table “{table_name}” here. Tables: {', '.join(tables)}. (--table)")
    return paper_table(tables[table_name]) if is_paper else data_table(tables[table_name])


def comparison_facts(comparison: VersionComparison) -> JsonDict:
    """Return a comparison as an object."""
    return {
        "responses": comparison.responses,
        "difference": asdict(comparison.difference),
        "paired": asdict(comparison.paired),
        "gains": comparison.gains,
        "losses": comparison.losses,
        "flips": [
            {
                "item": flip.before.golden_id,
                "response": flip.before.response_id,
                "case": flip.before.case_key,
                "people": flip.before.people,
                "before": flip.before.judge,
                "after": flip.after.judge,
            }
            for flip in comparison.flips
        ],
    }
