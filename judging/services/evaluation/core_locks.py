"""One lock per processor core for programs under test, shared by all worker processes of this machine."""

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
def core_lock(folder: Path | None = None, count: int | None = None) -> Iterator[int]:
    """Hold one of the machine's locks while a program runs, waiting where all are taken; yield its number.

    More programs at once than cores would only be stopped by the wall clock for their neighbours' sake. A process that
    dies gives its lock back: the kernel drops it.
    """
    locks = _open_locks(folder or Path(settings.DATA_DIR) / "cores", count or core_count())
    number: int | None = None
    try:
        while number is None:
            number = next((index for index, descriptor in enumerate(locks) if _lock(descriptor)), None)
            if number is None:
                time.sleep(LOOK_EVERY_SECONDS)
        yield number
    finally:
        for descriptor in locks:
            os.close(descriptor)  # drops the lock with it


def _open_locks(folder: Path, count: int) -> list[int]:
    folder.mkdir(parents=True, exist_ok=True)
    return [os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for number in range(count)]


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
