"""What a run would ask and cost, from a sample of its responses, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.db.models import Avg

from judging.judges.questions import QUOTED_REPLY, reask
from judging.judges.registry import judge_kind
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus
from judging.llm.identity import call_key
from judging.llm.prices import cost_of, estimate_tokens
from judging.models import Call, Case, ModelEndpoint, Response, RubricItem, RunEvaluator
from judging.selectors.targets import Target, target_of
from judging.services.calls import ledger
from judging.services.evaluation.evaluator_tasks import freeze, subject_of
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan, with_drawn_cases

SAMPLE = 200  # responses; of a run with more, evenly chosen ones stand for all
TYPICAL_REPLY_TOKENS = 250
TYPICAL_REASONING_TOKENS = 2_000  # with a reasoning model's thinking, which is paid for too
PROBLEM_CHARACTERS = 200  # of the sentence that says why a reply could not be read
LATENCY_CALLS = 50  # the endpoint's latest calls, whose mean latency is taken


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
    made: int | None = None  # of the calls, how many an earlier run has paid for; None: not looked up
    most: Decimal | None = None  # USD if every reply is asked for twice, at full length; None: not known or looked up


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run would take. Replies are counted with a typical length; a budget reserves the worst case."""

    evaluators: tuple[EvaluatorEstimate, ...]

    @property
    def tasks(self) -> int:
        return sum(part.tasks for part in self.evaluators)

    @property
    def calls(self) -> int:
        return sum(part.calls for part in self.evaluators)

    @property
    def made(self) -> int | None:
        """Calls that earlier runs have paid for; None where that was not looked up."""
        made = [part.made for part in self.evaluators if part.made is not None]
        return sum(made) if made else None

    @property
    def is_sampled(self) -> bool:
        """Whether figures of some responses stand for all."""
        return any(part.sample < part.tasks for part in self.evaluators if part.calls)

    @property
    def most(self) -> Decimal | None:
        """USD if every reply is as long as its limit allows and asked for once more; None where a price is unknown."""
        known = [part.most for part in self.evaluators if part.most is not None]
        return sum(known, Decimal(0)) if known and not self.unpriced else None

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
class _Sample:
    """Some responses of a planned run, which stand for all."""

    responses: Sequence[Response]
    cases: dict[int, Case]  # by prompt
    count: int  # of all responses
    about: str  # what the benchmark says of itself
    fresh: bool  # what was asked before is asked again
    at: datetime  # some replies are too old by then to be reused


