"""Judge calls through the whole site: a run made in the browser's way, broker, workers, ledger, fake model server.

    python -m tests.bench.bench_judge [--quick] [--long] [--only WORD]

Prints, for each setting, the wall time from the first call that reaches the server to the end of the run, all verdicts
stored, its ratio to the ideal ceil(N / C) x L, CPU per call and peak memory of the workers, and a plain `requests` loop
on as many threads beside it.
`--long` measures instead 2,000 calls in flight over four workers, and a run of 100,000 calls, whose workers' peak of
memory at the end is to be at most a tenth above that after a tenth of the calls; `--only stream` or `schema` measures
one kind of request alone.
Uses its own data folder, or the database and Redis that EVALSITE_DATABASE_URL and EVALSITE_REDIS_URL name.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table."""

    calls: int
    latency: float  # seconds
    concurrency: int  # of the endpoint, over all workers
    workers: int
    threads: int
    target: float | None  # ratio to the ideal that is promised
    is_flat: bool = False  # whether memory may not grow after a tenth of the calls
    asks: str = ""  # "stream": replies come as streams; "schema": as JSON by a schema


MOST_GROWTH = 1.1  # of the peak of memory
HEADINGS = (
    "calls",
    "latency",
    "at once",
    "workers",
    "wall",
    "ideal",
    "ratio",
    "calls/s",
    "CPU/call",
    "peak",
    "loop",
    "asks",
    "",
)
SETTINGS = (
    Setting(1000, 0.5, 50, 1, 50, 1.05),
    Setting(1000, 0.5, 100, 2, 50, 1.15),
    Setting(1000, 0.05, 50, 1, 50, 1.5),
    Setting(3000, 0.0, 50, 1, 50, None),
    Setting(1000, 0.5, 50, 1, 50, 1.05, asks="stream"),
    Setting(1000, 0.05, 50, 1, 50, 1.5, asks="stream"),
    Setting(1000, 0.5, 50, 1, 50, 1.05, asks="schema"),
    Setting(1000, 0.05, 50, 1, 50, 1.5, asks="schema"),
)
LONG_SETTINGS = (
    Setting(8000, 0.5, 2000, 4, 500, 1.25),
    Setting(100_000, 0.0, 50, 1, 50, None, is_flat=True),
)
MET = '{"reasoning": "It answers the question.", "met": {"100.1": true}}'


