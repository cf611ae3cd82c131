"""A pool of calls that knows how many of its tokens have not come back yet."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

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

    def close(self, *, grace_seconds: float = 0.0) -> list[Hashable]:
        unsent = super().close(grace_seconds=grace_seconds)
        self.outstanding -= len(unsent)
        return unsent
