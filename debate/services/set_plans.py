"""Makes sets of debates: the run, the debates with their drawn orders, and one task for each; says what they cost."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from itertools import combinations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Avg
from django.db.models.functions import Length

from debate.models import Agent, Debate, DebateSet, Experiment, ExperimentKind
from debate.protocol.debate import run_debate
from debate.protocol.setups import (
    FILE_SUFFIXES,
    DebateOptions,
    DebateSetup,
    Method,
    Orders,
    Perturbation,
    RoundMode,
    draw_orders,
)
from debate.selectors import SEEN_BY, criteria_by_case, criterion_names, images_of, setup_with
from evalsite.accounts.audit import record
from evalsite.base.signals import debates_finished
from evalsite.base.types import Refused
from judging.llm.lanes import MILLION, TOKENS_PER_IMAGE, Price
from judging.models import Case, ModelEndpoint, Prompt, Response, Rubric, Run, RunKind, RunTask, Suite, System
from judging.selectors.benchmarks import case_filters, check_selection
from judging.selectors.endpoints import Target, budget_refusal, target_of, unpriced
from judging.services.day_budgets import FROZEN, freeze_endpoints
from judging.services.ledger import Replay, replay
from judging.services.runs.estimates import latency_of, seconds_at
from judging.services.runs.people_costs import PeopleCost, PeopleQuestion, people_cost, total_cost
from judging.specs.people_choices import AskedPeople
from judging.specs.selections import ALL_CASES, CaseSelection, SelectionRefused, draw_keys


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
    people: AskedPeople = AskedPeople.OPEN  # what goes to people when they end
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
    current = Response.objects.filter(
        prompt__cases__suites=suite, system__in=[system_a, system_b], superseded_at__isnull=True
    )
    for response in current.defer("text", "metadata").order_by("-attempt"):  # files may count attempts from 1
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
    """Return what several sets ask of people; baselines and perturbed criteria ask nobody."""
    return total_cost(
        people_cost(
            PeopleQuestion(
                choice=wish.people,
                cases=count,
                subjects=count,
                is_pair=True,
                agents=[endpoint.name for endpoint in wish.endpoints],
            )
        )
        for wish in wishes
        for count in [len(wish.pairs)]
        if wish.options.method is Method.DEBATE
    )


BATCH = 500


class DebatesRefused(Refused):
    """The debates cannot be started with these choices; the message says what to change and is shown on the page."""


def check_debates(wish: DebateWish) -> list[Pair]:
    """Return the pairs to debate.

    Raises:
        DebatesRefused: same system twice, too few or too many agents, an unknown criterion, nothing to compare, or
            a budget that cannot be kept.
    """
    if wish.system_a == wish.system_b:
        raise DebatesRefused(f"Choose two different systems; {wish.system_a} cannot be compared with itself.")
    check_agent_count(wish)
    if inactive := [endpoint.name for endpoint in wish.endpoints if not endpoint.is_active]:
        raise DebatesRefused(f"{', '.join(inactive)} is inactive. Activate it or choose another agent.")
    names = criterion_names(wish.rubric)
    if wish.criterion not in names:
        raise DebatesRefused(
            f"{wish.rubric} has no criterion {wish.criterion!r}. It has: {', '.join(names) or 'none'}."
        )
    if wish.budget is not None and (refusal := budget_refusal(map(target_of, wish.endpoints))):
        raise DebatesRefused(refusal)
    try:
        check_selection(suite=wish.suite, selection=wish.selection)
    except SelectionRefused as unknown:
        raise DebatesRefused(str(unknown)) from unknown
    pairs = wish.pairs
    if not pairs:
        part = "" if wish.selection.is_all else f" ({wish.selection.words})"
        raise DebatesRefused(
            f"{wish.system_a} and {wish.system_b} have no case of {wish.suite}{part} in common. Import their responses."
        )
    _check_images(wish, pairs)
    return pairs


def _check_images(wish: DebateWish, pairs: Sequence[Pair]) -> None:
    """Refuse to debate without images what has some, unless that was chosen."""
    unseeing = dict.fromkeys(endpoint.name for endpoint in wish.endpoints if not endpoint.sees_images)
    blind = [] if wish.without_images else list(unseeing)
    count = count_with_images(pairs, wish.suite) if blind else 0
    if count:
        raise DebatesRefused(
            f"{', '.join(blind)} cannot see images, and {count:,} of the pairs have some. Choose agents whose endpoint "
            "has shown in its test that it sees, or choose “Debate without images”."
        )


def check_agent_count(wish: DebateWish) -> None:
    """Refuse a number of agents that the method does not allow.

    Raises:
        DebatesRefused: with how many there may be.
    """
    options, chosen = wish.options, len(wish.endpoints)
    if options.fewest_judges <= chosen <= options.most_judges:
        return
    if options.most_judges == 1:
        raise DebatesRefused(f"{Method(options.method).label} needs exactly one judge; {chosen} were chosen.")
    what = "A debate" if options.method is Method.DEBATE else Method(options.method).label
    noun = "agents" if options.method is Method.DEBATE else "judges"
    raise DebatesRefused(f"{what} needs {options.fewest_judges} to {options.most_judges} {noun}; {chosen} were chosen.")


@transaction.atomic
def create_debate_set(
    *, wish: DebateWish, actor: User | None, at: datetime, experiment: Experiment | None = None
) -> DebateSet:
    """Store a set of debates, ready to be launched: the orders are drawn now and never again.

    Raises:
        DebatesRefused: see `check_debates`.
    """
    pairs = check_debates(wish)
    name = (wish.name or name_of(wish))[:200]
    setup = {
        **wish.options.to_json(),
        "endpoints": [endpoint.name for endpoint in wish.endpoints],
        "selection": wish.selection.to_json(),
    }
    if count_with_images(pairs, wish.suite):
        setup[SEEN_BY] = sorted({endpoint.name for endpoint in wish.endpoints if endpoint.sees_images})
    run = Run.objects.create(
        kind=RunKind.DEBATE,
        name=name,
        suite=wish.suite,
        options={**setup, **wish.people.to_json(), "fresh": wish.fresh, FROZEN: freeze_endpoints(wish.endpoints)},
        budget=wish.budget,
        total=len(pairs),
        created_at=at,
        created_by=actor,
    )
    run.systems.set([wish.system_a, wish.system_b])
    debate_set = DebateSet.objects.create(
        run=run,
        name=name,
        system_a=wish.system_a,
        system_b=wish.system_b,
        rubric=wish.rubric,
        criterion=wish.criterion,
        method=wish.options.method.value,
        experiment=experiment,
        setup=setup,
        created_at=at,
    )
    debates = _store_debates(debate_set, pairs, wish)
    tasks = [RunTask(run=run, subject_id=debate.pk) for debate in debates]
    RunTask.objects.bulk_create(tasks, batch_size=BATCH)
    record(actor, "debates.created", debate_set, debates=len(debates), agents=len(wish.endpoints))
    return debate_set


def name_of(wish: DebateWish) -> str:
    """Return what a set is called that nobody named."""
    compared = f"{wish.system_a} vs {wish.system_b}, {wish.criterion}"
    if not wish.selection.is_all:
        compared = f"{compared}, {wish.selection.words}"
    if wish.options.method is Method.DEBATE:
        return compared
    judges = ", ".join(dict.fromkeys(endpoint.name for endpoint in wish.endpoints))
    return f"{compared} · {Method(wish.options.method).label}: {judges}"


def announce_finished(set_id: int) -> None:
    """Tell the apps above that a set's debates are over, once this is committed."""
    transaction.on_commit(lambda: debates_finished.send_robust(sender=DebateSet, debate_set_id=set_id))


