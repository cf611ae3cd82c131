"""Leaderboards, their charts, bundles, share links and gates."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.middleware import HtmxDetails

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page
from evalsite.base.actions.reports import BeingComputed, NoSuchTable
from evalsite.base.http import PageRequest, SentFile, form_view, get_view, page_of, whole_numbers
from evalsite.base.rich_text import within_scope
from evalsite.base.tables import ZIP, write_zip
from evalsite.base.types import JsonDict, Refused, whole_number
from evalsite.reports import jobs
from evalsite.reports.actions.boards import (
    BOARD,
    LEADERBOARD_REPORT,
    PAIR,
    board_shown,
    comparison_shown,
    leaderboard_shown,
)
from evalsite.reports.actions.publications import share
from evalsite.reports.actions.results import CHARTS_REPORT, SCORES, charts_shown
from evalsite.reports.forms import LeaderboardChoice, ShareForm, leaderboard_choice, results_choice, two_systems
from evalsite.reports.models import OfficialBoard, ShareLink, StoredGate
from evalsite.reports.selectors.leaderboards import (
    MAX_COLUMNS,
    EvaluatorChoices,
    Grader,
    board_options,
    evaluators_of,
    first_graders,
    grader_named,
    graders_named,
    graders_of,
    scored_suites,
)
from evalsite.reports.services.calibration import certificate_beside
from evalsite.reports.services.charts import common_axis, difference_axis
from evalsite.reports.services.leaderboards import (
    BREAKDOWN,
    COMPARISON,
    LEADERBOARD,
    MODES,
    shown_pair_slices,
    shown_slices,
    version_options,
)
from evalsite.reports.services.publications import RuleStatus, open_share
from evalsite.reports.services.snapshots import ReportContent
from evalsite.reports.services.suite_boards import (
    SUITE_BOARD,
    board_chart,
    few_labels,
    find_pair,
    leaderboard_rows,
    matrix_rows,
    suite_board,
)
from evalsite.reports.services.suite_charts import MAX_LINES, SUITE_CHARTS, suite_charts
from evalsite.reports.views.pages import (
    FORMATS,
    REPORT_FORMATS,
    report_command,
    report_page,
    table_download,
    waits_for_report,
)
from evalsite.reports.views.results import PER_PAGE, results_page
from judging.models import SCORED_KINDS, EvaluatorKind, Picture, Run, RunEvaluator, Score, Suite, System
from judging.models.benchmarks import picture_url
from judging.selectors.benchmarks import picture_files
from judging.selectors.judges import score_scale_of
from judging.specs.suites.cases_yaml import image_file
from judging.statistics.estimates import MeanKind

MODE_WORDS = {
    MeanKind.RAW: ("Raw", "The mean of all scores of the grader or judge."),
    MeanKind.HUMAN: ("Human only", "The mean of the final human labels of the random audit sample."),
    MeanKind.CORRECTED: (
        "Corrected",
        "The mean of all scores, corrected for the bias of the judge by the random audit sample.",
    ),
}
CASES_SHOWN = 100
PAGE = "reports/gate_list.html"
COLOURS = {RuleStatus.HELD: "#1a7f37", RuleStatus.NOT_HELD: "#b42318", RuleStatus.TOO_FEW: "#57606a"}


@get_view("reports.view_snapshot")
def leaderboard_list(request: PageRequest) -> HttpResponse:
    """List suites with scores."""
    page = page_of(request, scored_suites(), per_page=25)
    suites = list(page.object_list)
    choices = evaluators_of([suite.pk for suite in suites])
    rows = [{"suite": suite, "choices": choices[suite.pk], "best": choices[suite.pk].pick("")} for suite in suites]
    return render(request, "reports/leaderboard_list.html", {"rows": rows, "page_obj": page})


@get_view("reports.view_snapshot")
def board_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show every grader and version of a judge side by side, over all runs: the chosen, the official or the first."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    graders, official, chosen = _chosen_graders(request, suite_id)
    is_first = chosen == first_graders(graders, official)
    context: JsonDict = {"suite": suite, "graders": graders, "wanted": chosen, "official": official}
    context["is_official"] = is_first and official and any(graders_named(chosen, official.evaluators))
    if chosen:
        report = jobs.obtain(SUITE_BOARD, subject_id=suite.pk, options=board_options(chosen), at=timezone.now())
        context |= {"report": report, "formats": REPORT_FORMATS}
        if is_first:
            context["command"] = report_command("board", suite=suite.pk)
        if report.content is not None:
            context |= suite_board(report.content, chosen)
    return report_page(request, "board_detail", context)


@get_view("reports.view_snapshot")
@waits_for_report
def board_export(request: PageRequest, suite_id: int, format_name: str) -> HttpResponse | StreamingHttpResponse:
    """Download the figures of the board that the page shows."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    _, _, chosen = _chosen_graders(request, suite_id)
    if not chosen:
        raise Http404("Nothing has scored this suite yet.")
    shown, subject = board_shown(suite.pk, chosen, waits=False), NamedSubject(f"{suite} board", suite.pk)
    return table_download(request, BOARD, shown, format_name=format_name, subject=subject)


