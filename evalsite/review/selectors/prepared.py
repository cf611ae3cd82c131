"""Queries whose SQL the ORM writes once per process, for the few that run at every answer.

To put a query with subqueries together costs the ORM more processor time than the database needs to answer it, and on
SQLite part of that time is spent while everybody else waits for the write lock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

Value = int | datetime
M = TypeVar("M", bound=Model)


class Prepared:
    """One query as a function of its values; `build` must make the same SQL whatever they are."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]]) -> None:
        self._build = build
        self._known: dict[tuple[str, bool, tuple[str, ...]], tuple[str, list[str | None], tuple[Any, ...]]] = {}

    def sql(self, **values: Value) -> tuple[str, list[Any]]:
        """Return the SQL and its parameters for these values."""
        key = (connection.vendor, connection.in_atomic_block, tuple(values))
        if key not in self._known:
            self._known[key] = self._compile(values)
        sql, names, constants = self._known[key]
        given = {name: _adapted(value) for name, value in values.items()}
        return sql, [constant if name is None else given[name] for name, constant in zip(names, constants, strict=True)]

    def rows(self, **values: Value) -> list[tuple[Any, ...]]:
        """Return the rows as the database gives them."""
        with connection.cursor() as cursor:
            cursor.execute(*self.sql(**values))
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    def first(self, model: type[M], **values: Value) -> M | None:
        """Return the first row as an object of the model whose columns the query selects."""
        return next(iter(model._default_manager.raw(*self.sql(**values))), None)

    def _compile(self, values: dict[str, Value]) -> tuple[str, list[str | None], tuple[Any, ...]]:
        marks = {name: _mark(value, place) for place, (name, value) in enumerate(values.items())}
        sql, parameters = self._build(**marks).query.sql_with_params()
        found = {_adapted(mark): name for name, mark in marks.items()}
        names = [found.get(parameter) for parameter in parameters]
        if set(names) - {None} != set(values):
            raise ValueError(f"the query does not use all of {', '.join(values)}")
        return sql, names, parameters


def _mark(value: Value, place: int) -> Value:
    """Return a value of the same type that no query holds otherwise."""
    if isinstance(value, datetime):
        return datetime(1900, 1, 1, microsecond=place + 1, tzinfo=UTC)
    return -(2**50) - place


def _adapted(value: Value) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
