"""From which confidence on a judge may decide alone, with a guarantee on how often it is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evalsite.reports.statistics.estimates import Floats

ALPHA = 0.1  # tolerated error rate among accepted verdicts
DELTA = 0.1  # tolerated chance that the guarantee fails


@dataclass(frozen=True, slots=True)
class Step:
    """One threshold tried on the audit arm."""

    threshold: float
    accepted: int
    errors: int
    bound: float  # the error rate among accepted verdicts is below this with probability 1 - delta


@dataclass(frozen=True, slots=True)
class Decision:
    """Verdicts with at least `threshold` confidence stand; None means that every verdict goes to a person."""

    threshold: float | None
    steps: tuple[Step, ...]  # strictest first, up to and including the first that failed
    n: int
    reason: str


def choose_threshold(
    confidences: Sequence[float], correct: Sequence[bool], *, alpha: float = ALPHA, delta: float = DELTA
) -> Decision:
    """Return the smallest threshold whose bound, and that of every stricter one, is at most alpha.

    Calibrate on the audit arm only: on verdicts chosen for low confidence the guarantee does not hold. The walk starts
    at the strictest threshold that accepts enough verdicts to pass without an error, a choice that looks at confidences
    but not at errors, and stops at the first failure, so that no correction for many tests is needed.
    Source: fixed-sequence testing as in Jung, Brahman and Choi 2024, "Trust or Escalate".

    Raises:
        ValueError: confidences and outcomes differ in number.
    """
    if len(confidences) != len(correct):
        raise ValueError(f"{len(confidences)} confidences for {len(correct)} outcomes")
    needed = labels_needed(0.0, alpha=alpha, delta=delta)
    n = len(confidences)
    if n < needed:
        return Decision(
            None, (), n, f"{n} audited verdicts; at least {needed} are needed, so every verdict goes to people."
        )
    steps, passed = _walk(
        np.asarray(confidences, dtype=np.float64), np.asarray(correct, dtype=bool), needed, alpha, delta
    )
    if not passed:
        return Decision(None, steps, n, "Even the most confident verdicts err too often: every verdict goes to people.")
    reason = f"Among {passed.accepted} verdicts at least this confident {passed.errors} were wrong; at most "
    return Decision(passed.threshold, steps, n, f"{reason}{passed.bound:.1%} with {1 - delta:.0%} certainty.")


def _walk(
    confidences: Floats, correct: NDArray[np.bool_], needed: int, alpha: float, delta: float
) -> tuple[tuple[Step, ...], Step | None]:
    order = np.argsort(-confidences, kind="stable")
    ranked, wrong = confidences[order], np.cumsum(~correct[order])
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)  # equal confidences are accepted together
    steps: list[Step] = []
    passed = None
    for i in last[last + 1 >= needed]:
        accepted, errors = int(i) + 1, int(wrong[i])
        steps.append(Step(float(ranked[i]), accepted, errors, error_bound(errors, accepted, delta=delta)))
        if steps[-1].bound > alpha:
            break
        passed = steps[-1]
    return tuple(steps), passed


def error_bound(errors: int, n: int, *, delta: float = DELTA) -> float:
    """Return the Clopper-Pearson upper bound of an error rate: beta.ppf(1 - delta, errors + 1, n - errors)."""
    if errors >= n:
        return 1.0
    return float(scipy.special.betaincinv(errors + 1, n - errors, 1 - delta))


def labels_needed(error_rate: float, *, alpha: float = ALPHA, delta: float = DELTA, limit: int = 100_000) -> int:
    """Return how many labels above a threshold prove an error rate below alpha when `error_rate` of them are wrong.

    The errors expected are rounded up.

    Raises:
        ValueError: no number up to `limit` is enough (error_rate is too close to alpha or above it).
    """
    for n in range(1, limit + 1):
        if error_bound(math.ceil(error_rate * n - 1e-9), n, delta=delta) <= alpha:
            return n
    raise ValueError(f"an error rate of {error_rate:.1%} cannot be shown to lie below {alpha:.1%}")
