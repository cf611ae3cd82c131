"""What a tree of processes uses."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from judging.sandbox.bubblewrap import SOCKET_OVERHEAD, socket_bytes, tree_usage


def test_socket_bytes_counts_local_sockets_with_their_whole_buffers() -> None:
    before = socket_bytes(os.getpid())
    pairs = [socket.socketpair() for _ in range(200)]

    grown = socket_bytes(os.getpid()) - before

    for pair in pairs:
        for end in pair:
            end.close()
    assert grown > 300 * SOCKET_OVERHEAD  # other processes of this machine may have closed some meanwhile


def test_tree_usage_tells_how_long_a_process_waited_for_a_processor() -> None:
    if not _waited():
        pytest.skip("this kernel does not say how long a process waited")

    before, usage, after = _waited(), tree_usage(os.getpid()), _waited()

    assert (os.getpid() in usage.pids, usage.cpu_seconds > 0) == (True, True)
    assert before <= usage.starved_seconds  # a child may have waited for longer
    assert usage.starved_seconds <= after or len(usage.pids) > 1


def _waited() -> float:
    """Return how long this process has waited for a processor, as the kernel says it."""
    try:
        fields = Path("/proc/self/schedstat").read_text().split()
    except OSError:
        return 0.0
    return int(fields[1]) / 1e9 if len(fields) == 3 else 0.0
