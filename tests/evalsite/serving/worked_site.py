"""A site with a worker of RQ in processes that may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.judging.services.own_site import REPOSITORY, OwnSite

WORK = [sys.executable, "manage.py", "work", "calls", "default"]
SUPERVISE = f"""
from evalsite.serving.supervisor import Child, Supervisor
nothing = lambda: None
Supervisor(broker=None, children=[Child("worker", {WORK!r})]).run(on_start=nothing, on_ready=nothing)
"""


class WorkedSite:
    """A site with one worker that RQ drives, as `manage.py work` starts it."""

    command = WORK

    def __init__(self, site: OwnSite) -> None:
        self.site = site
        self.log = Path(site.environment["EVALSITE_DATA_DIR"]) / "worker.log"
        self.ever: set[int] = set()
        self.worker = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        environment = self.site.environment | {"EVALSITE_CALL_THREADS": "4"}
        with self.log.open("ab") as log:
            process = subprocess.Popen(self.command, env=environment, cwd=REPOSITORY, stdout=log, stderr=log)
        self.ever.add(process.pid)
        return process

    def tree(self) -> dict[str, int]:
        """Return the processes there are: worker, job and sender."""
        found = {"worker": self.worker.pid}
        for name, parent in (("job", "worker"), ("sender", "job")):
            children = children_of(found[parent])
            if not children:
                break
            found[name] = children[0]
        self.ever.update(found.values())
        return found

    def kill(self, victim: str) -> None:
        """SIGKILL one process of the tree, or all of them; start a worker again where it was killed."""
        tree = self.tree()
        pids = set(tree.values()) if victim == "all" else {tree.get(victim, self.worker.pid)}
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim != "worker":  # a job that lost its worker gives its claim back by itself
            self.site.ask("state", 1, "--lapse")
        if self.worker.pid in pids:
            self.worker.wait()
            self.worker = self._start()

    def wait_until(self, true: Callable[[], bool], what: str, *, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"{what}: not within {seconds} s\n{self.log.read_text()[-4000:]}"
            time.sleep(0.02)

    def end_of(self, run: int) -> dict[str, Any]:
        """Wait until a run has finished, queueing it again where no worker holds it, and return what it came to."""
        end: dict[str, Any] = {}

        def has_ended() -> bool:
            end.update(self.site.ask("state", run))
            if end["leases"] == 0 and end["status"] != "finished":
                self.site.ask("resume")
                time.sleep(1)
            return bool(end["status"] == "finished")

        self.wait_until(has_ended, "the end of the run")
        return end

    def close(self) -> None:
        self.tree()
        for pid in self.ever:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.worker.wait()


class SupervisedSite(WorkedSite):
    """The same under a supervisor, which stands first in the tree: what it names the job is the worker, and so on."""

    command = [sys.executable, "-c", SUPERVISE]


def children_of(parent: int) -> list[int]:
    """Return the processes that a process has started and that live."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            after_name = status.read_text().rpartition(")")[2].split()
            if after_name[1] == str(parent) and after_name[0] != "Z":
                found.append(int(status.parent.name))
    return found
