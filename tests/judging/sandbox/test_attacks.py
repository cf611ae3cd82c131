"""Hostile programs, run as root stepped down and as an ordinary user. Each prints what it managed: nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from judging.sandbox.languages import find_language
from judging.sandbox.limits import Limits
from judging.sandbox.runner import SandboxProgram, SandboxRunner
from judging.sandbox.toolchains import sandbox_status

pytestmark = pytest.mark.attack

REPOSITORY = Path(__file__).resolve().parents[3]
ATTACKS = Path(__file__).parent / "attacks"
ORDINARY_UID = 61001
CANARY = "canary-in-the-environment"
PRINTS_WHAT_IT_MANAGED = (
    "read_secrets",
    "reach_network",
    "write_outside",
    "leave_namespaces",
    "raise_limits",
    "hide_memory",
    "touch_kernel",
    "leave_orphans",
    "count_forks",
)
TIME_OUT = "time out"
WALL_FACTORS = {"cpu": 60.0}  # by what must stop a program: on a busy machine the usual wall clock would come first
# name: (language, source, timeout in seconds, what the result must say, what stopped it)
OVERUSE = {
    "fork bomb": (
        "python",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        1.0,
        "",
        ("cpu", "memory"),
    ),
    "shell fork bomb": ("bash", ":(){ :|:& };:\nsleep 60", 1.0, "", ("cpu", "memory", "wall")),
    "memory bomb": (
        "python",
        "held = []\nwhile True: held.append(bytearray(b'x' * 4194304))",
        20.0,
        "failed: used more than 512 MiB of memory",
        "memory",
    ),
    "memory bomb of many processes": (
        "python",
        "import os, time\nfor _ in range(12):\n"
        "    if os.fork() == 0: held = b'x' * 67108864; time.sleep(30)\ntime.sleep(30)",
        20.0,
        "failed: used more than 512 MiB of memory",
        "memory",
    ),
    "endless output": (
        "python",
        "while True: print('x' * 65536)",
        20.0,
        "failed: wrote more than 16 MiB of output",
        "output",
    ),
    "endless errors": ("bash", "yes nonsense >&2", 20.0, "failed: wrote more than 16 MiB of output", "output"),
    "endless loop": ("python", "while True: pass", 1.0, TIME_OUT, "cpu"),
    "endless loops of children": (
        "python",
        "import os\nfor _ in range(3): os.fork()\nwhile True: pass",
        1.0,
        TIME_OUT,
        "cpu",
    ),
    "endless sleep that ignores signals": (
        "python",
        "import signal, time\n"
        "for n in range(1, 32):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except OSError: pass\n"
        "time.sleep(300)",
        0.1,
        TIME_OUT,
        "wall",
    ),
    "a stopped process": ("python", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", 0.1, TIME_OUT, "wall"),
    "60,000 empty files": (
        "python",
        "for k in range(60000): open(f'/box/{k}', 'w').close()\nimport time; time.sleep(30)",
        20.0,
        "failed: created more than 20000 files",
        "files",
    ),
}
# name: (language, source, what the result must begin with)
FALSE_ENDS = {
    "sys.exit(0)": ("python", "import sys\nsys.exit(0)\nassert False", "failed: <class 'SystemExit'> 0"),
    "os._exit(0)": ("python", "import os\nos._exit(0)\nassert False", "failed: the program ended before"),
    "the runner killed": (
        "python",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "failed: the program ended",
    ),
    "everyone killed": ("python", "import os, signal\nos.kill(-1, signal.SIGKILL)\nassert False", "failed: "),
    "a child speaks": (
        "python",
        "import os\nif os.fork() == 0: os.setsid()\nelse: os.wait(); assert False",
        "failed: <class 'AssertionError'> ",
    ),
    "process.exit(0)": (
        "javascript",
        "process.exit(0);\nthrow new Error('never');",
        "failed: the program ended before",
    ),
    "own file rewritten": (
        "javascript",
        "require('fs').writeFileSync(__filename, '');",
        "failed: returncode: 1 stderr: node:fs",
    ),
    "exit 0": ("bash", "exit 0\nfalse", "failed: the program ended before"),
    "quit": ("r", 'quit("no")\nstop("never")', "failed: the program ended before"),
    "ruby exit": ("ruby", "exit\nraise 'never'", "failed: the program ended before"),
    "php exit": ("php", "exit(0);\nthrow new Exception();", "failed: the program ended before"),
    "sqlite quit": ("sql", ".quit\nSELECT * FROM missing;", "failed: the program ended before"),
}


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


@dataclass(frozen=True)
class Siege:
    """All outcomes under one identity, and what the attackers were offered."""

    outcomes: dict[str, Ended]
    connections: list[str]
    survivors: list[str]
    secret: str
    leftovers: list[str]


@pytest.fixture(scope="module", params=["root stepped down", "ordinary user"])
def siege(request: pytest.FixtureRequest) -> Iterator[Siege]:
    """Run every attack once under one identity."""
    is_root = os.geteuid() == 0
    if request.param == "root stepped down" and not is_root:
        pytest.skip("these tests do not run as root here")
    status = sandbox_status()
    assert "does not hold" not in status.reason  # a sandbox with a hole is a failure, none at all is not
    if not status:
        pytest.skip(status.reason)
    run = _run_as_other if request.param == "ordinary user" and is_root else _run_here
    folder = Path(tempfile.mkdtemp(prefix="besieged-"))  # pytest's own folders are closed to other users
    folder.chmod(0o755)
    try:
        yield _besiege(folder, run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _besiege(folder: Path, run: Run) -> Siege:
    secret = folder / "db.sqlite3"
    secret.write_text("the site's database")
    secret.chmod(0o666)  # what hides it must be the sandbox, not its mode
    scratch = folder / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    tag = f"orphan-{folder.name}"
    with _listeners(folder) as (port, connections):
        places = {
            "@SECRET@": str(secret),
            "@PORT@": str(port),
            "@ABSTRACT@": folder.name,
            "@SOCKET@": str(folder / "socket"),
            "@TAG@": tag,
        }
        attacks = {name: _attack(name, places) for name in PRINTS_WHAT_IT_MANAGED}
        for name, (lang, source, timeout, _, stopped_by) in OVERUSE.items():
            factor = WALL_FACTORS.get(str(stopped_by), Limits().wall_factor)
            attacks[name] = Attack(SandboxProgram(lang, source, timeout), factor)
        attacks |= {name: Attack(SandboxProgram(lang, source, 20.0)) for name, (lang, source, _) in FALSE_ENDS.items()}
        outcomes = run(list(attacks.values()), folder, scratch)
    return Siege(
        outcomes=dict(zip(attacks, outcomes, strict=True)),
        connections=connections,
        survivors=[line for line in _command_lines() if tag in line],
        secret=secret.read_text(),
        leftovers=[path.name for path in scratch.iterdir()],
    )


def _attack(name: str, places: dict[str, str]) -> Attack:
    source = (ATTACKS / f"{name}.py.txt").read_text()
    for mark, value in places.items():
        source = source.replace(mark, value)
    return Attack(SandboxProgram("python", source, 20.0))


@contextmanager
def _listeners(folder: Path) -> Iterator[tuple[int, list[str]]]:
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


def _command_lines() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return found


def _run_here(attacks: list[Attack], folder: Path, scratch: Path) -> list[Ended]:
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
from judging.sandbox.limits import Limits
from judging.sandbox.limits import Limits
from judging.sandbox.runner import SandboxProgram, SandboxRunner
from judging.sandbox.toolchains import sandbox_status
status = sandbox_status()
job = json.load(sys.stdin)
def run(attack):
    runner = SandboxRunner(limits=Limits(wall_factor=attack["wall_factor"]), scratch_parent=Path(job["scratch"]))
    return asdict(runner.run(SandboxProgram(**attack["program"])))
with ThreadPoolExecutor(os.cpu_count()) as pool:
    outcomes = list(pool.map(run, job["attacks"])) if status else []
print(json.dumps({"reason": status.reason, "identity": status.identity, "outcomes": outcomes}))
"""


