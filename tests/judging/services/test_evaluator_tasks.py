"""What a judge is shown of a response, and its score as it is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from judging.grading.contexts import Program, ProgramOutcome
from judging.grading.grades import GradingOptions, ResponseGrade
from judging.grading.rules import GradedCase
from judging.judges.subjects import JudgeScore
from judging.llm.chat import Conversation
from judging.models import Lease, PastScore, PastVerdict, Run, RunEvaluator, RunTask, Score, Verdict
from judging.models.runs import RunStatus
from judging.selectors.runs import rule_report
from judging.services import long_jobs
from judging.services.evaluator_tasks import (
    SCORE_FIELDS,
    VERDICT_FIELDS,
    CaseBatch,
    GradingExecutor,
    SharedOutcomes,
    core_count,
    grade_all,
    judge_score_fields,
    store_scores,
    store_verdicts,
    subject_of,
)
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.services.runs.run_worker import work_through
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_subject_of_brings_the_description_of_the_benchmark() -> None:
    evaluator, response, case = factories.evaluator(), factories.response(), factories.case()
    benchmark = evaluator.run.suite.benchmark
    benchmark.description = "Questions about tides."

    in_run = subject_of(case=case, response=response, tree=None, evaluator=evaluator)
    estimated = subject_of(case=case, response=response, tree=None, evaluator=RunEvaluator())

    assert (in_run.about, estimated.about) == ("Questions about tides.", "")


@pytest.mark.parametrize(
    ("value", "full", "exact"),
    [(Fraction(4, 5), Fraction(1), "4/5 of 1"), (Fraction(75), Fraction(100), "75 of 100")],
)
def test_judge_score_fields_say_the_exact_score_and_its_most(value: Fraction, full: Fraction, exact: str) -> None:
    assert judge_score_fields(JudgeScore(value, full))["detail"] == {"exact": exact}


TESTS = {"unit_test": {"tests": ["assert check()"]}}


@dataclass
class SlowRunner:
    """Takes the sandbox's place: waits, notes how many programs ran at once, and says "passed"."""

    wait: Callable[[], object] = lambda: time.sleep(0.05)
    running: int = 0
    most: int = 0
    programs: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, program: Program) -> ProgramOutcome:
        with self.lock:
            self.programs.append(program.source)
            self.running += 1
            self.most = max(self.most, self.running)
        self.wait()
        with self.lock:
            self.running -= 1
        return ProgramOutcome(True, "passed")


def answer(number: int) -> str:
    return f"```python\ndef check():\n    return {number}\n```"


def test_grade_all_runs_programs_side_by_side_up_to_the_cores() -> None:
    everybody = threading.Barrier(core_count())  # nobody goes on before so many run at once
    runner = SlowRunner(wait=lambda: everybody.wait(60))
    case = GradedCase(TESTS, "python")

    grades = grade_all(case, [answer(n) for n in range(4 * core_count())], options=GradingOptions(), runner=runner)

    assert [grade.score for grade in grades] == [1.0] * 4 * core_count()
    assert (len(runner.programs), runner.most) == (4 * core_count(), core_count())


def test_grade_all_runs_equal_programs_once() -> None:
    runner = SlowRunner()

    grades = grade_all(GradedCase(TESTS, "python"), [answer(1)] * 5, options=GradingOptions(), runner=runner)

    assert ([grade.score for grade in grades], len(runner.programs)) == ([1.0] * 5, 1)


def test_shared_outcomes_hand_a_crash_of_the_runner_to_everyone() -> None:
    class Broken:
        def run(self, program: Program) -> ProgramOutcome:
            raise RuntimeError("no sandbox at all")

    shared = SharedOutcomes(Broken())

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no sandbox"):
            shared.run(Program("python", "pass", 1.0))


def last_word(talk: Conversation[ResponseGrade]) -> ResponseGrade:
    while True:
        try:
            talk.send(())
        except StopIteration as end:
            grade: ResponseGrade = end.value
            return grade
        time.sleep(0.01)


def test_case_batch_says_not_yet_until_the_program_has_ended() -> None:
    ended = threading.Event()
    batch = CaseBatch(GradedCase(TESTS, "python"), GradingOptions(), SlowRunner(wait=ended.wait), {7: answer(1)})
    talk = batch.converse(7)

    assert (next(talk), talk.send(())) == ((), ())
    ended.set()

    assert last_word(talk).score == 1.0


@pytest.fixture
def use_runner(use_executor: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda runner: use_executor(GradingExecutor(runner_for=lambda *, compat: runner))


def make_run(answers: int) -> Run:
    case, system = factories.case(grading=TESTS, lang="python"), factories.system()
    for number in range(answers):
        factories.response(prompt=case.prompt, system=system, attempt=number, text=answer(number))
    plan = RunPlan(suite=factories.suite(cases=[case]), systems=[system], evaluators=[EvaluatorChoice()])
    return create_run(plan=plan, actor=None, at=NOON)


@pytest.mark.django_db(transaction=True)
def test_a_rule_grader_scores_no_response_to_a_case_without_rules() -> None:
    ruled, bare = factories.case(grading={"keywords": ["yes"]}), factories.case()
    systems = [factories.system(name) for name in ("oak", "elm")]
    for case, system in ((ruled, systems[0]), (bare, systems[0]), (ruled, systems[1])):
        factories.response(prompt=case.prompt, system=system, text="yes")
    plan = RunPlan(suite=factories.suite(cases=[ruled, bare]), systems=systems, evaluators=[EvaluatorChoice()])

    run = create_run(plan=plan, actor=None, at=NOON)
    work_through(run_id=run.pk, threads=1, now=timezone.now)

    run.refresh_from_db()
    assert (run.status, run.done, run.failed) == (RunStatus.FINISHED, 3, 0)
    assert [score.share for score in Score.objects.filter(run=run)] == [1.0, 1.0]
    reports = [
        rule_report(run.evaluators.get(), system_id=system.pk, cases=list(run.suite.cases.all())) for system in systems
    ]
    assert [(report.left_out, report.rows[0].full_score) for report in reports] == [((bare.key,), 1.0)] * 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("mode", "points"), [("avg", 0.5), ("max", 1.0), ("min", 0.0), ("avg_max_2", 0.5)])
