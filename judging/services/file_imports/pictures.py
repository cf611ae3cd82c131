"""Stores the images of an upload: each once, encoded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial

from evalsite.base.rows import batches
from judging.models import BatchPicture, ImportBatch, Picture, Upload
from judging.services.file_imports import upload_store
from judging.services.file_imports.import_batches import BatchWriter, copy_rows, moment, table
from judging.services.file_imports.staged_rubrics import Watch
from judging.specs.pictures import PictureFile, encode_picture

AT_ONCE = 4  # images of 10 MiB at most
LOOK_UP_SIZE = 500


def write_pictures(*, batch: ImportBatch, files: Mapping[str, PictureFile], watch: Watch) -> None:
    """Write the images that are not stored yet into a batch; `use_pictures` takes them into use."""
    stored = stored_digests(files)
    new = [file for digest, file in sorted(files.items()) if digest not in stored]
    writer = BatchWriter(batch, watch, len(new))
    for part in batches(new, AT_ONCE):
        rows = [BatchPicture(batch=batch, **_stored_fields(file)) for file in part]
        writer.add_part(partial(BatchPicture.objects.bulk_create, rows), len(rows))


def use_pictures(*, batch: ImportBatch, at: datetime) -> None:
    """Store the images that a batch holds. Within a transaction."""
    columns = {name: f"b.{name}" for name in ("digest", "media_type", "data")}
    copy_rows(
        Picture,
        {"created_at": "%s", **columns},
        f"FROM {table(BatchPicture)} b WHERE b.batch_id = %s ON CONFLICT DO NOTHING",
        [moment(at), batch.pk],
    )


def store_pictures(*, files: Mapping[str, PictureFile], at: datetime) -> None:
    """Store at once the images that are not stored yet. Within a transaction."""
    stored = stored_digests(files)
    new = (file for digest, file in sorted(files.items()) if digest not in stored)
    for part in batches(new, AT_ONCE):
        rows = [Picture(**_stored_fields(file), created_at=at) for file in part]
        Picture.objects.bulk_create(rows, ignore_conflicts=True)


def stored_digests(digests: Iterable[str]) -> set[str]:
    """Return those of the hashes whose images are stored."""
    stored = set[str]()
    for some in batches(sorted(digests), LOOK_UP_SIZE):
        stored |= set(Picture.objects.filter(pk__in=some).values_list("digest", flat=True))
    return stored


def is_stored_copy(digest: str, data: bytes) -> bool:
    """Return whether a file is, byte for byte, what is stored of the image with this hash, as exports write it."""
    stored = Picture.objects.filter(pk=digest).values_list("data", flat=True).first()
    return stored is not None and bytes(stored) == data


def preview_picture(*, upload: Upload, digest: str) -> bytes:
    """Return an image that the preview of an upload shows.

    Raises:
        judging.services.file_imports.upload_store.BytesMissing: it has none with this hash.
    """
    stored = Picture.objects.filter(pk=digest).first()
    return upload_store.read_bytes(f"{upload.bytes_name}/{digest}") if stored is None else bytes(stored.data)


def _stored_fields(file: PictureFile) -> dict[str, bytes | str]:
    return {"digest": file.digest, "media_type": file.media_type, "data": encode_picture(file.data)}
