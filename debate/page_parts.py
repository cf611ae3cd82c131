"""What this app adds to pages of judging."""

from __future__ import annotations

from evalsite.base.json_types import JsonDict
from evalsite.base.page_parts import add_part
from judging.models import Upload


def add_parts() -> None:
    """Register the parts; called once the apps are loaded."""
    add_part("judging.import", "debate/_import_records.html", _records)


def _records(upload: Upload) -> JsonDict | None:
    """Return what the page of an upload shows of recorded debates; None for other uploads."""
    records = upload.preview.get("records")
    return {"records": records, "upload": upload} if records else None
