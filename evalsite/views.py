"""The site's own pages: home with its figures, search, health and help."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Count, F, Q, Sum
from django.db.models.functions import TruncDate
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role, role_of
from evalsite.api.problems import ROOT, problem_response
from evalsite.base.http import PageRequest, get_view, post_view
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict
from evalsite.demo.content import load_content, start_work
from evalsite.documents import COVERAGE, find_topic, read_document, shapes_by_tool, topics_for
from evalsite.health import database_state, read_health
from evalsite.job_queues import read_job_queues
from evalsite.navigation import MOST, kinds_for, search
from evalsite.reports.forms import leaderboard_choice
from evalsite.reports.jobs import obtain
from evalsite.reports.selectors.leaderboards import evaluators_of
from evalsite.reports.services.leaderboards import LEADERBOARD
from evalsite.reports.services.snapshots import ReportContent
from evalsite.reports.services.suite_boards import leaderboard_rows
from evalsite.review.models import Annotation, Queue, ReviewItem
from evalsite.review.selectors.pages import remembered
from evalsite.review.selectors.waiting_items import (
    Progress,
    answer_filter,
    progress_in,
    usual_seconds,
    with_my_counts,
    workload_of,
)
from evalsite.review.states import ItemStatus, QueueStatus
from judging.judges.judge_kinds import IMPORTED, starting_points
from judging.judges.registry import KINDS
from judging.llm.endpoints import EndpointKind
from judging.models import (
    SCORED_KINDS,
    Benchmark,
    CallHour,
    ImportStatus,
    ModelEndpoint,
    Run,
    RunEvaluator,
    RunKind,
    RunTask,
    Suite,
    TaskStatus,
    Upload,
)
from judging.models.runs import RunStatus
from judging.selectors.endpoints import key_is_set
from judging.selectors.runs import FailureCount, rate_per_minute
from judging.services.judges import ensure_baselines
from judging.specs.records.names import MENU

FIRST_HITS = 5  # of each kind, where all kinds are searched
MOST_QUERY = 200  # characters
PAGE_HITS = 50


@login_not_required
@require_GET
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer with the whole site's health as JSON; 503 when jobs would not be worked on. Admins see the details."""
    health = read_health(at=timezone.now())
    may_see = health.database == "ok" and request.user.has_perm("accounts.view_auditentry")
    return JsonResponse(
        health.as_json() if may_see else health.in_words(), status=200 if health.status == "ok" else 503
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that cannot be read, with the sentence of who refused it."""
    words = str(exception) if isinstance(exception, BadRequest) else ""
    if request.path.startswith(ROOT):
        return problem_response(400, words)
    return HttpResponse(render_to_string("400.html", {"words": words}), status=400)


@login_not_required
@require_GET
@never_cache
def livez(request: HttpRequest) -> HttpResponse:
    """Answer while this web process works at all, whatever it depends on."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@require_GET
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 if pages can be served: the database answers. Broker and workers are none of a load balancer's."""
    state = database_state()
    return HttpResponse(f"{state}\n", content_type="text/plain", status=200 if state == "ok" else 503)


@get_view("accounts.view_auditentry")
def site_health(request: PageRequest) -> HttpResponse:
    """Show the site's health to admins."""
    return render(request, "evalsite/health.html", {"health": read_health(at=timezone.now())})


@get_view("judging.change_run")
def job_list(request: PageRequest) -> HttpResponse:
    """Show what runs, waits and failed; admins see errors whole, and may queue failed jobs again."""
    live = live_runs(at=timezone.now())
    context = {"queues": read_job_queues(), "live": live, "is_moving": _is_moving(live)}
    return render(request, "evalsite/job_list.html", context)


@require_GET
def home(request: PageRequest) -> HttpResponse:
    """Show what this person should see first, by their role."""
    at, role = timezone.now(), role_of(request.user) or Role.ANNOTATOR
    work = researcher_home(at=at) if role in (Role.RESEARCHER, Role.ADMIN) else None
    page: JsonDict = {"mine": annotator_home(user=request.user, at=at), "work": work, "site": None}
    page["board"] = newest_board(at=at) if role == Role.VIEWER else None
    if role == Role.ADMIN:
        active = User.objects.filter(is_active=True).order_by().values(role=F("groups__name"))
        endpoints = ModelEndpoint.objects.filter(is_active=True).order_by("kind", "name", "pk")
        page["site"] = {
            "health": read_health(at=at),
            "endpoints": [(endpoint.name, key_is_set(endpoint)) for endpoint in endpoints],
            "people": sorted((row["role"] or "no role", row["n"]) for row in active.annotate(n=Count("pk"))),
            "audit": AuditEntry.objects.select_related("actor").order_by("-at", "-pk")[:LISTED],
        }
    context = {"page": page, "live": work.live, "is_moving": work.is_moving} if work else {"page": page}
    return render(request, f"evalsite/home_{role.value}.html", context)


@get_view("judging.add_modelendpoint")
def first_steps(request: PageRequest) -> HttpResponse:
    """Show what a new site needs, with a tick where it is done."""
    steps = steps_to_scores()
    following = next((step for step in steps if not step.is_done), None)
    return render(request, "evalsite/first_steps.html", {"steps": steps, "following": following})


@get_view("judging.view_run")
def home_running(request: PageRequest) -> HttpResponse:
    """Show what runs now, for the home page to refresh itself."""
    live = live_runs(at=timezone.now())
    return render(request, "evalsite/_home_running.html", {"live": live, "is_moving": _is_moving(live)})


def _is_moving(live: Iterable[LiveRun]) -> bool:
    """Return whether a run is on its way, so that the page asks again."""
    return any(row.run.status != RunStatus.PAUSED for row in live)


@post_view("judging.add_upload")
def demo_load(request: PageRequest) -> HttpResponse:
    """Load the demo's benchmark, start its first run and debates, and show the benchmark."""
    at = timezone.now()
    ensure_baselines()
    content = load_content(actor=request.user, at=at)
    start_work(content=content, actor=request.user, at=at)
    messages.success(request, "The demo was loaded; its first run and debates have started.")
    return redirect(content.suite.benchmark)


@require_GET
@vary_on_headers("HX-Request")
def site_search(request: PageRequest) -> HttpResponse:
    """Show what the site holds for a query: some of each kind, or one kind a page at a time; htmx gets the options."""
    query, kinds = " ".join(request.GET.get("q", "").split())[:MOST_QUERY], kinds_for(request.user)
    chosen = [kind for kind in kinds if kind.slug == request.GET.get("kind")]
    results = search(user=request.user, query=query, kinds=chosen or kinds, most=MOST if chosen else FIRST_HITS)
    context: JsonDict = {
        "query": query,
        "found": results,
        "kinds": kinds,
        "chosen": chosen[0] if chosen else None,
        "most": MOST,
    }
    if request.htmx:
        return render(request, "_search_options.html", context)
    if chosen:
        context["page_obj"] = Paginator(results[0][1] if results else (), PAGE_HITS).get_page(request.GET.get("page"))
    return render(request, "evalsite/search.html", context)


@require_GET
def help_page(request: PageRequest) -> HttpResponse:
    """Show what there is to read for this person."""
    return render(request, "evalsite/help.html", {"topics": topics_for(role_of(request.user))})


@require_GET
def help_topic(request: PageRequest, slug: str) -> HttpResponse:
    """Show one help page; every person may read every one."""
    topic = find_topic(slug)
    if topic is None:
        raise Http404("There is no such help page.")
    document = read_document(topic.slug)
    if document:
        return render(
            request, "evalsite/help_document.html", {"topic": topic, "html": document[0], "sections": document[1]}
        )
    context: JsonDict = {"topic": topic, "judge_kinds": KINDS.values(), "starting_points": starting_points().values()}
    if slug == "imports":
        context |= {"shapes_by_tool": shapes_by_tool(), "import_roles": [(role, role.label) for role in MENU]}
    if slug == "figures":
        measured = json.loads(COVERAGE.read_text(encoding="utf-8"))
        context["coverage"] = measured | {"day": date.fromisoformat(measured["day"])}
    return render(request, f"evalsite/help_{topic.slug}.html", context)


LISTED = 6
DAY = timedelta(hours=24)
SPEND_DAYS = 30
BOARD_ROWS = 3
SPEND_SECONDS = 60  # how long the sums of spending are kept


@dataclass(frozen=True, slots=True)
class AnnotatorHome:
    """What waits for one person, and how they are doing today."""

    rows: tuple[tuple[Queue, Progress], ...]
    answers_today: int
    median_seconds: float | None

    @property
    def waiting(self) -> int:
        return sum(progress.waiting for _, progress in self.rows)

    @property
    def next_queue(self) -> Queue | None:
        """The queue to continue in: the one begun, else the longest."""
        open_rows = [row for row in self.rows if row[1].waiting]
        return max(open_rows, key=lambda row: (row[1].done > 0, row[1].waiting))[0] if open_rows else None

    @property
    def seconds_left(self) -> float | None:
        return None if self.median_seconds is None else self.waiting * self.median_seconds


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run that is on its way or paused."""

    run: Run
    rate_per_minute: float | None

    @property
    def eta_seconds(self) -> float | None:
        return 60 * self.run.waiting / self.rate_per_minute if self.rate_per_minute else None


@dataclass(frozen=True, slots=True)
class SpendBar:
    """What calls to priced endpoints cost on one day."""

    day: date
    calls: int
    cost: Decimal
    width: int = 0  # of 1000: the share of the dearest day


@dataclass(frozen=True, slots=True)
class BoardHead:
    """The first systems of a leaderboard; no rows while it is being computed."""

    suite: Suite
    evaluator: RunEvaluator
    rows: Sequence[ReportContent]
    system_count: int


@dataclass(frozen=True, slots=True)
class ResearcherHome:
    """What came out last, what the site is doing and what it waits for."""

    is_empty: bool
    board: BoardHead | None  # None: no run has scored anything yet
    spend: tuple[SpendBar, ...]
    live: tuple[LiveRun, ...]
    people_work: Sequence[tuple[Queue, int, float | None]]  # open queues: labels and seconds left; None: no pace yet
    disagreements: int
    finished: Sequence[Run]
    failed: Sequence[tuple[Run, Sequence[FailureCount]]]  # why tasks failed, the commonest reason first
    failed_imports: Sequence[Upload]

    @property
    def spent(self) -> Decimal:
        return sum((row.cost for row in self.spend), Decimal(0))

    @property
    def is_moving(self) -> bool:
        return any(row.run.status != RunStatus.PAUSED for row in self.live)

    @property
    def answers_left(self) -> int:
        return sum(answers for _, answers, _ in self.people_work)

    @property
    def seconds_left(self) -> float | None:
        seconds = [seconds for *_, seconds in self.people_work if seconds is not None]
        return sum(seconds) if seconds else None


def annotator_home(*, user: User, at: datetime) -> AnnotatorHome:
    """Return one person's queues and pace: three queries."""
    queues = with_my_counts(Queue.objects.filter(answer_filter(user.pk), status=QueueStatus.OPEN), user_id=user.pk)
    rows = [(queue, progress_in(queue)) for queue in queues.order_by("name", "pk")]
    midnight = localtime(at).replace(hour=0, minute=0, second=0, microsecond=0)
    today = Annotation.objects.filter(annotator=user, created_at__gte=midnight)
    return AnnotatorHome(
        rows=tuple(row for row in rows if row[1].total),
        answers_today=today.count(),
        median_seconds=usual_seconds(today),
    )


def live_runs(*, at: datetime) -> tuple[LiveRun, ...]:
    """Return the runs that are on their way or paused, the oldest first."""
    statuses = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)
    rows = Run.objects.filter(status__in=statuses, archived_at__isnull=True).exclude(kind=RunKind.SINGLE)
    runs = rows.select_related("suite").order_by("created_at", "pk")[:LISTED]
    return tuple(LiveRun(run, rate_per_minute(run.pace, at=at) if run.status != "paused" else None) for run in runs)


