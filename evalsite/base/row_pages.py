"""Rows read page by page, for loops that write meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def row_pages(rows: QuerySet[Row], size: int) -> Iterator[list[Row]]:
    """Yield rows in the order of their primary keys, each page read when the one before is done.

    `QuerySet.iterator` keeps its cursor open. SQLite refuses a transaction ("database is locked", without waiting) that
    begins beside an open cursor of the same connection once another process has written after the cursor was opened.
    """
    last = 0
    while page := list(rows.filter(pk__gt=last).order_by("pk")[:size]):
        yield page
        last = page[-1].pk
