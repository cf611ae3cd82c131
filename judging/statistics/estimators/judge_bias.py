"""What moves a judge's verdict away from people's label: length, formatting, the author, the place in a pair.

A linear regression of (verdict - label) on these properties. Descriptive of the judge, not of the systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import scipy
from numpy.typing import NDArray

from judging.statistics.estimates import (
    FEWEST_CASES,
    FEWEST_FOR_CLAIMS,
    LEVEL,
    Estimate,
    Floats,
    Interval,
    Ints,
    TooFew,
    cluster_codes,
    effective_size,
    look_multiplier,
    look_p_value,
    normal_interval,
    t_quantile,
    undefined,
    with_interval,
)
from judging.statistics.estimators.boards import holm, mean_change, mean_of_cases

FEWEST_OTHERS = 10  # cases that must differ in a property from all others: fewer and single cases decide
NEVER_DIFFERS = "Judge and annotators agree on all {} cases, so there is no difference to explain."
ALIKE = "Too few: {} of {} cases have a different value of this property."
UNKNOWN = "The model family of the judge, or that of a system, is not known."
ENTANGLED = "On these cases it cannot be separated from the other properties."


class Property(StrEnum):
    """What may move a verdict."""

    LENGTH = "length"
    POSITION = "position"
    FAMILY = "family"
    FORMATTING = "formatting"


UNITS = {
    Property.LENGTH: "per 100 tokens",
    Property.POSITION: "when shown first",
    Property.FAMILY: "for the judge's own model family",
    Property.FORMATTING: "per 10 formatting marks",
}


@dataclass(frozen=True, slots=True)
class BiasRow:
    """One verdict with people's label. Of a pair, verdict and label are the points of A, the rest is A minus B."""

    case: Hashable
    difference: float  # verdict minus label, both from 0 to 1
    weight: float  # 1 / the probability with which it was drawn
    tokens: float
    marks: float
    own_family: float | None  # 1: the system's model is of the judge's family; 0: not; None: not known
    position: float | None = None  # of a pair 0.5 where A was shown first, -0.5 where B was; None: no pair


@dataclass(frozen=True, slots=True)
class Effect:
    """By how much a property moves the verdict, everything else equal; n = cases."""

    name: Property
    estimate: Estimate
    p_value: float | None = None
    holm_p: float | None = None  # Holm's, over the properties of one judge


_COLUMNS: dict[Property, Callable[[BiasRow], float | None]] = {
    Property.LENGTH: lambda row: row.tokens / 100,
    Property.POSITION: lambda row: row.position,
    Property.FAMILY: lambda row: row.own_family,
    Property.FORMATTING: lambda row: row.marks / 10,
}


def judge_bias(rows: Sequence[BiasRow], *, planned: int = 0) -> tuple[Effect, ...]:
    """Return the effects of the properties that these verdicts of one judge have, in a fixed order, by weighted least
    squares; those that cannot be told have a reason in place of a figure.

    Errors are HC3 (MacKinnon and White 1985), with the case left out as a whole: responses to one case err together.
    With one verdict a case they are those of HC3. Where the conventional error is larger it stands instead (Angrist and
    Pischke 2009, 8.1): if the few responses with a property happen to be judged without a mistake, HC3 takes that for
    certain, and claims a bias in up to 17% of judges that have none. Intervals by Student's t with cases less
    coefficients degrees of freedom; p-values by Holm over the properties. From 30 cases on. `planned` is that of
    `shown_mean`.
    """
    codes = cluster_codes([row.case for row in rows])
    cases = int(codes.max()) + 1 if len(codes) else 0
    names = [name for name in Property if name is not Property.POSITION or any(row.position for row in rows)]
    reason = _no_regression(rows, cases)
    columns = {} if reason else _usable(rows, codes, names)
    if reason:
        effects = {name: Effect(name, undefined(reason, n=cases)) for name in names}
    else:
        effects = {name: Effect(name, undefined(why, n=cases)) for name, why in columns.items() if isinstance(why, str)}
        design = {name: column for name, column in columns.items() if not isinstance(column, str)}
        effects |= {effect.name: effect for effect in _fitted(rows, codes, design, planned)}
    return tuple(effects[name] for name in names)


