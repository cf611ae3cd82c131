"""One figure with its interval, or the reason why there is none; intervals in closed form; and the stratified mean.

That is the mean over cases of which a random sample has labels, and the judge's scores of all of them. Point: PPI++
within each stratum (Angelopoulos, Duchi and Zrnic 2023). Variance: that of the survey regression estimator,
(1 - n/K) S²_e/n + S²_Y/K (Cochran 1977, ch. 7), which also holds when every case was drawn. Pseudo-cases at both ends
of the scale enter centre and variance, never the point shown (Agresti and Coull 1998).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import hypot

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MeanKind(StrEnum):
    """Which mean a leaderboard shows."""

    RAW = "raw"
    HUMAN = "human"
    CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, its 95% interval (unless said otherwise) and the number of units behind it.

    `value` is None when the figure is undefined, `low` and `high` are None when only the interval is; `reason`
    then says why in words. A figure is never NaN.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int  # units used: items, cases or comparisons, as the function says
    reason: str = ""

    @property
    def is_defined(self) -> bool:
        """Whether there is a figure to show."""
        return self.value is not None


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends, or neither and the reason."""

    low: float | None
    high: float | None
    reason: str = ""


def undefined(reason: str, *, n: int = 0) -> Estimate:
    """Return a figure that does not exist, with the reason in words."""
    return Estimate(value=None, low=None, high=None, n=n, reason=reason)


def within(estimate: Estimate, low: float, high: float) -> Estimate:
    """Return the figure and its interval cut to a range, for a mean that its benchmark defines to end there."""

    def cut(value: float | None) -> float | None:
        return None if value is None else min(max(value, low), high)

    return replace(estimate, value=cut(estimate.value), low=cut(estimate.low), high=cut(estimate.high))


def with_interval(value: float, interval: Interval, *, n: int) -> Estimate:
    """Return a defined figure beside its interval, which reaches it; the interval's reason is kept.

    Pseudo-items move the centre of an interval away from the figure, on few items of a long scale past it.
    """
    low, high = (end if end is None else pick(end, value) for end, pick in ((interval.low, min), (interval.high, max)))
    return Estimate(value=value, low=low, high=high, n=n, reason=interval.reason)


LEVEL = 0.95
ONE_UNIT = "One item has no interval."


def share_of(count: float, n: int) -> Estimate:
    """Return count / n with its mid-p interval; undefined for n = 0.

    Wilson's score interval covers 86 to 91% of the time where nearly all of 30 to 100 agree; this one 91.9% at
    least, and 95 to 96% over all shares.

    Raises:
        ValueError: count is not within 0..n.
    """
    return _share(count, n, units=n)


def share_of_cases(values: Sequence[bool], cases: Sequence[Hashable]) -> Estimate:
    """Return the share of values that hold, with the interval of as many values as there are cases; n = values.

    Values of one case are taken to hold together, so that criteria and pairs of one case do not pass for independent
    observations: exact where a case has one value, wider than needed where its values are independent.

    Raises:
        ValueError: values and cases differ in number.
    """
    if len(values) != len(cases):
        raise ValueError(f"{len(values)} values of {len(cases)} cases")
    return _share(sum(values), len(values), units=len(set(cases)))


def _share(count: float, n: int, *, units: int) -> Estimate:
    if not 0 <= count <= n:
        raise ValueError(f"{count} of {n}")
    if n == 0:
        return undefined("There are no values yet.")
    share = count / n
    if units == 1:
        return with_interval(share, Interval(None, None, ONE_UNIT), n=n)
    return Estimate(share, *mid_p_interval(share, units), n)


