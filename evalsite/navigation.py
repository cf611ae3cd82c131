"""What every page's shell shows: the person's role, the navigation, and the search of the site."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from debate.models import DebateSet
from evalsite.accounts.roles import role_of
from evalsite.accounts.services import admins_in_words
from evalsite.base.types import JsonDict
from evalsite.documents import topics_for
from evalsite.review.models import Queue
from evalsite.review.selectors.waiting_items import member_filter, read_waiting
from evalsite.review.services.notices import read_notices
from evalsite.review.states import QueueStatus
from judging.models import Benchmark, Case, Judge, Prompt, Response, Rubric, Run, Suite, System
from judging.selectors.benchmarks import phrases_of, prompts_with, responses_with


@dataclass(frozen=True, slots=True)
class NavItem:
    """One entry of the rail."""

    label: str
    url: str
    icon: str
    active: bool
    badge: int = 0
    badge_words: str = ""
    group: str = ""
    badge_id: str = ""  # of a badge that fragments bring up to date


# label, URL name, icon, permission, heading above it
ENTRIES = (
    ("Home", "home", "house", "", ""),
    ("Benchmarks", "judging:benchmark-list", "collection", "judging.view_benchmark", ""),
    ("Systems", "judging:system-list", "cpu", "judging.view_benchmark", ""),
    ("Rubrics", "judging:rubric-list", "list-check", "judging.view_benchmark", ""),
    ("Judges", "judging:judge-list", "speedometer", "judging.view_judge", ""),
    ("Runs", "judging:run-list", "play-circle", "judging.view_run", ""),
    ("Review", "review:queue-list", "person-check", "review.view_queue", ""),
    ("Notices", "review:notice-list", "bell", "review.view_queue", ""),
    ("All debates", "debate:set-list", "chat-square-text", "debate.view_debateset", "Debates"),
    ("Agreement with people", "reports:debate-report", "bullseye", "reports.view_snapshot", "Debates"),
    ("Ranking by debates", "reports:arena", "award", "reports.view_snapshot", "Debates"),
    ("Results", "reports:results-newest", "table", "reports.view_snapshot", "Reports"),
    ("Leaderboards", "reports:leaderboard-list", "bar-chart", "reports.view_snapshot", "Reports"),
    ("Agreement", "reports:agreement-list", "people", "review.adjudicate", "Reports"),
    ("Spend", "reports:spend-report", "cash-coin", "judging.view_run", "Reports"),
    ("Endpoints", "judging:endpoint-list", "hdd-network", "judging.view_modelendpoint", "Site"),
    ("Languages", "judging:language-list", "terminal", "judging.change_modelendpoint", "Site"),
    ("People", "accounts:person-list", "person-gear", "auth.view_user", "Site"),
    ("Audit", "accounts:audit-list", "clock-history", "accounts.view_auditentry", "Site"),
    ("Traces", "trace-source-list", "signpost-split", "judging.add_upload", "Site"),
    ("Webhooks", "webhook-list", "megaphone", "api.add_webhook", "Site"),
    ("Jobs", "job-list", "list-ol", "judging.change_run", "Site"),
    ("Health", "site-health", "heart-pulse", "accounts.view_auditentry", "Site"),
    ("Help", "help", "question-circle", "", ""),
)


# Pages that belong to an entry of the rail without sharing its address, by the first part or two of their own.
BELOW = {
    "suites": "judging:benchmark-list",
    "cases": "judging:benchmark-list",
    "responses": "judging:benchmark-list",
    "imports": "judging:benchmark-list",
    "verdicts": "judging:run-list",
    "prompts": "judging:judge-list",
    "reports/judges": "judging:judge-list",
    "reports/golden": "judging:judge-list",
    "reports/gates": "reports:leaderboard-list",
}


def active_url(path: str, urls: Iterable[str]) -> str:
    """Return the address in the rail that a page belongs to; nothing where it belongs to none."""
    parts = path.split("/")
    above = BELOW.get(parts[1]) or BELOW.get("/".join(parts[1:3]))
    if above:
        return reverse(above)
    return max((url for url in urls if path == url or (url != "/" and path.startswith(url))), key=len, default="")


def _is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asked for a part of a page, which has no rail."""
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not (htmx.boosted or htmx.history_restore_request)


