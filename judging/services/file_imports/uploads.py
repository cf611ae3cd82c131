"""Uploads: received, checked, confirmed, stored by a job or discarded."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from redis.exceptions import RedisError

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.rows import lock_row
from evalsite.base.types import Refused
from judging.llm.limiter import connect
from judging.models import IN_WORK, ImportStatus, Upload
from judging.services import long_jobs
from judging.services.file_imports import upload_store
from judging.services.file_imports.file_readers import CheckedFiles, WrittenFiles, check_files
from judging.services.file_imports.import_batches import BatchLost
from judging.services.file_imports.imports import ImportRefused
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.responses import UnknownCases
from judging.services.file_imports.rubrics import RubricOrigin
from judging.services.file_imports.staged_rubrics import unwatched
from judging.services.file_imports.stored_imports import hash_of_files
from judging.services.file_imports.upload_store import BytesMissing
from judging.services.long_jobs import persistently
from judging.specs.files.bundles import Files, SourceFile, sources_of
from judging.specs.files.findings import Problem
from judging.stored_content import storable

EVERY_SECONDS = 0.4  # the page asks every second
KEPT_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """What a worker does with an upload, and how many of about how many rows it is through."""

    stage: str  # reading | comparing | storing
    done: int
    total: int  # 0: not known
    since: datetime  # when this stage began
    at: datetime

    @property
    def rate(self) -> float | None:
        """Rows a minute; None at the beginning."""
        seconds = (self.at - self.since).total_seconds()
        return self.done / seconds * 60 if self.done and seconds >= 1 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until this stage ends; None where that is unknown."""
        return max(0, self.total - self.done) / self.rate * 60 if self.rate and self.total else None


class ImportStopped(Exception):
    """The upload was cancelled, or started again, while it was worked on."""


