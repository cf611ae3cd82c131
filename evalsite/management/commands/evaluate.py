"""`evaluate SUITE --systems a b --judges x --wait`: from a suite to its leaderboard in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.utils.timezone import now

from evalsite.base.actions.commands import add_by, add_fields, entered_of, refused_by_option
from evalsite.base.actions.declarations import acting_person, columns
from evalsite.base.actions.entries import perform
from evalsite.base.command_base import JsonCommand
from evalsite.base.formats import figure_in_numbers, scale_of_figure
from evalsite.base.rows import BadInput, done_through, pick
from evalsite.base.types import JsonDict
from evalsite.management.gate_arguments import (
    Gate,
    end_by,
    gate_lines,
    gate_report,
    outcomes_of,
    read_gate,
    write_files,
)
from evalsite.management.import_command import PROBLEMS_PRINTED, read_paths
from evalsite.reports.forms import RunRulesForm
from evalsite.reports.services.leaderboards import board_of_run
from evalsite.reports.services.publications import EXIT_CODES, GatedBoard, RuleOutcome, RuleStatus
from evalsite.reports.services.snapshots import ReportContent
from judging.actions.progress import wait_for_run
from judging.actions.references import SUITE
from judging.actions.run_reports import in_lines, run_report
from judging.actions.runs import create, estimate
from judging.forms.runs import asked_choices
from judging.models import Run, RunEvaluator, Suite
from judging.models.runs import RunStatus
from judging.selectors.runs import read_asks
from judging.services.file_imports.imports import ImportRefused, store_import
from judging.services.file_imports.intake import ImportOptions
from judging.services.judges import ensure_baselines

# what a run asks for besides the suite and the systems, which are named otherwise here
FIELDS = {name: field for name, field in create.fields.items() if name not in ("suite", "systems", "asked")}


class Command(JsonCommand):
    """Import the suite where a path names it, ask, grade, judge, and print the leaderboards."""

    help = "Ask systems for a suite, grade and judge their responses, and with --wait print the leaderboards."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the suite, who answers, who judges, and limits."""
        parser.add_argument(
            "suite", help="a suite file (YAML), folder or ZIP; or id, slug or slug@number of a stored one"
        )
        parser.add_argument(
            "--systems",
            nargs="+",
            required=True,
            metavar="NAME",
            help="systems that answer here, endpoints, which are asked the plain question, or systems with stored "
            "responses",
        )
        add_fields(parser, FIELDS)
        add_by(parser)
        parser.add_argument("--estimate", action="store_true", help="print calls and cost without starting the run")
        parser.add_argument("--wait", action="store_true", help="wait for the run and print the leaderboards")
        add_fields(parser, RunRulesForm.base_fields)
        parser.epilog = EXIT_CODES

    def handle(self, *args: object, **options: Any) -> None:
        """Print the report, then end by the rules for a pipeline."""
        self.outcomes: list[RuleOutcome] = []
        super().handle(*args, **options)
        end_by(self.outcomes)

    def run(self, **options: Any) -> JsonDict:
        """Start the run, and with --wait see it through."""
        gate = read_gate(options, RunRulesForm, noun=create.noun)
        if gate.is_asked and not options["wait"]:
            raise BadInput("Rules for a pipeline apply to a finished run: add --wait.")
        ensure_baselines()
        with refused_by_option(), done_through("command"):
            actor = acting_person(options["by"], permission=create.permission)
            suite = self._suite(options["suite"], actor)
            entered = entered_of(FIELDS, options) | _systems(suite, options["systems"])
            if options["estimate"]:
                return estimate.shown(perform(estimate, None, entered, actor=actor, at=now()))
            run: Run = perform(create, None, entered, actor=actor, at=now())
        if options["wait"]:
            run = wait_for_run(run.pk, bar=not options["as_json"])
        boards = [GatedBoard(row, board_of_run(row), {}) for row in _evaluators(run)] if options["wait"] else []
        report = run_report(run.pk, with_figures=False)
        report["asked"] = [ask_facts(row) for row in read_asks(run)]
        report["leaderboards"] = [
            {
                "evaluator": board.evaluator.name,
                "is_baseline": board.evaluator.is_baseline,
                "cases": board.content["n_cases"],
                "systems": [_row(row) for row in board.content["rows"]],
            }
            for board in boards
        ]
        return report | self._gated(gate, run, boards)

    def _gated(self, gate: Gate, run: Run, boards: list[GatedBoard]) -> JsonDict:
        """Apply the rules to the boards, of baselines only where there is nothing else, and write their files."""
        if not gate.is_asked:
            return {}
        chosen = [board for board in boards if not board.evaluator.is_baseline] or boards
        self.outcomes = outcomes_of(gate, chosen)
        if run.status != RunStatus.FINISHED or not chosen:
            words = f"The run is {run.get_status_display().lower()}, with {len(chosen)} leaderboards."
            self.outcomes.append(RuleOutcome("a finished run with scores", "all", "run", RuleStatus.TOO_FEW, words))
        write_files(gate, self.outcomes, chosen)
        return {"gate": gate_report(self.outcomes)}

    def _suite(self, name: str, actor: User | None) -> Suite:
        """Return a stored suite, or the one that a path holds, which is imported unless it is stored already."""
        path = Path(name)
        if not path.exists():
            return SUITE.named(name)
        try:
            result = store_import(
                files=read_paths([path]), options=ImportOptions(), source=path.name, actor=actor, at=now()
            )
        except ImportRefused as refusal:
            for problem in refusal.problems[1:PROBLEMS_PRINTED]:  # the refusal says the first
                self.stderr.write(str(problem))
            raise BadInput(str(refusal)) from refusal
        if not result.get("suite_id"):
            raise BadInput(f"{path}: this contains no suite. Import it, then name the suite that it belongs to.")
        return Suite.objects.select_related("benchmark").get(pk=result["suite_id"])

    def summary(self, result: JsonDict) -> str:
        """Return the run and its leaderboards as lines."""
        if "run" not in result:
            return super().summary(result)
        lines = [in_lines(result)]
        for row in result["asked"]:
            missing = "".join(f", {count} {words}" for words, count in row["missing"].items())
            lines.append(f"{row['system']}: {row['responses']} of {row['asked']} responses{missing}")
        for board in result["leaderboards"]:
            lines += ["", f"Leaderboard by {board['evaluator']}" + (", a baseline" if board["is_baseline"] else "")]
            lines += [_line(row) for row in board["systems"]]
        return "\n".join([*lines, "", *gate_lines(self.outcomes)] if self.outcomes else lines)


