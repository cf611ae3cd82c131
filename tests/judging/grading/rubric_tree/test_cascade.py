"""The level cascade in every option."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from judging.grading.rubric_tree import (
    CascadeOptions,
    cascade_score,
    criteria_counts,
    feasible_scores,
    review_score,
    score_tree,
    with_cascade_options,
)
from judging.specs.files.bundles import Bundle
from judging.specs.types import NodeSpec, ScaleSpec
from tests.judging.specs.whole_rubrics import parse_level_workbook

TWENTY = CascadeOptions(level_25_value=20)
ALL = CascadeOptions(level_100="all")


def levels(n25: int, n50: int, n100: int) -> dict[int, int]:
    return {25: n25, 50: n50, 100: n100}


def tree(n25: int, n50: int, n100: int) -> NodeSpec:
    nodes = tuple(
        NodeSpec(
            str(level),
            "level",
            children=tuple(NodeSpec(f"{level}.{i + 1}", "check", scale=ScaleSpec("boolean")) for i in range(n)),
        )
        for level, n in ((100, n100), (50, n50), (25, n25))
        if n
    )
    return NodeSpec("root", "group", children=nodes)


@pytest.mark.shared_data
def test_cascade_score_and_its_tree_hold_every_recorded_vector(shared_data: Path) -> None:
    vectors = json.loads((shared_data / "judges" / "ord_cascade_vectors.json").read_text(encoding="utf-8"))
    options = {"score_n25": CascadeOptions(), "score_n20": TWENTY, "score_n25_all100": ALL}

    for vector in vectors:
        met = dict(zip((100, 50, 25), reversed(vector["met"]), strict=True))
        verdicts = {
            check.key: int(check.key.partition(".")[2]) <= met[int(level.key)]
            for level in tree(*vector["n_items"]).children
            for check in level.children
        }
        for name, option in options.items():
            root = with_cascade_options(tree(*vector["n_items"]), option)
            assert cascade_score(levels(*vector["n_items"]), met, option) == vector[name]
            assert score_tree(root, verdicts).score == vector[name]


# Rows of the specification's table: (n25, n50, n100), met, with 25 and with 20 points for a level-25 criterion.
@pytest.mark.parametrize(
    ("counts", "met", "at_25", "at_20"),
    [
        ((1, 1, 1), (0, 0, 1), 100, 100),
        ((1, 1, 1), (1, 1, 0), 50, 50),
        ((1, 1, 1), (1, 0, 0), 25, 20),
        ((0, 2, 0), (0, 1, 0), 50, 50),
        ((0, 2, 1), (0, 2, 0), 100, 100),
        ((3, 0, 1), (3, 0, 0), 75, 60),
        ((4, 0, 0), (4, 0, 0), 100, 80),
        ((5, 3, 2), (5, 0, 0), 100, 100),
        ((1, 1, 1), (0, 0, 0), 0, 0),
    ],
)
def test_cascade_score_takes_the_highest_level_with_a_met_criterion(
    counts: tuple[int, int, int],
    met: tuple[int, int, int],
    at_25: int,
    at_20: int,
) -> None:
    assert cascade_score(levels(*counts), levels(*met)) == at_25
    assert cascade_score(levels(*counts), levels(*met), TWENTY) == at_20


def test_cascade_score_needs_every_top_criterion_where_the_option_says_all() -> None:
    assert cascade_score(levels(5, 3, 2), levels(0, 0, 1), ALL) == 0
    assert cascade_score(levels(5, 3, 2), levels(1, 0, 1), ALL) == 25
    assert cascade_score(levels(5, 3, 2), levels(0, 0, 2), ALL) == 100


def test_cascade_score_can_leave_scores_above_100_unclipped() -> None:
    assert cascade_score(levels(0, 3, 0), levels(0, 3, 0), CascadeOptions(clip=False)) == 150


@pytest.mark.parametrize("met", [levels(2, 0, 0), levels(-1, 0, 0), {75: 1}])
def test_cascade_score_refuses_impossible_counts(met: dict[int, int]) -> None:
    with pytest.raises(ValueError, match="cannot be met"):
        cascade_score(levels(1, 1, 1), met)


@pytest.mark.shared_data
def test_feasible_scores_hold_for_the_synthetic_workbook(shared_data: Path) -> None:
    folder = shared_data / "judges"
    expected = json.loads((folder / "ord_layout_synthetic_expected.json").read_text(encoding="utf-8"))
    name = "ord_layout_synthetic.xlsx"
    rubric = parse_level_workbook(Bundle({name: (folder / name).read_bytes()}), name).value
    assert rubric is not None

    feasible = {
        item.case_key: (
            feasible_scores(criteria_counts(item.root)),
            feasible_scores(criteria_counts(item.root), TWENTY),
        )
        for item in rubric.items
    }

    assert feasible == {key: (tuple(e["feasible_n25"]), tuple(e["feasible_n20"])) for key, e in expected.items()}


def test_review_score_flags_what_no_set_of_criteria_gives() -> None:
    assert review_score(50, levels(1, 1, 0)) == (50, ())
    assert review_score(25, levels(0, 1, 1)) == (25, ("infeasible",))
    assert review_score(25, levels(0, 1, 1), CascadeOptions(infeasible="reject")) == (None, ("infeasible",))
    assert review_score(40, None) == (40, ("off_grid",))
    assert review_score(40, levels(2, 0, 0), TWENTY) == (40, ("off_grid",))


def test_review_score_normalises_steps_of_20_only_where_the_criteria_allow_it() -> None:
    normalise = CascadeOptions(off_grid="normalise")

    assert review_score(40, levels(2, 0, 0), normalise) == (50, ("off_grid", "normalised"))
    assert review_score(60, levels(2, 0, 0), normalise) == (60, ("off_grid", "infeasible"))
    assert review_score(33, None, normalise) == (33, ("off_grid",))
    assert review_score(40, None, CascadeOptions(off_grid="reject")) == (None, ("off_grid",))


def test_with_cascade_options_scores_met_checks_exactly() -> None:
    verdicts = {"100.1": False, "50.1": False, "25.1": True, "25.2": True}

    assert score_tree(with_cascade_options(tree(2, 1, 1), TWENTY), verdicts).score == Fraction(40)
    assert score_tree(with_cascade_options(tree(2, 1, 1), CascadeOptions()), verdicts).deciding == "25"
