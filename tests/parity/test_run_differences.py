"""Stored grades of a run compared with recorded results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from judging.models import RunEvaluator
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.services.runs.run_worker import work_through
from tests import factories
from tests.factories import NOON
from tests.parity.grade_differences import Difference
from tests.parity.run_differences import compare_with_results

pytestmark = pytest.mark.django_db(transaction=True)
EITHER = {"keywords": [{"or": ["fine", "good"]}]}  # `or` directly in a rule: rule 13.10


@pytest.fixture
def graded() -> Callable[..., RunEvaluator]:
    """Grade answers of the system "tester" to cases "c0", "c1", ... and return the grader."""
    made: dict[str, Any] = {}

    def grade(*pairs: tuple[dict[str, Any], list[str]], compat: bool = False) -> RunEvaluator:
        if not made:
            owner, system = factories.benchmark(), factories.system("tester")
            cases = []
            for number, (grading, texts) in enumerate(pairs):
                prompt = factories.prompt(benchmark=owner, key=f"c{number}")
                cases.append(factories.case(prompt=prompt, grading=grading))
                for attempt, text in enumerate(texts):
                    factories.response(prompt=prompt, system=system, attempt=attempt, text=text)
            made.update(suite=factories.suite(cases=cases, attempt_reduce_mode="avg_max_2"), system=system)
        plan = RunPlan(suite=made["suite"], systems=[made["system"]], evaluators=[EvaluatorChoice()], compat=compat)
        run = create_run(plan=plan, actor=None, at=NOON)
        work_through(run_id=run.pk, threads=2, now=timezone.now)
        return RunEvaluator.objects.select_related("run__suite").get(run=run)

    return grade


Grade = Callable[..., RunEvaluator]


def line(**fields: Any) -> str:
    return json.dumps({"case_id": "c0", "model": "tester"} | fields)


def test_compare_with_results_compares_attempts_and_cases(graded: Grade) -> None:
    evaluator = graded(({"keywords": ["fine"]}, ["fine", "no", "no"]))
    # groups of two: bests 1 and 0, so the case has 1/2 with deviation sqrt(1/2)
    lines = [
        line(attempt=0, score=1.0, got=1.0, total=1.0, sub={"keywords": {"score": 1.0, "status": ["match"]}}),
        line(attempt=1, score=1.0, sub={"keywords": {"score": 0.0}}),
        line(attempt=2, score=1.0, note="not to be compared"),
        line(attempt=7, score=1.0),
        line(now_score=0.5, now_std=0.5, scores=[1.0, 0.0, 0.0]),
        json.dumps({"case_id": "c0", "model": "another", "attempt": 0, "score": 0.0}),
    ]

    found = compare_with_results(evaluator, lines)

    assert (found.attempts, found.cases, found.skipped, found.missing) == (2, 1, 1, 1)
    assert found.report.differences == (
        Difference("c0", "tester", 1, "", "score", 1.0, 0.0),
        Difference("c0", "tester", -1, "", "now_std", 0.5, 0.5**0.5),
    )
    assert found.report.unexplained == found.report.differences


def test_compare_with_results_accepts_only_our_limits_in_compat_mode(graded: Grade) -> None:
    default = graded((EITHER, ["fine"]))
    compat = graded(compat=True)
    record = [line(attempt=0, score=0.25)]

    assert compare_with_results(default, record).report.unexplained == ()
    assert len(compare_with_results(compat, record).report.unexplained) == 1