def _systems(suite: Suite, names: list[str]) -> dict[str, int | list[str]]:
    """Return the suite, whom of these it asks, and whose stored responses it takes."""
    offered, endpoints = asked_choices()
    askable = [*(label for _, label in offered), *endpoints]
    responding = create.form(None, {"suite": suite}, None).responding_systems
    known = dict.fromkeys([*askable, *(system.name for system in responding)])
    chosen = [pick(known, name, names_of=lambda each: [each], what="system or endpoint") for name in names]
    asked = [name for name in chosen if name in askable]
    return {"suite": suite.pk, "asked": asked, "systems": [name for name in chosen if name not in asked]}


def _evaluators(run: Run) -> list[RunEvaluator]:
    rows = RunEvaluator.objects.filter(run=run, done__gt=0).select_related("run__suite__benchmark", "rubric")
    return list(rows.order_by("position"))


ask_facts = columns(
    *("system.name as system", "requested as asked", "responses", "cut_off", "waiting"),
    missing=lambda row: dict(row.missing),
)


def _row(row: ReportContent) -> JsonDict:
    """Return a system's mean as numbers of its scale, with the scale, and as pages show it."""
    raw = row["figures"]["raw"]
    scale, mean = scale_of_figure(raw), figure_in_numbers(raw)
    shown = "–" if raw["value"] is None else scale.whole_words(raw["value"])
    if raw["low"] is not None:
        shown += f" [{scale.words(raw['low'])}, {scale.words(raw['high'])}]"
    figures = {"mean": mean["value"], **{name: mean[name] for name in ("low", "high", "scale")}, "shown": shown}
    counts = {name: row[name] for name in ("scored", "unscored", "missing")}
    return {"system": row["system"], **figures, "rank": row["ranks"]["raw"], **counts}


def _line(row: JsonDict) -> str:
    counted = f"{row['scored']} scored, {row['missing']} without a response, {row['unscored']} without a score"
    return f"  {row['system']:<40} {row['shown']}  {counted}"