def wilson_interval(count: float, n: float, *, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a share of n. Source: Wilson 1927."""
    z = z_value(level)
    centre, room = (count + z**2 / 2) / (n + z**2), z / (n + z**2)
    reach = room * float(np.sqrt(count * (n - count) / n + z**2 / 4))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def wilson_share(count: float, n: int) -> Estimate:
    """Return count / n with Wilson's interval; undefined for n = 0."""
    return Estimate(count / n, *wilson_interval(count, n), n) if n else undefined("There are no values yet.")


def share_by_cluster(values: Sequence[bool], clusters: Sequence[Hashable]) -> Estimate:
    """Return the share of values that hold, with Wilson's interval of as many values as they are worth."""
    n = len(values)
    if not n:
        return undefined("There are no values yet.")
    share = sum(values) / n
    size = effective_size(np.array(values, dtype=np.float64), clusters)
    return Estimate(share, *wilson_interval(share * size, size), n)


def difference_of_shares(first: Estimate, second: Estimate) -> Estimate:
    """Return first - second of two groups without common units, with Newcombe's interval where theirs are Wilson's.

    The distances of the shares to the ends of their intervals are added as errors are. Source: Newcombe 1998, no. 10.
    """
    ends = (first.value, first.low, first.high, second.value, second.low, second.high)
    n = first.n + second.n
    if any(end is None for end in ends):
        return undefined(first.reason or second.reason, n=n)
    value, low, high, other, other_low, other_high = (float(end) for end in ends if end is not None)
    gap = value - other
    return Estimate(gap, gap - hypot(value - low, other_high - other), gap + hypot(high - value, other - other_low), n)


def mid_p_interval(share: float, n: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share of n with half the chance of what was seen taken off each tail.

    n may be an effective number, and share * n need not be whole: binomial tails are incomplete beta functions. Source:
    Berry and Armitage 1995.
    """
    tail = (1 - LEVEL) / 2
    return min(share, _least_share(share, n, tail)), max(share, 1 - _least_share(1 - share, n, tail))


def _least_share(share: float, n: float, tail: float) -> float:
    """Return the rate under which so high a share, or a higher one, has the chance of the tail."""
    import scipy  # late: figures without intervals need none of it

    count = share * n
    if count <= 0:
        return 0.0

    def beyond(rate: float) -> float:
        more = float(scipy.special.betainc(count + 1, n - count, rate)) if count < n else 0.0
        return (float(scipy.special.betainc(count, n - count + 1, rate)) + more) / 2 - tail

    return float(scipy.optimize.brentq(beyond, 0.0, 1.0))


def normal_interval(value: float, error: float, *, n: int) -> Estimate:
    """Return value ± z * error, for estimators whose standard error is known by theory."""
    return around(value, error, n=n, critical=z_value(LEVEL))


def effective_size(values: Floats, clusters: Sequence[Hashable]) -> float:
    """Return how many independent values, 1 or 0, would leave their share as uncertain as these do.

    It is their number over the design effect, the cluster-robust variance over the binomial one, which is never taken
    to be below 1. Where all values are equal nothing shows how far they hang together, and a cluster counts as one.

    Raises:
        ValueError: values and clusters differ in length.
    """
    n = len(values)
    if len(clusters) != n:
        raise ValueError(f"{n} values in {len(clusters)} clusters")
    codes = cluster_codes(clusters)
    count = int(codes.max()) + 1 if n else 0
    mean = float(values.mean()) if n else 0.0
    plain = mean * (1 - mean) / n if n else 0.0
    if count in (0, 1, n) or plain == 0:
        return float(count)
    sums = np.bincount(codes, weights=values - mean)
    robust = count / (count - 1) * float((sums**2).sum()) / n**2
    return n / max(1.0, robust / plain)


def cluster_codes(clusters: Sequence[Hashable]) -> Ints:
    """Return 0, 1, 2, ... for each cluster, numbered in the order of first appearance."""
    position: dict[Hashable, int] = {}
    return np.array([position.setdefault(cluster, len(position)) for cluster in clusters], dtype=np.int64)


def around(value: float, error: float, *, n: int, critical: float) -> Estimate:
    """Return value ± critical * error."""
    return Estimate(value, value - critical * error, value + critical * error, n)


def z_value(level: float) -> float:
    """Return the two-sided normal quantile, 1.95996 for 0.95."""
    import scipy  # late: figures without intervals need none of it

    return float(scipy.special.ndtri(0.5 + level / 2))


def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t."""
    import scipy  # late: figures without intervals need none of it

    return float(scipy.special.stdtrit(degrees, 0.5 + level / 2))


FEWEST_CASES = 20  # labelled cases behind any figure: with 15 an interval may cover 89% only
NOTHING = "There are no values yet."
FEW_FOR_INTERVAL = "Too few cases for an interval: {} of {}."
NO_SPREAD = 1e-15  # a variance that is rounding alone
FEWEST_FOR_CLAIMS = 30  # behind the sign of a difference, a claim on a slice and the kappa of a rare label


@dataclass(frozen=True, slots=True)
class Scale:
    """The lowest and the highest value that a case can have."""

    low: float = 0.0
    high: float = 1.0


SHARE = Scale()
DIFFERENCE = Scale(-1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Cases drawn at one rate: labels and the judge's scores of the labelled ones, the judge's scores of the others."""

    labels: Floats
    judge: Floats
    others: Floats

    @property
    def size(self) -> int:
        return len(self.labels) + len(self.others)


@dataclass(frozen=True, slots=True)
class Inference:
    """A mean with its standard error and interval, which ends where the scale ends.

    `centre` and `error` belong to the interval and to tests; `point` is the figure to show. `unbounded` is the point
    before it is cut to the scale. `p_value` is two-sided, of a mean of zero.
    """

    point: float
    unbounded: float
    centre: float
    error: float
    degrees: int
    low: float
    high: float
    p_value: float
    tuning: tuple[float, ...]  # by stratum, how far the judge was trusted: 0 = not at all, 1 = fully
    n: int  # labelled cases

    @property
    def estimate(self) -> Estimate:
        """The figure as reports show it; n = labelled cases."""
        return Estimate(self.point, self.low, self.high, self.n)


@dataclass(frozen=True, slots=True)
class TooFew:
    """There is no figure yet: `n` labelled cases where `needed` are wanted."""

    n: int
    needed: int

    @property
    def estimate(self) -> Estimate:
        """No figure, with the reason in words."""
        return undefined(f"Too few: {self.n} of {self.needed}.", n=self.n)


def make_stratum(
    labels: Sequence[float] | Floats, judge: Sequence[float] | Floats, others: Sequence[float] | Floats = ()
) -> Stratum:
    """Return a stratum of float arrays.

    Raises:
        ValueError: labels and the judge's scores of the same cases differ in number, or a value is not finite.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in (labels, judge, others)]
    if len(arrays[0]) != len(arrays[1]):
        raise ValueError(f"{len(arrays[0])} labels for {len(arrays[1])} judged cases")
    if not all(np.isfinite(values).all() for values in arrays):
        raise ValueError("a label or score is not a finite number")
    return Stratum(*arrays)


def stratified_mean(
    strata: Sequence[Stratum],
    *,
    scale: Scale = SHARE,
    pseudo: float = 1.0,
    level: float = LEVEL,
    critical: float | None = None,
    own_spread: bool = False,
) -> Inference:
    """Return the mean over the cases of all strata.

    `pseudo` cases stand at each end of the scale in every sampled stratum. Strata that are all labelled are one
    stratum, a sample of the cases that might have been asked. `critical` replaces the quantile of Student's t.
    `own_spread` takes the slope from the labelled cases alone (see `_best_tuning`).

    Raises:
        ValueError: fewer than two cases, or a sampled stratum with fewer than two labels: merge it with another.
    """
    import scipy  # late: figures without intervals need none of it

    filled_strata = [stratum for stratum in strata if stratum.size]
    is_census = all(not len(stratum.others) for stratum in filled_strata)
    if is_census and filled_strata:
        filled_strata = [_joined(filled_strata)]
    total = sum(stratum.size for stratum in filled_strata)
    if total < 2:
        raise ValueError("a mean with an interval needs at least two cases")
    parts = [
        _stratum_part(
            stratum, scale=scale, pseudo=pseudo if is_census or len(stratum.others) else 0.0, own_spread=own_spread
        )
        for stratum in filled_strata
    ]
    weights = [stratum.size / total for stratum in filled_strata]
    point = sum(weight * part.point for weight, part in zip(weights, parts, strict=True))
    centre = sum(weight * part.centre for weight, part in zip(weights, parts, strict=True))
    variance = sum(weight**2 * part.sampling for weight, part in zip(weights, parts, strict=True))
    spread = [weight * (part.spread + (part.centre - centre) ** 2) for weight, part in zip(weights, parts, strict=True)]
    error = math.sqrt(variance + sum(spread) / total)
    degrees = sum(len(stratum.labels) - 1 for stratum in filled_strata if len(stratum.others)) or total - 1
    reach = (t_quantile(degrees, level) if critical is None else critical) * error
    return Inference(
        point=min(scale.high, max(scale.low, point)),
        unbounded=point,
        centre=centre,
        error=error,
        degrees=degrees,
        low=max(scale.low, centre - reach),
        high=min(scale.high, centre + reach),
        p_value=float(2 * scipy.special.stdtr(degrees, -abs(centre) / error)) if error else float(centre == 0),
        tuning=tuple(part.tuning for part in parts),
        n=sum(len(stratum.labels) for stratum in filled_strata),
    )


@dataclass(frozen=True, slots=True)
class _StratumPart:
    point: float
    centre: float  # with pseudo-cases
    sampling: float  # variance from having labelled a sample only
    spread: float  # variance of the labels between cases
    tuning: float


def _stratum_part(stratum: Stratum, *, scale: Scale, pseudo: float, own_spread: bool) -> _StratumPart:
    labels, judge = stratum.labels, stratum.judge
    n, size = len(labels), stratum.size
    if n < 2 and len(stratum.others):
        raise ValueError("a sampled stratum needs at least two labels; merge it with another")
    tuning = _best_tuning(stratum, scale, own_spread=own_spread)
    slope = tuning * size / len(stratum.others) if tuning else 0.0
    label_mean, judge_mean = float(labels.mean()), float(judge.mean())
    overall = float(np.concatenate([judge, stratum.others]).mean())
    point = label_mean + slope * (overall - judge_mean)
    residuals = labels - label_mean - slope * (judge - judge_mean)
    centre, residual_squares = _with_pseudo_cases(point, float((residuals**2).sum()), n, scale, pseudo)
    _, label_squares = _with_pseudo_cases(label_mean, float(((labels - label_mean) ** 2).sum()), n, scale, pseudo)
    n_with_pseudo = n + 2 * pseudo
    sampling = (1 - n / size) * residual_squares / ((n_with_pseudo - 1) * n_with_pseudo) if len(stratum.others) else 0.0
    return _StratumPart(
        point, centre, sampling, label_squares / (n_with_pseudo - 1) if n_with_pseudo > 1 else 0.0, tuning
    )


def _best_tuning(stratum: Stratum, scale: Scale, *, own_spread: bool) -> float:
    """Return the l in [0, 1] that makes the variance least; 0 for a judge that never varies.

    PPI++ divides by the variance of the judge's scores of all cases. With skewed scores, say of a judge that passes
    nearly everything, a labelled sample that scores high also varies little, so the slope is low just when much would
    have to be taken off: at 30 labels the point is 1 to 2 points too high. With `own_spread` the variance is that of
    the labelled cases, as in least squares, and for scores of two values this bias is gone.
    """
    labels, judge, others = stratum.labels, stratum.judge, stratum.others
    if not len(others):
        return 0.0
    variance = float(judge.var() if own_spread else np.concatenate([judge, others]).var(ddof=1))
    if variance <= NO_SPREAD:
        return _tuning_by_others(stratum, scale) if own_spread else 0.0
    shared = float(((labels - labels.mean()) * (judge - judge.mean())).mean())
    return min(1.0, max(0.0, shared / (variance * (1 + len(labels) / len(others)))))


def _tuning_by_others(stratum: Stratum, scale: Scale) -> float:
    """Return the tuning where the judge gave every labelled case one score, and some of the others another.

    That happens to a judge that passes nearly everything, and then the labelled cases are better than the others: with
    20 of them their mean is up to 1.6 points too high. Cases with another score have no label, so their mean is taken
    to lie in the middle of the scale, which is off by half of it at most. Where they lie on both sides of the one score
    this says nothing.
    """
    gaps = stratum.judge[0] - stratum.others
    if not gaps.any() or gaps.min() < 0 < gaps.max():
        return 0.0
    slope = (float(stratum.labels.mean()) - (scale.low + scale.high) / 2) / float(gaps[gaps != 0].mean())
    return min(1.0, max(0.0, slope * len(stratum.others) / stratum.size))


def _with_pseudo_cases(mean: float, squares: float, n: int, scale: Scale, pseudo: float) -> tuple[float, float]:
    """Return mean and sum of squares of n cases with `pseudo` more at each end of the scale."""
    centre = (n * mean + pseudo * (scale.low + scale.high)) / (n + 2 * pseudo)
    ends = (scale.low - centre) ** 2 + (scale.high - centre) ** 2
    return centre, squares + n * (mean - centre) ** 2 + pseudo * ends


def _joined(strata: Sequence[Stratum]) -> Stratum:
    return Stratum(
        np.concatenate([stratum.labels for stratum in strata]),
        np.concatenate([stratum.judge for stratum in strata]),
        np.zeros(0),
    )


def people_only(labels: Sequence[float] | Floats, *, others: int = 0) -> Stratum:
    """Return a stratum of labels alone, a sample among `others` cases without one.

    Over all cases and with a judge's scores as labels it gives the raw mean: one formula, so one estimand.
    """
    return make_stratum(labels, np.zeros(len(labels)), np.zeros(others))


def shown_mean(
    strata: Sequence[Stratum],
    *,
    scale: Scale = SHARE,
    pseudo: float = 1.0,
    needed: int = FEWEST_CASES,
    planned: int = 0,
) -> Inference | TooFew:
    """Return `stratified_mean`, or that there are too few labelled cases to show it.

    What is wanted are `needed` labelled cases in the sampled strata; where all cases are labelled, in all. `planned`
    labelled cases, fixed before the first look, make interval and p-value valid at every look; 0: for one look.
    """
    sampled = [stratum for stratum in strata if len(stratum.others)] or list(strata)
    n = sum(len(stratum.labels) for stratum in sampled)
    if n < needed:
        return TooFew(n, needed)
    if not planned:
        return stratified_mean(merged(strata), scale=scale, pseudo=pseudo)
    inference = stratified_mean(merged(strata), scale=scale, pseudo=pseudo, critical=look_multiplier(n, planned))
    return replace(inference, p_value=look_p_value(inference.centre, inference.error, n=n, planned=planned))


def census_mean(values: Sequence[float] | Floats, *, scale: Scale = SHARE) -> Estimate:
    """Return the mean of what is known of every case; few cases have a mean, but no interval.

    Values outside the scale, as of rubrics that take points away, widen it.
    """
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return undefined(NOTHING)
    if len(data) < FEWEST_CASES:
        return Estimate(float(data.mean()), None, None, len(data), FEW_FOR_INTERVAL.format(len(data), FEWEST_CASES))
    ends = Scale(min(scale.low, float(data.min())), max(scale.high, float(data.max())))
    return stratified_mean([people_only(data)], scale=ends).estimate


def merged(strata: Sequence[Stratum]) -> list[Stratum]:
    """Return the strata, those with too few labels for a variance of their own joined to the largest sampled one."""
    small = [stratum for stratum in strata if len(stratum.others) and len(stratum.labels) < 2]
    rest = [stratum for stratum in strata if not (len(stratum.others) and len(stratum.labels) < 2)]
    if not small:
        return rest
    host = max((stratum for stratum in rest if len(stratum.others)), key=lambda stratum: stratum.size, default=None)
    parts = small if host is None else [host, *small]
    joined = Stratum(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "judge", "others"))
    )
    return [*(stratum for stratum in rest if stratum is not host), joined]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The interval if every drawn case without a decision had the worst label, and the best."""

    low: float
    high: float
    decided: int
    drawn: int


def nonresponse_bounds(
    sampled: Sequence[tuple[Stratum, Sequence[float] | Floats]],
    *,
    further: Sequence[Stratum] = (),
    scale: Scale = SHARE,
) -> Bounds:
    """Return the bounds on a mean whose drawn cases are not all decided.

    Of each sampled stratum the first part holds the drawn cases with a label and the cases that were not drawn, the
    second the judge's scores of the drawn cases without a label; `further` are further strata.
    """
    ends = []
    for value in (scale.low, scale.high):
        filled = [
            Stratum(
                np.concatenate([decided.labels, np.full(len(undecided), value)]),
                np.concatenate([decided.judge, np.asarray(undecided, dtype=np.float64)]),
                decided.others,
            )
            for decided, undecided in sampled
        ]
        ends.append(stratified_mean(merged([*filled, *further]), scale=scale))
    n_decided = sum(len(decided.labels) for decided, _ in sampled)
    return Bounds(ends[0].low, ends[1].high, n_decided, n_decided + sum(len(undecided) for _, undecided in sampled))


def look_multiplier(n: int, planned: int, level: float = LEVEL) -> float:
    """Return by how many standard errors an interval reaches that holds at every look while labels arrive.

    `planned` is the size of the audit, fixed before the first look; n >= 20. Labels must arrive in the order of the
    random draw. Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, asymptotic confidence sequences.

    Raises:
        ValueError: fewer than two labels, or no planned size.
    """
    if n < 2 or planned < 1:
        raise ValueError(f"an interval for every look needs two labels and a planned size, not {n} of {planned}")
    return _look_reach(n, _look_rate(planned, 1 - level), 1 - level)


def look_p_value(centre: float, error: float, *, n: int, planned: int) -> float:
    """Return the two-sided p-value of a mean of zero that holds at every look.

    It is the smallest alpha whose interval, tuned for 95%, leaves zero out: at .05 or less the 95% interval does.
    """
    if not error:
        return float(centre == 0)
    rate, ratio = _look_rate(planned, 1 - LEVEL), abs(centre) / error
    low, high = 1e-12, 1 - 1e-6
    if ratio < _look_reach(n, rate, high):
        return 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if ratio >= _look_reach(n, rate, middle) else (middle, high)
    return high


def _look_rate(planned: int, alpha: float) -> float:
    """Return the rate at which the interval is narrowest once `planned` labels are there."""
    width = -2 * math.log(alpha)
    return (width + math.log(width) + 1) / planned


def _look_reach(n: int, rate: float, alpha: float) -> float:
    import scipy  # late: figures without intervals need none of it

    reach = math.sqrt((1 + 1 / (n * rate)) * math.log((n * rate + 1) / alpha**2))
    return reach * t_quantile(n - 1, 1 - alpha) / float(scipy.special.ndtri(1 - alpha / 2))
