"""The bytes of uploads, stored in the database, where web processes and workers on any machine find them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import BinaryIO

from django.db import transaction
from django.db.models import Q

from evalsite.base.types import Refused
from judging.models import UploadPart

PART_BYTES = 2**20
PARTS_AT_ONCE = 4


class BytesMissing(Refused):
    """Nothing is kept under this name any more."""


def store_bytes(*, name: str, data: bytes, at: datetime) -> None:
    """Keep bytes under a name, in place of what was kept under it before."""
    store_stream(name=name, stream=io.BytesIO(data), at=at)


@transaction.atomic
def store_stream(*, name: str, stream: BinaryIO, at: datetime) -> None:
    """Keep what a stream gives under a name, a few parts at a time."""
    UploadPart.objects.filter(name=name).delete()
    number = 0
    while chunks := [chunk for _ in range(PARTS_AT_ONCE) if (chunk := stream.read(PART_BYTES))]:
        UploadPart.objects.bulk_create(
            UploadPart(name=name, number=number + place, data=chunk, created_at=at)
            for place, chunk in enumerate(chunks)
        )
        number += len(chunks)


def read_bytes(name: str) -> bytes:
    """Return the bytes kept under a name.

    Raises:
        BytesMissing: there are none.
    """
    return b"".join(read_chunks(name))


def read_chunks(name: str) -> Iterator[bytes]:
    """Yield the bytes kept under a name, a part at a time.

    Raises:
        BytesMissing: there are none.
    """
    parts = UploadPart.objects.filter(name=name).order_by("number").values_list("data", flat=True)
    is_empty = True
    for part in parts.iterator(chunk_size=PARTS_AT_ONCE):
        is_empty = False
        yield bytes(part)
    if is_empty:
        raise BytesMissing("The uploaded file was removed. Upload it again.")


def drop_bytes(name: str) -> None:
    """Remove what is kept under a name, and under names below it."""
    UploadPart.objects.filter(Q(name=name) | Q(name__startswith=f"{name}/")).delete()


PREFIX = "debates/"
KEPT_FOR = timedelta(days=1)
_TOKEN = re.compile(r"[0-9a-f]{64}")


class UploadExpired(LookupError):
    """The upload is not there any more; the message is shown on the page."""


def store_upload(data: bytes, *, at: datetime) -> str:
    """Keep an upload and return its token; uploads that nobody confirmed for a day are removed."""
    UploadPart.objects.filter(name__startswith=PREFIX, created_at__lt=at - KEPT_FOR).delete()
    token = sha256(data).hexdigest()
    store_bytes(name=PREFIX + token, data=data, at=at)
    return token


def read_upload(token: str) -> bytes:
    """Return the bytes of a kept upload.

    Raises:
        UploadExpired: there is none, or no longer.
    """
    try:
        if not _TOKEN.fullmatch(token):
            raise BytesMissing(token)
        return read_bytes(PREFIX + token)
    except BytesMissing:
        raise UploadExpired("This upload has expired. Choose the file again.") from None


def drop_upload(token: str) -> None:
    """Remove a kept upload."""
    drop_bytes(PREFIX + token)
