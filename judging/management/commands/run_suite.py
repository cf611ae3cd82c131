"""`run_suite`: grade the responses of systems to a suite by rules, judges, or both; or run the ESI pipeline on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.actions.references import SUITE
from judging.actions.run_reports import audit_report, audit_words, estimate_report, in_lines, run_report
from judging.grading.esi import BadEsiOption
from judging.jobs import launch_run
from judging.management import choices
from judging.management.esi_arguments import NAMES as ESI_NAMES
from judging.management.esi_arguments import add_esi_arguments, esi_plan_of
from judging.management.people_arguments import add_audit_share, add_people, check_cost, people_fields
from judging.management.run_progress import wait_for_run
from judging.models import Case, Run, RunKind
from judging.services.baselines import ensure_baselines
from judging.services.esi_files import write_esi_files
from judging.services.runs.new_runs import create_run, estimate_new_run
from judging.services.runs.people_costs import people_cost_of_plan
from judging.services.runs.run_plans import EvaluatorChoice, RunNotPossible, RunPlan

GRADING_NAMES = (
    *("rules", "judges", "rubrics", "limit", "cases", "scenarios", "first_attempts"),
    *("compat", "baseline"),
)


class Command(JsonCommand):
    """Make a run and wake the workers; with --wait see it through and print what came out."""

    help = "Start a run; with --wait, print its results when it has finished."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--kind",
            choices=[RunKind.GRADING.value, RunKind.ESI.value],
            default=RunKind.GRADING.value,
            help="esi: Lunar-Bench's Efficiency, Safety, Integrity score of models or stored responses",
        )
        parser.add_argument("--suite", default="", help="id of a suite, slug of a benchmark, or slug@number")
        parser.add_argument("--systems", help='names separated by commas, or "all", the default unless models respond')
        parser.add_argument("--rules", action="store_true", help="grade by the rules of the cases")
        parser.add_argument("--judges", default="", help="names of judges, separated by commas")
        parser.add_argument(
            "--rubrics", default="", help="slugs (newest version), slug@version or ids, separated by commas"
        )
        parser.add_argument("--budget", default="", help="maximum spend in US dollars")
        choices.add_baseline(parser)
        choices.add_selection(parser)
        parser.add_argument("--seed", type=int, default=0, help="random seed of the cases that --limit draws")
        parser.add_argument("--first-attempts", type=int, help="only the first n attempts of each system")
        parser.add_argument("--fresh", action="store_true", help="do not reuse replies of earlier runs")
        add_people(parser)
        add_audit_share(parser)
        parser.add_argument("--compat", action="store_true", help="grade like InfiBench's own grader")
        parser.add_argument(
            "--without-images",
            action="store_true",
            help="let judges whose endpoint cannot see judge without images; their verdicts say so",
        )
        parser.add_argument("--name", default="")
        parser.add_argument("--estimate", action="store_true", help="print calls and cost without starting the run")
        parser.add_argument("--wait", action="store_true", help="wait until the run has finished or paused")
        add_esi_arguments(parser)

    def run(self, **options: Any) -> JsonDict:
        _check_options(options)
        ensure_baselines()
        try:
            with transaction.atomic():
                plan = esi_plan_of(options) if options["kind"] == RunKind.ESI else _plan(options)
                people_cost = people_cost_of_plan(plan)
                if options["estimate"]:
                    estimated = estimate_report(estimate_new_run(plan=plan, threads=settings.CALL_THREADS, at=now()))
                    transaction.set_rollback(True)  # items of a file are stored to be counted only
                    return estimated | audit_report(people_cost)
                self.stderr.write(audit_words(people_cost))
                check_cost(people_cost, options)
                run = create_run(plan=plan, actor=None, at=now())
                launch_run(run_id=run.pk, waiting=run.total)
        except (RunNotPossible, BadEsiOption) as refusal:
            raise BadInput(str(refusal)) from refusal
        if options["wait"]:
            run = wait_for_run(run.pk, bar=not options["as_json"])
        report = run_report(run.pk, with_figures=options["wait"]) | audit_report(people_cost)
        if options["output"]:
            report["files"] = _written(run, Path(options["output"]))
        return report

    def summary(self, result: JsonDict) -> str:
        return in_lines(result) if "run" in result else super().summary(result)


def _written(run: Run, folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return [str(path) for path in write_esi_files(run=run, folder=folder)]


def _check_options(options: JsonDict) -> None:
    """Refuse options that runs of the kind do not take."""
    kind = options["kind"]
    foreign = GRADING_NAMES if kind == RunKind.ESI else ESI_NAMES
    foreign_options = [
        name
        for name in foreign
        if options[name] is not None and options[name] is not False and options[name] not in ("", [])
    ]
    if foreign_options:
        raise BadInput(f"Runs of the kind {kind} do not take --{foreign_options[0].replace('_', '-')}.")
    if kind == RunKind.GRADING and not options["suite"]:
        raise BadInput("Name a suite (--suite).")
    if options["output"] and not options["wait"]:
        raise BadInput("The files of --output are written when the run has finished; add --wait.")


def _plan(options: JsonDict) -> RunPlan:
    attempts: int | None = options["first_attempts"]
    if attempts is not None and attempts < 1:
        raise BadInput("--first-attempts is a number from 1.")
    suite = SUITE.named(options["suite"])
    if options["rules"] and not Case.objects.filter(links__suite=suite).exclude(grading={}).exists():
        raise BadInput("No case of this suite has grading rules.")
    rules = [EvaluatorChoice()] if options["rules"] else []
    return RunPlan(
        suite=suite,
        systems=choices.systems_of(options["systems"] or "all", suite=suite),
        evaluators=[*rules, *choices.evaluators_of(options["judges"], options["rubrics"])],
        name=options["name"],
        first_attempts=attempts,
        compat=options["compat"],
        fresh=options["fresh"],
        **people_fields(options),
        budget=choices.dollars_of(options["budget"]),
        selection=choices.selection_of(options, suite=suite),
        without_images=options["without_images"],
        baseline=choices.baseline_of(options["baseline"]),
    )
