"""Files of recorded debates on their way in: kept, checked by a worker, confirmed, and stored by a worker."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from debate.models import RecordUpload
from debate.services.record_imports import (
    Records,
    WrittenRecords,
    open_written,
    plan_records,
    read_records,
    use_records,
)
from evalsite.base.json_types import JsonDict
from judging import stop_requests
from judging.models import IN_WORK, ImportStatus
from judging.services.file_imports import upload_store
from judging.services.file_imports.import_batches import BatchLost
from judging.services.file_imports.import_progress import (
    ImportProgress,
    ImportStopped,
    ProgressWriter,
    forget_progress,
    read_progress,
)
from judging.services.file_imports.intake import bundle_of
from judging.services.file_imports.responses import UnknownCases
from judging.services.file_imports.upload_store import BytesGone
from judging.services.storable import storable
from judging.services.transactions import persistently
from judging.specs.files.problems import Parsed, Problem

PREFIX = "records/"
KEPT_FOR = timedelta(days=1)
LISTED = 200  # problems that the page shows


class RecordsNotReady(ValueError):
    """What was asked of an upload does not fit its status; the message says why."""


@transaction.atomic
def receive_records(*, file_name: str, data: bytes, actor: User | None, at: datetime) -> RecordUpload:
    """Keep a file for a worker to check, and remove files older than a day that no worker has to do with."""
    old = RecordUpload.objects.filter(created_at__lt=at - KEPT_FOR).exclude(status__in=IN_WORK)
    for upload in old:
        upload_store.drop_bytes(upload.bytes_name)
        upload.delete()
    upload = RecordUpload.objects.create(
        file_name=file_name[:300],
        bytes_name=PREFIX + uuid.uuid4().hex,
        status=ImportStatus.CHECKING,
        launches=1,
        created_at=at,
        created_by=actor,
    )
    upload_store.keep_bytes(name=upload.bytes_name, data=data, at=at)
    return upload


@transaction.atomic
def confirm_records(*, upload_id: int, actor: User) -> RecordUpload:
    """Mark a checked file to be stored; `debate.jobs.launch_record_import` also wakes a worker.

    Raises:
        RecordsNotReady: it is not checked yet, cannot be imported, or was confirmed before.
    """
    upload = RecordUpload.objects.select_for_update().get(pk=upload_id)
    if not upload.can_be_confirmed:
        raise RecordsNotReady("This file cannot be imported now: it is being checked, was confirmed, or has errors.")
    upload.result = {"confirmed_by": actor.pk}
    upload.status, upload.launches = ImportStatus.RUNNING, upload.launches + 1
    upload.save(update_fields=["result", "status", "launches"])
    return upload


@transaction.atomic
def cancel_records(*, upload_id: int) -> RecordUpload:
    """Stop the check or the import of a file. Nothing of it is stored; its bytes stay.

    Raises:
        RecordsNotReady: no worker has it in hand or is to take it.
    """
    upload = RecordUpload.objects.select_for_update().get(pk=upload_id)
    if upload.status == ImportStatus.DONE:
        raise RecordsNotReady("It was stored before it could be cancelled.")
    if not upload.is_in_work:
        raise RecordsNotReady("There is nothing to cancel: nobody is working on this file.")
    upload.status = ImportStatus.CANCELLED
    upload.save(update_fields=["status"])
    return upload


def unfinished_records() -> list[tuple[int, int]]:
    """Return id and launch of the files that wait for a worker or are in the hands of one."""
    return list(RecordUpload.objects.filter(status__in=IN_WORK).order_by("pk").values_list("pk", "launches"))


def records_progress(upload: RecordUpload) -> ImportProgress | None:
    """Return how far a worker is with a file; None where none has begun."""
    return read_progress(_progress_name(upload.pk)) if upload.is_in_work else None


def work_records(*, upload_id: int, now: Callable[[], datetime]) -> str:
    """Check or store a file that waits for it, and return its new status. Another one is left as it is."""
    upload = RecordUpload.objects.select_related("created_by").filter(pk=upload_id, status__in=IN_WORK).first()
    if upload is None:
        return "not waiting"
    name = _progress_name(upload.pk)
    watch = ProgressWriter(name, now=now, may_go_on=partial(_may_go_on, upload))
    try:
        watch("reading", 0, 0)
        parsed = _read(upload)
        if upload.status == ImportStatus.CHECKING or parsed.value is None:
            return _finish(upload, **_checked(parsed))
        with open_written(records=parsed.value, watch=watch) as written:
            return persistently(partial(_use, upload, written, now()))
    except ImportStopped:
        return "stopped"
    except (UnknownCases, BytesGone, BatchLost) as refusal:
        return _finish(upload, status=ImportStatus.FAILED, result=upload.result | {"error": str(refusal)})
    except Exception:
        error = "Something unexpected happened; nothing was stored. The site's log has the details."
        _finish(upload, status=ImportStatus.FAILED, result=upload.result | {"error": error})
        raise
    finally:
        forget_progress(name)


def _read(upload: RecordUpload) -> Parsed[Records]:
    bundle = bundle_of([("upload.zip", upload_store.read_bytes(upload.bytes_name))])
    if bundle.value is None:
        return Parsed(None, bundle.problems)
    parsed = read_records(bundle.value)
    return Parsed(parsed.value, (*bundle.problems, *parsed.problems))


def _checked(parsed: Parsed[Records]) -> JsonDict:
    found = {"problems": _listed(parsed.problems), "preview": _findings(parsed.problems)}
    if parsed.value is None:
        return found | {"status": ImportStatus.REFUSED}
    plan = plan_records(parsed.value)
    found["preview"] |= {
        "debates": plan.debates,
        "statements": plan.statements,
        "new": len(plan.new),
        "known": len(plan.known),
        "cells": [
            {
                "system_a": cell.system_a,
                "system_b": cell.system_b,
                "criterion": cell.criterion,
                "criterion_key": cell.criterion_key,
                "scenario": cell.scenario,
                "judges": list(cell.judges),
                "debates": len(cell.items),
                "is_new": cell.key in plan.new,
            }
            for cell in parsed.value.cells
        ],
    }
    return found | {"status": ImportStatus.CHECKED}


@transaction.atomic
def _use(taken: RecordUpload, written: WrittenRecords, at: datetime) -> str:
    """Take what was written into use, and the file is imported; nothing of it where it was cancelled meanwhile."""
    if not _rows_of(taken).select_for_update().exists():
        return "stopped"
    actor = User.objects.filter(pk=taken.result.get("confirmed_by")).first() or taken.created_by
    problems = use_records(written=written, actor=actor, at=at).problems
    found: JsonDict = {"status": ImportStatus.DONE}
    if problems:
        found |= {"problems": _listed(problems), "preview": taken.preview | _findings(problems)}
    return _write(taken, found)


def _finish(taken: RecordUpload, **fields: Any) -> str:
    """Write what came of a file, unless it was launched again since it was taken; without its bytes once it is done."""
    return persistently(partial(_write, taken, fields))


@transaction.atomic
def _write(taken: RecordUpload, fields: JsonDict) -> str:
    if not _rows_of(taken).update(**fields):
        return "stopped"
    if fields["status"] in (ImportStatus.DONE, ImportStatus.REFUSED):
        upload_store.drop_bytes(taken.bytes_name)  # they are not read again
    return str(fields["status"])


def _rows_of(taken: RecordUpload) -> QuerySet[RecordUpload]:
    """Return the file, unless it was cancelled or launched again since it was taken."""
    return RecordUpload.objects.filter(pk=taken.pk, status=taken.status, launches=taken.launches)


def _may_go_on(upload: RecordUpload) -> bool:
    """Return whether the file still waits for this work, and this process may do it; another takes it up else."""
    if stop_requests.requested():
        return False
    return _rows_of(upload).exists()


def _progress_name(upload_id: int) -> str:
    return f"records-{upload_id}"


def _listed(problems: Sequence[Problem]) -> Any:
    """Return the problems to list, errors first."""
    ordered = sorted(problems, key=lambda problem: problem.severity)
    return storable([asdict(problem) for problem in ordered[:LISTED]])


def _findings(problems: Sequence[Problem]) -> JsonDict:
    kinds = Counter(problem.code for problem in problems)
    return {"problem_count": len(problems), "kinds": [list(kind) for kind in kinds.most_common()]}
