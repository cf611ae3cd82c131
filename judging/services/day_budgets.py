"""What the calls of one day (UTC) may cost, at each endpoint and on the whole site.

Money is set aside before a call is sent, under a lock on the budgets that it counts against, so that workers on several
machines together never set more aside than is left. What a day cost is the sum of its hours in the ledger; a call
counts on the day on which its reply is stored, by the clock of whoever stores it.

What a run froze of its endpoints, and which of them it may ask now, stands beside the money.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from operator import itemgetter

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum

from evalsite.accounts.audit import record
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.llm.chat import ChatReply, ReplyStatus
from judging.llm.endpoints import EndpointConfig, EndpointKind
from judging.models import CallHour, DayBudget, DayHold, Lease, ModelEndpoint, Run
from judging.models.runs import ACTIVE
from judging.selectors.endpoints import Target, target_of

MAX_BUDGET = 10**8  # what the column holds
SITE = None  # instead of an endpoint's key
A_DAY = timedelta(days=1)
LONGEST_CALL = timedelta(minutes=10)  # outside runs; what is held longer is held by a process that ended

Amounts = Mapping[int, Decimal]  # USD by endpoint


class DayBudgetRefused(Refused):
    """The budget cannot be set so; the message says why."""


@dataclass(frozen=True, slots=True)
class DayUse:
    """A budget and what the day has used of it; without a budget only what it used."""

    endpoint: ModelEndpoint | None  # None: the site
    amount: Decimal | None  # USD; None: no budget
    spent: Decimal  # stored calls, with the most that unanswered ones may have cost
    reserved: Decimal  # set aside for calls under way

    @property
    def name(self) -> str:
        """Whose budget it is, for people."""
        return self.endpoint.name if self.endpoint else "the site"

    @property
    def entered(self) -> str:
        """The budget as people enter it; empty without one."""
        return "" if self.amount is None else plain_dollars(self.amount)

    @property
    def left(self) -> Decimal | None:
        """US dollars, never below zero; None without a budget."""
        return None if self.amount is None else max(Decimal(0), self.amount - self.spent - self.reserved)

    @property
    def unspent(self) -> Decimal:
        """US dollars of the budget, never below zero, once nothing is held any more."""
        return max(Decimal(0), (self.amount or Decimal(0)) - self.spent)

    @property
    def share(self) -> float | None:
        """What is used or set aside as a share of the budget, 0 to 1; None without a budget."""
        return None if self.amount is None else min(1.0, float((self.spent + self.reserved) / self.amount))


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why none of several requests can be paid for, now or once others' calls are back."""

    ending: str  # of the engine: "budget", "day" or "too-dear"
    reason: str = ""  # for people; empty: the ending says it


def day_of(at: datetime) -> date:
    """Return the day that a time belongs to."""
    return at.astimezone(UTC).date()


def next_day(at: datetime) -> datetime:
    """Return when the next day begins."""
    return (at.astimezone(UTC) + A_DAY).replace(hour=0, minute=0, second=0, microsecond=0)


def uses_of_day(*, at: datetime) -> list[DayUse]:
    """Return the site and then every endpoint that may cost something, with or without a budget, by name."""
    endpoints = ModelEndpoint.objects.exclude(kind=EndpointKind.LEXICAL).order_by("name")
    amounts = {budget.endpoint_id: budget.amount for budget in DayBudget.objects.all()}
    amounts_held, spent = _reserved(at), _spent(at)
    return [_use(endpoint, amounts, spent, amounts_held) for endpoint in (SITE, *endpoints)]


def _use(
    endpoint: ModelEndpoint | None,
    amounts: Mapping[int | None, Decimal],
    spent: Mapping[int, Decimal],
    amounts_held: Mapping[int, Decimal],
) -> DayUse:
    if endpoint is None:
        return DayUse(None, amounts.get(SITE), *(sum(each.values(), Decimal(0)) for each in (spent, amounts_held)))
    return DayUse(endpoint, amounts.get(endpoint.pk), spent[endpoint.pk], amounts_held[endpoint.pk])


