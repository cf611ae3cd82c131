"""A leaderboard as pages that open from disk: the board, its charts, its results, and each row with texts and reasons.

They are the site's own pages, in which every link leads to another page of the bundle or is text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django_htmx.middleware import HtmxDetails

from evalsite.accounts.audit import record
from evalsite.base.http import PageRequest, get_view, whole_number
from evalsite.base.page_scopes import within_scope
from evalsite.base.tables import write_zip
from evalsite.reports.jobs import BeingComputed
from evalsite.reports.views.boards.leaderboards import board_page
from evalsite.reports.views.boards.suite_charts import charts_page
from evalsite.reports.views.pages import waits_for_report
from evalsite.reports.views.results.results import PER_PAGE, results_page
from judging.models import Picture, Suite
from judging.models.benchmarks import picture_url
from judging.selectors.pictures import picture_files
from judging.specs.suites.case_rows import image_file

INDEX, CHARTS = "index.html", "charts.html"
ON_REPORTS = 3  # files that come first: the board, its charts and its results, each of which may be being computed
MAX_ROWS = 300  # in a bundle that a page sends: about 20 s of a web thread
LEFT_OUT = frozenset({"script", "form", "dialog", "noscript", "help-button", "nav-tabs", "row-choices", "toasts"})
SPRITE = "vendor/icons.svg"
IS_COMPUTING = 'hx-trigger="every'  # pages ask again while a worker computes their report
SINGLE_ROW = ("row", "page")


@dataclass(slots=True)
class BoardBundle:
    """The files of a bundle. The reports behind the pages must have been computed."""

    suite: Suite
    most_rows: int = MAX_ROWS
    _results: str = ""  # the choices of the results, as the leaderboard's first link to them says
    _charts: str | None = None  # those of the charts
    _waiting: deque[tuple[str, str]] = field(default_factory=deque)  # files to write, each with its choices
    _named: set[str] = field(default_factory=set)
    _styles: set[str] = field(default_factory=set)
    _pictures: dict[str, str] = field(default_factory=dict)  # images of the pages: hash -> file
    _icons: set[str] = field(default_factory=set)  # of the page that is being made

    def files(self, query: str) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the files of the leaderboard under these choices by name, each page made when its turn comes."""
        yield INDEX, [self._page(board_page, query, self._from_board)]
        if self._charts is not None:
            yield CHARTS, [self._page(charts_page, self._charts, self._elsewhere)]
        while self._waiting:
            name, choices = self._waiting.popleft()
            yield name, [self._page(results_page, choices, self._from_results)]
        yield from picture_files(self._pictures)
        for path in sorted(self._styles):
            yield f"static/{path}", [Path(str(finders.find(path))).read_bytes()]

    def _page(
        self, page: Callable[[PageRequest, int], HttpResponse], query: str, scope: Callable[[str], str | None]
    ) -> bytes:
        request = HttpRequest()
        request.method, request.path = "GET", "/"
        request.META |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80"}
        request.GET = QueryDict(f"{query}&print=1")
        request.user = AnonymousUser()
        request.htmx = HtmxDetails(request)  # type: ignore[attr-defined]  # as the middleware does
        request.is_bundle = True  # type: ignore[attr-defined]  # pages then lead to the charts beside them
        request.page_foot = f"Copied {timezone.localtime():%d %B %Y}"  # type: ignore[attr-defined]
        shown = page(request, self.suite.pk).text  # type: ignore[arg-type]  # as whoever has a share link
        if IS_COMPUTING in shown:
            raise BeingComputed
        self._icons.clear()
        text = within_scope(shown, scope, left_out=LEFT_OUT)
        return text.replace("</body>", f"{_symbols(self._icons)}</body>").encode()

    def _from_board(self, address: str) -> str | None:
        parts = urlsplit(address)
        if parts.path == reverse("reports:results-detail", args=[self.suite.pk]):
            choices = QueryDict(parts.query, mutable=True)
            for name in ("system", "sort", "print"):
                choices.pop(name, None)
            self._results = self._results or choices.urlencode()
            return self._results_page(1)
        if parts.path == reverse("reports:charts-detail", args=[self.suite.pk]):
            self._charts = parts.query if self._charts is None else self._charts
            return CHARTS
        return self._elsewhere(address)

    def _from_results(self, address: str) -> str | None:
        parts = urlsplit(address)
        choices = QueryDict(parts.query, mutable=True)
        row, page = choices.get("row", ""), choices.get("page", "")
        for name in (*SINGLE_ROW, "print"):
            choices.pop(name, None)
        if parts.path or not parts.query or choices != QueryDict(self._results):
            return self._elsewhere(address)
        return self._row(row, page) if row else self._results_page(whole_number(page) or 1)

    def _results_page(self, number: int) -> str | None:
        """Return the file of a page of the results, which comes before those of rows; None beyond the limit."""
        if (number - 1) * PER_PAGE >= self.most_rows:
            return None
        name = f"results-{number}.html"
        if name not in self._named:
            self._named.add(name)
            self._waiting.appendleft((name, f"{self._results}&page={number}"))
        return name

    def _row(self, key: str, page: str) -> str | None:
        """Return the file of a row; None for one that no page of the results in the bundle lists."""
        name = f"row-{key}.html"
        if page and name not in self._named and key.replace("-", "").isalnum():
            self._named.add(name)
            self._waiting.append((name, f"{self._results}&row={key}"))
        return name if name in self._named else None

    def _picture(self, digest: str) -> str | None:
        """Return the file of an image; None where it is not stored."""
        if digest not in self._pictures:
            media_type = Picture.objects.filter(pk=digest).values_list("media_type", flat=True).first()
            if media_type is None:
                return None
            self._pictures[digest] = image_file({"digest": digest, "media_type": media_type})
        return self._pictures[digest]

    def _elsewhere(self, address: str) -> str | None:
        """Return the file of what every page links to: the leaderboard and the looks."""
        parts = urlsplit(address)
        if parts.path.endswith(".css") and parts.path.startswith(settings.STATIC_URL):
            path = parts.path.removeprefix(settings.STATIC_URL)
            self._styles.add(path)
            return f"static/{path}"
        if parts.path == f"{settings.STATIC_URL}{SPRITE}":
            self._icons.add(parts.fragment)
            return f"#{parts.fragment}"
        if match := _picture_address().fullmatch(parts.path):
            return self._picture(match[1])
        if parts.path == reverse("reports:leaderboard-detail", args=[self.suite.pk]):
            return INDEX
        return address if address.startswith("#") else None