def test_the_table_of_rules_sums_up_attempts_as_the_suite_says(mode: str, points: float) -> None:
    case, system = factories.case(grading={"keywords": ["yes"]}), factories.system()
    for attempt, text in enumerate(("yes", "yes", "no", "no")):
        factories.response(prompt=case.prompt, system=system, attempt=attempt, text=text)
    suite = factories.suite(cases=[case], attempt_reduce_mode=mode)
    run = create_run(plan=RunPlan(suite=suite, systems=[system], evaluators=[EvaluatorChoice()]), actor=None, at=NOON)

    work_through(run_id=run.pk, threads=1, now=timezone.now)

    assert rule_report(run.evaluators.get(), system_id=system.pk, cases=[case]).rows[0].mean == points


@pytest.mark.django_db(transaction=True)
def test_work_through_keeps_its_claim_while_a_program_runs(use_runner: Callable[[Any], None]) -> None:
    expiries: set[datetime] = set()

    def until_extended_twice() -> None:
        deadline = time.monotonic() + 120
        while len(expiries) < 3 and time.monotonic() < deadline:
            expiries.update(Lease.objects.values_list("expires_at", flat=True))
            time.sleep(0.1)
        connection.close()  # that of this thread

    use_runner(SlowRunner(wait=until_extended_twice))
    run = make_run(1)

    ended = work_through(run_id=run.pk, threads=4, now=timezone.now)

    run.refresh_from_db()
    assert (ended, len(expiries), run.status, run.done) == ("empty", 3, RunStatus.FINISHED, 1)
    assert Score.objects.get().value == 1.0


@pytest.mark.django_db(transaction=True)
def test_work_through_stops_without_waiting_for_what_has_not_begun(
    use_runner: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_event = threading.Event()

    def ask_and_go_on() -> None:
        stop_event.set()
        time.sleep(1.5)

    runner = SlowRunner(wait=ask_and_go_on)
    monkeypatch.setattr(long_jobs, "requested", stop_event.is_set)
    use_runner(runner)
    run = make_run(40)

    ended = work_through(run_id=run.pk, threads=4, now=timezone.now)

    time.sleep(2)  # the programs that had begun end; none begins after them
    run.refresh_from_db()
    assert (ended, run.status, run.done + run.failed) == ("asked", RunStatus.RUNNING, Score.objects.count())
    assert len(runner.programs) <= 2 * core_count()
    assert RunTask.objects.filter(status="waiting").count() == 40 - run.done
    assert not Lease.objects.exists()


LATER = NOON + timedelta(hours=1)


def test_store_verdicts_keeps_the_row_and_what_it_was() -> None:
    old = factories.verdict(status="unparsed", value=None, reason="No number.", flags=["reasked"], call_ids=[1, 2])
    as_it_was = Verdict.objects.filter(pk=old.pk).values_list(*VERDICT_FIELDS).get()
    new = [
        Verdict(
            run=old.run,
            evaluator=old.evaluator,
            response=response,
            task=old.task if number == 0 else None,
            status="refused",
            value=None,
            call_ids=[3],
            created_at=LATER,
        )
        for number, response in enumerate((old.response, factories.response()))
    ]

    superseded = store_verdicts(rows=new, at=LATER)

    assert ([row.pk for row in superseded], new[0].pk, new[1].pk != old.pk) == ([old.pk], old.pk, True)
    assert list(PastVerdict.objects.values_list("verdict", *VERDICT_FIELDS)) == [(old.pk, *as_it_was)]
    assert PastVerdict.objects.get().superseded_at == LATER
    past_verdicts = (
        Verdict.objects.filter(value__isnull=True).order_by("pk").values_list("pk", "status", "reason", "call_ids")
    )
    assert list(past_verdicts) == [(old.pk, "refused", "", [3]), (new[1].pk, "refused", "", [3])]
    assert PastVerdict.objects.filter(value__isnull=True).count() == 1


def test_store_scores_keeps_the_row_and_what_it_was() -> None:
    old = factories.score(share=None, detail={"reason": "not run"}, flags=["not-run"], full=None)
    as_it_was = Score.objects.filter(pk=old.pk).values_list(*SCORE_FIELDS).get()
    new = Score(
        run=old.run,
        evaluator=old.evaluator,
        response=old.response,
        status="complete",
        value=1.0,
        full=2.0,
        share=0.5,
        created_at=LATER,
    )

    store_scores(rows=[new], at=LATER)

    assert list(PastScore.objects.values_list("score", *SCORE_FIELDS)) == [(old.pk, *as_it_was)]
    assert list(Score.objects.values_list("pk", "status", "share", "detail")) == [(old.pk, "complete", 0.5, {})]