def limited_uses(*, at: datetime) -> list[DayUse]:
    """Return those that have a budget."""
    return [use for use in uses_of_day(at=at) if use.amount is not None]


def too_small(costs: Mapping[str, Decimal], *, at: datetime) -> list[DayUse]:
    """Return the budgets of the day of which less is left than these costs, in USD by the endpoint's name."""
    total = sum(costs.values(), Decimal(0))
    return [
        use
        for use in limited_uses(at=at)
        if (costs.get(use.endpoint.name, Decimal(0)) if use.endpoint else total) > (use.left or 0)
    ]


def uses_for(endpoint_ids: Collection[int], *, at: datetime, lock: bool = False) -> dict[int | None, DayUse]:
    """Return the budgets that calls to these endpoints count against, by endpoint; `lock`: until the transaction ends.

    What is held is read before what is spent: where a reply is stored meanwhile it counts twice, never not at all.
    """
    budgets = DayBudget.objects.filter(Q(endpoint=SITE) | Q(endpoint__in=endpoint_ids)).order_by("pk")
    if lock:
        budgets = budgets.select_for_update()
    amounts = {budget.endpoint_id: budget.amount for budget in budgets}
    if not amounts:
        return {}
    endpoints = ModelEndpoint.objects.in_bulk([key for key in amounts if key is not None])
    amounts_held, spent = _reserved(at), _spent(at)
    return {key: _use(None if key is None else endpoints[key], amounts, spent, amounts_held) for key in amounts}


def limited_endpoints(endpoint_ids: Collection[int]) -> frozenset[int]:
    """Return those of the endpoints whose calls count against a budget."""
    budgets = DayBudget.objects.filter(Q(endpoint=SITE) | Q(endpoint__in=endpoint_ids))
    keys = {budget.endpoint_id for budget in budgets}
    return frozenset(endpoint_ids) if SITE in keys else frozenset(key for key in endpoint_ids if key in keys)


def shortage(call_amounts: Collection[tuple[int, Decimal]], *, at: datetime) -> Shortage | None:
    """Return why none of these amounts (endpoint, USD) fits the budgets of the day once all reservations are back,
    for the cheapest amount; None where one fits."""
    uses = uses_for({endpoint_id for endpoint_id, _ in call_amounts}, at=at)
    cheapest: Shortage | None = None
    for endpoint_id, amount in sorted(call_amounts, key=itemgetter(1)):
        exceeded = [uses[key] for key in (SITE, endpoint_id) if key in uses and amount > uses[key].unspent]
        if not exceeded:
            return None
        cheapest = cheapest or _shortage(exceeded[0], amount, at)
    return cheapest


def _shortage(use: DayUse, amount: Decimal, at: datetime) -> Shortage:
    if amount > (use.amount or 0):
        return Shortage(
            "too-dear",
            f"One call can cost ${plain_dollars(amount)}, more than the budget of {use.name} for a whole day, "
            f"${plain_dollars(use.amount)}. Have it raised, then resume the run.",
        )
    return Shortage(
        "day", f"{little_left(use, use.unspent, at=at)} The run continues automatically after midnight (UTC)."
    )


def little_left(use: DayUse, remaining: Decimal, *, at: datetime) -> str:
    """Return in a sentence that what is left of a budget, in USD, does not cover the next call."""
    return (
        f"The budget of {use.name} for {day_of(at)} (UTC) is ${plain_dollars(use.amount)}, and the "
        f"${plain_dollars(remaining)} that is left does not cover the next call."
    )


def refusal(*, endpoint_id: int, at: datetime) -> str:
    """Return why the budgets do not carry a call outside runs."""
    uses = uses_for([endpoint_id], at=at).values()
    remaining, use = min(((use.left or Decimal(0), use) for use in uses), key=itemgetter(0))
    return f"{little_left(use, remaining, at=at)} Try again tomorrow, or have it raised."


