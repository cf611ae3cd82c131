"""`resume_runs`: queue again every run with unfinished work that nobody does."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import JsonCommand
from evalsite.base.types import JsonDict
from judging import jobs
from judging.actions.progress import wait_for_run
from judging.services.leases import unfinished_runs


class Command(JsonCommand):
    """What workers do by themselves at start and every half minute."""

    help = "Queue unfinished runs again after the loss of a worker or the broker."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--wait", action="store_true", help="wait until each run has finished or paused")

    def run(self, **options: Any) -> dict[str, list[int]]:
        runs = [run.pk for run in unfinished_runs()]
        jobs.resume_runs()
        for run_id in runs if options["wait"] else []:
            wait_for_run(run_id, bar=not options["as_json"])
        return {"runs": runs}

    def summary(self, result: JsonDict) -> str:
        return f"Queued again: {', '.join(map(str, result['runs'])) or 'none'}."
