"""The request that views see, paging, and answers shared by the rooms' views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

M = TypeVar("M", bound=Model)
PAGE_SIZES = (25, 50, 100)

if TYPE_CHECKING:
    _AnyPaginator = Paginator[Any]
else:
    _AnyPaginator = Paginator  # generic only in the stubs


class PageRequest(HttpRequest):
    """A request after authentication and htmx middleware."""

    user: User  # sign-in is required everywhere, so it is never anonymous
    htmx: HtmxDetails


class CountedPaginator(_AnyPaginator):
    """A paginator whose count is known beforehand, for lists too long to count at each request."""

    def __init__(self, items: QuerySet[Any] | list[Any], per_page: int, *, count: int) -> None:
        super().__init__(items, per_page)
        self._count = count

    @property
    def count(self) -> int:
        return self._count


def page_of(request: HttpRequest, items: QuerySet[M], *, per_page: int = 50, count: int | None = None) -> Page[M]:
    """Return the page named by `?page=` (the nearest where out of range) of an ordered query."""
    size = request.GET.get("size", "")
    per_page = int(size) if size.isdigit() and int(size) in PAGE_SIZES else per_page
    paginator = Paginator(items, per_page) if count is None else CountedPaginator(items, per_page, count=count)
    return paginator.get_page(request.GET.get("page"))
