"""The lock of one row: until the transaction ends, nobody else changes it."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def lock_row(model: type[Row], key: int, *joined: str, no_key: bool = False) -> Row:
    """Return a row under lock with the rows that it points to, which are not locked.

    With `no_key`, others may meanwhile store rows that point to it.

    Raises:
        DoesNotExist: there is none.
    """
    rows: QuerySet[Row] = QuerySet(model)
    rows = rows.select_for_update(of=("self",), no_key=no_key)
    return (rows.select_related(*joined) if joined else rows).get(pk=key)