def shell(request: HttpRequest) -> JsonDict:
    """Return the navigation and role for signed-in pages; nothing for the others."""
    user = getattr(request, "user", None)
    if not isinstance(user, User) or _is_fragment(request):
        return {}
    waiting, notices = read_waiting(user)
    unread = notices and notices - read_notices(person=user, at=timezone.now(), address=request.path)
    badges = {
        "review:queue-list": (waiting, "waiting for you", "rail-badge"),
        "review:notice-list": (unread, "unread", ""),
    }
    allowed = user.get_all_permissions()
    nav: list[NavItem] = []
    urls = [(entry, reverse(entry[1])) for entry in ENTRIES if not entry[3] or entry[3] in allowed]
    active = active_url(request.path, [url for _, url in urls])
    for (label, name, icon, _, group), url in urls:
        badge, words, badge_id = badges.get(name, (0, "", ""))
        nav.append(NavItem(label, url, icon, url == active, badge, words, group, badge_id))
    return {
        "nav": nav,
        "role": role_of(user),
        "admins": admins_in_words,  # asked for by pages that name them
        "waiting_for_me": waiting,
        "unread_notices": unread,
    }


MOST = 200  # hits of one kind that are read
LEAST = 2  # characters of a query
AROUND = 60  # characters that are shown before the first word of a query
READ = 20_000  # characters of a text in which that word is looked for

