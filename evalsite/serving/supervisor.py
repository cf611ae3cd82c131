"""Starts broker, workers and web together for a site, restarts what dies, and stops them: web, workers, broker."""

from __future__ import annotations

import ctypes
import http.client
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO

from django.conf import settings
from django.core.management.base import CommandError

from evalsite.serving.broker import BrokerUnavailable, EmbeddedBroker, use_of

logger = logging.getLogger(__name__)

STOP_SECONDS = 12.0  # beyond the time that a worker waits for the calls it has in flight
RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 30.0
WATCH_SECONDS = 0.2
BROKER_WATCH_SECONDS = 1.0  # each look is a connection of its own
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

    def put_off(self) -> None:
        """Note that it ended or did not start, and when to start it again: ever later."""
        self.restarts += 1
        wait = min(LONGEST_RESTART_SECONDS, RESTART_SECONDS * 2 ** min(self.restarts - 1, 5))
        self.process, self.restart_at = None, time.monotonic() + wait


@dataclass(slots=True)
class Supervisor:
    """One site's processes."""

    broker: EmbeddedBroker | None
    children: list[Child] = field(default_factory=list)  # in the order to start; stopped in reverse
    is_ready: Callable[[], bool] = lambda: True
    output: IO[str] | None = None  # where the children write; None: where this process writes
    stopping: bool = False
    broker_look_at: float = 0.0
    broker_restarts: int = 0

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
            stdout=self.output,
            stderr=self.output,
            start_new_session=True,  # Ctrl-C must reach the supervisor only
            preexec_fn=die_with_parent,  # safe: the supervisor has one thread
        )

    def _watch(self) -> None:
        for child in self.children:
            if child.process is None:
                if time.monotonic() >= child.restart_at:
                    self._start_again(child)
            elif child.process.poll() is not None:
                logger.warning("serving.child_died name=%s code=%s", child.name, child.process.returncode)
                child.put_off()
        if self.broker is not None and time.monotonic() >= self.broker_look_at:
            try:
                if self.broker.is_alive():
                    self.broker_restarts, self.broker_look_at = 0, time.monotonic() + BROKER_WATCH_SECONDS
                    return
                logger.warning("serving.broker_died")
                self.broker.start()
            except (BrokerUnavailable, OSError) as error:  # such as on a full disk; the pages go on meanwhile
                wait = min(LONGEST_RESTART_SECONDS, RESTART_SECONDS * 2 ** min(self.broker_restarts, 5))
                logger.warning("serving.broker_not_started again_in_seconds=%s error=%s", wait, error)
                self.broker_restarts, self.broker_look_at = self.broker_restarts + 1, time.monotonic() + wait

    def _start_again(self, child: Child) -> None:
        try:
            self._start(child)
        except OSError as error:  # no memory, no space, no more processes: for now
            logger.warning("serving.child_not_started name=%s error=%s", child.name, error)
            child.put_off()

    def _stop_all(self) -> None:
        for child in reversed(self.children):
            _stop(child)
        if self.broker is not None:
            self.broker.stop()


def die_with_parent() -> None:
    """Ask Linux to stop this process when its parent is killed, so that nothing keeps its port or its jobs."""
    if _LIBC is not None:
        _LIBC.prctl(_PARENT_DIED, signal.SIGTERM)


def answers(address: str) -> bool:
    """Return whether a web server answers on `address` ("127.0.0.1:8000")."""
    connection = http.client.HTTPConnection(address, timeout=2)
    try:
        connection.request("GET", "/livez")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def _stop(child: Child) -> None:
    """Ask the child to stop, wait, and kill what it started in the end, so that nothing of it stays."""
    if child.process is None:
        return
    session = child.process.pid
    child.process.terminate()
    try:
        child.process.wait(timeout=settings.STOP_SECONDS + STOP_SECONDS)
    except subprocess.TimeoutExpired:
        logger.warning("serving.child_killed name=%s", child.name)
    for pid in {session, *_members(session)}:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)
    child.process.wait()


def _members(session: int) -> list[int]:
    """Return the processes of a session; a worker's job has a group of its own in it. Without /proc none are known."""
    members = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            after_name = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(after_name[3]) == session:
                members.append(int(status.parent.name))
    return members


def site_children(*, manage_py: Path, address: str, web_processes: int, workers: int) -> list[Child]:
    """Return the workers and the web server of a site that listens on `address` ("127.0.0.1:8000")."""
    python = sys.executable
    children = [Child("worker-default", [python, str(manage_py), "work", "default"])]
    children += [
        Child(f"worker-{n}", [python, str(manage_py), "work", "calls", "default"]) for n in range(1, workers + 1)
    ]
    return [*children, Child("web", web_command(address=address, web_processes=web_processes))]


def web_command(*, address: str, web_processes: int) -> list[str]:
    """Return the command of the web server."""
    gunicorn = [sys.executable, "-m", "gunicorn", "--config", "python:evalsite.serving.gunicorn_conf"]
    return [*gunicorn, "--bind", address, "--workers", str(web_processes)]


@dataclass(frozen=True, slots=True)
class SitePlan:
    """Where a site listens and how many processes it has."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1  # that work on runs
    web: int = 2

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def check_address(plan: SitePlan) -> None:
    """Return if a site may listen there; to be asked before anything of another site's data is touched.

    Raises:
        CommandError: another program listens there already, perhaps this very site.
    """
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the web server does
        try:
            probe.bind((plan.host, plan.port))
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {plan.address}: {error.strerror}. Stop the process that listens there, or choose"
                " another port: PORT=8100 make demo, or --port 8100.",
                returncode=2,
            ) from error


def run_site(
    plan: SitePlan, *, on_start: Callable[[], None], on_ready: Callable[[], None], output: IO[str] | None = None
) -> None:
    """Run the site until it is asked to stop. What its processes print and log goes into the open file `output`.

    Raises:
        CommandError: demo mode would be open to others, the address is taken, or no broker can be had.
    """
    if settings.DEMO and plan.host != "127.0.0.1":
        raise CommandError(
            "Demo mode listens on 127.0.0.1 only; unset EVALSITE_DEMO to serve other machines.", returncode=2
        )
    check_address(plan)
    os.umask(0o077)  # what the site writes is its owner's
    children = site_children(
        manage_py=settings.BASE_DIR / "manage.py",
        address=plan.address,
        web_processes=plan.web,
        workers=plan.workers,
    )
    try:
        broker = None if settings.EXTERNAL_REDIS_URL else EmbeddedBroker(settings.DATA_DIR)
        supervisor = Supervisor(
            broker=broker, children=children, is_ready=partial(answers, plan.address), output=output
        )
        supervisor.run(on_start=on_start, on_ready=on_ready)
    except BrokerUnavailable as error:
        raise CommandError(str(error)) from error