@get_view("reports.view_snapshot")
def leaderboard_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show one suite's systems in order."""
    return board_page(request, suite_id)


def board_page(request: PageRequest, suite_id: int) -> HttpResponse:
    """Return the leaderboard of a suite, whoever reads it."""
    suite, choices, choice = _choices_of(request, suite_id)
    board = choices.pick(choice.evaluator)
    evaluator = board.evaluator if board else None
    context: JsonDict = {
        "suite": suite,
        "choices": choices,
        "board": board,
        "choice": choice,
        "evaluator": evaluator,
        "modes": [(mode, *MODE_WORDS[mode]) for mode in MODES],
        "mode_words": MODE_WORDS[choice.mode][1],
        "formats": FORMATS,
        "board_formats": REPORT_FORMATS,
    }
    if evaluator is not None:
        report = jobs.obtain(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=timezone.now())
        context |= {"report": report, "certificate": certificate_beside(evaluator)}
        context["command"] = "" if choice.version else _command(evaluator, choice)
        if report.content is not None:
            rows = leaderboard_rows(report.content, mode=choice.mode, sort=choice.sort)
            context |= {
                "content": report.content,
                "scale": score_scale_of(evaluator),
                "rows": rows,
                "axis": common_axis([row["figure"] for row in rows]),
                "chart": board_chart(rows),
                "few": None if choice.mode == MeanKind.RAW else few_labels(rows, cases=report.content["n_cases"]),
                "matrix": matrix_rows(report.content, mode=choice.mode),
                "slices": shown_slices(report.content, mode=choice.mode),
                "paper_formats": REPORT_FORMATS,
                "reason": next((row["figure"]["reason"] for row in rows if row["figure"]["value"] is None), ""),
            }
    return report_page(request, "leaderboard_detail", context)


