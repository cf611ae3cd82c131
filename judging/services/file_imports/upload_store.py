"""The bytes of uploads, stored in the database, where web processes and workers on any machine find them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from judging.models import UploadPart

PART_BYTES = 2**20
PARTS_AT_ONCE = 4


class BytesMissing(LookupError):
    """Nothing is kept under this name any more."""


@transaction.atomic
def store_bytes(*, name: str, data: bytes, at: datetime) -> None:
    """Keep bytes under a name, in place of what was kept under it before."""
    UploadPart.objects.filter(name=name).delete()
    parts = (
        UploadPart(name=name, number=number, data=data[start : start + PART_BYTES], created_at=at)
        for number, start in enumerate(range(0, len(data), PART_BYTES))
    )
    UploadPart.objects.bulk_create(parts, batch_size=PARTS_AT_ONCE)


def read_bytes(name: str) -> bytes:
    """Return the bytes kept under a name.

    Raises:
        BytesMissing: there are none.
    """
    parts = UploadPart.objects.filter(name=name).order_by("number").values_list("data", flat=True)
    data = b"".join(bytes(part) for part in parts.iterator(chunk_size=PARTS_AT_ONCE))
    if not data:
        raise BytesMissing("The uploaded file was removed. Upload it again.")
    return data


def drop_bytes(name: str) -> None:
    """Remove what is kept under a name, and under names below it."""
    UploadPart.objects.filter(Q(name=name) | Q(name__startswith=f"{name}/")).delete()


def drop_older(*, prefix: str, before: datetime) -> None:
    """Remove what was kept before a moment under names that begin so."""
    UploadPart.objects.filter(name__startswith=prefix, created_at__lt=before).delete()
