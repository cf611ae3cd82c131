"""`control_run`: pause, resume, cancel, rename or archive a run, or retry what failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand, form_refusal
from evalsite.base.json_types import JsonDict
from judging.forms.runs import RunNameForm
from judging.jobs import launch_run
from judging.management import choices
from judging.management.run_progress import wait_for_run
from judging.management.run_reports import in_lines, run_report
from judging.models import Run
from judging.services.runs import run_archive
from judging.services.tasks import run_lifecycle
from judging.states import RunRefused


class Command(JsonCommand):
    """Do to a run what its page can do; a trial of a judge is a run as well."""

    help = "Pause, resume, cancel, retry, rename, archive or restore a run, or show its progress."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("show", *_ACTIONS))
        parser.add_argument("--run", type=int, required=True, help="id of the run")
        parser.add_argument("--budget", default="", help="with resume: maximum spend in US dollars")
        parser.add_argument("--name", help="with rename: the new name")
        parser.add_argument("--tags", help="with rename: all tags of the run, separated by commas")
        parser.add_argument(
            "--wait", action="store_true", help="with resume and retry: wait until the run has finished"
        )

    def run(self, **options: Any) -> JsonDict:
        run, action = choices.run_of(options["run"]), options["action"]
        _check_options(options)
        try:
            with transaction.atomic():
                if action in _ACTIONS:
                    _ACTIONS[action](run, options)
        except RunRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        if options["wait"] and action in ("resume", "retry"):
            wait_for_run(run.pk, bar=not options["as_json"])
        return run_report(run.pk, with_figures=options["wait"] or action == "show")

    def summary(self, result: JsonDict) -> str:
        return in_lines(result)


def _check_options(options: JsonDict) -> None:
    """Refuse options that the action does not take."""
    if options["budget"] and options["action"] != "resume":
        raise BadInput("--budget is only possible with resume.")
    is_named = options["name"] is not None or options["tags"] is not None
    if is_named != (options["action"] == "rename"):
        raise BadInput("rename takes --name, --tags or both; no other action does.")


def _pause(run: Run, _options: JsonDict) -> None:
    run_lifecycle.pause_run(run_id=run.pk, actor=None)


def _resume(run: Run, options: JsonDict) -> None:
    budget = choices.dollars_of(options["budget"])
    if budget is not None:
        run_lifecycle.set_budget(run_id=run.pk, budget=budget, actor=None)
    launch_run(run_id=run.pk, waiting=run_lifecycle.resume_run(run_id=run.pk, actor=None).waiting)


def _cancel(run: Run, _options: JsonDict) -> None:
    run_lifecycle.cancel_run(run_id=run.pk, actor=None, at=now())


def _retry(run: Run, _options: JsonDict) -> None:
    launch_run(run_id=run.pk, waiting=run_lifecycle.retry_failed(run_id=run.pk, actor=None))


def _rename(run: Run, options: JsonDict) -> None:
    """Give the run the name and the tags that are given; what is not given stays."""
    tags = options["tags"] if options["tags"] is not None else ", ".join(run.tags.values_list("name", flat=True))
    form = RunNameForm({"name": options["name"] if options["name"] is not None else run.name, "tags": tags})
    if not form.is_valid():
        raise form_refusal(form)
    run_lifecycle.rename_run(run_id=run.pk, name=form.cleaned_data["name"], actor=None)
    run_archive.tag_run(run_id=run.pk, tags=form.cleaned_data["tags"], actor=None)


def _archive(run: Run, _options: JsonDict) -> None:
    run_archive.archive_run(run_id=run.pk, actor=None, at=now())


def _restore(run: Run, _options: JsonDict) -> None:
    run_archive.restore_run(run_id=run.pk, actor=None)


_ACTIONS: dict[str, Callable[[Run, JsonDict], None]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "retry": _retry,
    "rename": _rename,
    "archive": _archive,
    "restore": _restore,
}
