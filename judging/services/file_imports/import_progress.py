"""How far an import is.

A worker leaves its progress with the broker, where the web processes find it. Losing it loses no work.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from redis.exceptions import RedisError

from judging.llm.limiter import connect

logger = logging.getLogger(__name__)

EVERY_SECONDS = 0.4  # the page asks every second
KEPT_SECONDS = 3600


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
        """Seconds until this stage ends; None where that is unknown."""
        return max(0, self.total - self.done) / self.rate * 60 if self.rate and self.total else None


class ImportStopped(Exception):
    """The upload was cancelled, or started again, while it was worked on."""


class ProgressWriter:
    """A watch for `staged_rubrics`: writes the progress now and then and looks whether to go on."""

    def __init__(self, upload_id: int, *, now: Callable[[], datetime], may_go_on: Callable[[], bool]) -> None:
        self.upload_id, self.now, self.may_go_on = upload_id, now, may_go_on
        self.broker = connect(settings.REDIS_URL)
        self.is_heard = True
        self.last: ImportProgress | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how far it is.

        Raises:
            ImportStopped: nobody wants it any more.
        """
        at, last = self.now(), self.last
        is_new = last is None or last.stage != stage
        if not is_new and last is not None and (at - last.at).total_seconds() < EVERY_SECONDS:
            return
        if not self.may_go_on():
            raise ImportStopped
        since = at if is_new or last is None else last.since
        self.last = ImportProgress(stage, done, total, since, at)
        progress = {"stage": stage, "done": done, "total": total, "since": since.isoformat(), "at": at.isoformat()}
        self._tell(json.dumps(progress))

    def _tell(self, text: str) -> None:
        if not self.is_heard:
            return
        try:
            self.broker.set(_key(self.upload_id), text, ex=KEPT_SECONDS)
        except RedisError as error:  # the import goes on; its page shows no progress
            logger.warning("judging.import_progress_unheard error=%s", type(error).__name__)
            self.is_heard = False


def read_progress(upload_id: int) -> ImportProgress | None:
    """Return the progress that a worker left; None before the first."""
    try:
        with connect(settings.REDIS_URL) as broker:
            progress = json.loads(broker.get(_key(upload_id)) or "{}")
        since, at = datetime.fromisoformat(progress["since"]), datetime.fromisoformat(progress["at"])
        return ImportProgress(str(progress["stage"]), int(progress["done"]), int(progress["total"]), since, at)
    except (RedisError, ValueError, KeyError, TypeError):
        return None


def forget_progress(upload_id: int) -> None:
    """Remove what a worker left, once it is done."""
    with suppress(RedisError), connect(settings.REDIS_URL) as broker:
        broker.delete(_key(upload_id))


def _key(upload_id: int) -> str:
    return f"evalsite:import:{upload_id}:progress"
