"""The request that views see, paging, and answers shared by the apps' views."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.functional import cached_property
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.middleware import HtmxDetails

from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES, PAPER_TYPES, ExtraMissing, Table, table_bytes
from evalsite.base.types import Refused, whole_number

M = TypeVar("M", bound=Model)
V = TypeVar("V", bound=Callable[..., HttpResponseBase])
PAGE_SIZES = (25, 50, 100)
PER_PAGE = 50
MOST_WORKBOOK_ROWS = 40_000  # of twelve columns: 10 s of a processor, in which a web thread answers nobody else
PLAIN = "text/plain; charset=utf-8"
TOO_MANY_ROWS = (
    f"This table cannot be exported as a workbook: it has more than {MOST_WORKBOOK_ROWS:,} rows."
    " Download the CSV instead, which has no limit and can be opened in spreadsheets."
)

if TYPE_CHECKING:
    _AnyPaginator = Paginator[Any]
else:
    _AnyPaginator = Paginator  # generic only in the stubs


def whole_numbers(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the numbers among texts in their order, each once."""
    return tuple(dict.fromkeys(key for text in texts if (key := whole_number(text)) is not None))


class PageRequest(HttpRequest):
    """A request after authentication and htmx middleware."""

    user: User  # sign-in is required everywhere, so it is never anonymous
    htmx: HtmxDetails


def get_view(*permissions: str) -> Callable[[V], V]:
    """Let a view be read, as a page or as the fragment that htmx asks for, by those with all the permissions."""
    return lambda view: _read_by(permissions, ["GET", "HEAD"], view)


def form_view(*permissions: str) -> Callable[[V], V]:
    """Let a view show and take a form, for those with all the permissions."""
    return lambda view: _read_by(permissions, ["GET", "HEAD", "POST"], view)


def post_view(*permissions: str) -> Callable[[V], V]:
    """Let a view act on a POST of those with all the permissions."""
    return lambda view: require_POST(permission_required(permissions, raise_exception=True)(view))


def _read_by(permissions: tuple[str, ...], methods: list[str], view: V) -> V:
    allowed = permission_required(permissions, raise_exception=True)(view)
    return require_http_methods(methods)(vary_on_headers("HX-Request")(allowed))


class CountedPaginator(_AnyPaginator):
    """A paginator whose count is known beforehand, for lists too long to count at each request.

    A page is found by its rows' keys first, from the nearer end: what rows are joined with is then read for those of
    the page alone, whatever the database thinks of the list's length.
    """

    def __init__(self, items: QuerySet[Any], per_page: int, *, count: int) -> None:
        super().__init__(items, per_page)
        self._items = items
        self._count = count

    @property
    def count(self) -> int:
        return self._count

    def page(self, number: int | str) -> Page[Any]:
        """Return the page of this number. Raises: InvalidPage."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        end = min(start + self.per_page, self._count)
        keys = self._items.values_list("pk", flat=True)
        chosen = keys[start:end] if end <= self._count // 2 else keys.reverse()[self._count - end : self._count - start]
        return Page(self._items.filter(pk__in=list(chosen)), number, self)


Kept = Callable[[Callable[[], list[int]]], list[int]]
MOST_FOUND = 1_000  # rows of a search that can be paged through; whoever wants others searches for more


class SearchPaginator(_AnyPaginator):
    """A paginator of what a slow search finds: its first keys are read once, for count and page alike.

    `rows` are all that could be found, in the same order: the page's are read of them, so that nothing is sought twice.
    `kept` returns the keys as they were found before, or finds them.
    """

    def __init__(self, items: QuerySet[Any], per_page: int, *, rows: QuerySet[Any], kept: Kept) -> None:
        super().__init__(items, per_page)
        self._items, self._rows, self._kept = items, rows, kept

    @cached_property
    def keys(self) -> list[int]:
        """The keys of the rows found, in their order, and one more where there are more than can be paged through."""
        return self._kept(lambda: list(self._items.values_list("pk", flat=True)[: MOST_FOUND + 1]))

    @property
    def count(self) -> int:
        return min(len(self.keys), MOST_FOUND)

    @property
    def has_more(self) -> bool:
        """Whether more was found than can be paged through."""
        return len(self.keys) > MOST_FOUND

    def page(self, number: int | str) -> Page[Any]:
        """Return the page of this number. Raises: InvalidPage."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        end = min(start + self.per_page, self.count)
        return Page(self._rows.filter(pk__in=self.keys[start:end]), number, self)


def page_of(request: HttpRequest, items: QuerySet[M], *, per_page: int = PER_PAGE, count: int | None = None) -> Page[M]:
    """Return the page named by `?page=` (the nearest where out of range) of an ordered query."""
    per_page = _size_of(request, per_page)
    paginator = Paginator(items, per_page) if count is None else CountedPaginator(items, per_page, count=count)
    return paginator.get_page(request.GET.get("page"))


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that an act or a view sends: its name, its type and its bytes, made piece by piece as they are read."""

    name: str
    content_type: str
    pieces: Iterable[bytes]

    def response(self) -> StreamingHttpResponse:
        """Return the download."""
        headers = {"Content-Disposition": f'attachment; filename="{self.name}"'}
        return StreamingHttpResponse(self.pieces, content_type=self.content_type, headers=headers)


def table_file(table: Table, format_name: str, *, name: str) -> SentFile:
    """Return a table as a file.

    Raises:
        KeyError: there is no such format.
        ExtraMissing: the format needs a library that is not installed.
        Refused: the table has too many rows for a workbook.
    """
    if format_name == "xlsx":
        rows = list(islice(table.rows, MOST_WORKBOOK_ROWS + 1))
        if len(rows) > MOST_WORKBOOK_ROWS:
            raise Refused(TOO_MANY_ROWS, field="format")
        table = replace(table, rows=rows)
    kind = (CONTENT_TYPES | DATA_TYPES | PAPER_TYPES)[format_name]
    return SentFile(f"{slugify(name) or 'table'}.{format_name}", kind, table_bytes(table, format_name))


def table_response(table: Table, format_name: str, *, file_name: str) -> HttpResponse | StreamingHttpResponse:
    """Return a download; in words why not, for a workbook of too many rows or a format that is not installed.

    Raises:
        KeyError: there is no such format.
    """
    try:
        return table_file(table, format_name, name=file_name).response()
    except ExtraMissing as refusal:
        return HttpResponse(str(refusal), status=501, content_type=PLAIN)
    except Refused as refusal:
        return HttpResponse(str(refusal), status=413, content_type=PLAIN)


def page_of_search(
    request: HttpRequest, items: QuerySet[M], *, rows: QuerySet[M], kept: Kept = lambda find: find()
) -> Page[M]:
    """Return the page named by `?page=` of an ordered query that takes long, out of all `rows` in the same order."""
    return SearchPaginator(items, _size_of(request, PER_PAGE), rows=rows, kept=kept).get_page(request.GET.get("page"))


def _size_of(request: HttpRequest, per_page: int) -> int:
    size = whole_number(request.GET.get("size", ""))
    return size if size in PAGE_SIZES else per_page
