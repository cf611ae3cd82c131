"""Processor time of commands from their first line to their last, against that of the libraries they stand on.

`python -m tests.bench.bench_start` loads the demo into a temporary folder and runs each command in processes of
its own. The bar is 2.5 times what a process takes that only imports Django's models, numpy, rq and requests; for the
tables of an empty database it is 7 times, half of what version 0.2 took.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.bench.sites import say

BAR = 2.5  # times the libraries
MIGRATE_BAR = 7  # times the libraries, for an empty database
RUNS = 5  # of each command; the median counts
REPOSITORY = Path(__file__).resolve().parents[2]
LIBRARIES = ("-c", "import django.db.models, numpy, rq, requests")
NEW_ENDPOINT = ("endpoint", "create", "--name", "bench", "--base-url", "http://127.0.0.1:9/v1", "--model", "none")
COMMANDS = (
    ("report", "leaderboard", "--suite", "1"),
    ("report", "spend"),
    ("show_import", "1"),
    ("endpoint", "change", "bench", "--max-concurrency", "9"),  # it writes: the audit log says where the row is
    ("report", "--help"),
)


def processor_seconds(arguments: tuple[str, ...], environment: dict[str, str]) -> float:
    """Return the median processor time of a process of Python over several runs, in seconds.

    Commands may refuse what they are asked (exit code 2): they have then loaded what they need to know it.

    Raises:
        RuntimeError: a process ended by a fault.
    """
    seconds = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 2) or "Traceback" in done.stderr:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(seconds)


def main() -> int:
    """Print each command's processor time and ratio; return 1 where one is above the bar."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALSITE_")}
        environment = kept | {"EVALSITE_DEBUG": "1", "EVALSITE_DATA_DIR": folder, "EVALSITE_LOG_LEVEL": "ERROR"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a site compiles its modules once
        for arguments in (("migrate", "--verbosity", "0"), ("load_demo",), NEW_ENDPOINT):
            subprocess.run([sys.executable, "manage.py", *arguments], cwd=REPOSITORY, env=environment, check=True)
        libraries = processor_seconds(LIBRARIES, environment)
        say(f"{'libraries alone':<40} {libraries:5.2f} s")
        empty = environment | {"EVALSITE_DATABASE_URL": "sqlite:///:memory:"}
        measured = [(command, environment, BAR) for command in COMMANDS] + [(("migrate",), empty, MIGRATE_BAR)]
        is_slow = False
        for command, place, bar in measured:
            seconds = processor_seconds(("manage.py", *command), place)
            is_slow |= seconds > bar * libraries
            say(f"{' '.join(command):<40} {seconds:5.2f} s  {seconds / libraries:4.2f} times, at most {bar}")
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