@transaction.atomic
def hold_outside_runs(*, endpoint_id: int, amount: Decimal, at: datetime) -> DayHold | None:
    """Set an amount aside for one call outside runs; None: the budgets do not carry it."""
    uses = uses_for([endpoint_id], at=at, lock=True)
    if any(use.left is not None and amount > use.left for use in uses.values()):
        return None
    DayHold.objects.filter(lease=None, opened_at__lt=next_day(at) - 2 * A_DAY).delete()
    return DayHold.objects.create(endpoint_id=endpoint_id, opened_at=at, amount=amount)


@transaction.atomic
def book_outside_runs(*, holds: Sequence[DayHold], spent: Decimal, at: datetime) -> None:
    """Give back what calls to one endpoint held, and count as spent what they cost beside what the ledger stores."""
    DayHold.objects.filter(pk__in=[hold.pk for hold in holds]).delete()
    for hold in holds[:1]:
        book_unheard(amounts={hold.endpoint_id: spent}, at=at)


def set_aside(*, lease: Lease, amounts: Amounts, at: datetime) -> None:
    """Add what was set aside to the holds of a claim.

    Must run in the transaction that found, under the lock, that the budgets carry it.
    """
    for endpoint_id, amount in sorted(amounts.items()):
        if not DayHold.objects.filter(lease=lease, endpoint=endpoint_id).update(amount=F("amount") + amount):
            DayHold.objects.create(lease=lease, endpoint_id=endpoint_id, opened_at=at, amount=amount)


def keep_only(*, lease_id: int, amounts: Amounts, at_stake: Amounts) -> None:
    """Lower what a claim holds to what its calls may still cost, and note what is spent of it if the claim lapses."""
    for hold in DayHold.objects.filter(lease=lease_id).order_by("endpoint"):
        amount, lost = (each.get(hold.endpoint_id, Decimal(0)) for each in (amounts, at_stake))
        if (amount, lost) != (hold.amount, hold.at_stake):
            DayHold.objects.filter(pk=hold.pk).update(amount=amount, at_stake=lost)


