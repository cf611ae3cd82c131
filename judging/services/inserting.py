"""Stores many new rows batch by batch, telling how many of all are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from django.db.models import Model

from judging.services.staging import Watch

BATCH = 500

M = TypeVar("M", bound=Model)


class Inserter:
    """Inserts the rows of several tables, of which there are `total` together."""

    def __init__(self, watch: Watch, total: int) -> None:
        self.watch, self.total, self.done = watch, total, 0

    def insert(self, model: type[M], rows: Sequence[M]) -> list[M]:
        """Insert rows and return them with their keys."""
        stored: list[M] = []
        for start in range(0, len(rows), BATCH):
            self.watch("storing", self.done, self.total)
            made = model._default_manager.bulk_create(rows[start : start + BATCH])
            stored += made
            self.done += len(made)
        return stored
