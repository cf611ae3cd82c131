"""How many rows of a file are read, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Tell = Callable[[int, int], None]  # how many rows are read, and how many there are
EVERY = 50

T = TypeVar("T")


def untold(rows_read: int, total: int) -> None:
    """Tell nobody."""


def told(rows: Sequence[T], tell: Tell) -> Iterator[T]:
    """Yield the rows, and tell before every fiftieth how many are through."""
    for number, row in enumerate(rows):
        if number % EVERY == 0:
            tell(number, len(rows))
        yield row
