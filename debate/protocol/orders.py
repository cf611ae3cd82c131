"""Which response is shown first and in which order the agents speak: drawn once from a seed, and stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class OrderScheme(StrEnum):
    """From which orders of the agents that of a debate is drawn."""

    PERMUTATIONS = "permutations"  # any order, all equally likely
    CYCLIC = "cyclic"  # rotations of the configured order only, as ScaleEval does


@dataclass(frozen=True, slots=True)
class Orders:
    """The stored draw for one debate."""

    response_order: int  # 0: A is shown as response 1; 1: B is
    agents: tuple[str, ...]  # endpoint names, agent 1 first


def draw_orders(
    *, seed: int, key: str, endpoints: Sequence[str], scheme: OrderScheme = OrderScheme.PERMUTATIONS
) -> Orders:
    """Return the orders for the debate called `key`: a function of the arguments alone, independent between keys.

    `key` names the debate within its run (case, pair, criterion), so that adding or leaving out items does not move
    the draw of any other. An endpoint may stand for several agents.
    """
    response_order = Random(f"{seed}|submissions|{key}").randrange(2)  # noqa: S311 - a draw to be repeated, no secret
    rng = Random(f"{seed}|seats|{key}")  # noqa: S311
    if scheme is OrderScheme.CYCLIC:
        start = rng.randrange(len(endpoints)) if endpoints else 0
        return Orders(response_order, (*endpoints[start:], *endpoints[:start]))
    return Orders(response_order, tuple(rng.sample(list(endpoints), len(endpoints))))
