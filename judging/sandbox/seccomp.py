"""The system calls a submitted program may not make, as a BPF program for bubblewrap's --seccomp."""

from __future__ import annotations

import errno
import tempfile
from functools import lru_cache

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