@get_view("reports.view_snapshot")
def leaderboard_compare(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show two systems against each other, and the cases on which they differ most."""
    suite, choices, choice = _choices_of(request, suite_id)
    evaluator = _chosen(choices, choice)
    pair = two_systems(request.GET.getlist("system"))
    context: JsonDict = {"suite": suite, "evaluator": evaluator, "choice": choice, "pair_keys": pair}
    context["formats"] = REPORT_FORMATS
    if pair is not None:
        query = urlencode({**request.GET.dict(), "evaluator": evaluator.pk, "system": pair}, doseq=True)
        context["command"] = report_command("comparison", suite=suite.pk, query=query)
        options = choice.options | {"systems": list(pair)}
        report = jobs.obtain(COMPARISON, subject_id=evaluator.pk, options=options, at=timezone.now())
        whole = jobs.obtain(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=timezone.now())
        compared = find_pair(whole.content, *pair, mode=choice.mode) if whole.content is not None else None
        context |= {"report": report, "content": report.content if compared else None, "pair": compared}
        if compared is not None:
            scale = score_scale_of(evaluator)
            context |= {"scale": scale, "apart": scale.differences}
            context["cases"] = report.content["cases"][:CASES_SHOWN] if report.content else []
            context["axis"] = difference_axis(compared["difference"])
            context["slices"] = shown_pair_slices(report.content, mode=choice.mode) if report.content else []
        elif whole.content is not None:
            context["absent"] = _why_not_compared(whole.content, pair, baseline=evaluator.compared_with)
    return report_page(request, "leaderboard_compare", context)


@get_view("reports.view_snapshot")
def leaderboard_breakdown(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show a rule grader's points by language, type and metric."""
    suite, choices, choice = _choices_of(request, suite_id)
    boards = (*choices.fullest, *choices.every, *choices.archived)
    graders = [board.evaluator for board in boards if board.evaluator.kind == EvaluatorKind.GRADER]
    grader = next((row for row in graders if str(row.pk) == choice.evaluator), next(iter(graders), None))
    context: JsonDict = {"suite": suite, "evaluator": grader, "formats": REPORT_FORMATS}
    if grader is not None:
        report = jobs.obtain(BREAKDOWN, subject_id=grader.pk, options={}, at=timezone.now())
        context |= {"report": report, "content": report.content}
    return report_page(request, "leaderboard_breakdown", context)


@get_view("reports.view_snapshot")
@waits_for_report
def leaderboard_chart(request: PageRequest, suite_id: int) -> HttpResponse:
    """Download the three means of each system as SVG."""
    _, choices, choice = _choices_of(request, suite_id)
    evaluator = _chosen(choices, choice)
    content = jobs.content_shown(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=timezone.now())
    chart = board_chart(leaderboard_rows(content, mode=choice.mode, sort=choice.sort))
    if chart is None:
        raise Http404("There is no chart yet.")
    context = {"chart": chart, "body": "reports/_board_chart_body.html"}
    response = render(request, "reports/chart.svg", context, content_type="image/svg+xml")
    response["Content-Disposition"] = 'attachment; filename="means.svg"'
    return response


@get_view("reports.view_snapshot")
@waits_for_report
def leaderboard_export(
    request: PageRequest, suite_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download a table of a leaderboard; `scores` is every single score of the evaluator."""
    suite, choices, choice = _choices_of(request, suite_id)
    evaluator = _chosen(choices, choice)
    subject = NamedSubject(f"{suite} {evaluator.name}", suite.pk)
    if table == "scores":
        scores = Score.objects.filter(run=evaluator.run, evaluator=evaluator)
        return table_download(request, SCORES, scores, format_name=format_name, subject=subject)
    if table == "pair":
        pair = two_systems(request.GET.getlist("system"))
        if pair is None:
            raise Http404("Choose two systems.")
        compared = comparison_shown(evaluator, choice, pair, waits=False)
        return table_download(request, PAIR, compared, format_name=format_name, subject=subject)
    try:
        declared, shown = LEADERBOARD_REPORT.table(table), leaderboard_shown(evaluator, choice, waits=False)
        return table_download(request, declared, shown, format_name=format_name, subject=subject)
    except (NoSuchTable, Refused) as missing:
        raise Http404(str(missing)) from missing


def _command(evaluator: RunEvaluator, choice: LeaderboardChoice) -> str:
    named = {name: choice.options.get(name) for name in ("scenario", "lang", "type", "looks")}
    named |= {"mode": None if choice.mode == MeanKind.RAW else choice.mode.value}
    skips = choice.options.get("missing") == "skip"
    return report_command("leaderboard", run=evaluator.run_id, evaluator=evaluator.name, **named, skip_missing=skips)


def _chosen_graders(request: PageRequest, suite_id: int) -> tuple[list[Grader], OfficialBoard | None, list[Grader]]:
    """Return a suite's graders, its official board, and the graders that the address names or that are shown first."""
    graders = list(graders_of(suite_id))
    official = OfficialBoard.objects.select_related("pinned_by").filter(suite=suite_id).first()
    named = graders_named(graders, whole_numbers(request.GET.getlist("grader")))[:MAX_COLUMNS]
    return graders, official, named or first_graders(graders, official)


def _why_not_compared(content: ReportContent, pair: tuple[int, int], *, baseline: str) -> str:
    """Say which of two systems this evaluator has no scores of, and why; a system that nobody knows is not found."""
    listed = {row["system_id"] for row in content["rows"]}
    absent = [get_object_or_404(System, pk=key).name for key in pair if key not in listed]
    if baseline in absent:
        return f"{baseline} is the baseline that the judge compares with, so it has no score of its own."
    return f"{' and '.join(absent)}: no score by this evaluator, so there is nothing to compare."


def _choices_of(request: PageRequest, suite_id: int) -> tuple[Suite, EvaluatorChoices, LeaderboardChoice]:
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    choice = leaderboard_choice(request.GET)
    version = next((row for row in graders_of(suite_id) if row.holds(choice.version)), None) if choice.version else None
    if version is not None:
        options = choice.options | version_options(version.evaluators)
        choice = replace(choice, evaluator=str(version.key), options=options)
    elif choice.version:
        choice = replace(choice, evaluator=str(choice.version), version=None)
    return suite, evaluators_of([suite_id])[suite_id], choice


def _chosen(choices: EvaluatorChoices, choice: LeaderboardChoice) -> RunEvaluator:
    board = choices.named(choice.evaluator)
    if board is None:
        raise Http404("Nothing has scored this suite yet, or not the grader or judge that is named.")
    return board.evaluator


HEADERS = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}


@action_page(share, form_view)
def share_list(request: PageRequest) -> HttpResponse:
    """List the links, and make one to the suite that the address names: its address is shown once."""
    context: JsonDict = {"now": timezone.now()}
    key = whole_number(request.GET.get("suite", ""))
    if key is not None:
        suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=key)
        query = request.GET.copy()
        query.pop("suite")
        address = {"suite": suite.pk, "query": query.urlencode()}
        form = ShareForm(address | request.POST.dict() if request.method == "POST" else None, initial=address)
        context |= {"suite": suite, "form": form}
        if form.is_valid():
            issued = share.carry_out(ActionCall(None, form, request.user, context["now"]))
            path = reverse("reports:shared-board", args=[issued.secret])
            context |= {"issued": issued.row, "issued_url": request.build_absolute_uri(path)}
    links = ShareLink.objects.select_related("suite__benchmark", "created_by").order_by("-created_at", "-pk")
    return render(request, "reports/share_list.html", context | {"page_obj": page_of(request, links)})


