"""Whether this process was asked to stop. Long jobs look here at safe points and give their claims back."""

from __future__ import annotations

import threading

_requested = threading.Event()


def request() -> None:
    """Ask this process's job to stop."""
    _requested.set()


def requested() -> bool:
    """Return whether this process was asked to stop."""
    return _requested.is_set()