# label, URL name, permission
ACTIONS = (
    ("New run", "judging:run-create", "judging.add_run"),
    ("Import files", "judging:import-create", "judging.add_upload"),
    ("Imports", "judging:import-list", "judging.add_upload"),
    ("New judge", "judging:judge-create", "judging.add_judge"),
    ("New endpoint", "judging:endpoint-create", "judging.add_modelendpoint"),
    ("New debates", "debate:set-create", "debate.add_debateset"),
    ("New review queue", "review:queue-create", "review.add_queue"),
    ("New person", "accounts:person-create", "auth.add_user"),
    ("Your details", "accounts:preferences", ""),
    ("API tokens", "token-list", ""),
    ("Change password", "password_change", ""),
)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One thing that was found."""

    label: str
    url: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class SearchKind:
    """One kind of things; `find` returns at most so many hits."""

    slug: str
    title: str
    permission: str
    find: Callable[[User, str, int], Sequence[SearchHit]]


def _pages(user: User, query: str, most: int) -> Sequence[SearchHit]:
    """Return pages and actions whose name holds the query."""
    places = [(label, name, permission) for label, name, _, permission, _ in ENTRIES]
    allowed = user.get_all_permissions()
    hits = [
        SearchHit(label, reverse(name))
        for label, name, permission in (*places, *ACTIONS)
        if not permission or permission in allowed
    ]
    hits += [
        SearchHit(f"Help: {topic.title}", reverse("help-topic", args=[topic.slug]), topic.summary)
        for topic in topics_for(role_of(user))
    ]
    words = query.casefold().split()
    return [hit for hit in hits if all(word in hit.label.casefold() for word in words)][:most]


def _named(model: type[Model], *fields: str, about: str = "", order: str = "-pk") -> Callable[[User, str, int], Any]:
    """Return the search of a model by the beginnings, ends and middles of its names."""
    relation = about.split("__")[0]

    def find(user: User, query: str, most: int) -> Sequence[SearchHit]:
        rows: QuerySet[Any] = model._default_manager.filter(_holds(query, fields)).order_by(order)
        if "__" in about:
            rows = rows.select_related(relation)
        return [
            SearchHit(str(row), row.get_absolute_url(), str(getattr(row, relation)) if relation else "")
            for row in rows[:most]
        ]

    return find


def _holds(query: str, fields: Sequence[str]) -> Q:
    condition = Q()
    for word in query.split():
        condition &= Q(*((f"{field}__icontains", word) for field in fields), _connector=Q.OR)
    return condition


def _queues(user: User, query: str, most: int) -> Sequence[SearchHit]:
    """Return queues by name; only open ones of their own to who only annotates."""
    rows = Queue.objects.filter(_holds(query, ("name", "slug"))).order_by("-pk")
    if not user.has_perm("review.change_queue"):
        rows = rows.filter(member_filter(user.pk), status=QueueStatus.OPEN)
    return [SearchHit(row.name, row.get_absolute_url()) for row in rows[:most]]


def _people(user: User, query: str, most: int) -> Sequence[SearchHit]:
    rows = User.objects.filter(_holds(query, ("username", "first_name", "last_name", "email"))).order_by("username")
    return [
        SearchHit(row.username, reverse("accounts:person-update", args=[row.pk]), row.get_full_name())
        for row in rows[:most]
    ]


def _prompts(user: User, query: str, most: int) -> Sequence[SearchHit]:
    keys = _keys(Prompt.objects.filter(prompts_with(query)), most)
    rows = Case.objects.filter(prompt__in=keys).order_by("prompt", "-pk").select_related("prompt__benchmark")
    newest = {row.prompt_id: row for row in reversed(rows)}
    return [
        SearchHit(f"{row.prompt.benchmark.name}: {row.key}", row.get_absolute_url(), _excerpt(row.prompt.text, query))
        for row in sorted(newest.values(), key=lambda row: row.prompt_id)
    ]


def _responses(user: User, query: str, most: int) -> Sequence[SearchHit]:
    keys = _keys(Response.objects.filter(responses_with(query)), most)
    rows = Response.objects.filter(pk__in=keys).order_by("pk").select_related("system", "prompt").defer("text")
    return [
        SearchHit(f"{row.prompt.key}, {row.system.name}", row.get_absolute_url(), _excerpt(row.start, query))
        for row in rows.annotate(start=Substr("text", 1, READ))
    ]


def _keys(rows: QuerySet[Any], most: int) -> list[int]:
    """Return the keys of the first rows by the full-text index, whatever the planner thinks how common the words are.

    To read the table instead is fast for one word that stands everywhere, and takes minutes for two that never meet.
    """
    keys = rows.order_by().values_list("pk", flat=True)[:most]
    if connection.vendor == "sqlite":
        return list(keys)
    with transaction.atomic(), connection.cursor() as cursor:
        for option in ("enable_seqscan = off", "enable_indexscan = off", "work_mem = '64MB'"):
            cursor.execute(f"SET LOCAL {option}")
        return list(keys)


def _excerpt(text: str, query: str) -> str:
    """Return what stands around the first word of the query."""
    words = [word for phrase, _ in phrases_of(query) for word in phrase]
    position = text.casefold().find(words[0]) if words else 0
    start = max(0, position - AROUND)
    part = " ".join(text[start : start + 4 * AROUND].split())
    return f"{'… ' if start else ''}{part}{' …' if len(text) > start + 4 * AROUND else ''}"


KINDS = (
    SearchKind("pages", "Pages and actions", "", _pages),
    SearchKind("benchmarks", "Benchmarks", "judging.view_benchmark", _named(Benchmark, "name", "slug")),
    SearchKind("suites", "Suites", "judging.view_benchmark", _named(Suite, "name", "label", about="benchmark__name")),
    SearchKind("cases", "Cases", "judging.view_benchmark", _named(Case, "key")),
    SearchKind("systems", "Systems", "judging.view_benchmark", _named(System, "name", "model")),
    SearchKind("runs", "Runs", "judging.view_run", _named(Run, "name", about="suite__name")),
    SearchKind("judges", "Judges", "judging.view_judge", _named(Judge, "name", about="kind")),
    SearchKind("rubrics", "Rubrics", "judging.view_benchmark", _named(Rubric, "name", "slug")),
    SearchKind("debates", "Debates", "debate.view_debateset", _named(DebateSet, "name")),
    SearchKind("queues", "Review queues", "", _queues),
    SearchKind("people", "People", "auth.view_user", _people),
    SearchKind("prompts", "Text of prompts", "judging.view_benchmark", _prompts),
    SearchKind("responses", "Text of responses", "judging.view_benchmark", _responses),
)


def kinds_for(user: User) -> list[SearchKind]:
    """Return the kinds that a person may search."""
    return [kind for kind in KINDS if not kind.permission or user.has_perm(kind.permission)]


def search(
    *, user: User, query: str, kinds: Sequence[SearchKind], most: int
) -> list[tuple[SearchKind, Sequence[SearchHit]]]:
    """Return at most so many hits of each kind, in the order of the kinds and without those that found nothing.

    Nothing is found by less than two characters, unless they are Chinese, Japanese or Korean.
    """
    if len(query) < LEAST and query.isascii():
        return []
    hits_by_kind = [(kind, kind.find(user, query, most)) for kind in kinds]
    return [(kind, hits) for kind, hits in hits_by_kind if hits]
