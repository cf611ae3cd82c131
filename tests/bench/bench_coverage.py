"""Coverage of the leaderboard's intervals, from stored rows through the report to the figures of the page.

    python -m tests.bench.bench_coverage [--boards 40] [--quick]

Draws populations of known rates, stores scores, audits and labels, computes the report as the page does, and counts how
often its intervals hold the truth. Exits with 1 when a kind of interval covers less than 94% over all cells, when a
cell lies below 91.5% by more than chance (99%), when more than 5% of boards tell equal systems apart, by more than
chance, or when a corrected mean is off by more than a point, by more than chance.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tests.bench.sites import ONE_BACKEND, each_backend, say, start_django

LEAST_OVERALL, LEAST_OF_A_CELL, MOST_TOLD_APART, MOST_BIAS = 0.94, 0.915, 0.05, 0.01
CERTAINTY = 0.99
KINDS = ("raw", "human", "corrected", "difference", "ranks")


@dataclass(frozen=True, slots=True)
class Cell:
    """One population: the share of right answers of the systems, what the judge does, and the size of everything."""

    rate: float
    judge: str  # exact | noisy: wrong in 10% | lenient: passes 30% of the wrong, fails 2% of the right | harsh
    systems: int
    cases: int
    audited: int
    attempts: int = 1
    spread: float = 0.0  # between the best and the worst system

    @property
    def rates(self) -> NDArray[np.float64]:
        ends = self.rate - self.spread / 2, self.rate + self.spread / 2
        return np.linspace(*ends, self.systems)

    @property
    def errors(self) -> tuple[float, float]:
        """Shares of wrong answers that pass, and of right ones that fail."""
        return {"exact": (0.0, 0.0), "noisy": (0.1, 0.1), "lenient": (0.3, 0.02), "harsh": (0.02, 0.3)}[self.judge]

    def __str__(self) -> str:
        return (
            f"{self.rate:.2f} {self.judge:8} {self.systems:2} systems {self.cases:4} cases {self.audited:3} audited "
            f"{self.attempts} attempts"
        )


FULL = (
    *(Cell(rate, "noisy", 5, 200, 30) for rate in (0.05, 0.5, 0.8, 0.95, 0.99)),
    *(Cell(0.8, judge, 5, 200, 50) for judge in ("exact", "lenient", "harsh")),
    *(Cell(0.8, "noisy", 5, 300, audited) for audited in (20, 100, 200, 300)),
    *(Cell(0.8, "lenient", systems, 100, 30) for systems in (2, 10, 20)),
    *(Cell(rate, "lenient", 4, 100, 30, attempts=5) for rate in (0.5, 0.9)),
    *(Cell(0.7, "noisy", 5, 200, audited, spread=0.5) for audited in (30, 100)),
)
QUICK = (Cell(0.8, "lenient", 4, 60, 30), Cell(0.95, "noisy", 4, 60, 20), Cell(0.7, "noisy", 4, 60, 40, spread=0.5))


@dataclass(slots=True)
class Tally:
    """What was counted in one cell."""

    held: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    errors: list[float] = field(default_factory=list)  # corrected mean minus truth
    widths: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    told_apart: list[bool] = field(default_factory=list)  # of boards of equal systems

    def coverage(self, kind: str) -> float | None:
        held = self.held[kind]
        return sum(held) / len(held) if held else None


def main() -> None:
    """Measure in a process with a database of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=40, help="boards of each cell")
    parser.add_argument("--quick", action="store_true", help="three small cells")
    options = parser.parse_args()
    if ONE_BACKEND not in os.environ:
        sys.exit(each_backend("tests.bench.bench_coverage"))
    start_django()
    sys.exit(1 if measure(QUICK if options.quick else FULL, boards=options.boards) else 0)


def measure(cells: tuple[Cell, ...], *, boards: int, seed: int = 20261122) -> list[str]:
    """Print the table; return what misses its limit."""
    random = np.random.default_rng(seed)
    say(f"{'':58}{''.join(f'{kind:>11}' for kind in KINDS)}{'bias':>8}{'apart':>8}{'width':>8}")
    tallies, missed = {}, []
    for cell in cells:
        tally = tallies[cell] = Tally()
        for _ in range(boards):
            _count(tally, cell, random)
        say(_line(cell, tally))
        missed += [f"{cell}: {word}" for word in _missed(tally)]
    for kind in KINDS:
        held = [value for tally in tallies.values() for value in tally.held[kind]]
        if held and _is_below(sum(held), len(held), LEAST_OVERALL):
            missed.append(f"{kind}: {sum(held) / len(held):.3f} over all cells")
        say(f"{kind}: {sum(held) / len(held):.3f} of {len(held):,} intervals" if held else f"{kind}: none")
    for word in missed:
        say(f"FAIL {word}")
    return missed


