"""The local model in a process of its own, while a test needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.local_llm import server as local

REPOSITORY = Path(__file__).resolve().parents[2]


@contextmanager
def local_model() -> Iterator[str]:
    """Yield the address of a local model; skip with the reason where it is not installed."""
    reason = local.lacking()
    if reason:
        pytest.skip(reason)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.local_llm.server", "--port=0"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        assert " on http" in line, "the local model did not start"
        yield line.split(" on ")[1].strip()
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # it ends its reply first
            process.kill()
            process.wait()
        process.stdout.close()
