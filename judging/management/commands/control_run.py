"""`control_run`: pause, resume, cancel a run, or retry what failed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.jobs import launch_run
from judging.management import choices
from judging.management.run_progress import wait_for_run
from judging.management.run_reports import in_lines, run_report
from judging.services.tasks import run_lifecycle
from judging.states import RunRefused


class Command(JsonCommand):
    """Do to a run what its page can do."""

    help = "Pause, resume, cancel or retry a run, or show its progress."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("show", "pause", "resume", "cancel", "retry"))
        parser.add_argument("--run", type=int, required=True, help="id of the run")
        parser.add_argument("--budget", default="", help="with resume: maximum spend in US dollars")
        parser.add_argument(
            "--wait", action="store_true", help="with resume and retry: wait until the run has finished"
        )

    def run(self, **options: Any) -> JsonDict:
        run = choices.run_of(options["run"])
        budget = choices.dollars_of(options["budget"])
        if budget is not None and options["action"] != "resume":
            raise BadInput("--budget is only possible with resume.")
        try:
            with transaction.atomic():
                if budget is not None:
                    run_lifecycle.set_budget(run_id=run.pk, budget=budget, actor=None)
                _act(options["action"], run.pk)
        except RunRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        if options["wait"] and options["action"] in ("resume", "retry"):
            wait_for_run(run.pk, bar=not options["as_json"])
        return run_report(run.pk, with_figures=options["wait"] or options["action"] == "show")

    def summary(self, result: JsonDict) -> str:
        return in_lines(result)


def _act(action: str, run_id: int) -> None:
    if action == "pause":
        run_lifecycle.pause_run(run_id=run_id, actor=None)
    elif action == "cancel":
        run_lifecycle.cancel_run(run_id=run_id, actor=None, at=now())
    elif action == "resume":
        run = run_lifecycle.resume_run(run_id=run_id, actor=None)
        launch_run(run_id=run_id, waiting=run.waiting)
    elif action == "retry":
        launch_run(run_id=run_id, waiting=run_lifecycle.retry_failed(run_id=run_id, actor=None))
