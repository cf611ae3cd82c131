"""What a tree of processes uses, read from /proc on the host's side."""

from __future__ import annotations

import os
from dataclasses import dataclass
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
