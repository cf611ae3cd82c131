"""`report`: the figures of a page as text; each page shows its own command under Copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from django.core.management.base import CommandParser
from django.http import QueryDict

from evalsite.base.actions.commands import PRINTED_FORMATS, add_fields, add_report, printed_table, read_report
from evalsite.base.actions.reports import REPORTS, Report
from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from evalsite.management.gate_arguments import (
    Gate,
    end_by,
    gate_report,
    outcomes_of,
    read_gate,
    write_files,
)
from evalsite.reports.models import SavedView
from evalsite.reports.services.publications import EXIT_CODES, GatedBoard, RuleOutcome
from judging.actions.references import SUITE
from judging.statistics.estimates import MeanKind

DECLARED = {  # the module that declares each: what computes one takes long to load
    "agreement": "agreement",
    "board": "boards",
    "comparison": "boards",
    "judges": "judge_versions",
    "leaderboard": "boards",
    "debates": "debates",
    "arena": "debates",
    "robustness": "debates",
    "trust": "judge_versions",
    "pace": "agreement",
    "adjudications": "agreement",
    "golden": "golden",
    "golden-comparison": "golden",
    "spend": "spend",
    "results": "results",
    "charts": "results",
}


class LateParser(CommandParser):
    """A parser whose arguments are added when it is used."""

    fill: Callable[[CommandParser], object] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return what was given."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(args, namespace)


class Command(JsonCommand):
    """Print one table of a report for people, as CSV or for LaTeX, or all its figures as JSON."""

    help = "Print the figures of a report; each page of a report shows its command under Copy."
    requires_system_checks: list[str] = []  # as Django declares it

    def add_arguments(self, parser: CommandParser) -> None:
        """Add a sub-command for each report."""
        reports = parser.add_subparsers(dest="what", required=True, metavar="REPORT", parser_class=LateParser)
        for name in DECLARED:
            reports.add_parser(name).fill = partial(_add_declared, name=name)

    def handle(self, *args: object, **options: Any) -> None:
        """Print the report, then end by the rules for a pipeline."""
        self.outcomes: list[RuleOutcome] = []
        report = _declared(options["what"])
        mode = _mode_of(options)
        gate = read_gate(options, _rules(), noun=report, mode=mode) if _is_gated(report) else None
        if options.get("view"):
            options["field_query"] = _saved_query(options)
        shown, facts = read_report(report, options), {}
        if gate is not None and gate.is_asked:
            facts = self._apply(gate, _board(report, shown))
        if options["as_json"]:
            self.stdout.write(json.dumps({**report.facts(shown), **facts}, ensure_ascii=False, default=str))
        else:
            for text in printed_table(report, shown, options):
                self.stdout.write(text, ending="")
            others = [name for name in report.table_names if name != (options["table"] or report.table_names[0])]
            if others and not any(options[name] for name in PRINTED_FORMATS):
                self.stderr.write(f"Other tables (--table): {', '.join(others)}. All figures: --json.")
        end_by(self.outcomes)

    def _apply(self, gate: Gate, board: GatedBoard) -> JsonDict:
        """Apply the rules for a pipeline to a leaderboard, and return what became of them."""
        self.outcomes = outcomes_of(gate, [board])
        write_files(gate, self.outcomes, [board])
        return {"gate": gate_report(self.outcomes)}


def _declared(name: str) -> Report[Any]:
    """Return a declared report; what computes one takes long to load, so that only this one is."""
    import_module(f"evalsite.reports.actions.{DECLARED[name]}")
    return REPORTS[name]


def _add_declared(parser: CommandParser, name: str) -> None:
    report = _declared(name)
    add_report(parser, report)
    if _is_gated(report):
        add_fields(parser, _rules().base_fields)
        parser.epilog = EXIT_CODES
    if name == "results":
        parser.add_argument("--view", default="", help="name of a saved view, instead of --query")


def _rules() -> Any:
    """Return the form of the rules for a pipeline."""
    from evalsite.reports.forms import RulesForm  # takes long to load

    return RulesForm


def _is_gated(report: Report[Any]) -> bool:
    """Whether rules for a pipeline can be applied to a report."""
    return report.name in ("leaderboard", "comparison")


def _saved_query(options: JsonDict) -> str:
    """Return the choices of the saved view that is named. Raises: BadInput unless there is one of this name."""
    name, views = options["view"], SavedView.objects.order_by("name", "pk")
    if "field_suite" in options:
        views = views.filter(suite=SUITE.named(options["field_suite"]))
    matching = list(views.filter(name=name))
    if len(matching) == 1:
        return matching[0].query
    names = ", ".join(dict.fromkeys(views.values_list("name", flat=True)[:50])) or "none yet"
    problem = "Several people have saved a view" if matching else "There is no saved view"
    advice = "Use --query with what the page's address says after ?." if matching else f"Saved views: {names}."
    raise BadInput(f"{problem} “{name}” of this suite (--view). {advice}")


def _mode_of(options: JsonDict) -> str:
    """Return the mean that a leaderboard's tables are of, by its own option or by its address."""
    address = QueryDict(options.get("field_query", ""))
    return str(options.get("field_mode") or address.get("mode") or MeanKind.RAW)


def _board(report: Report[Any], shown: Any) -> GatedBoard:
    """Return the leaderboard that rules apply to: of a comparison, that of its two systems."""
    from evalsite.reports.services.leaderboards import compute_leaderboard  # takes long to load

    is_whole = report.name == "leaderboard"
    content = shown.content if is_whole else compute_leaderboard(shown.evaluator.pk, shown.options)
    return GatedBoard(shown.evaluator, content, shown.options)
