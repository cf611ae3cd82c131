"""Benchmarks, suites, cases and responses as pages list them, and the search of their texts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BooleanField,
    Count,
    F,
    Func,
    IntegerField,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Left

from judging.llm.chat import ChatRequest, images_of, with_data
from judging.models import (
    UNREPORTED_KINDS,
    Benchmark,
    Case,
    Picture,
    Prompt,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunKind,
    Score,
    Suite,
    SuiteCase,
    System,
    Verdict,
)
from judging.specs.selections import CaseSelection, check_names

if TYPE_CHECKING:
    from django.db.models.sql.compiler import SQLCompiler


def check_selection(*, suite: Suite, selection: CaseSelection) -> None:
    """Pass where the suite has all cases and scenarios that are named.

    Raises:
        SelectionRefused: it lacks one; the message names it.
    """
    cases = Case.objects.filter(links__suite=suite)
    if selection.cases:
        keys = list(cases.order_by("links__position").values_list("key", flat=True))
        check_names(selection.cases, keys, what="case", owner=str(suite))
    if selection.scenarios:
        scenarios = list(cases.exclude(scenario="").order_by("scenario").values_list("scenario", flat=True).distinct())
        check_names(selection.scenarios, scenarios, what="scenario", owner=str(suite))


def part_words(*, suite: Suite, selection: CaseSelection) -> str:
    """Return which part of the suite a selection is; "" for the whole suite, which costs no query."""
    if selection.is_all:
        return ""
    count = Case.objects.filter(links__suite=suite, **case_filters(selection)).count()
    return selection.part_words(count=count, total=suite.links.count())


def case_filters(selection: CaseSelection, *, prefix: str = "") -> dict[str, Sequence[str]]:
    """Return the conditions of a query that keep to these cases; `prefix` leads to the case."""
    filters: dict[str, Sequence[str]] = {}
    if selection.keys:
        filters[f"{prefix}key__in"] = selection.keys
    if selection.scenarios:
        filters[f"{prefix}scenario__in"] = selection.scenarios
    return filters


MAX_CHANGES = 200


def rubric_items(rubric: Rubric, *, query: str = "") -> QuerySet[RubricItem]:
    """Return a rubric's trees in the order of its file."""
    rows = RubricItem.objects.filter(rubric=rubric)
    if query:
        rows = rows.filter(case_key__icontains=query)
    return rows.order_by("position", "pk")


def newest_cases(rubric: Rubric, *, keys: Collection[str]) -> dict[str, Case]:
    """Return the newest revision of each case of the rubric's benchmark that has one of these keys."""
    if rubric.benchmark_id is None:
        return {}
    cases = Case.objects.filter(prompt__benchmark=rubric.benchmark_id, key__in=keys)
    return {case.key: case for case in cases.order_by("pk").only("key")}


def versions_of(rubric: Rubric) -> list[Rubric]:
    """Return all versions of a rubric, newest first."""
    return list(Rubric.objects.filter(slug=rubric.slug).select_related("created_by").order_by("-version"))


@dataclass(frozen=True, slots=True)
class RubricDiff:
    """What a version changed. `shown` holds the trees of the first changes: the case, and both sides, where it is."""

    added: int
    changed: int
    removed: int
    shown: list[tuple[str, RubricItem | None, RubricItem | None]]

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


def rubric_diff(*, before: Rubric, after: Rubric) -> RubricDiff:
    """Return the differences between two versions by case, in the order of the later one.

    Trees are compared by their stored digests; only those that are shown are loaded.
    """
    old, new = _digests(before), _digests(after)
    changed = [key for key, (_, digest) in new.items() if key not in old or old[key][1] != digest]
    gone = [key for key in old if key not in new]
    added = sum(key not in old for key in changed)
    shown = [*changed, *gone][:MAX_CHANGES]
    trees = RubricItem.objects.in_bulk([side[key][0] for key in shown for side in (old, new) if key in side])
    before_of, after_of = ({key: trees[pk] for key, (pk, _) in side.items() if pk in trees} for side in (old, new))
    changes = [(key, before_of.get(key), after_of.get(key)) for key in shown]
    return RubricDiff(added, len(changed) - added, len(gone), changes)


