"""Whether this process was asked to stop. Long jobs check this at safe points and give their claims back."""

from __future__ import annotations

import threading

REQUESTED = threading.Event()


def request() -> None:
    """Ask this process's job to stop."""
    REQUESTED.set()


def requested() -> bool:
    """Return whether this process was asked to stop."""
    return REQUESTED.is_set()
