"""Which submission is shown first and who sits where: drawn once from a seed, stored, and never drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class SeatScheme(StrEnum):
    """From which orders of the speakers the seating is drawn."""

    PERMUTATIONS = "permutations"  # any order, all equally likely
    CYCLIC = "cyclic"  # rotations of the configured order only, as the original does


@dataclass(frozen=True, slots=True)
class Orders:
    """The stored draw for one debate."""

    submission_order: int  # 0: A is shown as submission 1; 1: B is
    seats: tuple[str, ...]  # endpoint names, seat 1 first


def draw_orders(
    *, seed: int, key: str, endpoints: Sequence[str], scheme: SeatScheme = SeatScheme.PERMUTATIONS
) -> Orders:
    """Return the orders for the debate called `key`: a function of the arguments alone, independent between keys.

    `key` names the debate within its run (case, pair, criterion), so that adding or leaving out items does not move
    the draw of any other. An endpoint may sit on several seats.
    """
    submission_order = Random(f"{seed}|submissions|{key}").randrange(2)  # noqa: S311 - a draw to be repeated, no secret
    rng = Random(f"{seed}|seats|{key}")  # noqa: S311
    if scheme is SeatScheme.CYCLIC:
        start = rng.randrange(len(endpoints)) if endpoints else 0
        return Orders(submission_order, (*endpoints[start:], *endpoints[:start]))
    return Orders(submission_order, tuple(rng.sample(list(endpoints), len(endpoints))))
