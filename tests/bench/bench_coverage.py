"""Coverage of every shown kind of interval, from stored rows through the pages' own reports to their figures.

    python -m tests.bench.bench_coverage [--boards 200] [--only NAME] [--quick] [--processes 2] [--write] [--keep FILE]

Draws populations of known truth, stores scores, verdicts, debates, audits and labels, computes each report as its page
does, and counts how often its figures hold the truth. Each process has an SQLite file of its own. A cell in which fewer
than 91.5% hold is measured again with four times as many boards, and the second measurement stands. The costliest cells
have a third of the boards.

Exits with 1 when, by more than chance (99%), a kind of interval covers less than 94% over all cells or less than 91.5%
in one; equal systems are told apart in more than 5% of boards; a corrected mean is off by more than a point; corrected
means are not narrower than people alone, or in one cell wider by 2%; or a plan is off by more than 10%. `--write` puts
the table into the help page "What the figures mean". With `--keep` each cell is added to a file once it is measured,
and a measurement that was cut off goes on with the other cells.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tests.bench.coverage import (
    biases,
    boards,
    comparisons,
    debates,
    judges,
    looks,
    people,
    plans,
    robustness,
    slices,
    thresholds,
)
from tests.bench.coverage.tallies import LEAST_OVERALL, MOST_OVERALL, Claim, Count, Kind, Tally, pooled
from tests.bench.sites import say, start_django


class Cell(Protocol):
    """One population."""

    @property
    def cost(self) -> int: ...

    def run(self, tally: Tally, boards: int, random: np.random.Generator) -> None: ...


SEED = 20261122
SHARES = (Claim.INTERVAL, Claim.BOUND)
AGAIN = 4  # times as many boards for a doubtful cell
FEWEST_VALUES = 100  # of a cell that may be shown as the worst: of a figure that has an interval on few boards only
COSTLY = 150  # milliseconds a board, from which on a cell has fewer boards, at least a third
PARTS: dict[str, tuple[Sequence[Cell], Sequence[Cell]]] = {  # all cells, and the few of the quick mode
    "boards": (boards.CELLS, boards.QUICK),
    "judges": (judges.CELLS, judges.QUICK),
    "debates": (debates.CELLS, debates.QUICK),
    "robustness": (robustness.CELLS, robustness.QUICK),
    "plans": (plans.CELLS, plans.QUICK),
    "people": (people.CELLS, people.QUICK),
    "biases": (biases.CELLS, biases.QUICK),
    "slices": (slices.CELLS, slices.QUICK),
    "comparisons": (comparisons.CELLS, comparisons.QUICK),
    "looks": (looks.CELLS, looks.QUICK),
    "thresholds": (thresholds.CELLS, thresholds.QUICK),
}
MODULES = (boards, judges, debates, robustness, plans, people, biases, slices, comparisons, looks, thresholds)
KINDS = tuple(  # all that are measured
    dict.fromkeys(
        kind
        for module in MODULES
        for value in vars(module).values()
        for kind in (value.values() if isinstance(value, dict) else [value])
        if isinstance(kind, Kind)
    )
)
COVERAGE = Path(__file__).resolve().parents[2] / "evalsite/help/coverage.json"  # what the help page shows


@dataclass(frozen=True, slots=True)
class Measured:
    """What one cell came to."""

    cell: str
    counts: Mapping[Kind, Count]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        counts = [[kind.name, kind.claim, *astuple(count)] for kind, count in self.counts.items()]
        return {"cell": self.cell, "seconds": self.seconds, "counts": counts}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Measured:
        """Return what one line of a file holds."""
        counts = {Kind(name, Claim(claim)): Count(*count) for name, claim, *count in row["counts"]}
        return cls(row["cell"], counts, row["seconds"])

    def missed(self) -> Iterator[str]:
        """Yield what breaks its promise."""
        for kind, count in self.counts.items():
            if count.misses(kind.claim):
                yield f"{kind.name}: {count.mean:.3f} ({count.n:,} values; {self.cell})"


def main() -> None:
    """Measure all cells in processes with databases of their own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=200, help="boards of each cell")
    parser.add_argument("--only", choices=PARTS, help="one part of the cells")
    parser.add_argument("--quick", action="store_true", help="a few small cells")
    parser.add_argument("--processes", type=int, default=2, help="processes that measure at once")
    parser.add_argument("--write", action="store_true", help="put the table into the help")
    parser.add_argument("--keep", type=Path, help="file of the cells that were measured before")
    options = parser.parse_args()
    started = time.monotonic()
    cells = cells_of(options.only, quick=options.quick)
    found = measure_apart(cells, boards=options.boards, processes=options.processes, kept=options.keep)
    missed = report(found)
    say(f"{time.monotonic() - started:.0f} s")
    if options.write:
        write_help(found, boards=options.boards)
    sys.exit(1 if missed else 0)


def cells_of(part: str | None, *, quick: bool) -> list[Cell]:
    """Return the cells of one part, or of all."""
    return [cell for name, cells in PARTS.items() if part in (None, name) for cell in cells[1 if quick else 0]]


def measure_apart(cells: Sequence[Cell], *, boards: int, processes: int, kept: Path | None) -> list[Measured]:
    """Measure cells in processes of their own, the cheapest first, and say so as they end; in the order given."""
    known = _read(kept) if kept else {}
    found = {place: known[name] for place, cell in enumerate(cells) if (name := f"{boards} {cell}") in known}
    order = sorted(set(range(len(cells))) - set(found), key=lambda place: cells[place].cost)
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        pool = multiprocessing.get_context("spawn").Pool(processes, _start, (folder,))
        with pool:
            for place, measured in pool.imap_unordered(_measured, [(place, cells[place], boards) for place in order]):
                found[place] = measured
                say(f"{measured.seconds:6.1f} s  {measured.cell}")
                for word in measured.missed():
                    say(f"          misses: {word}")
                if kept:
                    with kept.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(measured.to_json() | {"key": f"{boards} {measured.cell}"}) + "\n")
    return [found[place] for place in sorted(found)]


