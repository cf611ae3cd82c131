"""What one program may use: sizes in MiB, times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

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
