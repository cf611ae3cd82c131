"""Times pages on 100,000 responses and 300,000 verdicts with scores, against 100 ms of server time at the median.

    python -m tests.bench.bench_pages [--responses 100000] [--requests 20] [--limit-ms 100]
    python -m tests.bench.bench_pages --scale 1000000 [--limit-ms 150] [--reuse]

With --scale: a site of 110 runs with so many responses and three times as many verdicts (see `scale_rows`), on
PostgreSQL only; reports are computed as their jobs do, the judges' a second time as after one more run, and each may
take 60 s. With --reuse the site is loaded once into the database that EVALSITE_DATABASE_URL names, which must be empty
the first time, and stays there.

Uses a new SQLite database in a temporary folder and, where EVALSITE_DATABASE_URL is set, a database of its own on that
server as well; both are removed afterwards. Beside the time on the clock stands the processor time of this process and
of its PostgreSQL connection, where that runs on this machine (what it hands to parallel workers is not in it). Exits
with 1 when a page is too slow or does not answer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.page_rows import EVALUATORS, load_run
from tests.bench.scale_rows import load_site, pages
from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

JOB_LIMIT = 60  # seconds


@dataclass(frozen=True)
class Taken:
    """What one piece of work took: seconds on the clock and of processor time."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Page:
    """One page and its medians."""

    name: str
    url: str
    status: int
    wall_ms: float = 0.0
    processor_ms: float = 0.0

    def passes(self, limit_ms: float) -> bool:
        return self.status == 200 and self.wall_ms <= limit_ms


def main() -> None:
    """Measure on each backend in a process of its own, since settings are read once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--responses", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--limit-ms", type=float)
    parser.add_argument("--scale", type=int, default=0, help="responses of a site of 110 runs, on PostgreSQL")
    parser.add_argument("--reuse", action="store_true", help="load into the named database itself, once, and keep it")
    options = parser.parse_args()
    options.limit_ms = options.limit_ms or (150.0 if options.scale else 100.0)
    if ONE_BACKEND in os.environ:
        sys.exit(0 if measure(options) else 1)
    if options.scale and not os.environ.get("EVALSITE_DATABASE_URL", "").startswith("postgres"):
        sys.exit("Set EVALSITE_DATABASE_URL to a PostgreSQL to measure with --scale.")
    sys.exit(each_backend("tests.bench.bench_pages", sqlite=not options.scale, reuse=options.reuse))


def measure(options: argparse.Namespace) -> bool:
    """Load the data, print what each job and page takes, and return whether all are within their limits."""
    start_django()
    import logging

    logging.disable(logging.WARNING)
    urls = load(options)
    in_time = True
    for name, compute in scale_jobs() if options.scale else run_jobs():
        reset_peak_memory()
        taken = clock(compute)
        in_time = in_time and taken.wall <= JOB_LIMIT
        say(f"  computed in a job: {name:<18} {taken.wall:6.1f} s  processor {taken.processor:6.1f} s{peak_memory()}")
    timed = [time_page(name, url, requests=options.requests) for name, url in urls.items()]
    for page in timed:
        verdict = "pass" if page.passes(options.limit_ms) else "FAIL"
        times = f"{page.wall_ms:6.1f} ms  processor {page.processor_ms:6.1f} ms"
        say(f"  {verdict}  {page.name:<18} {times}  {page.status}  {page.url}")
    say(f"  load of the machine {os.getloadavg()[0]:.1f}")
    return in_time and all(page.passes(options.limit_ms) for page in timed)


def load(options: argparse.Namespace) -> dict[str, str]:
    """Write the site unless it is there already; return its pages."""
    from judging.models import Response

    count = options.scale or options.responses
    started = time.perf_counter()
    if not options.scale:
        urls = load_run(count)
    else:
        if not (options.reuse and Response.objects.exists()):
            load_site(count)
        urls = pages(count)
    taken = time.perf_counter() - started
    say(f"{os.environ[ONE_BACKEND]}: {count:,} responses, {count * EVALUATORS:,} verdicts in {taken:.0f} s")
    return urls


def run_jobs() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what jobs compute after a run."""
    from evalsite.reports.jobs import compute_report
    from evalsite.review.models import Queue
    from judging.models import RunEvaluator

    evaluator = RunEvaluator.objects.order_by("pk")[0]
    yield "leaderboard", lambda: compute_report("leaderboard", evaluator.pk, {})
    yield "run-results", lambda: compute_report("run-results", evaluator.run_id, {})
    yield "agreement", lambda: compute_report("agreement", Queue.objects.get().pk, {})
    yield "judges", lambda: compute_report("judges", 0, {})
    yield "results", lambda: compute_results(evaluator.run.suite_id)
    yield "board", lambda: compute_board(evaluator.run.suite_id)


