"""What a tree of processes uses."""

from __future__ import annotations

import os
import socket

from judging.sandbox.watchdog import SOCKET_OVERHEAD, socket_bytes, tree_usage


def test_socket_bytes_counts_local_sockets_with_their_whole_buffers() -> None:
    before = socket_bytes(os.getpid())
    pairs = [socket.socketpair() for _ in range(50)]

    grown = socket_bytes(os.getpid()) - before

    for pair in pairs:
        for end in pair:
            end.close()
    assert grown > 90 * SOCKET_OVERHEAD  # other processes of this machine may have closed a few meanwhile


def test_tree_usage_tells_how_long_a_process_waited_for_a_processor() -> None:
    usage = tree_usage(os.getpid())

    assert (os.getpid() in usage.pids, usage.cpu_seconds > 0, usage.starved_seconds >= 0) == (True, True, True)