def _store_debates(debate_set: DebateSet, pairs: Sequence[Pair], wish: DebateWish) -> list[Debate]:
    draws = [draw_of(pair, wish) for pair in pairs]
    debates = Debate.objects.bulk_create(
        [
            Debate(
                debate_set=debate_set,
                case=pair.case,
                response_a=pair.response_a,
                response_b=pair.response_b,
                scenario=pair.case.scenario,
                seed=wish.options.seed,
                response_order=orders.response_order,
            )
            for pair, orders in zip(pairs, draws, strict=True)
        ],
        batch_size=BATCH,
    )
    by_name = {endpoint.name: endpoint for endpoint in wish.endpoints}
    Agent.objects.bulk_create(
        [
            Agent(debate=debate, number=number, endpoint=by_name[name], name=name)
            for debate, orders in zip(debates, draws, strict=True)
            for number, name in enumerate(orders.agents, start=1)
        ],
        batch_size=BATCH,
    )
    return debates


def draw_of(pair: Pair, wish: DebateWish) -> Orders:
    """Return the orders in which a debate of a wish is held."""
    return draw_orders(
        seed=wish.options.seed,
        key=f"{pair.case.key}|{wish.system_a.name}|{wish.system_b.name}|{wish.options.order_key or wish.criterion}",
        endpoints=[endpoint.name for endpoint in wish.endpoints],
        scheme=wish.options.agent_order,
    )


