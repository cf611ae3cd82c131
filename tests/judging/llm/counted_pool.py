"""A pool of calls that knows how many of its tokens have not come back yet."""

from __future__ import annotations

from typing import Any, Self

from judging.llm.pool import CallPool, Completed


class CountedPool(CallPool):
    """Counts what is submitted and what comes back."""

    outstanding = 0

    def submit(self, *args: Any, **options: Any) -> None:
        super().submit(*args, **options)
        self.outstanding += 1

    def completed(self, timeout: float) -> list[Completed]:
        completed = super().completed(timeout)
        self.outstanding -= len(completed)
        return completed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._dispatcher.join(1.0)
