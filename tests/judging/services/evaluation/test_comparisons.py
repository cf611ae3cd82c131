"""Grades held against the original's: recorded results, another run, and compat mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from judging.grading.parity import Difference
from judging.grading.rule_graders.programs import Program, ProgramOutcome
from judging.models import RunEvaluator, RunKind
from judging.services.evaluation.comparisons import (
    UnreadableRecord,
    compare_runs,
    compare_with_original,
    compare_with_results,
)
from judging.services.evaluation.evaluator_tasks import GradingExecutor
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan, create_run
from judging.services.runs.run_worker import work_through
from judging.services.tasks import executors
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db(transaction=True)
HANDLER = "def half(got, total, status):\n    return got / 2, total, ['halved', *status]\n"
EITHER = {"keywords": [{"or": ["fine", "good"]}]}  # `or` directly in a rule: rule 13.10


class Answers:
    """Takes the sandbox's place: early exits for tests, halved points for handlers; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Program] = []

    def run(self, program: Program) -> ProgramOutcome:
        self.asked.append(program)
        if program.purpose == "handler":
            mark = program.source.rpartition("handler-reply-")[2].partition(":")[0]
            return ProgramOutcome(True, stdout=f'handler-reply-{mark}:[0.5, 1.0, ["halved", "match"]]\n')
        return ProgramOutcome(False, "failed: the program ended before its tests had finished", ended_early=True)


@pytest.fixture
def sandbox() -> Iterator[Answers]:
    answers = Answers()
    executors.register(RunKind.GRADING, GradingExecutor(runner_for=lambda *, compat: answers))
    yield answers
    executors.register(RunKind.GRADING, GradingExecutor())


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
                handlers = {"cases.handler": HANDLER} if "cases.handler" in json.dumps(grading) else {}
                cases.append(factories.case(prompt=prompt, grading=grading, lang="javascript", handlers=handlers))
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


def test_compare_with_original_names_the_rule_behind_each_difference(graded: Grade) -> None:
    evaluator = graded((EITHER, ["it is fine"]), ({"keywords": ["fine"]}, ["it is fine"]))

    report = compare_with_original(evaluator)

    codes = ("13.10",)
    assert report.compared == 2
    assert report.differences == (
        Difference("c0", "tester", 0, "keywords", "status", "error", "complete", codes),
        Difference("c0", "tester", 0, "keywords", "got", 0.0, 1.0, codes),
        Difference("c0", "tester", 0, "", "status", "error", "complete", codes),
        Difference("c0", "tester", 0, "", "got", None, 1.0, codes),
        Difference("c0", "tester", 0, "", "score", None, 1.0, codes),
    )


def test_compare_with_original_lets_early_exits_pass_without_running_anything(graded: Grade, sandbox: Answers) -> None:
    evaluator = graded(({"unit_test": {"tests": ["check()"]}}, ["```js\nprocess.exit(0)\n```"]))
    asked = len(sandbox.asked)

    report = compare_with_original(evaluator)

    assert len(sandbox.asked) == asked == 1
    assert {(one.what, one.expected, one.actual, one.codes) for one in report.differences} == {
        ("got", 1.0, 0.0, ("13.23",)),
        ("score", 1.0, 0.0, ("13.23",)),
    }


def test_compare_with_original_replays_handlers(graded: Grade, sandbox: Answers) -> None:
    grading = {"keywords": ["fine", {"post_handler": {"module": "cases.handler", "func": "half"}}]}
    evaluator = graded((grading, ["it is fine"]))

    report = compare_with_original(evaluator)

    assert [score.value for score in evaluator.scores.all()] == [0.5]
    assert (report.compared, report.differences, len(sandbox.asked)) == (1, (), 1)


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


def test_compare_with_results_refuses_other_lines(graded: Grade) -> None:
    evaluator = graded(({"keywords": ["fine"]}, ["fine"]))

    for text in ("{", "[]", '{"case_id": "c0"}', line(attempt="first"), "[" * 5000):
        with pytest.raises(UnreadableRecord, match="Line 2"):
            compare_with_results(evaluator, ["", text])


def test_compare_runs_compares_what_both_have(graded: Grade) -> None:
    default, compat = graded((EITHER, ["fine"])), graded(compat=True)

    report = compare_runs(default, compat)

    assert (report.compared, report.unexplained, set(report.by_code())) == (1, (), {"13.10"})
    assert compare_runs(compat, compat).differences == ()


def test_compare_grades_prints_the_rules_and_fails_on_the_unexplained(
    graded: Grade, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluator = graded((EITHER, ["fine"]), ({"keywords": ["fine"]}, ["fine"]))
    expected = tmp_path / "expected.jsonl"
    expected.write_text(json.dumps({"case_id": "c1", "model": "tester", "attempt": 0, "score": 0.0}))

    call_command("compare_grades", "--run", str(evaluator.run_id))
    out = capsys.readouterr().out
    with pytest.raises(CommandError, match="1 differences are not accounted for") as failure:
        call_command("compare_grades", "--run", str(evaluator.run_id), "--expected", str(expected))

    assert "13.10 `or` / `and` directly in a rule: 5 differences." in out
    assert "2 attempts compared, 5 differences, 0 not accounted for." in out
    assert failure.value.returncode == 1
    assert "c1 tester attempt 0: score is 1.0, not 0.0 (unexplained)" in capsys.readouterr().out
