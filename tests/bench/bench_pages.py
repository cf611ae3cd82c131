"""Times pages on 100,000 responses and 300,000 verdicts with scores, against 100 ms of server time at the median.

    python -m tests.bench.bench_pages [--responses 100000] [--requests 20] [--limit-ms 100]
    python -m tests.bench.bench_pages --scale 1000000 [--limit-ms 150]

With --scale: a site of 110 runs with so many responses and three times as many verdicts (see `scale_rows`), on
PostgreSQL only; each report is computed twice, the second time as after one more run, and may take 60 s.

Uses a new SQLite database in a temporary folder and, where EVALSITE_DATABASE_URL is set, a database of its own on that
server as well; both are removed afterwards. Exits with 1 when a page is too slow or does not answer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SYSTEMS = 20
EVALUATORS = 3
SCENARIOS = ("code", "mathematics", "open questions", "summaries")
BATCH = 5000
JOB_LIMIT = 60  # seconds
AT = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ONE_BACKEND = "EVALSITE_BENCH_BACKEND"  # set in the child process that measures one database


@dataclass(frozen=True)
class Page:
    """One page and its median."""

    name: str
    url: str
    median_ms: float | None  # None: it did not answer with 200
    status: int

    def passes(self, limit_ms: float) -> bool:
        return self.median_ms is not None and self.median_ms <= limit_ms


def main() -> None:
    """Measure on each backend in a process of its own, since settings are read once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--responses", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--limit-ms", type=float)
    parser.add_argument("--scale", type=int, default=0, help="responses of a site of 110 runs, on PostgreSQL")
    options = parser.parse_args()
    options.limit_ms = options.limit_ms or (150.0 if options.scale else 100.0)
    if ONE_BACKEND in os.environ:
        sys.exit(0 if measure(os.environ[ONE_BACKEND], options) else 1)
    codes = [run_backend(name, url) for name, url in backends() if url or not options.scale]
    sys.exit(max(codes) if codes else "Set EVALSITE_DATABASE_URL to a PostgreSQL to measure with --scale.")


def backends() -> Iterator[tuple[str, str]]:
    """Yield the name and database address of each backend to measure; the folder and database live meanwhile."""
    yield "SQLite", ""
    given = os.environ.get("EVALSITE_DATABASE_URL", "")
    if given.startswith("postgres"):
        yield "PostgreSQL", given


def run_backend(name: str, url: str) -> int:
    """Run this script on a fresh database and return its exit code."""
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        environment = {**os.environ, ONE_BACKEND: name, "EVALSITE_DATA_DIR": folder}
        environment |= {"EVALSITE_SECRET_KEY": "only-for-a-bench", "DJANGO_SETTINGS_MODULE": "tests.settings"}
        environment["EVALSITE_DATABASE_URL"] = url or f"sqlite:///{Path(folder) / 'bench.sqlite3'}"
        if not url:
            return subprocess.call([sys.executable, "-m", "tests.bench.bench_pages", *sys.argv[1:]], env=environment)
        import psycopg
        from psycopg import sql

        own = f"evalsite_bench_{os.getpid()}"
        environment["EVALSITE_DATABASE_URL"] = urlunsplit(urlsplit(url)._replace(path=f"/{own}"))
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(own)))
            try:
                command = [sys.executable, "-m", "tests.bench.bench_pages", *sys.argv[1:]]
                return subprocess.call(command, env=environment)
            finally:
                server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(own)))


def measure(backend: str, options: argparse.Namespace) -> bool:
    """Load the data, print each page's median, and return whether all are within the limit."""
    import django

    django.setup()
    import logging

    from django.core.management import call_command

    logging.disable(logging.WARNING)
    call_command("migrate", verbosity=0)
    started = time.perf_counter()
    count = options.scale or options.responses
    urls = load_scale(count) if options.scale else load(count)
    loaded = time.perf_counter() - started
    say(f"{backend}: {count:,} responses, {count * EVALUATORS:,} verdicts in {loaded:.0f} s")
    in_time = True
    for name, seconds in compute_reports_at_scale() if options.scale else compute_reports():
        in_time = in_time and seconds <= JOB_LIMIT
        say(f"  computed in a job: {name:<18} {seconds:6.1f} s")
    pages = [time_page(name, url, requests=options.requests) for name, url in urls.items()]
    for page in pages:
        verdict = "pass" if page.passes(options.limit_ms) else "FAIL"
        median = "  no page" if page.median_ms is None else f"{page.median_ms:6.1f} ms"
        say(f"  {verdict}  {page.name:<18} {median}  {page.status}  {page.url}")
    return in_time and all(page.passes(options.limit_ms) for page in pages)


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)  # noqa: T201 its output


def compute_reports() -> Iterator[tuple[str, float]]:
    """Compute what jobs compute after a run, and yield how long each takes."""
    from django.utils import timezone

    from evalsite.reports.jobs import require
    from evalsite.reports.services.kinds import KINDS
    from evalsite.review.models import Queue
    from judging.models import RunEvaluator

    evaluator = RunEvaluator.objects.order_by("pk")[0]
    subjects = {"leaderboard": evaluator.pk, "agreement": Queue.objects.get().pk, "judges": 0}
    for name, subject_id in subjects.items():
        started = time.perf_counter()
        require(KINDS[name], subject_id=subject_id, options={}, at=timezone.now())
        yield name, time.perf_counter() - started