def _read(kept: Path) -> dict[str, Measured]:
    """Return the cells of a file by their number of boards and words; none where there is no file yet."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["key"]: Measured.from_json(row) for row in rows}


def _start(folder: str) -> None:
    """Give this process a database."""
    own = Path(folder) / str(os.getpid())
    own.mkdir()
    os.environ |= {
        "EVALSITE_DATA_DIR": str(own),
        "EVALSITE_DATABASE_URL": f"sqlite:///{own / 'bench.sqlite3'}",
        "EVALSITE_LOG_LEVEL": "ERROR",
        "EVALSITE_SECRET_KEY": "only-for-a-bench",
        "DJANGO_SETTINGS_MODULE": "evalsite.settings",
    }
    start_django()


def _measured(work: tuple[int, Cell, int]) -> tuple[int, Measured]:
    place, cell, boards = work
    return place, measure(cell, place, boards=boards)


def measure(cell: Cell, place: int, *, boards: int, again: int = AGAIN) -> Measured:
    """Return what one cell comes to; its rows are taken back. A doubtful cell is measured `again` times as long."""
    started = time.monotonic()
    boards = max(boards // 3, min(boards, round(boards * COSTLY / cell.cost)))
    counts = _counted(cell, boards, (SEED, place))
    shares = [count for kind, count in counts.items() if kind.claim in SHARES]
    if again > 1 and any(count.is_doubtful for count in shares):
        counts = _counted(cell, again * boards, (SEED, place, again))
    return Measured(str(cell), counts, time.monotonic() - started)


def _counted(cell: Cell, boards: int, seed: tuple[int, ...]) -> dict[Kind, Count]:
    from django.db import transaction

    tally = Tally()
    with transaction.atomic():
        cell.run(tally, boards, np.random.default_rng(seed))
        transaction.set_rollback(True)
    return tally.counts()


def report(found: Sequence[Measured]) -> list[str]:
    """Print the table; return what breaks its promise."""
    rows = summary(found)
    for row in rows:
        say(f"{row.kind.name:72}{row.kind.claim:38}{row.cells:4} cells  {row.words}")
    missed = [word for measured in found for word in measured.missed()]
    missed += [f"{row.kind.name}: {row.words}" for row in rows if row.is_low]
    for word in missed:
        say(f"FAIL {word}")
    for row in rows:
        if row.kind.claim is Claim.INTERVAL and row.overall.mean > MOST_OVERALL:
            say(f"note: {row.kind.name} covers {row.overall.mean:.1%}: wider than it need be")
    return missed


@dataclass(frozen=True, slots=True)
class Row:
    """One kind over all cells, and the cell that comes out worst."""

    kind: Kind
    cells: int
    overall: Count
    worst: Count

    @property
    def is_low(self) -> bool:
        """Whether intervals of this kind cover too little over all cells, or are not narrower over all cells."""
        if self.kind.claim is Claim.WIDTH:
            return self.overall.mean >= 1
        return self.kind.claim in SHARES and self.overall.is_below(LEAST_OVERALL)

    @property
    def figures(self) -> tuple[str, str]:
        """The mean over all cells and the worst cell, as the table shows them."""
        if self.kind.claim is Claim.BIAS:
            return f"{100 * self.overall.mean:+.2f} points", f"{100 * self.worst.mean:+.2f} points"
        if self.kind.claim in (Claim.WIDTH, Claim.PLAN):
            return f"{self.overall.mean:.2f}", f"{self.worst.mean:.2f}"
        return f"{self.overall.mean:.1%}", f"{self.worst.mean:.1%}"

    @property
    def words(self) -> str:
        return f"{self.figures[0]} of {self.overall.n:,}; worst cell {self.figures[1]} of {self.worst.n:,}"


def summary(found: Sequence[Measured]) -> list[Row]:
    """Return one row for each kind, in the order of the parts."""
    kinds = list(dict.fromkeys(kind for measured in found for kind in measured.counts))
    rows = []
    for kind in kinds:
        counts = [measured.counts[kind] for measured in found if kind in measured.counts]
        rows.append(Row(kind, len(counts), pooled(counts), _worst(kind, counts)))
    return rows


def _worst(kind: Kind, counts: Sequence[Count]) -> Count:
    counts = [count for count in counts if count.n >= FEWEST_VALUES] or counts
    if kind.claim in (*SHARES, Claim.CERTAINTY):
        return min(counts, key=lambda count: count.mean)
    if kind.claim is Claim.BIAS:
        return max(counts, key=lambda count: abs(count.mean))
    if kind.claim is Claim.PLAN:
        return max(counts, key=lambda count: abs(count.mean - 1))
    return max(counts, key=lambda count: count.mean)


def write_help(found: Sequence[Measured], *, boards: int) -> None:
    """Write what the table of the help page shows, a line for each kind."""
    rows = [
        [
            row.kind.name,
            row.kind.claim,
            f"{row.figures[0]} of {row.overall.n:,}",
            f"{row.figures[1]} of {row.worst.n:,}",
            row.cells,
        ]
        for row in summary(found)
    ]
    facts = {"day": datetime.now(tz=UTC).date().isoformat(), "boards": boards, "fewest": FEWEST_VALUES}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    COVERAGE.write_text(f'{json.dumps(facts)[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
