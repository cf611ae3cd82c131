"""Finds the benchmark and the suite that imported things belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from judging.models import Benchmark, Case, Prompt, Suite
from judging.services.file_imports.suites import benchmark_slug_of
from judging.specs.files.findings import error_rule, shorten
from judging.specs.replies.response_rows import KnownCases, question_hash

NO_TARGET = error_rule("no-benchmark", "Choose the benchmark, or import its suite first.")

SAMPLE = 500  # case keys that are looked up to find a benchmark


@dataclass(frozen=True, slots=True)
class BenchmarkChoice:
    """A benchmark that may be meant."""

    slug: str
    name: str


class UnknownTarget(ValueError):
    """No benchmark, or more than one, fits; the message says which were looked at, and `choices` which fit."""

    def __init__(self, message: str, choices: tuple[BenchmarkChoice, ...] = ()) -> None:
        super().__init__(message)
        self.choices = choices


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where an import goes. `benchmark` is None for a new one."""

    slug: str
    name: str
    benchmark: Benchmark | None = None
    suite: Suite | None = None  # the chosen or the newest


def new_target(named: str, suite_name: str) -> ImportTarget:
    """Return the benchmark that a suite goes to: the named one, else the one of the suite's name, stored or new."""
    name = named or suite_name
    stored = benchmark_named(name)
    if stored is None:
        return ImportTarget(benchmark_slug_of(name), name)
    return ImportTarget(stored.slug, stored.name, stored, newest_suite(stored))


def find_target(*, keys: Sequence[str], named: str, suite_id: int | None) -> ImportTarget:
    """Return the stored benchmark for things keyed by case: the named one, else the one that has the cases.

    Raises:
        UnknownTarget: there is no such benchmark or suite, or more than one benchmark has the cases.
    """
    if suite_id is not None:
        suite = Suite.objects.select_related("benchmark").filter(pk=suite_id).first()
        if suite is None:
            raise UnknownTarget("The chosen suite no longer exists.")
        return ImportTarget(suite.benchmark.slug, suite.benchmark.name, suite.benchmark, suite)
    benchmark = benchmark_named(named) if named else _benchmark_with(keys)
    if benchmark is None:
        fitting = benchmarks_with(keys)
        having = f" These cases are in {', '.join(row.name for row in fitting)}." if fitting else ""
        raise UnknownTarget(f"There is no benchmark {named!r}.{having}", _choices(fitting))
    return ImportTarget(benchmark.slug, benchmark.name, benchmark, newest_suite(benchmark))


def newest_suite(benchmark: Benchmark) -> Suite | None:
    """Return the benchmark's suite with the highest number."""
    return benchmark.suites.order_by("-number").first()


def known_cases(suite: Suite) -> KnownCases:
    """Return the keys of a suite's cases, also by the path that the suite gave them and by what they ask."""
    return _cases_of([suite])


def cases_of_any(choices: Sequence[BenchmarkChoice]) -> KnownCases:
    """Return the cases that any of several benchmarks has in its newest suite."""
    benchmarks = Benchmark.objects.filter(slug__in=[choice.slug for choice in choices]).order_by("pk")
    return _cases_of([suite for benchmark in benchmarks if (suite := newest_suite(benchmark)) is not None])


def _cases_of(suites: Sequence[Suite]) -> KnownCases:
    keys: set[str] = set()
    by_path: dict[str, str] = {}
    by_question: dict[str, str] = {}
    rows = Case.objects.filter(suites__in=suites).values_list("key", "source_path", "prompt__text")
    for key, path, question in rows.iterator(chunk_size=SAMPLE):
        keys.add(key)
        by_question[question_hash(question)] = key
        if path:
            by_path[path] = key
    return KnownCases(frozenset(keys), by_path, by_question)


def benchmark_named(name: str) -> Benchmark | None:
    """Return the stored benchmark of this name or slug."""
    by_slug = Benchmark.objects.filter(slug=name).first() or Benchmark.objects.filter(name__iexact=name).first()
    return by_slug or Benchmark.objects.filter(slug=benchmark_slug_of(name)).first()


def _benchmark_with(keys: Sequence[str]) -> Benchmark:
    """Return the one benchmark that has most of the cases."""
    best = benchmarks_with(keys)
    if not best:
        shown = ", ".join(shorten(key) for key in list(dict.fromkeys(keys))[:3]) or "none"
        raise UnknownTarget(f"No benchmark here has these cases ({shown}).")
    if len(best) > 1:
        message = f"More than one benchmark has these cases: {', '.join(benchmark.name for benchmark in best)}."
        raise UnknownTarget(message, _choices(best))
    return best[0]


def _choices(benchmarks: Sequence[Benchmark]) -> tuple[BenchmarkChoice, ...]:
    return tuple(BenchmarkChoice(benchmark.slug, benchmark.name) for benchmark in benchmarks)


def benchmarks_with(keys: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks that have most of the cases, named by key or by the question itself."""
    sample = list(dict.fromkeys(keys))[:SAMPLE]
    return _having(Q(key__in=sample)) or _having(Q(text__in=sample))


def _having(prompts: Q) -> list[Benchmark]:
    """Return the benchmarks with the most of the prompts, by name: one, unless several have equally many."""
    counts = list(Prompt.objects.filter(prompts).values_list("benchmark_id").annotate(n=Count("key", distinct=True)))
    most = max((count for _, count in counts), default=0)
    return list(Benchmark.objects.filter(pk__in=[pk for pk, count in counts if count == most]).order_by("name"))
