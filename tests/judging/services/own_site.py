"""A site of a test's own: its database on the backend under test, and worker processes that may be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tests.fake_llm.replies import prompt_text

REPOSITORY = Path(__file__).resolve().parents[3]


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

    def start_worker(self, run_id: int, *, threads: int) -> subprocess.Popen[str]:
        """Start a worker process on a run."""
        command = [sys.executable, "-m", "tests.judging.services.site_process", "work", str(run_id), str(threads)]
        return subprocess.Popen(
            command, env=self.environment, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

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
