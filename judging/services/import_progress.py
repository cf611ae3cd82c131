"""How far an import is, told while its transaction is still open.

What a transaction writes nobody else sees before it ends, and an import is stored in one. So the worker leaves its
progress in a small file beside the upload's bytes, which the web processes read anyway. Losing it loses no work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

EVERY_SECONDS = 0.4  # the page asks every second


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """What a worker does with an upload, and how many of about how many rows it is through."""

    stage: str  # reading | comparing | storing
    done: int
    total: int  # 0: not known
    since: datetime  # when this stage began
    at: datetime

    @property
    def rate(self) -> float | None:
        """Rows a minute; None at the beginning."""
        seconds = (self.at - self.since).total_seconds()
        return self.done / seconds * 60 if self.done and seconds >= 1 else None

    @property
    def seconds_left(self) -> float | None:
        """How long this stage takes yet; None where it cannot be told."""
        return max(0, self.total - self.done) / self.rate * 60 if self.rate and self.total else None


class ImportStopped(Exception):
    """The upload was cancelled, or started anew, while it was worked on."""


class ProgressWriter:
    """A watch for `judging.services.staging`: writes the progress now and then and looks whether to go on."""

    def __init__(self, path: Path, *, now: Callable[[], datetime], may_go_on: Callable[[], bool]) -> None:
        self.path, self.now, self.may_go_on = path, now, may_go_on
        self.last: ImportProgress | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how far it is.

        Raises:
            ImportStopped: nobody wants it any more. What is being stored is stored to its end.
        """
        at, last = self.now(), self.last
        is_new = last is None or last.stage != stage
        if not is_new and last is not None and (at - last.at).total_seconds() < EVERY_SECONDS:
            return
        if stage != "storing" and not self.may_go_on():
            raise ImportStopped
        since = at if is_new or last is None else last.since
        self.last = ImportProgress(stage, done, total, since, at)
        written = {"stage": stage, "done": done, "total": total, "since": since.isoformat(), "at": at.isoformat()}
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(written), encoding="utf-8")
        partial.replace(self.path)


def read_progress(path: Path) -> ImportProgress | None:
    """Return the progress that a worker left; None before the first."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        since, at = datetime.fromisoformat(found["since"]), datetime.fromisoformat(found["at"])
        return ImportProgress(str(found["stage"]), int(found["done"]), int(found["total"]), since, at)
    except (OSError, ValueError, KeyError, TypeError):
        return None
