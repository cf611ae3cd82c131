"""Every published table and edge case of the shared vectors, through the public functions."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from judging.statistics.agreement import (
    Metric,
    Weights,
    agreement_report,
    agreement_weights,
    cohen_error,
    conger_kappa,
    contingency,
    fleiss_kappa,
    pair_agreements,
    summarise,
)
from judging.statistics.estimates import make_stratum, stratified_mean, z_value
from judging.statistics.estimators.judge_bias import rogan_gladen
from judging.statistics.ratings import RatingTable, count_profiles, from_rows, item_features, label_shares
from tests.judging.statistics.single_figures import (
    brennan_prediger,
    cohen_kappa,
    from_contingency,
    from_counts,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)

pytestmark = pytest.mark.shared_data

SIX_PLACES = 1e-6
FIVE_PLACES = 1e-5  # irrCAC prints, and sometimes cuts, five places

FIGURES = {
    "fleiss_kappa": (fleiss_kappa, SIX_PLACES),
    "fleiss_generalised_missing": (fleiss_kappa, SIX_PLACES),
    "scott_pi": (fleiss_kappa, SIX_PLACES),
    "gwet_ac1": (gwet_ac1, SIX_PLACES),
    "krippendorff_alpha_nominal": (krippendorff_alpha, SIX_PLACES),
    "randolph": (brennan_prediger, SIX_PLACES),
    "brennan_prediger": (brennan_prediger, FIVE_PLACES),
    "conger": (conger_kappa, FIVE_PLACES),
}
TABLES = (
    "fleiss_1971_psychiatric",
    "wikipedia_fleiss",
    "krippendorff_2011_4obs",
    "wikipedia_krippendorff_3coders",
    "cohen_1960_psychologists",
    "wikipedia_cohen_grants",
    "wikipedia_cohen_same_agreement_1",
    "wikipedia_cohen_same_agreement_2",
    "gwet_2008_paradox",
    "irrCAC_abstractors_3x3",
    "irrCAC_diagnosis_4x4",
)
COHEN = tuple(name for name in TABLES if "cohen" in name or name.startswith(("gwet", "irrCAC")))
EDGE_CASES = (
    "all_one_category_3raters",
    "all_one_category_2raters",
    "all_one_category_only_label_declared",
    "perfect_two_categories_3raters",
    "perfect_two_categories_2raters",
    "one_dissent_2raters",
    "one_rater_constant",
    "total_disagreement_2raters",
    "three_way_split_all",
    "single_item_agree",
    "single_item_disagree",
    "single_rater",
    "unequal_raters",
    "missing_2raters",
    "no_overlap_2raters",
    "all_missing",
    "unused_category_declared",
    "unused_category_not_declared",
)


@pytest.fixture(scope="module")
def vectors(shared_data: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((shared_data / "statistics/iaa_vectors.json").read_text())
    return values


@pytest.fixture(scope="module")
def pandalm(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "statistics/pandalm_labels.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def pandalm_table(pandalm: list[dict[str, str]]) -> RatingTable:
    rows = [[row[f"annotator{i}"] for i in (1, 2, 3)] for row in pandalm]
    return from_rows(rows, ["0", "1", "2"], raters=["1", "2", "3"], items=[row["idx"] for row in pandalm])


@pytest.fixture(scope="module")
def pandalm_expected(shared_data: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((shared_data / "statistics/pandalm_expected.json").read_text())
    return values


@pytest.fixture(scope="module")
def ppi_expected(shared_data: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((shared_data / "statistics/ppi_expected.json").read_text())
    return values


def build(vector: dict[str, Any]) -> RatingTable:
    if vector["kind"] == "count_table":
        return from_counts(vector["table"], range(len(vector["table"][0])))
    if vector["kind"] == "contingency":
        return from_contingency(vector["table"], range(len(vector["table"])))
    return from_rows(vector["rows"], vector["labels"])


def figures(table: RatingTable, names: dict[str, Any]) -> dict[str, float | None]:
    return {
        name: function(table).value
        for name, (function, _) in FIGURES.items()
        if name in names and (name != "conger" or table.raters_known)
    }


def expected(values: dict[str, Any], got: dict[str, float | None]) -> dict[str, Any]:
    return {name: None if values[name] is None else pytest.approx(values[name], abs=FIGURES[name][1]) for name in got}


def test_vectors_are_all_listed_here(vectors: dict[str, Any]) -> None:
    assert set(vectors) - {"edge_cases", "_meta"} == set(TABLES)
    assert set(vectors["edge_cases"]) == set(EDGE_CASES)


@pytest.mark.parametrize("name", TABLES)
def test_figures_reproduce_published_tables(vectors: dict[str, Any], name: str) -> None:
    got = figures(build(vectors[name]), vectors[name])

    assert got
    assert got == expected(vectors[name], got)


@pytest.mark.parametrize("name", EDGE_CASES)
def test_figures_reproduce_edge_cases(vectors: dict[str, Any], name: str) -> None:
    case = vectors["edge_cases"][name]
    formula = case["formula (null = undefined 0/0)"]
    table = build(case)

    got = figures(table, formula)

    assert len(got) == 3
    assert got == expected(formula, got)
    if "cohen" in formula:
        cohen = cohen_kappa(table, "rater 1", "rater 2")
        expected_kappa = None if formula["cohen"] is None else pytest.approx(formula["cohen"], abs=SIX_PLACES)
        assert (cohen.value, cohen.n) == (expected_kappa, formula["n_pairs"])


@pytest.mark.parametrize("name", EDGE_CASES)
def test_figures_that_are_undefined_say_why(vectors: dict[str, Any], name: str) -> None:
    table = build(vectors["edge_cases"][name])

    for function, _ in FIGURES.values():
        estimate = function(table)
        assert estimate.value is not None or estimate.reason.endswith(".")
        assert (estimate.low is None) == (estimate.high is None)
        assert estimate.low is not None or estimate.reason


@pytest.mark.parametrize("name", ["krippendorff_2011_4obs", "wikipedia_krippendorff_3coders"])
def test_krippendorff_alpha_reproduces_every_metric(vectors: dict[str, Any], name: str) -> None:
    table, alphas = build(vectors[name]), vectors[name]["krippendorff_alpha"]

    got = {metric: krippendorff_alpha(table, Metric(metric)).value for metric in alphas}

    assert got == pytest.approx(alphas, abs=SIX_PLACES)


@pytest.mark.parametrize("name", ["fleiss_1971_psychiatric", "wikipedia_fleiss"])
def test_label_shares_and_item_agreement_reproduce_published_tables(vectors: dict[str, Any], name: str) -> None:
    vector = vectors[name]
    profiles = count_profiles(build(vector))
    items = item_features(profiles)

    assert label_shares(items.totals)[0].tolist() == pytest.approx(vector["category_proportions"], abs=SIX_PLACES)
    assert items.features[profiles.which, 0].tolist() == pytest.approx(vector["per_item_P"], abs=SIX_PLACES)
    assert percent_agreement(build(vector)).value == pytest.approx(vector["Po"], abs=SIX_PLACES)


@pytest.mark.parametrize("name", COHEN)
def test_cohen_kappa_reproduces_published_tables(vectors: dict[str, Any], name: str) -> None:
    vector, table = vectors[name], build(vectors[name])

    def kappa(weights: Weights) -> float | None:
        return cohen_kappa(table, "rater 1", "rater 2", weights).value

    plain = kappa(Weights.NONE)
    assert plain is not None
    matrix = contingency(table, "rater 1", "rater 2")
    agreement = agreement_weights(table.n_labels, Weights.NONE)
    error = cohen_error(matrix / matrix.sum(), agreement, plain, int(matrix.sum()))

    got = {
        "cohen_kappa": plain,
        "std_kappa": error,
        "kappa_low": plain - z_value(0.95) * error,
        "kappa_upp": plain + z_value(0.95) * error,
        "linear": kappa(Weights.LINEAR),
        "quadratic": kappa(Weights.QUADRATIC),
    }
    assert got == pytest.approx({name: vector[name] for name in got}, abs=SIX_PLACES)


def test_pandalm_figures(pandalm_table: RatingTable, pandalm_expected: dict[str, Any]) -> None:
    report = agreement_report(pandalm_table)

    got = {
        "fleiss_kappa_complete_items": report.fleiss.value,
        "randolph_kappa_complete_items": report.brennan_prediger.value,
        "mean_pairwise_agreement_complete_items": report.percent.value,
        "krippendorff_alpha_nominal": dict(report.alpha)[Metric.NOMINAL].value,
    }
    assert got == pytest.approx({name: pandalm_expected[name] for name in got}, abs=SIX_PLACES)


def test_pandalm_pairs(pandalm_table: RatingTable, pandalm_expected: dict[str, Any]) -> None:
    pairs = {f"{pair.first}-{pair.second}": pair for pair in pair_agreements(pandalm_table)}

    kappas = {name: pair.kappa.value for name, pair in pairs.items()}
    assert kappas == pytest.approx(pandalm_expected["cohen_pairwise"], abs=SIX_PLACES)
    shares = {name: pair.percent.value for name, pair in pairs.items()}
    assert shares == pytest.approx(pandalm_expected["agreement_pairwise"], abs=SIX_PLACES)
    assert {name: pair.percent.n for name, pair in pairs.items()} == pandalm_expected["n_pairwise"]


def test_pandalm_summary(pandalm_table: RatingTable, pandalm_expected: dict[str, Any]) -> None:
    summary = summarise(pandalm_table)

    assert dict(summary.label_counts) == pandalm_expected["label_counts"]
    assert {str(k): v for k, v in summary.answers_per_item} == pandalm_expected["ratings_per_item"]
    assert (summary.n_items, summary.n_raters, summary.n_pairable, summary.n_unanimous, summary.n_no_majority) == (
        pandalm_expected["n_items"],
        pandalm_expected["n_raters"],
        pandalm_expected["n_complete_items"],
        pandalm_expected["unanimous_items"],
        pandalm_expected["three_way_split_items"],
    )


@pytest.fixture(scope="module")
def ppi_task(pandalm: list[dict[str, str]]) -> tuple[list[float], list[float], list[float]]:
    """Return human majorities for response 1 on every tenth item, the judge's there, and the judge's elsewhere."""
    human, labelled, unlabelled = [], [], []
    for row in pandalm:
        judged = float(row["gpt35"] == "1")
        if int(row["idx"]) % 10:
            unlabelled.append(judged)
        else:
            labelled.append(judged)
            human.append(float([row[f"annotator{i}"] for i in (1, 2, 3)].count("1") >= 2))
    return human, labelled, unlabelled


def test_stratified_mean_has_the_point_of_ppi_on_pandalm(
    ppi_task: tuple[list[float], list[float], list[float]], ppi_expected: dict[str, Any]
) -> None:
    published = ppi_expected["ppi_pandalm"]

    inference = stratified_mean([make_stratum(*ppi_task)])

    # The library divides the judge's variance by n - 1 as we do, and agrees to 1e-5 with the variance by n.
    assert inference.unbounded == pytest.approx(published["ppi_plus_plus"]["own"]["var_pooled"][0], abs=1e-5)


def test_rogan_gladen_reproduces_pandalm(
    ppi_task: tuple[list[float], list[float], list[float]], ppi_expected: dict[str, Any]
) -> None:
    published = ppi_expected["ppi_pandalm"]["rogan_gladen"]

    estimate, sensitivity, specificity = rogan_gladen(*([value == 1 for value in values] for values in ppi_task))

    assert [sensitivity, specificity, estimate.value] == pytest.approx(
        [published["tpr"], published["tnr"], published["own"]], abs=1e-9
    )
    # The library's interval is a bootstrap of its own random stream; ours is the delta method, so only close.
    assert [estimate.low, estimate.high] == pytest.approx(published["judgy_ci_seed0"], abs=0.03)