def estimate_run(*, plan: RunPlan, threads: int, at: datetime) -> RunEstimate:
    """Return what the planned run would ask and cost if it started now."""
    ids = list(with_drawn_cases(plan).responses.values_list("pk", flat=True))
    step = max(1, -(-len(ids) // SAMPLE))
    responses = list(Response.objects.filter(pk__in=ids[::step]).select_related("prompt"))
    prompts = {response.prompt_id for response in responses}
    cases = {case.prompt_id: case for case in Case.objects.filter(links__suite=plan.suite, prompt_id__in=prompts)}
    sample = _Sample(responses, cases, len(ids), plan.suite.benchmark.description, plan.fresh, at)
    return RunEstimate(tuple(_estimate(choice, sample, threads) for choice in plan.evaluators))


def _estimate(choice: EvaluatorChoice, sample: _Sample, threads: int) -> EvaluatorEstimate:
    if choice.judge is None:
        return EvaluatorEstimate(choice.name, sample.count, 0, 0, Decimal(0), 0.0, 0, 0)
    target = target_of(choice.judge.endpoint)
    asked = _first_requests(choice, sample)
    keyed = [(call_key(target.config, request), request) for batch in asked if batch is not None for request in batch]
    made = set() if sample.fresh else ledger.finished_keys([key for key, _ in keyed], at=sample.at)
    to_pay = [request for key, request in dict(keyed).items() if key not in made]  # equal ones are asked once
    scale = sample.count / len(sample.responses) if sample.responses else 0
    tokens = round(scale * sum(estimate_tokens(request.messages) for request in to_pay))
    remaining = round(scale * len(to_pay))
    worst = [target.worst_case(one) for request in to_pay for one in (request, _longest_reask(target, request))]
    return EvaluatorEstimate(
        name=choice.name,
        tasks=sample.count,
        calls=round(scale * len(keyed)),
        prompt_tokens=tokens,
        cost=cost_of_calls(target, remaining, tokens),
        seconds=seconds_of_calls(target, remaining, threads),
        not_possible=asked.count(None),
        sample=len(sample.responses),
        is_baseline=target.is_lexical,
        endpoint=target.config.name,
        made=round(scale * sum(key in made for key, _ in keyed)),
        most=None if None in worst else sum((cost for cost in worst if cost is not None), Decimal(0)) * Decimal(scale),
    )


def _longest_reask(target: Target, request: ChatRequest) -> ChatRequest:
    """Return the re-ask of a reply that was cut off at twice the limit, which is the most that a judge asks."""
    limit = target.config.output_limit(request.max_tokens)
    sent = {"max_tokens": 2 * limit} if limit else {}
    return reask(request, ChatReply(ReplyStatus.TRUNCATED, "x" * QUOTED_REPLY, sent=sent), "x" * PROBLEM_CHARACTERS)


def _first_requests(choice: EvaluatorChoice, sample: _Sample) -> list[tuple[ChatRequest, ...] | None]:
    """Return what the judge asks of each response, without re-asks; None where the response lacks what it needs."""
    assert choice.judge is not None
    frozen = freeze(judge=choice.judge, options=choice.options)
    evaluator = RunEvaluator(judge=choice.judge, rubric=choice.rubric, criterion=choice.criterion, options=frozen)
    trees = _trees(choice, sample.cases)
    kind = judge_kind(choice.judge.kind)
    judge = kind.build(frozen["judge_options"])
    found: list[tuple[ChatRequest, ...] | None] = []
    for response in sample.responses:
        case = sample.cases[response.prompt_id]
        tree = trees.get(case.key) or trees.get("")
        subject = subject_of(case=case, response=response, tree=tree, evaluator=evaluator)
        subject = replace(subject, about=sample.about)
        found.append(None if kind.missing_needs(subject) else next(judge.converse(subject)))
    return found


def _trees(choice: EvaluatorChoice, cases: dict[int, Case]) -> dict[str, dict[str, object]]:
    if choice.rubric is None:
        return {}
    keys = {case.key for case in cases.values()} | {""}
    items = RubricItem.objects.filter(rubric=choice.rubric, case_key__in=keys)
    return dict(items.values_list("case_key", "tree"))


def cost_of_calls(target: Target, calls: int, tokens: int) -> Decimal | None:
    if target.is_lexical:
        return Decimal(0)
    each = TYPICAL_REASONING_TOKENS if target.config.reasoning else TYPICAL_REPLY_TOKENS
    return cost_of(target.price, prompt_tokens=tokens, completion_tokens=calls * each)


def seconds_of_calls(target: Target, calls: int, threads: int) -> float | None:
    if target.is_lexical:
        return calls * 0.002
    latest = Call.objects.filter(endpoint_id=target.endpoint_id).order_by("-finished_at")[:LATENCY_CALLS]
    latency = Call.objects.filter(pk__in=[call.pk for call in latest.only("pk")]).aggregate(mean=Avg("seconds"))["mean"]
    if latency is None:
        latency = _tested_seconds(target)
    if latency is None:
        return None
    at_once = max(1, min(threads, target.config.max_concurrency))
    return float(-(-calls // at_once) * latency)


def _tested_seconds(target: Target) -> float | None:
    """Return how long the endpoint's last test took; None where it failed or there was none."""
    tested = ModelEndpoint.objects.values_list("last_test", flat=True).get(pk=target.endpoint_id)
    return tested["seconds"] if tested.get("works") else None
