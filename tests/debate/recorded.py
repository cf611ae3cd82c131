"""Recorded debates stored as an upload of them does, for tests that start from them."""

from __future__ import annotations

from pathlib import Path

from debate.models import DebateSet
from debate.services.record_imports import Records, WrittenRecords, check_records, open_written
from evalsite.base.types import JsonDict
from judging.models import Upload
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.rubrics import RubricOrigin
from judging.services.file_imports.staged_rubrics import Watch, unwatched
from judging.services.long_jobs import persistently
from tests.factories import NOON


def use(written: WrittenRecords) -> JsonDict:
    """Take records into use as an upload does."""
    return written.use(RubricOrigin("records.zip", None, NOON), Upload())


def store_records(records: Records, watch: Watch = unwatched) -> list[DebateSet]:
    """Store records and return the sets that are new."""
    before = set(DebateSet.objects.values_list("pk", flat=True))
    with open_written(records=records, watch=watch) as written:
        persistently(lambda: use(written))
    return list(DebateSet.objects.exclude(pk__in=before).order_by("pk"))


def store_folder(path: Path) -> list[DebateSet]:
    """Store the recorded debates of a folder and return the sets that are new."""
    files = [(str(file.relative_to(path)), file.read_bytes()) for file in sorted(path.rglob("*")) if file.is_file()]
    records = check_records(files, ImportOptions()).records
    assert records is not None
    return store_records(records)