def shared_view(page: Callable[[PageRequest, int], HttpResponse]) -> Callable[..., HttpResponse]:
    """Return the view of a page of the suite whose leaderboard a link shares, for whoever has the link."""

    @login_not_required
    @never_cache
    @require_GET
    @vary_on_headers("HX-Request")
    def view(request: PageRequest, token: str) -> HttpResponse:
        return _shared(request, token, page)

    return view


shared_board, shared_results = shared_view(board_page), shared_view(results_page)


def _shared(request: PageRequest, token: str, page: Callable[[PageRequest, int], HttpResponse]) -> HttpResponse:
    """Return a page as somebody without an account may read it. Raises: Http404 for a link that is none now."""
    link = open_share(token, at=timezone.now())
    if link is None:
        raise Http404("There is no such page.")
    if link.query and page is board_page and not request.GET:
        return _closed(redirect(f"{request.path}?{link.query}"))
    request.user = AnonymousUser()  # type: ignore[assignment]  # the link shows everybody the same
    name = link.created_by.get_full_name() or link.created_by.username
    request.page_foot = f"Shared by {name} for reading, until {link.expires_at:%d %B %Y}"  # type: ignore[attr-defined]
    response = page(request, link.suite_id)
    shown = {
        reverse("reports:leaderboard-detail", args=[link.suite_id]): reverse("reports:shared-board", args=[token]),
        reverse("reports:results-detail", args=[link.suite_id]): reverse("reports:shared-results", args=[token]),
    }
    shown |= {address: address for address in shown.values()}
    files = static("")

    def scope(address: str) -> str | None:
        parts = urlsplit(address)
        if address.startswith(files) or not (parts.netloc or parts.path):
            return address
        path = None if parts.netloc else shown.get(parts.path)
        return parts._replace(path=path).geturl() if path else None

    response.content = within_scope(response.text, scope).encode()
    return _closed(response)


def _closed(response: HttpResponse) -> HttpResponse:
    """Return an answer that is not listed by search engines, and whose address no other site is told."""
    for name, value in HEADERS.items():
        response[name] = value
    return response


