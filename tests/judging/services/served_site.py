"""A whole served site of a test's own (`manage.py serve`): web, workers and broker in processes that may be killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalsite.serving.broker import EmbeddedBroker
from evalsite.serving.supervisor import answers
from tests.judging.services.own_site import REPOSITORY, OwnSite


class ServedSite:
    """The processes of one `serve`."""

    def __init__(self, site: OwnSite, *, threads: int) -> None:
        self.folder = Path(site.environment["EVALSITE_DATA_DIR"])
        self.address = f"127.0.0.1:{_free_port()}"
        self.log = self.folder / "serve.log"
        port = self.address.rpartition(":")[2]
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--port", port, "--web", "1"],
                env=site.environment | {"EVALSITE_CALL_THREADS": str(threads)},
                cwd=REPOSITORY,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_until(self, true: Callable[[], bool], what: str, *, seconds: float = 300) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"{what}: not within {seconds} s\n{self.log.read_text()[-3000:]}"
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            time.sleep(0.02)

    def answers(self) -> bool:
        return answers(self.address)

    def kill_web(self) -> bool:
        """SIGKILL the web server's master and its processes; False where the supervisor has none up at this moment."""
        found = self._web()
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return bool(found)

    def kill_broker(self) -> None:
        """SIGKILL the embedded broker and remove its data: every queue and every limiter is gone."""
        broker = EmbeddedBroker(self.folder)
        self.wait_until(broker.is_alive, "the broker again")
        os.kill(int(broker.pid_file.read_text()), signal.SIGKILL)
        shutil.rmtree(broker.folder / "appendonlydir", ignore_errors=True)

    def _web(self) -> list[int]:
        masters = [pid for pid in _children(self.process.pid) if b"gunicorn" in _command(pid)]
        return [pid for master in masters for pid in (*_children(master), master)]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


@contextmanager
def served(site: OwnSite, *, threads: int) -> Iterator[ServedSite]:
    """Yield the site while it is served."""
    running = ServedSite(site, threads=threads)
    try:
        yield running
    finally:
        running.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _children(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            match = re.search(r"^PPid:\s+(\d+)$", status.read_text(), re.MULTILINE)
        except OSError:  # it ended while we looked
            continue
        if match and int(match[1]) == parent:
            found.append(int(status.parent.name))
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