def _digests(rubric: Rubric) -> dict[str, tuple[int, str]]:
    """Return key and digest of each stored tree by case."""
    rows = rubric_items(rubric).values_list("case_key", "pk", "digest")
    return {key: (pk, digest) for key, pk, digest in rows.iterator(chunk_size=10_000)}


EXCERPT = 160

BENCHMARK_SORTS: Mapping[str, str] = {
    "name": "name",
    "cases": "case_count",
    "suites": "suite_count",
    "runs": "run_count",
    "changed": "changed_at",
}
CASE_SORTS: Mapping[str, str] = {
    "position": "position",
    "key": "case__key",
    "scenario": "case__scenario",
    "type": "case__question_type",
    "lang": "case__lang",
    "weight": "weight",
}


def order_by(sort: str, allowed: Mapping[str, str], default: str) -> list[str]:
    """Return what to order by for `?sort=name` or `?sort=-name`; the default for a name that is not allowed."""
    name = sort.removeprefix("-")
    if name not in allowed:
        return [default, "pk"]
    return [("-" if sort.startswith("-") else "") + allowed[name], "pk"]


def _count_of(rows: QuerySet[Suite] | QuerySet[Run], by: str) -> Coalesce:
    """Return a subquery that counts rows by a key without joining them."""
    counted = rows.order_by().values(by).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


LISTED = Run.objects.filter(archived_at__isnull=True).exclude(kind=RunKind.SINGLE)


def benchmark_rows(*, query: str = "", sort: str = "") -> QuerySet[Benchmark]:
    """Return benchmarks with `case_count` and `changed_at` of the newest suite, `suite_count` and `run_count`."""
    newest = Suite.objects.filter(benchmark=OuterRef("pk")).order_by("-number")
    rows = Benchmark.objects.annotate(
        case_count=Coalesce(Subquery(newest.values("case_count")[:1]), 0),
        newest_number=Subquery(newest.values("number")[:1]),
        changed_at=Coalesce(Subquery(newest.values("created_at")[:1]), F("created_at")),
        suite_count=_count_of(Suite.objects.filter(benchmark=OuterRef("pk")), "benchmark"),
        run_count=_count_of(LISTED.filter(suite__benchmark=OuterRef("pk")), "suite__benchmark"),
    )
    if query:
        rows = rows.filter(Q(name__icontains=query) | Q(slug__icontains=query) | Q(description__icontains=query))
    return rows.order_by(*order_by(sort, BENCHMARK_SORTS, "-changed_at"))


def newest_suite_of(benchmark: Benchmark) -> Suite | None:
    """Return the suite with the highest number."""
    return Suite.objects.filter(benchmark=benchmark).select_related("benchmark").order_by("-number").first()


def suite_rows(benchmark: Benchmark) -> QuerySet[Suite]:
    """Return a benchmark's suites, newest first, with `run_count`."""
    runs = _count_of(LISTED.filter(suite=OuterRef("pk")), "suite")
    return benchmark.suites.annotate(run_count=runs).select_related("created_by").order_by("-number", "pk")


def case_rows(*, suite: Suite, query: str = "", scenario: str = "", sort: str = "") -> QuerySet[SuiteCase]:
    """Return a suite's cases in order, each with the `excerpt` that its prompt begins with."""
    rows = SuiteCase.objects.filter(suite=suite).select_related("case")
    if query:
        rows = rows.filter(Q(case__key__icontains=query) | Q(case__prompt__text__icontains=query))
    if scenario:
        rows = rows.filter(case__scenario=scenario)
    excerpt = Left("case__prompt__text", EXCERPT, output_field=TextField())
    return (
        rows.annotate(excerpt=excerpt)
        .defer("case__reference", "case__grading", "case__handlers", "case__metadata")
        .order_by(*order_by(sort, CASE_SORTS, "position"))
    )


def scenarios_of(suite: Suite) -> list[str]:
    """Return the scenarios of a suite by name."""
    cases = Case.objects.filter(suites=suite).exclude(scenario="").order_by("scenario")
    return list(cases.values_list("scenario", flat=True).distinct())


