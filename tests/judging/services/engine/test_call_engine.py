"""The call engine against the fake server: what is asked once, what one fault may cost, how it stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from judging.llm.chat import ChatReply, ReplyStatus
from judging.llm.pool import Completed
from judging.models import Call, Lease, ModelEndpoint, RubricItem, Run, RunTask, Verdict
from judging.models.runs import RunStatus
from judging.services import leases, long_jobs, run_lifecycle
from judging.services.day_budgets import RunEndpoints
from judging.services.engine import Engine, EngineOptions
from judging.services.leases import InFlight
from judging.services.pools import PoolShare
from judging.services.registries import executor_for
from judging.services.runs.new_runs import create_run, plan_tasks
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.services.runs.run_worker import work_through
from tests import factories
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.run_rows import HALF, LEVELS, answered_suite, judged_run, level_judge, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def no_stop() -> Iterator[None]:
    long_jobs.REQUESTED.clear()
    yield
    long_jobs.REQUESTED.clear()


def test_equal_requests_of_one_run_are_asked_once(fake_llm: FakeLLM) -> None:
    owner = factories.benchmark()
    prompt = factories.prompt(benchmark=owner)
    suite = factories.suite(cases=[factories.case(prompt=prompt)])
    systems = [factories.system() for _ in range(7)]
    for system in systems:
        factories.response(prompt=prompt, system=system, text="The same answer.")
    endpoint = factories.endpoint(base_url=fake_llm.url, model="fake")
    judge = factories.judge(kind="level_cascade", endpoint=endpoint)
    rubric = factories.rubric(trees={"": LEVELS}, shape="levels")
    plan = RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge, rubric=rubric)])
    run = create_run(plan=plan, actor=None, at=NOON)

    work(run)

    assert (run.status, run.done, run.calls_made, fake_llm.stats()["calls"]) == (RunStatus.FINISHED, 7, 1, 1)
    assert Verdict.objects.values_list("call_ids", flat=True).distinct().count() == 1


class LateCalls(PoolShare):
    """Answers each request only when asked for a second time, so that replies come while others are prepared."""

    def __init__(self) -> None:
        self.submitted: list[str] = []
        self.waiting: list[str] = []

    def submit(self, token: str, target: Any, request: Any, paid: Any = (), *, is_reserved: bool = False) -> None:
        self.submitted.append(token)
        self.waiting.append(token)

    def withdraw(self) -> None:
        pass

    def sends_of(self, token: str) -> int:
        return min(self.submitted.index(token), 2)

    def take_results(self) -> list[Completed]:
        tokens, self.waiting = self.waiting, []
        reply = ChatReply(ReplyStatus.FINISHED, HALF, "stop", 100, 20)
        return [Completed(token, reply) for token in tokens]


def _engine(run: Run, calls: LateCalls, *, should_stop: Callable[[], bool] = lambda: False) -> Engine:
    run_lifecycle.start_run(run_id=run.pk, at=NOON)
    plan_tasks(run_id=run.pk, at=NOON)
    run.refresh_from_db()
    return Engine(
        run=run,
        lease=leases.open_lease(run=run, worker="test"),
        executor=executor_for(run),
        calls=calls,
        endpoints=RunEndpoints(run),
        options=EngineOptions(threads=2, now=timezone.now, should_stop=should_stop),
    )


def test_a_reply_on_its_way_to_the_ledger_answers_an_equal_request() -> None:
    run = judged_run(cases=2, text="Same.", url="http://127.0.0.1:9/v1")
    first, second = run.suite.cases.order_by("links__position")
    second.prompt.text = first.prompt.text
    second.prompt.save()
    calls = LateCalls()
    engine = _engine(run, calls)
    tasks = leases.claim_tasks(lease=engine.lease, most=2)
    engine.exhausted = True
    engine.to_begin.extend(engine._prepared(tasks[:1]))
    engine.step()
    engine._receive()  # the reply is here and not yet stored
    engine.to_begin.extend(engine._prepared(tasks[1:]))
    engine.step()
    engine.finish()

    assert (len(calls.submitted), Call.objects.count(), Verdict.objects.count()) == (1, 1, 2)


def test_a_lost_sender_costs_what_it_had_sent_and_one_attempt_no_doubled_one() -> None:
    price = Decimal(100)
    run = judged_run(cases=6, url="http://127.0.0.1:9/v1", input_price=price, output_price=price)
    calls = LateCalls()
    engine = _engine(run, calls)
    engine._claim()
    engine._begin()
    engine._ask()
    _, once, several = (engine.in_pool[token] for token in calls.submitted)  # not sent, sent once, sent again
    engine.cut_off()

    unheard = engine.finish()

    single = once.target.worst_case(once.request, truncation_retry=False)
    assert (single is not None, several.worst is not None) == (True, True)
    assert unheard == InFlight(2, (single or Decimal(0)) + (several.worst or Decimal(0)))
    assert unheard.worst < Decimal("0.7") * 2 * (once.worst or 0)


def test_a_killed_worker_costs_what_was_in_flight_as_it_was_sent_and_not_what_was_set_aside() -> None:
    price, budget = Decimal(100), Decimal(50)
    run = judged_run(cases=6, url="http://127.0.0.1:9/v1", input_price=price, output_price=price, budget=budget)
    engine = _engine(run, LateCalls())
    engine._claim()
    engine._begin()
    engine._ask()
    engine._renew_claim(0.0)
    waits, once, several = engine.in_pool.values()  # in the pool, sent once, sent again since its reply was cut off
    lease = Lease.objects.get()
    single = [each.target.worst_case(each.request, truncation_retry=False) or Decimal(0) for each in (waits, once)]

    leases.end_claims(worker="test")

    run.refresh_from_db()
    assert lease.reserved == waits.reserved + once.reserved + several.reserved
    assert (run.unheard_calls, run.unheard) == (3, sum(single) + several.reserved)
    assert run.unheard < Decimal("0.6") * lease.reserved  # one attempt of a limit of tokens is a third of two


def test_a_conversation_that_crashes_costs_its_own_task_only(fake_llm: FakeLLM) -> None:
    run = judged_run(cases=4, url=fake_llm.url)
    rubric = run.evaluators.get().rubric
    assert rubric is not None
    bad = run.suite.cases.order_by("links__position")[1]
    RubricItem.objects.create(rubric=rubric, case_key=bad.key, position=9, tree={"no": "tree"})

    work(run)

    assert (run.status, run.done, run.failed) == (RunStatus.FINISHED, 3, 1)
    failed = RunTask.objects.get(status="failed")
    assert (failed.failure_kind, failed.response and failed.response.prompt_id) == ("crashed", bad.prompt_id)
    assert Verdict.objects.count() == 3


def test_characters_that_no_database_stores_do_not_stop_a_run(fake_llm: FakeLLM) -> None:
    # the tree asks for JSON in itemised mode; the model escapes NUL and half a character inside its reasons
    run = judged_run(cases=2, url=fake_llm.url)
    evaluator = run.evaluators.get()
    evaluator.options |= {"judge_options": {"mode": "itemised"}, "prompt_hash": ""}  # as if it had begun so
    evaluator.save()
    fake_llm.config(reply='{"met": {"100.1": true, "50.1": false, "25.1": false}, "reasoning": "a\\u0000b\\ud800c"}')

    work(run)

    assert (run.status, run.done) == (RunStatus.FINISHED, 2)
    assert set(Verdict.objects.values_list("rationale", flat=True)) == {"a\ufffdb\ufffdc"}


def test_an_endpoint_taken_out_of_use_pauses_the_run_with_the_reason(fake_llm: FakeLLM) -> None:
    run = judged_run(cases=3, url=fake_llm.url)
    ModelEndpoint.objects.update(is_active=False)

    ended = work(run)

    assert (ended, run.status, run.done, run.failed) == ("endpoint", RunStatus.PAUSED, 0, 0)
    assert run.status_reason.endswith("is no longer active. Activate it, then resume the run, or cancel the run.")
    ModelEndpoint.objects.update(is_active=True)
    run_lifecycle.resume_run(run_id=run.pk, actor=None)
    work(run)
    assert (run.status, run.done, run.failed) == (RunStatus.FINISHED, 3, 0)


def test_a_pause_lets_calls_come_home_and_hands_out_no_more(fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=150)
    run = judged_run(cases=120, url=fake_llm.url)
    paused_at: list[int] = []

    def now_and_pause() -> Any:
        if not paused_at and fake_llm.stats()["calls"] >= 8:
            run_lifecycle.pause_run(run_id=run.pk, actor=None)
            paused_at.append(fake_llm.stats()["calls"])
        return timezone.now()

    ended = work_through(run_id=run.pk, threads=4, now=now_and_pause)

    run.refresh_from_db()
    call_count = fake_llm.stats()["calls"]
    assert (ended, run.status) == ("stopped", RunStatus.PAUSED)
    assert 8 <= run.done < 120
    assert call_count == run.done == run.calls_made == Call.objects.count()
    assert not Lease.objects.exists()
    run_lifecycle.resume_run(run_id=run.pk, actor=None)
    fake_llm.config(latency=1)
    work(run, threads=8)
    assert (run.status, run.done, fake_llm.stats()["calls"]) == (RunStatus.FINISHED, 120, 120)


def test_a_pause_charges_for_answers_that_were_cut_off_and_not_asked_again(fake_llm: FakeLLM) -> None:
    # Every answer is cut off, also the one with doubled tokens. The pause is heard after a second: amid the third round
    # of calls, which are first attempts again, with a fifth of a second to spare on a busy machine.
    fake_llm.config(latency=400, truncate_below=1_000_000)
    run = judged_run(cases=40, url=fake_llm.url, budget=Decimal(9), input_price=Decimal(100), output_price=Decimal(100))
    paused: list[bool] = []

    def now_and_pause() -> Any:
        if not paused and fake_llm.stats()["calls"] >= 2:  # first attempts, on their way
            run_lifecycle.pause_run(run_id=run.pk, actor=None)
            paused.append(True)
        return timezone.now()

    ended = work_through(run_id=run.pk, threads=4, now=now_and_pause)

    run.refresh_from_db()
    stats = fake_llm.stats()
    charged = Decimal(stats["prompt_tokens"] + stats["completion_tokens"]) * 100 / 1_000_000
    assert (ended, run.status, run.spent) == ("stopped", RunStatus.PAUSED, charged)
    assert Call.objects.filter(status="failed", error_kind="withdrawn", attempts=1).exists()


def test_a_worker_asked_to_stop_gives_its_claim_back(fake_llm: FakeLLM, no_stop: None) -> None:
    fake_llm.config(latency=100)
    run = judged_run(cases=100, url=fake_llm.url)

    def now_and_stop() -> Any:
        if fake_llm.stats()["calls"] >= 4:
            long_jobs.request()
        return timezone.now()

    ended = work_through(run_id=run.pk, threads=2, now=now_and_stop)

    run.refresh_from_db()
    assert (ended, run.status) == ("asked", RunStatus.RUNNING)
    assert 0 < run.done < 100
    assert RunTask.objects.filter(status="waiting", tries=0).count() == 100 - run.done
    assert fake_llm.stats()["calls"] == run.done


def _lose_claim(engine: Engine) -> None:
    """Let the claim of an engine lapse while its calls are out, and let it go on to its end."""
    engine.step()
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    leases.return_lapsed()

    engine._heartbeat_at -= 10
    while not engine.step():
        pass
    engine.finish()


def test_a_worker_whose_claim_lapsed_stores_its_calls_and_drops_its_results() -> None:
    run = judged_run(cases=2, url="http://127.0.0.1:9/v1")
    engine = _engine(run, LateCalls())

    _lose_claim(engine)
    ended = engine.ended

    run.refresh_from_db()
    assert (ended, run.done, Verdict.objects.count()) == ("lost", 0, 0)
    assert Call.objects.filter(status="finished").count() == 2
    assert set(RunTask.objects.values_list("status", flat=True)) == {"waiting"}


def test_a_call_is_reused_by_tasks_whose_results_are_kept_alone() -> None:
    suite, systems = answered_suite(cases=1, systems=3, text="Use chmod.")
    judge, rubric = level_judge(url="http://127.0.0.1:9/v1")
    choice = EvaluatorChoice(judge=judge, rubric=rubric)
    run = create_run(plan=RunPlan(suite=suite, systems=systems, evaluators=[choice]), actor=None, at=NOON)

    _lose_claim(_engine(run, LateCalls()))

    run.refresh_from_db()
    assert (run.done, run.calls_made, run.calls_reused) == (0, 1, 0)


@pytest.mark.parametrize("options", [{}, {"rate_truncated": 1.0}])
def test_a_reply_without_token_counts_costs_its_worst_case(fake_llm: FakeLLM, options: dict[str, float]) -> None:
    fake_llm.config(usage=0, **options)
    run = judged_run(cases=30, url=fake_llm.url, budget=Decimal(1), input_price=Decimal(100), output_price=Decimal(100))

    ended = work(run)

    # one call reserves more than 3 x 1,024 tokens at 0.0001 dollars each, so that a dollar pays for two or three
    assert (ended, run.status, run.unpriced_calls) == ("budget", RunStatus.PAUSED, run.calls_made)
    assert 1 <= run.calls_made <= 3
    assert Decimal("0.3") * run.calls_made < run.spent <= 1


def test_attempts_that_break_off_never_cost_more_than_the_budget(fake_llm: FakeLLM) -> None:
    fake_llm.config(rate_drop=1.0)  # each attempt is sent, may be billed, and gets no answer
    budget = Decimal("0.60")
    run = judged_run(cases=1, url=fake_llm.url, budget=budget, input_price=Decimal(100), output_price=Decimal(100))

    ended = work(run)

    # an attempt may cost 0.10 dollars for 1,024 tokens and 0.08 or so for the prompt; before each, that and a retry
    # with twice the limit are set aside: 0.47 or so fit once and, after one attempt, not again
    assert (ended, run.status) == ("budget", RunStatus.PAUSED)
    assert Decimal("0.1") < run.spent + run.unheard <= budget
    assert (fake_llm.stats()["calls"], Call.objects.count()) == (1, 1)
    assert Lease.objects.count() == 0


def test_attempts_that_were_booked_still_count_as_attempts_of_the_request(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="")  # an empty answer is asked for once more
    run = judged_run(cases=1, url=fake_llm.url, budget=Decimal(9), input_price=Decimal(100), output_price=Decimal(100))

    ended = work(run)

    tokens = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in Call.objects.all())
    assert (ended, run.failed, fake_llm.stats()["calls"]) == ("empty", 1, 2)
    assert [call.error_kind for call in Call.objects.order_by("pk")] == ["empty", "empty"]
    assert run.spent == Decimal(tokens) * 100 / 1_000_000
    assert tokens == fake_llm.stats()["prompt_tokens"] + fake_llm.stats()["completion_tokens"]


def test_a_budget_given_to_a_run_of_unknown_price_pauses_it(fake_llm: FakeLLM) -> None:
    run = judged_run(cases=3, url=fake_llm.url)
    Run.objects.update(budget=Decimal(5))

    ended = work(run)

    assert (ended, run.status, fake_llm.stats()["calls"]) == ("unpriced", RunStatus.PAUSED, 0)
    assert run.status_reason.startswith("A price is unknown")


def test_a_worker_waits_for_money_that_another_may_give_back(fake_llm: FakeLLM) -> None:
    run = judged_run(cases=2, url=fake_llm.url, budget=Decimal(1), input_price=Decimal(100), output_price=Decimal(100))
    other = leases.open_lease(run=run, worker="other")
    Lease.objects.filter(pk=other.pk).update(reserved=Decimal("0.9"))

    def release() -> None:  # the other worker's calls have come back
        leases.close_lease(lease=other)
        connection.close()  # that of this thread

    later = threading.Timer(1.5, release)
    later.start()

    ended = work_through(run_id=run.pk, threads=2, now=timezone.now)
    later.join()

    run.refresh_from_db()
    assert (ended, run.status, run.done) == ("empty", RunStatus.FINISHED, 2)


def test_two_suites_with_the_same_answers_share_their_calls(fake_llm: FakeLLM) -> None:
    suite, systems = answered_suite(cases=3)
    endpoint = factories.endpoint(base_url=fake_llm.url, model="fake")
    judges = [factories.judge(kind="level_cascade", endpoint=endpoint) for _ in range(2)]
    rubric = factories.rubric(trees={"": LEVELS}, shape="levels")
    plan = RunPlan(
        suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge, rubric=rubric) for judge in judges]
    )

    run = create_run(plan=plan, actor=None, at=NOON)
    work(run)

    assert (run.done, run.calls_made, fake_llm.stats()["calls"]) == (6, 3, 3)


def test_a_fresh_run_reuses_no_reply_of_another_run_and_each_of_its_own(fake_llm: FakeLLM) -> None:
    first = judged_run(cases=3, url=fake_llm.url)
    work(first)
    evaluator = first.evaluators.get()
    assert evaluator.judge is not None
    choice = EvaluatorChoice(judge=evaluator.judge, rubric=evaluator.rubric)
    plans = [
        RunPlan(suite=first.suite, systems=list(first.systems.all()), evaluators=[choice], fresh=fresh)
        for fresh in (False, True, True)
    ]

    runs = [create_run(plan=plan, actor=None, at=NOON) for plan in plans]
    for run in runs:
        work(run)

    assert [(run.done, run.calls_made, run.calls_reused) for run in runs] == [(3, 0, 3), (3, 3, 0), (3, 3, 0)]
    assert fake_llm.stats()["calls"] == 9
