"""Means that a biased judge cannot distort: a random sample of human labels corrects all of the judge's scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.reports.statistics.estimates import Estimate, Floats, Interval, undefined, with_interval
from evalsite.reports.statistics.intervals import LEVEL, mean_interval, normal_interval

TOO_FEW = "A corrected mean needs at least two audited items."
NO_AUDIT = "No audited item has a human label yet."


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """The corrected mean, and how far the judge was trusted to reach it (0 = not at all, 1 = fully)."""

    estimate: Estimate
    tuning: float | None


@dataclass(frozen=True, slots=True)
class MeanComparison:
    """The three means that stand side by side on a leaderboard."""

    judge: Estimate
    human: Estimate
    corrected: CorrectedMean


def classical_mean(human: Sequence[float] | Floats, *, level: float = LEVEL) -> Estimate:
    """Return the mean of the human labels alone with its normal interval; the variance divides by n."""
    labels = np.asarray(human, dtype=np.float64)
    if labels.size < 2:
        return undefined(TOO_FEW if labels.size else NO_AUDIT, n=labels.size)
    error = math.sqrt(float(labels.var()) / labels.size)
    return normal_interval(float(labels.mean()), error, n=labels.size, level=level)


def ppi_mean(
    human: Sequence[float] | Floats,
    judge_labelled: Sequence[float] | Floats,
    judge_unlabelled: Sequence[float] | Floats,
    *,
    tuning: float | None = None,
    level: float = LEVEL,
) -> CorrectedMean:
    """Return the prediction-powered mean with its normal interval; n = human labels. Needs a uniform random sample.

    theta = l mean_U(f) + mean_L(Y - l f), Var = l² Var_U(f) / N + Var_L(Y - l f) / n, with f the judge's score, L the n
    labelled and U the N other items. Unless `tuning` gives l, l = Cov_L(Y, f) / ((1 + n/N) Var(f)) clipped to [0, 1],
    Var(f) over all items. Variances divide by the number of items. Without other items l is 0: the human mean.
    Source: Angelopoulos, Duchi and Zrnic 2023, "PPI++".

    Raises:
        ValueError: human labels and the judge's scores of the same items differ in number.
    """
    y, f, others = (np.asarray(values, dtype=np.float64) for values in (human, judge_labelled, judge_unlabelled))
    if y.size != f.size:
        raise ValueError(f"{y.size} human labels for {f.size} judged items")
    if y.size < 2:
        return CorrectedMean(undefined(TOO_FEW if y.size else NO_AUDIT, n=y.size), None)
    if not others.size:
        return CorrectedMean(classical_mean(y, level=level), 0.0)
    trust = best_tuning(y, f, others) if tuning is None else tuning
    rectifier = y - trust * f
    value = trust * float(others.mean()) + float(rectifier.mean())
    error = math.sqrt(trust**2 * float(others.var()) / others.size + float(rectifier.var()) / y.size)
    return CorrectedMean(normal_interval(value, error, n=y.size, level=level), trust)


def best_tuning(human: Floats, judge_labelled: Floats, judge_unlabelled: Floats) -> float:
    """Return the l in [0, 1] that makes the corrected mean's variance least; 0 for a judge that never varies."""
    spread = float(np.concatenate([judge_labelled, judge_unlabelled]).var())
    if spread == 0:
        return 0.0
    shared = float(((human - human.mean()) * (judge_labelled - judge_labelled.mean())).mean())
    return min(1.0, max(0.0, shared / ((1 + human.size / judge_unlabelled.size) * spread)))


def weighted_correction(
    judge: Sequence[float] | Floats,
    human: Sequence[float | None],
    inclusion: Sequence[float] | Floats,
    *,
    level: float = LEVEL,
) -> Estimate:
    """Return mean_i(f_i + (Y_i - f_i) xi_i / pi_i) with its normal interval; n = items with a human label.

    For items sent to people with unequal, known probabilities pi in (0, 1]; xi_i is 1 where a label came back.
    Source: Horvitz and Thompson 1952, difference estimator; the variance is that of independent terms.

    Raises:
        ValueError: lengths differ, or a labelled item has no probability within (0, 1].
    """
    f, pi = np.asarray(judge, dtype=np.float64), np.asarray(inclusion, dtype=np.float64)
    if not f.size == pi.size == len(human):
        raise ValueError(f"{f.size} judged items, {len(human)} labels, {pi.size} probabilities")
    asked = np.array([label is not None for label in human], dtype=bool)
    if ((pi[asked] <= 0) | (pi[asked] > 1)).any():
        raise ValueError("a labelled item needs its inclusion probability, above 0 and at most 1")
    n = int(asked.sum())
    if n < 2:
        return undefined(TOO_FEW if n else NO_AUDIT, n=n)
    y = np.array([0.0 if label is None else label for label in human])
    terms = f.copy()
    terms[asked] += (y[asked] - f[asked]) / pi[asked]
    error = math.sqrt(float(terms.var()) / f.size)
    return normal_interval(float(terms.mean()), error, n=n, level=level)


def compare_means(
    judge_all: Sequence[float] | Floats,
    human: Sequence[float] | Floats,
    judge_labelled: Sequence[float] | Floats,
    judge_unlabelled: Sequence[float] | Floats,
) -> MeanComparison:
    """Return the raw judge mean, the human-only mean and the corrected mean, each with its interval."""
    return MeanComparison(
        mean_interval(judge_all), classical_mean(human), ppi_mean(human, judge_labelled, judge_unlabelled)
    )


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
