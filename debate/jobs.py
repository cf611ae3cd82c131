"""What starts debates and the import of recorded ones.

Debates are held by `judging.jobs.work_run`, which calls this app's executor.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_rq import job

from debate.models import DebateSet, Experiment, RecordUpload
from debate.selectors.sets import sets_of_experiment
from debate.services import record_uploads
from debate.services.experiments import create_robustness, create_round_robin
from debate.services.pairs import DebateWish
from debate.services.set_plans import create_debate_set
from judging import jobs
from judging.models import System

logger = logging.getLogger(__name__)


@transaction.atomic
def launch_debates(*, wish: DebateWish, actor: User | None, at: datetime) -> DebateSet:
    """Store a set of debates and wake workers for it once the transaction commits.

    Raises:
        DebatesRefused: the debates cannot be held as wished.
    """
    debate_set = create_debate_set(wish=wish, actor=actor, at=at)
    _launch([debate_set])
    return debate_set


@transaction.atomic
def launch_round_robin(*, wish: DebateWish, systems: Sequence[System], actor: User | None, at: datetime) -> Experiment:
    """Store a set for every two systems and wake workers for them once the transaction commits.

    Raises:
        DebatesRefused: see `create_round_robin`.
    """
    made = create_round_robin(wish=wish, systems=systems, actor=actor, at=at)
    _launch(sets_of_experiment(made))
    return made


@transaction.atomic
def launch_robustness(*, wish: DebateWish, seed: int, use_given: bool, actor: User | None, at: datetime) -> Experiment:
    """Store a set for each condition of a criterion and wake workers for them once the transaction commits.

    Raises:
        DebatesRefused: see `create_robustness`.
    """
    made = create_robustness(wish=wish, seed=seed, use_given=use_given, actor=actor, at=at)
    _launch(sets_of_experiment(made))
    return made


def _launch(sets: Sequence[DebateSet]) -> None:
    for debate_set in sets:
        if debate_set.run is not None:
            jobs.launch_run(run_id=debate_set.run.pk, waiting=debate_set.run.total)


@job("default")
def work_records(upload_id: int) -> None:
    """Check a file of recorded debates, or store a confirmed one. Safe to repeat: what is stored is left as it is."""
    status = record_uploads.work_records(upload_id=upload_id, now=timezone.now)
    logger.info("debate.records_worked upload_id=%s status=%s", upload_id, status)


@transaction.atomic
def launch_record_check(*, file_name: str, data: bytes, actor: User, at: datetime) -> RecordUpload:
    """Keep a file of recorded debates and wake a worker that checks it."""
    upload = record_uploads.receive_records(file_name=file_name, data=data, actor=actor, at=at)
    transaction.on_commit(partial(jobs.wake_worker, work_records, upload.pk, upload.launches))
    return upload


@transaction.atomic
def launch_record_import(*, upload_id: int, actor: User) -> RecordUpload:
    """Confirm a checked file and wake a worker that stores it.

    Raises:
        RecordsNotReady: it cannot be stored now.
    """
    upload = record_uploads.confirm_records(upload_id=upload_id, actor=actor)
    transaction.on_commit(partial(jobs.wake_worker, work_records, upload.pk, upload.launches))
    return upload


def resume_records() -> int:
    """Queue every file to be checked or stored that no worker has in hand; return how many."""
    waiting = record_uploads.unfinished_records()
    return sum(jobs.wake_worker(work_records, upload_id, launch) for upload_id, launch in waiting)
