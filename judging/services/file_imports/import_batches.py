"""Rows of an import that nobody sees until one transaction takes them into use.

Reading, hashing and storing a large file takes minutes; no transaction may, since on SQLite nobody else can write
meanwhile. So rows are first stored some hundred at a time in tables that no page reads, and at the end the database
copies them all into the tables in use. A process that dies leaves rows that nobody sees and that a later import
removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model
from django.db.models.functions import Now

from evalsite.base.rows import batches
from evalsite.base.types import json_writer
from judging.models import ImportBatch
from judging.services.file_imports.staged_rubrics import Watch
from judging.services.long_jobs import persistently

_ENCODE = json_writer()
ROWS = 500
ROWS_REMOVED = 2000
LIFETIME = timedelta(hours=1)  # without a new row: reading the longest file that the site takes is quicker
CACHE_KIB = 8192
Parameter = str | int | datetime


class BatchLost(RuntimeError):
    """Rows of this import, or what they rest on, are gone; nothing was stored."""


@contextmanager
def open_batch() -> Iterator[ImportBatch]:
    """Yield a new batch, and remove its rows in the end, however that comes."""
    clear_stale_batches()
    batch = persistently(ImportBatch.objects.create)
    try:
        with connection.cursor() as cursor, small_cache(cursor):
            yield batch
    finally:
        if not connection.in_atomic_block or not connection.needs_rollback:
            _remove(batch.pk)


def clear_stale_batches() -> int:
    """Remove the rows that processes which died have left; return how many batches those were."""
    stale = list(ImportBatch.objects.filter(touched_at__lt=Now() - LIFETIME).values_list("pk", flat=True))
    for pk in stale:
        _remove(pk)
    return len(stale)


def _remove(batch_id: int) -> None:
    with connection.cursor() as cursor, small_cache(cursor):
        for model in _tables():
            while persistently(partial(_remove_some, model, batch_id)):
                pass
    persistently(ImportBatch.objects.filter(pk=batch_id).delete)


def _tables() -> list[type[Model]]:
    """Return the tables that hold rows of batches, in whatever package: those that refer to others of them first."""
    relations = reversed(ImportBatch._meta.related_objects)
    return [relation.related_model for relation in relations if not isinstance(relation.related_model, str)]


def _remove_some(model: type[Model], batch_id: int) -> int:
    rows = model._default_manager.filter(batch_id=batch_id).order_by("pk").values("pk")[:ROWS_REMOVED]
    return model._default_manager.filter(pk__in=list(rows.values_list("pk", flat=True))).delete()[0]


class BatchWriter:
    """Stores the rows of a batch part by part, each in a transaction of its own, and tells how far it is."""

    def __init__(self, batch: ImportBatch, watch: Watch, total: int) -> None:
        self.batch, self.watch, self.total, self.done = batch, watch, total, 0

    def add(self, model: type[Model], rows: Iterator[Model]) -> None:
        """Store rows of one table."""
        for part in batches(rows, ROWS):
            self.add_part(partial(model._default_manager.bulk_create, part), len(part))

    def add_rows(
        self, model: type[Model], columns: Sequence[str], rows: Iterator[Sequence[Any]], at_once: int = ROWS
    ) -> None:
        """Store rows of one table, each a value for each of these fields, JSON as text. The ORM would take as long for
        that as all else of an import."""
        names = ", ".join(quoted(column(model, name)) for name in columns)
        values = ", ".join(["%s"] * len(columns))
        statement = f"INSERT INTO {table(model)} ({names}) VALUES ({values})"  # noqa: S608 own names
        for part in batches(rows, at_once):
            self.add_part(partial(_insert_all, statement, part), len(part))

    def add_part(self, insert: Callable[[], object], count: int) -> None:
        """Store `count` rows by a function of one's own.

        Raises:
            BatchLost: the batch is gone.
        """
        self.watch("storing", self.done, self.total)
        persistently(partial(self._insert, insert))
        self.done += count

    @transaction.atomic
    def _insert(self, insert: Callable[[], object]) -> None:
        if not ImportBatch.objects.filter(pk=self.batch.pk).update(touched_at=Now()):
            raise BatchLost("The import was stopped because nothing was stored for an hour. Import again.")
        insert()


def _insert_all(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)


def json_text(value: Sequence[object] | Mapping[str, object]) -> str:
    """Return a list or an object as JSON; most are empty, which needs no encoder."""
    return _ENCODE(value) if value else "{}" if isinstance(value, Mapping) else "[]"


def copy_rows(into: type[Model], columns: Mapping[str, str], source: str, parameters: Sequence[Parameter]) -> int:
    """Insert into a table what a query finds, and return how many rows that were. Within a transaction.

    `columns` maps names of fields to expressions of the query, and `source` is the query from its FROM on. Both are
    code of our own; values stand in `parameters`, those of the expressions first.
    """
    names = ", ".join(quoted(column(into, name)) for name in columns)
    statement = f"INSERT INTO {table(into)} ({names}) SELECT {', '.join(columns.values())} {source}"
    with connection.cursor() as cursor, small_cache(cursor):
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def moment(at: datetime) -> Parameter:
    """Return a time as a parameter of SQL."""
    value: Parameter | None = connection.ops.adapt_datetimefield_value(at)
    assert value is not None
    return value


def quoted(name: str) -> str:
    """Return the quoted name of a column."""
    return connection.ops.quote_name(name)


def column(model: type[Model], name: str) -> str:
    """Return the name of a field's column."""
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    return str(field.column)


def table(model: type[Model]) -> str:
    """Return the quoted name of a table."""
    return connection.ops.quote_name(model._meta.db_table)


@contextmanager
def small_cache(cursor: CursorWrapper) -> Iterator[None]:
    """Keep SQLite from holding what is only written or copied, in its cache or in its map of the file."""
    if connection.vendor != "sqlite":
        yield
        return
    names = ["cache_size", "mmap_size"]
    if not connection.in_atomic_block:  # inside one it cannot be changed
        names.append("temp_store")
    before = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    cursor.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    cursor.execute("PRAGMA mmap_size = 0")
    if "temp_store" in names:
        cursor.execute("PRAGMA temp_store = FILE")  # of what is sorted
    try:
        yield
    finally:
        for name in names:
            cursor.execute(f"PRAGMA {name} = {int(before[name])}")
