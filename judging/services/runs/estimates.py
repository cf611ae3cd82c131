"""What a run would ask and cost, from a sample of its responses, before anything is sent.

Calls to an endpoint take the latency of its latest calls, within its rate limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from django.db.models import Avg

from judging.grading.grades import clean_answer
from judging.judges.answer_prompts import ResponseSettings
from judging.judges.kinds.esi_items import response_text
from judging.judges.questions import QUOTED_REPLY, reask
from judging.judges.registry import judge_kind
from judging.judges.subjects import BadPrompt, JudgeProgram, JudgeSubject
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus, call_key, without_thinking
from judging.llm.lanes import cost_of, estimate_tokens
from judging.llm.limits import WINDOW_SECONDS
from judging.models import Call, Case, ModelEndpoint, Response, RunEvaluator
from judging.selectors.endpoints import Target, target_of
from judging.selectors.judges import is_baseline, member_judges, read_baselines
from judging.services import ledger
from judging.services.evaluator_tasks import freeze, subject_of, trees_of
from judging.services.runs.run_plans import AskSetup, EsiSetup, EvaluatorChoice, RunPlan, asked_cases, with_drawn_cases
from judging.services.systems import asking_request, question_of

TYPICAL_REPLY_TOKENS = 250
TYPICAL_REASONING_TOKENS = 2_000  # with a reasoning model's thinking, which is paid for too
LATENCY_CALLS = 50  # the endpoint's latest calls, whose mean latency is taken


def typical_tokens(target: Target) -> int:
    """Return how many tokens a reply of the endpoint usually has."""
    return TYPICAL_REASONING_TOKENS if target.config.reasoning else TYPICAL_REPLY_TOKENS


def seconds_of_calls(target: Target, calls: int, tokens: int, threads: int) -> float | None:
    """Return how long calls with so many tokens in take, at the endpoint's latency and within its rate limits.

    None: nothing is known of the endpoint's latency.
    """
    if target.is_lexical:
        return calls * 0.002
    latency = latency_of(target)
    if latency is None:
        return None
    used = tokens + calls * typical_tokens(target)
    return seconds_at(target, latency=latency, calls=calls, tokens=used, threads=threads)


def seconds_at(target: Target, *, latency: float, calls: int, tokens: int, threads: int, in_turn: int = 1) -> float:
    """Return how long calls take that use so many tokens, replies included, at a latency and within the rate limits.

    `in_turn`: how many of the calls wait for one another.
    """
    if not calls:
        return 0.0
    at_once = max(1, min(threads, target.config.max_concurrency))
    steps = max(-(-calls // at_once), in_turn)
    limits = target.config.rate_limits
    demands = ((limits.requests, calls), (limits.tokens, tokens))
    windows = [-(-amount // limit) - 1 for limit, amount in demands if limit and amount]  # the first go at once
    return max(float(steps * latency), WINDOW_SECONDS * max(windows, default=0))


def latency_of(target: Target) -> float | None:
    """Return the mean seconds of the endpoint's latest calls, else those of its test; None where neither is known."""
    latest = Call.objects.filter(endpoint_id=target.endpoint_id).order_by("-finished_at")[:LATENCY_CALLS]
    latency = Call.objects.filter(pk__in=[call.pk for call in latest.only("pk")]).aggregate(mean=Avg("seconds"))["mean"]
    return _tested_seconds(target) if latency is None else latency


def _tested_seconds(target: Target) -> float | None:
    """Return how long the endpoint's last test took; None where it failed or there was none."""
    tested = ModelEndpoint.objects.values_list("last_test", flat=True).get(pk=target.endpoint_id)
    return tested["seconds"] if tested.get("works") else None


Row = TypeVar("Row")

SAMPLE = 200  # responses; of a run with more, evenly chosen ones stand for all
PROBLEM_CHARACTERS = 200  # of the sentence that says why a reply could not be read


