"""What moves a judge's verdict away from people's label: length, formatting, the author, the place in a pair.

A linear regression of (verdict - label) on these properties. Descriptive of the judge, not of the systems.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats, Ints, undefined
from judging.statistics.estimators.differences import holm
from judging.statistics.estimators.strata import FEWEST_FOR_CLAIMS, TooFew, look_multiplier, look_p_value
from judging.statistics.intervals import LEVEL, cluster_codes, t_quantile

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


@dataclass(frozen=True, slots=True)
class JudgeBias:
    """The effects of one judge, in a fixed order; those that cannot be told have a reason in place of a figure."""

    effects: tuple[Effect, ...]
    cases: int
    verdicts: int


_COLUMNS: dict[Property, Callable[[BiasRow], float | None]] = {
    Property.LENGTH: lambda row: row.tokens / 100,
    Property.POSITION: lambda row: row.position,
    Property.FAMILY: lambda row: row.own_family,
    Property.FORMATTING: lambda row: row.marks / 10,
}


def judge_bias(rows: Sequence[BiasRow], *, planned: int = 0) -> JudgeBias:
    """Return the effects of the properties that these verdicts have, by weighted least squares.

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
    return JudgeBias(tuple(effects[name] for name in names), cases, len(rows))


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
