"""What can be done with benchmarks."""

from __future__ import annotations

from django import forms

from evalsite.base.actions.confirmations import ConfirmForm
from evalsite.base.actions.declarations import DELETE, ActionCall, Listing, Noun, Reference
from evalsite.base.json_types import JsonDict
from judging.models import Benchmark
from judging.selectors.benchmarks import benchmark_rows, benchmark_runs, newest_suite_of
from judging.services.benchmarks import delete_benchmark


def benchmark_facts(benchmark: Benchmark) -> JsonDict:
    """Return what a benchmark is, and how much there is of it."""
    newest = newest_suite_of(benchmark)
    return {
        "id": benchmark.pk,
        "slug": benchmark.slug,
        "name": benchmark.name,
        "description": benchmark.description,
        "cases": newest.case_count if newest is not None else 0,
        "suites": benchmark.suites.count(),
        "runs": benchmark_runs(benchmark).count(),
        "created_at": benchmark.created_at.isoformat(),
    }


class BenchmarkFilterForm(forms.Form):
    """Which benchmarks are listed."""

    q = forms.CharField(
        required=False, max_length=200, label="Search", help_text="Part of the name or the description."
    )


BENCHMARKS: Noun[Benchmark] = Noun(
    name="benchmark",
    plural="benchmarks",
    reference=Reference("benchmark", fields=("slug", "name")),
    rows=lambda _person: Benchmark.objects.all(),
    view_permission="judging.view_benchmark",
    shown=benchmark_facts,
    detail=benchmark_facts,
    listing=Listing(
        BenchmarkFilterForm,
        rows=lambda filters: benchmark_rows(query=filters.get("q") or ""),
        shown=benchmark_facts,
    ),
)


@BENCHMARKS.one(
    DELETE,
    permission="judging.delete_benchmark",
    form=ConfirmForm,
    leads_to="judging:benchmark-list",
)
def delete(act: ActionCall[Benchmark, ConfirmForm]) -> Benchmark:
    """Delete a benchmark with its suites, cases, responses and rubrics for good, after its runs and queues."""
    return delete_benchmark(benchmark=act.subject, actor=act.actor)