@dataclass(frozen=True, slots=True)
class EvaluatorEstimate:
    """One grader's or judge's share of a run."""

    name: str
    tasks: int
    calls: int
    prompt_tokens: int
    cost: Decimal | None  # USD of the calls that are still to be made; None: the endpoint's price is unknown
    seconds: float | None  # None: nothing is known of the endpoint's latency
    not_possible: int  # of the sampled responses, how many lack what the judge needs
    sample: int  # responses looked at
    is_baseline: bool = False
    endpoint: str = ""
    reused: int | None = None  # of the calls, how many an earlier run has paid for; None: not looked up
    most: Decimal | None = None  # USD if every reply is asked for twice, at full length; None: not known or looked up


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run would take. Replies are counted with a typical length; a budget reserves the worst case."""

    evaluators: tuple[EvaluatorEstimate, ...]
    blind: tuple[str, ...] = ()  # judges that cannot see
    unseen: int = 0  # responses with images that they judge without

    @property
    def tasks(self) -> int:
        return sum(part.tasks for part in self.evaluators)

    @property
    def calls(self) -> int:
        return sum(part.calls for part in self.evaluators)

    @property
    def reused(self) -> int | None:
        """Calls that earlier runs have paid for; None where that was not looked up."""
        counts = [part.reused for part in self.evaluators if part.reused is not None]
        return sum(counts) if counts else None

    @property
    def is_sampled(self) -> bool:
        """Whether figures of some responses stand for all."""
        return any(part.sample < part.tasks for part in self.evaluators if part.calls)

    @property
    def most(self) -> Decimal | None:
        """USD if every reply is as long as its limit allows and asked for once more; None where a price is unknown."""
        costs = [part.most for part in self.evaluators if part.most is not None]
        return sum(costs, Decimal(0)) if costs and not self.unpriced else None

    @property
    def prompt_tokens(self) -> int:
        return sum(part.prompt_tokens for part in self.evaluators)

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.evaluators if part.cost is None)

    @property
    def known_cost(self) -> Decimal:
        """USD over all judges whose price is known."""
        return sum((part.cost for part in self.evaluators if part.cost is not None), Decimal(0))

    @property
    def costs(self) -> dict[str, Decimal]:
        """The known costs in USD by the name of the endpoint; empty for those of several endpoints."""
        costs: dict[str, Decimal] = {}
        for part in self.evaluators:
            costs[part.endpoint] = costs.get(part.endpoint, Decimal(0)) + (part.cost or Decimal(0))
        return costs

    @property
    def cost(self) -> Decimal | None:
        """USD over all judges; None where the price of one is unknown, since unknown is not zero."""
        return None if self.unpriced else self.known_cost

    @property
    def untimed(self) -> tuple[str, ...]:
        """The endpoints of whose latency nothing is known."""
        return tuple(dict.fromkeys(part.endpoint for part in self.evaluators if part.seconds is None))

    @property
    def seconds(self) -> float | None:
        """The slowest judge's time, since endpoints work side by side; None where one is unknown or nobody is called.

        How long rules and baselines compute is not estimated.
        """
        times = [part.seconds for part in self.evaluators]
        return max((time for time in times if time is not None), default=0.0) or None if None not in times else None


@dataclass(frozen=True, slots=True)
class _PlannedWork:
    """When and how the run would be worked."""

    fresh: bool  # what was asked before is asked again
    threads: int
    at: datetime  # some replies are too old by then to be reused
    rereads: bool = True  # a reply that cannot be parsed is asked for once more


RequestBatches = Sequence[tuple[ChatRequest, ...] | None]  # by response; None: it lacks what the judge needs


def estimate_run(*, plan: RunPlan, threads: int, at: datetime) -> RunEstimate:
    """Return what the planned run would ask and cost if it started now."""
    work = _PlannedWork(plan.fresh, threads, at)
    if plan.asks is not None:
        return RunEstimate(tuple(_estimates_with_asks(with_drawn_cases(plan), plan.asks, work)))
    if plan.esi is not None and plan.workers:
        return RunEstimate(tuple(_estimates_with_workers(plan, plan.esi, work)))
    plan = with_drawn_cases(plan)
    ids = list(plan.responses.values_list("pk", flat=True))
    responses = list(Response.objects.filter(pk__in=_evenly_chosen(ids, SAMPLE)).select_related("prompt", "system"))
    prompts = {response.prompt_id for response in responses}
    sampled_cases = Case.objects.filter(links__suite=plan.suite, prompt_id__in=prompts).select_related("prompt")
    cases = {case.prompt_id: case for case in sampled_cases}
    parts: list[EvaluatorEstimate] = []
    for choice in plan.evaluators:
        if plan.esi is None:
            subjects = list(_subjects(choice, responses, cases, plan.suite.benchmark.description))
        else:
            subjects = [
                _esi_subject(cases[response.prompt_id], response.text, response.system.prompt_version)
                for response in responses
            ]
        parts += _estimates(choice, subjects, count=plan.count_for(choice), work=work)
    return RunEstimate(tuple(parts) if plan.esi is None else _as_items(parts))


def _estimates_with_workers(plan: RunPlan, esi: EsiSetup, work: _PlannedWork) -> Iterator[EvaluatorEstimate]:
    """Yield the shares of the models that respond, then of the judges, from a sample of the cases.

    What a model has said to an earlier run is what the judges are asked about; else they are asked about the reference.
    """
    links = Case.objects.filter(links__suite=plan.suite).select_related("prompt").order_by("links__position")
    cases = _evenly_chosen(list(links), max(1, SAMPLE // len(esi.workers)))
    stored: list[JudgeSubject] = []
    guessed: list[JudgeSubject] = []
    for worker in esi.workers:
        sees = worker.endpoint.sees_images
        asked = [case for case in cases if _fits(case, worker.asking)]
        requests = [asking_request(case, worker.asking, with_images=sees) for case in asked]
        target = target_of(worker.endpoint)
        batches = [(request,) for request in requests]
        yield _priced(worker.system_name, target, batches, count=plan.suite.case_count, work=work)
        keys = [call_key(target.config, request) for request in requests]
        replies = {} if work.fresh else ledger.find_finished(keys, at=work.at)
        for case, key in zip(asked, keys, strict=True):
            text = response_text(replies[key].text, esi.reading) if key in replies else case.reference
            subject = _esi_subject(case, text, worker.asking.cleaning)
            (stored if key in replies else guessed).append(subject)
    parts = [
        _estimate(choice, stored, guessed=guessed, count=plan.response_count, work=work) for choice in plan.evaluators
    ]
    yield from _as_items(parts)


def _estimates_with_asks(plan: RunPlan, asks: AskSetup, work: _PlannedWork) -> Iterator[EvaluatorEstimate]:
    """Yield the shares of the systems that are asked, then of graders and judges, from a sample of the cases.

    Judges are asked about what a system said to an earlier run, else about the reference or a text as long as the
    question, and about a sample of the stored responses.
    """
    responses: list[Response] = []
    guessed: list[Response] = []
    asked_ids = asked_cases(suite=plan.suite, selection=plan.selection).values_list("prompt_id", "pk")
    case_ids = list(dict(asked_ids).values())
    sample = _evenly_chosen(case_ids, max(1, SAMPLE // (len(asks.systems) * asks.attempts)))
    cases = list(Case.objects.filter(pk__in=sample).select_related("prompt").order_by("pk"))
    for system, worker in zip(asks.systems, asks.workers, strict=True):
        fitting = [case for case in cases if _fits(case, worker.asking)]
        attempts = [(case, number) for case in fitting for number in range(asks.attempts)]
        if not worker.endpoint.sees_images:
            attempts = [(case, number) for case, number in attempts if not case.prompt.images]
        unseen = len(cases) * asks.attempts - len(attempts)
        requests = [asking_request(case, worker.asking, attempt=number) for case, number in attempts]
        target, count = target_of(worker.endpoint), len(case_ids) * asks.attempts
        batches: RequestBatches = [*((request,) for request in requests), *[None] * unseen]
        yield replace(
            _priced(system.name, target, batches, count=count, work=replace(work, rereads=False)), tasks=count
        )
        keys = [call_key(target.config, request) for request in requests]
        replies = {} if work.fresh else ledger.find_finished(keys, at=work.at)
        for (case, number), key in zip(attempts, keys, strict=True):
            text = without_thinking(replies[key].text) if key in replies else case.reference or case.prompt.text
            response = Response(prompt=case.prompt, system=system, attempt=number, text=text)
            (responses if key in replies else guessed).append(response)
    stored = list(plan.responses.values_list("pk", flat=True))
    total = len(stored) + plan.ask_count
    most = max(1, SAMPLE * len(stored) // (total or 1))
    responses += Response.objects.filter(pk__in=_evenly_chosen(stored, most)).select_related("prompt", "system")
    prompts = {response.prompt_id for response in (*responses, *guessed)}
    rows = Case.objects.filter(links__suite=plan.suite, prompt_id__in=prompts).select_related("prompt")
    by_prompt, description = {case.prompt_id: case for case in rows}, plan.suite.benchmark.description
    for choice in plan.evaluators:
        subjects, guessed_subjects = (
            list(_subjects(choice, each, by_prompt, description)) for each in (responses, guessed)
        )
        yield _estimate(choice, subjects, guessed=guessed_subjects, count=plan.count_for(choice), work=work)


def _as_items(parts: Sequence[EvaluatorEstimate]) -> tuple[EvaluatorEstimate, ...]:
    """Return the shares of judges that are asked together such that all of them are one task for each response."""
    return (*(replace(part, tasks=0) for part in parts[:-1]), parts[-1])


def _estimates(
    choice: EvaluatorChoice, subjects: Sequence[JudgeSubject], *, count: int, work: _PlannedWork
) -> tuple[EvaluatorEstimate, ...]:
    """Return an evaluator's share; of a panel the share of each member, which together are one task a response."""
    members = [] if choice.judge is None else member_judges(choice.judge)
    if not members:
        return (_estimate(choice, subjects, count=count, work=work),)
    parts = [_estimate(replace(choice, judge=member), subjects, count=count, work=work) for member in members]
    named = zip(parts, members, strict=True)
    return _as_items([replace(part, name=f"{choice.name}: {member.name}") for part, member in named])


