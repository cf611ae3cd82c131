"""Uploads between their check and their confirmation, stored by the hash of their bytes for a day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from hashlib import sha256

from judging.services.file_imports import upload_store

PREFIX = "debates/"
KEPT_FOR = timedelta(days=1)
_TOKEN = re.compile(r"[0-9a-f]{64}")


class UploadExpired(LookupError):
    """The upload is not there any more; the message is shown on the page."""


def store_upload(data: bytes, *, at: datetime) -> str:
    """Keep an upload and return its token; uploads that nobody confirmed for a day are removed."""
    upload_store.drop_older(prefix=PREFIX, before=at - KEPT_FOR)
    token = sha256(data).hexdigest()
    upload_store.store_bytes(name=PREFIX + token, data=data, at=at)
    return token


def read_upload(token: str) -> bytes:
    """Return the bytes of a kept upload.

    Raises:
        UploadExpired: there is none, or no longer.
    """
    try:
        if not _TOKEN.fullmatch(token):
            raise upload_store.BytesMissing
        return upload_store.read_bytes(PREFIX + token)
    except upload_store.BytesMissing:
        raise UploadExpired("This upload has expired. Choose the file again.") from None


def drop_upload(token: str) -> None:
    """Remove a kept upload."""
    upload_store.drop_bytes(PREFIX + token)