def _symbols(icons: set[str]) -> str:
    """Return the pictures of a page: browsers take none out of another file of a disk."""
    sprite = Path(str(finders.find(SPRITE))).read_text(encoding="utf-8")
    drawn = "".join(
        symbol for symbol in re.findall(r"<symbol.*?</symbol>", sprite, re.S) if _NAME.findall(symbol)[0] in icons
    )
    return f'<svg hidden xmlns="http://www.w3.org/2000/svg">{drawn}</svg>' if drawn else ""


@cache
def _picture_address() -> re.Pattern[str]:
    return re.compile(re.escape(picture_url("0" * 64)).replace("0" * 64, "([0-9a-f]{64})"))


_NAME = re.compile(r'id="([^"]*)"')


@get_view("reports.view_snapshot")
@waits_for_report
def leaderboard_bundle(request: PageRequest, suite_id: int) -> StreamingHttpResponse:
    """Download a leaderboard with the first rows of its results as pages in a ZIP archive."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    files = BoardBundle(suite).files(request.GET.urlencode())
    first = list(islice(files, ON_REPORTS))  # so that what is being computed is told before anything is sent
    record(request.user, "report.exported", suite, table="pages", format="zip")
    headers = {"Content-Disposition": f'attachment; filename="{slugify(str(suite))}.zip"'}
    return StreamingHttpResponse(write_zip(chain(first, files)), content_type="application/zip", headers=headers)