def main() -> None:
    """Run the settings and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the calls")
    parser.add_argument("--long", action="store_true", help="the settings that take minutes")
    parser.add_argument("--only", choices=["stream", "schema"], help="these requests alone")
    options = parser.parse_args()
    quick, settings_wanted = options.quick, LONG_SETTINGS if options.long else SETTINGS
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
        os.environ |= {"EVALSITE_SECRET_KEY": "bench", "EVALSITE_LOG_LEVEL": "WARNING", "EVALSITE_DATA_DIR": folder}
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        from evalsite.serving.broker import EmbeddedBroker

        call_command("migrate", verbosity=0)
        broker = None if settings.EXTERNAL_REDIS_URL else EmbeddedBroker(Path(folder))
        if broker is not None:
            broker.start()
        try:
            say(HEADINGS)
            for setting in settings_wanted:
                if options.only in (None, setting.asks):
                    measure(setting, calls=setting.calls // 5 if quick else setting.calls)
        finally:
            if broker is not None:
                broker.stop()


def measure(setting: Setting, *, calls: int) -> None:
    """Run one setting and print its line."""
    from tests.fake_llm.fixture import FakeLLM

    reply = [{"match": "question", "reply": MET}] if setting.asks == "schema" else None
    with FakeLLM(latency=setting.latency * 1000, script=reply) as server:
        plain = plain_loop(server.url, calls=calls, threads=setting.concurrency)
        server.reset()
        run_id = make_run(server.url, setting, calls=calls)
        with workers(setting.workers, threads=setting.threads) as processes:
            time.sleep(3)  # imported and listening
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            launch(run_id)
            ended, peaks = wait(run_id, processes)
            wall = ended - min(line["t"] for line in server.log())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / calls
    ideal = ceil(calls / setting.concurrency) * setting.latency
    met = setting.target is None or not ideal or wall / ideal <= setting.target
    met = met and not (setting.is_flat and peaks[-1] > MOST_GROWTH * peaks[0])
    say(
        (
            f"{calls}",
            f"{setting.latency:.2f} s",
            f"{setting.concurrency}",
            f"{setting.workers}",
            f"{wall:.2f} s",
            f"{ideal:.2f} s",
            f"{wall / ideal:.3f}" if ideal else "-",
            f"{calls / wall:.0f}",
            f"{1000 * cpu:.2f} ms",
            "-".join(f"{peak:.0f}" for peak in (peaks if setting.is_flat else peaks[-1:])) + " MiB",
            f"{plain:.2f} s",
            setting.asks,
            "ok" if met else "MISSED",
        )
    )


def say(cells: tuple[str, ...]) -> None:
    """Print one line of the table."""
    sys.stdout.write("".join(f"{cell:>12}" for cell in cells) + "\n")
    sys.stdout.flush()


def plain_loop(url: str, *, calls: int, threads: int) -> float:
    """Return the seconds that a bare requests loop on as many threads takes."""
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.trust_env = False
    session.mount("http://", HTTPAdapter(pool_maxsize=threads))

    def one(number: int) -> int:
        body = {"model": "plain", "messages": [{"role": "user", "content": f"<score> question {number}"}]}
        return session.post(f"{url}/chat/completions", json=body, timeout=60).status_code

    started = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(calls)))
    return time.monotonic() - started


def make_run(url: str, setting: Setting, *, calls: int) -> int:
    """Return a new run of one level-cascade judge over that many responses, made as the page makes it."""
    from django.utils import timezone

    from judging.models import Judge, ModelEndpoint
    from judging.services.endpoints import EndpointFields, save_endpoint
    from judging.services.file_imports import suites
    from judging.services.judges import save_judge
    from judging.services.runs.new_runs import create_run
    from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
    from judging.specs.records.neutral import CaseRecord, ResponseRecord, SuiteSpec
    from judging.specs.types import NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec
    from tests.content import store_responses, store_rubric

    at, name = timezone.now(), f"bench-{time.monotonic_ns()}"
    keys = [f"case-{number}" for number in range(calls)]
    spec = SuiteSpec(
        name=name, version="1", cases=tuple(CaseRecord(key=key, prompt=f"{name} asks {key}?") for key in keys)
    )
    suite = suites.store_suite(spec=spec, benchmark_slug=name, actor=None, at=at)[0]
    answers = [ResponseRecord(name, f"The answer to {key}. " * 20, case_key=key) for key in keys]
    store_responses(specs=answers, suite=suite, actor=None, at=at)
    check = NodeSpec("100.1", "check", "answers the question", scale=ScaleSpec("boolean"))
    level = NodeSpec("100", "level", aggregator={"type": "any", "value": 100}, children=(check,))
    root = NodeSpec("root", "group", aggregator={"type": "cascade", "clip": [0, 100]}, children=(level,))
    rubric = store_rubric(
        spec=RubricSpec(name, "levels", "benchmark", (RubricItemSpec("", root),)),
        benchmark=suite.benchmark,
        source_name="bench",
        actor=None,
        at=at,
    )
    fields = EndpointFields(
        name=name,
        base_url=url,
        model="fake",
        max_concurrency=setting.concurrency,
        stream=setting.asks == "stream",
    )
    options = {"mode": "itemised", "json_schema": True} if setting.asks == "schema" else {}
    endpoint: ModelEndpoint = save_endpoint(endpoint=None, fields=fields, actor=None)
    judge = save_judge(judge=Judge(name=name, endpoint=endpoint, kind="level_cascade"), options=options, actor=None)
    systems = list({response.system for prompt in suite.benchmark.prompts.all() for response in prompt.responses.all()})
    plan = RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge, rubric=rubric)])
    return create_run(plan=plan, actor=None, at=at).pk


def launch(run_id: int) -> None:
    """Queue the run as its page does."""
    from judging.jobs import launch_run
    from judging.models import Run

    launch_run(run_id=run_id, waiting=Run.objects.get(pk=run_id).total)


def wait(run_id: int, processes: list[subprocess.Popen[bytes]]) -> tuple[float, list[float]]:
    """Return when the run had ended, in seconds of the clock that the fake server's log tells too, and the peak of
    memory of the largest process of the workers, in MiB, after a tenth of the tasks and at the end."""
    from judging.models import Run
    from judging.models.runs import RunStatus

    peaks: list[float] = []
    while (run := Run.objects.get(pk=run_id)).status != RunStatus.FINISHED:
        assert all(process.poll() is None for process in processes), "a worker ended; its output says why"
        if not peaks and run.done >= run.total / 10:
            peaks.append(peak_of(processes))
        time.sleep(0.2)
    peaks.append(peak_of(processes))
    assert run.failed == 0, f"{run.failed} tasks failed"
    assert run.finished_at is not None
    return run.finished_at.timestamp() - time.time() + time.monotonic(), peaks


def peak_of(processes: list[subprocess.Popen[bytes]]) -> float:
    """Return the peak of memory so far of the largest of these processes and their children, in MiB."""
    wanted, peaks = {process.pid for process in processes}, []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if int(folder.name) in wanted or parent in wanted:
                status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                if "VmHWM" in status:  # one that ended and is not waited for yet has no memory
                    peaks.append(int(status["VmHWM"].split()[0]) / 1024)
    return max(peaks)


@contextlib.contextmanager
def workers(count: int, *, threads: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run that many worker processes."""
    environment = {**os.environ, "EVALSITE_CALL_THREADS": str(threads)}
    command = [sys.executable, str(REPOSITORY / "manage.py"), "work", "calls", "default"]
    processes = [subprocess.Popen(command, env=environment, cwd=REPOSITORY) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(timeout=30)


if __name__ == "__main__":
    main()