def _run_as_other(attacks: list[Attack], folder: Path, scratch: Path) -> list[Ended]:
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
    done = subprocess.run(
        ["setpriv", *ids, python, "-c", AS_OTHER],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        cwd=copy,
        env={"PATH": os.environ["PATH"], "EVALSITE_CANARY": CANARY, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "does not hold" not in answer["reason"]
    if answer["reason"]:
        pytest.skip(f"as an ordinary user: {answer['reason']}")
    assert answer["identity"] == f"uid {ORDINARY_UID}"
    return [_ended(outcome) for outcome in answer["outcomes"]]


def _is_recent(python: str) -> bool:
    asked = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, check=True
    )
    return asked.stdout.strip() == b"True"


def _ended(outcome: dict[str, object]) -> Ended:
    return Ended(**{name: outcome[name] for name in Ended.__dataclass_fields__})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PRINTS_WHAT_IT_MANAGED)
def test_run_contains_attack(siege: Siege, name: str) -> None:
    ended = siege.outcomes[name]

    assert ended == Ended(True, "passed", "", "[]\n", ended.stderr, ""), ended.stderr


@pytest.mark.parametrize("name", OVERUSE)
def test_run_stops_overuse_and_says_which(siege: Siege, name: str) -> None:
    language, _, _, text, stopped_by = OVERUSE[name]
    allowed = stopped_by if isinstance(stopped_by, tuple) else (stopped_by,)

    ended = siege.outcomes[name]

    _skip_where_not_run(ended, language)
    assert (ended.passed, ended.stopped_by in allowed) == (False, True), ended
    assert ended.result_text == text or not text


@pytest.mark.parametrize("name", FALSE_ENDS)
def test_run_fails_a_program_that_ends_before_its_tests(siege: Siege, name: str) -> None:
    language, _, text = FALSE_ENDS[name]

    ended = siege.outcomes[name]

    _skip_where_not_run(ended, language)
    assert (ended.passed, ended.result_text[: len(text)], ended.stopped_by) == (False, text, ""), ended


def test_run_leaves_nothing_behind(siege: Siege) -> None:
    assert (siege.survivors, siege.connections, siege.secret, siege.leftovers) == ([], [], "the site's database", [])


def test_run_leaves_core_pattern_alone() -> None:
    if not (status := sandbox_status()):
        pytest.skip(status.reason)
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    source = "open('/proc/sys/kernel/core_pattern', 'r+').close()"

    outcome = SandboxRunner().run(SandboxProgram("python", source))

    refusals = ("failed: <class 'OSError'> [Errno 30]", "failed: <class 'PermissionError'> [Errno 13]")
    assert outcome.result_text.startswith(refusals)
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


def _skip_where_not_run(ended: Ended, language: str) -> None:
    declared = find_language(language)
    assert declared is not None
    if ended.passed is None and "not installed" in ended.not_run_reason:
        pytest.skip(ended.not_run_reason)