FEWEST_SYSTEMS, MOST_SYSTEMS = 3, 12
CENT = Decimal("0.000001")
_NUMBERED = re.compile(r"\A(?P<base>.+)-1\Z")


@transaction.atomic
def create_round_robin(*, wish: DebateWish, systems: Sequence[System], actor: User | None, at: datetime) -> Experiment:
    """Store a set for each pair of these systems, as `wish` says otherwise; what is compared in it is passed over.

    A budget is shared out evenly. Two systems that have answered no case together are left out and named.

    Raises:
        DebatesRefused: too few or too many systems, nothing to compare, or what `create_debate_set` refuses.
    """
    chosen = list(dict.fromkeys(systems))
    if not FEWEST_SYSTEMS <= len(chosen) <= MOST_SYSTEMS:
        raise DebatesRefused(f"Choose {FEWEST_SYSTEMS} to {MOST_SYSTEMS} systems; {len(chosen)} were chosen.")
    wishes = round_robin_wishes(wish, chosen)
    if not wishes:
        raise DebatesRefused(f"No two of these systems have responses to the same case of {wish.suite}.")
    compared = {(each.system_a, each.system_b) for each in wishes}
    left_out = [f"{a} and {b}" for a, b in combinations(chosen, 2) if (a, b) not in compared]
    experiment = Experiment.objects.create(
        kind=ExperimentKind.ROUND_ROBIN,
        name=(wish.name or f"All pairs of {len(chosen)} systems, {wish.criterion}")[:200],
        options={"systems": [system.name for system in chosen], "left_out": left_out},
        created_at=at,
    )
    for each in wishes:
        create_debate_set(wish=each, actor=actor, at=at, experiment=experiment)
    return experiment


def round_robin_wishes(wish: DebateWish, systems: Sequence[System]) -> list[DebateWish]:
    """Return a wish for all pairs of these systems that have answered a case together, the budget shared out."""
    pairs = [(a, b) for a, b in combinations(systems, 2) if replace(wish, system_a=a, system_b=b).pairs]
    budget = _share(wish.budget, len(pairs))
    return [replace(wish, system_a=a, system_b=b, budget=budget, name="") for a, b in pairs]