def compute_results(suite_id: int) -> None:
    """Compute what the pages of results, charts and systems show, for every grader of a suite."""
    from evalsite.reports.jobs import compute_report
    from evalsite.reports.selectors.leaderboards import graders_of

    for grader in graders_of(suite_id):
        for kind in ("results", "suite-charts", "criteria"):
            compute_report(kind, grader.key, grader.options)


def compute_board(suite_id: int) -> None:
    """Compute the board of a suite that its page opens with."""
    from evalsite.reports.jobs import compute_report
    from evalsite.reports.selectors.leaderboards import board_options, first_graders, graders_of

    compute_report("suite-board", suite_id, board_options(first_graders(graders_of(suite_id), None)))


def scale_jobs() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the leaderboard of the largest run and the judges' figures; these again, as after another run."""
    from evalsite.reports.jobs import compute_report
    from evalsite.reports.models import Snapshot
    from judging.models import RunEvaluator

    Snapshot.objects.all().delete()
    evaluator = RunEvaluator.objects.order_by("pk")[0]
    yield "leaderboard", lambda: compute_report("leaderboard", evaluator.pk, {})
    yield "results", lambda: compute_results(evaluator.run.suite_id)
    yield "board", lambda: compute_board(evaluator.run.suite_id)
    yield "spend", lambda: compute_report("spend", 0, {})
    yield "judges, first", lambda: compute_report("judges", 0, {})
    Snapshot.objects.filter(kind="judges").delete()
    yield "judges, next run", lambda: compute_report("judges", 0, {})


def time_page(name: str, url: str, *, requests: int) -> Page:
    """Return the medians over requests after the first, signed in as an admin."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="bench-admin"))
    status = client.get(url).status_code
    if status != 200:
        return Page(name, url, status)
    taken = [clock(lambda: client.get(url)) for _ in range(requests)]
    wall = statistics.median(one.wall for one in taken)
    return Page(name, url, status, 1000 * wall, 1000 * statistics.fmean(one.processor for one in taken))


def clock(work: Callable[[], object]) -> Taken:
    """Return what some work took."""
    server = _server_seconds()
    started, own = time.perf_counter(), time.process_time()
    work()
    wall, own = time.perf_counter() - started, time.process_time() - own
    return Taken(wall, own + _server_seconds() - server)


def _server_seconds() -> float:
    """Return the processor seconds of this connection's PostgreSQL process; 0 on SQLite and on another machine."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (number,) = cursor.fetchone()
    try:
        name, _, fields = Path(f"/proc/{number}/stat").read_text().rpartition(") ")
    except OSError:
        return 0.0
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") if "postgres" in name else 0.0


def reset_peak_memory() -> None:
    """Let Linux measure this process's largest memory anew."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # another system, or not allowed: no peak is told
        return


def peak_memory() -> str:
    """Return the largest memory since the last reset, in words; nothing where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return ""
    sizes = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return f"  at most {sizes[0] / 1024:.0f} MB" if sizes else ""


if __name__ == "__main__":
    main()
