"""One judge on one response: a run of one task, so that ledger, budget and limits hold as for any other."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from judging.judges.registry import judge_kind
from judging.models import Judge, Response, Rubric, Run, RunKind, RunTask, Suite
from judging.services.planning import EvaluatorChoice, RunNotPossible, RunPlan, create_run


@transaction.atomic
def judge_once(
    *, response: Response, judge: Judge, rubric: Rubric | None, budget: Decimal | None, actor: User | None, at: datetime
) -> Run:
    """Make a run of this one task, under the newest suite that has the response's case; it still has to be worked.

    Raises:
        RunNotPossible: no suite has the case, the judge needs a rubric or two answers, or the budget cannot be kept.
    """
    suite = Suite.objects.filter(cases__prompt=response.prompt_id).order_by("-number", "-pk").first()
    if suite is None:
        raise RunNotPossible("No suite has the case that this response answers.")
    needs = judge_kind(judge.kind).needs
    if "pair" in needs:
        raise RunNotPossible(f"{judge.name} compares two answers; it cannot judge one.")
    if needs & {"rubric", "levels"} and rubric is None:
        raise RunNotPossible(f"{judge.name} needs a rubric.")
    if response.superseded_at is not None:
        raise RunNotPossible("Another text has replaced this response.")
    plan = RunPlan(
        suite=suite,
        systems=[response.system],
        evaluators=[EvaluatorChoice(judge=judge, rubric=rubric)],
        name=f"{judge.name} on one response",
        budget=budget,
    )
    run = create_run(plan=plan, actor=actor, at=at)
    RunTask.objects.create(run=run, evaluator=run.evaluators.get(), response=response)
    run.evaluators.update(total=1)
    run.total, run.planned_at = 1, at
    run.kind = RunKind.SINGLE  # reports leave such runs out
    run.save(update_fields=["total", "planned_at", "kind"])
    return run
