"""Uploads: received, checked, confirmed, stored by a job or discarded."""

from __future__ import annotations

import io
import logging
import uuid
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.base.row_locks import lock_row
from judging import stop_requests
from judging.models import IN_WORK, ImportStatus, Upload
from judging.services.file_imports import upload_store
from judging.services.file_imports.file_readers import CheckedFiles, WrittenFiles, check_files
from judging.services.file_imports.import_batches import BatchLost
from judging.services.file_imports.import_progress import (
    ImportProgress,
    ImportStopped,
    ProgressWriter,
    forget_progress,
    read_progress,
)
from judging.services.file_imports.imports import ImportRefused
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.responses import UnknownCases
from judging.services.file_imports.rubrics import RubricOrigin
from judging.services.file_imports.staged_rubrics import unwatched
from judging.services.file_imports.upload_store import BytesMissing
from judging.services.storable import storable
from judging.services.transactions import persistently
from judging.specs.files.problems import Problem
from judging.specs.files.uploaded_files import Files

logger = logging.getLogger(__name__)

PREFIX = "imports/"
# Larger uploads are checked by a worker. This much YAML takes 0.4 s to read, the slowest of all that is read; as a
# workbook it is 660 rows. Counted unpacked: 256 KiB of ZIP can hold as much as 256 MiB.
CHECK_AT_ONCE_BYTES = 256 * 1024


class UploadRefused(ValueError):
    """What was asked of an upload does not fit its status; the message says why."""


def is_quick(files: Files) -> bool:
    """Return whether the files are small enough to be checked while a browser waits."""
    return sum(_unpacked_size(data) for _, data in files) <= CHECK_AT_ONCE_BYTES