def _no_regression(rows: Sequence[BiasRow], cases: int) -> str:
    if cases < FEWEST_FOR_CLAIMS:
        return TooFew(cases, FEWEST_FOR_CLAIMS).estimate.reason
    if not any(row.difference for row in rows):
        return NEVER_DIFFERS.format(cases)
    return ""


def _usable(rows: Sequence[BiasRow], codes: Ints, names: Sequence[Property]) -> dict[Property, Floats | str]:
    """Return the column of each property, centred, or why it cannot enter."""
    usable: dict[Property, Floats | str] = {}
    design = np.ones((len(rows), 1))
    for name in names:
        values = [_COLUMNS[name](row) for row in rows]
        if None in values:
            usable[name] = UNKNOWN
            continue
        column = np.array(values, dtype=np.float64)
        kinds, which = np.unique(column, return_inverse=True)
        others = len(np.unique(codes[which != np.bincount(which, minlength=len(kinds)).argmax()]))
        if others < FEWEST_OTHERS:
            usable[name] = ALIKE.format(others, FEWEST_OTHERS)
            continue
        centred = column - column.mean()
        wider = np.column_stack([design, centred / centred.std()])
        if np.linalg.matrix_rank(wider, tol=1e-6 * len(rows) ** 0.5) <= design.shape[1]:
            usable[name] = ENTANGLED
            continue
        usable[name], design = centred, wider
    return usable


def _fitted(rows: Sequence[BiasRow], codes: Ints, columns: dict[Property, Floats], planned: int) -> list[Effect]:
    # Imported late: it brings pandas along, and only workers fit.
    from statsmodels.regression.linear_model import WLS

    if not columns:
        return []
    cases = int(codes.max()) + 1
    design = np.column_stack([np.ones(len(rows)), *columns.values()])
    fit = WLS([row.difference for row in rows], design, weights=[row.weight for row in rows]).fit()
    covariance = leave_case_out_covariance(fit.model.wexog, fit.wresid, codes)
    if covariance is None:
        return [Effect(name, undefined(ENTANGLED, n=cases)) for name in columns]
    degrees = cases - design.shape[1]
    conventional = conventional_covariance(fit.model.wexog, fit.wresid, codes)
    errors = np.sqrt(np.maximum(np.diag(covariance), np.diag(conventional)))
    effects = [
        Effect(name, *_estimated(float(fit.params[index]), float(errors[index]), cases, degrees, planned))
        for index, name in enumerate(columns, start=1)
    ]
    adjusted = holm([effect.p_value for effect in effects if effect.p_value is not None])
    return [replace(effect, holm_p=p_value) for effect, p_value in zip(effects, adjusted, strict=True)]


def _estimated(value: float, error: float, cases: int, degrees: int, planned: int) -> tuple[Estimate, float]:
    """Return a coefficient with its interval, and its p-value."""
    n = degrees + 1
    if planned:
        reach = look_multiplier(n, planned) * error
        p_value = look_p_value(value, error, n=n, planned=planned)
    else:
        reach = t_quantile(degrees, LEVEL) * error
        p_value = float(2 * scipy.special.stdtr(degrees, -abs(value) / error)) if error else float(value == 0)
    return Estimate(value, value - reach, value + reach, cases), p_value


def conventional_covariance(design: Floats, residuals: Floats, cases: Ints) -> Floats:
    """Return the covariance of coefficients if all residuals varied alike, times how far those of a case hang together.

    Arguments are those of `leave_case_out_covariance`. With one row a case it is that of least squares; a case that
    stands in many equal rows counts once.
    """
    count, terms = int(cases.max()) + 1, design.shape[1]
    squares = float((residuals**2).sum())
    sums = np.bincount(cases, weights=residuals)
    together = max(1.0, float((sums**2).sum()) / squares) if squares else 1.0
    scale = squares / len(residuals) * count / (count - terms) * together
    covariance: Floats = np.linalg.inv(design.T @ design) * scale
    return covariance


