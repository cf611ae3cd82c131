"""Makes Python's garbage collector run rarely while a job creates many objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (200_000, 50, 100)  # collections of the youngest, middle and oldest objects; Python's own: 700, 10, 10


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Collect rarely within: half of the CPU of a job that makes 100,000 rows goes into walking what it just made."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
