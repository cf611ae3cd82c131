"""Deletes benchmarks."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.base.actions.deletions import delete_with_dependents, dependents_of
from evalsite.base.rows import lock_row
from judging.models import Benchmark


@transaction.atomic
def delete_benchmark(*, benchmark: Benchmark, actor: User | None) -> Benchmark:
    """Delete a benchmark with its suites, cases, responses and rubrics.

    Raises:
        InUse: runs, queues or debates rest on it.
    """
    benchmark = lock_row(Benchmark, benchmark.pk)
    found = dependents_of(benchmark)
    record(actor, "benchmark.deleted", str(benchmark), benchmark=benchmark.pk, **found.counts(found.gone))
    delete_with_dependents(benchmark)
    return benchmark