def system_rows(benchmark: Benchmark) -> list[tuple[System, int]]:
    """Return the systems with current responses to a benchmark, by name, and how many these are."""
    counts = dict(
        Response.objects.filter(prompt__benchmark=benchmark, superseded_at__isnull=True)
        .order_by()
        .values_list("system_id")
        .annotate(Count("pk"))
    )
    systems = System.objects.filter(pk__in=counts).order_by("name", "pk")
    return [(system, counts[system.pk]) for system in systems]


def rubric_rows(*, benchmark: Benchmark | None = None, query: str = "") -> QuerySet[Rubric]:
    """Return the newest version of every rubric, or of those that a benchmark's cases may be judged by."""
    newest = Rubric.objects.filter(slug=OuterRef("slug")).order_by("-version").values("pk")[:1]
    rows = Rubric.objects.filter(pk=Subquery(newest)).select_related("benchmark")
    if benchmark is not None:
        rows = rows.filter(Q(benchmark=benchmark) | Q(benchmark__isnull=True))
    if query:
        rows = rows.filter(Q(name__icontains=query) | Q(benchmark__name__icontains=query))
    return rows.order_by("name", "pk")


def benchmark_runs(benchmark: Benchmark) -> QuerySet[Run]:
    """Return a benchmark's runs, newest first, without those of one response."""
    return LISTED.filter(suite__benchmark=benchmark).select_related("suite", "created_by").order_by("-pk")


def place_of(*, case: Case, suite_id: int | None) -> SuiteCase | None:
    """Return the case's place in the given suite, else in the newest one that has it; None where none has it.

    It comes with its `number`, from 1, and with the cases before and after it, `previous_id` and `next_id`.
    """
    beside = SuiteCase.objects.filter(suite=OuterRef("suite")).values("case_id")
    places = SuiteCase.objects.filter(case=case).select_related("suite__benchmark")
    places = places.annotate(
        number=F("position") + 1,
        previous_id=Subquery(beside.filter(position=OuterRef("position") - 1)),
        next_id=Subquery(beside.filter(position=OuterRef("position") + 1)),
    )
    chosen = places.filter(suite_id=suite_id).first() if suite_id else None
    return chosen or places.order_by("-suite__number").first()


def other_revisions(case: Case) -> QuerySet[Case]:
    """Return the other revisions of a case, newest first."""
    revisions = Case.objects.filter(prompt__benchmark_id=case.prompt.benchmark_id, key=case.key)
    return revisions.exclude(pk=case.pk).defer("grading", "handlers", "metadata").order_by("-created_at", "-pk")


def cases_with_handlers() -> QuerySet[Case]:
    """Return the cases of which any suite brought source code, newest first."""
    return Case.objects.exclude(handlers={}).select_related("prompt__benchmark").defer("grading").order_by("-pk")


def handler_sources(cases: list[Case]) -> list[tuple[Case, str, str]]:
    """Return the sources of functions with the cases and modules that name them."""
    return [(case, module, str(case.handlers[module])) for case in cases for module in sorted(case.handlers)]


def scores_of(response: Response) -> QuerySet[Score]:
    """Return every score of a response that reports know of, newest run first."""
    return (
        Score.objects.filter(response=response)
        .exclude(run__kind__in=UNREPORTED_KINDS)
        .select_related("evaluator__judge", "run")
        .order_by("-run_id", "evaluator__position", "pk")
    )


def verdicts_of(response: Response) -> QuerySet[Verdict]:
    """Return every verdict on a response, newest run first."""
    return (
        Verdict.objects.filter(response=response)
        .select_related("evaluator", "run")
        .order_by("-run_id", "evaluator__position", "pk")
    )


def around(response: Response) -> tuple[Case | None, int | None, int | None]:
    """Return the case that a response is shown with, and the same system's responses to the cases before and after it.

    The case is that of the newest suite that asks its prompt; None, or no response: there is none.
    """
    link = (
        SuiteCase.objects.filter(case__prompt=response.prompt_id)
        .select_related("case")
        .order_by("-suite__number", "position")
        .first()
    )
    if link is None:
        return None, None, None
    positions = dict(
        SuiteCase.objects.filter(
            suite_id=link.suite_id, position__in=[link.position - 1, link.position + 1]
        ).values_list("case__prompt_id", "position")
    )
    beside = Response.objects.filter(
        system=response.system_id, prompt__in=positions, attempt=response.attempt, superseded_at__isnull=True
    ).values_list("prompt_id", "pk")
    by_position = {positions[prompt_id]: pk for prompt_id, pk in beside}
    return link.case, by_position.get(link.position - 1), by_position.get(link.position + 1)


