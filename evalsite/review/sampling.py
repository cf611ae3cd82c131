"""Which items people audit and repeat, chosen by hash: uniform, repeatable, and with a known probability. Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

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


def is_retest(item_key: str, *, person: str, seed: int, share: float = RETEST_SHARE) -> bool:
    """Return whether a person's own item comes back to them later with the sides flipped."""
    return uniform_number("retest", seed, person, item_key) < share
