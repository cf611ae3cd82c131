"""Queries whose SQL the ORM writes once per process, for the few that run at every request or answer.

To put a query together costs the ORM more processor time than the database needs to answer it, and on SQLite part of
that time is spent while everybody else waits for the write lock. PostgreSQL also plans such a query once a connection
instead of every time, which takes it longer than the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.sql import Query

Value = int | str | datetime
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class TablePart:
    """The columns of a row that are one object."""

    model: type[Model]
    first: int  # column, and the one after the last
    end: int
    names: list[str]
    key: int  # column of the primary key
    owner: int = 0  # of a joined object: the part that it is joined to, and the field that leads from there
    relation: Any = None

    def read(self, values: Sequence[object]) -> Any:
        """Return the object, None where an outer join found no row."""
        if values[self.key] is None:
            return None
        return self.model.from_db(connection.alias, self.names, values[self.first : self.end])


@dataclass(frozen=True, slots=True)
class RowShape:
    """How a row becomes an object, with what `annotate` adds and the objects that `select_related` joins to it."""

    parts: list[TablePart]  # the object of the query's model first, each later one joined to one before it
    added: dict[str, int]  # column by name
    converters: tuple[tuple[int, list[Any], Any], ...]  # column, what to apply in turn, and the expression it is for

    def read(self, row: tuple[object, ...]) -> Any:
        """Return the object of a row as the database gave it."""
        values = list(row)
        for column, converters, expression in self.converters:
            for convert in converters:
                values[column] = convert(values[column], expression, connection)
        objects = [part.read(values) for part in self.parts]
        for part, related in zip(self.parts[1:], objects[1:], strict=True):
            if (owner := objects[part.owner]) is not None:
                part.relation.set_cached_value(owner, related)
            if related is not None and part.relation.one_to_one:
                part.relation.remote_field.set_cached_value(related, owner)
        for name, column in self.added.items():
            setattr(objects[0], name, values[column])
        return objects[0]


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query in the words of one database; each parameter is a value by name, or constant where it has none."""

    sql: str
    names: list[str | None]
    constants: tuple[Any, ...]
    shape: RowShape | None  # None for rows of single values


class PreparedQuery(Generic[M]):
    """One query as a function of its values; `build` must make the same SQL whatever they are."""

    def __init__(self, build: Callable[..., QuerySet[M, Any]]) -> None:
        self._build = build
        self._known: dict[tuple[str, bool, tuple[str, ...]], CompiledQuery] = {}

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

    def _run(self, compiled: CompiledQuery, values: dict[str, Value]) -> list[tuple[Any, ...]]:
        adapted = {name: _adapted(value) for name, value in values.items()}
        pairs = zip(compiled.names, compiled.constants, strict=True)
        with planned_cursor() as cursor:
            cursor.execute(compiled.sql, [constant if name is None else adapted[name] for name, constant in pairs])
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def _compiled(self, values: dict[str, Value]) -> CompiledQuery:
        key = (connection.vendor, connection.in_atomic_block, tuple(values))
        if key not in self._known:
            self._known[key] = self._compile(values)
        return self._known[key]

    def _compile(self, values: dict[str, Value]) -> CompiledQuery:
        marks = {name: _mark(value, number) for number, (name, value) in enumerate(values.items())}
        query = self._build(**marks).query
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        name_by_mark = {_adapted(mark): name for name, mark in marks.items()}
        names = [name_by_mark.get(parameter) for parameter in parameters]
        if set(names) - {None} != set(values):
            raise ValueError(f"the query does not use all of {', '.join(values)}")
        return CompiledQuery(sql, names, tuple(parameters), _shape(query, compiler) if query.default_cols else None)


def _shape(query: Query, compiler: Any) -> RowShape:
    """Return how the rows of a compiled query become objects: the columns of each table are one."""
    columns: dict[str, list[int]] = {}  # by the alias of the table, those that a table joins after it
    added: dict[str, int] = {}
    for index, (column, _, name) in enumerate(compiler.select):
        if name is None:
            columns.setdefault(column.alias, []).append(index)
        else:
            added[name] = index
    order = {alias: number for number, alias in enumerate(columns)}
    parts: list[TablePart] = []
    for alias, indexes in columns.items():
        fields = [compiler.select[index][0].target for index in indexes]
        key = indexes[next(number for number, field in enumerate(fields) if field.primary_key)]
        part = TablePart(fields[0].model, indexes[0], indexes[-1] + 1, [field.attname for field in fields], key)
        if parts:
            join: Any = query.alias_map[alias]
            part = replace(part, owner=order[str(join.parent_alias)], relation=join.join_field)
        parts.append(part)
    converters = compiler.get_converters([column for column, _, _ in compiler.select])
    return RowShape(
        parts=parts,
        added=added,
        converters=tuple((column, convert, expression) for column, (convert, expression) in converters.items()),
    )


@contextmanager
def planned_cursor() -> Iterator[CursorWrapper]:
    """Give a cursor whose statements PostgreSQL plans once a connection: the values travel beside the SQL."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            from psycopg import Cursor

            cursor.cursor = Cursor(connection.connection)
        yield cursor


def _mark(value: Value, number: int) -> Value:
    """Return a value of the same type that no query holds otherwise."""
    if isinstance(value, datetime):
        return datetime(1900, 1, 1, microsecond=number + 1, tzinfo=UTC)
    if isinstance(value, str):
        return f"\N{REPLACEMENT CHARACTER}{number}"
    return number - 2**31  # fits every column of whole numbers, or the ORM would see that no row can have it


def _adapted(value: Value) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
