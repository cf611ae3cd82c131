"""The report behind the charts of a suite, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from evalsite.reports.selectors.leaderboards import graders_of, history_of
from evalsite.reports.services import snapshots
from evalsite.reports.services.suite_charts import SUITE_CHARTS, compute_suite_charts
from judging.models import Response, RunEvaluator, System
from tests import factories
from tests.evalsite.reports.audited import Audited, audited_judge
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db

LATER = factories.NOON + timedelta(days=1)


def content_of(evaluator: RunEvaluator) -> dict[str, Any]:
    return compute_suite_charts(evaluator.pk, {"evaluators": [evaluator.pk]})


def lengthen(system: System, lengths: Sequence[int]) -> None:
    """Give the responses of a system these lengths, in the order of the cases."""
    for response, length in zip(system.responses.order_by("prompt__key"), lengths, strict=True):
        Response.objects.filter(pk=response.pk).update(text="x" * length)


def run_again(scored: Scored, share: float, **fields: Any) -> RunEvaluator:
    """Return the rules of a later run that gave ada's response to the first case a score."""
    run = factories.run(
        suite=scored.suite, status="finished", created_at=LATER, finished_at=LATER, name="Second", **fields
    )
    run.systems.add(scored.ada)
    rules = factories.evaluator(run=run, total=1, done=1)
    response = Response.objects.get(system=scored.ada, prompt=scored.cases[0].prompt)
    factories.score(evaluator=rules, response=response, share=share)
    return rules


def test_the_distribution_counts_scored_cases_beside_the_mean_of_the_leaderboard(scored: Scored) -> None:
    rows = content_of(scored.rules)["distribution"]

    # ada 1, 1, 1, 0.5; cy 1 and 0, one undecided, one without a response, which the leaderboard counts as 0; bob 0, 1,
    # 0, 0. Quartiles of four ascending values a, b, c, d lie at b - (b - a) / 4, (b + c) / 2 and c + (d - c) / 4
    assert [(row["system"], row["n"], row["counts"], row["quartiles"]) for row in rows] == [
        ("ada", 4, [0, 0, 0, 0, 0, 1, 0, 0, 0, 3], [0.875, 1.0, 1.0]),
        ("cy", 2, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0.25, 0.5, 0.75]),
        ("bob", 4, [3, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0.0, 0.0, 0.25]),
    ]
    assert [row["mean"]["value"] for row in rows] == [0.875, pytest.approx(1 / 3), 0.25]


def test_lengths_are_those_of_scored_responses(scored: Scored) -> None:
    lengthen(scored.ada, [40, 30, 20, 10])  # 1, 1, 1, 0.5
    lengthen(scored.bob, [50, 60, 70, 80])  # 0, 1, 0, 0
    lengthen(scored.cy, [90, 100, 999])  # 1, 0, undecided

    lengths = content_of(scored.rules)["lengths"]

    assert (lengths["n"], lengths["longest_drawn"]) == (10, 100)
    assert lengths["points"] == [
        *((10, 0.5), (20, 1.0), (30, 1.0), (40, 1.0)),
        *((50, 0.0), (60, 1.0), (70, 0.0), (80, 0.0), (90, 1.0), (100, 0.0)),
    ]
    assert [(row["system"], row["n"], row["mean_length"]) for row in lengths["systems"]] == [
        ("ada", 4, 25.0),
        ("bob", 4, 65.0),
        ("cy", 2, 95.0),
    ]
    # ada: ranks 4 3 2 1 and 3 3 3 1; from their means 1.5 0.5 -0.5 -1.5 and 0.5 0.5 0.5 -1.5: products add up to 3,
    # squares to 5 and 3
    assert lengths["systems"][0]["correlation"]["value"] == pytest.approx(3 / (5 * 3) ** 0.5)


def test_tokens_are_recorded_or_estimated_from_the_length(scored: Scored) -> None:
    lengthen(scored.ada, [400, 400, 400, 400])
    lengthen(scored.bob, [80, 80, 80, 80])
    scored.cy.responses.update(completion_tokens=200)
    Response.objects.filter(pk=scored.bob.responses.earliest("pk").pk).update(completion_tokens=999)  # not of all

    rows = content_of(scored.rules)["tokens"]

    # cy takes more tokens than ada and scores less
    assert [(row["system"], row["tokens"], row["is_recorded"], row["is_on_front"]) for row in rows] == [
        ("bob", 20, False, True),
        ("ada", 100, False, True),
        ("cy", 200, True, False),
    ]


def test_runs_are_those_of_the_same_grader_in_every_version_of_the_suite(scored: Scored) -> None:
    second = run_again(scored, 0.5)
    run_again(scored, 0, archived_at=LATER)
    other = factories.evaluator(run=second.run, position=2, name="other rules", done=1)
    version = factories.suite(cases=scored.cases[:1], benchmark=scored.suite.benchmark, number=2)
    third = run_again(scored, 1)
    type(third.run).objects.filter(pk=third.run_id).update(suite=version, created_at=LATER + timedelta(days=1))

    rows = content_of(scored.rules)["runs"]

    assert other not in history_of(scored.rules)
    assert [(row["run"], row["suite"], row["suite_id"]) for row in rows] == [
        ("First run", "v1", scored.suite.pk),
        ("Second", "v1", scored.suite.pk),
        ("Second", "v2", version.pk),
    ]
    ada = [row["figures"][str(scored.ada.pk)] for row in rows]
    assert [(figure["value"], figure["n"]) for figure in ada] == [(0.875, 4), (0.5 / 4, 4), (1.0, 1)]
    assert [str(scored.bob.pk) in row["figures"] for row in rows] == [True, False, False]


def test_agreement_is_that_of_each_run_with_people() -> None:
    judge = audited_judge([Audited(judge=True, people=index < 15) for index in range(20)])

    (row,) = content_of(judge)["agreement"]

    # people say the same of 15 of 20
    assert (row["run_id"], row["labelled"]) == (judge.run_id, 20)
    assert (row["agreement"]["value"], row["agreement"]["n"]) == (pytest.approx(0.75), 20)
    assert row["agreement"]["low"] < 0.75 < row["agreement"]["high"]


def test_the_report_is_computed_again_after_another_run_of_the_grader(scored: Scored) -> None:
    (grader,) = graders_of(scored.suite.pk)
    key: dict[str, Any] = {"subject_id": grader.key, "options": grader.options}
    snapshots.compute(SUITE_CHARTS, at=factories.NOON, **key)
    before = snapshots.find(SUITE_CHARTS, **key)
    run_again(scored, 0.5)

    after = snapshots.find(SUITE_CHARTS, **key)

    assert [report is not None and report.is_current for report in (before, after)] == [True, False]
