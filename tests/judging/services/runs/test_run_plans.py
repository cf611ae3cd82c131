"""Plans of runs: what is refused, what is frozen, what tasks follow."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judging.models import Response, RunEvaluator, RunTask
from judging.services.runs import task_planner
from judging.services.runs.run_plans import (
    EvaluatorChoice,
    RunNotPossible,
    RunPlan,
    check_plan,
    create_run,
    default_name,
)
from judging.services.runs.task_planner import plan_tasks
from judging.services.tasks.run_lifecycle import pause_run, resume_run
from judging.specs.selections import CaseSelection
from tests import factories
from tests.factories import NOON
from tests.judging.services.run_rows import answered_suite, judged_run, level_judge, ruled_run

pytestmark = pytest.mark.django_db


def test_check_plan_names_what_is_missing() -> None:
    suite, systems = answered_suite()
    silent = factories.system()

    def refusal(**changes: object) -> str:
        wanted = {"suite": suite, "systems": systems, "evaluators": [EvaluatorChoice()]}
        with pytest.raises(RunNotPossible) as refused:
            check_plan(RunPlan(**wanted | changes))  # type: ignore[arg-type]  # built from parts
        return str(refused.value)

    assert [
        refusal(systems=[]),
        refusal(evaluators=[]),
        refusal(evaluators=[EvaluatorChoice(), EvaluatorChoice()]),
        refusal(systems=[silent]),
        refusal(first_attempts=0),
    ] == [
        "Choose at least one system.",
        "Choose at least one grader or judge.",
        "The same judge was chosen twice with the same rubric.",
        "These systems have no responses to this suite. Import some first.",
        "These systems have no responses to this suite. Import some first.",
    ]


def test_check_plan_refuses_a_budget_where_a_price_is_unknown() -> None:
    suite, systems = answered_suite()
    judge, rubric = level_judge(url="http://127.0.0.1:9/v1", name="nowhere")
    plan = RunPlan(
        suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge, rubric=rubric)], budget=Decimal(1)
    )

    with pytest.raises(RunNotPossible, match="the price of nowhere is unknown"):
        check_plan(plan)

    judge.asked.input_price = judge.asked.output_price = Decimal(1)
    judge.asked.save()
    check_plan(plan)


def test_check_plan_takes_baselines_as_free() -> None:
    suite, systems = answered_suite()
    judge, rubric = level_judge()

    check_plan(
        RunPlan(
            suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge, rubric=rubric)], budget=Decimal(1)
        )
    )


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


def test_plan_tasks_writes_each_task_once() -> None:
    run = ruled_run(cases=3)

    plan_tasks(run_id=run.pk, at=NOON)
    plan_tasks(run_id=run.pk, at=NOON)

    run.refresh_from_db()
    assert (RunTask.objects.count(), run.total, run.case_count, run.planned_at) == (3, 3, 3, NOON)
    assert RunEvaluator.objects.get().total == 3


def test_plan_tasks_keeps_to_the_first_attempts_and_current_texts() -> None:
    suite, (system,) = answered_suite(cases=1)
    prompt = suite.cases.get().prompt
    factories.response(prompt=prompt, system=system, attempt=1)
    factories.response(prompt=prompt, system=system, attempt=2, superseded_at=NOON)
    plan = RunPlan(suite=suite, systems=[system], evaluators=[EvaluatorChoice()], first_attempts=1)

    first = create_run(plan=plan, actor=None, at=NOON)
    every = create_run(plan=RunPlan(suite=suite, systems=[system], evaluators=[EvaluatorChoice()]), actor=None, at=NOON)
    for run in (first, every):
        plan_tasks(run_id=run.pk, at=NOON)

    assert [list(run.tasks.values_list("response__attempt", flat=True)) for run in (first, every)] == [[0], [0, 1]]
    every.refresh_from_db()
    assert (every.total, every.case_count) == (2, 1)


def test_plan_tasks_goes_on_from_what_a_lost_worker_wrote() -> None:
    run = judged_run(cases=5)
    evaluator = run.evaluators.get()
    responses = list(Response.objects.order_by("pk").values_list("pk", flat=True))
    for pk in responses[:3]:
        RunTask.objects.create(run=run, evaluator=evaluator, response_id=pk)

    for _ in range(2):
        plan_tasks(run_id=run.pk, at=NOON)

    run.refresh_from_db()
    evaluator.refresh_from_db()
    assert (run.total, evaluator.total, run.planned_at) == (5, 5, NOON)
    assert sorted(RunTask.objects.values_list("response_id", flat=True)) == responses


def test_plan_tasks_ends_where_the_run_is_stopped_and_goes_on_later() -> None:
    run = judged_run(cases=3)
    pause_run(run_id=run.pk, actor=None)
    plan_tasks(run_id=run.pk, at=NOON)
    run.refresh_from_db()
    stopped = (run.planned_at, RunTask.objects.count())

    resume_run(run_id=run.pk, actor=None)
    plan_tasks(run_id=run.pk, at=NOON)

    run.refresh_from_db()
    assert (stopped, run.planned_at, RunTask.objects.count()) == ((None, 0), NOON, 3)


@pytest.mark.django_db(transaction=True)
def test_plan_tasks_lets_others_write_between_its_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    run = judged_run(cases=5)
    monkeypatch.setattr(task_planner, "TASKS_AT_ONCE", 2)

    with CaptureQueriesContext(connection) as queries:
        plan_tasks(run_id=run.pk, at=NOON)

    assert sum(query["sql"] == "COMMIT" for query in queries) == 4  # two and two and one, and the end
    assert RunTask.objects.count() == 5
