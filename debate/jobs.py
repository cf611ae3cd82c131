"""What starts debates, and the check of recorded ones.

Debates are held by `judging.jobs.work_run`, which calls this app's executor; files are stored by `work_import`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import UPLOAD_KIND, DebateSet
from judging import jobs
from judging.models import Upload
from judging.services.file_imports.intake import ImportOptions


def launch_debates(sets: Sequence[DebateSet]) -> None:
    """Wake workers for sets that were just stored, once the transaction commits."""
    for debate_set in sets:
        if debate_set.run is not None:
            jobs.launch_run(run_id=debate_set.run.pk, waiting=debate_set.run.total)


@transaction.atomic
def launch_record_check(*, file_name: str, data: bytes, actor: User | None, at: datetime) -> Upload:
    """Return an upload of recorded debates with its dry run, or, where that takes long, one for a worker to check.

    Raises:
        UploadRefused: it has more bytes than the site takes.
    """
    files = [(file_name, data)]
    return jobs.launch_check(files=files, options=ImportOptions(), actor=actor, at=at, kind=UPLOAD_KIND)
