"""Private folders that hold a program while it runs: read-only inside, gone afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PREFIX = "evalsite-sandbox-"
STALE_AFTER_SECONDS = 3600.0
INSIDE = Path(__file__).parent / "inside"


@contextmanager
def source_folder(files: Mapping[str, str], *, owner: int, parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder that only `owner` may enter, with `files` (name -> text) in it; remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        for name, text in files.items():
            (folder / name).write_bytes(text.encode("utf-8", "replace"))
        if os.geteuid() == 0:
            for path in (folder, *folder.iterdir()):
                os.chown(path, owner, owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def inside_file(name: str) -> str:
    """Return the text of a file that is laid beside the program."""
    return (INSIDE / name).read_text(encoding="utf-8")


def clear_stale_sources(*, owner: int, at: float | None = None, parent: Path | None = None) -> int:
    """Remove folders that a killed worker left over an hour ago; return how many."""
    removed, now = 0, time.time() if at is None else at
    for folder in Path(parent or tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            about = folder.lstat()
        except OSError:
            continue
        if about.st_uid in (owner, os.geteuid()) and now - about.st_mtime > STALE_AFTER_SECONDS and folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed
