"""The sandbox profile: which view of the machine a program gets, as arguments for bubblewrap, setpriv and prlimit.

With it what one program may use (sizes in MiB, times in seconds), and the private folders that hold a program while it
runs: read-only inside, gone afterwards.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MEMORY_FIELDS = (b"VmRSS:", b"VmSwap:", b"VmPTE:")  # kB; page tables too: reading untouched pages costs nothing else
SANDBOX_TMPFS = ("box", "tmp", "dev/shm")
UNIX_PROTOCOLS = (b"UNIX", b"UNIX-STREAM")
QUEUE_TABLES = ("tcp", "tcp6", "udp", "udp6")
SOCKET_OVERHEAD = 32 * 1024  # the last message may lie over the buffer's size, and every one has a head


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """One look at a tree of processes."""

    pids: tuple[int, ...]
    memory_bytes: int
    cpu_seconds: float  # living processes and the children they have waited for
    starved_seconds: float  # the longest that a process waited for a processor; 0 where the kernel does not say


def tree_usage(root: int) -> TreeUsage:
    """Return what `root` and all its descendants use; processes that vanish meanwhile count as nothing.

    Pages shared by forked processes count once for each, so the figure errs towards stopping a program.
    """
    pids: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        pids.append(pid)
        waiting.extend(_children(pid))
    return TreeUsage(
        pids=tuple(pids),
        memory_bytes=sum(_memory(pid) for pid in pids),
        cpu_seconds=sum(_cpu(pid) for pid in pids),
        starved_seconds=max(_starved(pid) for pid in pids),
    )


def socket_bytes(init: int) -> int:
    """Return the most that the sockets of the sandbox with first process `init` can hold in kernel memory.

    A local socket counts with its whole buffer, whose size the system-call filter keeps at the default, since no file
    says what lies in it; that counts those that are closed but still on their way to another process, too. For TCP and
    UDP the kernel tells what is queued.
    """
    total = 0
    for line in _read(f"/proc/{init}/net/protocols").splitlines():
        fields = line.split()
        if fields and fields[0] in UNIX_PROTOCOLS:
            total += int(fields[2]) * (_default_buffer() + SOCKET_OVERHEAD)
    for table in QUEUE_TABLES:
        for line in _read(f"/proc/{init}/net/{table}").splitlines()[1:]:
            sent, _, received = line.split()[4].partition(b":")
            total += 2 * (int(sent, 16) + int(received, 16)) + SOCKET_OVERHEAD
    return total


@lru_cache(maxsize=1)
def _default_buffer() -> int:
    return int(_read("/proc/sys/net/core/wmem_default") or 212_992)


def file_count(init: int) -> int:
    """Return how many files and folders the sandbox with first process `init` holds; 0 where that cannot be seen."""
    root = f"/proc/{init}/root"
    try:
        if os.stat(root).st_dev == os.stat("/").st_dev or not os.path.isdir(f"{root}/box"):
            return 0  # still being set up: this is the host's own root
        figures = [os.statvfs(f"{root}/{name}") for name in SANDBOX_TMPFS]
    except OSError:
        return 0
    return sum(figure.f_files - figure.f_ffree for figure in figures)


def can_watch() -> bool:
    """Return whether this kernel lists the children of a process (CONFIG_PROC_CHILDREN)."""
    return Path("/proc/self/task", str(os.getpid()), "children").exists()


def tasks_of_user(uid: int) -> int:
    """Return how many threads all processes of `uid` have: old kernels charge a new process limit with them."""
    total = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == uid:
                    total += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                continue
    return total


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _children(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for task in tasks for child in _read(f"/proc/{pid}/task/{task}/children").split()]


def _memory(pid: int) -> int:
    lines = _read(f"/proc/{pid}/status").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(MEMORY_FIELDS))


def _cpu(pid: int) -> float:
    _, _, rest = _read(f"/proc/{pid}/stat").rpartition(b") ")
    fields = rest.split()
    return sum(map(int, fields[11:15])) / TICKS_PER_SECOND  # utime stime cutime cstime, counted from the state


def _starved(pid: int) -> float:
    fields = _read(f"/proc/{pid}/schedstat").split()  # time on a processor, time waiting for one, turns
    return int(fields[1]) / 1e9 if len(fields) == 3 else 0.0


PREFIX = "evalsite-sandbox-"
STALE_AFTER_SECONDS = 3600.0
INSIDE = Path(__file__).parent / "inside"


@contextmanager
def source_folder(files: Mapping[str, str], *, owner: int, parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder that only `owner` may enter, with `files` (name -> text) in it; remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        for name, text in files.items():
            (folder / name).write_bytes(text.encode("utf-8", "replace"))
        if os.geteuid() == 0:
            for path in (folder, *folder.iterdir()):
                os.chown(path, owner, owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def inside_file(name: str) -> str:
    """Return the text of a file that is laid beside the program."""
    return (INSIDE / name).read_text(encoding="utf-8")


def clear_stale_sources(*, owner: int, at: float | None = None, parent: Path | None = None) -> int:
    """Remove folders that a killed worker left over an hour ago; return how many."""
    removed, now = 0, time.time() if at is None else at
    for folder in Path(parent or tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            about = folder.lstat()
        except OSError:
            continue
        if about.st_uid in (owner, os.geteuid()) and now - about.st_mtime > STALE_AFTER_SECONDS and folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one program, compile step included.

    CPU time is summed over the whole tree of processes and decides first: on a loaded machine the wall clock would
    punish programs for their neighbours. The wall clock (`wall_factor` times the CPU limit, plus two seconds) stops
    sleepers; the time a program waited for a processor does not count, up to twice that again.
    """

    cpu_seconds: float = 10.0
    wall_factor: float = 2.0
    memory_mib: int = 512  # resident, swapped and page-table memory of the whole tree, and its sockets' buffers
    scratch_mib: int = 64  # each of /box and /tmp, which live in memory too
    shared_memory_mib: int = 16  # /dev/shm
    file_mib: int = 64  # one file
    files: int = 20_000  # entries in /box, /tmp and /dev/shm together
    processes: int = 64
    open_files: int = 256
    output_kib: int = 64  # kept of each stream: three quarters from its head, one from its tail
    flood_mib: int = 16  # written to one stream before the program is stopped

    @property
    def wall_seconds(self) -> float:
        return self.cpu_seconds * self.wall_factor + 2.0

    @property
    def most_starved_seconds(self) -> float:
        return self.cpu_seconds * self.wall_factor * 2


UNPRIVILEGED_ID = 61000  # no account of Debian's ranges; root steps down to it before bubblewrap starts
NOBODY = "65534"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAM_PATH = "/usr/local/bin:/usr/bin:/bin"
READABLE_ETC = ("/etc/ld.so.cache", "/etc/alternatives")
PASSED_ON = ("OPENBLAS_CORETYPE",)  # without it older OpenBLAS builds crash or miscompute on some processors
# What tells one kernel from another, and no program needs.
MACHINE_FACTS = (
    "/proc/kallsyms",
    "/proc/config.gz",
    "/proc/modules",
    "/proc/timer_list",
    "/proc/keys",
    "/proc/cmdline",
)
COUNTS_PER_NAMESPACE_SINCE = (5, 14)  # before, RLIMIT_NPROC counts all of the user's processes on the machine
DATA_ALLOWANCE_MIB = 1024  # what run-times reserve and never touch


class ToolMissing(RuntimeError):
    """A program that builds the sandbox is not installed."""


@dataclass(frozen=True, slots=True)
class SandboxProfile:
    """What a sandbox shows of the machine, beside /usr."""

    uid: int = UNPRIVILEGED_ID  # used when the site runs as root
    hidden: tuple[Path, ...] = ()  # folders below /usr to cover, for a site installed there
    readable: tuple[str, ...] = ()  # further read-only paths, skipped where absent, such as /etc/R
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> int:
        """The user that bubblewrap runs as."""
        return self.uid if os.geteuid() == 0 else os.geteuid()