@transaction.atomic
def create_robustness(*, wish: DebateWish, seed: int, use_given: bool, actor: User | None, at: datetime) -> Experiment:
    """Store a set of single judgements for each condition of the wished criterion: intact, and perturbed in five ways.

    All chosen endpoints judge on their own, with the same orders in all conditions. With `use_given` the perturbed
    texts are those that the rubric brings along (`helpfulness-2` to `-6`), as far as it does; others come from `seed`.

    Raises:
        DebatesRefused: no judge, more than the method allows, or what `create_debate_set` refuses.
    """
    if not wish.endpoints:
        raise DebatesRefused("Choose at least one judge.")
    wishes = robustness_wishes(wish, seed=seed, use_given=use_given)
    perturbations = [each.options.perturbation.value for each in wishes if each.options.perturbation_is_given]
    experiment = Experiment.objects.create(
        kind=ExperimentKind.ROBUSTNESS,
        name=(wish.name or f"Robustness of {wish.criterion}: {wish.system_a} vs {wish.system_b}")[:200],
        options={"criterion": wish.criterion, "seed": seed, "given": perturbations},
        created_at=at,
    )
    for each in wishes:
        create_debate_set(wish=each, actor=actor, at=at, experiment=experiment)
    return experiment


def robustness_wishes(wish: DebateWish, *, seed: int, use_given: bool) -> list[DebateWish]:
    """Return a wish for each condition of the wished criterion, the budget shared out."""
    variants = variants_of(names=criterion_names(wish.rubric), criterion=wish.criterion, use_given=use_given)
    budget = _share(wish.budget, len(variants))
    options = replace(
        wish.options,
        method=Method.SINGLE if len(wish.endpoints) == 1 else Method.MULTI_JUDGE,
        samples=1,
        perturbation_seed=seed,
        shown_criterion=wish.criterion,
        order_key=wish.criterion,
    )
    return [
        replace(
            wish,
            criterion=criterion,
            options=replace(options, perturbation=perturbation, perturbation_is_given=is_given),
            budget=budget,
            name=f"{wish.system_a} vs {wish.system_b}, {wish.criterion} · "
            + ("intact" if perturbation is Perturbation.NONE else str(perturbation)),
        )
        for perturbation, criterion, is_given in variants
    ]


def variants_of(*, names: Sequence[str], criterion: str, use_given: bool) -> list[tuple[Perturbation, str, bool]]:
    """Return the six conditions of a criterion, each with the stored criterion that is read and whether its text is
    perturbed already; `names` are the criteria of its rubric.
    """
    numbered = _NUMBERED.match(criterion)
    base = numbered["base"] if numbered else criterion
    variants: list[tuple[Perturbation, str, bool]] = []
    for suffix, perturbation in FILE_SUFFIXES.items():
        name = f"{base}-{suffix}"
        if use_given and perturbation is not Perturbation.NONE and name in names:
            variants.append((perturbation, name, True))
        else:
            variants.append((perturbation, criterion, False))
    return variants


def _share(budget: Decimal | None, parts: int) -> Decimal | None:
    return None if budget is None or not parts else (budget / parts).quantize(CENT, rounding=ROUND_DOWN)


FIXED_CHARACTERS = 1_400  # of the prompts around question, answers and criterion
STATEMENT_CHARACTERS = 900  # 150 words, as the prompt asks for
STATEMENT_TOKENS = 200
CHARACTERS_PER_TOKEN = 4
SAMPLE = 200  # pairs whose texts are measured
REPLAYED = 60  # debates, of all sets together, that are looked up in the ledger


@dataclass(frozen=True, slots=True)
class DebateEstimate:
    """What sets of debates take: if all agree at once, and if none ever does and every reply is asked for twice."""

    debates: int
    calls_least: int
    calls_most: int
    made: int  # of these calls, how many earlier runs have paid for
    cost_least: Decimal | None  # USD of those that are still to be made; None: a price is unknown
    cost_most: Decimal | None
    unpriced: tuple[str, ...] = ()  # endpoints without a price
    baselines: tuple[str, ...] = ()  # endpoints that are no language models
    seconds_least: float | None = None  # None: nothing is known of the latency of an endpoint
    seconds_most: float | None = None
    untimed: tuple[str, ...] = ()  # endpoints of whose latency nothing is known
    costs: Mapping[str, Decimal] = field(default_factory=dict)  # USD at least by endpoint, without those of no price


