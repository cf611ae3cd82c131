"""Every vector of the estimators' specification, to 1e-9."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsite.review.audit_plans import Pilot, detectable_difference, planned_half_width
from judging.statistics.estimates import (
    DIFFERENCE,
    Floats,
    Inference,
    Scale,
    look_multiplier,
    make_stratum,
    nonresponse_bounds,
    people_only,
    stratified_mean,
)
from judging.statistics.estimators.agreement import LabelPairs, weighted_kappa
from judging.statistics.estimators.boards import (
    PSEUDO,
    case_means,
    compared_pairs,
    holm,
    rank_sets,
)
from judging.statistics.estimators.debates import DebateArrays, bradley_terry, robustness
from judging.statistics.estimators.judge_bias import drift, length_controlled_win_rate, mcnemar_mid_p

VECTORS = {row["id"]: row for row in json.loads(Path(__file__).with_name("vectors.json").read_text())["vectors"]}
Made = Callable[..., object]


def floats(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def as_mapping(inference: Inference) -> dict[str, object]:
    return {
        "point": inference.point,
        "raw_point": inference.unbounded,
        "centre": inference.centre,
        "se": inference.error,
        "df": inference.degrees,
        "low": inference.low,
        "high": inference.high,
        "tuning": list(inference.tuning),
        "p": inference.p_value,
    }


def make_strata(strata: list[list[list[float]]]) -> dict[str, object]:
    return as_mapping(stratified_mean([make_stratum(*parts) for parts in strata]))


def make_mean(
    labels: list[float], judge_labelled: list[float], judge_rest: list[float], lo: float = 0, hi: float = 1, **k: float
) -> dict[str, object]:
    stratum = make_stratum(labels, judge_labelled, judge_rest)
    return as_mapping(stratified_mean([stratum], scale=Scale(lo, hi), level=1 - k.get("alpha", 0.05)))


def make_mean_at_every_look(
    labels: list[float], judge_labelled: list[float], judge_rest: list[float], n0: int
) -> dict[str, object]:
    stratum = make_stratum(labels, judge_labelled, judge_rest)
    return as_mapping(stratified_mean([stratum], critical=look_multiplier(len(labels), n0)))


def make_human(labels: list[float], others: int = 0) -> dict[str, object]:
    return as_mapping(stratified_mean([people_only(labels, others=others)]))


def difference_of(ya: Floats, yb: Floats, fa: Floats, fb: Floats, ga: Floats, gb: Floats) -> Inference:
    return stratified_mean([make_stratum(ya - yb, fa - fb, ga - gb)], scale=DIFFERENCE, pseudo=PSEUDO)


def make_difference(**inputs: list[float | None]) -> dict[str, object]:
    return as_mapping(difference_of(**{name: floats(values) for name, values in inputs.items()}))


def make_board(Y: list[list[float]], F: list[list[float]], G: list[list[float]]) -> dict[str, object]:  # noqa: N803
    labels, judge, others = (np.array(values) for values in (Y, F, G))
    systems = range(labels.shape[1])
    differences = {
        (i, j): difference_of(labels[:, i], labels[:, j], judge[:, i], judge[:, j], others[:, i], others[:, j])
        for i in systems
        for j in systems
        if i < j
    }
    pairs = compared_pairs(differences)
    return {
        "pairs": [[pair.first, pair.second] for pair in pairs],
        "differences": [as_mapping(difference) for difference in differences.values()],
        "adjusted": [pair.adjusted_p for pair in pairs],
        "rank_sets": [[ranks.first, ranks.last] for ranks in rank_sets(systems, pairs).values()],
    }


def make_bounds(labels: list[float | None], judge_labelled: list[float], judge_rest: list[float]) -> dict[str, object]:
    values = floats(labels)
    open_ones = np.isnan(values)
    judge = np.array(judge_labelled)
    bounds = nonresponse_bounds([(make_stratum(values[~open_ones], judge[~open_ones], judge_rest), judge[open_ones])])
    stratum = make_stratum(values[~open_ones], judge[~open_ones], np.concatenate([judge_rest, judge[open_ones]]))
    return {
        "decided": bounds.decided,
        "drawn": bounds.drawn,
        "seen": as_mapping(stratified_mean([stratum])),
        "low": bounds.low,
        "high": bounds.high,
    }


def make_kappa(
    a: list[int], b: list[int], weights: list[float], cases: list[int], categories: int, df: int
) -> dict[str, object]:
    pairs = LabelPairs(np.array(a), np.array(b), np.array(weights), cases)
    point, centre, error, low, high, _ = astuple(weighted_kappa(pairs, labels=categories, degrees=df))
    return {"point": point, "centre": centre, "se": error, "low": low, "high": high}


def make_strengths(systems: int, cases_drawn: int, **columns: list[Any]) -> dict[str, object]:
    outcomes = DebateArrays(
        np.array(columns["case"]),
        np.array(columns["first"]),
        np.array(columns["second"]),
        floats(columns["outcome"]),
        floats(columns["label"]),
    )
    strengths = bradley_terry(outcomes, systems=systems, degrees=cases_drawn - 1)
    ends = [strengths.interval(position) for position in range(systems)]
    return {
        "strength": strengths.values.tolist(),
        "se": strengths.errors.tolist(),
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
        "pi": strengths.inclusion,
    }


def make_length_controlled(
    wins: list[float], length_a: list[float], length_b: list[float], cases: list[int]
) -> dict[str, object]:
    rate, effect, error = length_controlled_win_rate(wins, np.array(length_a) - np.array(length_b), cases)
    figures = (rate.value, rate.low, rate.high, effect, error, float(np.mean(wins)))
    return dict(zip(("point", "low", "high", "length_effect", "length_se", "raw"), figures, strict=True))


def make_robustness(intact: list[list[float]], damaged: list[list[float]], margin: float) -> dict[str, object]:
    drops = robustness(intact, damaged, margin=margin)
    return {
        "drop": [drop.drop for drop in drops],
        "low": [drop.low for drop in drops],
        "high": [drop.high for drop in drops],
        "p_holds": [drop.p_holds for drop in drops],
        "p_falls": [drop.p_falls for drop in drops],
        "verdict": [drop.verdict.value for drop in drops],
    }


def make_drift(before: list[float], after: list[float]) -> dict[str, object]:
    change, low, high, p_value, flips, _ = astuple(drift(before, after))
    return {"change": change, "low": low, "high": high, "p": p_value, "flips": flips}


def make_case_means(values: list[float], cases: list[int | str]) -> list[list[object]]:
    means = case_means(values, cases)
    return [list(means), list(means.values())]


MAKERS: dict[str, Made] = {
    "stratified_ci": make_strata,
    "mean_ci": make_mean,
    "mean_cs": make_mean_at_every_look,
    "human_ci": make_human,
    "difference_ci": make_difference,
    "board": make_board,
    "nonresponse_bounds": make_bounds,
    "kappa_ci": make_kappa,
    "bradley_terry_ci": make_strengths,
    "lc_win_rate": make_length_controlled,
    "robustness": make_robustness,
    "drift": make_drift,
    "case_means": make_case_means,
    "holm": lambda p: list(holm(p)),
    "cs_multiplier": lambda n, n0: look_multiplier(n, n0),
    "mcnemar_midp": lambda b, c: mcnemar_mid_p(b, c),
    "plan_half_width": lambda mean, variance, r2, **size: planned_half_width(
        Pilot(mean, variance, r2), n=size["n"], cases=size["K"]
    ),
    "plan_mde": lambda variance, r2, **size: detectable_difference(
        Pilot(0.5, variance, r2), n=size["n"], cases=size["K"]
    ),
}


def rounded(value: object) -> object:
    """Return the value with every number as approximate to 1e-9."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return pytest.approx(value, abs=1e-9, rel=1e-9)
    return value


@pytest.mark.parametrize("name", VECTORS)
def test_estimators_reproduce_the_vector(name: str) -> None:
    vector = VECTORS[name]

    assert MAKERS[vector["function"]](**vector["inputs"]) == rounded(vector["expected"])
