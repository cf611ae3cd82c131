"""Queries whose SQL the ORM writes once per process, for the few that run at every request or answer.

To put a query together costs the ORM more processor time than the database needs to answer it, and on SQLite part of
that time is spent while everybody else waits for the write lock. PostgreSQL also plans such a query once a connection
instead of every time, which takes it longer than the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import RelatedPopulator, get_related_populators

Value = int | str | datetime
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Shape:
    """How a row becomes an object, with what `annotate` adds and the objects that `select_related` joins to it."""

    model: type[Model]
    first: int  # column, and the one after the last
    end: int
    names: list[str]
    related: list[RelatedPopulator]
    added: dict[str, int]  # column by name
    converters: tuple[tuple[int, list[Any], Any], ...]  # column, what to apply in turn, and the expression it is for

    def read(self, row: tuple[Any, ...]) -> Any:
        """Return the object of a row as the database gave it."""
        values = list(row)
        for column, convert, expression in self.converters:
            for one in convert:
                values[column] = one(values[column], expression, connection)
        found = self.model.from_db(connection.alias, self.names, values[self.first : self.end])
        for populator in self.related:
            populator.populate(tuple(values), found)
        for name, column in self.added.items():
            setattr(found, name, values[column])
        return found


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query in the words of one database; each parameter is a value by name, or constant where it has none."""

    sql: str
    names: list[str | None]
    constants: tuple[Any, ...]
    shape: Shape | None  # None for rows of single values


class Prepared(Generic[M]):
    """One query as a function of its values; `build` must make the same SQL whatever they are."""

    def __init__(self, build: Callable[..., QuerySet[M, Any]]) -> None:
        self._build = build
        self._known: dict[tuple[str, bool, tuple[str, ...]], Compiled] = {}

    def rows(self, **values: Value) -> list[tuple[Any, ...]]:
        """Return the rows as the database gives them."""
        return self._run(self._compiled(values), values)

    def objects(self, **values: Value) -> list[M]:
        """Return the rows as objects of the query's model, those it joins at hand."""
        compiled = self._compiled(values)
        shape = compiled.shape
        if shape is None:
            raise TypeError("the query selects values, not objects")
        return [shape.read(row) for row in self._run(compiled, values)]

    def first(self, **values: Value) -> M | None:
        """Return the first object, or None where there is no row."""
        return next(iter(self.objects(**values)), None)

    def _run(self, compiled: Compiled, values: dict[str, Value]) -> list[tuple[Any, ...]]:
        given = {name: _adapted(value) for name, value in values.items()}
        pairs = zip(compiled.names, compiled.constants, strict=True)
        with planned_cursor() as cursor:
            cursor.execute(compiled.sql, [constant if name is None else given[name] for name, constant in pairs])
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    def _compiled(self, values: dict[str, Value]) -> Compiled:
        key = (connection.vendor, connection.in_atomic_block, tuple(values))
        if key not in self._known:
            self._known[key] = self._compile(values)
        return self._known[key]

    def _compile(self, values: dict[str, Value]) -> Compiled:
        marks = {name: _mark(value, place) for place, (name, value) in enumerate(values.items())}
        query = self._build(**marks).query
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        found = {_adapted(mark): name for name, mark in marks.items()}
        names = [found.get(parameter) for parameter in parameters]
        if set(names) - {None} != set(values):
            raise ValueError(f"the query does not use all of {', '.join(values)}")
        return Compiled(sql, names, tuple(parameters), _shape(compiler) if query.default_cols else None)


def _shape(compiler: Any) -> Shape:
    """Return how Django itself makes objects of the rows of a compiled query."""
    about, select = compiler.klass_info, compiler.select
    first, end = about["select_fields"][0], about["select_fields"][-1] + 1
    converters = compiler.get_converters([column[0] for column in select])
    return Shape(
        model=about["model"],
        first=first,
        end=end,
        names=[column[0].target.attname for column in select[first:end]],
        related=get_related_populators(about, select, connection.alias),  # type: ignore[call-arg]  # newer stubs
        added=dict(compiler.annotation_col_map),
        converters=tuple((column, convert, expression) for column, (convert, expression) in converters.items()),
    )


@contextmanager
def planned_cursor() -> Iterator[CursorWrapper]:
    """Give a cursor whose statements PostgreSQL plans once a connection: the values travel beside the SQL."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            from django.db.backends.postgresql.base import ServerBindingCursor

            cursor.cursor = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]  # stubs lack it
        yield cursor


def _mark(value: Value, place: int) -> Value:
    """Return a value of the same type that no query holds otherwise."""
    if isinstance(value, datetime):
        return datetime(1900, 1, 1, microsecond=place + 1, tzinfo=UTC)
    if isinstance(value, str):
        return f"\N{REPLACEMENT CHARACTER}{place}"
    return place - 2**31  # fits every column of whole numbers, or the ORM would see that no row can have it


def _adapted(value: Value) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
