"""What can be done with the jobs of the broker, and with what takes pages of the whole site."""

from __future__ import annotations

from dataclasses import asdict

from django import forms
from django.conf import settings

from evalsite.base.actions.declarations import ActionCall, NoInput, noun_without_rows
from evalsite.base.actions.reports import BeingComputed
from evalsite.base.http import SentFile
from evalsite.base.tables import ZIP
from evalsite.base.types import JsonDict, Refused
from evalsite.job_queues import JobQueues, change_failed_job, read_job_queues
from evalsite.reports.actions.publications import BOARDS
from judging.models import Suite


class BoardPagesForm(forms.Form):
    """What of a leaderboard is sent as pages."""

    query = forms.CharField(
        required=False, label="Choices", help_text="As the address of the leaderboard's page says them after ?."
    )
    rows = forms.IntegerField(
        min_value=1, max_value=5_000, initial=300, label="Rows", help_text="How many rows of results, at most."
    )


@BOARDS.one("export-pages", permission="reports.view_snapshot", form=BoardPagesForm, sends_file=[ZIP])
def export_pages(act: ActionCall[Suite, BoardPagesForm]) -> SentFile:
    """Send a leaderboard, its results and the texts of their rows as a ZIP archive of pages without scripts."""
    from evalsite.reports.views.boards import board_pages  # takes long to load

    query, rows = act.data["query"], act.data["rows"]
    try:
        return board_pages(suite=act.subject, query=query, actor=act.actor, most_rows=rows)
    except BeingComputed:
        raise Refused("A worker computes this leaderboard for the first time; try again in a minute.") from None


ADMINS = "accounts.view_auditentry"
JOBS = noun_without_rows(
    "job",
    "jobs",
    help="Show what the broker runs, has waiting and failed at; queue a failed job again, or discard it.",
    permission=ADMINS,
)


class FailedJobForm(forms.Form):
    """One failed job."""

    queue = forms.ChoiceField(choices=[(name, name) for name in settings.RQ_QUEUES], help_text="Its queue.")
    job = forms.CharField(max_length=200, label="Id", help_text="Its id, as `overview` shows it.")


def _in_lines(facts: JsonDict) -> str:
    lines = [f"{len(facts['workers'])} workers" + (f". {facts['problem']}" if facts["problem"] else "")]
    for name in ("running", "waiting", "scheduled", "failed"):
        rows = facts[name]["rows"]
        lines += [f"{name}  {row['queue']}  {row['pk']}  {row['title']}  {row['reason']}" for row in rows]
    return "\n".join(lines)


@JOBS.new("overview", permission=ADMINS, form=NoInput, is_dry=True, shown=asdict, lines=_in_lines)
def overview(_act: ActionCall[None, NoInput]) -> JobQueues:
    """Show the workers, and the running, waiting, scheduled and failed jobs."""
    return read_job_queues()


@JOBS.new("requeue", permission=ADMINS, form=FailedJobForm, said=lambda _job: "The job was queued again.")
def requeue(act: ActionCall[None, FailedJobForm]) -> JsonDict:
    """Queue a failed job again."""
    change_failed_job(queue_name=act.data["queue"], job_id=act.data["job"], actor=act.actor, delete=False)
    return act.data


@JOBS.new("discard", permission=ADMINS, form=FailedJobForm, said=lambda _job: "The job was deleted.")
def discard(act: ActionCall[None, FailedJobForm]) -> JsonDict:
    """Delete a failed job with its traceback. Runs and imports are still continued by the next worker."""
    change_failed_job(queue_name=act.data["queue"], job_id=act.data["job"], actor=act.actor, delete=True)
    return act.data