@get_view("reports.view_snapshot")
def charts_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """Show distribution, time, length, tokens and agreement of one grader's scores, each with its table."""
    return charts_page(request, suite_id)


def charts_page(request: PageRequest, suite_id: int) -> HttpResponse:
    """Return the charts of a suite, whoever reads them."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    graders, choice = graders_of(suite_id), results_choice(request.GET)
    grader = grader_named(graders, choice.graders)
    context: JsonDict = {"suite": suite, "graders": graders, "grader": grader, "most_lines": MAX_LINES}
    if grader is not None:
        report = jobs.obtain(SUITE_CHARTS, subject_id=grader.key, options=grader.options, at=timezone.now())
        context |= {"report": report, "formats": FORMATS}
        context["command"] = report_command("charts", suite=suite.pk, query=f"grader={grader.key}")
        if report.content is not None:
            context["charts"] = suite_charts(report.content, chosen=choice.systems)
    return report_page(request, "suite_charts", context)


@get_view("reports.view_snapshot")
@waits_for_report
def charts_export(
    request: PageRequest, suite_id: int, table: str, format_name: str
) -> HttpResponse | StreamingHttpResponse:
    """Download the table beside one of the charts."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    try:
        declared, shown = CHARTS_REPORT.table(table), charts_shown(suite, request.GET, waits=False)
    except (NoSuchTable, Refused) as missing:
        raise Http404(str(missing)) from missing
    subject = NamedSubject(f"{suite} charts {shown.grader.label}", suite.pk)
    return table_download(request, declared, shown, format_name=format_name, subject=subject)


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


def board_pages(*, suite: Suite, query: str, actor: User | None, most_rows: int = MAX_ROWS) -> SentFile:
    """Return a leaderboard with the first rows of its results as pages in a ZIP archive.

    Raises:
        BeingComputed: a worker computes one of their reports.
    """
    files = BoardBundle(suite, most_rows).files(query)
    first = list(islice(files, ON_REPORTS))  # so that what is being computed is told before anything is sent
    record(actor, "report.exported", suite, table="pages", format="zip")
    return SentFile(f"{slugify(str(suite)) or 'suite'}.zip", ZIP, write_zip(chain(first, files)))


@get_view("reports.view_snapshot")
@waits_for_report
def leaderboard_bundle(request: PageRequest, suite_id: int) -> StreamingHttpResponse:
    """Download a leaderboard with the first rows of its results as pages in a ZIP archive."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark"), pk=suite_id)
    return board_pages(suite=suite, query=request.GET.urlencode(), actor=request.user).response()


def gates_context(request: PageRequest, _subject: None) -> JsonDict:
    """Return what the page shows beside its form."""
    site = request.build_absolute_uri("/").rstrip("/")
    return {"gates": StoredGate.objects.select_related("suite__benchmark").order_by("-pk"), "site": site}


def gates_of_run(run: Run) -> JsonDict | None:
    """Return the gates of a run's graders and judges, and what a new one starts with; None for runs without scores."""
    if run.kind not in SCORED_KINDS or run.suite_id is None:
        return None
    evaluators = sorted(run.evaluators.all(), key=lambda row: (row.is_baseline, row.position))
    systems = [system.name for system in run.systems.all()]
    rule = f"{systems[0]}=80%" if systems else "SYSTEM=80%"
    first = {"suite": run.suite_id, "evaluator": evaluators[0].name if evaluators else "", "rule": rule}
    gates = StoredGate.objects.filter(suite=run.suite_id, evaluator__in=[row.name for row in evaluators]).order_by(
        "-pk"
    )
    return {"gates": gates, "offered": urlencode(first), "example": rule}


@login_not_required
@require_safe
@never_cache
def gate_badge(_request: HttpRequest, badge: str) -> HttpResponse:
    """Return the picture that says whether a gate holds, and nothing else of the site."""
    verdict = RuleStatus(get_object_or_404(StoredGate, badge=badge).verdict)
    context = {"verdict": verdict, "colour": COLOURS[verdict]}
    return render(None, "reports/badge.svg", context, content_type="image/svg+xml")
