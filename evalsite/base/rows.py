"""Rows under a lock, by page or in batches, their addresses, whose work they are, and making many tables at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Model, QuerySet
from django.urls import get_script_prefix

from evalsite.base.types import JsonDict, JsonObject, Refused

Row = TypeVar("Row", bound=Model)
T = TypeVar("T")
Key = TypeVar("Key")
DEBATES, REPORTS, REVIEW = "debates/", "reports/", "review/"  # what the addresses of these apps begin with
SHOWN_OF_TEXT = 200  # characters of one that was changed
_CONVERTER = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Issued(Generic[Row]):
    """What was made just now, with its secret: that is shown once and stored nowhere in clear."""

    row: Row
    secret: str

    @property
    def pk(self) -> Any:
        """The number of the row."""
        return self.row.pk


def grouped(pairs: Iterable[tuple[Key, T]]) -> dict[Key, list[T]]:
    """Return the values of each key in the order in which they come."""
    groups: dict[Key, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield rows in lists of this size, the last one shorter."""
    waiting = iter(rows)
    while batch := list(islice(waiting, size)):
        yield batch


def page_at(route: str, *values: object) -> str:
    """Return the address of a page, as `reverse` would: `runs/<int:run_id>/` with 12 is `/runs/12/`.

    A model says the route of its page once, as PAGE; the app's addresses and `get_absolute_url` take it from there. So
    what names a row in a log or a notice loads no page, which takes a process longer than all else.
    """
    rest = iter(values)
    return get_script_prefix() + _CONVERTER.sub(lambda match: quote(str(next(rest))), route)


def assign(row: Model, values: JsonObject) -> JsonDict:
    """Give a row these values, unsaved, and return those that it did not have: what was, and what is now."""
    changes = JsonDict()
    for name, now in values.items():
        if (before := getattr(row, name)) != now:
            changes[name] = [each[:SHOWN_OF_TEXT] if isinstance(each, str) else each for each in (before, now)]
        setattr(row, name, now)
    return changes


def lock_row(model: type[Row], key: int, *joined: str, no_key: bool = False) -> Row:
    """Return a row under lock with the rows that it points to, which are not locked.

    With `no_key`, others may meanwhile store rows that point to it.

    Raises:
        DoesNotExist: there is none.
    """
    rows: QuerySet[Row] = QuerySet(model)
    rows = rows.select_for_update(of=("self",), no_key=no_key)
    return (rows.select_related(*joined) if joined else rows).get(pk=key)


def row_pages(rows: QuerySet[Row], size: int) -> Iterator[list[Row]]:
    """Yield rows in the order of their primary keys, each page read when the one before is done.

    `QuerySet.iterator` keeps its cursor open. SQLite refuses a transaction ("database is locked", without waiting) that
    begins beside an open cursor of the same connection once another process has written after the cursor was opened.
    """
    last = 0
    while page := list(rows.filter(pk__gt=last).order_by("pk")[:size]):
        yield page
        last = page[-1].pk


MANAGES_PEOPLE = "auth.change_user"  # admins: they change everything


class Owned(models.Model):
    """A row that somebody made. Without an owner (made by a command, or long ago) it is everybody's."""

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    co_owners = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="co_owned_%(class)ss")

    class Meta:
        abstract = True


class NotAllowed(Refused, PermissionDenied):
    """This person may not do it; a page that does not catch it is forbidden."""


class NotOwner(NotAllowed):
    """It is somebody else's."""


def is_owner(row: Owned, person: User | None) -> bool:
    """Whether a person may change a row that its permission lets them change at all; None: the site itself may."""
    if person is None or row.created_by_id in (None, person.pk) or person.has_perm(MANAGES_PEOPLE):
        return True
    return row.co_owners.filter(pk=person.pk).exists()


def check_owner(row: Owned, person: User | None) -> None:
    """Pass where a person may change a row. Raises: NotOwner."""
    if not is_owner(row, person):
        raise NotOwner(
            f"{row} is the work of {row.created_by}. Only they, its co-owners and admins change it; they can add you."
        )


class NewTables(Operation):
    """Makes tables as CreateModel does, but renders the models once instead of after each of them."""

    def __init__(self, tables: Sequence[CreateModel]) -> None:
        self.tables = tables

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Add the models to a state that has rendered none of its models."""
        state.__dict__.pop("apps", None)  # where Django keeps what it rendered, and would render anew for each model
        for table in self.tables:
            table.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Make the tables; foreign keys may name tables that come later."""
        for table in self.tables:
            table.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Drop the tables, the last one first."""
        for table in reversed(self.tables):
            table.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """Return what the step does, for lists of planned migrations."""
        return f"Make {len(self.tables)} tables"