def attempts_of(response: Response) -> list[Response]:
    """Return the same system's current responses to the same prompt by attempt."""
    attempts = Response.objects.filter(prompt=response.prompt_id, system=response.system_id, superseded_at__isnull=True)
    return list(attempts.only("pk", "attempt").order_by("attempt", "pk"))


def rubric_items_for(case: Case) -> list[RubricItem]:
    """Return the trees that apply to a case in the newest version of each rubric of its benchmark."""
    benchmark_id = case.prompt.benchmark_id
    newest: dict[str, int] = {}
    rubrics = Rubric.objects.filter(benchmark=benchmark_id).order_by("slug", "version").values_list("slug", "pk")
    for slug, pk in rubrics:
        newest[slug] = pk
    items = RubricItem.objects.filter(rubric__in=newest.values(), case_key__in=["", case.key])
    return list(items.select_related("rubric").order_by("rubric__name", "pk"))


def system_totals(system: System) -> list[tuple[str, str, int]]:
    """Return slug and name of each benchmark with how many current responses a system has to it, by name."""
    rows = (
        Response.objects.filter(system=system, superseded_at__isnull=True)
        .order_by()
        .values_list("prompt__benchmark__slug", "prompt__benchmark__name")
        .annotate(Count("pk"))
    )
    return sorted(rows, key=lambda row: (row[1], row[0]))


def system_responses(system: System) -> QuerySet[Response]:
    """Return a system's current responses, newest first, without their texts."""
    return (
        Response.objects.filter(system=system, superseded_at__isnull=True)
        .select_related("prompt__benchmark")
        .only("pk", "attempt", "imported_at", "completion_tokens", "prompt__key", "prompt__benchmark__name",
              "prompt__benchmark__slug", "system_id")
        .order_by("-pk")
    )  # fmt: skip


def list_systems(*, askable: bool, search: str = "") -> QuerySet[System]:
    """Return systems by name with the number of their current responses; only those that can be asked, or all."""
    current = Response.objects.filter(system=OuterRef("pk"), superseded_at__isnull=True).order_by()
    counted = current.values("system").annotate(n=Count("pk")).values("n")
    systems = System.objects.select_related("endpoint").annotate(response_count=Coalesce(Subquery(counted), 0))
    if askable:
        systems = systems.filter(endpoint__isnull=False)
    if search:
        systems = systems.filter(Q(name__icontains=search) | Q(model__icontains=search))
    return systems.order_by("name", "pk")


def askable_systems() -> QuerySet[System]:
    """Return the systems that a new run can ask."""
    systems = System.objects.filter(is_active=True, endpoint__isnull=False, endpoint__is_active=True)
    return systems.exclude(asking={}).select_related("endpoint").order_by("name")


def asked_with(system: System) -> list[tuple[str, str]]:
    """Return how a system of this site is asked, as titles and values; empty for others."""
    if not system.is_asked_here:
        return []
    sampling = {
        "Temperature": system.asking.get("temperature"),
        "Top p": system.asking.get("top_p"),
        "Token limit": system.asking.get("max_tokens") or "default",
        "Random seed": system.asking.get("seed"),
        "Extra fields": json.dumps(system.asking["extra"], ensure_ascii=False) if system.asking.get("extra") else None,
    }
    return [
        ("Prompt version", f"{system.asking['prompt_version']} ({system.asking['prompt_hash'][:12]})"),
        *((title, str(value)) for title, value in sampling.items() if value is not None),
    ]


CACHED_IMAGES = 64  # images that a process keeps for the next request


def with_pictures(request: ChatRequest) -> ChatRequest:
    """Return a request with the bytes of its images, as it is sent."""
    data: dict[str, bytes] = {}
    for digest in images_of(request):
        try:
            data[digest] = _data_of(digest)
        except Picture.DoesNotExist:
            continue
    return with_data(request, data) if images_of(request) else request


