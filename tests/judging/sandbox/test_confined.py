"""When a running sandbox is stopped."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from judging.sandbox import confined
from judging.sandbox.bubblewrap import Limits, TreeUsage
from judging.sandbox.confined import Stop, Watch

LIMITS = Limits(cpu_seconds=100.0)  # 202 s of wall clock, and up to 400 s more for a program that waits for a processor


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("ran", "starved", "stopped_by"),
    [(100, 0, None), (210, 0, Stop.WALL), (210, 100, None), (310, 100, Stop.WALL), (610, 6000, Stop.WALL)],
)
def test_look_leaves_out_the_time_that_a_program_waited_for_a_processor(
    ran: float,
    starved: float,
    stopped_by: Stop | None,
    sleeper: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = TreeUsage((sleeper.pid,), memory_bytes=1, cpu_seconds=0.5, starved_seconds=starved)
    monkeypatch.setattr(confined, "tree_usage", lambda _: usage)
    watch = Watch(sleeper, LIMITS, started=time.monotonic() - ran)

    watch.check_usage()

    assert watch.stopped_by == stopped_by