def leave_case_out_covariance(design: Floats, residuals: Floats, cases: Ints) -> Floats | None:
    """Return the covariance of coefficients from what leaving each case out changes: HC3 by case (CRV3).

    `design` and `residuals` are weighted by the roots of the weights; cases are 0, 1, 2, ... None where the
    coefficients depend on one case altogether. Source: MacKinnon, Nielsen and Webb 2023, without the factor
    (G - 1) / G, so that it equals HC3 where each case has one row.
    """
    terms, count = design.shape[1], int(cases.max()) + 1
    within = np.zeros((count, terms, terms))
    np.add.at(within, cases, design[:, :, None] * design[:, None, :])
    pulls = np.zeros((count, terms))
    np.add.at(pulls, cases, design * residuals[:, None])
    without = within.sum(axis=0) - within
    if np.linalg.cond(without).max() > 1e10:
        return None
    changes = np.linalg.solve(without, pulls[:, :, None])[:, :, 0]
    covariance: Floats = changes.T @ changes
    return covariance


@dataclass(frozen=True, slots=True)
class Drift:
    """Change of agreement from before to after, with its interval; `flips` is the share of items that changed."""

    change: float
    low: float
    high: float
    p_value: float
    flips: float
    n: int


def drift(before: Sequence[float] | Floats, after: Sequence[float] | Floats) -> Drift | TooFew:
    """Return how agreement with the labels (1 = agrees, 0 = does not) changed over the same items.

    Raises:
        ValueError: the two differ in number.
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} items before, {len(after)} after")
    if len(before) < FEWEST_CASES:
        return TooFew(len(before), FEWEST_CASES)
    changes = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    change = mean_change(changes)
    p_value = mcnemar_mid_p(int((changes > 0).sum()), int((changes < 0).sum()))
    return Drift(float(changes.mean()), change.low, change.high, p_value, float((changes != 0).mean()), len(changes))


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """Return the two-sided mid-p value of McNemar's test from the discordant counts. Source: Fagerland et al. 2013."""
    n, fewer = gained + lost, min(gained, lost)
    if gained == lost:
        return 1.0
    k = np.arange(fewer + 1)
    logs = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    chances = np.exp(logs - n * np.log(2))
    return min(1.0, float(2 * chances.sum() - chances[-1]))


def rogan_gladen(
    human: Sequence[bool],
    judge_labelled: Sequence[bool],
    judge_unlabelled: Sequence[bool],
    *,
    cases: Sequence[Hashable] | None = None,
    other_cases: Sequence[Hashable] | None = None,
) -> tuple[Estimate, float | None, float | None]:
    """Return (p + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1], p over the unlabelled items;
    then the sensitivity and the specificity: how often the judge finds a right answer right and a wrong one wrong.

    `cases` are those of the labelled and of the unlabelled items; without them each item is a case of its own. The
    interval is the delta method's, from the three binomial variances, in which items of one case count as fewer than
    they are. Undefined without both kinds of human label, or for a judge no better than chance; the rates of what has
    labels are told all the same. Source: Rogan and Gladen 1978.

    Raises:
        ValueError: labels, scores and cases differ in number.
    """
    y, f, others = (np.asarray(values, dtype=bool) for values in (human, judge_labelled, judge_unlabelled))
    sensitivity = float(f[y].mean()) if y.any() else None
    specificity = float((~f[~y]).mean()) if not y.all() else None
    if sensitivity is None or specificity is None or not others.size:
        reason = "Needs judged items without a label, and human labels of both kinds."
        return undefined(reason, n=y.size), sensitivity, specificity
    power = sensitivity + specificity - 1
    if power <= 0:
        return undefined("The judge is no better than chance.", n=y.size), sensitivity, specificity
    raw = (float(others.mean()) + specificity - 1) / power
    groups = list(range(y.size)) if cases is None else list(cases)
    of_right = _variance(f[y], [group for group, is_right in zip(groups, y, strict=True) if is_right])
    of_wrong = _variance(~f[~y], [group for group, is_right in zip(groups, y, strict=True) if not is_right])
    of_others = _variance(others, range(others.size) if other_cases is None else other_cases)
    error = math.sqrt(of_others + raw**2 * of_right + (1 - raw) ** 2 * of_wrong) / power
    wide = normal_interval(raw, error, n=y.size)
    interval = Interval(_clip(wide.low), _clip(wide.high))
    return with_interval(min(1.0, max(0.0, raw)), interval, n=y.size), sensitivity, specificity