class ProgressWriter:
    """A watch for `staged_rubrics`: writes the progress now and then and looks whether to go on."""

    def __init__(self, upload_id: int, *, now: Callable[[], datetime], may_go_on: Callable[[], bool]) -> None:
        self.upload_id, self.now, self.may_go_on = upload_id, now, may_go_on
        self.broker = connect(settings.REDIS_URL)
        self.is_heard = True
        self.last: ImportProgress | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how far it is.

        Raises:
            ImportStopped: nobody wants it any more.
        """
        at, last = self.now(), self.last
        is_new = last is None or last.stage != stage
        if not is_new and last is not None and (at - last.at).total_seconds() < EVERY_SECONDS:
            return
        if not self.may_go_on():
            raise ImportStopped
        since = at if is_new or last is None else last.since
        self.last = ImportProgress(stage, done, total, since, at)
        progress = {"stage": stage, "done": done, "total": total, "since": since.isoformat(), "at": at.isoformat()}
        if not self.is_heard:
            return
        try:
            self.broker.set(_key(self.upload_id), json.dumps(progress), ex=KEPT_SECONDS)
        except RedisError as error:  # the import goes on; its page shows no progress
            logger.warning("judging.import_progress_unheard error=%s", type(error).__name__)
            self.is_heard = False


def read_progress(upload_id: int) -> ImportProgress | None:
    """Return the progress that a worker left; None before the first."""
    try:
        with connect(settings.REDIS_URL) as broker:
            progress = json.loads(broker.get(_key(upload_id)) or "{}")
        since, at = datetime.fromisoformat(progress["since"]), datetime.fromisoformat(progress["at"])
        return ImportProgress(str(progress["stage"]), int(progress["done"]), int(progress["total"]), since, at)
    except (RedisError, ValueError, KeyError, TypeError):
        return None


def forget_progress(upload_id: int) -> None:
    """Remove what a worker left, once it is done."""
    with suppress(RedisError), connect(settings.REDIS_URL) as broker:
        broker.delete(_key(upload_id))


def _key(upload_id: int) -> str:
    return f"evalsite:import:{upload_id}:progress"


logger = logging.getLogger(__name__)

PREFIX = "imports/"
# Larger uploads are checked by a worker. This much YAML takes 0.4 s to read, the slowest of all that is read; as a
# workbook it is 660 rows. Counted unpacked: 256 KiB of ZIP can hold as much as 256 MiB.
CHECK_AT_ONCE_BYTES = 256 * 1024
PACKED = 20  # bytes of a log that one byte of its packed file holds, about
COPIED_BYTES = 2**20


class UploadRefused(Refused):
    """What was asked of an upload does not fit its status; the message says why."""


def is_quick(files: Files) -> bool:
    """Return whether the files are small enough to be checked while a browser waits."""
    return sum(map(_unpacked_size, sources_of(files))) <= CHECK_AT_ONCE_BYTES


def _unpacked_size(file: SourceFile) -> int:
    """Return about how many bytes a file has when it is unpacked."""
    with file.open() as stream:
        head = stream.read(4)
        if head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):  # gzip, zstd
            return file.size * PACKED
        if not head.startswith(b"PK"):
            return file.size
        try:
            with zipfile.ZipFile(stream) as archive:
                return sum(entry.file_size for entry in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
            return file.size


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
    sources = sources_of(files)
    total = sum(source.size for source in sources)
    if not files:
        raise UploadRefused("Choose at least one file.")
    if total > settings.UPLOAD_MEGABYTES * 2**20:
        raise UploadRefused(
            f"The files have {total:,} bytes; the limit of this site is {settings.UPLOAD_MEGABYTES} MiB."
        )
    return Upload(
        file_name=_shown_name(sources),
        bytes_name=PREFIX + uuid.uuid4().hex,
        byte_count=total,
        content_hash=hash_of_files(sources),
        created_at=at,
        created_by=actor,
    )


def recheck_upload(*, upload: Upload, options: ImportOptions) -> Upload:
    """Read a kept upload again, with other options or after the database changed.

    Raises:
        UploadRefused: it is being worked on, or was imported.
    """
    _check_can_recheck(upload)
    with opened_files(upload) as files:
        _note(upload, check_files(upload.kind, files, options, unwatched), options)
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
    _record(upload, actor, "import.discarded", NamedSubject(str(upload), upload.pk))
    upload_store.drop_bytes(upload.bytes_name)
    upload.delete()


def forget_uploads(*, older_than: datetime, dry_run: bool) -> int:
    """Remove bytes, preview and problems of uploads that are older and not being worked on; return how many they are.

    What was imported stays, and so does what came of it.
    """
    old = Upload.objects.filter(created_at__lt=older_than).exclude(status__in=IN_WORK)
    uploads = list(old.exclude(bytes_name="", preview={}).only("bytes_name"))
    for upload in [] if dry_run else uploads:
        with transaction.atomic():
            if upload.bytes_name:
                upload_store.drop_bytes(upload.bytes_name)
            Upload.objects.filter(pk=upload.pk).update(bytes_name="", preview={}, problems=[])
    return len(uploads)


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
        with opened_files(upload) as files:
            checked = check_files(upload.kind, files, ImportOptions.of_json(upload.options), watch)
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
    if long_jobs.requested():
        return False
    return Upload.objects.filter(pk=upload.pk, status=upload.status, launches=upload.launches).exists()


def unfinished_uploads() -> list[tuple[int, int]]:
    """Return id and launch of the uploads that wait for a worker or are in the hands of one."""
    return list(Upload.objects.filter(status__in=IN_WORK).order_by("pk").values_list("pk", "launches"))


def is_quick_again(upload: Upload) -> bool:
    """Return whether a kept upload is small enough to be checked again while a browser waits.

    Raises:
        BytesMissing: the bytes are not there any more.
    """
    if upload.byte_count > CHECK_AT_ONCE_BYTES:
        return False
    with opened_files(upload) as files:
        return is_quick(files)


@contextmanager
def opened_files(upload: Upload) -> Iterator[list[SourceFile]]:
    """Yield the files of an upload as they came in, to be read within the block.

    Raises:
        BytesMissing: the bytes are not there any more.
    """
    with tempfile.NamedTemporaryFile(prefix="upload-", suffix=".zip") as copy:
        for chunk in upload_store.read_chunks(upload.bytes_name):
            copy.write(chunk)
        copy.flush()
        with zipfile.ZipFile(copy.name) as archive:
            yield [
                SourceFile(entry.filename.partition("/")[2], entry.file_size, partial(_entry, archive, entry))
                for entry in archive.infolist()
            ]


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> BinaryIO:
    return cast("BinaryIO", archive.open(entry))


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
    result = written.use(RubricOrigin(upload.file_name, actor, at), upload)
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


def _shown_name(files: Sequence[SourceFile]) -> str:
    tops = {file.path.split("/", 1)[0] for file in files}
    name = files[0].path if len(files) == 1 else (tops.pop() if len(tops) == 1 else f"{len(files):,} files")
    return name[:300]


def _store_files(files: Files, upload: Upload) -> None:
    """Keep the files as one archive under a name of our own; their names never become paths on disk."""
    with tempfile.TemporaryFile(prefix="upload-", suffix=".zip") as copy:
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for number, file in enumerate(sources_of(files)):
                with file.open() as stream, archive.open(f"{number}/{file.path}", "w", force_zip64=True) as target:
                    shutil.copyfileobj(stream, target, COPIED_BYTES)
        copy.seek(0)
        upload_store.store_stream(name=upload.bytes_name, stream=cast("BinaryIO", copy), at=upload.created_at)


def _record(upload: Upload, actor: User | None, action: str, about: NamedSubject | None = None) -> None:
    record(actor, action, about or upload, kind=upload.kind, bytes=upload.byte_count, sha256=upload.content_hash)
