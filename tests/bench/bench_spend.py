"""Times the page of spending on a ledger of 1,000,000 calls in 2,000 runs, against 100 ms at the median.

    python -m tests.bench.bench_spend [--calls 1000000] [--runs 2000] [--requests 20]

Every run has three judges, of which two ask the same endpoint, and every fourth verdict reuses the reply of the call
before it. Prints what the report takes in its job, then the page by each group, and the page while the report is out of
date. Uses a new SQLite database in a temporary folder and, where EVALSITE_DATABASE_URL is set, a database of its own on
that server as well. Exits with 1 when a page takes longer than 100 ms, or the job longer than 60 s.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import timedelta
from typing import Any

from tests.bench.bench_pages import clock, peak_memory, reset_peak_memory, time_page
from tests.bench.page_rows import AT
from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

JUDGES = 3
ENDPOINTS = 2
DAYS = 365
LIMIT_MS = 100.0
JOB_LIMIT = 60.0
BATCH = 5000


def main() -> None:
    """Measure each backend and exit with 1 where one is too slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=20)
    options = parser.parse_args()
    if ONE_BACKEND in os.environ:
        sys.exit(0 if measure(options) else 1)
    sys.exit(each_backend("tests.bench.bench_spend"))


def measure(options: argparse.Namespace) -> bool:
    """Load the ledger, print what job and pages take, and return whether all are within their limits."""
    start_django()
    import logging

    logging.disable(logging.WARNING)
    started = time.perf_counter()
    load(options.calls, options.runs)
    say(f"{os.environ[ONE_BACKEND]}: {options.calls:,} calls loaded in {time.perf_counter() - started:.0f} s")
    from evalsite.reports.jobs import compute_report
    from evalsite.reports.models import Snapshot
    from judging.models import Run

    reset_peak_memory()
    job = clock(lambda: compute_report("spend", 0, {}))
    stored = Snapshot.objects.get(kind="spend")
    cells = len(stored.content["cells"]["days"])
    say(f"  computed in a job  {job.wall:6.1f} s  processor {job.processor:6.1f} s{peak_memory()}  {cells:,} sums")
    groups = ("judge", "day", "run", "endpoint", "person")
    urls = {f"by {group}": f"/reports/spend/?group={group}" for group in groups}
    urls |= {"runs by name": "/reports/spend/?group=run&sort=name"}
    urls |= {"30 days": f"/reports/spend/?from={AT - timedelta(days=29):%Y-%m-%d}"}
    in_time = [job.wall <= JOB_LIMIT, *(_is_in_time(name, url, options.requests) for name, url in urls.items())]
    run = Run.objects.order_by("pk")[0]
    Run.objects.filter(pk=run.pk).update(calls_made=run.calls_made + 1)  # the report is out of date from here on
    Snapshot.objects.filter(pk=stored.pk).update(computed_at=_now())
    in_time.append(_is_in_time("out of date", "/reports/spend/", options.requests))
    say(f"  load of the machine {os.getloadavg()[0]:.1f}")
    return all(in_time)


def _is_in_time(name: str, url: str, requests: int) -> bool:
    page = time_page(name, url, requests=requests)
    passes = page.passes(LIMIT_MS)
    times = f"{page.wall_ms:6.1f} ms  processor {page.processor_ms:6.1f} ms"
    say(f"  {'pass' if passes else 'FAIL'}  {name:<12} {times}  {page.status}  {url}")
    return passes


def _now() -> Any:
    from django.utils import timezone

    return timezone.now()


