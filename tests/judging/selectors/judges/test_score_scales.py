"""Which scale the scores of a grader or judge are on, whatever tells it: options, a rubric, members, or a log."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from evalsite.base.formats import SHARE, WINS, ScaleKind, ScoreScale, rating
from judging.judges.registry import KINDS, ImportedGrader
from judging.models import BASELINE, EvaluatorKind
from judging.selectors.judges import score_scale_of, score_scales_of
from judging.specs.types import NodeSpec, ScaleSpec
from judging.stored_content import tree_to_json
from tests import factories

pytestmark = pytest.mark.django_db

PAIR = "{{ question }} {{ response }} {{ response_b }}"


def own_prompt(**options: Any) -> dict[str, Any]:
    return {"judge_kind": "custom", "judge_options": KINDS["custom"].new_options() | options}


def panel(kind: str, **options: Any) -> dict[str, Any]:
    members = [{"judge": name, "weight": 1, "judge_kind": kind, "judge_options": options} for name in "ab"]
    return {"judge_kind": "panel", "judge_options": {"members": members}}


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        (own_prompt(labels_text="", lowest=1, highest=10), rating(1, 10)),
        (own_prompt(labels_text="", lowest=0, highest=100), rating(0, 100)),
        (own_prompt(labels_text="", lowest=0, highest=1), SHARE),
        (own_prompt(labels_text="1 = 1\n2 = 2\n3 = 3\n4 = 4\n5 = 5"), rating(1, 5)),
        (own_prompt(labels_text="1 = 0\n3 = 0.5\n5 = 1"), rating(1, 5, zero=1)),
        (own_prompt(labels_text="C = 1\nP = 0.5\nI = 0"), SHARE),
        (own_prompt(labels_text="yes = 1\nno = 0"), SHARE),
        (own_prompt(labels_text="A = 1\nB = 0", prompt_text=PAIR), WINS),
        (own_prompt(labels_text="(A) = 1\nA = 0"), SHARE),  # stored before labels like these were refused
        (panel("custom", labels_text="", lowest=1, highest=10), rating(1, 10)),
        (panel("accuracy"), SHARE),
        ({"judge_kind": "level_cascade", "judge_options": {}}, rating(0, 100)),
        ({"judge_kind": "integrity", "judge_options": {}}, rating(0, 100)),
        ({"judge_kind": "accuracy", "judge_options": {}}, SHARE),
        ({"judge_kind": "relevance", "judge_options": {}}, ScoreScale(ScaleKind.RATING, 0, 1)),  # "Final: 0.8"
        ({"judge_kind": "generic", "judge_options": {}}, SHARE),  # without a rubric of all cases
        ({"judge_kind": "pairwise", "judge_options": {}, BASELINE: "old"}, WINS),
        (own_prompt(labels_text="", lowest=1, highest=10) | {BASELINE: "old"}, WINS),
        (ImportedGrader("MT", "FastChat", (1.0, 10.0)).to_json(), rating(1, 10)),
        (ImportedGrader("x", "y", (-1.0, 1.0)).to_json(), rating(-1, 1, zero=-1)),
        (ImportedGrader("x", "y", (0.0, 1.0)).to_json(), SHARE),
        (ImportedGrader("x", "y", ("C", "P", "I", "N")).to_json(), SHARE),
        ({}, SHARE),
    ],
)
def test_a_judge_has_the_scale_that_its_scores_are_on(options: dict[str, Any], scale: ScoreScale) -> None:
    assert score_scale_of(factories.evaluator(kind=EvaluatorKind.JUDGE, options=options)) == scale


def test_rules_have_shares() -> None:
    assert score_scale_of(factories.evaluator()) == SHARE


@pytest.mark.parametrize(
    ("scales", "criterion", "scale"),
    [
        ([ScaleSpec("ordinal", 1, 5, 1)], "", rating(1, 5)),
        ([ScaleSpec("ordinal", 1, 5, 1), ScaleSpec("ordinal", 1, 5, 1)], "", rating(1, 5)),  # their mean keeps to it
        ([ScaleSpec("ordinal", 1, 5, 1), ScaleSpec("ordinal", 0, 10, 1)], "", SHARE),
        ([ScaleSpec("ordinal", 1, 5, 1), ScaleSpec("ordinal", 0, 10, 1)], "d1", rating(0, 10)),
        ([ScaleSpec("boolean")], "", SHARE),
    ],
)
def test_a_judge_by_a_rubric_has_the_scale_that_its_criteria_share(
    scales: list[ScaleSpec], criterion: str, scale: ScoreScale
) -> None:
    leaves = tuple(NodeSpec(f"d{n}", "dimension", scale=one) for n, one in enumerate(scales))
    tree = NodeSpec("root", "group", aggregator={"type": "mean"}, children=leaves)
    rubric = factories.rubric(trees={"": tree_to_json(tree)}, scope="benchmark")
    options = {"judge_kind": "generic", "judge_options": {}}
    evaluator = factories.evaluator(kind=EvaluatorKind.JUDGE, options=options, rubric=rubric, criterion=criterion)

    assert score_scale_of(evaluator) == scale


def test_the_scales_of_many_graders_take_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    judges = []
    for highest in (5, 10, 7):
        leaf = NodeSpec("d0", "dimension", scale=ScaleSpec("ordinal", 1, highest, 1))
        tree = tree_to_json(NodeSpec("root", "group", aggregator={"type": "mean"}, children=(leaf,)))
        rubric = factories.rubric(trees={"": tree}, scope="benchmark")
        options = {"judge_kind": "generic", "judge_options": {}}
        judges.append(factories.evaluator(kind=EvaluatorKind.JUDGE, options=options, rubric=rubric))
    rules = factories.evaluator()

    with django_assert_num_queries(1):
        scales = score_scales_of([*judges, rules])
    with django_assert_num_queries(0):
        score_scales_of([rules])

    assert list(scales.values()) == [rating(1, 5), rating(1, 10), rating(1, 7), SHARE]
