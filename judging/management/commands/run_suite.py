"""`run_suite`: grade the responses of systems to a suite by rules, judges, or both."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand
from judging.forms.runs import pair_judges
from judging.jobs import launch_run
from judging.judges.registry import judge_kind
from judging.management import choices
from judging.management.run_progress import wait_for_run
from judging.management.run_reports import audit_report, audit_words, in_lines, run_report
from judging.models import Case, Judge
from judging.services.baselines import ensure_baselines
from judging.services.runs.estimates import RunEstimate, estimate_run
from judging.services.runs.people_costs import people_cost_of_plan
from judging.services.runs.run_plans import EvaluatorChoice, RunNotPossible, RunPlan, create_run


class Command(JsonCommand):
    """Make a run and wake the workers; with --wait see it through and print what came out."""

    help = "Start a run; with --wait, print its figures when it has ended."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--suite", required=True, help="id of a suite, slug of a benchmark, or slug@number")
        parser.add_argument("--systems", default="all", help='names separated by commas, or "all"')
        parser.add_argument("--rules", action="store_true", help="grade by the rules that the cases hold")
        parser.add_argument("--judges", default="", help="names of judges, separated by commas")
        parser.add_argument("--rubrics", default="", help="slugs (newest version), slug@version or ids, by commas")
        parser.add_argument("--budget", default="", help="US dollars that may be spent at most")
        choices.add_selection(parser)
        parser.add_argument("--seed", type=int, default=0, help="of the cases that --limit draws")
        parser.add_argument("--first-attempts", type=int, help="only the first n attempts of each system")
        parser.add_argument("--fresh", action="store_true", help="reuse no reply of earlier runs")
        parser.add_argument("--no-review", action="store_true", help="send nothing to people when the run ends")
        parser.add_argument(
            "--audit-share", type=float, help="share of the cases that people check at random, 0 to 1; the site's else"
        )
        parser.add_argument("--compat", action="store_true", help="grade as the original InfiBench program did")
        parser.add_argument("--name", default="")
        parser.add_argument("--estimate", action="store_true", help="print calls and cost; start nothing")
        parser.add_argument("--wait", action="store_true", help="until the run has ended or paused")

    def run(self, **options: Any) -> dict[str, Any]:
        ensure_baselines()
        plan = _plan(options)
        asked = people_cost_of_plan(plan)
        if options["estimate"]:
            return _estimated(estimate_run(plan=plan, threads=settings.CALL_THREADS, at=now())) | audit_report(asked)
        self.stderr.write(audit_words(asked))
        try:
            with transaction.atomic():
                run = create_run(plan=plan, actor=None, at=now())
                launch_run(run_id=run.pk, waiting=run.total)
        except RunNotPossible as refusal:
            raise BadInput(str(refusal)) from refusal
        if options["wait"]:
            wait_for_run(run.pk, bar=not options["as_json"])
        return run_report(run.pk, with_figures=options["wait"]) | audit_report(asked)

    def summary(self, result: dict[str, Any]) -> str:
        return in_lines(result) if "run" in result else super().summary(result)


def _plan(options: dict[str, Any]) -> RunPlan:
    attempts: int | None = options["first_attempts"]
    if attempts is not None and attempts < 1:
        raise BadInput("--first-attempts is a number from 1.")
    suite = choices.suite_of(options["suite"])
    if options["rules"] and not Case.objects.filter(links__suite=suite).exclude(grading={}).exists():
        raise BadInput("No case of this suite says how rules would grade it.")
    share: float | None = options["audit_share"]
    if share is not None and not 0 <= share <= 1:
        raise BadInput("--audit-share is a share from 0 to 1.")
    return RunPlan(
        suite=suite,
        systems=choices.systems_of(options["systems"], suite=suite),
        evaluators=[*([EvaluatorChoice()] if options["rules"] else []), *_judges(options)],
        name=options["name"],
        first_attempts=attempts,
        compat=options["compat"],
        fresh=options["fresh"],
        asks_people=not options["no_review"],
        audit_share=share,
        budget=choices.dollars_of(options["budget"]),
        selection=choices.selection_of(options, suite=suite),
    )


def _judges(options: dict[str, Any]) -> list[EvaluatorChoice]:
    rubrics = choices.rubrics_of(options["rubrics"])
    judges: list[Judge] = choices.judges_of(options["judges"])
    pairwise = [judge.name for judge in judges if "pair" in judge_kind(judge.kind).needs]
    if pairwise:
        raise BadInput(f"{', '.join(pairwise)} compares two answers; use run_debates.")
    chosen, lacking = pair_judges(judges, rubrics)
    if lacking:
        raise BadInput(f"{lacking[0].name} needs a rubric that fits it; name one with --rubrics.")
    unused = [str(rubric) for rubric in rubrics if not any(choice.rubric == rubric for choice in chosen)]
    if unused:
        raise BadInput(f"No chosen judge judges by {', '.join(unused)}.")
    return chosen


def _estimated(estimate: RunEstimate) -> dict[str, Any]:
    return {
        "tasks": estimate.tasks,
        "calls": estimate.calls,
        "calls_already_made": estimate.made,
        "prompt_tokens": estimate.prompt_tokens,
        "cost": None if estimate.cost is None else str(estimate.cost),
        "most_cost": None if estimate.most is None else str(estimate.most),
        "unpriced": list(estimate.unpriced),
        "seconds": estimate.seconds,
    }
