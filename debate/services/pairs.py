"""Which pairs of responses a set of debates would compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from debate.protocol.options import DebateOptions
from debate.protocol.setups import Method
from judging.models import Case, ModelEndpoint, Prompt, Response, Rubric, Suite, System
from judging.selectors.selections import case_filters
from judging.services.runs.people_costs import PeopleCost, people_cost, total_cost
from judging.specs.selections import ALL_CASES, CaseSelection, draw_keys


@dataclass(frozen=True, slots=True)
class DebateWish:
    """What a set of debates is to be."""

    suite: Suite
    system_a: System
    system_b: System
    rubric: Rubric
    criterion: str
    endpoints: Sequence[ModelEndpoint]  # one for each agent; one may stand for several
    options: DebateOptions = field(default_factory=DebateOptions)
    budget: Decimal | None = None  # USD
    name: str = ""
    fresh: bool = False  # ask for every reply again, also where an earlier run has one
    selection: CaseSelection = ALL_CASES
    without_images: bool = False  # agents that cannot see debate without images; else such a set is refused

    @property
    def pairs(self) -> list[Pair]:
        return pairs_of(suite=self.suite, system_a=self.system_a, system_b=self.system_b, selection=self.selection)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two responses to one case."""

    case: Case
    response_a: Response
    response_b: Response


def pairs_of(*, suite: Suite, system_a: System, system_b: System, selection: CaseSelection = ALL_CASES) -> list[Pair]:
    """Return the first responses of both systems to every case of a suite that both answered, in the suite's order.

    Of a selection with a number, so many of these are drawn. Cases that share a prompt share their responses: the first
    of them stands for all. Two queries, without any text.
    """
    cases = Case.objects.filter(links__suite=suite, **case_filters(selection)).order_by("links__position", "pk")
    answers: dict[int, dict[int, Response]] = {}
    for response in Response.objects.filter(
        prompt__cases__suites=suite, system__in=[system_a, system_b], attempt=0, superseded_at__isnull=True
    ).defer("text", "metadata"):
        answers.setdefault(response.prompt_id, {})[response.system_id] = response
    pairs: dict[int, Pair] = {}
    for case in cases.only("key", "scenario", "prompt_id"):
        by_system = answers.get(case.prompt_id, {})
        if len(by_system) == 2 and case.prompt_id not in pairs:
            pairs[case.prompt_id] = Pair(case, by_system[system_a.pk], by_system[system_b.pk])
    by_key = {pair.case.key: pair for pair in pairs.values()}
    return [by_key[key] for key in draw_keys(by_key, limit=selection.limit, seed=selection.seed)]


def count_with_images(pairs: Sequence[Pair], suite: Suite) -> int:
    """Return how many pairs have images, of the question or of a response. One query."""
    prompts = Prompt.objects.filter(cases__links__suite=suite).exclude(images=[])
    shown = set(prompts.values_list("pk", flat=True))
    return sum(
        pair.case.prompt_id in shown or bool(pair.response_a.images) or bool(pair.response_b.images) for pair in pairs
    )


def people_cost_of(wishes: Sequence[DebateWish]) -> PeopleCost | None:
    """Return what the random audits of several sets ask of people; baselines and perturbed criteria ask nobody."""
    return total_cost(
        people_cost(cases=count, subjects=count)
        for wish in wishes
        for count in [len(wish.pairs)]
        if wish.options.method is Method.DEBATE
    )