def researcher_home(*, at: datetime) -> ResearcherHome:
    """Return the newest leaderboard, the spending, what runs, what waits for people, what finished and what failed."""
    ended = Run.objects.filter(status=RunStatus.FINISHED, finished_at__gte=at - DAY, archived_at__isnull=True)
    finished = ended.exclude(kind=RunKind.SINGLE).select_related("suite")
    imports = Upload.objects.filter(status=ImportStatus.FAILED, created_at__gte=at - 7 * DAY)
    queues = Queue.objects.filter(status=QueueStatus.OPEN, open_count__gt=0).order_by("-open_count", "pk")[:LISTED]
    work = [(queue, remembered("workload", queue, partial(workload_of, queue=queue))) for queue in queues]
    return ResearcherHome(
        is_empty=not Benchmark.objects.exists(),
        board=newest_board(at=at),
        spend=spend_by_day(at=at),
        live=live_runs(at=at),
        people_work=[(queue, left.answers_left, left.seconds_left) for queue, left in work],
        disagreements=ReviewItem.objects.filter(
            queue__status=QueueStatus.OPEN, status=ItemStatus.NEEDS_ADJUDICATION
        ).count(),
        finished=list(finished.order_by("-finished_at", "-pk")[:LISTED]),
        failed=_failed_runs(at),
        failed_imports=list(imports.order_by("-created_at", "-pk")[:LISTED]),
    )


