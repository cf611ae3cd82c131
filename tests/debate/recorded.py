"""Recorded debates stored as an upload of them does, for tests that start from them."""

from __future__ import annotations

from pathlib import Path

from debate.models import DebateSet
from debate.services.record_imports import Records, check_records, open_written, use_records
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.staged_rubrics import Watch, unwatched
from judging.services.long_jobs import persistently
from tests.factories import NOON


def store_records(records: Records, watch: Watch = unwatched) -> list[DebateSet]:
    """Store records and return the sets that are new."""
    before = set(DebateSet.objects.values_list("pk", flat=True))
    with open_written(records=records, watch=watch) as written:
        persistently(lambda: use_records(written=written, actor=None, at=NOON))
    return list(DebateSet.objects.exclude(pk__in=before).order_by("pk"))


def store_folder(path: Path) -> list[DebateSet]:
    """Store the recorded debates of a folder and return the sets that are new."""
    files = [(str(file.relative_to(path)), file.read_bytes()) for file in sorted(path.rglob("*")) if file.is_file()]
    records = check_records(files, ImportOptions()).records
    assert records is not None
    return store_records(records)
