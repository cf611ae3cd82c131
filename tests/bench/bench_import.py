"""Rubric workbooks of growing size through the whole import: read, checked, planned, stored.

    python -m tests.bench.bench_import [--rows 100000]

Prints CPU seconds and peak memory for a fifth of the rows, for the rows, and for twice as many, each in a process and a
database of its own; then whether the CPU and the memory are as promised. Exits with 1 where
they are not. The database is SQLite in a temporary folder, or the one that EVALSITE_DATABASE_URL names.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

ROWS = 100_000
CPU_TARGET = 30.0  # seconds for 100,000 rows
MEMORY_TARGET = 300.0  # MiB for 100,000 rows


def main() -> int:
    """Measure each size in a process of its own and say what holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--workbook", default="", help="import this file once instead of made-up ones")
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure or arguments.workbook:
        say(json.dumps(measure(Path(arguments.measure or arguments.workbook))))
        return 0
    found = []
    say(f"{'rows':>8} {'read':>8} {'planned':>8} {'stored':>8} {'CPU s':>8} {'wall s':>8} {'peak MiB':>9}")
    for rows in (arguments.rows // 5, arguments.rows, arguments.rows * 2):
        with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
            path = made_up(Path(folder), rows)
            one = json.loads(run_apart(path))
        found.append(one)
        steps = " ".join(f"{one[name]:8.2f}" for name in ("read", "planned", "stored", "cpu", "wall"))
        say(f"{one['rows']:8,} {steps} {one['peak'] / 2**20:9.1f}")
    return verdict(found, arguments.rows)


def verdict(found: list[dict[str, Any]], rows: int) -> int:
    """Print what was promised beside what was found; return the exit status."""
    small, middle, large = found
    growth = (large["peak"] - small["peak"]) / (large["rows"] - small["rows"])
    peak = middle["peak"] / 2**20
    cpu_ok, memory_ok = middle["cpu"] < CPU_TARGET * rows / ROWS, peak <= MEMORY_TARGET
    say(f"CPU for {rows:,} rows: {middle['cpu']:.2f} s, under {CPU_TARGET * rows / ROWS:g} s: {said(cpu_ok)}")
    say(f"peak of memory: {peak:.0f} MiB, at most {MEMORY_TARGET:g}: {said(memory_ok)}")
    say(f"memory for each row more: {growth:.0f} bytes")
    return 0 if cpu_ok and memory_ok else 1


def said(kept: bool) -> str:
    return "ok" if kept else "MISSED"


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 its output


def run_apart(path: Path) -> str:
    """Return what `measure` prints in a new process, whose peak of memory nothing before it has raised."""
    command = [sys.executable, "-m", "tests.bench.bench_import", "--measure", str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]


def made_up(folder: Path, rows: int) -> Path:
    """Write a level workbook in a process of its own, so that writing it leaves no memory behind here."""
    path = folder / "rubric.xlsx"
    child = os.fork()
    if child == 0:
        write_workbook(path, rows)
        os._exit(0)
    os.waitpid(child, 0)
    return path


def write_workbook(path: Path, rows: int) -> None:
    """Write that many queries with six cells each."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Rubric")
    sheet.append(["query id", "25", "50", "100", "type", "source"])
    for number in range(rows):
        names = f"(1) mentions option {number}\n(2) names file {number}.txt"
        sheet.append([number, names, f"(1) runs command {number}", f"(1) gives result {number}", "GUI", "handbook"])
    buffer = io.BytesIO()
    book.save(buffer)
    path.write_bytes(buffer.getvalue())


def measure(path: Path) -> dict[str, Any]:
    """Import a workbook into a new database; return CPU seconds of each step and the peak of memory in bytes."""
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
        os.environ |= {"EVALSITE_SECRET_KEY": "bench", "EVALSITE_LOG_LEVEL": "WARNING", "EVALSITE_DATA_DIR": folder}
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        return measured(path)


def measured(path: Path) -> dict[str, Any]:
    """Go through the steps that an import job takes."""
    from django.utils.timezone import now

    from judging.models import RubricItem
    from judging.services.file_imports.rubrics import RubricOrigin, plan_rubric
    from judging.services.file_imports.staged_rubrics import stage_reading
    from judging.specs.files.bundles import Bundle
    from judging.specs.files.findings import Findings
    from judging.specs.rubrics.rubric_tables import open_rubric
    from tests.content import store_staged

    marks, started = [time.process_time()], time.perf_counter()
    findings = Findings(path.name)
    reading = open_rubric(Bundle({path.name: path.read_bytes()}), path.name, findings)
    assert reading is not None, findings.listed[:3]
    staged = stage_reading(reading, findings)
    assert staged is not None, findings.listed[:3]
    marks.append(time.process_time())
    plan_rubric(staged=staged, benchmark=None)
    marks.append(time.process_time())
    stored = store_staged(staged=staged, benchmark=None, origin=RubricOrigin(path.name, None, now()))
    marks.append(time.process_time())
    steps = dict(zip(("read", "planned", "stored"), (b - a for a, b in pairwise(marks)), strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wall = time.perf_counter() - started
    assert RubricItem.objects.filter(rubric=stored).count() == staged.item_count
    return {"rows": staged.item_count, **steps, "cpu": marks[-1] - marks[0], "wall": wall, "peak": peak}


if __name__ == "__main__":
    sys.exit(main())