def _variance(hits: NDArray[np.bool_], cases: Sequence[Hashable]) -> float:
    values = hits.astype(np.float64)
    share = float(values.mean())
    return share * (1 - share) / effective_size(values, cases)


def _clip(end: float | None) -> float | None:
    return None if end is None else min(1.0, max(0.0, end))


LARGEST_EFFECT = 15.0  # beyond it length alone decides, and the fit runs off
SAME_LENGTHS = "The differences in length are all the same."
ALL_LENGTH = "Length alone decides every comparison, so nothing is known about responses of equal length."


def length_control(
    wins: Sequence[float] | Floats, length_differences: Sequence[float] | Floats, cases: Sequence[Hashable]
) -> tuple[Estimate, Estimate, Estimate]:
    """Return a win rate as it is and at equal length, and how being longer changes the log odds of winning: above 0 the
    longer answer wins more often. The last two from 30 cases on, and where they can be told; n = cases.
    """
    raw = mean_of_cases(wins, cases)
    if raw.n < FEWEST_FOR_CLAIMS:
        few = TooFew(raw.n, FEWEST_FOR_CLAIMS).estimate
        return raw, few, few
    if not np.ptp(np.asarray(length_differences, dtype=np.float64)):
        alike = undefined(SAME_LENGTHS, n=raw.n)
        return raw, alike, alike
    win_rate, effect, error = length_controlled_win_rate(wins, length_differences, cases)
    if abs(effect) > LARGEST_EFFECT:
        decided = undefined(ALL_LENGTH, n=raw.n)
        return raw, decided, decided
    reach = t_quantile(raw.n - 1) * error
    return raw, win_rate, Estimate(effect, effect - reach, effect + reach, raw.n)


def length_controlled_win_rate(
    wins: Sequence[float] | Floats, length_differences: Sequence[float] | Floats, cases: Sequence[Hashable]
) -> tuple[Estimate, float, float]:
    """Return the win rate (1, 0.5, 0 per comparison) at equal length by logistic regression, clustered by case, and
    how the log odds of winning grow with tanh(difference in length / its standard deviation), with its standard error.

    A win and a loss at equal length are added, which keeps the figures finite. Descriptive: where people too like the
    longer answer it takes quality away. Source: Dubois et al. 2024.

    Raises:
        ValueError: fewer than two cases.
    """
    clusters = cluster_codes(cases)
    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count < 2:
        raise ValueError("a length-controlled win rate needs two cases or more")
    points = np.asarray(wins, dtype=np.float64)
    longer = np.asarray(length_differences, dtype=np.float64)
    spread = float(longer.std())
    design = np.column_stack([np.ones(len(points)), np.tanh(longer / spread) if spread > 0 else np.zeros(len(points))])
    weights, expected, curvature = _fit(design, points)
    equal = float(scipy.special.expit(weights[0]))
    scores = np.zeros((count, 2))
    np.add.at(scores, clusters, (points - expected)[:, None] * design)
    meat = scores.T @ scores
    meat[0, 0] += (1 - equal) ** 2 + equal**2
    bread = np.linalg.inv(curvature)
    covariance = bread @ (count / (count - 1) * meat) @ bread
    reach = t_quantile(count - 1) * float(np.sqrt(covariance[0, 0]))
    ends = scipy.special.expit([weights[0] - reach, weights[0] + reach])
    win_rate = Estimate(equal, float(ends[0]), float(ends[1]), count)
    return win_rate, float(weights[1]), float(np.sqrt(covariance[1, 1]))


def _fit(design: Floats, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Return intercept and slope, the expected points and the curvature, by Newton steps of at most 2."""
    weights = np.zeros(2)
    for _ in range(200):
        expected = scipy.special.expit(design @ weights)
        equal = float(scipy.special.expit(weights[0]))
        curvature = (design * (expected * (1 - expected))[:, None]).T @ design + 1e-12 * np.eye(2)
        curvature[0, 0] += 2 * equal * (1 - equal)
        slope = design.T @ (points - expected)
        slope[0] += 1 - 2 * equal
        step = np.linalg.solve(curvature, slope)
        weights = weights + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-13:
            break
    return weights, expected, curvature
