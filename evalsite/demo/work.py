"""The demo's first run and debates, as real jobs."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from debate.jobs import launch_debates
from debate.services.pairing import DebateWish
from evalsite.demo.content import DemoContent
from judging import jobs
from judging.models import Judge, ModelEndpoint, Run, RunKind
from judging.services.baselines import LENSES, endpoint_name, judge_name
from judging.services.planning import EvaluatorChoice, RunPlan, create_run

RUN_NAME = "Demo: rules and lexical baselines"
DEBATES_NAME = "Demo debates: helpfulness"  # annotators see it, so it names no system


@transaction.atomic
def start_work(*, content: DemoContent, actor: User | None, at: datetime) -> bool:
    """Launch the first run and the first debates over the demo's suite; return False where it had a run before."""
    if Run.objects.filter(suite=content.suite, kind__in=RunKind.values).exists():
        return False
    run = create_run(plan=_plan(content), actor=actor, at=at)
    jobs.launch_run(run_id=run.pk, waiting=run.total)
    launch_debates(wish=_wish(content), actor=actor, at=at)
    return True


def _plan(content: DemoContent) -> RunPlan:
    judges = {judge.name: judge for judge in Judge.objects.select_related("endpoint")}
    levels = [
        EvaluatorChoice(judge=judges[judge_name("level_cascade", lens)], rubric=content.levels) for lens in LENSES
    ]
    criteria = EvaluatorChoice(judge=judges[judge_name("generic", LENSES[-1])], rubric=content.criteria)
    return RunPlan(
        suite=content.suite,
        systems=content.systems,
        evaluators=[EvaluatorChoice(), *levels, criteria],
        name=RUN_NAME,
    )


def _wish(content: DemoContent) -> DebateWish:
    strong, middling, _ = content.systems
    endpoints = {row.name: row for row in ModelEndpoint.objects.all()}
    return DebateWish(
        suite=content.suite,
        system_a=strong,
        system_b=middling,
        rubric=content.criteria,
        criterion="helpfulness",
        endpoints=[endpoints[endpoint_name(lens)] for lens in LENSES],
        name=DEBATES_NAME,
    )
