"""Named views of results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import QueryDict

from evalsite.base.refusals import Refused
from evalsite.reports.models import SavedView
from judging.models import Suite

MAX_VIEWS = 50  # of one person and suite
MAX_NAME_LENGTH = 80  # characters
MAX_QUERY_LENGTH = 2000
PLACES = ("page", "row", "print")  # in the rows: no part of a view


class ViewRefused(Refused):
    """The view cannot be saved; the message says why."""


@dataclass(frozen=True, slots=True)
class OfferedView:
    """A saved view as its suite's page offers it to one person."""

    view: SavedView
    is_open: bool  # the page shows it now
    is_mine: bool


def views_for(*, suite_id: int, user: User, query: str) -> list[OfferedView]:
    """Return a person's own views and those that others share, by name; `query` is what the page shows."""
    shown = plain_query(query)
    views = SavedView.objects.filter(Q(created_by=user.pk) | Q(is_shared=True), suite=suite_id)
    ordered = views.select_related("created_by").order_by("name", "pk")
    return [OfferedView(view, view.query == shown, view.created_by_id == user.pk) for view in ordered]


def plain_query(query: str) -> str:
    """Return the choices of an address without the place in its rows, in one order."""
    choices = QueryDict(query)
    return "&".join(sorted(part for part in choices.urlencode().split("&") if part.split("=")[0] not in PLACES))


@transaction.atomic
def save_view(*, suite: Suite, name: str, query: str, is_shared: bool, actor: User, at: datetime) -> SavedView:
    """Save what a page shows; a view of the same name by the same person is replaced.

    Raises:
        ViewRefused: there is no name, or too much to save.
    """
    name, plain = " ".join(name.split()), plain_query(query)
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise ViewRefused(f"Enter a name of at most {MAX_NAME_LENGTH} characters.")
    if len(plain) > MAX_QUERY_LENGTH:
        raise ViewRefused("This view chooses too much to be kept. Choose fewer systems or judges.")
    mine = SavedView.objects.filter(suite=suite, created_by=actor)
    if not mine.filter(name=name).exists() and mine.count() >= MAX_VIEWS:
        raise ViewRefused(f"You keep {MAX_VIEWS} views of this suite already. Delete one first.")
    values = {"query": plain, "is_shared": is_shared, "created_at": at}
    return SavedView.objects.update_or_create(suite=suite, created_by=actor, name=name, defaults=values)[0]


def delete_view(*, view: SavedView) -> None:
    """Forget a view; what it shows is left as it is."""
    view.delete()