def compute_reports_at_scale() -> Iterator[tuple[str, float]]:
    """Compute the leaderboard of the largest run and the judges' figures; these again, as after another run."""
    from evalsite.reports.services.judge_reports import compute_judges
    from evalsite.reports.services.leaderboards import compute_leaderboard
    from judging.models import RunEvaluator

    evaluator = RunEvaluator.objects.order_by("pk")[0]
    for name, compute, subject_id in (
        ("leaderboard", compute_leaderboard, evaluator.pk),
        ("judges, first", compute_judges, 0),
        ("judges, next run", compute_judges, 0),
    ):
        started = time.perf_counter()
        compute(subject_id, {})
        yield name, time.perf_counter() - started


def time_page(name: str, url: str, *, requests: int) -> Page:
    """Return the median over requests after the first, signed in as an admin."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="bench-admin"))
    status = client.get(url).status_code
    if status != 200:
        return Page(name, url, None, status)
    taken = []
    for _ in range(requests):
        started = time.perf_counter()
        client.get(url)
        taken.append(1000 * (time.perf_counter() - started))
    return Page(name, url, statistics.median(taken), status)


def load(responses: int) -> dict[str, str]:
    """Write one suite with its responses, three judges' verdicts and scores, and a queue; return the pages to time."""
    from tests import factories

    benchmark = factories.benchmark(slug="bench", name="Bench")
    cases = _cases(benchmark, responses // SYSTEMS)
    suite = factories.suite(cases=cases, benchmark=benchmark)
    systems = [factories.system(f"system {number:02d}") for number in range(SYSTEMS)]
    answers = _responses(cases, systems)
    run = factories.run(suite=suite, name="Bench run", status="finished", planned_at=AT, started_at=AT, finished_at=AT)
    run.systems.set(systems)
    run.total = run.done = len(answers) * EVALUATORS
    run.save()
    for place in range(EVALUATORS):
        _judge(run, place, answers)
    queue = _queue(run)
    return {
        "home": "/",
        "benchmark": "/benchmarks/bench/",
        "suite": f"/suites/{suite.pk}/",
        "run": f"/runs/{run.pk}/",
        "runs": "/runs/",
        "queue": f"/review/queues/{queue.slug}/",
        "queues": "/review/",
        "leaderboards": "/reports/leaderboards/",
        "leaderboard": f"/reports/leaderboards/{suite.pk}/",
        "agreement": f"/reports/agreement/{queue.slug}/",
        "judges": "/reports/judges/",
    }


def load_scale(responses: int) -> dict[str, str]:
    """Write a site of 110 runs; return the pages to time."""
    from evalsite.accounts.roles import Role
    from judging.models import System
    from tests import factories
    from tests.bench.scale_rows import load_site

    admin = factories.user("bench-admin", Role.ADMIN)
    admin.is_superuser = True
    admin.save()
    runs = load_site(responses)
    suite, system = runs[0].suite, System.objects.order_by("pk")[0]
    largest, deep, newest_big, newest = (f"/runs/{runs[number - 1].pk}/" for number in (1, 105, 109, 110))
    last = runs[104].evaluators.order_by("-position")[0]
    return {
        "home": "/",
        "largest run": largest,
        "largest, half-way": f"{largest}?page={runs[0].total // 100}",
        "largest, last page": f"{largest}?page={runs[0].total // 50}",
        "run 105": deep,
        "run 105, failed": f"{deep}?status=failed",
        "run 105, one judge": f"{deep}?evaluator={last.pk}",
        "newest big run": newest_big,
        "newest run": newest,
        "runs": "/runs/",
        "audit, largest run": f"/review/audits/runs/{runs[0].pk}/",
        "audit, run 105": f"/review/audits/runs/{runs[104].pk}/",
        "endpoints": "/endpoints/",
        "system": f"/systems/{system.pk}/",
        "system, deep": f"/systems/{system.pk}/?page={responses // SYSTEMS // 100}",
        "suite": f"/suites/{suite.pk}/",
        "suite, search": f"/suites/{suite.pk}/?q=question+24",
        "benchmark": f"/benchmarks/{suite.benchmark.slug}/",
        "leaderboards": "/reports/leaderboards/",
        "leaderboard": f"/reports/leaderboards/{suite.pk}/",
        "judges": "/reports/judges/",
    }


def _cases(benchmark: Any, count: int) -> list[Any]:
    from judging.models import Case, Prompt

    prompts = Prompt.objects.bulk_create(
        [
            Prompt(benchmark=benchmark, key=f"case-{n:05d}", content_hash=f"{n:064x}", text=f"Question {n}?")
            for n in range(count)
        ],
        batch_size=BATCH,
    )
    rows = [
        Case(
            prompt=prompt,
            key=prompt.key,
            content_hash=prompt.content_hash,
            scenario=SCENARIOS[n % len(SCENARIOS)],
            lang="en" if n % 3 else "de",
            created_at=AT,
        )
        for n, prompt in enumerate(prompts)
    ]
    return Case.objects.bulk_create(rows, batch_size=BATCH)


def _responses(cases: list[Any], systems: list[Any]) -> list[Any]:
    from judging.models import Response

    text = "An answer of some length that says what it has to say. " * 5
    rows = (
        Response(prompt_id=case.prompt_id, system=system, text=text, text_hash="0" * 64, imported_at=AT)
        for case in cases
        for system in systems
    )
    return Response.objects.bulk_create(rows, batch_size=BATCH)


def _judge(run: Any, place: int, answers: list[Any]) -> None:
    from judging.models import Call, EvaluatorKind, RunTask, Score, Verdict
    from tests import factories

    judge = factories.judge(name=f"Judge {place}")
    evaluator = factories.evaluator(
        run=run, kind=EvaluatorKind.JUDGE, name=judge.name, judge=judge, total=len(answers), done=len(answers)
    )
    for start in range(0, len(answers), BATCH):
        part = answers[start : start + BATCH]
        calls = Call.objects.bulk_create(
            Call(
                key=f"{place:08x}{answer.pk:056x}",
                endpoint=judge.endpoint,
                run=run,
                status="finished",
                request={"model": "fake"},
                prompt_tokens=700,
                completion_tokens=90,
                cost="0.000400",
                seconds=0.8,
                finished_at=AT,
            )
            for answer in part
        )
        tasks = RunTask.objects.bulk_create(
            RunTask(run=run, evaluator=evaluator, response=answer, status="done") for answer in part
        )
        verdicts = Verdict.objects.bulk_create(
            Verdict(
                task=task,
                run=run,
                evaluator=evaluator,
                response=task.response,
                status="ok",
                value={"score": 50},
                call_ids=[call.pk],
                created_at=AT,
            )
            for task, call in zip(tasks, calls, strict=True)
        )
        Score.objects.bulk_create(
            Score(
                run=run,
                evaluator=evaluator,
                response_id=verdict.response_id,
                verdict=verdict,
                status="complete",
                value=share,
                full=1.0,
                share=share,
                created_at=AT,
            )
            for verdict, share in ((verdict, _share(verdict.response_id, place)) for verdict in verdicts)
        )


def _share(response_id: int, place: int) -> float:
    """Return a made-up share that differs by system and case, the same on every run."""
    return ((response_id * 7919 + place * 104_729) % 101) / 100


def _queue(run: Any) -> Any:
    """Return a queue over every tenth verdict of the first judge, answered by two of three people each."""
    from uuid import UUID

    from evalsite.accounts.roles import Role
    from evalsite.review.models import Annotation, Assignment, ReviewItem
    from evalsite.review.scales import JUDGEMENT, labels_to_json
    from judging.models import Verdict
    from tests import factories

    queue = factories.queue(slug="bench", name="Bench queue", run=run, labels=labels_to_json(JUDGEMENT))
    people = [factories.user(name) for name in ("bench-ann", "bench-ben", "bench-cat")]
    admin = factories.user("bench-admin", Role.ADMIN)
    admin.is_superuser = True
    admin.save()
    evaluator = run.evaluators.order_by("position")[0]
    keys = list(Verdict.objects.filter(evaluator=evaluator).order_by("pk").values_list("pk", flat=True))[::10]
    items = ReviewItem.objects.bulk_create(
        (
            ReviewItem(
                queue=queue,
                verdict_id=key,
                reason="audit",
                reason_text="Drawn at random.",
                arm="audit",
                inclusion_probability=0.1,
                shuffle=key * 7919 % 100_003,
                quorum=2,
                answer_count=2,
                status="settled",
                label="right",
                content_hash=f"{key:064x}",
                scenario=SCENARIOS[key % len(SCENARIOS)],
                created_at=AT,
                settled_at=AT,
            )
            for key in keys
        ),
        batch_size=BATCH,
    )
    asked = [(item, slot, people[(item.pk + slot) % 3]) for item in items for slot in range(2)]
    claims = Assignment.objects.bulk_create(
        (
            Assignment(
                item=item,
                queue=queue,
                item_open=False,
                annotator=person,
                token=UUID(int=item.pk * 2 + slot),
                status="submitted",
                claimed_at=AT,
                expires_at=AT,
            )
            for item, slot, person in asked
        ),
        batch_size=BATCH,
    )
    Annotation.objects.bulk_create(
        (
            Annotation(
                item=item,
                queue=queue,
                annotator=person,
                slot=slot,
                assignment=claim,
                label="right" if (item.pk * 7919 + slot * 31) % 5 else "wrong",
                created_at=AT,
            )
            for (item, slot, person), claim in zip(asked, claims, strict=True)
        ),
        batch_size=BATCH,
    )
    queue.total_count = len(items)
    queue.save()
    return queue


if __name__ == "__main__":
    main()
