"""A share of right answers corrected by a judge's sensitivity and specificity, whatever the mix of labels.

A second figure beside the corrected mean; it holds where people's labels come from another mix of right and wrong
answers than the judged ones. Sources: Rogan and Gladen 1978; Lee et al. 2026 for the variance of both samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.reports.statistics.estimates import Estimate, Interval, undefined, with_interval
from evalsite.reports.statistics.intervals import normal_interval


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A share corrected for how often the judge finds a right answer right and a wrong one wrong."""

    estimate: Estimate
    sensitivity: float | None
    specificity: float | None


def rogan_gladen(
    human: Sequence[bool], judge_labelled: Sequence[bool], judge_unlabelled: Sequence[bool]
) -> RoganGladen:
    """Return (p + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1], p over the unlabelled items.

    The interval is the delta method's, from the three binomial variances. Undefined without both kinds of human label,
    or for a judge no better than chance. Source: Rogan and Gladen 1978.
    """
    y, f, others = (np.asarray(values, dtype=bool) for values in (human, judge_labelled, judge_unlabelled))
    if not y.any() or y.all() or not others.size:
        reason = "Needs judged items without a label, and human labels of both kinds."
        return RoganGladen(undefined(reason, n=y.size), None, None)
    sensitivity, specificity, positive = float(f[y].mean()), float((~f[~y]).mean()), float(others.mean())
    power = sensitivity + specificity - 1
    if power <= 0:
        return RoganGladen(undefined("The judge is no better than chance here.", n=y.size), sensitivity, specificity)
    raw = (positive + specificity - 1) / power
    variance = (
        positive * (1 - positive) / others.size
        + raw**2 * sensitivity * (1 - sensitivity) / int(y.sum())
        + (1 - raw) ** 2 * specificity * (1 - specificity) / int((~y).sum())
    ) / power**2
    wide = normal_interval(raw, math.sqrt(variance), n=y.size)
    interval = Interval(_clip(wide.low), _clip(wide.high))
    return RoganGladen(with_interval(min(1.0, max(0.0, raw)), interval, n=y.size), sensitivity, specificity)


def _clip(end: float | None) -> float | None:
    return None if end is None else min(1.0, max(0.0, end))
