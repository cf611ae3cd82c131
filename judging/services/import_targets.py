"""Finds the benchmark and the suite that imported things belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from judging.models import Benchmark, Case, Prompt, Suite
from judging.services.suites import benchmark_slug_of
from judging.specs.findings import error_rule
from judging.specs.response_rows import KnownCases

NO_TARGET = error_rule("no-benchmark", "Choose the benchmark, or import its suite first.")

SAMPLE = 500  # case keys that are looked up to find a benchmark


class UnknownTarget(ValueError):
    """No benchmark, or more than one, fits; the message says which were looked at."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an import goes. `benchmark` is None for a new one."""

    slug: str
    name: str
    benchmark: Benchmark | None = None
    suite: Suite | None = None  # the chosen or the newest


def new_target(named: str, suite_name: str) -> Target:
    """Return the benchmark that a suite goes to: the named one, else the one of the suite's name, stored or new."""
    name = named or suite_name
    stored = _benchmark_named(name)
    if stored is None:
        return Target(benchmark_slug_of(name), name)
    return Target(stored.slug, stored.name, stored, newest_suite(stored))


def find_target(*, keys: Sequence[str], named: str, suite_id: int | None) -> Target:
    """Return the stored benchmark for things keyed by case: the named one, else the one that has the cases.

    Raises:
        UnknownTarget: there is no such benchmark or suite, or more than one benchmark has the cases.
    """
    if suite_id is not None:
        suite = Suite.objects.select_related("benchmark").filter(pk=suite_id).first()
        if suite is None:
            raise UnknownTarget("The chosen suite does not exist any more.")
        return Target(suite.benchmark.slug, suite.benchmark.name, suite.benchmark, suite)
    benchmark = _benchmark_named(named) if named else _benchmark_with(keys)
    if benchmark is None:
        raise UnknownTarget(f"There is no benchmark {named!r}.")
    return Target(benchmark.slug, benchmark.name, benchmark, newest_suite(benchmark))


def newest_suite(benchmark: Benchmark) -> Suite | None:
    """Return the benchmark's suite with the highest number."""
    return benchmark.suites.order_by("-number").first()


def known_cases(suite: Suite) -> KnownCases:
    """Return the keys of a suite's cases, also by the path that the suite gave them."""
    rows = list(Case.objects.filter(suites=suite).values_list("key", "source_path"))
    return KnownCases(frozenset(key for key, _ in rows), {path: key for key, path in rows if path})


def _benchmark_named(name: str) -> Benchmark | None:
    by_slug = Benchmark.objects.filter(slug=name).first() or Benchmark.objects.filter(name__iexact=name).first()
    return by_slug or Benchmark.objects.filter(slug=benchmark_slug_of(name)).first()


def _benchmark_with(keys: Sequence[str]) -> Benchmark:
    sample = list(dict.fromkeys(keys))[:SAMPLE]
    counts = (
        Prompt.objects.filter(key__in=sample)
        .values_list("benchmark_id")
        .annotate(found=Count("key", distinct=True))
        .order_by("-found", "benchmark_id")[:2]
    )
    best = list(counts)
    if not best:
        shown = ", ".join(sample[:3]) or "none"
        raise UnknownTarget(f"No benchmark here has these cases ({shown}).")
    if len(best) > 1 and best[0][1] == best[1][1]:
        names = (
            Benchmark.objects.filter(pk__in=[row[0] for row in best]).order_by("name").values_list("name", flat=True)
        )
        raise UnknownTarget(f"More than one benchmark has these cases: {', '.join(names)}.")
    return Benchmark.objects.get(pk=best[0][0])
