"""Pages of benchmarks and suites."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from evalsite.base.http import PageRequest, get_view, page_of, page_of_search
from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, Suite
from judging.selectors import benchmarks

TABS = (
    ("cases", "Cases"),
    ("systems", "Systems"),
    ("rubrics", "Rubrics"),
    ("runs", "Runs"),
    ("versions", "Versions"),
)


@get_view("judging.view_benchmark")
def benchmark_list(request: PageRequest) -> HttpResponse:
    """All benchmarks."""
    query = request.GET.get("q", "").strip()
    rows = benchmarks.benchmark_rows(query=query, sort=request.GET.get("sort", ""))
    context = {"page_obj": page_of(request, rows), "query": query}
    return render(request, "judging/benchmark_list.html", context)


@get_view("judging.view_benchmark")
def benchmark_detail(request: PageRequest, slug: str) -> HttpResponse:
    """One benchmark, a tab at a time."""
    benchmark = get_object_or_404(Benchmark, slug=slug)
    tab = request.GET.get("tab", "")
    tab = tab if tab in dict(TABS) else "cases"
    suite = benchmarks.newest_suite_of(benchmark)
    context = {"benchmark": benchmark, "suite": suite, "tab": tab, "tabs": TABS}
    context |= _TAB_CONTEXTS[tab](request, benchmark, suite)
    return render(request, "judging/benchmark_detail.html", context)


@get_view("judging.view_benchmark")
def suite_detail(request: PageRequest, suite_id: int) -> HttpResponse:
    """One suite: how its scores add up, and its cases."""
    suite = get_object_or_404(Suite.objects.select_related("benchmark", "created_by"), pk=suite_id)
    context = {"suite": suite, "benchmark": suite.benchmark} | _case_table(request, suite.benchmark, suite)
    return render(request, "judging/suite_detail.html", context)


def _case_table(request: PageRequest, benchmark: Benchmark, suite: Suite | None) -> JsonDict:
    if suite is None:
        return {"page_obj": None, "scenarios": [], "query": "", "scenario": ""}
    query, scenario = request.GET.get("q", "").strip(), request.GET.get("scenario", "")
    rows = benchmarks.case_rows(suite=suite, query=query, scenario=scenario, sort=request.GET.get("sort", ""))
    is_search = bool(query or scenario)
    return {
        "page_obj": page_of_search(request, rows) if is_search else page_of(request, rows, count=suite.case_count),
        "scenarios": benchmarks.scenarios_of(suite),
        "query": query,
        "scenario": scenario,
    }


def _system_table(request: PageRequest, benchmark: Benchmark, suite: Suite | None) -> JsonDict:
    return {"systems": benchmarks.system_rows(benchmark)}


def _rubric_table(request: PageRequest, benchmark: Benchmark, suite: Suite | None) -> JsonDict:
    return {"page_obj": page_of(request, benchmarks.rubric_rows(benchmark=benchmark))}


def _run_table(request: PageRequest, benchmark: Benchmark, suite: Suite | None) -> JsonDict:
    return {"page_obj": page_of(request, benchmarks.benchmark_runs(benchmark))}


def _version_table(request: PageRequest, benchmark: Benchmark, suite: Suite | None) -> JsonDict:
    return {"page_obj": page_of(request, benchmarks.suite_rows(benchmark))}


_TAB_CONTEXTS: dict[str, Callable[[PageRequest, Benchmark, Suite | None], JsonDict]] = {
    "cases": _case_table,
    "systems": _system_table,
    "rubrics": _rubric_table,
    "runs": _run_table,
    "versions": _version_table,
}
