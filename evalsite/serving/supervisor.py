"""Starts broker, workers and web together, restarts what dies, and stops them in the order web, workers, broker."""

from __future__ import annotations

import ctypes
import http.client
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from evalsite.serving.broker import EmbeddedBroker, use_of

logger = logging.getLogger(__name__)

STOP_SECONDS = 12.0
RESTART_SECONDS = 1.0
WATCH_SECONDS = 0.2
_PARENT_DIED = 1  # prctl's PR_SET_PDEATHSIG
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(slots=True)
class Child:
    """A process that the site consists of."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    restart_at: float = 0.0
    restarts: int = 0


@dataclass(slots=True)
class Supervisor:
    """One site's processes."""

    broker: EmbeddedBroker | None
    children: list[Child] = field(default_factory=list)  # in the order to start; stopped in reverse
    is_ready: Callable[[], bool] = lambda: True
    stopping: bool = False

    def run(self, *, on_start: Callable[[], None], on_ready: Callable[[], None]) -> None:
        """Run everything until SIGINT or SIGTERM.

        `on_start` is called once broker and children are started, `on_ready` once the site answers.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._request_stop)
        with ExitStack() as stack:
            if self.broker is not None:
                stack.enter_context(use_of(self.broker))
                self.broker.start()
            stack.callback(self._stop_all)
            for child in self.children:
                self._start(child)
            on_start()
            self._run_until_asked(on_ready)

    def _run_until_asked(self, on_ready: Callable[[], None]) -> None:
        announced = False
        while not self.stopping:
            self._watch()
            if not announced and self.is_ready():
                announced = True
                on_ready()
            time.sleep(WATCH_SECONDS)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True

    def _start(self, child: Child) -> None:
        child.process = subprocess.Popen(  # noqa: S603 - our own commands
            child.command,
            start_new_session=True,  # Ctrl-C must reach the supervisor only
            preexec_fn=_die_with_parent,  # safe: the supervisor has one thread
        )

    def _watch(self) -> None:
        for child in self.children:
            if child.process is None:
                if time.monotonic() >= child.restart_at:
                    self._start(child)
            elif child.process.poll() is not None:
                child.restarts += 1
                wait = min(30.0, RESTART_SECONDS * 2 ** min(child.restarts - 1, 5))
                logger.warning("serving.child_died name=%s code=%s", child.name, child.process.returncode)
                child.process, child.restart_at = None, time.monotonic() + wait
        if self.broker is not None and not self.broker.is_alive():
            logger.warning("serving.broker_died")
            self.broker.start()

    def _stop_all(self) -> None:
        for child in reversed(self.children):
            _stop(child)
        if self.broker is not None:
            self.broker.stop()


def _die_with_parent() -> None:
    """Ask Linux to stop this process when a supervisor is killed, so that nothing keeps its port or its jobs."""
    if _LIBC is not None:
        _LIBC.prctl(_PARENT_DIED, signal.SIGTERM)


def answers(address: str) -> bool:
    """Return whether a web server answers on `address` ("127.0.0.1:8000")."""
    connection = http.client.HTTPConnection(address, timeout=2)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def _stop(child: Child) -> None:
    """Ask the child to stop, wait, and kill its whole group in the end, so that nothing of it stays."""
    if child.process is None:
        return
    group = child.process.pid
    child.process.terminate()
    try:
        child.process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        logger.warning("serving.child_killed name=%s", child.name)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    child.process.wait()


def site_children(*, manage_py: Path, address: str, web_processes: int, workers: int) -> list[Child]:
    """Return the workers and the web server of a site that listens on `address` ("127.0.0.1:8000")."""
    python = sys.executable
    children = [Child("worker-default", [python, str(manage_py), "work", "default"])]
    children += [
        Child(f"worker-{n}", [python, str(manage_py), "work", "calls", "default"]) for n in range(1, workers + 1)
    ]
    return [*children, Child("web", web_command(address=address, web_processes=web_processes))]


def web_command(*, address: str, web_processes: int) -> list[str]:
    """Return the command of the web server.

    A kept connection stays open for longer than anybody thinks over an item: a server that closes it after gunicorn's
    two seconds meets the next request half-way, and the person's answer ends in a reset.
    """
    web = [sys.executable, "-m", "gunicorn", "evalsite.wsgi:application", "--bind", address, "--no-control-socket"]
    web += ["--workers", str(web_processes), "--worker-class", "gthread", "--threads", "8", "--preload"]
    return [*web, "--keep-alive", "75", "--graceful-timeout", "5", "--timeout", "60", "--log-level", "warning"]
