"""One place per processor core for programs under test, shared by all worker processes of this machine."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

LOOK_EVERY_SECONDS = 0.02


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) or 1


@contextmanager
def core(folder: Path | None = None, count: int | None = None) -> Iterator[int]:
    """Hold one of the machine's places while a program runs, waiting for it where all are taken; yield its number.

    More programs at once than cores would only be stopped by the wall clock for their neighbours' sake. A process that
    dies gives its place back: the kernel drops its lock.
    """
    places = _places(folder or Path(settings.DATA_DIR) / "cores", count or core_count())
    taken: int | None = None
    try:
        while taken is None:
            taken = next((number for number, place in enumerate(places) if _take(place)), None)
            if taken is None:
                time.sleep(LOOK_EVERY_SECONDS)
        yield taken
    finally:
        for place in places:
            os.close(place)  # drops the lock with it


def _places(folder: Path, count: int) -> list[int]:
    folder.mkdir(parents=True, exist_ok=True)
    return [os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for number in range(count)]


def _take(place: int) -> bool:
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
