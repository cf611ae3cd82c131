"""What an ESI run would ask and cost, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from judging.judges.answer_prompts import answer_request
from judging.judges.kinds.esi_items import JUDGES, EsiJudge, EsiResponse, EsiTask, esi_item
from judging.judges.registry import judge_kind
from judging.judges.subjects import JudgeSubject
from judging.llm.chat import ChatRequest, Message
from judging.llm.prices import estimate_tokens
from judging.models import Case, ModelEndpoint, Response
from judging.selectors.targets import target_of
from judging.services.calls.replays import replay
from judging.services.evaluation.esi_tasks import question_of
from judging.services.evaluation.evaluator_tasks import freeze
from judging.services.runs.esi_plans import ChosenJudge, EsiPlan
from judging.services.runs.estimates import EvaluatorEstimate, RunEstimate, cost_of_calls, seconds_of_calls
from judging.services.runs.run_plans import responses_of

SAMPLE = 20  # cases; of a suite with more, the first stand for all
RESPONSES = 60  # of responses that are there already, evenly chosen ones stand for all


def estimate_esi_run(*, plan: EsiPlan, threads: int, at: datetime) -> RunEstimate:
    """Return what the planned run would ask and cost, from a sample of its cases. Items are worked at the same time."""
    cases = list(
        Case.objects.filter(links__suite=plan.suite).select_related("prompt").order_by("links__position")[:SAMPLE]
    )
    count = plan.suite.case_count * len(plan.workers)
    if plan.systems:
        count = responses_of(suite=plan.suite, systems=plan.systems, first_attempts=None).count()
    made = Counter[str]() if plan.fresh else _shares_made(plan, cases, at)
    parts = []
    for worker in plan.workers:
        asked = [answer_request(worker.asking, instruction=i, question=q, endpoint="") for i, q in _asked(cases)]
        sample, calls = [request.messages for request in asked], plan.suite.case_count
        paid = round(made[worker.key] * calls)
        parts.append(_part(worker.system_name, worker.endpoint, sample, calls=calls, made=paid, threads=threads))
    for name in JUDGES:
        chosen: ChosenJudge = getattr(plan, name)
        paid, judge = round(made[name] * count), chosen.judge
        part = _part(judge.name, judge.endpoint, _judged(chosen, cases), calls=count, made=paid, threads=threads)
        parts.append(replace(part, tasks=count if name == JUDGES[-1] else 0))  # an item is one task
    return RunEstimate(tuple(parts))


def _shares_made(plan: EsiPlan, cases: Sequence[Case], at: datetime) -> Counter[str]:
    """Return the share, 0 to 1, of the calls to each worker (by its key) and judge that earlier runs have paid for."""
    tasks = list(_stored_items(plan) if plan.systems else _items_to_answer(plan, cases))
    targets = {endpoint.name: target_of(endpoint) for endpoint in plan.endpoints}
    replays = replay([esi_item(task) for _, task in tasks], targets, at=at)
    made, items = Counter[str](), Counter(owner for owner, _ in tasks)
    for (owner, _), each in zip(tasks, replays, strict=True):
        for who in {str(request.material["task"]) for request in each.made}:  # re-asks are no calls of their own here
            made[owner if who == "answer" else who] += 1
    return Counter({who: calls / (items[who] or len(tasks)) for who, calls in made.items()})


def _items_to_answer(plan: EsiPlan, cases: Sequence[Case]) -> Iterator[tuple[str, EsiTask]]:
    judges = _judges(plan)
    for worker in plan.workers:
        for case in cases:
            instruction, question = question_of(case)
            request = answer_request(
                worker.asking, instruction=instruction, question=question, endpoint=worker.endpoint.name
            )
            yield worker.key, _item(plan, case, judges, cleaning=worker.asking.cleaning, request=request)


def _stored_items(plan: EsiPlan) -> Iterator[tuple[str, EsiTask]]:
    judges = _judges(plan)
    ids = list(responses_of(suite=plan.suite, systems=plan.systems, first_attempts=None).values_list("pk", flat=True))
    step = max(1, -(-len(ids) // RESPONSES))
    responses = list(Response.objects.filter(pk__in=ids[::step]).select_related("system"))
    prompts = {response.prompt_id for response in responses}
    found = Case.objects.filter(links__suite=plan.suite, prompt_id__in=prompts).select_related("prompt")
    cases = {case.prompt_id: case for case in found}
    for response in responses:
        flags = ("answer_truncated",) if response.metadata.get("truncated") else ()
        answer = EsiResponse(response.text, response.completion_tokens, None, flags)
        cleaning = response.system.prompt_version
        yield "", _item(plan, cases[response.prompt_id], judges, cleaning=cleaning, answer=answer)


def _judges(plan: EsiPlan) -> dict[str, EsiJudge]:
    found = {}
    for name in JUDGES:
        chosen: ChosenJudge = getattr(plan, name)
        frozen = freeze(judge=chosen.judge, options=chosen.options)
        judge = judge_kind(frozen["judge_kind"]).build(frozen["judge_options"])
        found[name] = EsiJudge(judge, chosen.judge.endpoint.name)
    return found


def _item(
    plan: EsiPlan,
    case: Case,
    judges: Mapping[str, EsiJudge],
    *,
    cleaning: str,
    request: ChatRequest | None = None,
    answer: EsiResponse | None = None,
) -> EsiTask:
    instruction, question = question_of(case)
    return EsiTask(
        instruction=instruction,
        question=question,
        reference=case.reference,
        cleaning=cleaning,
        accuracy=judges["accuracy"],
        integrity=judges["integrity"],
        request=request,
        answer=answer,
        reading=plan.reading,
        options=plan.options,
    )


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
    name: str, endpoint: ModelEndpoint, sample: Sequence[tuple[Message, ...]], *, calls: int, made: int, threads: int
) -> EvaluatorEstimate:
    """Return the share of one model, of whose calls so many are paid for already."""
    target = target_of(endpoint)
    remaining = calls - made
    tokens = round(sum(map(estimate_tokens, sample)) / max(1, len(sample)) * remaining)
    return EvaluatorEstimate(
        name=name,
        tasks=0,
        calls=calls,
        prompt_tokens=tokens,
        cost=cost_of_calls(target, remaining, tokens),
        seconds=seconds_of_calls(target, remaining, threads),
        endpoint=target.config.name,
        not_possible=0,
        sample=len(sample),
        is_baseline=target.is_lexical,
        made=made,
    )
