"""Krippendorff's alpha over the characters of texts in which people marked parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judging.statistics.estimates import Estimate, Floats, Interval, undefined, with_interval
from judging.statistics.intervals import LEVEL, ONE_UNIT
from judging.statistics.marked_texts import UNMARKED, Mark, stretches

DRAWS = 1_000  # resamples of the items behind an interval


def character_coincidences(people: Sequence[Sequence[Mark]], *, length: int, labels: Sequence[str]) -> Floats:
    """Return how often the pairs of labels that people give a character occur in one text, shape (1 + labels,) * 2.

    The first row and column are those of characters without a mark. A character with m labels counts m in all.
    """
    position = {label: number for number, label in enumerate((UNMARKED, *labels))}
    counts = np.zeros((len(position), len(position)))
    for start, end, given in stretches(people, length):
        votes = np.bincount([position[label] for label in given], minlength=len(position)).astype(np.float64)
        counts += (end - start) / (len(people) - 1) * (np.outer(votes, votes) - np.diag(votes))
    return counts


def character_alpha(coincidences: Sequence[Floats]) -> Estimate:
    """Return Krippendorff's alpha over the characters of all texts, for labels without an order; n = texts.

    alpha = 1 - (n - 1) (n - sum of o_cc) / (n² - sum of n_c²) of the summed coincidences o, where "unmarked" is one of
    the labels. The interval is that of percentiles over 1,000 resamples of the texts, since characters of one text are
    not independent. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    n = len(coincidences)
    if not n:
        return undefined("No text was marked by two people or more.")
    texts = np.stack(coincidences).reshape(n, -1)
    alpha = _alpha(texts.sum(axis=0))
    if alpha is None:
        return undefined("Every character has the same label, so agreement beyond chance has no meaning.", n=n)
    if n == 1:
        return with_interval(alpha, Interval(None, None, ONE_UNIT), n=n)
    random = np.random.default_rng(0)
    drawn = (_alpha(random.multinomial(n, np.full(n, 1 / n)) @ texts) for _ in range(DRAWS))
    low, high = np.quantile([value for value in drawn if value is not None], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return with_interval(alpha, Interval(float(low), float(high)), n=n)


def _alpha(flat: Floats) -> float | None:
    size = round(len(flat) ** 0.5)
    counts = flat.reshape(size, size)
    totals = counts.sum(axis=0)
    n = totals.sum()
    expected = n**2 - (totals**2).sum()
    return None if expected <= 0 else float(1 - (n - 1) * (n - np.trace(counts)) / expected)


def against_the_other_labels(counts: Floats, position: int) -> Floats:
    """Return coincidences of one label against everything else, shape (2, 2)."""
    own, total = counts[position, position], counts[position].sum()
    return np.array([[counts.sum() - 2 * total + own, total - own], [total - own, own]])