def picture_files(paths: Mapping[str, str]) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the files of an export, with what is stored of each image; `paths` by hash."""
    for digest, path in sorted(paths.items()):
        data = Picture.objects.filter(pk=digest).values_list("data", flat=True).first()
        if data is not None:
            yield path, [bytes(data)]


def count_with_images(responses: QuerySet[Response]) -> int:
    """Return how many of the responses have images, or whose case has. Two queries, of which each has an index."""
    bare = responses.order_by()
    of_cases = bare.filter(~Q(prompt__images=[])).count()
    return of_cases + bare.filter(~Q(images=[])).filter(prompt__images=[]).count()


@lru_cache(maxsize=CACHED_IMAGES)
def _data_of(digest: str) -> bytes:
    return bytes(Picture.objects.only("data").get(pk=digest).data)


# Conditions for prompts and responses that contain the words of a query, by the full-text index of the database.
#
# Words are runs of letters and digits; other ASCII signs part them, so that `numpy.array_split(` is three words. Every
# character of Chinese, Japanese and Korean is a word. Case does not matter. PostgreSQL indexes `evalsite_words(text)`,
# SQLite keeps FTS5 tables in step by triggers (migration 0023).

MAX_INDEXED = 200_000  # characters of a text; a tsvector of PostgreSQL holds no more than a megabyte
_WIDE = re.compile("([\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef])")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
_TERM = re.compile(r'"([^"]+)"|(\S+)')


def separate_words(text: str) -> str:
    """Return the text with blanks between its words."""
    spaced = _SIGNS.sub(" ", text[:MAX_INDEXED])
    return spaced if spaced.isascii() else _WIDE.sub(r" \1 ", spaced)


def register_function(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Give a connection to SQLite the function that its triggers call."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("evalsite_words", 1, separate_words, deterministic=True)


def phrases_of(query: str) -> list[tuple[list[str], bool]]:
    """Return the phrases of a query, each with whether its last word may go on: a sign or quotes make a phrase."""
    phrases = []
    for quoted, plain in _TERM.findall(query):
        words = separate_words(quoted or plain).lower().split()
        if words:
            phrases.append((words, plain.endswith("*")))
    return phrases


def prompts_with(query: str) -> Q:
    """Return the condition for prompts whose text or context holds all words and phrases of the query."""
    return containing(Prompt, query, F("text"), F("context"))


def responses_with(query: str) -> Q:
    """Return the condition for current responses whose text holds all words and phrases of the query."""
    return containing(Response, query, F("text")) & Q(superseded_at__isnull=True)


class StoredWords(Func):
    """The words of a row in a column that only PostgreSQL has, and Django does not know, beside a field of the row."""

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return the name of the column."""
        (field,) = self.get_source_expressions()
        return f'{compiler.quote_name_unless_alias(field.alias)}."words"', ()


def containing(model: type[Model], query: str, *fields: F, is_stored: bool = False) -> Q:
    """Return the condition for rows of a model whose indexed fields hold all words and phrases of the query.

    Of words that are stored PostgreSQL may know how many rows have them: where most do it reads rows in their order
    until it has enough. A word that may go on is sought as it is too, since of beginnings it assumes that few rows have
    them. Where only an index holds the words, it must use that: to make them of one text again takes 0.5 ms.
    """
    phrases = phrases_of(query)
    if not phrases:
        return Q(pk__in=())
    if connection.vendor == "sqlite":
        query_text = " ".join(f'"{" ".join(words)}"{"*" if goes_on else ""}' for words, goes_on in phrases)
        index = f"{model._meta.db_table}_words"
        return Q(pk__in=RawSQL(f"SELECT rowid FROM {index} WHERE {index} MATCH %s", [query_text]))  # noqa: S608, S611 - our own table
    wholes = ((" <-> ".join(f"'{word}'" for word in words), goes_on) for words, goes_on in phrases)
    query_text = " & ".join(f"({whole} | {whole}:*)" if goes_on else f"({whole})" for whole, goes_on in wholes)
    to_query = "to_tsquery('simple', %(expressions)s)"
    ts_query: Any = Func(Value(query_text), template=to_query if is_stored else f"(SELECT {to_query})")
    made = Func(*fields, function="evalsite_words", arg_joiner=" || ' ' || ")
    words = StoredWords(fields[0]) if is_stored else made
    return Q(Func(words, ts_query, template="%(expressions)s", arg_joiner=" @@ ", output_field=BooleanField()))