def _unpacked_size(data: bytes) -> int:
    if not data.startswith(b"PK"):
        return len(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return len(data)


@transaction.atomic
def check_upload(*, files: Files, options: ImportOptions, actor: User | None, at: datetime, kind: str = "") -> Upload:
    """Keep the files, read them and return the upload with its dry run. Nothing else is stored.

    Raises:
        UploadRefused: there are no files, or more bytes than the site takes.
    """
    upload = _received(files, actor, at)
    _note(upload, check_files(kind, files, options, unwatched), options)
    _store_files(files, upload)
    upload.save()
    logger.info("judging.upload_checked upload_id=%s status=%s", upload.pk, upload.status)
    return upload


@transaction.atomic
def receive_upload(*, files: Files, options: ImportOptions, actor: User | None, at: datetime, kind: str = "") -> Upload:
    """Keep the files for a worker to check; `judging.jobs.launch_check` also wakes one.

    Raises:
        UploadRefused: there are no files, or more bytes than the site takes.
    """
    upload = _received(files, actor, at)
    upload.kind, upload.options, upload.status, upload.launches = kind, options.as_json(), ImportStatus.CHECKING, 1
    _store_files(files, upload)
    upload.save()
    return upload


def _received(files: Files, actor: User | None, at: datetime) -> Upload:
    total = sum(len(data) for _, data in files)
    if not files:
        raise UploadRefused("Choose at least one file.")
    if total > settings.UPLOAD_MEGABYTES * 2**20:
        raise UploadRefused(
            f"The files have {total:,} bytes; the limit of this site is {settings.UPLOAD_MEGABYTES} MiB."
        )
    return Upload(
        file_name=_shown_name(files),
        bytes_name=PREFIX + uuid.uuid4().hex,
        byte_count=total,
        content_hash=_hash_of(files),
        created_at=at,
        created_by=actor,
    )


def recheck_upload(*, upload: Upload, options: ImportOptions) -> Upload:
    """Read a kept upload again, with other options or after the database changed.

    Raises:
        UploadRefused: it is being worked on, or was imported.
    """
    _check_can_recheck(upload)
    _note(upload, check_files(upload.kind, read_files(upload), options, unwatched), options)
    upload.result = {}
    upload.save()
    return upload


@transaction.atomic
def queue_recheck(*, upload: Upload, options: ImportOptions) -> Upload:
    """Mark a kept upload to be read again by a worker.

    Raises:
        UploadRefused: it is being worked on, or was imported.
    """
    upload = lock_row(Upload, upload.pk)
    _check_can_recheck(upload)
    upload.options, upload.result, upload.preview, upload.problems = options.as_json(), {}, {}, []
    return _launched(upload, ImportStatus.CHECKING)


def _check_can_recheck(upload: Upload) -> None:
    if upload.is_in_work or upload.status == ImportStatus.DONE:
        raise UploadRefused("This upload is already imported or is being processed.")


@transaction.atomic
def confirm_upload(*, upload: Upload, actor: User | None, at: datetime) -> Upload:
    """Mark an upload for import; `judging.jobs.launch_import` also wakes a worker.

    Raises:
        UploadRefused: it has errors, is not checked, or is confirmed already.
    """
    upload = lock_row(Upload, upload.pk)
    if upload.status == ImportStatus.REFUSED:
        raise UploadRefused("This upload has errors. Correct the file and upload it again.")
    if upload.status in (ImportStatus.RUNNING, ImportStatus.DONE):
        raise UploadRefused("This upload is already confirmed.")
    if not upload.can_be_confirmed:
        raise UploadRefused("This upload has not been checked yet. Wait for the check, or check it again.")
    upload.result = {"confirmed_by": actor.pk if actor else None, "confirmed_at": at.isoformat()}
    upload = _launched(upload, ImportStatus.RUNNING)
    _record(upload, actor, "import.confirmed")
    return upload


@transaction.atomic
def cancel_upload(*, upload: Upload, actor: User | None) -> Upload:
    """Stop the check or the import of an upload. Nothing of it is stored; its bytes stay.

    Raises:
        UploadRefused: no worker has it in hand or is to take it.
    """
    upload = lock_row(Upload, upload.pk)
    if upload.status == ImportStatus.DONE:
        raise UploadRefused("The import finished before it could be cancelled.")
    if not upload.is_in_work:
        raise UploadRefused("There is nothing to cancel: this upload is not being processed.")
    upload.status = ImportStatus.CANCELLED
    upload.save(update_fields=["status"])
    _record(upload, actor, "import.cancelled")
    return upload


@transaction.atomic
def discard_upload(*, upload: Upload, actor: User | None) -> None:
    """Remove an upload and its bytes. What was imported from it stays.

    Raises:
        UploadRefused: it is being checked or imported.
    """
    upload = lock_row(Upload, upload.pk)
    if upload.status == ImportStatus.RUNNING:
        raise UploadRefused("This upload is being imported and cannot be discarded now.")
    if upload.status == ImportStatus.CHECKING:
        raise UploadRefused("This upload is being checked. Cancel the check first.")
    _record(upload, actor, "import.discarded")
    upload_store.drop_bytes(upload.bytes_name)
    upload.delete()


def _launched(upload: Upload, status: ImportStatus) -> Upload:
    upload.status = status
    upload.launches += 1
    upload.save()
    return upload


def progress_of(upload: Upload) -> ImportProgress | None:
    """Return how far a worker is with an upload; None where none has begun."""
    return read_progress(upload.pk) if upload.is_in_work else None


def work_upload(*, upload_id: int, now: Callable[[], datetime]) -> str:
    """Check or store an upload that waits for it, and return its new status. Another one is left as it is."""
    upload = Upload.objects.filter(pk=upload_id, status__in=IN_WORK).first()
    if upload is None:
        return "not waiting"
    watch = ProgressWriter(upload.pk, now=now, may_go_on=partial(_may_go_on, upload))
    try:
        watch("reading", 0, 0)
        checked = check_files(upload.kind, read_files(upload), ImportOptions.of_json(upload.options), watch)
        if upload.status == ImportStatus.CHECKING:
            return _store_check(upload, checked)
        return _store(upload, checked, now(), watch)
    except ImportStopped:
        return "stopped"
    except ImportRefused as refusal:
        return _fail(upload, str(refusal), refusal)
    except UnknownCases as refusal:
        return _fail(upload, str(refusal))
    except (BytesMissing, BatchLost) as lost:
        logger.exception("judging.upload_lost upload_id=%s", upload_id)
        return _fail(upload, str(lost))
    except Exception:
        _fail(upload, "An unexpected error occurred; nothing was stored. See the log of the site for details.")
        raise
    finally:
        forget_progress(upload.pk)


def _may_go_on(upload: Upload) -> bool:
    """Return whether the upload still waits for this work, and this process may do it; another takes it up else."""
    if stop_requests.requested():
        return False
    return Upload.objects.filter(pk=upload.pk, status=upload.status, launches=upload.launches).exists()


def unfinished_uploads() -> list[tuple[int, int]]:
    """Return id and launch of the uploads that wait for a worker or are in the hands of one."""
    return list(Upload.objects.filter(status__in=IN_WORK).order_by("pk").values_list("pk", "launches"))


def read_files(upload: Upload) -> Files:
    """Return the files of an upload as they came in.

    Raises:
        BytesMissing: the bytes are not there any more.
    """
    with zipfile.ZipFile(io.BytesIO(upload_store.read_bytes(upload.bytes_name))) as archive:
        return [(entry.filename.partition("/")[2], archive.read(entry)) for entry in archive.infolist()]


@transaction.atomic
def _store_check(claimed: Upload, checked: CheckedFiles) -> str:
    upload = _locked_if_unchanged(claimed)
    if upload is None:
        return "stopped"
    _note(upload, checked, ImportOptions.of_json(upload.options))
    upload.save()
    return upload.status


def _store(claimed: Upload, checked: CheckedFiles, at: datetime, watch: ProgressWriter) -> str:
    with checked.open_written(watch) as written:
        return persistently(partial(_use, claimed, written, at))


@transaction.atomic
def _use(claimed: Upload, written: WrittenFiles, at: datetime) -> str:
    """Take what was written into use, and the upload is imported; nothing of it where it was cancelled meanwhile."""
    upload = _locked_if_unchanged(claimed)
    if upload is None:
        return "stopped"
    actor = User.objects.filter(pk=upload.result.get("confirmed_by")).first() or upload.created_by
    result = written.use(RubricOrigin(upload.file_name, actor, at))
    if written.problems:
        upload.problems = _listed(written.problems)
    upload.status = ImportStatus.DONE
    upload.result = {**upload.result, **result, "finished_at": at.isoformat()}
    upload.benchmark_id = result.get("benchmark", {}).get("id")
    upload.save(update_fields=["status", "result", "benchmark", "problems"])
    upload_store.drop_bytes(upload.bytes_name)  # they are not read again
    return upload.status


def _locked_if_unchanged(claimed: Upload) -> Upload | None:
    """Return the upload, locked, unless it was cancelled or launched again since it was taken."""
    rows = Upload.objects.select_for_update(of=("self",)).select_related("created_by")
    return rows.filter(pk=claimed.pk, status=claimed.status, launches=claimed.launches).first()


@transaction.atomic
def _fail(claimed: Upload, message: str, refusal: ImportRefused | None = None) -> str:
    upload = _locked_if_unchanged(claimed)
    if upload is None:
        return "stopped"
    upload.status = ImportStatus.FAILED
    upload.result = {**upload.result, "error": message}
    if refusal is not None:
        upload.problems = _listed(refusal.problems)
    upload.save(update_fields=["status", "result", "problems"])
    return upload.status


def _note(upload: Upload, checked: CheckedFiles, options: ImportOptions) -> None:
    for digest, data in checked.preview_pictures().items():
        upload_store.store_bytes(name=f"{upload.bytes_name}/{digest}", data=data, at=upload.created_at)
    upload.kind = checked.kind
    upload.options = options.as_json()
    upload.status = ImportStatus.REFUSED if checked.is_refused else ImportStatus.CHECKED
    upload.preview = checked.preview()
    upload.problems = _listed(checked.problems)
    upload.benchmark = checked.benchmark


def _listed(problems: Sequence[Problem]) -> Any:
    return storable([asdict(problem) for problem in problems])


def _shown_name(files: Files) -> str:
    tops = {name.split("/", 1)[0] for name, _ in files}
    name = files[0][0] if len(files) == 1 else (tops.pop() if len(tops) == 1 else f"{len(files):,} files")
    return name[:300]


def _hash_of(files: Sequence[tuple[str, bytes]]) -> str:
    digest = sha256()
    for name, data in sorted(files):
        digest.update(f"{len(name.encode())}:{name}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def _store_files(files: Files, upload: Upload) -> None:
    """Keep the files as one archive under a name of our own; their names never become paths on disk."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, (name, data) in enumerate(files):
            archive.writestr(f"{number}/{name}", data)
    upload_store.store_bytes(name=upload.bytes_name, data=buffer.getvalue(), at=upload.created_at)


def _record(upload: Upload, actor: User | None, action: str) -> None:
    record(actor, action, upload, kind=upload.kind, bytes=upload.byte_count, sha256=upload.content_hash)