@dataclass(frozen=True, slots=True)
class _Length:
    """What an agent reads of a pair, on average."""

    characters: float
    images: float

    def read_by(self, endpoint: ModelEndpoint) -> float:
        """Return the characters that an endpoint reads, with those that cost as much as the images that it is sent."""
        images = self.images if endpoint.sees_images else 0
        return self.characters + images * TOKENS_PER_IMAGE * CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class _Load:
    """What an endpoint is asked for, by one agent or by several together; fractions are averages over debates."""

    calls: float = 0.0
    prompt_tokens: float = 0.0
    reply_tokens: float = 0.0
    in_turn: int = 0  # of the calls of one debate, how many wait for one another

    def __add__(self, other: _Load) -> _Load:
        return _Load(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            max(self.in_turn, other.in_turn),
        )

    def times(self, factor: float) -> _Load:
        """Return the load of so many debates that are held side by side."""
        in_turn = self.in_turn if factor else 0
        return _Load(self.calls * factor, self.prompt_tokens * factor, self.reply_tokens * factor, in_turn)


def estimate_all(wishes: Sequence[DebateWish], *, threads: int, at: datetime) -> DebateEstimate:
    """Return how many debates, calls, dollars and seconds several sets take, at least and at most; nothing is stored.

    Texts of sets that differ only in their criterion are measured once; some debates of each are held with the replies
    that earlier runs have paid for, as far as these go.
    """
    measured: dict[tuple[int, int, int], tuple[list[Pair], _Length]] = {}
    for wish in wishes:
        if _compared(wish) not in measured:
            pairs = wish.pairs
            measured[_compared(wish)] = pairs, _length_of(pairs)
    estimates = [measured[_compared(wish)] for wish in wishes]
    targets = [[target_of(endpoint) for endpoint in wish.endpoints] for wish in wishes]
    replays = _replays(wishes, [pairs for pairs, _ in estimates], at)
    held_parts = [
        _part_of(wish, len(pairs), length, group, replayed)
        for wish, (pairs, length), group, replayed in zip(wishes, estimates, targets, replays, strict=True)
    ]
    parts = [estimate for estimate, _ in held_parts]
    every = [target for group in targets for target in group]
    lacking = tuple(unpriced(every))
    untimed, seconds = _seconds([load for _, loads in held_parts for load in loads], threads)
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    for target, of_least, _ in [load for _, loads in held_parts for load in loads]:
        if target.price is not None:
            costs[target.config.name] += _dollars(target.price, of_least)
    return DebateEstimate(
        debates=sum(part.debates for part in parts),
        calls_least=sum(part.calls_least for part in parts),
        calls_most=sum(part.calls_most for part in parts),
        made=sum(part.made for part in parts),
        cost_least=None if lacking else _sum(part.cost_least for part in parts),
        cost_most=None if lacking else _sum(part.cost_most for part in parts),
        unpriced=lacking,
        baselines=tuple(dict.fromkeys(t.config.name for t in every if t.is_lexical)),
        seconds_least=None if untimed else max((least for least, _ in seconds), default=0.0),
        seconds_most=None if untimed else max((most for _, most in seconds), default=0.0),
        untimed=untimed,
        costs=dict(costs),
    )


def _seconds(
    loads: Sequence[tuple[Target, _Load, _Load]], threads: int
) -> tuple[tuple[str, ...], list[tuple[float, float]]]:
    """Return the endpoints that cannot be timed, and the seconds that each other one takes at least and at most.

    Agents on one endpoint share its rate limits, those of different sets too; endpoints work side by side. Baselines
    are not timed.
    """
    summed: dict[str, tuple[Target, _Load, _Load]] = {}
    for target, least, most in loads:
        if not target.is_lexical:
            _, least_before, most_before = summed.get(target.config.name, (target, _Load(), _Load()))
            summed[target.config.name] = target, least_before + least, most_before + most
    untimed: list[str] = []
    seconds: list[tuple[float, float]] = []
    for name, (target, *of_endpoint) in summed.items():
        latency = latency_of(target)
        if latency is None:
            untimed.append(name)
            continue
        least_seconds, most_seconds = (_seconds_of(target, load, latency, threads) for load in of_endpoint)
        seconds.append((least_seconds, most_seconds))
    return tuple(untimed), seconds


