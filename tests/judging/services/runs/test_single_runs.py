"""One judge on one response: a run of its own kind that lists, reports and routing leave out."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from evalsite.home import live_runs
from evalsite.reports.selectors.judges.judge_rows import judge_exists
from evalsite.reports.selectors.leaderboards import evaluators_of
from evalsite.review.selectors.unrouted import unrouted_runs
from judging.models import Response, Run, RunKind, Score
from judging.selectors import benchmarks, responses
from judging.selectors.runs import list_runs
from judging.services.runs.run_plans import EvaluatorChoice, RunNotPossible
from judging.services.runs.single_runs import judge_once
from judging.states import RunStatus
from tests import factories
from tests.factories import NOON
from tests.judging.services.run_rows import answered_suite, level_judge, work

pytestmark = pytest.mark.django_db


def test_judge_once_makes_a_run_that_only_those_who_ask_for_it_see() -> None:
    suite, _ = answered_suite(cases=2)
    judge, rubric = level_judge()
    response = Response.objects.earliest("pk")

    run = judge_once(response=response, choice=EvaluatorChoice(judge, rubric), actor=None, at=NOON)
    live = live_runs(at=NOON)
    work(run)

    assert (run.kind, run.status, run.total, run.done) == (RunKind.SINGLE, RunStatus.FINISHED, 1, 1)
    assert (live, list(list_runs()), list(benchmarks.benchmark_runs(suite.benchmark))) == ((), [], [])
    rows = (*benchmarks.benchmark_rows(), *benchmarks.suite_rows(suite.benchmark))
    assert [vars(row)["run_count"] for row in rows] == [0, 0]
    assert list(responses.scores_of(response)) == []
    assert (list(unrouted_runs()), judge_exists(run.evaluators.get().name)) == ([], False)
    assert evaluators_of([suite.pk])[suite.pk].every == ()
    assert (list(list_runs(single=True)), Score.objects.get().run) == ([run], run)
    assert Run.objects.get() == run


def test_judge_once_refuses_a_person_whose_trials_have_cost_what_a_day_allows(settings: Any) -> None:
    settings.TRIAL_BUDGET = 2
    answered_suite(cases=1)
    judge, rubric = level_judge()
    ada, ben = factories.user("ada"), factories.user("ben")
    response, choice = Response.objects.get(), EvaluatorChoice(judge, rubric)
    first = judge_once(response=response, choice=choice, actor=ada, at=NOON)
    Run.objects.filter(pk=first.pk).update(spent=Decimal("1.60"), unheard=Decimal("0.40"))

    with pytest.raises(RunNotPossible, match=r"cost \$2\.00; the limit of this site is \$2 per day"):
        judge_once(response=response, choice=choice, actor=ada, at=NOON + timedelta(hours=23))

    runs = [
        judge_once(response=response, choice=choice, actor=person, at=NOON + timedelta(hours=hours))
        for person, hours in ((ben, 23), (ada, 24))
    ]
    assert [run.kind for run in runs] == [RunKind.SINGLE] * 2
