"""Progress callbacks for reading a file row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

ProgressCallback = Callable[[int, int], None]  # how many rows are read, and how many there are
REPORT_EVERY = 50

T = TypeVar("T")


def no_progress(rows_read: int, total: int) -> None:
    """Report nothing."""


def with_progress(rows: Sequence[T], report_progress: ProgressCallback) -> Iterator[T]:
    """Yield the rows, and tell before every fiftieth how many are through."""
    for number, row in enumerate(rows):
        if number % REPORT_EVERY == 0:
            report_progress(number, len(rows))
        yield row
