"""What an index run would ask and cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence

from judging.judges.answering import answer_request
from judging.judges.esi_items import JUDGES
from judging.judges.registry import judge_kind
from judging.judges.subjects import JudgeSubject
from judging.llm.chat import Message
from judging.llm.prices import estimate_tokens
from judging.models import Case, ModelEndpoint
from judging.selectors.targets import target_of
from judging.services.esi_creating import ChosenJudge, EsiPlan
from judging.services.esi_running import question_of
from judging.services.estimates import EvaluatorEstimate, RunEstimate, cost_of_calls, seconds_of_calls
from judging.services.evaluating import freeze
from judging.services.planning import responses_of

SAMPLE = 20


def estimate_esi_run(*, plan: EsiPlan, threads: int) -> RunEstimate:
    """Return what the planned run would ask and cost, from a sample of its cases. Items are worked at the same time."""
    cases = list(
        Case.objects.filter(links__suite=plan.suite).select_related("prompt").order_by("links__position")[:SAMPLE]
    )
    count = plan.suite.case_count * len(plan.workers)
    if plan.systems:
        count = responses_of(suite=plan.suite, systems=plan.systems, first_attempts=None).count()
    parts = [
        _part(
            worker.system_name,
            worker.endpoint,
            [answer_request(worker.asking, instruction=i, question=q, endpoint="").messages for i, q in _asked(cases)],
            calls=plan.suite.case_count,
            tasks=0,
            threads=threads,
        )
        for worker in plan.workers
    ]
    for name in JUDGES:
        chosen: ChosenJudge = getattr(plan, name)
        sample, tasks = _judged(chosen, cases), count if name == JUDGES[-1] else 0  # an item is one task
        judge = chosen.judge
        parts.append(_part(judge.name, judge.endpoint, sample, calls=count, tasks=tasks, threads=threads))
    return RunEstimate(tuple(parts))


def _asked(cases: Sequence[Case]) -> list[tuple[str, str]]:
    return [question_of(case) for case in cases]


def _judged(chosen: ChosenJudge, cases: Sequence[Case]) -> list[tuple[Message, ...]]:
    """Return what a judge would be sent; answers are taken to be as long as their references."""
    frozen = freeze(judge=chosen.judge, options=chosen.options)
    judge = judge_kind(frozen["judge_kind"]).build(frozen["judge_options"])
    return [
        judge.build_messages(JudgeSubject(question, case.reference, reference=case.reference, instruction=instruction))
        for case, (instruction, question) in zip(cases, _asked(cases), strict=True)
    ]


def _part(
    name: str, endpoint: ModelEndpoint, sample: Sequence[tuple[Message, ...]], *, calls: int, tasks: int, threads: int
) -> EvaluatorEstimate:
    target = target_of(endpoint)
    tokens = round(sum(map(estimate_tokens, sample)) / max(1, len(sample)) * calls)
    return EvaluatorEstimate(
        name=name,
        tasks=tasks,
        calls=calls,
        prompt_tokens=tokens,
        cost=cost_of_calls(target, calls, tokens),
        seconds=seconds_of_calls(target, calls, threads),
        endpoint=target.config.name,
        not_possible=0,
        sample=len(sample),
        is_baseline=target.is_lexical,
    )
