"""Figures of parts of a benchmark (slices), and which of them hold once all slices shown are taken into account."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from judging.statistics.estimates import Estimate, Floats
from judging.statistics.estimators.boards import (
    BoardData,
    Flags,
    MeanKind,
    pair_difference,
    system_inference,
    system_mean,
)
from judging.statistics.estimators.differences import SIGNIFICANT, holm
from judging.statistics.estimators.strata import (
    FEWEST_FOR_CLAIMS,
    Inference,
    TooFew,
    look_multiplier,
    look_p_value,
)
from judging.statistics.intervals import t_quantile

BANDS = ("short", "medium", "long")


@dataclass(frozen=True, slots=True)
class Claim:
    """A difference within or against a slice. `holm_p` is Holm's over all claims made together; None: too few cases."""

    difference: Estimate  # n = cases of the slice
    p_value: float | None = None
    holm_p: float | None = None

    @property
    def holds(self) -> bool:
        """Whether its sign is shown once all the others are taken into account."""
        return self.holm_p is not None and self.holm_p <= SIGNIFICANT


@dataclass(frozen=True, slots=True)
class SliceFigure:
    """A system on one slice: its mean there, and how that differs from its mean on all other slices."""

    mean: Estimate
    against_rest: Claim


def system_slices(data: BoardData, slices: Sequence[Flags], mode: MeanKind) -> tuple[tuple[SliceFigure, ...], ...]:
    """Return every system on every slice, shape (systems, slices); claims by Holm over all of them together.

    `slices` say by case what belongs to each; the rest of one are the others. A mean is shown from 20 cases on (of the
    raw mean any number), a claim from 30 in the slice and in the rest.
    """
    everything = np.logical_or.reduce(slices)
    parts = [(data.only(inside), data.only(everything & ~inside)) for inside in slices]
    rows = [
        [
            SliceFigure(system_mean(inside, system, mode).estimate, _against_rest(inside, rest, system, mode))
            for inside, rest in parts
        ]
        for system in range(len(data.judge))
    ]
    claims = iter(adjusted([cell.against_rest for row in rows for cell in row]))
    return tuple(tuple(replace(cell, against_rest=next(claims)) for cell in row) for row in rows)


def pair_slices(data: BoardData, slices: Sequence[Flags], mode: MeanKind) -> tuple[Claim, ...]:
    """Return the first system of the data minus the second within each slice; claims by Holm over the slices."""
    claims = []
    for inside in slices:
        difference = pair_difference(data.only(inside), 0, 1, mode)
        p_value = difference.p_value if isinstance(difference, Inference) else None
        claims.append(Claim(difference.estimate, p_value))
    return adjusted(claims)


def adjusted(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims with p-values corrected for their number."""
    corrected = iter(holm([claim.p_value for claim in claims if claim.p_value is not None]))
    return tuple(claim if claim.p_value is None else replace(claim, holm_p=next(corrected)) for claim in claims)


def _against_rest(inside: BoardData, rest: BoardData, system: int, mode: MeanKind) -> Claim:
    """Return slice minus rest, two independent samples of cases: Welch's degrees of freedom."""
    inferences = [system_inference(part, system, mode, needed=FEWEST_FOR_CLAIMS) for part in (inside, rest)]
    slice_mean, rest_mean = inferences
    if isinstance(slice_mean, TooFew) or isinstance(rest_mean, TooFew):
        return Claim(next(part for part in inferences if isinstance(part, TooFew)).estimate)
    squares = slice_mean.error**2, rest_mean.error**2
    error = math.sqrt(sum(squares))
    degrees = error**4 / (squares[0] ** 2 / slice_mean.degrees + squares[1] ** 2 / rest_mean.degrees)
    gap, width = slice_mean.centre - rest_mean.centre, inside.scale.high - inside.scale.low
    planned = 0 if mode is MeanKind.RAW else min(inside.planned, rest.planned)
    if planned:
        n = min(slice_mean.n, rest_mean.n)
        reach, p_value = look_multiplier(n, planned) * error, look_p_value(gap, error, n=n, planned=planned)
    else:
        reach = t_quantile(degrees) * error
        p_value = float(2 * scipy.special.stdtr(degrees, -abs(gap) / error))
    ends = max(-width, gap - reach), min(width, gap + reach)
    return Claim(Estimate(slice_mean.point - rest_mean.point, *ends, slice_mean.n), p_value)


def length_bands(lengths: Floats) -> Mapping[str, Flags]:
    """Return the cases of each third by length (NaN: none), named with its bounds; none where all are about alike."""
    known_lengths = lengths[~np.isnan(lengths)]
    if len(known_lengths) < len(BANDS):
        return {}
    low, high = (round(float(cut)) for cut in np.quantile(known_lengths, [1 / 3, 2 / 3]))
    rounded = np.round(lengths)
    bands = {
        f"{BANDS[0]}, up to {low:,} characters": rounded <= low,
        f"{BANDS[1]}, up to {high:,}": (rounded > low) & (rounded <= high),
        f"{BANDS[2]}, more than {high:,}": rounded > high,
    }
    return bands if all(inside.any() for inside in bands.values()) else {}
