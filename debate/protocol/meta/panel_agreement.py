"""Agreement among the speakers of debates on nominal labels. Everything undefined is None.

Only what the debate's own tables need; agreement between people, with intervals, is the reports' business.
Sources: Fleiss (1971) Psychological Bulletin 76; Krippendorff (2011) Computing Krippendorff's Alpha-Reliability;
Cohen (1960) Educational and Psychological Measurement 20.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Labels = Sequence[int | None]  # one item's labels, one per judge; None: missing


def fleiss_kappa(items: Sequence[Labels]) -> float | None:
    """Return Fleiss' kappa over the items without a missing label; None without such or with one label in use."""
    complete = [[label for label in item if label is not None] for item in items if None not in item]
    if not complete or len(complete[0]) < 2:
        return None
    raters = len(complete[0])
    counts = [Counter(item) for item in complete]
    observed = sum(
        (sum(count * count for count in item.values()) - raters) / (raters * (raters - 1)) for item in counts
    ) / len(counts)
    used = Counter(label for item in complete for label in item)
    expected = sum((count / (raters * len(complete))) ** 2 for count in used.values())
    return None if len(used) < 2 else (observed - expected) / (1 - expected)


def krippendorff_alpha(items: Sequence[Labels]) -> float | None:
    """Return nominal alpha over the items with two labels or more; None without such or with one label in use."""
    units = [[label for label in item if label is not None] for item in items]
    units = [unit for unit in units if len(unit) > 1]
    used = Counter(label for unit in units for label in unit)
    total = sum(used.values())
    if len(used) < 2:
        return None
    disagreement = sum(sum(1 for a, b in combinations(unit, 2) if a != b) * 2 / (len(unit) - 1) for unit in units)
    expected = total * total - sum(count * count for count in used.values())
    return 1 - (total - 1) * disagreement / expected


def cohen_kappa(pairs: Sequence[tuple[int | None, int | None]]) -> float | None:
    """Return Cohen's kappa over the pairs without a missing label; None without such or where chance agrees fully."""
    complete = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not complete:
        return None
    n = len(complete)
    first, second = Counter(a for a, _ in complete), Counter(b for _, b in complete)
    expected = sum(count * second[label] for label, count in first.items())  # times n squared
    if expected == n * n:
        return None
    observed = sum(a == b for a, b in complete) / n
    return (observed - expected / (n * n)) / (1 - expected / (n * n))


def raw_agreement(pairs: Sequence[tuple[int | None, int | None]]) -> float | None:
    """Return the share of equal labels over the pairs without a missing label; None without such."""
    complete = [(a, b) for a, b in pairs if a is not None and b is not None]
    return sum(a == b for a, b in complete) / len(complete) if complete else None
