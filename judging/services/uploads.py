"""Uploads on their way in: kept below MEDIA_ROOT, checked, confirmed, stored by a job or discarded."""

from __future__ import annotations

import io
import logging
import uuid
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from judging import signals
from judging.models import ImportStatus, Upload
from judging.services.imports import Checked, ImportRefused, check_import, store_checked
from judging.services.intake import Files, ImportOptions
from judging.services.rubrics import RubricOrigin
from judging.services.storable import storable

logger = logging.getLogger(__name__)

FOLDER = "imports"
READ_PERCENT = 50  # reading is about half of the work


class UploadRefused(ValueError):
    """What was asked of an upload does not fit its status; the message says why."""


def check_upload(*, files: Files, options: ImportOptions, actor: User | None, at: datetime) -> Upload:
    """Keep the files, read them and return the upload with its dry run. Nothing else is stored.

    Raises:
        UploadRefused: there are no files, or more bytes than the site takes.
    """
    total = sum(len(data) for _, data in files)
    if not files:
        raise UploadRefused("Choose at least one file.")
    if total > settings.UPLOAD_MEGABYTES * 2**20:
        raise UploadRefused(f"The files have {total:,} bytes; this site takes {settings.UPLOAD_MEGABYTES} MiB at once.")
    checked = check_import(files=files, options=options)
    upload = Upload(
        file_name=_shown_name(files),
        path=f"{FOLDER}/{uuid.uuid4().hex}.zip",
        byte_count=total,
        content_hash=_hash_of(files),
        created_at=at,
        created_by=actor,
    )
    _keep(files, _file_of(upload))
    _note(upload, checked, options)
    upload.save()
    logger.info("judging.upload_checked upload_id=%s status=%s", upload.pk, upload.status)
    return upload


def recheck_upload(*, upload: Upload, options: ImportOptions) -> Upload:
    """Read a kept upload again, with other options or after the database changed.

    Raises:
        UploadRefused: it is being imported or was imported.
    """
    if upload.status not in (ImportStatus.CHECKED, ImportStatus.REFUSED, ImportStatus.FAILED):
        raise UploadRefused("This upload is imported already.")
    _note(upload, check_import(files=read_files(upload), options=options), options)
    upload.result = {}
    upload.save()
    return upload


@transaction.atomic
def confirm_upload(*, upload: Upload, actor: User | None, at: datetime) -> Upload:
    """Mark an upload for import; `judging.jobs.launch_import` also wakes a worker.

    Raises:
        UploadRefused: it has errors, or is confirmed already.
    """
    upload = Upload.objects.select_for_update().get(pk=upload.pk)
    if upload.status == ImportStatus.REFUSED:
        raise UploadRefused("This upload has errors. Correct the file and upload it again.")
    if upload.status not in (ImportStatus.CHECKED, ImportStatus.FAILED):
        raise UploadRefused("This upload is confirmed already.")
    upload.status = ImportStatus.RUNNING
    upload.progress = 0
    upload.result = {"confirmed_by": actor.pk if actor else None, "confirmed_at": at.isoformat()}
    upload.save(update_fields=["status", "progress", "result"])
    _announce(upload, actor, "import.confirmed")
    return upload


@transaction.atomic
def discard_upload(*, upload: Upload, actor: User | None) -> None:
    """Remove an upload and its bytes. What was imported from it stays.

    Raises:
        UploadRefused: it is being imported.
    """
    upload = Upload.objects.select_for_update().get(pk=upload.pk)
    if upload.status == ImportStatus.RUNNING:
        raise UploadRefused("This upload is being imported and cannot be discarded now.")
    _announce(upload, actor, "import.discarded")
    path = _file_of(upload)
    upload.delete()
    transaction.on_commit(lambda: path.unlink(missing_ok=True))


