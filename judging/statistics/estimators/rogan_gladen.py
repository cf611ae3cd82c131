"""A share of right answers corrected by a judge's sensitivity and specificity, whatever the mix of labels.

A second figure beside the corrected mean; it holds where people's labels come from another mix of right and wrong
answers than the judged ones. Sources: Rogan and Gladen 1978; Lee et al. 2026 for the variance of both samples.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judging.statistics.estimates import Estimate, Interval, undefined, with_interval
from judging.statistics.intervals import effective_size, normal_interval


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A share corrected for how often the judge finds a right answer right and a wrong one wrong."""

    estimate: Estimate
    sensitivity: float | None
    specificity: float | None


def rogan_gladen(
    human: Sequence[bool],
    judge_labelled: Sequence[bool],
    judge_unlabelled: Sequence[bool],
    *,
    cases: Sequence[Hashable] | None = None,
    other_cases: Sequence[Hashable] | None = None,
) -> RoganGladen:
    """Return (p + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1], p over the unlabelled items.

    `cases` are those of the labelled and of the unlabelled items; without them each item is a case of its own. The
    interval is the delta method's, from the three binomial variances, in which items of one case count as fewer than
    they are. Undefined without both kinds of human label, or for a judge no better than chance. Source: Rogan and
    Gladen 1978.

    Raises:
        ValueError: labels, scores and cases differ in number.
    """
    y, f, others = (np.asarray(values, dtype=bool) for values in (human, judge_labelled, judge_unlabelled))
    if not y.any() or y.all() or not others.size:
        reason = "Needs judged items without a label, and human labels of both kinds."
        return RoganGladen(undefined(reason, n=y.size), None, None)
    sensitivity, specificity, positive = float(f[y].mean()), float((~f[~y]).mean()), float(others.mean())
    power = sensitivity + specificity - 1
    if power <= 0:
        return RoganGladen(undefined("The judge is no better than chance.", n=y.size), sensitivity, specificity)
    raw = (positive + specificity - 1) / power
    groups = list(range(y.size)) if cases is None else list(cases)
    of_right = _variance(f[y], [group for group, is_right in zip(groups, y, strict=True) if is_right])
    of_wrong = _variance(~f[~y], [group for group, is_right in zip(groups, y, strict=True) if not is_right])
    of_others = _variance(others, range(others.size) if other_cases is None else other_cases)
    error = math.sqrt(of_others + raw**2 * of_right + (1 - raw) ** 2 * of_wrong) / power
    wide = normal_interval(raw, error, n=y.size)
    interval = Interval(_clip(wide.low), _clip(wide.high))
    return RoganGladen(with_interval(min(1.0, max(0.0, raw)), interval, n=y.size), sensitivity, specificity)


def _variance(hits: NDArray[np.bool_], cases: Sequence[Hashable]) -> float:
    values = hits.astype(np.float64)
    share = float(values.mean())
    return share * (1 - share) / effective_size(values, cases)


def _clip(end: float | None) -> float | None:
    return None if end is None else min(1.0, max(0.0, end))
