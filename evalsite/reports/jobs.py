"""Computes reports in the background, and gives pages the best report there is now."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic

from django.db.models import QuerySet
from django.utils import timezone
from django_rq import job

from evalsite.base.actions.reports import BeingComputed
from evalsite.reports.models import OfficialBoard, StoredGate
from evalsite.reports.selectors.leaderboards import (
    Options,
    board_options,
    evaluators_of,
    fingerprint,
    first_graders,
    graders_of,
)
from evalsite.reports.services import snapshots
from evalsite.reports.services.snapshots import CachedReport, ReportKind, Result
from evalsite.review.models import Queue
from judging.models import SCORED_KINDS, EvaluatorKind, Run
from judging.services.long_jobs import enqueue_once

logger = logging.getLogger(__name__)

REST = timedelta(seconds=60)  # between two computations of a long report whose data keeps changing
GATE_REST = timedelta(minutes=10)  # between two checks of a gate: labels move corrected means without a run


@dataclass(frozen=True, slots=True)
class ReportState(Generic[Result]):
    """What a page can show now. Without a content the report is being computed for the first time."""

    content: Result | None
    computed_at: datetime | None
    is_current: bool
    is_computing: bool
    rows: bytes = b""  # what the items behind the figures are found in, where they were asked for


def obtain(
    kind: ReportKind[Result], *, subject_id: int, options: Options, at: datetime, with_rows: bool = False
) -> ReportState[Result]:
    """Return the current report; a short one is computed at once, a long one in a job while the last one is shown."""
    cached = snapshots.find(kind, subject_id=subject_id, options=options, with_rows=with_rows)
    if cached is not None and cached.is_current:
        return _current(cached)
    if snapshots.is_small(kind, subject_id=subject_id, options=options):
        return _current(snapshots.compute(kind, subject_id=subject_id, options=options, at=at))
    if cached is not None and at - cached.computed_at < REST:
        return ReportState(cached.content, cached.computed_at, is_current=False, is_computing=False, rows=cached.rows)
    if not launch_report(kind.name, subject_id=subject_id, options=options):
        return _current(snapshots.compute(kind, subject_id=subject_id, options=options, at=at))
    if cached is None:
        return ReportState(None, None, is_current=False, is_computing=True)
    return ReportState(cached.content, cached.computed_at, is_current=False, is_computing=True, rows=cached.rows)


def content_of(kind: ReportKind[Result], *, subject_id: int, options: Options, at: datetime, waits: bool) -> Result:
    """Return the figures: computed now where necessary if the reader waits, else those that the page shows now.

    Raises:
        BeingComputed: there are none yet.
    """
    read = require if waits else content_shown
    return read(kind, subject_id=subject_id, options=options, at=at)


def content_shown(kind: ReportKind[Result], *, subject_id: int, options: Options, at: datetime) -> Result:
    """Return the figures that the report's page shows now, for downloads: a long report is computed in a job only.

    Raises:
        BeingComputed: there are none yet.
    """
    content = obtain(kind, subject_id=subject_id, options=options, at=at).content
    if content is None:
        raise BeingComputed
    return content


def require(kind: ReportKind[Result], *, subject_id: int, options: Options, at: datetime) -> Result:
    """Return the current content, computed now where necessary: for commands and jobs."""
    return snapshots.up_to_date(kind, subject_id=subject_id, options=options, at=at).content


def _current(cached: CachedReport[Result]) -> ReportState[Result]:
    return ReportState(cached.content, cached.computed_at, is_current=True, is_computing=False, rows=cached.rows)


def _kinds() -> dict[str, ReportKind[Any]]:
    """Return every kind of report by name; imported late, for each process starts with this module and few compute."""
    from evalsite.reports.services.kinds import KINDS

    return KINDS


@job("default")
def compute_report(kind_name: str, subject_id: int, options: dict[str, object]) -> None:
    """Compute one report. Safe to repeat: the new report replaces the one before it."""
    require(_kinds()[kind_name], subject_id=subject_id, options=options, at=timezone.now())


def launch_report(kind_name: str, *, subject_id: int, options: Options) -> bool:
    """Queue one report unless it is queued already; return False where there is no broker."""
    job_id = f"report-{kind_name}-{subject_id}-{fingerprint(options)}"
    return enqueue_once(compute_report, kind_name, subject_id, dict(options), job_id=job_id) is not None


@job("default")
def refresh_run(run_id: int) -> None:
    """Compute the leaderboards of a run's evaluators, its results and the judges' figures. Safe to repeat."""
    from evalsite.reports.services.suite_boards import check_gates, note_lapses

    run = Run.objects.get(pk=run_id)
    now = timezone.now()
    kinds = _kinds()
    if run.kind in SCORED_KINDS:
        boards = evaluators_of([run.suite_id])[run.suite_id]
        shown = (*boards.fullest, *(board for board in boards.every if board.evaluator.run_id == run.pk))
        for evaluator_id, kind in {board.evaluator.pk: board.evaluator.kind for board in shown}.items():
            require(kinds["leaderboard"], subject_id=evaluator_id, options={}, at=now)
            if kind == EvaluatorKind.GRADER:
                require(kinds["breakdown"], subject_id=evaluator_id, options={}, at=now)
        graders = graders_of(run.suite_id)
        for grader in graders:
            if any(evaluator.run_id == run.pk for evaluator in grader.evaluators):
                require(kinds["results"], subject_id=grader.key, options=grader.options, at=now)
        official = OfficialBoard.objects.filter(suite=run.suite_id).first()
        options = board_options(first_graders(graders, official))
        require(kinds["suite-board"], subject_id=run.suite_id, options=options, at=now)
        require(kinds["run-results"], subject_id=run_id, options={}, at=now)
        check_gates(StoredGate.objects.filter(suite=run.suite_id), at=now)
    note_lapses(run=run, at=now)
    require(kinds["judges"], subject_id=0, options={}, at=now)
    logger.info("reports.run_refreshed run_id=%s", run_id)


@job("default")
def check_old_gates() -> None:
    """Check every gate whose last check is some time ago: labels came, or a run that it saw was removed."""
    from evalsite.reports.services.suite_boards import check_gates

    now = timezone.now()
    check_gates(_old_gates(now), at=now)


def launch_gate_checks() -> int:
    """Queue a look at the gates that nothing has checked for some time; return how many those are."""
    count = _old_gates(timezone.now()).count()
    return count if count and enqueue_once(check_old_gates, job_id="report-gates") else 0


def _old_gates(at: datetime) -> QuerySet[StoredGate]:
    return StoredGate.objects.filter(checked_at__lte=at - GATE_REST)


@job("default")
def refresh_judges() -> None:
    """Compute the judges' figures. Safe to repeat."""
    require(_kinds()["judges"], subject_id=0, options={}, at=timezone.now())


@job("default")
def refresh_queue(queue_id: int) -> None:
    """Compute a queue's agreement, unless it is short (its page does so) or was computed within the last minute."""
    queue = Queue.objects.filter(pk=queue_id).first()
    kind, now = _kinds()["agreement"], timezone.now()
    if queue is None or snapshots.is_small(kind, subject_id=queue_id, options={}):
        return
    cached = snapshots.find(kind, subject_id=queue_id, options={})
    if cached is None or (not cached.is_current and now - cached.computed_at >= REST):
        snapshots.compute(kind, subject_id=queue_id, options={}, at=now)
        logger.info("reports.queue_refreshed queue_id=%s", queue_id)


def launch_run_refresh(run_id: int) -> None:
    """Queue the reports that a finished run changes."""
    enqueue_once(refresh_run, run_id, job_id=f"report-run-{run_id}")


def launch_judges_refresh() -> None:
    """Queue the judges' figures."""
    enqueue_once(refresh_judges, job_id="report-judges")


def launch_queue_refresh(queue_id: int) -> None:
    """Queue the agreement of a queue."""
    enqueue_once(refresh_queue, queue_id, job_id=f"report-queue-{queue_id}")