def confinement(
    command: Sequence[str], *, source: Path, profile: SandboxProfile, limits: Limits, seccomp_fd: int, info_fd: int
) -> list[str]:
    """Return the command line that runs `command` in the sandbox, with `source` read-only at /src.

    Raises:
        ToolMissing: bubblewrap, prlimit or (as root) setpriv is not installed.
    """
    return [
        *_step_down(profile),
        _tool("bwrap", "bubblewrap"),
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        "--as-pid-1",  # bubblewrap's own first process would live inside without the limits below, open to hijacking
        *("--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv"),
        *_system(profile),
        *_folders(source, limits),
        *_environment(profile),
        *("--seccomp", str(seccomp_fd), "--info-fd", str(info_fd), "--"),
        *_resource_limits(profile, limits),
        *command,
    ]


def _tool(name: str, package: str) -> str:
    path = shutil.which(name, path=SYSTEM_PATH)
    if path is None:
        raise ToolMissing(f"{name} is not installed (Debian package {package}).")
    return path


def _step_down(profile: SandboxProfile) -> list[str]:
    """Real root inside would keep the host's sysctls writable and ignore the process limit."""
    if os.geteuid() != 0:
        return []
    tool = _tool("setpriv", "util-linux")
    return [tool, f"--reuid={profile.uid}", f"--regid={profile.uid}", "--clear-groups", "--no-new-privs", "--"]


def _system(profile: SandboxProfile) -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.lexists(f"/{name}"):
            same = os.path.islink(f"/{name}")
            arguments += ["--symlink", f"usr/{name}", f"/{name}"] if same else ["--ro-bind", f"/{name}", f"/{name}"]
    for path in (*READABLE_ETC, *profile.readable):
        arguments += ["--ro-bind-try", path, path]
    for folder in profile.hidden:
        if folder.is_relative_to("/usr") and folder.is_dir():
            arguments += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    return arguments


def _folders(source: Path, limits: Limits) -> list[str]:
    scratch, shared = str(limits.scratch_mib * MIB), str(limits.shared_memory_mib * MIB)
    return [
        *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
        *(word for path in MACHINE_FACTS if os.path.exists(path) for word in ("--ro-bind", "/dev/null", path)),
        *("--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"),  # mapping /dev/zero shared hides memory from RSS
        *("--size", shared, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108 - inside
        *("--size", scratch, "--tmpfs", "/tmp", "--size", scratch, "--tmpfs", "/box"),  # noqa: S108 - inside
        *("--ro-bind", str(source), "/src", "--chdir", "/box", "--remount-ro", "/"),
    ]


def _environment(profile: SandboxProfile) -> list[str]:
    variables = {
        "PATH": PROGRAM_PATH,
        "HOME": "/box",
        "TMPDIR": "/tmp",  # noqa: S108 - inside
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        **profile.environment,
    }
    return [word for name, value in variables.items() for word in ("--setenv", name, value)]


def _resource_limits(profile: SandboxProfile, limits: Limits) -> list[str]:
    cpu = int(limits.cpu_seconds) + 2  # a backstop: the watchdog sums the whole tree and comes first
    return [
        _tool("prlimit", "util-linux"),
        f"--cpu={cpu}:{cpu + 1}",
        f"--nproc={_process_limit(profile, limits)}",
        f"--nofile={limits.open_files}",
        f"--fsize={limits.file_mib * MIB}",
        f"--data={(limits.memory_mib + DATA_ALLOWANCE_MIB) * MIB}",
        *("--core=0", "--memlock=65536", "--msgqueue=0", "--sigpending=256", "--nice=0", "--rtprio=0", "--"),
    ]


def _process_limit(profile: SandboxProfile, limits: Limits) -> int:
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    if release >= COUNTS_PER_NAMESPACE_SINCE:
        return limits.processes
    return limits.processes + tasks_of_user(profile.owner)
