"""A site of a test's own: its database on the backend under test, and worker processes that may be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.fake_llm.replies import prompt_text

REPOSITORY = Path(__file__).resolve().parents[3]


class SiteWorker:
    """A worker process on one run, which writes into a file why its work ended."""

    def __init__(self, pid: int, reason: Path) -> None:
        self.pid = pid
        self._reason = reason

    def kill(self) -> None:
        """Send SIGKILL and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        assert self.ended() == ""

    def ended(self, *, seconds: float = 600) -> str:
        """Wait until it has ended, and return why: an empty text where it was killed."""
        deadline = time.monotonic() + seconds
        while self._is_alive():
            assert time.monotonic() < deadline, f"the worker works for more than {seconds} s"
            time.sleep(0.01)
        return str(json.loads(self._reason.read_text())) if self._reason.exists() else ""

    def _is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


class OwnSite:
    """Starts processes on one database; what a test asks of it is answered by one that stays up."""

    def __init__(self, folder: Path, database_url: str, redis_url: str = "") -> None:
        self.environment = {
            **os.environ,
            "EVALSITE_DATA_DIR": str(folder),
            "EVALSITE_DATABASE_URL": database_url,
            "EVALSITE_REDIS_URL": redis_url,
            "EVALSITE_SECRET_KEY": "only-for-tests",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
        }
        self.folder = folder
        self._complaints = folder / "answering.log"
        self._answering: dict[str, subprocess.Popen[str]] = {}

    def ask(self, *arguments: object, module: str = "tests.judging.services.site_process") -> Any:
        """Return what a command of `module` returns."""
        process = self._answering.get(module) or self._start_answering(module)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(argument) for argument in arguments]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, self._complaints.read_text()[-3000:]
        return json.loads(answer)

    def _start_answering(self, module: str) -> subprocess.Popen[str]:
        with self._complaints.open("ab") as complaints:
            self._answering[module] = subprocess.Popen(
                [sys.executable, "-m", module],
                env=self.environment,
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )
        return self._answering[module]

    def start_worker(self, run_id: int, *, threads: int) -> SiteWorker:
        """Start a worker process on a run, a fork of one that has loaded the site, as the jobs of RQ are."""
        reason = self.folder / f"reason-{uuid4().hex}.json"
        return SiteWorker(self.ask("start", run_id, threads, reason), reason)

    def close(self) -> None:
        """End the processes that answer; the next question starts another."""
        for process in self._answering.values():
            process.communicate()  # closes what it listens to
        self._answering.clear()


@contextmanager
def own_site(folder: Path, database_url: str, *, redis_url: str = "") -> Iterator[OwnSite]:
    """Yield a site on a database that is migrated already."""
    site = OwnSite(folder, database_url, redis_url)
    try:
        yield site
    finally:
        site.close()


def fake_key(messages: list[dict[str, str]], *, model: str = "fake") -> str:
    """Return the key under which the fake server logs a request with these messages."""
    text = prompt_text({"messages": messages})
    return blake2b(text.encode("utf-8", "replace") + b"\0" + model.encode(), digest_size=8).hexdigest()
