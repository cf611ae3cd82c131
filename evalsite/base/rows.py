"""Rows by name, under a lock, by page or in batches, their addresses, whose work they are, and the door to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.management.base import CommandError
from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Model, Q, QuerySet
from django.urls import get_script_prefix

from evalsite.base.types import JsonDict, JsonObject, Refused, in_one_line, whole_number

Row = TypeVar("Row", bound=Model)
T = TypeVar("T")
Key = TypeVar("Key")
Thing = TypeVar("Thing")
DEBATES, REPORTS, REVIEW = "debates/", "reports/", "review/"  # what the addresses of these apps begin with
NAMES_SHOWN = 20  # of a list in a refusal
BESIDE = " · "  # between the name of a thing and what it is used with: a judge and its baseline or rubric
SHOWN_OF_TEXT = 200  # characters of one that was changed
_CONVERTER = re.compile(r"<[^>]+>")
_origin: ContextVar[str] = ContextVar("origin", default="")


@dataclass(frozen=True, slots=True)
class Issued(Generic[Row]):
    """What was made just now, with its secret: that is shown once and stored nowhere in clear."""

    row: Row
    secret: str

    @property
    def pk(self) -> Any:
        """The number of the row."""
        return self.row.pk


def digest_of(secret: str) -> str:
    """Return what is stored of a secret that is random and long; it needs no slow hash."""
    return sha256(secret.encode()).hexdigest()


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


def current_origin() -> str:
    """Return the door in words; empty for a page, a job or the site itself."""
    return _origin.get()


@contextmanager
def done_through(origin: str) -> Iterator[None]:
    """Let what is done in the block be recorded as done through this door."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


class BadInput(CommandError):
    """What the caller gave cannot be used; the message is the one a page would show."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=2)


def numbered_row(rows: QuerySet[Row], text: str) -> Row | None:
    """Return the row of this number; None for any other text."""
    number = whole_number(text)
    return None if number is None else rows.filter(pk=number).first()


def look_up(rows: QuerySet[Row], text: str, *, what: str, fields: Sequence[str] = ("name",), option: str = "") -> Row:
    """Return the one row of this name, or of this number where none has it as its name.

    The first of `fields` is the name that a refusal lists.

    Raises:
        BadInput: there is none, or several; the message lists names.
    """
    text = text.strip()
    named = [(field, text) for field in fields if field != "pk"]  # a text is no number of a row
    is_named = bool(named) and rows.filter(Q(*named, _connector=Q.OR)).exists()
    numbered = None if is_named else numbered_row(rows, text)
    if numbered is not None:
        return numbered

    def names_of(row: Row) -> list[str]:
        return [str(getattr(row, field)) for field in fields]

    return pick(rows.order_by(fields[0], "pk"), text, names_of=names_of, what=what, option=option)


def pick(
    things: Iterable[Thing], text: str, *, names_of: Callable[[Thing], Sequence[str]], what: str, option: str = ""
) -> Thing:
    """Return the one thing of this name: as it is written, else in any case, else before what it is used with.

    Raises:
        BadInput: there is none, or several; the message lists names, those like the one that was given first.
    """
    every, text = list(things), text.strip()
    tests: Sequence[Callable[[str], bool]] = (
        lambda name: name == text,
        lambda name: in_one_line(name).casefold() == in_one_line(text).casefold(),
        lambda name: name.casefold().startswith(f"{text}{BESIDE}".casefold()),
    )
    said = f" ({option})" if option else ""
    for test in tests if text else ():
        matching = [thing for thing in every if any(map(test, names_of(thing)))]
        if len(matching) == 1:
            return matching[0]
        if matching:
            names = [names_of(thing)[0] for thing in matching]
            told = names if len(set(names)) == len(names) else map(_numbered, matching)
            raise BadInput(f"“{text}” is the name of several. {listed(told)} Name one of them.{said}")
    problem = f"There is no {what} “{text}”." if text else f"Name a {what}."
    names = [names_of(thing)[0] for thing in every]
    near = get_close_matches(text, names, n=NAMES_SHOWN)
    raise BadInput(f"{problem} {listed([*near, *names])}{said}")


def listed(names: Iterable[str]) -> str:
    """Return what there is as a sentence: the first names of a list, each once."""
    every = list(dict.fromkeys(names))
    rest = f" and {len(every) - NAMES_SHOWN:,} more" if len(every) > NAMES_SHOWN else ""
    return f"There are: {', '.join(every[:NAMES_SHOWN])}{rest}." if every else "There are none yet."


def _numbered(thing: object) -> str:
    """Return a thing with the number by which it can be named where its name is that of several."""
    return f"{thing} ({thing.pk})" if isinstance(thing, Model) else str(thing)
