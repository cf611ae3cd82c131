"""A site of a test's own: its database on the backend under test, and worker processes that may be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tests.fake_llm.replies import prompt_text

REPOSITORY = Path(__file__).resolve().parents[3]


class OwnSite:
    """Runs `tests.judging.services.site_process` against one database."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self.environment = {
            **os.environ,
            "EVALSITE_DATA_DIR": str(folder),
            "EVALSITE_DATABASE_URL": database_url,
            "EVALSITE_REDIS_URL": redis_url,
            "EVALSITE_SECRET_KEY": "only-for-tests",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
        }
        self.python("manage.py", "migrate", "-v0")

    def python(self, *arguments: str) -> str:
        """Return what a Python process on this site prints; it must end well."""
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self.environment,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def ask(self, *arguments: object) -> Any:
        """Return what a command of `site_process` prints."""
        return json.loads(self.python("-m", "tests.judging.services.site_process", *map(str, arguments)))

    def start_worker(self, run_id: int, *, threads: int) -> subprocess.Popen[str]:
        """Start a worker process on a run."""
        command = [sys.executable, "-m", "tests.judging.services.site_process", "work", str(run_id), str(threads)]
        return subprocess.Popen(
            command, env=self.environment, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )


@contextmanager
def own_site(folder: Path, *, redis_url: str = "") -> Iterator[OwnSite]:
    """Yield a site on an SQLite file, or on a PostgreSQL database of its own where the tests run on PostgreSQL."""
    outer = os.environ.get("EVALSITE_DATABASE_URL", "")
    if not outer.startswith("postgres"):
        yield OwnSite(folder, f"sqlite:///{folder}/site.sqlite3", redis_url)
        return
    import psycopg

    name = f"evalsite_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(outer, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield OwnSite(folder, urlunsplit(urlsplit(outer)._replace(path=f"/{name}")), redis_url)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def fake_key(messages: list[dict[str, str]], *, model: str = "fake") -> str:
    """Return the key under which the fake server logs a request with these messages."""
    text = prompt_text({"messages": messages})
    return blake2b(text.encode("utf-8", "replace") + b"\0" + model.encode(), digest_size=8).hexdigest()