def import_upload(*, upload_id: int, now: Callable[[], datetime]) -> str:
    """Store a confirmed upload and return its new status. One that is not waiting is left as it is."""
    upload = Upload.objects.filter(pk=upload_id, status=ImportStatus.RUNNING).first()
    if upload is None:
        return "not waiting"
    try:
        checked = check_import(files=read_files(upload), options=ImportOptions.of_json(upload.options))
        Upload.objects.filter(pk=upload_id).update(progress=READ_PERCENT)
        return _store(upload_id, checked, now())
    except ImportRefused as refusal:
        return _fail(upload_id, str(refusal), refusal)
    except OSError:
        logger.exception("judging.upload_lost upload_id=%s", upload_id)
        return _fail(upload_id, "The uploaded bytes are gone. Upload the file again.")
    except Exception:
        _fail(upload_id, "Something unexpected happened; nothing was stored. The site's log has the details.")
        raise


def unfinished_uploads() -> list[int]:
    """Return the ids of uploads that are confirmed but not stored yet."""
    return list(Upload.objects.filter(status=ImportStatus.RUNNING).order_by("pk").values_list("pk", flat=True))


def read_files(upload: Upload) -> Files:
    """Return the files of an upload as they came in.

    Raises:
        OSError: the bytes are not there any more.
    """
    with zipfile.ZipFile(_file_of(upload)) as archive:
        return [(entry.filename.partition("/")[2], archive.read(entry)) for entry in archive.infolist()]


@transaction.atomic
def _store(upload_id: int, checked: Checked, at: datetime) -> str:
    upload = Upload.objects.select_for_update(of=("self",)).select_related("created_by").get(pk=upload_id)
    if upload.status != ImportStatus.RUNNING:
        return "not waiting"
    actor = User.objects.filter(pk=upload.result.get("confirmed_by")).first() or upload.created_by
    result = store_checked(checked=checked, origin=RubricOrigin(upload.file_name, actor, at))
    upload.status = ImportStatus.DONE
    upload.progress = 100
    upload.result = {**upload.result, **result, "finished_at": at.isoformat()}
    upload.benchmark_id = result.get("benchmark", {}).get("id")
    upload.save(update_fields=["status", "progress", "result", "benchmark"])
    return upload.status


def _fail(upload_id: int, message: str, refusal: ImportRefused | None = None) -> str:
    upload = Upload.objects.get(pk=upload_id)
    upload.status = ImportStatus.FAILED
    upload.result = {**upload.result, "error": message}
    if refusal is not None:
        upload.problems = storable([asdict(problem) for problem in refusal.problems])
    upload.save(update_fields=["status", "result", "problems"])
    return upload.status


def _note(upload: Upload, checked: Checked, options: ImportOptions) -> None:
    target = checked.intake.target
    upload.kind = checked.kind
    upload.options = options.as_json()
    upload.status = ImportStatus.REFUSED if checked.errors else ImportStatus.CHECKED
    upload.preview = {
        "kinds": list(checked.intake.kinds),
        "parts": list(checked.parts),
        "changes_nothing": checked.changes_nothing,
        "target": target.name if target else "",
    }
    upload.problems = storable([asdict(problem) for problem in checked.problems])
    upload.benchmark = target.benchmark if target else None


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


def _file_of(upload: Upload) -> Path:
    return Path(settings.MEDIA_ROOT) / upload.path


def _keep(files: Files, path: Path) -> None:
    """Write the files into one archive under a name of our own; their names never become paths on disk."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, (name, data) in enumerate(files):
            archive.writestr(f"{number}/{name}", data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(buffer.getvalue())


def _announce(upload: Upload, actor: User | None, action: str) -> None:
    detail: dict[str, Any] = {"kind": upload.kind, "bytes": upload.byte_count, "sha256": upload.content_hash}
    signals.acted.send(
        sender=Upload,
        actor_id=actor.pk if actor else None,
        action=action,
        subject=upload.file_name,
        subject_id=upload.pk,
        detail=detail,
    )
