"""Which pairs of responses a set of debates would compare, and what that takes at least and at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Avg
from django.db.models.functions import Length

from debate.protocol.options import DebateOptions
from debate.protocol.setups import Method
from judging.llm.prices import MILLION, Price
from judging.models import Case, ModelEndpoint, Response, Rubric, Suite, System
from judging.selectors.selections import case_filters
from judging.selectors.targets import Target, target_of
from judging.specs.selections import ALL_CASES, CaseSelection, draw_keys

FIXED_CHARACTERS = 1_400  # of the prompts around question, answers and criterion
STATEMENT_CHARACTERS = 900  # 150 words, as the prompt asks for
STATEMENT_TOKENS = 200
SAMPLE = 200  # pairs whose texts are measured


@dataclass(frozen=True, slots=True)
class DebateWish:
    """What a set of debates is to be."""

    suite: Suite
    system_a: System
    system_b: System
    rubric: Rubric
    criterion: str
    endpoints: Sequence[ModelEndpoint]  # as many as the method has seats; one may sit on several
    options: DebateOptions = field(default_factory=DebateOptions)
    budget: Decimal | None = None  # USD
    name: str = ""
    fresh: bool = False  # ask for every reply again, also where an earlier run has one
    selection: CaseSelection = ALL_CASES

    @property
    def pairs(self) -> list[Pair]:
        return pairs_of(suite=self.suite, system_a=self.system_a, system_b=self.system_b, selection=self.selection)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two responses to one case."""

    case: Case
    response_a: Response
    response_b: Response


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a set of debates takes: if all agree at once, and if none ever does and every reply is asked for twice."""

    debates: int
    calls_least: int
    calls_most: int
    cost_least: Decimal | None  # USD; None: a price is unknown
    cost_most: Decimal | None
    unpriced: tuple[str, ...]  # endpoints without a price
    baselines: tuple[str, ...]  # endpoints that are no language models


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
        given = answers.get(case.prompt_id, {})
        if len(given) == 2 and case.prompt_id not in pairs:
            pairs[case.prompt_id] = Pair(case, given[system_a.pk], given[system_b.pk])
    by_key = {pair.case.key: pair for pair in pairs.values()}
    return [by_key[key] for key in draw_keys(by_key, limit=selection.limit, seed=selection.seed)]


def estimate_debates(wish: DebateWish) -> Estimate:
    """Return how many debates, calls and dollars a wish takes, at least and at most; nothing is stored."""
    pairs = wish.pairs
    targets = [target_of(endpoint) for endpoint in wish.endpoints]
    options, seats, count = wish.options, len(targets), len(pairs)
    openings = 2 if options.both_orders_opening else 1
    if options.method is not Method.DEBATE:
        openings *= options.samples
    rounds_least = options.steps_least - 1 if options.method is Method.DEBATE else 0
    rounds_most = options.max_rounds if options.method is Method.DEBATE else 0
    characters = _characters(pairs)
    unpriced = tuple(dict.fromkeys(t.config.name for t in targets if t.price is None and not t.is_lexical))
    least = most = None
    if not unpriced:
        least = sum((_least(t, characters, openings, rounds_least, seats) for t in targets), Decimal(0)) * count
        most = sum((_most(t, characters, openings, rounds_most, seats, options) for t in targets), Decimal(0)) * count
    return Estimate(
        debates=count,
        calls_least=count * seats * (openings + rounds_least),
        calls_most=count * seats * (openings + rounds_most) * 2,
        cost_least=least,
        cost_most=most,
        unpriced=unpriced,
        baselines=tuple(dict.fromkeys(t.config.name for t in targets if t.is_lexical)),
    )


def estimate_all(wishes: Sequence[DebateWish]) -> Estimate:
    """Return what several sets take together; sets that differ only in their criterion are measured once."""
    known: dict[tuple[Any, ...], Estimate] = {}
    parts = []
    for wish in wishes:
        key = (wish.suite.pk, wish.system_a.pk, wish.system_b.pk)
        if key not in known:
            known[key] = estimate_debates(wish)
        parts.append(known[key])
    unpriced = tuple(dict.fromkeys(name for part in parts for name in part.unpriced))
    return Estimate(
        debates=sum(part.debates for part in parts),
        calls_least=sum(part.calls_least for part in parts),
        calls_most=sum(part.calls_most for part in parts),
        cost_least=None if unpriced else sum((part.cost_least or Decimal(0) for part in parts), Decimal(0)),
        cost_most=None if unpriced else sum((part.cost_most or Decimal(0) for part in parts), Decimal(0)),
        unpriced=unpriced,
        baselines=tuple(dict.fromkeys(name for part in parts for name in part.baselines)),
    )


def _characters(pairs: Sequence[Pair]) -> float:
    """Return the average length of what a speaker reads of one of the first pairs, in characters. Two queries."""
    sample = pairs[:SAMPLE]
    if not sample:
        return 0
    ids = [response.pk for pair in sample for response in (pair.response_a, pair.response_b)]
    answers = Response.objects.filter(pk__in=ids).aggregate(mean=Avg(Length("text")))["mean"] or 0
    asked = Case.objects.filter(pk__in=[pair.case.pk for pair in sample]).aggregate(
        mean=Avg(Length("prompt__text") + Length("prompt__context") + Length("reference"))
    )["mean"]
    return FIXED_CHARACTERS + 2 * float(answers) + float(asked or 0)


def _least(target: Target, characters: float, openings: int, rounds: int, seats: int) -> Decimal:
    """Return the dollars of one seat at four characters a token, with statements as long as asked for."""
    heard = characters + seats * STATEMENT_CHARACTERS
    prompt = (openings * characters + rounds * heard) / 4
    return _dollars(target.price, prompt, (openings + rounds) * STATEMENT_TOKENS)


def _most(target: Target, characters: float, openings: int, rounds: int, seats: int, options: DebateOptions) -> Decimal:
    """Return the dollars of one seat at two characters a token, every reply as long as allowed and asked for twice."""
    longest = options.max_tokens or 4 * STATEMENT_TOKENS
    rounds_read = rounds if options.visibility == "full" else 1
    heard = characters + seats * rounds_read * 4 * longest
    prompt = 2 * (openings * characters + rounds * heard) / 2
    return _dollars(target.price, prompt, 2 * (openings + rounds) * longest)


def _dollars(price: Price | None, prompt_tokens: float, completion_tokens: float) -> Decimal:
    if price is None:  # a baseline
        return Decimal(0)
    cost = Decimal(prompt_tokens) * price.input_per_million + Decimal(completion_tokens) * price.output_per_million
    return cost / MILLION
