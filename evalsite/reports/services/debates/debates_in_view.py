"""The debates that a report is about, and who judged each: agents, people, baselines and judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from debate.protocol.meta.evaluators import (
    Cell,
    Label,
)
from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.setups import Method
from debate.protocol.verdicts import VerdictReading
from evalsite.reports.selectors.debate_votes import (
    DebateDecision,
    PeopleSaid,
    SetFacts,
    decisions_of,
    people_said,
    rivals_of,
    scored_preferences,
    sets_by_id,
)
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.services.debates.debate_people import (
    Verdicts,
    verdicts_of,
)
from judging.statistics.estimators.strata import FEWEST_FOR_CLAIMS

DEBATE = "Debate"
REFUSED = ("refused", "refusal")
READ = ("final_line", "phrase", "out_of_range_phrase")


@dataclass(slots=True)
class Evaluator:
    """One source of labels for the debates in view, by debate id."""

    key: str
    name: str
    kind: str  # independent | method | scores | debate
    labels: dict[int, Label] = field(default_factory=dict)
    orders: dict[int, int] = field(default_factory=dict)
    judges: tuple[str, ...] = ()  # endpoints that were asked
    calls: int = 0
    cost: Decimal | None = Decimal(0)
    statements: int = 0
    refused: int = 0
    unread: int = 0
    disagreements: int = 0

    def spend(self, calls: int, cost: Decimal | None) -> None:
        """Add what one decision took; one unknown price makes the sum unknown."""
        self.calls += calls
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def read(self, statuses: Sequence[str], disagreements: int) -> None:
        """Count how its statements were read."""
        self.statements += len(statuses)
        self.refused += sum(status in REFUSED for status in statuses)
        self.unread += sum(status not in READ and status not in REFUSED for status in statuses)
        self.disagreements += disagreements


@dataclass(frozen=True, slots=True)
class View:
    """The debates that the report is about, with their outcomes."""

    debates: list[DebateDecision]
    outcomes: Mapping[int, Label]
    people: PeopleSaid
    said: Verdicts
    cells: dict[Cell, list[int]]

    @property
    def cases(self) -> dict[int, str]:
        return {one.pk: str(one.case_id) for one in self.debates}

    @property
    def is_by_people(self) -> bool:
        """Whether enough labels may enter an estimate for people to be what evaluators are compared with."""
        return len({one.case_id for one in self.debates if one.pk in self.said.people}) >= FEWEST_FOR_CLAIMS


@dataclass(frozen=True, slots=True)
class InView:
    """What a report on debates is about, by its options."""

    sets: Mapping[int, SetFacts]
    every: list[DebateDecision]  # of these sets
    view: View  # those that the filters keep
    evaluators: list[Evaluator]
    rule: OutcomeRule
    reading: VerdictReading


def debates_in_view(options: Options) -> InView:
    """Return the debates of the chosen sets, or of all, and everybody who labelled the same pairs."""
    wanted = [int(pk) for pk in options.get("sets", [])]
    sets = sets_by_id(wanted or None, method=Method.DEBATE)
    reading = VerdictReading(chosen(options, "reading") or VerdictReading.STRICT)
    rule = OutcomeRule(chosen(options, "rule") or OutcomeRule.UNANIMOUS)
    every = decisions_of(sets, reading=reading)
    view = _view([one for one in every if _fits(one, options)], rule, looks=bool(chosen(options, "looks")))
    return InView(sets, every, view, _evaluators(view, sets), rule, reading)


def _fits(one: DebateDecision, options: Options) -> bool:
    scenario, criterion = chosen(options, "scenario"), chosen(options, "criterion")
    return scenario in ("", one.scenario) and criterion in ("", one.owner.criterion)


def _view(debates: list[DebateDecision], rule: OutcomeRule, *, looks: bool) -> View:
    people = people_said([one.pk for one in debates])
    cells: dict[Cell, list[int]] = defaultdict(list)
    for one in debates:
        cells[one.owner.pair, one.owner.criterion, one.scenario].append(one.pk)
    said = verdicts_of(debates, people, rule, looks=looks)
    return View(debates, said.outcomes, people, said, dict(sorted(cells.items())))


# --- who is compared


def _evaluators(view: View, sets: Mapping[int, SetFacts]) -> list[Evaluator]:
    """Return everybody who labelled the same pairs: agents on their own, baselines, judges by score, the debate."""
    found: dict[str, Evaluator] = {}
    for one in view.debates:
        _add_independent_votes(found, one)
    _add_baselines(found, view, sets)
    _add_scores(found, view)
    own = Evaluator("debate", DEBATE, "debate")
    for one in view.debates:
        own.labels[one.pk] = view.said.own[one.pk]
        own.orders[one.pk] = one.order
        own.spend(one.calls, one.cost)
        for agent_number in one.agents:
            own.read(agent_number.statuses, agent_number.disagreements)
    return [*found.values(), own] if view.debates else []


def _add_independent_votes(found: dict[str, Evaluator], debate: DebateDecision) -> None:
    votes = debate.votes.by_system(0)
    for (name, vote), agent_number in zip(votes.items(), debate.agents, strict=True):
        one = found.setdefault(
            f"independent:{name}", Evaluator(f"independent:{name}", name, "independent", judges=(name,))
        )
        one.labels[debate.pk], one.orders[debate.pk] = vote, debate.order
        one.spend(1, agent_number.independent_cost)
        one.read(agent_number.statuses, agent_number.disagreements)


def _add_baselines(found: dict[str, Evaluator], view: View, sets: Mapping[int, SetFacts]) -> None:
    rivals = rivals_of(sets.values())
    subjects: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for debate in view.debates:
        subjects[debate.subject].append(debate.pk)
    for decision in decisions_of(rivals):
        name = method_name(decision.owner)
        for debate_id in subjects.get(decision.subject, ()):
            new = Evaluator(f"method:{name}", name, "method", judges=decision.owner.judges)
            one = found.setdefault(f"method:{name}", new)
            one.labels[debate_id], one.orders[debate_id] = decision.stored_verdict, decision.order
            one.spend(decision.calls, decision.cost)
            for agent_number in decision.agents:
                one.read(agent_number.statuses, agent_number.disagreements)


def method_name(owner: SetFacts) -> str:
    """Return what a baseline is called: its method, how often it asks, and its judges."""
    times = f" ×{owner.samples}" if owner.samples > 1 else ""
    return f"{Method(owner.method).label}{times}: {', '.join(owner.judges)}"


def _add_scores(found: dict[str, Evaluator], view: View) -> None:
    preferences = scored_preferences([one.responses for one in view.debates])
    for name, own in preferences.items():
        labels: dict[int, Label] = {one.pk: own[one.responses] for one in view.debates if one.responses in own}
        found[f"scores:{name}"] = Evaluator(f"scores:{name}", name, "scores", labels, cost=None)


def label_weights(items: Sequence[int], view: View) -> dict[int, float]:
    """Return for how many debates each label by people stands: 1 where it was routed, else N / n of those agreed.

    Debates whose sets were audited at different rates are counted apart.
    """
    weights = {item: 1.0 for item in items if item in view.said.open and item in view.said.people}
    agreed: dict[float, list[int]] = defaultdict(list)
    for item in items:
        if item not in view.said.open:
            agreed[view.said.rates.get(item, 0.0)].append(item)
    for group in agreed.values():
        audited = [item for item in group if item in view.said.people]
        weights |= {item: len(group) / len(audited) for item in audited}
    return weights
