"""Debates through engine, ledger and database: wall time against the ideal, in which rounds of different items overlap.

    python -m tests.bench.bench_debate [--items 200] [--latency 0.5] [--threads 50 200]

Three agents never agree, so that every item holds an opening and two rounds: a chain of three calls. The ideal is the
longer of that chain and of all calls over the threads; 0.85 of it or better is promised. One worker, in this process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from math import ceil
from pathlib import Path

AGENTS, STEPS = 3, 3
PROMISED = 0.85


def main() -> None:
    """Hold the debates once for each number of threads and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds")
    parser.add_argument("--threads", type=int, nargs="+", default=[50, 200])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
        os.environ |= {"EVALSITE_SECRET_KEY": "bench", "EVALSITE_LOG_LEVEL": "ERROR", "EVALSITE_DATA_DIR": folder}
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
            for threads in options.threads:
                measure(items=options.items, latency=options.latency, threads=threads)
        finally:
            if broker is not None:
                broker.stop()


def measure(*, items: int, latency: float, threads: int) -> None:
    """Hold debates over `items` cases on `threads` threads and print how that compares with the ideal."""
    from django.utils.timezone import now

    from debate.services.set_plans import create_debate_set
    from judging.services.runs.run_worker import work_through
    from tests import factories
    from tests.debate import rows
    from tests.fake_llm.fixture import FakeLLM

    names = [f"{place}-{threads}" for place in ("first", "second", "neither")]
    script = [{"model": name, "reply": reply} for name, reply in zip(names, ("1", "2", "0"), strict=True)]
    with FakeLLM(latency=latency * 1000, script=script) as server:
        agents = [
            factories.endpoint(name=name, model=name, base_url=server.url, max_concurrency=threads) for name in names
        ]
        questions = [f"Question {number}?" for number in range(items)]
        made = create_debate_set(wish=rows.wish(*questions, endpoints=agents), actor=None, at=now())
        assert made.run is not None
        started = time.perf_counter()
        work_through(run_id=made.run.pk, threads=threads, now=now)
        wall = time.perf_counter() - started
        calls = server.stats()["calls"]
    ended = made.debates.filter(status="unresolved", round_count=STEPS - 1).count()
    if (calls, ended) != (items * AGENTS * STEPS, items):
        raise SystemExit(f"{ended} of {items} debates ended as scripted, after {calls} calls.")
    ideal = max(STEPS, ceil(calls / threads)) * latency
    verdict = "ok" if ideal / wall >= PROMISED else "MISSED"
    sys.stdout.write(
        f"{items} debates, {calls} calls at {latency:.2f} s on {threads} threads: {wall:.2f} s, ideal {ideal:.2f} s, "
        f"{ideal / wall:.3f} of ideal ({PROMISED} promised) {verdict}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