def book_unheard(*, amounts: Amounts, at: datetime) -> None:
    """Count as spent what will never be answered."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    for endpoint_id, amount in sorted(amounts.items()):
        if amount:
            CallHour.objects.get_or_create(
                endpoint_id=endpoint_id, hour=hour, defaults={"calls": 0, "errors": 0, "seconds": 0.0}
            )
            CallHour.objects.filter(endpoint_id=endpoint_id, hour=hour).update(unheard=F("unheard") + amount)


def at_stake_in(leases: Iterable[Lease]) -> Amounts:
    """Return what the calls that claims had in flight may have cost, by endpoint."""
    return _sums(DayHold.objects.filter(lease__in=leases), "at_stake")


@transaction.atomic
def set_day_budget(
    *, endpoint: ModelEndpoint | None, amount: Decimal | None, actor: User | None, at: datetime
) -> DayBudget | None:
    """Set what a day of an endpoint, or of the site, may cost, and let runs that wait for the next day look again.

    `amount`: USD; None: no budget.

    Raises:
        DayBudgetRefused: the amount is no amount of money, or the endpoint costs nothing.
    """
    if endpoint is not None and endpoint.is_baseline:
        raise DayBudgetRefused(f"{endpoint} is a lexical baseline and costs nothing.")
    if amount is not None and not (amount.is_finite() and 0 < amount < MAX_BUDGET):
        raise DayBudgetRefused(f"A budget is more than 0 and less than {MAX_BUDGET:,} USD.", field="amount")
    # Before the budget is locked, as reservations lock a run before it. They wait for the next day; one that waits for
    # an endpoint until then asks it once more.
    Run.objects.filter(status__in=ACTIVE, resume_at=next_day(at)).update(resume_at=at)
    before = DayBudget.objects.select_for_update().filter(endpoint=endpoint).first()
    former = before.amount if before else None
    if amount == former:
        return before
    if amount is None:
        DayBudget.objects.filter(endpoint=endpoint).delete()
        budget = None
    else:
        budget, _ = DayBudget.objects.update_or_create(endpoint=endpoint, defaults={"amount": amount})
    words = {"from": plain_dollars(former) if former else "none", "to": plain_dollars(amount) if amount else "none"}
    record(actor, "day_budget.changed", endpoint or "the site", **words)
    return budget


def _reserved(at: datetime) -> defaultdict[int, Decimal]:
    return _sums(DayHold.objects.filter(Q(lease__isnull=False) | Q(opened_at__gte=at - LONGEST_CALL)))


def _spent(at: datetime) -> defaultdict[int, Decimal]:
    first = next_day(at) - A_DAY
    rows = CallHour.objects.filter(hour__gte=first, hour__lt=next_day(at)).order_by().values("endpoint")
    amounts = _sums(DayHold.objects.filter(lease=None, opened_at__gte=first, opened_at__lt=at - LONGEST_CALL))
    for row in rows.annotate(priced=Sum("cost"), uncertain=Sum("unheard")):
        amounts[row["endpoint"]] += (row["priced"] or Decimal(0)) + row["uncertain"]
    return amounts


def _sums(holds: QuerySet[DayHold], column: str = "amount") -> defaultdict[int, Decimal]:
    sums: defaultdict[int, Decimal] = defaultdict(Decimal)
    sums.update(holds.order_by().values_list("endpoint").annotate(total=Sum(column)))
    return sums


def plain_dollars(amount: Decimal | None) -> str:
    """Return an amount without zeros at its end; None is nothing."""
    return f"{(amount or Decimal(0)).normalize():f}"


FROZEN = "frozen_endpoints"  # in the options of a run: by name, what each was


def freeze_endpoints(endpoints: Iterable[ModelEndpoint]) -> dict[str, JsonDict]:
    """Return what a run keeps of its endpoints, by the names that it knows them by."""
    return {
        endpoint.name: {"id": endpoint.pk, "base_url": endpoint.base_url, "model": endpoint.model}
        for endpoint in endpoints
    }


class RunEndpoints:
    """The endpoints that a run may ask, by the names that it froze, and what is wrong with them now."""

    def __init__(self, run: Run) -> None:
        from judging.judges.judge_kinds import endpoints_asked  # judges, which ledgers need not

        self._frozen: Mapping[str, JsonObject] = run.options.get(FROZEN, {})
        self._evaluators: dict[str, set[int]] = {}
        for evaluator in run.evaluators.all():
            for name in endpoints_asked(evaluator.options):
                self._evaluators.setdefault(name, set()).add(evaluator.pk)
        self._systems: dict[str, set[int]] = {}
        for key, frozen_system in run.asked_systems.items():
            self._systems.setdefault(frozen_system["endpoint"], set()).add(int(key))
        self.targets: dict[str, Target] = {}
        self.limited: frozenset[int] = frozenset()  # endpoints whose calls count against a budget of the day
        self.difference = ""  # why the run cannot go on; empty where it can
        self.read()

    def read(self) -> None:
        """Read the endpoints as they are now."""
        rows = list(ModelEndpoint.objects.filter(is_active=True))
        shared = _shared_maxima(target_of(row) for row in rows)
        by_id = {target.endpoint_id: target for target in shared}
        self.targets = {target.config.name: target for target in shared}
        problems = []
        for name, frozen in self._frozen.items():
            now = by_id.get(frozen["id"])
            problem = _difference(name, frozen, now)
            if problem:
                problems.append(problem)
            elif now is not None:
                self.targets[name] = now
        self.difference = " ".join(problems)[:300]
        self.limited = limited_endpoints(by_id)

    def evaluators_on(self, names: Collection[str]) -> frozenset[int]:
        """Return the judges of the run that ask one of these endpoints, the panels with such a member among them."""
        return frozenset(pk for name in names for pk in self._evaluators.get(name, ()))

    @property
    def asks_systems(self) -> bool:
        """Whether the run asks systems, whose responses bring it further tasks."""
        return bool(self._systems)

    def systems_on(self, names: Collection[str]) -> frozenset[int]:
        """Return the systems that the run asks at these endpoints."""
        return frozenset(pk for name in names for pk in self._systems.get(name, ()))


def _difference(name: str, frozen: JsonObject, now: Target | None) -> str:
    """Return a sentence for people where an endpoint is not what the run was started with."""
    if now is None:
        return f"{name} is no longer active. Activate it, then resume the run, or cancel the run."
    config = now.config
    for setting, before, after in (
        ("address", frozen["base_url"], config.base_url),
        ("model", frozen["model"], config.model),
    ):
        if before != after:
            return (
                f"{name} has changed since the run was started: its {setting} was {before} and is {after}. "
                "Change it back, then resume the run, or start a new run."
            )
    return ""


def _shared_maxima(targets: Iterable[Target]) -> list[Target]:
    """Return the targets such that those with one address, key and model, which are one to the provider, keep together
    to the lowest of their maxima."""
    all_targets = list(targets)
    alike = grouped((target.config.identity, target.config) for target in all_targets)
    return [
        replace(target, config=_with_lowest(target.config, alike[target.config.identity])) for target in all_targets
    ]


def _with_lowest(config: EndpointConfig, alike: Sequence[EndpointConfig]) -> EndpointConfig:
    return replace(
        config,
        max_concurrency=min(other.max_concurrency for other in alike),
        requests_per_minute=_lowest(other.requests_per_minute for other in alike),
        tokens_per_minute=_lowest(other.tokens_per_minute for other in alike),
    )


def _lowest(limits: Iterable[int | None]) -> int | None:
    """Return the lowest of the limits that are set; None where none is."""
    return min((limit for limit in limits if limit), default=None)


# The next request will meet these too: a wrong key, a model that is not there, no credit.
HOPELESS = frozenset(
    ["quota", "key", "access", "address", "model", "config", "redirect", "bad-endpoint", "refused-address"]
)
SAME_ERRORS = 5  # in a row, without an answer between them, stop the run
LONGEST_HOLD_SECONDS = 60.0  # a worker keeps a request for so long before it is asked again
REFUSALS = 3  # rounds of "no more calls for now" without an answer from anybody, and the work is put back
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 300.0, 3600.0  # where the endpoint does not say how long


@dataclass(slots=True)
class EndpointFailures:
    """What one endpoint has answered lately. Times are monotonic seconds."""

    kind: str = ""  # the hopeless error that it answers
    text: str = ""
    count: int = 0  # so often in a row
    answered_at: float = -math.inf
    blocked_until: float = -math.inf  # nothing is asked of it before

    def is_hopeless(self, reply: ChatReply) -> bool:
        """Whether every other request will meet this error too."""
        return reply.status == ReplyStatus.FAILED and reply.error_kind in HOPELESS

    def note(self, reply: ChatReply, at: float) -> None:
        """Count a reply."""
        if reply.status != ReplyStatus.FAILED:
            self.kind, self.count, self.answered_at = "", 0, at
        elif reply.error_kind in HOPELESS:
            self.count = self.count + 1 if reply.error_kind == self.kind else 1
            self.kind, self.text = reply.error_kind, reply.error_text

    @property
    def is_broken(self) -> bool:
        return self.count >= SAME_ERRORS

    def sentence(self, name: str) -> str:
        """Return what to tell people about an endpoint that answers nothing else."""
        return (
            f"{name} returned the same error {self.count} times and no reply: {self.text[:160]} "
            "Waiting tasks were not attempted. Correct the endpoint and resume the run, or start one with another."
        )[:300]


def pause_seconds(refused_for: float) -> float:
    """Return how long to leave an endpoint alone that has taken no call for `refused_for` seconds and gives no time."""
    return min(LONGEST_PAUSE_SECONDS, max(SHORTEST_PAUSE_SECONDS, refused_for))