def load(calls: int, runs: int) -> None:
    """Write the ledger: runs of 20 people over a year, their judges, calls and verdicts."""
    from django.db import connection, transaction

    from evalsite.accounts.roles import Role
    from judging.models import EvaluatorKind, Run, RunEvaluator
    from tests import factories

    admin = factories.user("bench-admin", Role.ADMIN)
    people = [factories.user(f"bench-{number}") for number in range(20)]
    endpoints = [factories.endpoint(name=f"endpoint {number}") for number in range(ENDPOINTS)]
    judges = [factories.judge(name=f"Judge {place}", endpoint=endpoints[place % 2]) for place in range(JUDGES)]
    suite, response = factories.suite(), factories.response()
    made = Run.objects.bulk_create(
        [
            Run(
                name=f"Run {number}",
                suite=suite,
                status="finished",
                created_at=AT - timedelta(days=DAYS * (runs - number) / runs),
                created_by=people[number % len(people)],
                calls_made=calls // runs,
                done=calls // runs,
            )
            for number in range(runs)
        ]
    )
    evaluators = RunEvaluator.objects.bulk_create(
        RunEvaluator(
            run=run,
            position=place,
            kind=EvaluatorKind.JUDGE,
            name=judge.name,
            judge=judge,
            options={"model": "fake", "prompt_text": "Judge this response by the rubric. " * 40},
        )
        for run in made
        for place, judge in enumerate(judges)
    )
    each = calls // len(evaluators) + 1
    _write_first(evaluators[0], response, each)
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")  # the first rows are found by key in a growing table
        for place, evaluator in enumerate(evaluators[1:], start=1):
            _copy(cursor, evaluator, offset=each * place, count=each)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    assert admin.pk


def _write_first(evaluator: Any, response: Any, count: int) -> None:
    """Write the first judge's calls and verdicts, whose keys are 1 and so on."""
    from judging.models import Call, Verdict

    run = evaluator.run
    calls = Call.objects.bulk_create(
        Call(
            pk=place,
            key=f"{0:08x}{place:056x}",
            endpoint_id=evaluator.judge.endpoint_id,
            run=run,
            status="failed" if place % 50 == 0 else "finished",
            request={"model": "fake", "max_tokens": 400, "temperature": 0.0},
            text="The response names the cause and gives one source. Score: 75. " * 8,
            prompt_tokens=700,
            completion_tokens=90,
            cost=None if place % 90 == 0 else "0.000400",
            prices={"input": "0.25", "output": "1.00", "source": "override"},
            seconds=0.8,
            finished_at=run.created_at,
        )
        for place in range(1, count + 1)
    )
    Verdict.objects.bulk_create(
        Verdict(
            pk=call.pk,
            run=run,
            evaluator=evaluator,
            response=response,
            status="ok",
            value={"score": 75},
            call_ids=[call.pk],
            created_at=call.finished_at,
        )
        for call in calls
    )


def _copy(cursor: Any, evaluator: Any, *, offset: int, count: int) -> None:
    """Copy the first judge's rows for another; every fourth verdict also has the reply of the call before its own."""
    from judging.models import Call, Verdict

    json_type = "jsonb" if cursor.db.vendor == "postgresql" else "text"
    changed = {
        "id": "id + %(offset)s",
        "key": "%(key)s || substr(key, 9)",
        "run_id": "%(run)s",
        "endpoint_id": "%(endpoint)s",
        "evaluator_id": "%(evaluator)s",
        "finished_at": "%(at)s",
        "created_at": "%(at)s",
        "call_ids": "CAST('[' || (id + %(offset)s) || CASE WHEN id %% 4 = 3 THEN ',' || (id + %(offset)s - 1) ELSE ''"
        f" END || ']' AS {json_type})",
    }
    values = {
        "offset": offset,
        "count": count,
        "key": f"{offset:08x}",
        "run": evaluator.run_id,
        "endpoint": evaluator.judge.endpoint_id,
        "evaluator": evaluator.pk,
        "at": evaluator.run.created_at,
    }
    for model in (Call, Verdict):
        columns = [str(field.column) for field in model._meta.concrete_fields]
        chosen = ", ".join(changed.get(column, column) for column in columns)
        table = model._meta.db_table
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} WHERE id <= %(count)s",
            values,
        )


if __name__ == "__main__":
    main()
