"""What a new run freezes, and how it is called."""

from __future__ import annotations

import pytest

from judging.services.runs.new_runs import create_run, default_name
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.specs.selections import CaseSelection
from tests import factories
from tests.factories import NOON
from tests.judging.services.run_rows import answered_suite, level_judge

pytestmark = pytest.mark.django_db


def test_create_run_freezes_what_a_judge_depends_on() -> None:
    suite, systems = answered_suite(cases=2)
    judge, rubric = level_judge()
    plan = RunPlan(
        suite=suite, systems=systems, evaluators=[EvaluatorChoice(), EvaluatorChoice(judge=judge, rubric=rubric)]
    )

    run = create_run(plan=plan, actor=None, at=NOON)
    judge.options = {"mode": "itemised"}
    judge.save()

    rules, judged = run.evaluators.order_by("position")
    assert (run.total, run.status, run.name) == (4, "queued", f"#{run.pk} Rules + {judge.name}, {systems[0].name}")
    assert (rules.name, rules.kind, rules.options, rules.total) == ("rules", "grader", {}, 2)
    assert judged.name == f"{judge.name} · {rubric.name}"
    assert judged.is_baseline
    assert judged.options["judge_options"] == {}
    assert judged.options["model"] == "criterion"


def test_default_name_says_who_judges_what() -> None:
    suite, systems = answered_suite(systems=3)
    judges = [factories.judge(name=f"Judge {letter}") for letter in "ABCDE"]
    choices = [EvaluatorChoice(judge=judge) for judge in judges]
    part = CaseSelection(limit=20, seed=7)

    names = [
        default_name(RunPlan(suite=suite, systems=systems, evaluators=choices[:2]), number=3),
        default_name(RunPlan(suite=suite, systems=systems, evaluators=choices, first_attempts=2), number=4),
        default_name(RunPlan(suite=suite, systems=systems[:1], evaluators=choices[:1], selection=part), number=5),
    ]

    assert names == [
        "#3 Judge A + Judge B, 3 systems",
        "#4 Judge A + Judge B + Judge C and 2 more, 3 systems, first 2 attempts",
        f"#5 Judge A, {systems[0].name}, 20 cases drawn with seed 7",
    ]