def newest_board(*, at: datetime) -> BoardHead | None:
    """Return the head of the leaderboard of the suite that a run has scored last, as its own page opens it."""
    listed = Run.objects.filter(archived_at__isnull=True)
    scored = listed.filter(kind__in=SCORED_KINDS, status=RunStatus.FINISHED, done__gt=0)
    run = scored.order_by("-finished_at", "-pk").first()
    board = evaluators_of([run.suite_id])[run.suite_id].pick("") if run is not None else None
    if board is None:
        return None
    options = leaderboard_choice({}).options
    content = obtain(LEADERBOARD, subject_id=board.evaluator.pk, options=options, at=at).content
    rows = leaderboard_rows(content, mode="raw", sort="") if content is not None else []
    return BoardHead(board.evaluator.run.suite, board.evaluator, rows[:BOARD_ROWS], len(rows))


def _failed_runs(at: datetime) -> list[tuple[Run, list[FailureCount]]]:
    """Return runs of the last week with failed tasks: two queries."""
    recent = Q(finished_at__gte=at - 7 * DAY) | Q(finished_at__isnull=True)
    rows = Run.objects.filter(recent, failed__gt=0, archived_at__isnull=True).exclude(kind=RunKind.SINGLE)
    rows = rows.exclude(options__has_key=IMPORTED)  # nobody can ask again what a log does not have
    runs = list(rows.order_by("-created_at", "-pk")[:LISTED])
    tasks = RunTask.objects.filter(run__in=[run.pk for run in runs], status=TaskStatus.FAILED)
    counts = tasks.order_by().values("run", "failure_kind").annotate(n=Count("pk"))
    kinds = grouped((row["run"], FailureCount(row["failure_kind"], row["n"])) for row in counts)
    return [(run, sorted(kinds.get(run.pk, []), key=lambda kind: (-kind.count, kind.kind))) for run in runs]


