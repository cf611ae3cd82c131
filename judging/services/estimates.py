"""What a run would ask and cost, from a sample of its responses, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Avg

from judging.judges.registry import judge_kind
from judging.llm.prices import cost_of, estimate_tokens
from judging.models import Call, Case, ModelEndpoint, Response, RubricItem, RunEvaluator
from judging.selectors.targets import Target, target_of
from judging.services.evaluating import freeze, subject_of
from judging.services.planning import EvaluatorChoice, RunPlan, with_drawn_cases

SAMPLE = 20
TYPICAL_REPLY_TOKENS = 250
TYPICAL_REASONING_TOKENS = 2_000  # with a reasoning model's thinking, which is paid for too
LATENCY_CALLS = 50  # the endpoint's latest calls, whose mean latency is taken


@dataclass(frozen=True, slots=True)
class EvaluatorEstimate:
    """One grader's or judge's share of a run."""

    name: str
    tasks: int
    calls: int
    prompt_tokens: int
    cost: Decimal | None  # USD; None: the endpoint's price is unknown
    seconds: float | None  # None: nothing is known of the endpoint's latency
    not_possible: int  # of the sampled responses, how many lack what the judge needs
    sample: int  # responses looked at
    is_baseline: bool = False
    endpoint: str = ""


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


def estimate_run(*, plan: RunPlan, threads: int) -> RunEstimate:
    """Return what the planned run would ask and cost."""
    responses = with_drawn_cases(plan).responses
    count = responses.count()
    step = max(1, count // SAMPLE)
    sample = list(responses.select_related("prompt")[: step * SAMPLE : step]) if count else []
    cases = {
        case.prompt_id: case
        for case in Case.objects.filter(
            links__suite=plan.suite, prompt_id__in={response.prompt_id for response in sample}
        )
    }
    return RunEstimate(tuple(_estimate(choice, sample, cases, count, threads) for choice in plan.evaluators))


def _estimate(
    choice: EvaluatorChoice, sample: Sequence[Response], cases: dict[int, Case], count: int, threads: int
) -> EvaluatorEstimate:
    if choice.judge is None:
        return EvaluatorEstimate(choice.name, count, 0, 0, Decimal(0), 0.0, 0, 0)
    evaluator = RunEvaluator(
        judge=choice.judge,
        rubric=choice.rubric,
        criterion=choice.criterion,
        options=freeze(judge=choice.judge, options=choice.options),
    )
    trees = _trees(choice, cases)
    kind = judge_kind(choice.judge.kind)
    judge = kind.build(evaluator.options["judge_options"])
    calls = tokens = lacking = 0
    for response in sample:
        case = cases[response.prompt_id]
        tree = trees.get(case.key) or trees.get("")
        subject = subject_of(case=case, response=response, tree=tree, evaluator=evaluator)
        if kind.missing_needs(subject):
            lacking += 1
            continue
        times = judge.calls(subject)
        calls += times
        tokens += times * estimate_tokens(judge.build_messages(subject))
    scale = count / len(sample) if sample else 0
    target = target_of(choice.judge.endpoint)
    all_calls, all_tokens = round(calls * scale), round(tokens * scale)
    return EvaluatorEstimate(
        name=choice.name,
        tasks=count,
        calls=all_calls,
        prompt_tokens=all_tokens,
        cost=cost_of_calls(target, all_calls, all_tokens),
        seconds=seconds_of_calls(target, all_calls, threads),
        not_possible=lacking,
        sample=len(sample),
        is_baseline=target.is_lexical,
        endpoint=target.config.name,
    )


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
