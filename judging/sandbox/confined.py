"""Runs one command in the sandbox, watches it, and leaves none of its processes alive.

The system calls a submitted program may not make are a BPF program for bubblewrap's --seccomp.
"""

from __future__ import annotations

import errno
import os
import re
import select
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from judging.sandbox.bubblewrap import MIB, Limits, SandboxProfile, confinement, file_count, socket_bytes, tree_usage

DENIED = (
    # memory that the watchdog on resident memory cannot see
    *("memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "msgget", "semget", "vmsplice"),
    # other processes' memory and descriptors
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp"),
    # mounts and namespaces
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick"),
    *("mount_setattr", "unshare", "setns", "open_by_handle_at", "name_to_handle_at", "fanotify_init", "quotactl"),
    # kernel surfaces with a history
    *("bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd"),
    *("keyctl", "add_key", "request_key", "modify_ldt", "lookup_dcookie"),
    # the machine itself
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff"),
    *("acct", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "syslog", "iopl", "ioperm", "vhangup"),
)
LAST_OLD_FAMILY_ALLOWED = 2  # AF_UNIX 1, AF_INET 2; AF_INET6 is 10; netlink 16, packet 17, alg 38, vsock 40 lie above
AF_INET6 = 10
MAP_SHARED_ANONYMOUS = 0x01 | 0x20  # shared anonymous pages stay allocated after madvise has hidden them from RSS
SOL_SOCKET, BUFFER_SIZES = (
    1,
    (7, 8, 32, 33),
)  # SO_SNDBUF, SO_RCVBUF and their FORCE twins: the watchdog counts on defaults
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # typing into the terminal the site was started from
LOW_32_BITS = 0xFFFFFFFF


class SeccompUnavailable(RuntimeError):
    """libseccomp or its Python binding is missing, so no program may run."""


@lru_cache(maxsize=1)
def filter_program() -> bytes:
    """Return the BPF program: every call allowed but those that lead out of the sandbox, which fail with EPERM.

    Calls of a foreign architecture (32-bit, x32) kill the caller, libseccomp's default.

    Raises:
        SeccompUnavailable: libseccomp or pyseccomp is not installed.
    """
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        message = "The system-call filter needs libseccomp (Debian: libseccomp2) and the Python package pyseccomp."
        raise SeccompUnavailable(message) from error
    refuse = pyseccomp.ERRNO(errno.EPERM)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in DENIED:
        try:
            number = pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
        except (ValueError, RuntimeError, OSError):
            continue  # a libseccomp that does not know the name; an architecture without the call
        if number >= 0:
            rules.add_rule(refuse, name)
    arg = pyseccomp.Arg
    rules.add_rule(refuse, "socket", arg(0, pyseccomp.GT, AF_INET6))
    for family in range(LAST_OLD_FAMILY_ALLOWED + 1, AF_INET6):
        rules.add_rule(refuse, "socket", arg(0, pyseccomp.EQ, family))
    rules.add_rule(refuse, "mmap", arg(3, pyseccomp.MASKED_EQ, MAP_SHARED_ANONYMOUS, MAP_SHARED_ANONYMOUS))
    for option in BUFFER_SIZES:
        rules.add_rule(refuse, "setsockopt", arg(1, pyseccomp.EQ, SOL_SOCKET), arg(2, pyseccomp.EQ, option))
    for request in (TIOCSTI, TIOCLINUX):
        rules.add_rule(refuse, "ioctl", arg(1, pyseccomp.MASKED_EQ, LOW_32_BITS, request))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


CHECK_EVERY_SECONDS = 0.05
DRAIN_SECONDS = 2.0
DEATH_SECONDS = 10.0
CHUNK = 65536


class Stop(StrEnum):
    """Why the sandbox ended a program."""

    CPU = "cpu"
    WALL = "wall"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Confined:
    """How one command ended."""

    exit_code: int | None  # 128 + n for signal n; None if the sandbox stopped it
    stdout: bytes
    stderr: bytes
    seconds: float  # wall clock
    stopped_by: Stop | None


class SandboxFailed(RuntimeError):
    """A process of the sandbox outlived its end, or the sandbox could not be watched."""


@dataclass(slots=True)
class _Stream:
    """Head and tail of what a program wrote; the middle is dropped and said to be."""

    keep: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    written: int = 0

    def add(self, data: bytes) -> None:
        self.written += len(data)
        room = self.keep * 3 // 4 - len(self.head)
        self.head += data[: max(room, 0)]
        self.tail += data[max(room, 0) :]
        if len(self.tail) > self.keep + CHUNK:
            del self.tail[: -self.keep // 4]

    def text(self) -> bytes:
        tail = self.tail[-self.keep // 4 :]
        dropped = self.written - len(self.head) - len(tail)
        note = b"\n[... %d bytes left out ...]\n" % dropped if dropped else b""
        return bytes(self.head + note + tail)


@dataclass(slots=True)
class Watch:
    """One running sandbox and what has been seen of it."""

    process: subprocess.Popen[bytes]
    limits: Limits
    started: float
    init: int | None = None  # the first process inside, as numbered outside
    init_handle: int | None = None
    stopped_by: Stop | None = None
    cpu_seconds: float = 0.0
    starved_seconds: float = 0.0
    checked_at: float = 0.0

    def attach(self, info: bytes) -> None:
        """Open a handle to the sandbox's first process: when it is dead, the kernel has ended every process inside."""
        match = re.search(rb'"child-pid"\s*:\s*(\d+)', info)
        if match is None:
            return
        self.init = int(match[1])
        try:
            self.init_handle = os.pidfd_open(self.init)
        except ProcessLookupError:
            self.init_handle = None

    def check_usage(self) -> None:
        """Stop the program if it uses more than it may."""
        now = time.monotonic()
        if self.stopped_by or now - self.checked_at < CHECK_EVERY_SECONDS:
            return
        self.checked_at = now
        usage = tree_usage(self.process.pid)
        memory_bytes = usage.memory_bytes + (socket_bytes(self.init) if self.init is not None else 0)
        self.cpu_seconds = max(self.cpu_seconds, usage.cpu_seconds)
        self.starved_seconds = max(self.starved_seconds, usage.starved_seconds)
        if now - self.started > self.limits.wall_seconds + min(self.starved_seconds, self.limits.most_starved_seconds):
            self.stop(Stop.WALL)
        elif self.cpu_seconds > self.limits.cpu_seconds:
            self.stop(Stop.CPU)
        elif memory_bytes > self.limits.memory_mib * MIB:
            self.stop(Stop.PROCESSES if len(usage.pids) > self.limits.processes else Stop.MEMORY)
        elif self.init is not None and file_count(self.init) > self.limits.files:
            self.stop(Stop.FILES)

    def stop(self, why: Stop) -> None:
        self.stopped_by = self.stopped_by or why
        self.end()

    def end(self) -> None:
        """Kill the sandbox from both ends: the launcher outside and the first process inside."""
        if self.process.poll() is None:
            self.process.kill()
        if self.init_handle is not None:
            try:
                signal.pidfd_send_signal(self.init_handle, signal.SIGKILL)
            except ProcessLookupError:
                return

    def wait_for_death(self) -> None:
        """Return once no process of the sandbox is alive.

        Raises:
            SandboxFailed: ten seconds were not enough.
        """
        self.end()
        self.process.wait(timeout=DEATH_SECONDS)
        if self.init_handle is None:
            return
        poller = select.poll()
        poller.register(self.init_handle, select.POLLIN)
        died = poller.poll(DEATH_SECONDS * 1000)
        os.close(self.init_handle)
        self.init_handle = None
        if not died:
            raise SandboxFailed(f"Process {self.init} of a sandbox is still alive after it was killed.")


def run_confined(
    command: Sequence[str], *, source: Path, profile: SandboxProfile, limits: Limits, token: int | None = None
) -> Confined:
    """Run `command` in a new sandbox and return how it ended, when none of its processes is left.

    The open file `token`, if any, is handed on under the same number.

    Raises:
        ToolMissing, SeccompUnavailable: the sandbox cannot be built here.
        SandboxFailed: a process survived its sandbox.
    """
    program = filter_program()
    seccomp_read, seccomp_write = os.pipe()
    info_read, info_write = os.pipe()
    try:
        os.write(seccomp_write, program)  # fits the pipe's buffer many times
        os.close(seccomp_write)
        arguments = confinement(
            command, source=source, profile=profile, limits=limits, seccomp_fd=seccomp_read, info_fd=info_write
        )
        started = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - confined by bubblewrap
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},  # bubblewrap's own environment can be read inside through /proc/1/environ
            cwd="/",
            pass_fds=(seccomp_read, info_write, *(() if token is None else (token,))),
            start_new_session=True,
        )
    except BaseException:
        os.close(info_read)
        raise
    finally:
        os.close(seccomp_read)
        os.close(info_write)
    return _attend(Watch(process, limits, started), info_read)


def _attend(watch: Watch, info_read: int) -> Confined:
    process = watch.process
    assert process.stdout is not None
    assert process.stderr is not None
    keep = watch.limits.output_kib * 1024
    streams = {process.stdout.fileno(): _Stream(keep), process.stderr.fileno(): _Stream(keep)}
    out, err = process.stdout.fileno(), process.stderr.fileno()
    try:
        _follow(watch, streams, info_read)
    finally:
        try:
            watch.wait_for_death()
        finally:
            os.close(info_read)
            process.stdout.close()
            process.stderr.close()
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Confined(
        exit_code=None if watch.stopped_by else code,
        stdout=streams[out].text(),
        stderr=streams[err].text(),
        seconds=time.monotonic() - watch.started,
        stopped_by=watch.stopped_by,
    )


def _follow(watch: Watch, streams: dict[int, _Stream], info_read: int) -> None:
    """Read and watch until the program has ended and its output is read."""
    handle = os.pidfd_open(watch.process.pid)
    drain_until: float | None = None
    with selectors.DefaultSelector() as selector:
        for descriptor in (*streams, info_read, handle):
            selector.register(descriptor, selectors.EVENT_READ)
        try:
            while any(descriptor in selector.get_map() for descriptor in streams):
                for key, _ in selector.select(CHECK_EVERY_SECONDS):
                    if key.fd == handle:
                        selector.unregister(handle)
                        watch.end()  # what the program left behind
                        drain_until = time.monotonic() + DRAIN_SECONDS
                    else:
                        _read(key.fd, watch, streams, selector)
                if drain_until is None:
                    watch.check_usage()
                elif time.monotonic() > drain_until:
                    return
        finally:
            os.close(handle)


def _read(descriptor: int, watch: Watch, streams: dict[int, _Stream], selector: selectors.BaseSelector) -> None:
    data = os.read(descriptor, CHUNK)
    if not data:
        selector.unregister(descriptor)
    elif descriptor not in streams:
        watch.attach(data)
    else:
        streams[descriptor].add(data)
        if streams[descriptor].written > watch.limits.flood_mib * MIB:
            watch.stop(Stop.OUTPUT)
