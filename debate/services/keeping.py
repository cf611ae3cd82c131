"""Uploaded records between their check and their confirmation: kept by the hash of their bytes for a day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

from django.conf import settings

FOLDER = "debates"
KEPT_FOR = timedelta(days=1)
_TOKEN = re.compile(r"[0-9a-f]{64}")


class NotKept(LookupError):
    """The upload is not there any more; the message is shown on the page."""


def keep_upload(data: bytes, *, at: datetime) -> str:
    """Keep an upload and return its token; uploads that nobody confirmed for a day are removed."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.zip"):
        if path.stat().st_mtime < (at - KEPT_FOR).timestamp():
            path.unlink(missing_ok=True)
    token = sha256(data).hexdigest()
    (folder / f"{token}.zip").write_bytes(data)
    return token


def read_upload(token: str) -> bytes:
    """Return the bytes of a kept upload.

    Raises:
        NotKept: there is none, or no longer.
    """
    path = _folder() / f"{token}.zip"
    if not _TOKEN.fullmatch(token) or not path.is_file():
        raise NotKept("This upload is not kept any more. Choose the file again.")
    return path.read_bytes()


def drop_upload(token: str) -> None:
    """Remove a kept upload."""
    if _TOKEN.fullmatch(token):
        (_folder() / f"{token}.zip").unlink(missing_ok=True)


def _folder() -> Path:
    return Path(settings.MEDIA_ROOT) / FOLDER
