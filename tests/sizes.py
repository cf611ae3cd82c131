"""How much a test tries: a small form of what is rare and slow in the gate, all of it in `make test-slow`."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
IS_WHOLE = "EVALSITE_TEST_SLOW" in os.environ


def sized(gate: T, *, whole: T) -> T:
    """Return what a test tries in this run; a test that asks is marked `sized`."""
    return whole if IS_WHOLE else gate
