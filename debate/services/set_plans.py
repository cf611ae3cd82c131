"""Makes sets of debates: the run, the debates with their drawn orders, and one task for each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import Agent, Debate, DebateSet, Experiment
from debate.protocol.orders import Orders, draw_orders
from debate.protocol.setups import Method
from debate.selectors.criteria import criterion_names
from debate.selectors.setups import SEEN_BY
from debate.services.pairs import DebateWish, Pair, count_with_images
from debate.signals import debates_finished
from evalsite.accounts.audit import record
from judging.models import ModelEndpoint, Run, RunKind, RunTask
from judging.selectors.selections import check_selection
from judging.selectors.targets import budget_refusal, target_of
from judging.services.calls.frozen_endpoints import FROZEN, freeze_endpoints
from judging.specs.selections import SelectionRefused

BATCH = 500


class DebatesRefused(ValueError):
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
    if wish.budget is not None:
        _check_budget(wish.endpoints)
    try:
        check_selection(suite=wish.suite, selection=wish.selection)
    except SelectionRefused as refusal:
        raise DebatesRefused(str(refusal)) from refusal
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
    blind = [] if wish.without_images else _blind(wish)
    count = count_with_images(pairs, wish.suite) if blind else 0
    if count:
        raise DebatesRefused(
            f"{', '.join(blind)} cannot see images, and {count:,} of the pairs have some. Choose agents whose endpoint "
            "has shown in its test that it sees, or choose “Debate without images”."
        )


def _blind(wish: DebateWish) -> list[str]:
    return list(dict.fromkeys(endpoint.name for endpoint in wish.endpoints if not endpoint.sees_images))


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
        options={**setup, "fresh": wish.fresh, FROZEN: freeze_endpoints(wish.endpoints)},
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


def _check_budget(endpoints: Sequence[ModelEndpoint]) -> None:
    if refusal := budget_refusal(map(target_of, endpoints)):
        raise DebatesRefused(refusal)


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