def _count(tally: Tally, cell: Cell, random: np.random.Generator) -> None:
    """Store one board, compute its report, count what holds, and take the rows back."""
    from django.db import transaction

    from evalsite.reports.services.leaderboards import compute_leaderboard
    from tests.audited_boards import drawn_cases, store_board

    labels, judge = draw(cell, random)
    with transaction.atomic():
        evaluator = store_board(judge, labels, drawn_cases(cell.cases, cell.audited, random))
        payload = compute_leaderboard(evaluator.pk, {})
        transaction.set_rollback(True)
    _count_payload(tally, cell, payload)


def draw(cell: Cell, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return labels and the judge's scores, systems x cases x attempts; attempts of one case hang together."""
    shape = (cell.systems, cell.cases, cell.attempts)
    rates = cell.rates[:, None]
    if cell.attempts > 1:
        rates = random.beta(2 * rates, 2 * (1 - rates), size=shape[:2])
    labels = (random.random(shape) < np.broadcast_to(rates, shape[:2])[:, :, None]).astype(np.float64)
    passed, failed = cell.errors
    is_wrong = random.random(shape) < np.where(labels == 1, failed, passed)
    return labels, np.where(is_wrong, 1 - labels, labels)


def _count_payload(tally: Tally, cell: Cell, payload: dict[str, Any]) -> None:
    passed, failed = cell.errors
    rows = sorted(payload["rows"], key=lambda row: row["system_id"])
    truth = {row["system_id"]: float(rate) for row, rate in zip(rows, cell.rates, strict=True)}
    for row in rows:
        rate = truth[row["system_id"]]
        wanted = {"raw": rate * (1 - failed) + (1 - rate) * passed, "human": rate, "corrected": rate}
        for mode, figure in row["figures"].items():
            tally.held[mode].append(figure["low"] <= wanted[mode] <= figure["high"])
            tally.widths[mode].append(figure["high"] - figure["low"])
        tally.errors.append(row["figures"]["corrected"]["value"] - rate)
        if row["ranks"]["corrected"] is not None and cell.audited >= 30:
            first, last = row["ranks"]["corrected"]
            above = sum(other > rate for other in truth.values())
            tally.held["ranks"].append(first <= above + sum(other == rate for other in truth.values()) and last > above)
    for pair in payload["pairs"]["corrected"]:
        figure = pair["difference"]
        if figure["low"] is not None:
            gap = truth[pair["first"]] - truth[pair["second"]]
            tally.held["difference"].append(figure["low"] <= gap <= figure["high"])
    if not cell.spread:
        tally.told_apart.append(any(pair["is_separated"] for pair in payload["pairs"]["corrected"]))


def _line(cell: Cell, tally: Tally) -> str:
    shares = [tally.coverage(kind) for kind in KINDS]
    figures = "".join(f"{'-' if share is None else f'{share:.3f}':>11}" for share in shares)
    apart = f"{np.mean(tally.told_apart):.3f}" if tally.told_apart else "-"
    ratio = np.mean(tally.widths["corrected"]) / np.mean(tally.widths["human"])
    return f"{cell!s:58}{figures}{np.mean(tally.errors):>+8.3f}{apart:>8}{ratio:>8.2f}"


def _missed(tally: Tally) -> Iterator[str]:
    for kind in KINDS:
        held = tally.held[kind]
        if held and _is_below(sum(held), len(held), LEAST_OF_A_CELL):
            yield f"{kind} covers {sum(held) / len(held):.3f}"
    apart = tally.told_apart
    if apart and _is_below(len(apart) - sum(apart), len(apart), 1 - MOST_TOLD_APART):
        yield f"{np.mean(apart):.3f} of boards tell equal systems apart"
    error = np.std(tally.errors) / np.sqrt(len(tally.errors))
    if abs(np.mean(tally.errors)) > MOST_BIAS + scipy.special.ndtri(CERTAINTY) * error:
        yield f"bias {np.mean(tally.errors):+.3f}"


def _is_below(count: int, n: int, share: float) -> bool:
    """Whether so few of n show that the share is not reached (exact binomial test)."""
    return bool(scipy.special.bdtr(count, n, share) < 1 - CERTAINTY)


if __name__ == "__main__":
    main()