def _seconds_of(target: Target, load: _Load, latency: float, threads: int) -> float:
    return seconds_at(
        target,
        latency=latency,
        calls=round(load.calls),
        tokens=round(load.prompt_tokens + load.reply_tokens),
        threads=threads,
        in_turn=load.in_turn,
    )


def _compared(wish: DebateWish) -> tuple[int, int, int]:
    return wish.suite.pk, wish.system_a.pk, wish.system_b.pk


def _part_of(
    wish: DebateWish, count: int, length: _Length, targets: Sequence[Target], replays: Sequence[Replay]
) -> tuple[DebateEstimate, tuple[tuple[Target, _Load, _Load], ...]]:
    """Return the same of one set, without prices at no cost, and what each agent asks for at least and at most."""
    options, agents = wish.options, len(targets)
    first_asks = 2 if options.independent_both_orders else 1
    if options.method is not Method.DEBATE:
        first_asks *= options.samples
    rounds_least = options.steps_least - 1 if options.method is Method.DEBATE else 0
    rounds_most = options.max_rounds if options.method is Method.DEBATE else 0
    least, most = agents * (first_asks + rounds_least), agents * (first_asks + rounds_most) * 2
    read = [length.read_by(endpoint) for endpoint in wish.endpoints]
    turns = agents if options.mode is RoundMode.SEQUENTIAL else 1  # of a round, which agents then take one by one
    agents_least = [
        replace(_least(characters, first_asks, rounds_least, agents), in_turn=1 + rounds_least * turns)
        for characters in read
    ]
    agents_most = [
        replace(_most(characters, first_asks, rounds_most, agents, options), in_turn=2 * (1 + rounds_most * turns))
        for characters in read
    ]
    left_least, left_most = count * _share_left(replays, least), count * _share_left(replays, most)
    prices = [target.price for target in targets]
    estimate = DebateEstimate(
        debates=count,
        calls_least=count * least,
        calls_most=count * most,
        made=round(count * sum(len(replayed.replied) for replayed in replays) / len(replays)) if replays else 0,
        cost_least=_sum(map(_dollars, prices, agents_least)) * left_least,
        cost_most=_sum(map(_dollars, prices, agents_most)) * left_most,
    )
    loads = tuple(
        (target, of_least.times(float(left_least)), of_most.times(float(left_most)))
        for target, of_least, of_most in zip(targets, agents_least, agents_most, strict=True)
    )
    return estimate, loads


def _share_left(replays: Sequence[Replay], calls: int) -> Decimal:
    """Return which share of so many calls of each debate is still to be made; all, where nobody looked."""
    if not replays or not calls:
        return Decimal(1)
    unpaid = sum(max(len(replayed.unpaid), calls - len(replayed.replied)) for replayed in replays if replayed.unpaid)
    return Decimal(unpaid) / (calls * len(replays))


def _sum(amounts: Iterable[Decimal | None]) -> Decimal:
    return sum((amount for amount in amounts if amount is not None), Decimal(0))


