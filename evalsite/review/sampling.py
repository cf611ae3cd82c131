"""Which items people audit and repeat, chosen by hash: uniform, repeatable, and with a known probability. Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

AUDIT_SHARE = 0.05
AUDIT_MINIMUM = 30
RETEST_SHARE = 0.05
RETEST_GAP = 20  # other answers before an item comes back at least, so that nobody answers from memory


@dataclass(frozen=True, slots=True)
class AuditDraw:
    """The audited keys, and the probability with which each key of the run could have been drawn."""

    chosen: frozenset[str]
    probability: float


def uniform_number(*parts: str | int) -> float:
    """Return a number in [0, 1) that depends on the parts alone and looks uniform: 53 bits of SHA-256."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def audit_size(n: int, *, share: float = AUDIT_SHARE, minimum: int = AUDIT_MINIMUM) -> int:
    """Return how many of n items to audit: the share, rounded up, but at least the minimum and at most n.

    A share of 0 audits nothing.

    Raises:
        ValueError: the share is not within [0, 1], or a number is negative.
    """
    if not 0 <= share <= 1 or n < 0 or minimum < 0:
        raise ValueError(f"audit {share} of {n}, at least {minimum}")
    return min(n, max(minimum, math.ceil(share * n - 1e-9))) if share else 0


def draw_audit(
    keys: Sequence[str], *, seed: int, share: float = AUDIT_SHARE, minimum: int = AUDIT_MINIMUM
) -> AuditDraw:
    """Return a uniform random sample of fixed size from a finished run; the same keys and seed give the same sample.

    Raises:
        ValueError: a key occurs twice, or the share is not within [0, 1].
    """
    return draw_sample(keys, seed=seed, size=audit_size(len(keys), share=share, minimum=minimum))


def draw_sample(keys: Sequence[str], *, seed: int, size: int) -> AuditDraw:
    """Return a uniform random sample of this size, or all keys where there are fewer.

    The seed gives every key its place in a line, and the sample is the head of the line. A larger sample of the same
    keys therefore holds the smaller one and is uniform again: each key's probability is the new size over N, that of
    the keys drawn before too.

    Raises:
        ValueError: a key occurs twice, or the size is negative.
    """
    if len(set(keys)) != len(keys):
        raise ValueError("a key occurs twice; its inclusion probability would be wrong")
    if size < 0:
        raise ValueError(f"a sample of {size}")
    size = min(size, len(keys))
    ranked = sorted(keys, key=lambda key: (uniform_number("audit", seed, key), key))
    return AuditDraw(frozenset(ranked[:size]), size / len(keys) if keys else 0.0)


def joins_audit(key: str, *, seed: int, probability: float) -> bool:
    """Return whether an item that arrives after the draw is audited, with exactly this probability, independently."""
    return uniform_number("late audit", seed, key) < probability


def is_retest(item_key: str, *, person: str, seed: int, share: float = RETEST_SHARE) -> bool:
    """Return whether a person's own item comes back to them later with the sides flipped."""
    return uniform_number("retest", seed, person, item_key) < share


def half_width(n: int, *, share: float = 0.5, population: int | None = None, level: float = 0.95) -> float | None:
    """Return how far the normal interval of a share reaches each way with n labels; None for n = 0.

    z sqrt(p (1 - p) / n * (N - n) / (N - 1)) for a sample without replacement from N items, all of them when None.
    0.5 is the widest case. Source: Cochran, Sampling Techniques, ch. 3.
    """
    if n < 1:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    correction = 1.0 if population is None else max(population - n, 0) / max(population - 1, 1)
    return z * math.sqrt(share * (1 - share) / n * correction)


def labels_for(
    wanted_half_width: float, *, share: float = 0.5, population: int | None = None, level: float = 0.95
) -> int:
    """Return the fewest labels whose interval reaches at most this far each way; never more than the population.

    n0 = z² p (1 - p) / h², and n0 / (1 + (n0 - 1) / N) for N items. Source: Cochran, Sampling Techniques, ch. 4.

    Raises:
        ValueError: the wanted half-width is not positive.
    """
    if wanted_half_width <= 0:
        raise ValueError("the wanted half-width must be above 0")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    n = z * z * share * (1 - share) / wanted_half_width**2
    if population is None:
        return max(1, math.ceil(n - 1e-9))
    return min(population, max(1, math.ceil(n / (1 + (n - 1) / population) - 1e-9))) if population else 0


@dataclass(frozen=True, slots=True)
class AuditOffer:
    """What a sample of one size costs and buys."""

    size: int
    population: int
    worst: float | None  # half-width of the 95% interval of a share at its widest, one half; None for no sample
    assumed: float | None  # the same at the share that is expected
    is_rough: bool  # too few expected hits or misses for the normal interval at the expected share
    answers: int
    seconds: float | None  # of people's time; None while nobody's time per answer is known

    @property
    def probability(self) -> float:
        """The chance with which each item is drawn."""
        return self.size / self.population


def audit_offer(
    size: int, *, population: int, share: float, quorum: int, seconds_per_answer: float | None
) -> AuditOffer:
    """Return what auditing `size` of `population` items costs and buys, where a share of `share` is expected.

    Raises:
        ValueError: the size is not within 0 and the population, or there is no population.
    """
    if not 0 <= size <= population or not population:
        raise ValueError(f"audit {size} of {population}")
    worst = half_width(size, population=population)
    assumed = half_width(size, share=share, population=population)
    answers = size * quorum
    return AuditOffer(
        size=size,
        population=population,
        worst=worst,
        assumed=assumed,
        is_rough=size < population and size * min(share, 1 - share) < 5,
        answers=answers,
        seconds=None if seconds_per_answer is None else answers * seconds_per_answer,
    )