def _evenly_chosen(rows: Sequence[Row], most: int) -> list[Row]:
    """Return at most so many rows, evenly chosen."""
    return list(rows[:: max(1, -(-len(rows) // most))])


def _estimate(
    choice: EvaluatorChoice,
    subjects: Sequence[JudgeSubject],
    *,
    guessed: Sequence[JudgeSubject] = (),
    count: int,
    work: _PlannedWork,
) -> EvaluatorEstimate:
    """Return an evaluator's share, where these subjects are a sample of `count`; see `_priced`."""
    if choice.judge is None:
        return EvaluatorEstimate(choice.name, count, 0, 0, Decimal(0), 0.0, 0, 0)
    kind = judge_kind(choice.judge.kind)
    options = freeze(judge=choice.judge, options=choice.options)["judge_options"]
    if choice.judge.endpoint is None:
        lacking = sum(bool(kind.missing_needs(subject, options)) for subject in subjects)
        counts = (count, 0, 0, Decimal(0), 0.0, lacking, len(subjects))
        return EvaluatorEstimate(choice.name, *counts, is_baseline=is_baseline(choice.judge))
    judge = kind.build(options)
    batches, guesses = (
        [None if kind.missing_needs(subject, options) else _first_requests(judge, subject) for subject in each]
        for each in (subjects, guessed)
    )
    part = _priced(choice.name, target_of(choice.judge.endpoint), batches, guesses=guesses, count=count, work=work)
    return replace(part, tasks=count)


def _fits(case: Case, asking: ResponseSettings) -> bool:
    """Return whether the prompt of a case is no longer than any may be."""
    try:
        asking_request(case, asking, with_images=False)
    except BadPrompt:
        return False
    return True


def _first_requests(judge: JudgeProgram, subject: JudgeSubject) -> tuple[ChatRequest, ...] | None:
    """Return what a judge asks first; None where its prompt cannot be filled in for this response."""
    try:
        return next(judge.converse(subject))
    except BadPrompt:
        return None


def _priced(
    name: str,
    target: Target,
    batches: RequestBatches,
    *,
    guesses: RequestBatches = (),
    count: int,
    work: _PlannedWork,
) -> EvaluatorEstimate:
    """Return one model's share, without re-asks, where it is asked this of a sample of `count` responses.

    What only stands in for responses that nobody has given yet are `guesses`: all of them are still to be paid for.
    """
    keyed = [(call_key(target.config, request), request) for request in _requests(batches)]
    finished_keys = set() if work.fresh else ledger.finished_keys([key for key, _ in keyed], at=work.at)
    to_pay = [request for key, request in dict(keyed).items() if key not in finished_keys]  # equal ones are asked once
    guessed = _requests(guesses)
    to_pay += guessed
    looked_at = len(batches) + len(guesses)
    scale = count / looked_at if looked_at else 0
    tokens = round(scale * sum(estimate_tokens(request.messages) for request in to_pay))
    remaining = round(scale * len(to_pay))
    sent = [(request, _longest_reask(target, request)) if work.rereads else (request,) for request in to_pay]
    worst = [target.worst_case(request) for requests in sent for request in requests]
    return EvaluatorEstimate(
        name=name,
        tasks=0,
        calls=round(scale * (len(keyed) + len(guessed))),
        prompt_tokens=tokens,
        cost=cost_of_calls(target, remaining, tokens),
        seconds=seconds_of_calls(target, remaining, tokens, work.threads),
        not_possible=[*batches, *guesses].count(None),
        sample=looked_at,
        is_baseline=target.is_lexical,
        endpoint=target.config.name,
        reused=round(scale * sum(key in finished_keys for key, _ in keyed)),
        most=None if None in worst else sum((cost for cost in worst if cost is not None), Decimal(0)) * Decimal(scale),
    )


def _requests(batches: RequestBatches) -> list[ChatRequest]:
    return [request for batch in batches if batch is not None for request in batch]


def _longest_reask(target: Target, request: ChatRequest) -> ChatRequest:
    """Return the re-ask of a reply that was cut off at twice the limit, which is the most that a judge asks."""
    limit = target.config.output_limit(request.max_tokens)
    sent = {"max_tokens": 2 * limit} if limit else {}
    return reask(request, ChatReply(ReplyStatus.TRUNCATED, "x" * QUOTED_REPLY, sent=sent), "x" * PROBLEM_CHARACTERS)


def _subjects(
    choice: EvaluatorChoice, responses: Sequence[Response], cases: dict[int, Case], description: str
) -> Iterator[JudgeSubject]:
    """Yield what an evaluator would be shown of each response; `cases` by prompt. A baseline is shown beside others."""
    baseline_id = choice.baseline.pk if choice.baseline else None
    baselines = read_baselines(system_ids=[baseline_id], prompt_ids=[response.prompt_id for response in responses])
    evaluator = RunEvaluator(judge=choice.judge, rubric=choice.rubric, criterion=choice.criterion)
    trees = trees_of(choice.rubric, cases.values())
    sees = choice.judge is not None and choice.judge.endpoint is not None and choice.judge.endpoint.sees_images
    for response in responses:
        if choice.baseline and response.system_id == baseline_id:
            continue
        other = baselines.beside(baseline_id, response)
        case = cases[response.prompt_id]
        tree = trees.get(case.key) or trees.get("")
        subject = subject_of(case=case, response=response, tree=tree, evaluator=evaluator, other=other)
        subject = replace(subject, about=description)
        yield subject if sees else subject.without_images()


def _esi_subject(case: Case, text: str, cleaning: str) -> JudgeSubject:
    """Return what a judge of an ESI run would be shown of a response."""
    instruction, question = question_of(case)
    return JudgeSubject(
        question=question,
        response=clean_answer(text, cleaning)[0],
        raw_response=text,
        reference=case.reference,
        instruction=instruction,
        prompt_version=cleaning,
    )


def cost_of_calls(target: Target, calls: int, tokens: int) -> Decimal | None:
    if target.is_lexical:
        return Decimal(0)
    return cost_of(target.price, prompt_tokens=tokens, completion_tokens=calls * typical_tokens(target))
