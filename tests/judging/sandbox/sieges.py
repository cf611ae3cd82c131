"""Runs hostile programs under two identities and listens for what they reach: the means of `test_attacks`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from judging.sandbox.bubblewrap import Limits
from judging.sandbox.runner import SandboxRunner
from tests.judging.sandbox.programs import SandboxProgram

REPOSITORY = Path(__file__).resolve().parents[3]


ORDINARY_UID = 61001


CANARY = "canary-in-the-environment"


@dataclass(frozen=True)
class Attack:
    """A hostile program and how much longer than its CPU limit it may run."""

    program: SandboxProgram
    wall_factor: float = Limits().wall_factor


Run = Callable[[list[Attack], Path, Path], "list[Ended]"]


@dataclass(frozen=True)
class Ended:
    """What the tests read of an outcome, whichever process produced it."""

    passed: bool | None
    result_text: str
    not_run_reason: str
    stdout: str
    stderr: str
    stopped_by: str


@contextmanager
def listeners(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Listen on loopback, an abstract socket and a socket file; note who comes."""
    connections: list[str] = []
    tcp = socket.create_server(("127.0.0.1", 0))
    abstract, file = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{folder.name}")
    file.bind(str(folder / "socket"))
    (folder / "socket").chmod(0o777)
    servers = [tcp, abstract, file]
    threads = []
    for server in servers:
        server.listen()
        threads.append(threading.Thread(target=_note, args=(server, connections), daemon=True))
        threads[-1].start()
    try:
        yield tcp.getsockname()[1], connections
    finally:
        for server in servers:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
        for thread in threads:
            thread.join(5)


def _note(server: socket.socket, connections: list[str]) -> None:
    while True:
        try:
            visitor, address = server.accept()
        except OSError:
            return
        visitor.close()
        connections.append(str(address))


def command_lines() -> list[str]:
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return lines


def run_here(attacks: list[Attack], folder: Path, scratch: Path) -> list[Ended]:
    def run(attack: Attack) -> Ended:
        runner = SandboxRunner(limits=Limits(wall_factor=attack.wall_factor), scratch_parent=scratch)
        return _ended(asdict(runner.run(attack.program)))

    os.environ["EVALSITE_CANARY"] = CANARY
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(run, attacks))
    finally:
        del os.environ["EVALSITE_CANARY"]


AS_OTHER = """
import json, os, sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from judging.sandbox.bubblewrap import Limits
from judging.sandbox.runner import SandboxRunner
from judging.sandbox.runner import sandbox_status
status = sandbox_status()
job = json.load(sys.stdin)
def run(attack):
    runner = SandboxRunner(limits=Limits(wall_factor=attack["wall_factor"]), scratch_parent=Path(job["scratch"]))
    return asdict(runner.run(SimpleNamespace(**attack["program"])))
with ThreadPoolExecutor(os.cpu_count()) as pool:
    outcomes = list(pool.map(run, job["attacks"])) if status else []
print(json.dumps({"reason": status.reason, "identity": status.identity, "outcomes": outcomes}))
"""


def run_as_other(attacks: list[Attack], folder: Path, scratch: Path) -> list[Ended]:
    """Run the sandbox itself in a process of an ordinary user, from a copy that this user may read."""
    python = "/usr/bin/python3"
    if not os.path.exists(python) or not _is_recent(python):
        pytest.skip("as an ordinary user: needs /usr/bin/python3 of at least version 3.11")
    copy = folder / "copy"
    (copy / "judging").mkdir(parents=True)
    shutil.copy(REPOSITORY / "judging" / "__init__.py", copy / "judging")
    shutil.copytree(REPOSITORY / "judging" / "sandbox", copy / "judging" / "sandbox")
    import pyseccomp

    shutil.copy(str(pyseccomp.__file__), copy)
    job = {"attacks": [asdict(attack) for attack in attacks], "scratch": str(scratch)}
    ids = [f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups"]
    ended = subprocess.run(
        ["setpriv", *ids, python, "-c", AS_OTHER],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        cwd=copy,
        env={"PATH": os.environ["PATH"], "EVALSITE_CANARY": CANARY, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert "does not hold" not in answer["reason"]
    if answer["reason"]:
        pytest.skip(f"as an ordinary user: {answer['reason']}")
    assert answer["identity"] == f"uid {ORDINARY_UID}"
    return [_ended(outcome) for outcome in answer["outcomes"]]


def _is_recent(python: str) -> bool:
    ended = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, check=True
    )
    return ended.stdout.strip() == b"True"


def _ended(outcome: dict[str, object]) -> Ended:
    return Ended(**{name: outcome[name] for name in Ended.__dataclass_fields__})  # type: ignore[arg-type]
