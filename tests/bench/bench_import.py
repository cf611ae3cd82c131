"""A rubric workbook of many rows through the whole import: read, checked, planned, stored.

    python -m tests.bench.bench_import [--rows 100000]

Prints CPU seconds and peak memory of each step. Uses a database of its own in a temporary folder, or the one that
EVALSITE_DATABASE_URL names.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CPU_TARGET = 10.0  # seconds for 100,000 rows
ROWS = 100_000


def main() -> None:
    """Make a workbook, import it, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--workbook", default="", help="import this file instead of a made-up one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
        os.environ |= {"EVALSITE_SECRET_KEY": "bench", "EVALSITE_LOG_LEVEL": "WARNING", "EVALSITE_DATA_DIR": folder}
        path = Path(arguments.workbook) if arguments.workbook else made_up(Path(folder), arguments.rows)
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        measure(path, arguments.rows)


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


def measure(path: Path, rows: int) -> None:
    """Import the workbook and print each step."""
    from django.utils.timezone import now

    from judging.models import RubricItem
    from judging.services.collecting import calm_collector
    from judging.services.rubrics import plan_rubric, store_rubric
    from judging.specs.bundles import Bundle
    from judging.specs.level_rubrics_xlsx import parse_level_workbook

    started = cpu()
    with step("read and checked"), calm_collector():
        parsed = parse_level_workbook(Bundle({path.name: path.read_bytes()}), path.name)
    assert parsed.value is not None, parsed.problems[:3]
    with step("planned"):
        plan = plan_rubric(spec=parsed.value, benchmark=None)
    with step("stored"):
        at, content = now(), plan.content  # a job, too, hashes what it reads once
        store_rubric(spec=parsed.value, benchmark=None, source_name=path.name, actor=None, at=at, content=content)
    used = cpu() - started
    assert RubricItem.objects.count() == rows
    promised = "ok" if used <= CPU_TARGET * rows / ROWS else "MISSED"
    print(f"{'in all':28} {used:7.2f} s CPU  {peak_mib():6.0f} MiB peak  {promised}")  # noqa: T201 its output


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print a step's CPU time and the peak memory so far."""
    before = cpu()
    yield
    print(f"{name:28} {cpu() - before:7.2f} s CPU  {peak_mib():6.0f} MiB peak")  # noqa: T201 its output
    sys.stdout.flush()


def cpu() -> float:
    return time.process_time()


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
