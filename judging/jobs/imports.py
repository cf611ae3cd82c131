"""Storing confirmed uploads, and waking a worker for them."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_rq import get_queue, job
from redis.exceptions import RedisError
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus

from judging.models import Upload
from judging.services import uploads

logger = logging.getLogger(__name__)

_IN_HAND = frozenset({JobStatus.QUEUED, JobStatus.STARTED, JobStatus.SCHEDULED, JobStatus.DEFERRED})


@job("default")
def work_import(upload_id: int) -> None:
    """Store a confirmed upload. Safe to repeat: what is stored already is left as it is."""
    status = uploads.import_upload(upload_id=upload_id, now=timezone.now)
    logger.info("judging.import_worked upload_id=%s status=%s", upload_id, status)


@transaction.atomic
def launch_import(*, upload: Upload, actor: User, at: datetime) -> Upload:
    """Confirm an upload and wake a worker for it. Without a broker it waits for `resume_imports`.

    Raises:
        UploadRefused: the upload has errors, or was confirmed already.
    """
    upload = uploads.confirm_upload(upload=upload, actor=actor, at=at)
    transaction.on_commit(partial(_wake_worker, upload.pk))
    return upload


def resume_imports() -> int:
    """Queue every confirmed upload that no worker has in hand; return how many. Called as `resume_runs` is."""
    waiting = uploads.unfinished_uploads()
    return sum(_wake_worker(upload_id) for upload_id in waiting)


def _wake_worker(upload_id: int) -> bool:
    """Return whether a job was queued; it is not where one is queued or in work already."""
    job_id = f"import-{upload_id}"
    try:
        queue = get_queue("default")
        try:
            known = Job.fetch(job_id, connection=queue.connection, serializer=queue.serializer)
            if known.get_status() in _IN_HAND:
                return False
        except NoSuchJobError:
            pass
        queue.enqueue(work_import, upload_id, job_id=job_id, result_ttl=0, failure_ttl=0)
    except RedisError as error:  # no broker now: the next worker finds the upload
        logger.warning("judging.import_postponed upload_id=%s error=%s", upload_id, type(error).__name__)
        return False
    return True