def spend_by_day(*, at: datetime) -> tuple[SpendBar, ...]:
    """Return the spending of the last days that had any, newest first; sums are kept for a minute."""
    first = localtime(at).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=SPEND_DAYS - 1)
    key = f"home-spend-{first:%Y%m%d}"
    bars: tuple[SpendBar, ...] | None = cache.get(key)
    if bars is None:
        bars = _spend_since(first)
        cache.set(key, bars, SPEND_SECONDS)
    return bars


def _spend_since(first: datetime) -> tuple[SpendBar, ...]:
    priced = ModelEndpoint.objects.exclude(kind=EndpointKind.LEXICAL).values_list("pk", flat=True)
    hours = CallHour.objects.filter(endpoint__in=list(priced), hour__gte=first, calls__gt=0)
    rows = list(
        hours.annotate(day=TruncDate("hour"))
        .values("day")
        .annotate(n=Sum("calls"), cost_sum=Sum("cost"))
        .order_by("-day")
    )
    dearest = max((row["cost_sum"] or Decimal(0) for row in rows), default=Decimal(0))
    return tuple(
        SpendBar(
            day=row["day"],
            calls=row["n"],
            cost=row["cost_sum"] or Decimal(0),
            width=int(1000 * (row["cost_sum"] or 0) / dearest) if dearest else 0,
        )
        for row in rows
    )


@dataclass(frozen=True, slots=True)
class FirstStep:
    """What a new site needs, where it is done, and whether it has been."""

    title: str
    text: str
    address: str
    label: str
    is_done: bool


def steps_to_scores() -> tuple[FirstStep, ...]:
    """Return what leads from an empty site to the first scores, in this order."""
    endpoints = ModelEndpoint.objects.exclude(kind=EndpointKind.LEXICAL)
    tested, runs = endpoints.filter(last_test__works=True), Run.objects.exclude(kind=RunKind.SINGLE)
    newest = endpoints.order_by("-pk").first()
    return (
        FirstStep(
            "Add an endpoint",
            "The address of a model, its identifier, and the name of the variable that holds its key.",
            reverse("judging:endpoint-create"),
            "Add an endpoint",
            newest is not None,
        ),
        FirstStep(
            "Try it",
            "Two calls say whether the address answers, and whether the key is accepted.",
            newest.get_absolute_url() if newest else reverse("judging:endpoint-list"),
            "Test the endpoint",
            tested.exists(),
        ),
        FirstStep(
            "Import",
            "A benchmark with its questions, and responses if there are some.",
            reverse("judging:import-create"),
            "Import a file",
            Benchmark.objects.exists(),
        ),
        FirstStep(
            "Run",
            "Rules grade responses, or judges, or both. New judge on that page makes one that asks the endpoint.",
            reverse("judging:run-create"),
            "Start a run",
            runs.exists(),
        ),
    )
