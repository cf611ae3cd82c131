"""Runs of one label in the order in which somebody gave their labels. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def longest_run(labels: Sequence[str]) -> tuple[str, int] | None:
    """Return the label that somebody gave most often in a row, and how often; the first of equals, None of nothing."""
    runs = [(label, len(list(group))) for label, group in groupby(labels)]
    return max(runs, key=lambda run: run[1], default=None)


def chance_of_run(n: int, length: int, share: float) -> float:
    """Return the chance that n independent labels hold a run of `length` or more of one that has a share of all.

    Exact: a[i] is the chance of none among the first i, a[i] = a[i-1] - (1 - p) p^L a[i-L-1]. Source: Feller 1968,
    XIII.7.
    """
    if length > n:
        return 0.0
    run = share**length
    none = [1.0] * length + [1.0 - run]
    for place in range(length + 1, n + 1):
        none.append(none[place - 1] - (1 - share) * run * none[place - length - 1])
    return min(1.0, max(0.0, 1.0 - none[n]))
