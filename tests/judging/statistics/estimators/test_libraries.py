"""The estimators beside other people's libraries, on random data."""

from __future__ import annotations

from typing import Literal

import krippendorff
import numpy as np
import ppi_py
import pytest
import statsmodels.api as sm
import truescore
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from judging.statistics.agreement import Metric
from judging.statistics.estimates import DIFFERENCE, Floats, make_stratum, stratified_mean
from judging.statistics.estimators.agreement import LabelPairs, weighted_kappa
from judging.statistics.estimators.boards import PSEUDO, holm
from judging.statistics.estimators.debates import DebateArrays, bradley_terry
from judging.statistics.estimators.judge_bias import mcnemar_mid_p
from judging.statistics.ratings import from_rows
from tests.judging.statistics.single_figures import krippendorff_alpha

SEEDS = range(20)


def audited(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return labels and a judge's scores of 200 cases: a rate of its own, and a judge that errs in 5 to 40%."""
    labels = (random.random(200) < random.uniform(0.1, 0.9)).astype(np.float64)
    wrong = random.random(200) < random.uniform(0.05, 0.4)
    return labels, np.where(wrong, 1 - labels, labels)


@pytest.mark.parametrize("seed", SEEDS)
def test_stratified_mean_has_the_point_and_tuning_of_other_libraries(seed: int) -> None:
    labels, judge = audited(np.random.default_rng(seed))
    n = 20 + 5 * seed

    inference = stratified_mean([make_stratum(labels[:n], judge[:n], judge[n:])])

    expected = truescore.ppi_estimate(judge, labels[:n], np.arange(n))
    assert (inference.unbounded, inference.tuning[0]) == pytest.approx((expected.point, expected.lambda_), abs=1e-9)
    point = ppi_py.ppi_mean_pointestimate(labels[:n], judge[:n], judge[n:])
    assert inference.unbounded == pytest.approx(float(point[0]), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_paired_difference_has_the_point_of_another_library(seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    (first, judge_first), (second, judge_second) = audited(random), audited(random)
    labels, judge = first - second, judge_first - judge_second

    inference = stratified_mean([make_stratum(labels[:50], judge[:50], judge[50:])], scale=DIFFERENCE, pseudo=PSEUDO)

    expected = truescore.ppi_compare(judge_first, judge_second, first[:50], second[:50], np.arange(50))
    assert inference.unbounded == pytest.approx(expected.difference, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_holm_equals_statsmodels_and_truescore(seed: int) -> None:
    p_values = np.random.default_rng(seed).random(1 + seed) ** 3

    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)
    assert holm(p_values.tolist()) == pytest.approx(truescore.holm(p_values), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_kappa_has_the_point_of_statsmodels(seed: int) -> None:
    random = np.random.default_rng(seed)
    first = random.integers(3, size=80)
    second = np.where(random.random(80) < 0.6, first, random.integers(3, size=80))
    table = np.zeros((3, 3))
    np.add.at(table, (first, second), 1)

    kappa = weighted_kappa(LabelPairs(first, second, np.ones(80), range(80)), labels=3, degrees=79)

    assert kappa.point == pytest.approx(cohens_kappa(table).kappa, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_bradley_terry_equals_a_clustered_binomial_model(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = np.tile([0, 0, 1], 60), np.tile([1, 2, 2], 60)
    points = random.choice([0.0, 0.5, 1.0], size=180, p=[0.3, 0.2, 0.5])
    cases = np.repeat(np.arange(60), 3)

    strengths = bradley_terry(DebateArrays(cases, first, second, points, points), systems=3, degrees=59)

    design = np.zeros((180, 3))
    design[np.arange(180), first], design[np.arange(180), second] = 1, -1
    # The third strength is minus the sum of the others, and the variance has C / (C - 1) alone.
    contrast = np.array([[1, 0], [0, 1], [-1, -1]])
    model = sm.GLM(points, design @ contrast, family=sm.families.Binomial())
    fitted = model.fit(cov_type="cluster", cov_kwds={"groups": cases, "use_correction": False}, tol=1e-13)
    covariance = contrast @ fitted.cov_params() @ contrast.T * 60 / 59
    assert strengths.values == pytest.approx(contrast @ fitted.params, abs=1e-8)
    assert strengths.covariance == pytest.approx(covariance, abs=1e-8)


def test_mcnemar_mid_p_equals_truescore_where_the_counts_differ() -> None:
    pairs = [(gained, lost) for gained in range(8) for lost in range(8) if gained != lost]

    p_values = [mcnemar_mid_p(*pair) for pair in pairs]

    # truescore wants one row per item: the discordant ones are enough.
    expected = [truescore.mcnemar([1] * a + [0] * b, [0] * a + [1] * b, midp=True).p_value for a, b in pairs]
    assert p_values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_equals_the_krippendorff_package(seed: int, level: Literal["nominal", "ordinal", "interval"]) -> None:
    random = np.random.default_rng(seed)
    rows = np.where(random.random((60, 4)) < 0.3, np.nan, random.integers(1, 6, size=(60, 4)))
    answers = [[None if np.isnan(value) else int(value) for value in row] for row in rows]
    table = from_rows(answers, labels=range(1, 6), values=[1, 2, 3, 4, 5])

    alpha = krippendorff_alpha(table, Metric(level))

    assert alpha.value == pytest.approx(krippendorff.alpha(rows.T, level_of_measurement=level), abs=1e-9)


def test_weighted_kappa_gives_pseudo_cases_the_root_of_the_items_of_a_case() -> None:
    first, second = np.array([0, 1] * 20), np.array([0, 1, 1, 1] * 10)

    alone = weighted_kappa(LabelPairs(first, second, np.ones(40), range(40)), labels=2, degrees=39, pseudo=1.0)
    four = [np.repeat(codes, 4) for codes in (first, second)]
    cases = np.repeat(np.arange(40), 4).tolist()
    together = weighted_kappa(LabelPairs(four[0], four[1], np.ones(160), cases), labels=2, degrees=39)

    # two cases of two items beside 40 of four weigh as one of one beside 40 of one; four copies tell no more than one
    assert (together.centre, together.point) == pytest.approx((alone.centre, alone.point))
    assert together.error == pytest.approx(alone.error, rel=0.02)