def _replays(wishes: Sequence[DebateWish], pairs: Sequence[Sequence[Pair]], at: datetime) -> list[list[Replay]]:
    """Hold some debates of each set by stored replies alone; none where replies are asked for again or none can be."""
    each = max(1, REPLAYED // max(1, len(wishes)))
    chosen = [
        [] if wish.fresh or not _can_be_held(wish) else list(of_wish[:: max(1, -(-len(of_wish) // each))])
        for wish, of_wish in zip(wishes, pairs, strict=True)
    ]
    responses, cases = _responses_of(chosen), _cases_of(chosen)
    setups = [_setups(wish, group, responses, cases) for wish, group in zip(wishes, chosen, strict=True)]
    targets = {endpoint.name: target_of(endpoint) for wish in wishes for endpoint in wish.endpoints}
    replayed = iter(replay([run_debate(setup) for group in setups for setup in group], targets, at=at))
    return [[next(replayed) for _ in group] for group in setups]


def _can_be_held(wish: DebateWish) -> bool:
    try:
        check_agent_count(wish)
    except DebatesRefused:
        return False
    return True


def _responses_of(chosen: Sequence[Sequence[Pair]]) -> dict[int, Response]:
    ids = {response.pk for group in chosen for pair in group for response in (pair.response_a, pair.response_b)}
    return Response.objects.only("text", "images").in_bulk(list(ids))


def _cases_of(chosen: Sequence[Sequence[Pair]]) -> dict[int, Case]:
    ids = {pair.case.pk for group in chosen for pair in group}
    return Case.objects.select_related("prompt").in_bulk(list(ids))


def _setups(
    wish: DebateWish, pairs: Sequence[Pair], responses: Mapping[int, Response], cases: Mapping[int, Case]
) -> list[DebateSetup]:
    criteria = criteria_by_case(
        rubric=wish.rubric, name=wish.criterion, case_keys=[cases[pair.case.pk].key for pair in pairs]
    )
    seen_by = [endpoint.name for endpoint in wish.endpoints if endpoint.sees_images]
    setups = []
    for pair in pairs:
        case, a, b = cases[pair.case.pk], responses[pair.response_a.pk], responses[pair.response_b.pk]
        setups.append(
            setup_with(
                case=case,
                responses=(a.text, b.text),
                orders=draw_of(pair, wish),
                criterion=criteria[case.key],
                options=wish.options,
                images=images_of(case, a, b, seen_by=seen_by),
            )
        )
    return setups


def _length_of(pairs: Sequence[Pair]) -> _Length:
    """Return the average length of what an agent reads of one of the first pairs. Three queries."""
    sample = pairs[:SAMPLE]
    if not sample:
        return _Length(0, 0)
    ids = [response.pk for pair in sample for response in (pair.response_a, pair.response_b)]
    answers = Response.objects.filter(pk__in=ids).aggregate(mean=Avg(Length("text")))["mean"] or 0
    case_length = Case.objects.filter(pk__in=[pair.case.pk for pair in sample]).aggregate(
        mean=Avg(Length("prompt__text") + Length("prompt__context") + Length("reference"))
    )["mean"]
    shown = dict(Prompt.objects.filter(pk__in=[pair.case.prompt_id for pair in sample]).values_list("pk", "images"))
    images = sum(
        len(shown[pair.case.prompt_id]) + len(pair.response_a.images) + len(pair.response_b.images) for pair in sample
    )
    return _Length(FIXED_CHARACTERS + 2 * float(answers) + float(case_length or 0), images / len(sample))


def _least(characters: float, first_asks: int, rounds: int, agents: int) -> _Load:
    """Return what one agent asks for in a debate, four characters a token, with statements as long as asked for."""
    heard = characters + agents * STATEMENT_CHARACTERS
    prompt = (first_asks * characters + rounds * heard) / 4
    calls = first_asks + rounds
    return _Load(calls, prompt, calls * STATEMENT_TOKENS)


def _most(characters: float, first_asks: int, rounds: int, agents: int, options: DebateOptions) -> _Load:
    """Return the same at two characters a token, every reply as long as allowed and asked for twice."""
    longest = options.max_tokens or 4 * STATEMENT_TOKENS
    rounds_read = rounds if options.visibility == "full" else 1
    heard = characters + agents * rounds_read * 4 * longest
    prompt = 2 * (first_asks * characters + rounds * heard) / 2
    calls = 2 * (first_asks + rounds)
    return _Load(calls, prompt, calls * longest)


def _dollars(price: Price | None, load: _Load) -> Decimal:
    if price is None:  # a baseline
        return Decimal(0)
    tokens_in, tokens_out = Decimal(load.prompt_tokens), Decimal(load.reply_tokens)
    return (tokens_in * price.input_per_million + tokens_out * price.output_per_million) / MILLION
