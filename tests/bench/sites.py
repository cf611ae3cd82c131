"""A fresh database for a bench on SQLite and, where EVALSITE_DATABASE_URL names one, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ONE_BACKEND = "EVALSITE_BENCH_BACKEND"  # set in the child process that measures one database


def each_backend(module: str, *, sqlite: bool = True, reuse: bool = False) -> int:
    """Run a bench module once per backend with the same arguments; return the worst exit code.

    With `reuse` the database that EVALSITE_DATABASE_URL names is used itself, and stays.
    """
    codes = [_run(module, "SQLite", "", reuse=False)] if sqlite else []
    given = os.environ.get("EVALSITE_DATABASE_URL", "")
    if given.startswith("postgres"):
        codes.append(_run(module, "PostgreSQL", given, reuse=reuse))
    if not codes:
        sys.exit("This bench measures PostgreSQL: set EVALSITE_DATABASE_URL to the address of a server.")
    return max(codes)


def _run(module: str, name: str, url: str, *, reuse: bool) -> int:
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        environment = {**os.environ, ONE_BACKEND: name, "EVALSITE_DATA_DIR": folder, "EVALSITE_LOG_LEVEL": "ERROR"}
        environment |= {"EVALSITE_SECRET_KEY": "only-for-a-bench", "DJANGO_SETTINGS_MODULE": "evalsite.settings"}
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        if not url:
            environment["EVALSITE_DATABASE_URL"] = f"sqlite:///{Path(folder) / 'bench.sqlite3'}"
        if not url or reuse:
            return subprocess.call(command, env=environment)
        import psycopg
        from psycopg import sql

        own = f"evalsite_bench_{os.getpid()}"
        environment["EVALSITE_DATABASE_URL"] = urlunsplit(urlsplit(url)._replace(path=f"/{own}"))
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(own)))
            try:
                return subprocess.call(command, env=environment)
            finally:
                server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(own)))


def start_django() -> None:
    """Set Django up and make the tables."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)  # noqa: T201 its output
