"""`report leaderboard | agreement | judges | debates | robustness`: the figures of a page on standard output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from debate.models import DebateSet, Experiment, ExperimentKind
from debate.selectors.records import debates_report
from evalsite.reports import jobs
from evalsite.reports.forms import agreement_options, leaderboard_choice
from evalsite.reports.selectors.leaderboards import evaluators_of, suite_named
from evalsite.reports.services.agreements import AGREEMENT
from evalsite.reports.services.breakdowns import BREAKDOWN
from evalsite.reports.services.judge_reports import JUDGES
from evalsite.reports.services.label_agreements import LABEL_AGREEMENT
from evalsite.reports.services.leaderboards import LEADERBOARD
from evalsite.reports.services.payloads import Payload
from evalsite.reports.services.robustness_reports import ROBUSTNESS
from evalsite.review.models import LabelTable, Queue
from judging.management.base import BadInput, JsonCommand
from judging.models import EvaluatorKind, Run, RunEvaluator


def _leaderboard(options: dict[str, Any]) -> Payload:
    evaluator = _evaluator(options)
    query = {name: options[name] for name in ("scenario", "lang", "type")}
    query["missing"] = "skip" if options["skip_missing"] else ""
    choice = leaderboard_choice(query)
    now = timezone.now()
    payload = jobs.require(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=now)
    if evaluator.kind != EvaluatorKind.GRADER:
        return payload
    return payload | {"breakdown": jobs.require(BREAKDOWN, subject_id=evaluator.pk, options={}, at=now)}


def _evaluator(options: dict[str, Any]) -> RunEvaluator:
    if options["run"] is not None:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise BadInput(f"There is no run {options['run']}.")
        suite_id, only = run.suite_id, run.pk
    else:
        suite = suite_named(options["suite"])
        if suite is None:
            raise BadInput("Name a suite (--suite, its id or its benchmark's slug) or a run (--run).")
        suite_id, only = suite.pk, None
    choices = evaluators_of([suite_id])[suite_id]
    name = options["evaluator"]
    if not name and only is None:
        picked = choices.pick("")
    else:
        of_run = [board for board in choices.every if board.evaluator.run_id == only]
        boards = choices.fullest if only is None else of_run
        picked = next((board for board in boards if name in ("", board.evaluator.name)), None)
    if picked is None:
        known = ", ".join(sorted({board.evaluator.name for board in choices.every})) or "nobody"
        raise BadInput(f"No scores by “{name or 'any evaluator'}”. Scored by: {known}.")
    return picked.evaluator


def _agreement(options: dict[str, Any]) -> Payload:
    if options["queue"] and options["labels"]:
        raise BadInput("Name a queue (--queue) or a table of imported labels (--labels), not both.")
    kind = LABEL_AGREEMENT if options["labels"] else AGREEMENT
    slug = options["labels"] or options["queue"]
    subject_id = _slugged(LabelTable, slug) if options["labels"] else _slugged(Queue, slug)
    if subject_id is None:
        queues = f"Queues: {_known(Queue)}."
        tables = f"Label tables: {_known(LabelTable)}."
        missing = "label table" if options["labels"] else "queue"
        raise BadInput(f"There is no {missing} “{slug}”. {queues} (--queue) {tables} (--labels)")
    return jobs.require(kind, subject_id=subject_id, options=agreement_options(options), at=timezone.now())


def _slugged(model: type[Queue] | type[LabelTable], slug: str) -> int | None:
    return model._default_manager.filter(slug=slug).values_list("pk", flat=True).first()


def _known(model: type[Queue] | type[LabelTable]) -> str:
    return ", ".join(model._default_manager.order_by("slug").values_list("slug", flat=True)[:50]) or "none yet"


def _judges(options: dict[str, Any]) -> Payload:
    return jobs.require(JUDGES, subject_id=0, options={}, at=timezone.now())


def _debates(options: dict[str, Any]) -> Payload:
    sets = DebateSet.objects.order_by("pk")
    if options["set"] is not None:
        sets = sets.filter(pk=options["set"])
        if not sets.exists():
            raise BadInput(f"There is no set of debates {options['set']}.")
    return debates_report(sets.select_related("system_a", "system_b", "rubric"))


def _robustness(options: dict[str, Any]) -> Payload:
    experiments = Experiment.objects.filter(kind=ExperimentKind.ROBUSTNESS).order_by("-created_at", "-pk")
    wanted = options["experiment"]
    found = experiments.first() if wanted is None else experiments.filter(pk=wanted).first()
    if found is None:
        known = ", ".join(str(pk) for pk in experiments.values_list("pk", flat=True)[:50]) or "none yet"
        missing = "robustness experiment yet" if wanted is None else f"robustness experiment {wanted}"
        raise BadInput(f"There is no {missing} (--experiment). Experiments: {known}.")
    payload = jobs.require(ROBUSTNESS, subject_id=found.pk, options={}, at=timezone.now())
    return {"experiment": {"id": found.pk, "name": found.name}} | payload


REPORTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "leaderboard": _leaderboard,
    "agreement": _agreement,
    "judges": _judges,
    "debates": _debates,
    "robustness": _robustness,
}


class Command(JsonCommand):
    """Print a report."""

    help = "Print a leaderboard, agreement between people, judge quality, outcomes of debates, or robustness."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add what to report and on what."""
        parser.add_argument("what", choices=tuple(REPORTS))
        parser.add_argument("--suite", default="", help="leaderboard: id of a suite, or slug of a benchmark (newest)")
        parser.add_argument("--run", type=int, help="leaderboard: the suite and evaluators of this run")
        parser.add_argument("--evaluator", default="", help="leaderboard: name of the grader or judge")
        parser.add_argument("--set", type=int, help="debates: id of one set; all sets without it")
        parser.add_argument("--experiment", type=int, help="robustness: id of the experiment; the newest without it")
        parser.add_argument("--queue", default="", help="agreement: the queue's slug")
        parser.add_argument("--labels", default="", help="agreement: the slug of a table of imported labels")
        for name in ("scenario", "lang", "type", "criterion"):
            parser.add_argument(f"--{name}", default="", help=f"only this {name}")
        parser.add_argument("--skip-missing", action="store_true", help="leave out cases without a response")

    def run(self, **options: Any) -> dict[str, Any]:
        """Return the report."""
        return REPORTS[options["what"]](options)
